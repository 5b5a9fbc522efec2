"""What a claim's labels come to: whether its passages entail it, and which of its marks earn credit.

After Gao et al. 2023, Enabling Large Language Models to Generate Text with Citations (EMNLP), section 4. A
mark earns its credit if all passages together entail the claim and it is either enough by itself or needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scoring.metrics.entailment.judges import Judge
from scoring.metrics.entailment.pairs import Case, Pair


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
    """A verdict for each case. Nothing is asked that cannot matter, and nothing twice."""
    answers = _Answers(judge)
    answers.ask(case.joint for case in cases)
    supported = [case for case in cases if case.has_several and answers[case.joint] is not False]
    asked = [(case, passage) for case in supported for passage in case.first_places]
    answers.ask(case.alone(passage) for case, passage in asked)
    answers.ask(case.others(passage) for case, passage in asked if answers[case.alone(passage)] is not True)
    return [_verdict(case, answers) for case in cases]


class _Answers(dict[Pair, bool | None]):
    """What a judge has said so far.

    A judge that leaves something open only looks it up, so that asking costs nothing.
    """

    def __init__(self, judge: Judge) -> None:
        super().__init__()
        self._judge = judge

    def ask(self, pairs: Iterable[Pair]) -> None:
        new = list(dict.fromkeys(pair for pair in pairs if pair not in self))
        self.update(zip(new, self._judge.decide(new), strict=True))


def _verdict(case: Case, answers: _Answers) -> Verdict:
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

    def __init__(self, case: Case, passage: str, answers: _Answers) -> None:
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
