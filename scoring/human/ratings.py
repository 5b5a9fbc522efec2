"""Taking ratings, from the pages or from a file: all of them, or none and every reason."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core.confinement import UploadUnreadable, read_upload
from citeboard.core.plain_text import plain
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from scoring.human.adjudication import texts_for
from scoring.models import CRITERIA, HIGHEST, LOWEST, Annotator, Rating, Sheet, SheetText
from tasks.types import Problem
from tasks.types.problems import from_values

#: The program that reads a file of ratings in a confined process.
READ = "scoring.human.reading:ratings"
#: Table programs hold no more in a cell.
MAX_CELL = 32_000
CODE = "text_id"
COLUMNS = (CODE, "instance", "sources", "text", *CRITERIA)


class RatingsRefused(Refused):
    """Nothing was stored; ``problems`` says why."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems[:3]))


@dataclass(frozen=True)
class Given:
    """Ratings of one text, by criterion."""

    code: str
    values: Mapping[str, int]


def save_ratings(*, annotator: Annotator, given: Sequence[Given]) -> int:
    """Keep the ratings in the place of earlier ones of the same texts; returns how many.

    Raises RatingsRefused where the sheet is published. Codes are those of the sheet.
    """
    with transaction.atomic():
        sheet = Sheet.objects.select_for_update().get(pk=annotator.sheet_id)
        if not sheet.is_open:
            raise RatingsRefused([Problem(message=_("the sheet is published and takes no more ratings"))])
        texts = dict(texts_for(annotator).values_list("code", "pk"))
        if undisputed := [rating.code for rating in given if rating.code not in texts]:
            message = _("annotators do not differ on %(code)s, and an adjudicator rates nothing else")
            raise RatingsRefused([Problem(message=message % {"code": undisputed[0]})])
        for rating in given:
            Rating.objects.update_or_create(
                annotator=annotator,
                text_id=texts[rating.code],
                defaults={**rating.values, "rated_at": timezone.now()},
            )
    return len(given)


def texts_of(sheet: Sheet) -> QuerySet[SheetText]:
    """Every text of the sheet in the order of its pages."""
    return SheetText.objects.filter(instance__sheet=sheet).order_by("instance__position", "position")


def sheet_csv(annotator: Annotator) -> str:
    """The sheet with the annotator's ratings so far. Nothing in it is taken for a formula."""
    own = {rating.text_id: rating for rating in annotator.ratings.all()}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for text in texts_for(annotator).select_related("instance"):
        rating = own.get(text.pk)
        values = [getattr(rating, name) if rating else "" for name in CRITERIA]
        sources = "\n\n".join(f"{heading}: {words}" for heading, words in text.instance.sources)
        row = [text.code, text.instance.name, sources, text.text]
        writer.writerow([*(plain(_cut(cell)) for cell in row), *values])
    return out.getvalue()


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CELL else f"{text[: MAX_CELL - 1]}…"


def read_ratings(path: Path, sheet: Sheet, shown: str, by: User) -> list[Given]:
    """What a file of ratings says; lines without any are passed over. Raises RatingsRefused or PoolFull."""
    given = {
        "filename": shown,
        "codes": list(texts_of(sheet).values_list("code", flat=True)),
        "form": {"code": CODE, "criteria": list(CRITERIA), "lowest": LOWEST, "highest": HIGHEST},
    }
    try:
        with read_upload(READ, path, given, owner=by) as done:
            if problems := from_values(done.result["problems"]):
                raise RatingsRefused(problems)
            return [Given(code, values) for code, values in done.result["ratings"].items()]
    except UploadUnreadable as reason:
        raise RatingsRefused([Problem(file=shown, message=str(reason))]) from reason
