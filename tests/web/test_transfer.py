"""Trained on one data set, tested on another: the table that the cards of real runs make."""

import io
import re

import pytest
from django.core.management import call_command

from citeboard.web.boards import classes as page
from scoring.results.publications.published import build_printed_transfer_tables
from tasks.models import Phase, Submission, Task
from tests import factories
from tests.scoring import boards
from tests.scoring.citation_texts import GOLD, make_phase, make_run
from tests.web.test_published_seasons import EXAMPLES_FOLDER

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase(tmp_path):
    return make_phase(tmp_path)


def trained(phase: Phase, folder, card: str, text: str, **fields) -> Submission:
    team = factories.make_team(season=phase.task.season)
    return make_run(
        phase, folder, GOLD, text, team=team, card={"trained_on": card}, **fields
    )


def ask(client, phase, query: str = "", *, status: int = 200) -> str:
    response = client.get(boards.address("board", phase) + "transfer/" + query)
    assert response.status_code == status
    return response.content.decode()


def lines(html: str) -> list[list[str]]:
    body = html.partition("<tbody>")[2].partition("</tbody>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", body, re.DOTALL)
    return [
        [
            re.sub(r"<[^>]+>", "", cell).strip()
            for cell in re.findall(r"<t[dh].*?</t[dh]>", row)
        ]
        for row in rows
    ]


def test_runs_stand_by_what_they_were_trained_on_and_each_data_set_has_its_best_of_the_others(
    client, phase, tmp_path
):
    trained(
        phase, tmp_path, "xing", "We use the parser of [0] here.", system="Xing system"
    )
    trained(phase, tmp_path, "lu", "Nothing.", system="Lu system")
    trained(phase, tmp_path, "none", "We use it.", system="Nobody system")
    html = ask(client, phase)
    first, second = lines(html)
    assert (first[:2], second[:2]) == (["lu", "Lu system"], ["xing", "Xing system"])
    assert '<th scope="col" class="n">lu</th>' in html
    assert first[2].endswith("†")
    assert first[3].endswith("*")
    assert second[2].endswith("*")
    assert second[3].endswith("†")
    assert "Nobody system" not in html
    assert 'aria-label="ROUGE-L F1"' in ask(client, phase, "?metric=rouge_l_f1")
    assert lines(ask(client, phase, "?metric=nonsense")) == [first, second]
    differences = client.get(
        boards.address("board", phase) + "differences/"
    ).content.decode()
    assert boards.address("board", phase) + "transfer/" in differences


def test_there_is_no_table_where_no_run_says_or_numbers_or_cards_are_hidden(
    client, phase, tmp_path
):
    make_run(phase, tmp_path)
    ask(client, phase, status=404)
    trained(phase, tmp_path, "lu", "Nothing.")
    ask(client, phase)
    Phase.objects.update(shows_teams=False)
    ask(client, phase, status=404)
    Phase.objects.update(shows_teams=True, board="ranks")
    ask(client, phase, status=404)


def test_a_printed_table_of_that_kind_stands_beside_it(
    client, phase, tmp_path, monkeypatch
):
    call_command(
        "load_season", str(EXAMPLES_FOLDER / "citebench-2023"), stdout=io.StringIO()
    )
    task = Task.objects.filter(season__slug="citebench-2023").first()
    printed = build_printed_transfer_tables(task)
    assert [own["table"].table.name for own in printed] == ["Table 4", "Table 7"]
    assert printed[0]["tested"] == ["ABURAED", "CHEN Delve", "CHEN S2ORC", "LU", "XING"]
    system, figures = printed[0]["lines"][0]
    assert (system, [figure.printed for figure in figures]) == (
        "*led-base-aburaed",
        ["13.95", "9.96", "10.66", "11.63", "12.63*"],
    )
    trained(phase, tmp_path, "lu", "Nothing.")
    monkeypatch.setattr(page, "build_printed_transfer_tables", lambda task: printed)
    html = ask(client, phase)
    assert "Table 4 as printed" in html
    assert "13.95†" in html
