"""What people said of a run, told like any other number of a board."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from citeboard.core.words import counted
from scoring.board.human_columns import SCALE, published_judgements, published_sheet
from scoring.board.names import metric_label
from scoring.board.numbers import interval, shown
from scoring.metrics.entailment.judgements import RATINGS
from scoring.models import CRITERIA, HIGHEST, LOWEST, HumanScore, Sheet
from scoring.runs.explained import Explained, signature_parts
from tasks.models import Phase, Submission

#: Stands in the place of a rule set.
HUMAN = "human"
#: What is rated of whole responses.
RATED = {
    "utility": gettext_noop("Annotators say how useful the response is to whoever asked."),
    "citation_utility": gettext_noop(
        "Annotators say whether its citations are of use: 1 if they are, 0 if not."
    ),
}


def rated(phase: Phase, run: Submission, at: dt.datetime | None = None) -> list[tuple[str, list[Explained]]]:
    """Under one head the run's means; nothing where neither a sheet nor judgements of it are published."""
    sheet = published_sheet(phase, at)
    found: dict[str, Explained] = {}
    if sheet is not None:
        found = {score.criterion: _of_sheet(score, sheet) for score in sheet.scores.filter(submission=run)}
    judged = published_judgements(phase, at).filter(submission=run)
    found |= {score.criterion: _of_responses(score) for score in HumanScore.objects.filter(judged__in=judged)}
    numbers = [found[name] for name in (*CRITERIA, *RATINGS) if name in found]
    return [(HUMAN, numbers)] if numbers else []


def _described(score: HumanScore, scale: float, definition: str) -> Explained:
    metric = f"human_{score.criterion}"
    return Explained(
        id=-score.pk,
        metric=metric,
        label=metric_label(metric),
        value=shown(score.value, scale),
        interval=interval(score.low, score.high, scale),
        n=score.n,
        is_percentage=False,
        upward=_("higher is better"),
        definition=definition,
        citation="",
        signature=score.signature,
        parts=signature_parts(score.signature),
        command="",
    )


def _of_sheet(score: HumanScore, sheet: Sheet) -> Explained:
    asked = _(
        "People's judgement: the mean of %(ratings)s ratings from %(lowest)s to %(highest)s of sampled "
        "texts, which did not say whose they are. Asked was: %(question)s"
    ) % {
        "ratings": score.n,
        "lowest": LOWEST,
        "highest": HIGHEST,
        "question": sheet.question(score.criterion),
    }
    return _described(score, SCALE, asked + _scale(sheet.levels(score.criterion)))


def _of_responses(score: HumanScore) -> Explained:
    levels = RATINGS[score.criterion]
    definition = _(
        "People's judgement: a response has the mean of its ratings, from %(lowest)s to %(highest)s, and "
        "this is the mean over %(responses)s. %(what)s"
    ) % {
        "lowest": levels[0],
        "highest": levels[-1],
        "responses": counted(score.n, "response"),
        "what": _(RATED[score.criterion]),
    }
    return _described(score, float(levels[-1]), definition)


def _scale(levels: Sequence[str]) -> str:
    said = "; ".join(f"{level}: {words}" for level, words in enumerate(levels, start=LOWEST))
    return " " + _("The levels: %(levels)s.") % {"levels": said} if said else ""
