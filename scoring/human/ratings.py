"""Save people's ratings of texts, entered on pages or uploaded as files. All ratings of
a file are saved, or no rating is saved and all problems are reported.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.confinement import UploadUnreadable, read_upload
from citeboard.core.plain_text import format_spreadsheet_cell
from citeboard.core.refusals import ActionRefused
from citeboard.teams.models import User
from scoring.human.states import require_open_sheet
from scoring.models import (
    HIGHEST_RATING,
    LOWEST_RATING,
    RATING_CRITERIA,
    Annotator,
    Rating,
    Sheet,
    SheetText,
)
from scoring.results.board.exports import format_as_csv
from tasks.types import InputRefused, Problem
from tasks.types.problems import convert_dicts_to_problems

#: Longer texts are cut, because spreadsheet cells hold at most slightly longer ones.
MAX_RATING_FORM_CELL_CHARACTERS = 32_000
TEXT_CODE_COLUMN = "text_id"
RATING_FORM_COLUMNS = (
    TEXT_CODE_COLUMN,
    "instance",
    "sources",
    "text",
    *RATING_CRITERIA,
)


class RatingsRefused(InputRefused):
    """An error about invalid ratings, from which nothing was stored."""


@dataclass(frozen=True)
class ParsedRating:
    code: str
    values: Mapping[str, int]


def save_ratings(*, annotator: Annotator, ratings: Sequence[ParsedRating]) -> int:
    """Save an annotator's ratings, replace the annotator's earlier ratings of the same
    texts, and return the number of saved ratings.

    Raises RatingsRefused if the sheet accepts no ratings.
    """
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=annotator.sheet_id)
        try:
            require_open_sheet(locked)
        except ActionRefused as closed:
            raise RatingsRefused([Problem(message=str(closed))]) from closed
        texts = dict(find_texts_to_rate(annotator).values_list("code", "pk"))
        if undisputed := [
            rating.code for rating in ratings if rating.code not in texts
        ]:
            message = _(
                "annotators do not differ on %(code)s, and an adjudicator rates nothing else"
            )
            raise RatingsRefused([Problem(message=message % {"code": undisputed[0]})])
        for rating in ratings:
            Rating.objects.update_or_create(
                annotator=annotator,
                text_id=texts[rating.code],
                defaults={**rating.values, "rated_at": timezone.now()},
            )
    return len(ratings)


def load_texts_of_sheet(sheet: Sheet) -> QuerySet[SheetText]:
    return SheetText.objects.filter(instance__sheet=sheet).order_by(
        "instance__position", "position"
    )


def build_rating_form_csv(annotator: Annotator) -> str:
    ratings = {rating.text_id: rating for rating in annotator.ratings.all()}
    lines: list[Sequence[object]] = [RATING_FORM_COLUMNS]
    for text in find_texts_to_rate(annotator).select_related("instance"):
        rating = ratings.get(text.pk)
        values = [getattr(rating, name) if rating else "" for name in RATING_CRITERIA]
        sources = "\n\n".join(
            f"{heading}: {words}" for heading, words in text.instance.sources
        )
        row = [text.code, text.instance.name, sources, text.text]
        cut = (
            cell
            if len(cell) <= MAX_RATING_FORM_CELL_CHARACTERS
            else f"{cell[: MAX_RATING_FORM_CELL_CHARACTERS - 1]}…"
            for cell in row
        )
        lines.append([*map(format_spreadsheet_cell, cut), *values])
    return format_as_csv(*lines)


def read_rating_file(
    path: Path, sheet: Sheet, shown: str, by: User
) -> list[ParsedRating]:
    """Parse an uploaded file of ratings. Lines of texts that nobody rated are skipped.
    Raises RatingsRefused or SandboxPoolFull.
    """
    facts = {
        "filename": shown,
        "codes": list(load_texts_of_sheet(sheet).values_list("code", flat=True)),
        "form": {
            "code": TEXT_CODE_COLUMN,
            "criteria": list(RATING_CRITERIA),
            "lowest": LOWEST_RATING,
            "highest": HIGHEST_RATING,
        },
    }
    try:
        with read_upload(
            "scoring.human.reading:ratings", path, facts, owner=by
        ) as done:
            if problems := convert_dicts_to_problems(done.result["problems"]):
                raise RatingsRefused(problems)
            return [
                ParsedRating(code, values)
                for code, values in done.result["ratings"].items()
            ]
    except UploadUnreadable as reason:
        raise RatingsRefused([Problem(file=shown, message=str(reason))]) from reason


ADJUDICATION_DISTANCES = range(1, HIGHEST_RATING - LOWEST_RATING + 1)


class FinalRating(NamedTuple):
    """The rating of a text that is used to compute the results of a sheet. If an
    adjudicator rated the text, the ratings of all annotators are ignored.
    """

    text: int
    run: int
    position: int
    instance: str
    value: int


def find_disputed_texts(sheet: Sheet, criterion: str) -> set[int]:
    if sheet.adjudicated_from is None:
        return set()
    values: dict[int, list[int]] = defaultdict(list)
    first = Rating.objects.filter(
        annotator__sheet=sheet, annotator__is_adjudicator=False
    )
    for text, value in first.order_by().values_list("text", criterion):
        values[text].append(value)
    return {
        text
        for text, one in values.items()
        if max(one) - min(one) >= sheet.adjudicated_from
    }


def find_all_disputed_texts(sheet: Sheet) -> set[int]:
    return set().union(
        *(find_disputed_texts(sheet, criterion) for criterion in RATING_CRITERIA)
    )


def find_adjudicated_ratings(sheet: Sheet, criterion: str) -> dict[int, int]:
    open_texts = find_disputed_texts(sheet, criterion)
    final = Rating.objects.filter(
        annotator__sheet=sheet, annotator__is_adjudicator=True
    )
    rows = final.order_by("annotator").values_list("text", criterion)
    return {text: value for text, value in rows if text in open_texts}


def iterate_final_ratings(sheet: Sheet, criterion: str) -> Iterator[FinalRating]:
    """Yield the ratings that are used in the results, in the order of the texts on the
    sheet.

    For each text, yield the adjudicator's rating, or the ratings of all annotators if
    the adjudicator did not rate the text.
    """
    by_adjudicator = find_adjudicated_ratings(sheet, criterion)
    first = Rating.objects.filter(
        annotator__sheet=sheet, annotator__is_adjudicator=False
    )
    rows = first.order_by("text__instance__position", "text", "annotator").values_list(
        "text",
        "text__submission",
        "text__instance__position",
        "text__instance__name",
        criterion,
    )
    settled: set[int] = set()
    for rating in map(FinalRating._make, rows):
        if rating.text not in by_adjudicator:
            yield rating
        elif rating.text not in settled:
            settled.add(rating.text)
            yield rating._replace(value=by_adjudicator[rating.text])


def find_texts_to_rate(annotator: Annotator) -> QuerySet[SheetText]:
    texts = SheetText.objects.filter(instance__sheet=annotator.sheet_id)
    if annotator.is_adjudicator:
        texts = texts.filter(pk__in=find_all_disputed_texts(annotator.sheet))
    return texts.order_by("instance__position", "position")


def set_adjudication_distance(*, sheet: Sheet, distance: int | None, by: User) -> None:
    """Set how much two ratings of a text must differ before an adjudicator must rate
    the text. If the difference is None, no text needs an adjudicator.

    Raises Refused if the sheet is already published.
    """
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        if locked.is_published:
            raise ActionRefused(
                _(
                    "the sheet is published; unpublish it before you change what it "
                    "rests on"
                )
            )
        before = locked.adjudicated_from
        if before == distance:
            return
        locked.adjudicated_from = distance
        locked.save(update_fields=["adjudicated_from"])
        key, facts = "sheet-adjudication/none", {"sheet": sheet.pk}
        if distance is not None:
            key, facts = "sheet-adjudication", {**facts, "distance": distance}
        phase, changes = (
            locked.phase,
            [audit.SettingChange("adjudicated_from", before, distance)],
        )
        audit.record_action(
            key,
            actor=by,
            subject=phase,
            place=phase.task.season,
            facts=facts,
            changes=changes,
        )
