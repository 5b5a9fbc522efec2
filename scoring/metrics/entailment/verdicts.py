"""What is asked of an entailment judge, and what a claim's labels come to.

After Gao et al. 2023, Enabling Large Language Models to Generate Text with Citations (EMNLP), section 4. A
mark earns its credit if all passages together entail the claim and it is either enough by itself or needed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from tasks.types.positional_citations.gold import Passage


@dataclass(frozen=True)
class Pair:
    """A premise and a hypothesis, word for word as a model is given them."""

    premise: str
    hypothesis: str

    @property
    def key(self) -> tuple[str, str]:
        """By what labels are kept: the SHA-256 of premise and hypothesis."""
        return sha256(self.premise), sha256(self.hypothesis)


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def passage_text(passage: Passage) -> str:
    return f"Title: {passage.title}\n{passage.text}" if passage.title else passage.text


@dataclass(frozen=True)
class Case:
    """A claim and the passages that its marks stand for, in order, each as often as it is marked."""

    hypothesis: str
    passages: tuple[str, ...]

    @cached_property
    def joint(self) -> Pair:
        return Pair("\n".join(self.passages), self.hypothesis)

    @property
    def has_several(self) -> bool:
        return len(self.passages) > 1

    @cached_property
    def first_places(self) -> Mapping[str, int]:
        """Each distinct passage with the place of its first mark; all marks of a passage are judged alike."""
        return {passage: self.passages.index(passage) for passage in dict.fromkeys(self.passages)}

    def alone(self, passage: str) -> Pair:
        return Pair(passage, self.hypothesis)

    def others(self, passage: str) -> Pair:
        """The passages of all marks but the first of this passage."""
        first = self.first_places[passage]
        return Pair("\n".join((*self.passages[:first], *self.passages[first + 1 :])), self.hypothesis)


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
        shared = words.intersection(self._WORD.findall(pair.premise.lower()))
        return bool(words) and len(shared) / len(words) >= 0.6


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


@dataclass(frozen=True)
class Verdict:
    """``entailed`` and the credit of each mark, None where it is pending.

    ``pending`` are the pairs that may still have to be asked, ``next`` those of them that have to be in any
    case. Of several marks ``alone`` says whether each one's passage is enough by itself and ``others``
    whether the others are without it; None where that is pending or was not asked.
    """

    entailed: bool | None
    credits: tuple[bool | None, ...]
    pending: tuple[Pair, ...] = ()
    next: tuple[Pair, ...] = ()
    alone: tuple[bool | None, ...] = ()
    others: tuple[bool | None, ...] = ()

    @property
    def credit(self) -> int:
        return sum(credit is True for credit in self.credits)


def judged(cases: Sequence[Case], judge: Judge) -> list[Verdict]:
    """A verdict for each case. Nothing is asked that cannot matter, and nothing twice.

    A judge that leaves something open only looks it up, so that asking costs nothing.
    """
    answers: dict[Pair, bool | None] = {}

    def ask(pairs: Iterable[Pair]) -> None:
        new = list(dict.fromkeys(pair for pair in pairs if pair not in answers))
        answers.update(zip(new, judge.decide(new), strict=True))

    ask(case.joint for case in cases)
    supported = [case for case in cases if case.has_several and answers[case.joint] is not False]
    by_passage = [(case, passage) for case in supported for passage in case.first_places]
    ask(case.alone(passage) for case, passage in by_passage)
    ask(case.others(passage) for case, passage in by_passage if answers[case.alone(passage)] is not True)
    return [_verdict(case, answers) for case in cases]


def _verdict(case: Case, answers: Mapping[Pair, bool | None]) -> Verdict:
    entailed = answers[case.joint]
    count = len(case.passages)
    if entailed is False or (entailed and not case.has_several):
        return Verdict(entailed, (entailed,) * count)
    if not case.has_several:
        return Verdict(None, (None,), (case.joint,), (case.joint,))
    views = {passage: _View(case, passage, answers) for passage in case.first_places}
    asked = (case.joint, *(pair for view in views.values() for pair in view.asked))
    pending = tuple(dict.fromkeys(pair for pair in asked if answers[pair] is None))
    if entailed is None:
        return Verdict(None, (None,) * count, pending, (case.joint,))
    waiting = dict.fromkeys(pair for view in views.values() for pair in view.waiting)
    of_marks = [views[passage] for passage in case.passages]
    return Verdict(
        True,
        tuple(view.earned for view in of_marks),
        pending,
        tuple(waiting),
        tuple(view.alone for view in of_marks),
        tuple(view.others for view in of_marks),
    )


class _View:
    """What is known of the credit that one passage's marks earn, given that all passages entail the claim.

    ``asked`` are the pairs that it may rest on, ``waiting`` the one without which nothing can be said.
    """

    def __init__(self, case: Case, passage: str, answers: Mapping[Pair, bool | None]) -> None:
        alone = case.alone(passage)
        self.earned = self.alone = answers[alone]
        self.others: bool | None = None
        self.asked: tuple[Pair, ...] = (alone,)
        self.waiting: tuple[Pair, ...] = (alone,) if self.earned is None else ()
        if self.earned is True:
            return
        others = case.others(passage)
        self.asked = (alone, others)
        if self.earned is False:
            self.others = answers[others]
            self.earned = None if self.others is None else not self.others
            self.waiting = (others,) if self.others is None else ()
