"""The instances of one run: what was given, the gold, its answer, and the value of each metric there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scoring.board.visibility import may_see_outcome, may_see_submission
from scoring.comparison.instances import names_of, values_by_instance
from scoring.comparison.reading import Rights, rights, texts_of
from scoring.comparison.sides import two
from scoring.metrics import Metric
from scoring.models import Evaluation
from tasks.models import Submission
from tasks.types.shown import ShownInstance

#: Instances on one page.
PAGE = 10


@dataclass(frozen=True, kw_only=True)
class ShownAnswer:
    """One instance; a text that is not shown is empty, and so are values that are not.

    ``is_kept`` is False where its texts were not kept with the score.
    """

    name: str
    given: str
    gold: str
    answer: str
    is_kept: bool
    values: Mapping[str, float]
    #: Outcome and sentence; nothing for whom the gold is not shown.
    judged: Sequence[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class OwnPage:
    """Some instances of a run, or the one that was asked for; ``number`` counts pages from 1."""

    instances: list[ShownAnswer]
    metrics: Mapping[str, Metric]
    count: int
    number: int
    pages: int
    has_texts: bool
    #: How many instances have a sentence of each outcome.
    outcomes: Mapping[str, int]


def rights_to(run: Submission, viewer: object) -> Rights | None:
    """As where two runs are compared; a team that is told nothing of its run yet reads nothing either."""
    if may_see_submission(run, viewer) and not may_see_outcome(run, viewer):
        return None
    return rights(run.phase, viewer, [run])


def own_page(
    evaluation: Evaluation, own: Rights, number: int, single: str = "", outcome: str = ""
) -> OwnPage | None:
    """None where the run has no instance of that name. Raises Unreadable.

    With an outcome, instances that have a sentence of it.
    """
    texts = texts_of(evaluation)
    names = list(dict.fromkeys(names_of(evaluation) or texts))
    if single and single not in names:
        return None
    found = {name: {one for one, _ in text.judged} for name, text in texts.items()} if own.gold else {}
    if outcome and found:
        names = [name for name in names if outcome in found.get(name, ())]
    pages = max(1, -(-len(names) // PAGE))
    number = min(number, pages)
    metrics = {metric.name: metric for metric in two(evaluation, evaluation).pooled} if own.values else {}
    values = values_by_instance(evaluation, list(metrics.values()))
    return OwnPage(
        instances=[
            _shown(name, texts.get(name), own, {metric: known[name] for metric, known in values.items()})
            for name in ([single] if single else names[PAGE * (number - 1) : PAGE * number])
        ],
        metrics=metrics,
        count=len(names),
        number=number,
        pages=pages,
        has_texts=bool(texts),
        outcomes=Counter(one for outcomes in found.values() for one in outcomes),
    )


def _shown(name: str, text: ShownInstance | None, own: Rights, values: Mapping[str, float]) -> ShownAnswer:
    return ShownAnswer(
        name=name,
        given=text.given if text and own.given else "",
        gold=text.gold if text and own.gold else "",
        answer=text.answer if text else "",
        is_kept=text is not None,
        values=values,
        judged=text.judged if text and own.gold else (),
    )
