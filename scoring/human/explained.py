"""What people said of a run, told like any other number of a board."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from django.utils.translation import gettext as _

from scoring.board.human_columns import SCALE, published_sheet
from scoring.board.names import metric_label
from scoring.board.numbers import interval, shown
from scoring.models import CRITERIA, HIGHEST, LOWEST, HumanScore, Sheet
from scoring.runs.explained import Explained, signature_parts
from tasks.models import Phase, Submission

#: Stands in the place of a rule set.
HUMAN = "human"


def rated(phase: Phase, run: Submission, at: dt.datetime | None = None) -> list[tuple[str, list[Explained]]]:
    """Under one head the run's means; nothing where no published sheet has the run."""
    sheet = published_sheet(phase, at)
    if sheet is None:
        return []
    scores = {score.criterion: score for score in sheet.scores.filter(submission=run)}
    numbers = [_described(scores[name], sheet) for name in CRITERIA if name in scores]
    return [(HUMAN, numbers)] if numbers else []


def _described(score: HumanScore, sheet: Sheet) -> Explained:
    metric = f"human_{score.criterion}"
    return Explained(
        id=-score.pk,
        metric=metric,
        label=metric_label(metric),
        value=shown(score.value, SCALE),
        interval=interval(score.low, score.high, SCALE),
        n=score.n,
        is_percentage=False,
        upward=_("higher is better"),
        definition=_(
            "People's judgement: the mean of %(ratings)s ratings from %(lowest)s to %(highest)s of sampled "
            "texts, which did not say whose they are. Asked was: %(question)s"
        )
        % {
            "ratings": score.n,
            "lowest": LOWEST,
            "highest": HIGHEST,
            "question": sheet.question(score.criterion),
        }
        + _scale(sheet.levels(score.criterion)),
        citation="",
        signature=score.signature,
        parts=signature_parts(score.signature),
        command="",
    )


def _scale(levels: Sequence[str]) -> str:
    said = "; ".join(f"{level}: {words}" for level, words in enumerate(levels, start=LOWEST))
    return " " + _("The levels: %(levels)s.") % {"levels": said} if said else ""
