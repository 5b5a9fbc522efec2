"""Gold and answers side by side: one row for each instance, which is the unit that is resampled."""

from __future__ import annotations

import re
from collections import Counter

from tasks.types.base import Options, Pairs, Split
from tasks.types.citation_text.inputs import without_tags
from tasks.types.citation_text.instance import Instance
from tasks.types.citation_text.labels import INTENT
from tasks.types.citation_text.marks import marks, without_marks
from tasks.types.citation_text.runs import Prediction, Run

DIMENSIONS = ("dataset", "cited_papers", "target_length", "empty_abstracts", "unseen_words", "target_intent")
#: What is counted beside the scores, since the scores do not show it.
NOTES = (
    "missing_predictions",
    "empty_predictions",
    "missing_marks",
    "unknown_marks",
    "damaged_marks",
)
_LENGTHS = (
    (25, "under 25 words"),
    (50, "25 to 49 words"),
    (100, "50 to 99 words"),
    (200, "100 to 199 words"),
)
_MAX_COUNTED = 5
#: What an input can tell or withhold: numbers, and words of four letters or more.
_TELLING = re.compile(r"[^\W\d_]{4,}|\d+")
_UNSEEN = ((0.25, "under a quarter"), (0.5, "a quarter to half"), (0.75, "half to three quarters"))


def pair(split: Split, run: Run, rules: str, options: Options) -> Pairs:
    """An instance without a prediction counts as one with an empty text, under either rule set."""
    instances: tuple[Instance, ...] = split.content
    answers = [run.predictions.get(instance.id) for instance in instances]
    names = [instance.id for instance in instances]
    notes = Counter(dict.fromkeys(NOTES, 0))
    for instance, answer in zip(instances, answers, strict=True):
        _count(instance, answer, notes)
    classes = [_classes(instance) for instance in instances]
    return Pairs(
        gold=instances,
        answers=answers,
        units=names,
        features={name: [own[name] for own in classes] for name in DIMENSIONS},
        names=names,
        notes=notes,
    )


def _count(instance: Instance, answer: Prediction | None, notes: Counter[str]) -> None:
    cited = len(instance.cited)
    own = marks(answer.text if answer else "")
    notes["missing_predictions"] += answer is None
    notes["empty_predictions"] += answer is not None and not answer.text.strip()
    notes["missing_marks"] += own.missing(cited)
    notes["unknown_marks"] += own.unknown(cited)
    notes["damaged_marks"] += len(own.damaged)


def _classes(instance: Instance) -> dict[str, tuple[str, ...]]:
    cited = instance.cited
    empty = sum(not abstract.strip() for abstract in cited)
    return {
        "dataset": (instance.dataset,),
        "cited_papers": (str(len(cited)) if len(cited) < _MAX_COUNTED else f"{_MAX_COUNTED} or more",),
        "target_length": (length_class(len(instance.target.split())),),
        "empty_abstracts": ("none" if not empty else "all" if empty == len(cited) else "some",),
        "unseen_words": (unseen_class(instance),),
        "target_intent": tuple(dict.fromkeys(instance.labels.get(INTENT, ()))),
    }


def length_class(words: int) -> str:
    return next((name for limit, name in _LENGTHS if words < limit), "200 words or more")


def unseen_class(instance: Instance) -> str:
    """How much of what the text says is missing from all that a system is given, by its distinct words.

    Capitals do not count, nor do marks. A text without such words misses nothing.
    """
    said = _telling(without_marks(instance.target))
    unseen = said - _telling(" ".join(map(without_tags, instance.inputs)))
    share = len(unseen) / len(said) if said else 0
    return next((name for limit, name in _UNSEEN if share < limit), "three quarters or more")


def _telling(text: str) -> set[str]:
    return set(_TELLING.findall(text.lower()))
