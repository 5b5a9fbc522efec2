"""The extractive baselines of citation text generation: LEAD, TextRank and LexRank.

Funkquist et al. 2023, CiteBench, section 4. Their quirks are kept: LEAD reads tags as words, TextRank is
silent on fewer than five sentences, LexRank gives its sentences in the order of their scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from scoring.tools.baselines.citation_text_lexrank import BY_PACKAGE, TIES, lexrank
from scoring.tools.baselines.citation_text_textrank import textrank
from tasks.types.base import Option, OptionRefused, Options
from tasks.types.baselines import Answer, Baseline
from tasks.types.citation_text.inputs import cited_abstracts, without_tags
from tasks.types.citation_text.instances import read_instances
from tasks.types.files import InputFile
from tasks.types.positional_citations.sentences import SPLITTERS, Splitter

CITEBENCH = "Funkquist et al. 2023, CiteBench: A Benchmark for Scientific Citation Text Generation, EMNLP"
CITED, ALL = "cited", "all"

INPUTS = Option(
    name="inputs",
    default=CITED,
    summary="What is read: the cited abstracts, as published, or all items, context with its tags included.",
    choices=(CITED, ALL),
)
SPLITTER = Option(
    name="splitter",
    default="punkt",
    summary="What splits texts into sentences: Punkt as NLTK has trained it, as in the released program, or "
    "rules of this site.",
    choices=tuple(SPLITTERS),
)
SENTENCES = Option(name="sentences", default="3", summary="How many sentences are taken.")
TIED = Option(
    name="ties",
    default=BY_PACKAGE,
    summary="Which of equally good sentences are taken: those that the package takes, which may differ "
    "between processors, or the first.",
    choices=TIES,
)

#: The items of one instance's input.
Items = Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the options come to. ``split`` may be anything that gives the sentences of a text."""

    split: Splitter
    sentences: int = 3
    ties: str = BY_PACKAGE


#: From the inputs of a whole data set to its texts.
System = Callable[[Sequence[Items], Settings], list[str]]


def lead(inputs: Sequence[Items], settings: Settings) -> list[str]:
    """The first sentences of the items as they are, tags and all."""
    return [" ".join(settings.split(" ".join(items))[: settings.sentences]) for items in inputs]


def by_textrank(inputs: Sequence[Items], settings: Settings) -> list[str]:
    return [textrank(plain(items)) for items in inputs]


def by_lexrank(inputs: Sequence[Items], settings: Settings) -> list[str]:
    """Words weigh by how few inputs of the data set have them, so that an answer depends on all inputs."""
    documents = [settings.split(plain(items)) for items in inputs]
    return [" ".join(own) for own in lexrank(documents, settings.sentences, ties=settings.ties)]


def plain(items: Items) -> str:
    """The items without tags, one behind the other."""
    return " ".join(without_tags(item).strip() for item in items)


def answers(files: Sequence[InputFile], system: System, options: Options) -> Iterator[Answer]:
    """A text for each instance, data set by data set. Raises InputRefused, OptionRefused and Unavailable."""
    settings = _settings(options)
    for _, group in groupby(read_instances(files, with_targets=False), key=lambda instance: instance.dataset):
        own = list(group)
        inputs = [
            cited_abstracts(instance.inputs) if options["inputs"] == CITED else instance.inputs
            for instance in own
        ]
        for instance, text in zip(own, system(inputs, settings), strict=True):
            yield {"id": instance.id, "prediction": text}


def _settings(options: Options) -> Settings:
    count = options.get("sentences", SENTENCES.default)
    if not (count.isascii() and count.isdecimal() and 1 <= int(count) <= 1000):
        raise OptionRefused(f"option sentences={count}: expected a whole number from 1 to 1000")
    return Settings(
        split=SPLITTERS[options.get("splitter", SPLITTER.default)],
        sentences=int(count),
        ties=options.get("ties", TIED.default),
    )


def _declared(name: str, summary: str, system: System, *options: Option) -> Baseline:
    def configured(given: Options) -> Callable[[Sequence[InputFile]], Iterator[Answer]]:
        return lambda files: answers(files, system, given)

    defaults = {option.name: option.default for option in options}
    return Baseline(
        name=name,
        summary=summary,
        source=CITEBENCH,
        answers=configured(defaults),
        options=options,
        configured=configured,
    )


BASELINES = (
    _declared(
        "citation-text-lead", "The first three sentences of the inputs.", lead, INPUTS, SPLITTER, SENTENCES
    ),
    _declared(
        "citation-text-textrank",
        "TextRank as in the package summa, a fifth of the sentences.",
        by_textrank,
        INPUTS,
    ),
    _declared(
        "citation-text-lexrank",
        "LexRank as in the package lexrank, the three best sentences.",
        by_lexrank,
        INPUTS,
        SPLITTER,
        SENTENCES,
        TIED,
    ),
)
