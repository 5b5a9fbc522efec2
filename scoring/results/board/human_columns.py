"""Prepare the columns of a board that contain human ratings."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from citeboard.core.words import count_with_noun
from scoring.models import (
    HIGHEST_RATING,
    LOWEST_RATING,
    RATING_CRITERIA,
    HumanScore,
    JudgedRun,
    Sheet,
)
from scoring.results.board.formatting import format_score_with_interval
from scoring.stats.people_and_labels import LEVELS_BY_RATING
from tasks.models import Phase


@dataclass(frozen=True)
class HumanScoreColumn:
    metric: str
    key: str
    scale: float
    #: ``scores`` maps the id of each run to the run's score by human judges.
    scores: dict[int, HumanScore] = field(default_factory=dict)


#: RATING_COLUMN_SCALE determines the number of decimals in a column of human ratings.
RATING_COLUMN_SCALE = float(HIGHEST_RATING)


def find_newest_published_rating_sheet(
    phase: Phase, at: dt.datetime | None = None
) -> Sheet | None:
    if phase.task.task_type.human_evaluation is None:
        return None
    sheets = Sheet.objects.rating_sheets().published().filter(phase=phase)
    if at is not None:
        sheets = sheets.filter(published_at__lte=at)
    return sheets.order_by("-published_at", "-pk").first()


def find_published_judged_runs(
    phase: Phase, at: dt.datetime | None = None
) -> QuerySet[JudgedRun]:
    if not phase.task.task_type.has_claims:
        return JudgedRun.objects.none()
    runs = JudgedRun.objects.published().filter(submission__phase=phase)
    return runs if at is None else runs.filter(published_at__lte=at)


def build_human_score_columns(
    phase: Phase, at: dt.datetime | None = None
) -> list[HumanScoreColumn]:
    rated: list[HumanScoreColumn] = []
    if (sheet := find_newest_published_rating_sheet(phase, at)) is not None:
        parts = build_rating_column_key_parts(sheet)
        keys = {
            name: join_column_key_parts(f"human_{name}", parts)
            for name in RATING_CRITERIA
        }
        criteria = {
            name: HumanScoreColumn(f"human_{name}", key, RATING_COLUMN_SCALE)
            for name, key in keys.items()
        }
        rated += _fill_human_scores(criteria, HumanScore.objects.filter(sheet=sheet))
    if not phase.task.task_type.has_claims:
        return rated
    kinds = {
        kind: HumanScoreColumn(
            f"human_{kind}",
            join_column_key_parts(f"human_{kind}", build_judged_column_key_parts(kind)),
            float(levels[-1]),
        )
        for kind, levels in LEVELS_BY_RATING.items()
    }
    return rated + _fill_human_scores(
        kinds,
        HumanScore.objects.filter(judged__in=find_published_judged_runs(phase, at)),
    )


def _fill_human_scores(
    columns: Mapping[str, HumanScoreColumn], scores: Iterable[HumanScore]
) -> list[HumanScoreColumn]:
    for score in scores:
        columns[score.criterion].scores[score.submission_id] = score
    return [column for column in columns.values() if column.scores]


def describe_annotator_agreement(sheet: Sheet) -> str:
    """Return the agreement between annotators as text, such as `readability 0.62 and
    0.60`. The first number is the mean kappa over pairs of annotators, and the second
    is Krippendorff's alpha.
    """
    agreements = {name: sheet.agreement.get(name, {}) for name in RATING_CRITERIA}
    words = ", ".join(
        _("%(name)s %(kappa)s and %(alpha)s")
        % {
            "name": name,
            "kappa": _format_agreement_value(one, "mean"),
            "alpha": _format_agreement_value(one, "alpha"),
        }
        for name, one in agreements.items()
    )
    if sheet.adjudicated_from is None:
        return words
    decided = count_with_noun(
        sum(one.get("adjudicated", 0) for one in agreements.values()), "rating"
    )
    return _(
        "%(agreements)s. Where two ratings of a text differ by %(from)s or more, the value is that "
        "of an adjudicator (%(decided)s)"
    ) % {"agreements": words, "from": sheet.adjudicated_from, "decided": decided}


def _format_agreement_value(agreed: Mapping[str, Any], name: str) -> str:
    value = agreed.get(name)
    return (
        _("undefined")
        if value is None
        else format_score_with_interval(value, agreed.get(f"{name}_interval"), 100)
    )


def build_rating_column_key_parts(sheet: Sheet) -> dict[str, object]:
    return {"ratings": f"{LOWEST_RATING}-{HIGHEST_RATING}", "sheet": sheet.pk, "v": 1}


def build_judged_column_key_parts(kind: str) -> dict[str, object]:
    return {
        "ratings": f"{LEVELS_BY_RATING[kind][0]}-{LEVELS_BY_RATING[kind][-1]}",
        "v": 1,
    }


def join_column_key_parts(head: str, parts: dict[str, object]) -> str:
    return "|".join([head, *(f"{name}:{value}" for name, value in parts.items())])


def four_decimals_or_none(value: float | None) -> str:
    return "none" if value is None else f"{value:z.4f}"
