"""Who decides whether a premise entails a hypothesis."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from scoring.metrics.entailment.pairs import Pair
from scoring.metrics.requirements import Requirement, looked_for
from tasks.types.base import Options
from tasks.types.positional_citations.options import (
    LABELS,
    MODEL,
    STORE,
    WORD_OVERLAP,
    entailment_source,
)
from tasks.types.unavailable import Unavailable


class Judge(Protocol):
    """Decides pairs. ``name`` is what signatures call it: two of one name never disagree."""

    @property
    def name(self) -> str: ...

    def decide(self, pairs: Sequence[Pair]) -> Sequence[bool | None]:
        """An answer for each pair, None where there is none. Raises Unavailable."""


class Nobody:
    """Leaves everything open."""

    name = "none"

    def decide(self, pairs: Sequence[Pair]) -> Sequence[bool | None]:
        return [None] * len(pairs)


class WordOverlap:
    """Entailed where three fifths of the hypothesis's distinct words are words of the premise.

    For tests alone.
    """

    name = "word-overlap-0.6"
    _WORD = re.compile(r"\w+")

    def decide(self, pairs: Sequence[Pair]) -> Sequence[bool | None]:
        return [self._entails(pair) for pair in pairs]

    def _entails(self, pair: Pair) -> bool:
        words = set(self._WORD.findall(pair.hypothesis.lower()))
        found = words.intersection(self._WORD.findall(pair.premise.lower()))
        return bool(words) and len(found) / len(words) >= 0.6


class Watched:
    """Another's answers, which it keeps."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.name = judge.name
        self.answers: dict[Pair, bool | None] = {}

    def decide(self, pairs: Sequence[Pair]) -> Sequence[bool | None]:
        answers = self._judge.decide(pairs)
        self.answers.update(zip(pairs, answers, strict=True))
        return answers


def deciders(options: Options) -> tuple[Requirement, ...]:
    """What has to be on this machine for anybody to decide; what a site keeps is not looked at here."""
    source, name = entailment_source(options)
    if source == LABELS:
        return (looked_for("entailment labels", name, lambda: (name, judge_of(options).name)),)
    if source == MODEL:
        return (looked_for("entailment model", name, lambda: _model(name)),)
    return ()


def _model(name: str) -> tuple[str, str]:
    from scoring.metrics.entailment.models import model_folder, model_name

    folder = model_folder(name)
    return str(folder), model_name(name, folder)


def judge_of(options: Options) -> Judge:
    """Whom the options name.

    Raises OptionRefused, Unavailable where it is not there, InputRefused where it is broken.
    """
    source, name = entailment_source(options)
    if source == LABELS:
        from scoring.metrics.entailment.labels import stored_labels

        return stored_labels(Path(name))
    if source == MODEL:
        from scoring.metrics.entailment.models import model_judge

        return model_judge(name)
    if source == STORE:
        raise Unavailable(
            f"the labels of {name} are kept by a site: have its organisers export them, "
            "and give the file as entailment=labels:PATH"
        )
    return WordOverlap() if source == WORD_OVERLAP else Nobody()
