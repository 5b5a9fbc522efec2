"""Instances of citation text generation as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tasks.types.base import Options, Pairs, Split
from tasks.types.citation_text.instances import (
    ABSTRACT,
    AFTER,
    BEFORE,
    Instance,
    is_cited,
    read_instances,
    without_tags,
)
from tasks.types.citation_text.runs import Run
from tasks.types.files import InputFile
from tasks.types.human_evaluation import HumanEvaluation, Scale, Sources
from tasks.types.instance_view import MAX_SHOWN, ShownInstance


def show_instances(
    files: Sequence[InputFile], split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """What is given, a paragraph for each item; the text of the authors, and the run's."""
    for instance, answer in zip(pairs.gold[:MAX_SHOWN], pairs.answers, strict=False):
        yield ShownInstance(
            name=instance.id,
            given="\n\n".join(instance.inputs),
            gold=instance.target,
            answer=answer.text if answer else "",
        )


_HEADINGS = {
    ABSTRACT: "Abstract of the citing paper",
    BEFORE: "Before the citation text",
    AFTER: "After the citation text",
}


def sources(files: Sequence[InputFile]) -> Mapping[str, Sources]:
    """By instance what stands around the text, and the cited abstracts under their marks."""
    return {instance.id: _sources(instance) for instance in read_instances(files, with_targets=False)}


def texts(run: Run) -> Mapping[str, str]:
    return {name: prediction.text for name, prediction in run.predictions.items()}


def _sources(instance: Instance) -> Sources:
    found = []
    cited = 0
    for item in instance.inputs:
        text = without_tags(item).strip() or "(empty)"
        if is_cited(item):
            found.append((f"Cited paper [{cited}]", text))
            cited += 1
        else:
            heading = next(words for tag, words in _HEADINGS.items() if item.lstrip().startswith(f"<{tag}>"))
            found.append((heading, text))
    return tuple(found)


def references(files: Sequence[InputFile]) -> Mapping[str, str]:
    """By instance the text of the paper itself, from the gold."""
    return {instance.id: instance.text for instance in read_instances(files, with_targets=True)}


#: CiteBench (Funkquist et al. 2023) asks for readability, and for consistency with the gold text, on five
#: levels; what each level means is in our words.
READABILITY = Scale(
    "How well does the text read, whatever it says?",
    (
        "cannot be understood: broken sentences, or words without an order",
        "hard to follow: many faults, or the same said again and again",
        "can be followed with some effort: faults or jumps in several places",
        "reads well: a fault here or there that does not stop the reader",
        "reads as a careful author would have written it",
    ),
)
CONSISTENCY = Scale(
    "How far does the text say what the gold text says of the cited papers?",
    (
        "it says something else, or contradicts the gold text",
        "it shares the topic alone, or most of what it says is wrong by the gold text",
        "it says part of it, and leaves out or adds what matters",
        "it says nearly all of it, with small gaps or additions",
        "it says the same, in whatever words",
    ),
)
HUMAN_EVALUATION = HumanEvaluation(
    sources=sources,
    texts=texts,
    scales={"readability": READABILITY},
    references=references,
    reference_scales={"consistency": CONSISTENCY},
)
