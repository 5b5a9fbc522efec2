"""Prepare the columns of a board that contain human ratings."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from citeboard.core.words import count_with_noun
from scoring.models import (
    HIGHEST,
    LOWEST,
    RATING_CRITERIA,
    HumanScore,
    JudgedRun,
    Sheet,
)
from scoring.results.board.formatting import score_with_interval
from scoring.stats.people_and_labels import RATINGS
from tasks.models import Phase


@dataclass(frozen=True)
class HumanColumn:
    metric: str
    key: str
    scale: float
    #: ``scores`` maps the id of each run to the run's score by human judges.
    scores: dict[int, HumanScore] = field(default_factory=dict)


#: RATING_SCALE determines the number of decimals in a column of human ratings.
RATING_SCALE = float(HIGHEST)


def newest_published_rating_sheet(
    phase: Phase, at: dt.datetime | None = None
) -> Sheet | None:
    if phase.task.task_type.human_evaluation is None:
        return None
    sheets = Sheet.objects.ratings().published().filter(phase=phase)
    if at is not None:
        sheets = sheets.filter(published_at__lte=at)
    return sheets.order_by("-published_at", "-pk").first()


def published_judgements(
    phase: Phase, at: dt.datetime | None = None
) -> QuerySet[JudgedRun]:
    if not phase.task.task_type.has_claims:
        return JudgedRun.objects.none()
    runs = JudgedRun.objects.published().filter(submission__phase=phase)
    return runs if at is None else runs.filter(published_at__lte=at)


def human_columns(phase: Phase, at: dt.datetime | None = None) -> list[HumanColumn]:
    rated: list[HumanColumn] = []
    if (sheet := newest_published_rating_sheet(phase, at)) is not None:
        parts = rating_key_parts(sheet)
        keys = {
            name: join_key_parts(f"human_{name}", parts) for name in RATING_CRITERIA
        }
        criteria = {
            name: HumanColumn(f"human_{name}", key, RATING_SCALE)
            for name, key in keys.items()
        }
        rated += _fill_human_scores(criteria, HumanScore.objects.filter(sheet=sheet))
    if not phase.task.task_type.has_claims:
        return rated
    kinds = {
        kind: HumanColumn(
            f"human_{kind}",
            join_key_parts(f"human_{kind}", judged_rating_key_parts(kind)),
            float(levels[-1]),
        )
        for kind, levels in RATINGS.items()
    }
    return rated + _fill_human_scores(
        kinds, HumanScore.objects.filter(judged__in=published_judgements(phase, at))
    )


def _fill_human_scores(
    columns: Mapping[str, HumanColumn], scores: Iterable[HumanScore]
) -> list[HumanColumn]:
    for score in scores:
        columns[score.criterion].scores[score.submission_id] = score
    return [column for column in columns.values() if column.scores]


def agreement_in_words(sheet: Sheet) -> str:
    """Return the agreement between annotators as text, such as `readability 0.62 and
    0.60`. The first number is the mean kappa over pairs of annotators, and the second
    is Krippendorff's alpha.
    """
    agreements = {name: sheet.agreement.get(name, {}) for name in RATING_CRITERIA}
    words = ", ".join(
        _("%(name)s %(kappa)s and %(alpha)s")
        % {
            "name": name,
            "kappa": _agreement_value_text(one, "mean"),
            "alpha": _agreement_value_text(one, "alpha"),
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


def _agreement_value_text(agreed: Mapping[str, Any], name: str) -> str:
    value = agreed.get(name)
    return (
        _("undefined")
        if value is None
        else score_with_interval(value, agreed.get(f"{name}_interval"), 100)
    )


def rating_key_parts(sheet: Sheet) -> dict[str, object]:
    return {"ratings": f"{LOWEST}-{HIGHEST}", "sheet": sheet.pk, "v": 1}


def judged_rating_key_parts(kind: str) -> dict[str, object]:
    return {"ratings": f"{RATINGS[kind][0]}-{RATINGS[kind][-1]}", "v": 1}


def join_key_parts(head: str, parts: dict[str, object]) -> str:
    return "|".join([head, *(f"{name}:{value}" for name, value in parts.items())])


def four_decimals_or_none(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"
