"""Texts that a spreadsheet would calculate are texts in every CSV file, whoever wrote them."""

import csv
import io
from collections.abc import Iterator

import pytest

from citeboard.core.plain_text import FORMULA_PREFIXES
from citeboard.teams.models import Team
from scoring.models import ManualMeasure, ManualScore, SheetInstance, SheetText
from tasks.models import Submission, Terms
from tests.access.table import OUR_ROUTES, address, expected, sign_in

pytestmark = pytest.mark.django_db

FORMULA = "=HYPERLINK(0)"
#: By address and person, how many cells of the file have the text of a person.
WRITTEN = {
    ("board-csv", "organiser"): 4,
    ("classes-csv", "organiser"): 2,
    ("organise-terms-csv", "organiser"): 2,
    ("organise-runs-csv", "organiser"): 5,
    ("api:season-runs", "organiser"): 5,
    ("board-csv", "reader"): 4,
    ("classes-csv", "reader"): 2,
    ("annotate-csv", "reader"): 2,
}


def write_formulas(scene) -> None:
    Submission.objects.update(
        system=FORMULA,
        description=FORMULA,
        exclusion_reason=FORMULA,
        filename=FORMULA,
        card={"external_resources": FORMULA},
    )
    Team.objects.filter(pk=scene.team.pk).update(name=FORMULA)
    measure = ManualMeasure.objects.create(
        phase=scene.phase, name=FORMULA, source=FORMULA
    )
    ManualScore.objects.create(measure=measure, submission=scene.run, value=1.0)
    SheetInstance.objects.filter(sheet=scene.sheet).update(name=FORMULA)
    SheetText.objects.filter(instance__sheet=scene.sheet).update(text=FORMULA)
    terms = Terms.objects.create(season=scene.phase.task.season, number=1, text="Read.")
    given = {"affiliation": FORMULA, "name": FORMULA}
    terms.acceptances.create(user=scene.people["reader"], name=FORMULA, given=given)


def csv_files(client, scene) -> Iterator[tuple[tuple[str, str], list[str]]]:
    """Yield the cells of each CSV file that an organiser or somebody who rates gets."""
    for role in ("organiser", "reader"):
        sign_in(client, scene, role)
        for name in OUR_ROUTES:
            is_table = "csv" in name or name == "api:season-runs"
            if not is_table or expected(name, "GET", role) != 200:
                continue
            response = client.get(address(name, scene))
            if response["Content-Type"].startswith("text/csv"):
                text = response.getvalue().decode()
                lines = csv.reader(io.StringIO(text))
                yield (name, role), [cell for line in lines for cell in line]


def is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def test_a_text_that_a_spreadsheet_would_calculate_is_text_in_every_csv_file(
    client, scene
):
    write_formulas(scene)
    written = {}
    for where, cells in csv_files(client, scene):
        calculated = [
            cell
            for cell in cells
            if cell.startswith(FORMULA_PREFIXES) and not is_number(cell)
        ]
        assert calculated == [], where
        written[where] = sum(FORMULA in cell for cell in cells)
    assert {where: count for where, count in written.items() if count} == WRITTEN
