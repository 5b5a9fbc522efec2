"""Implement LEAD, TextRank and LexRank, the extractive baselines of citation text
generation.

Section 4 of the CiteBench paper (Funkquist et al., 2023) describes the baselines, which
also reproduce peculiarities of the original code. LEAD treats tags as words, TextRank
returns nothing for fewer than five sentences, and LexRank orders the selected sentences
by score.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from scoring.metrics.local_models import NamedModel, choose_device
from tasks.types.base import Option, OptionRefused, Options
from tasks.types.baselines import Answer, Baseline
from tasks.types.citation_text.instances import (
    read_instances,
    remove_context_tags,
    select_abstracts_of_cited_papers,
)
from tasks.types.files import InputFile
from tasks.types.positional_citations.sentences import (
    SENTENCE_SPLITTERS_BY_NAME,
    SentenceSplitter,
)
from tasks.types.problems import (
    convert_to_unavailable,
    make_message_if_package_missing,
    make_missing_package_message,
)

SIMILARITY_THRESHOLD = 0.03
PACKAGE_TIE_RULE, FIRST_TIE_RULE = "package", "first"
#: Scores are rounded to this number of decimals before they are compared.
#: Decimals after the last of these depend on the order in which numbers are added.
_SCORE_DECIMALS = 9


def rank_by_lexrank(
    documents: Sequence[Sequence[str]], size: int, *, ties: str = PACKAGE_TIE_RULE
) -> list[list[str]]:
    """Return the best sentences of each document, best first, and no sentences for an
    empty document.

    LexRank weights words by their inverse document frequency. Raises Unavailable.
    """
    with convert_to_unavailable(make_missing_package_message("lexrank")):
        from lexrank import STOPWORDS, LexRank
    try:
        ranker = LexRank(documents, stopwords=STOPWORDS["en"])
    except ValueError:
        return [list(document[:size]) for document in documents]
    summaries: list[list[str]] = []
    for document in documents:
        if not document:
            summaries.append([])
        elif ties == PACKAGE_TIE_RULE:
            summaries.append(
                list(
                    ranker.get_summary(
                        list(document),
                        summary_size=size,
                        threshold=SIMILARITY_THRESHOLD,
                    )
                )
            )
        else:
            scores = (
                ranker.rank_sentences(list(document), threshold=SIMILARITY_THRESHOLD)
                .round(_SCORE_DECIMALS)
                .tolist()
            )
            places = sorted(
                range(len(document)), key=lambda place: (-scores[place], place)
            )
            summaries.append([document[place] for place in places[:size]])
    return summaries


#: The model LED_MODEL_KIND needs at least one token with global attention.
#: The models of the paper use global attention on the first token of the input.
LED_MODEL_KIND = "led"


@dataclass(frozen=True, kw_only=True)
class GenerationSettings:
    """The settings of a model that generates citation texts.

    ``max_input`` and ``max_output`` are maximum numbers of tokens. If ``cited_only`` is
    True, the model reads the cited abstracts without their context.
    """

    model: Path
    cited_only: bool
    max_input: int
    max_output: int
    beams: int
    batch: int


def iterate_model_answers(
    files: Sequence[InputFile], writing: GenerationSettings
) -> Iterator[Answer]:
    """Yield a generated text for each instance, in the order of the instances. Raises
    InputRefused for invalid inputs, or Unavailable if the model is missing.
    """
    instances = read_instances(files, with_targets=False)
    texts = [
        " ".join(
            select_abstracts_of_cited_papers(instance.inputs)
            if writing.cited_only
            else instance.inputs
        )
        for instance in instances
    ]
    folder = NamedModel("write-texts", str(writing.model)).folder
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    with convert_to_unavailable(
        f"{folder} holds no sequence-to-sequence model: {{}}", OSError, ValueError
    ):
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)  # type: ignore[no-untyped-call]
        model: Any = AutoModelForSeq2SeqLM.from_pretrained(
            folder, local_files_only=True
        )
    model = model.to(choose_device()).eval()
    written = [""] * len(texts)
    # Each batch has texts of similar length, whatever the order of the instances.
    order = sorted(range(len(texts)), key=lambda place: (len(texts[place]), place))
    for first in range(0, len(order), writing.batch):
        places = order[first : first + writing.batch]
        batch = [texts[place] for place in places]
        tokens = tokenizer(
            batch,
            return_tensors="pt",
            padding=True,
            truncation=True,
            max_length=writing.max_input,
        ).to(model.device)
        further = {}
        if model.config.model_type == LED_MODEL_KIND:
            further["global_attention_mask"] = torch.zeros_like(tokens["input_ids"])
            further["global_attention_mask"][:, 0] = 1
        with torch.inference_mode():
            outputs = model.generate(
                input_ids=tokens["input_ids"],
                attention_mask=tokens["attention_mask"],
                max_new_tokens=writing.max_output,
                num_beams=writing.beams,
                do_sample=False,
                **further,
            )
        decoded = tokenizer.batch_decode(outputs, skip_special_tokens=True)
        for place, text in zip(places, decoded, strict=True):
            written[place] = text.strip()
    for instance, text in zip(instances, written, strict=True):
        yield {"id": instance.id, "prediction": text}


CITEBENCH_SOURCE = (
    "Funkquist et al. 2023, CiteBench: A Benchmark for Scientific Citation Text "
    "Generation, EMNLP"
)
CITED_INPUTS, ALL_INPUTS = "cited", "all"

INPUTS_OPTION = Option(
    name="inputs",
    default=CITED_INPUTS,
    summary="What is read: the cited abstracts, as published, or all items, context with its tags included.",
    choices=(CITED_INPUTS, ALL_INPUTS),
)
SPLITTER_OPTION = Option(
    name="splitter",
    default="punkt",
    summary="What splits texts into sentences: Punkt as NLTK has trained it, as in the released program, or "
    "rules of this site.",
    choices=tuple(SENTENCE_SPLITTERS_BY_NAME),
)
SENTENCES_OPTION = Option(
    name="sentences", default="3", summary="How many sentences are taken."
)
TIES_OPTION = Option(
    name="ties",
    default=PACKAGE_TIE_RULE,
    summary="Which of equally good sentences are taken: those that the package takes, which may differ "
    "between processors, or the first.",
    choices=(PACKAGE_TIE_RULE, FIRST_TIE_RULE),
)

#: The texts that belong to the input of one instance.
InputTexts = Sequence[str]


@dataclass(frozen=True, kw_only=True)
class SummarySettings:
    split: SentenceSplitter
    sentences: int = 3
    ties: str = PACKAGE_TIE_RULE


#: A function that maps the inputs of a whole data set to answers.
SummarySystem = Callable[[Sequence[InputTexts], SummarySettings], list[str]]


def take_lead_sentences(
    inputs: Sequence[InputTexts], settings: SummarySettings
) -> list[str]:
    return [
        " ".join(settings.split(" ".join(items))[: settings.sentences])
        for items in inputs
    ]


def summarize_by_textrank(
    inputs: Sequence[InputTexts], settings: SummarySettings
) -> list[str]:
    """Summarise the inputs with TextRank, which selects a fifth of the sentences and
    keeps their order. Raises Unavailable.

    The summary is empty if the input has fewer than five sentences.
    """
    with convert_to_unavailable(make_missing_package_message("summa")):
        from summa.summarizer import summarize
    return [
        str(summarize(join_inputs_without_tags(items))).replace("\n", " ")
        for items in inputs
    ]


def summarize_by_lexrank(
    inputs: Sequence[InputTexts], settings: SummarySettings
) -> list[str]:
    """Summarise with LexRank.

    Inverse document frequencies are computed over all inputs of the data set, so the
    answer to one input depends on the other inputs.
    """
    documents = [settings.split(join_inputs_without_tags(items)) for items in inputs]
    return [
        " ".join(part)
        for part in rank_by_lexrank(documents, settings.sentences, ties=settings.ties)
    ]


def join_inputs_without_tags(items: InputTexts) -> str:
    return " ".join(remove_context_tags(item).strip() for item in items)


def iterate_summary_answers(
    files: Sequence[InputFile], options: Options, *, system: SummarySystem
) -> Iterator[Answer]:
    count = options.get("sentences", SENTENCES_OPTION.default)
    if not (count.isascii() and count.isdecimal() and 1 <= int(count) <= 1000):
        raise OptionRefused(
            f"option sentences={count}: expected a whole number from 1 to 1000"
        )
    split, ties = (
        SENTENCE_SPLITTERS_BY_NAME[options.get("splitter", SPLITTER_OPTION.default)],
        options.get("ties", TIES_OPTION.default),
    )
    settings = SummarySettings(split=split, sentences=int(count), ties=ties)
    for _, group in groupby(
        read_instances(files, with_targets=False), key=lambda instance: instance.dataset
    ):
        instances = list(group)
        texts_of = (
            select_abstracts_of_cited_papers
            if options["inputs"] == CITED_INPUTS
            else list
        )
        inputs = [texts_of(instance.inputs) for instance in instances]
        for instance, text in zip(instances, system(inputs, settings), strict=True):
            yield {"id": instance.id, "prediction": text}


def _make_baseline(
    name: str, summary: str, system: SummarySystem, *options: Option, package: str = ""
) -> Baseline:
    answering = partial(iterate_summary_answers, system=system)
    return Baseline.of(
        answering,
        name=name,
        summary=summary,
        source=CITEBENCH_SOURCE,
        options=options,
        lacks=partial(make_message_if_package_missing, package) if package else str,
    )


BASELINES = (
    _make_baseline(
        "citation-text-lead",
        "The first three sentences of the inputs.",
        take_lead_sentences,
        INPUTS_OPTION,
        SPLITTER_OPTION,
        SENTENCES_OPTION,
    ),
    _make_baseline(
        "citation-text-textrank",
        "TextRank as in the package summa, a fifth of the sentences.",
        summarize_by_textrank,
        INPUTS_OPTION,
        package="summa",
    ),
    _make_baseline(
        "citation-text-lexrank",
        "LexRank as in the package lexrank, the three best sentences.",
        summarize_by_lexrank,
        INPUTS_OPTION,
        SPLITTER_OPTION,
        SENTENCES_OPTION,
        TIES_OPTION,
        package="lexrank",
    ),
)
