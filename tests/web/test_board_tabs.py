"""The tabs below a board: each has its own address, and only the requested tab is computed."""

import re
import tempfile
from pathlib import Path

import pytest
from django.http import QueryDict

from citeboard.web.boards import classes, sections
from citeboard.web.boards.page_query import BoardPageParameters
from citeboard.web.boards.tabs import BOARD_TABS
from tasks.models import Phase
from tests.kept_worlds import KeptWorld, keep_world
from tests.scoring import boards
from tests.scoring.publications import PLACEMENTS, load, write
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db

#: Text that only the page with this tab contains.
CONTENTS = {
    "notes": "what is the difference?",
    "classes": "Systems in the bars and the table",
    "over-time": "Best so far",
    "published": "These figures were not computed here",
    "paper": "In the layout of the paper",
    "cite": "@misc{",
    "share": "Every Eval Ever",
}


def make_phase() -> Phase:
    with tempfile.TemporaryDirectory() as folder:
        load(write(Path(folder) / "own.json"))
    phase = boards.make_phase()
    phase.task.published = PLACEMENTS
    phase.task.save()
    for name, value in (("Ada", 0.6123), ("Bo", 0.4)):
        run = boards.scored_run(phase, boards.make_team(phase, name), value)
        boards.by_class(run, "facet", {"Method": value, "Aim": 0.5})
    return phase


@pytest.fixture(scope="module")
def kept_phase(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_phase, django_db_blocker)


@pytest.fixture
def phase(db, kept_phase) -> Phase:
    return kept_phase()


def read(client, phase: Phase, query: str) -> str:
    response = client.get(boards.address("board", phase) + query)
    assert response.status_code == 200
    return response.content.decode()


def test_each_tab_has_an_address_that_shows_it_below_the_same_table(client, phase):
    table = re.compile(r"<tbody>.*?</tbody>", re.DOTALL)
    whole = table.findall(read(client, phase, ""))[0]
    for name, content in CONTENTS.items():
        page = read(client, phase, f"?view={name}")
        assert content in page, name
        others = [other for other in CONTENTS.values() if other != content]
        assert not [other for other in others if other in page], name
        assert table.findall(page)[0] == whole, name


def test_the_tab_of_an_address_without_one_is_the_first(client, phase):
    assert BOARD_TABS[0].name == "notes"
    assert read(client, phase, "") == read(client, phase, "?view=notes")


def test_a_tab_keeps_the_choices_of_the_table_and_the_table_keeps_the_tab(
    client, phase
):
    page = read(client, phase, "?sort=system&view=over-time")
    assert 'href="?sort=system&amp;view=classes#view"' in page
    assert re.search(r'id="sort-rank" href="[?]view=over-time"', page)


def test_the_page_computes_no_tab_that_was_not_requested(client, phase, monkeypatch):
    def refuse(*arguments, **named) -> None:
        raise AssertionError("a tab was computed that nobody asked for")

    for module, name in (
        (classes, "_build_class_table_context"),
        (sections, "build_score_history_chart"),
    ):
        monkeypatch.setattr(module, name, refuse)
    for name in ("notes", "published", "paper", "cite", "share"):
        read(client, phase, f"?view={name}")
    for name in ("classes", "over-time"):
        with pytest.raises(AssertionError, match="nobody asked for"):
            read(client, phase, f"?view={name}")


def test_an_unknown_tab_is_refused_with_the_names_of_all(client, phase):
    response = client.get(boards.address("board", phase) + "?view=heat")
    assert response.status_code == 400
    assert "“heat” is not a value of “view”; expected: “notes”, “classes”" in text_of(
        response
    )


def test_a_board_names_the_tabs_that_it_has_where_one_is_missing(client, phase):
    response = client.get(boards.address("board", phase) + "?view=people")
    assert response.status_code == 404
    assert "it has: notes, classes, over-time" in text_of(response)


@pytest.mark.parametrize("board", ["ranks", "organisers", "nobody"])
def test_a_board_without_numbers_has_no_tab_of_numbers(client, phase, board):
    Phase.objects.filter(pk=phase.pk).update(board=board)
    address = boards.address("board", phase)
    for name in ("classes", "over-time", "cite", "share"):
        response = client.get(f"{address}?view={name}")
        assert "0.6123" not in response.content.decode()
        assert (response.status_code == 404) == (board == "ranks" and name != "share")


def test_ids_of_former_sections_are_those_of_links_to_their_tabs(client, phase):
    page = read(client, phase, "")
    hrefs = dict(re.findall(r'<a id="([^"]+)" href="([^"]+)"', page))
    assert hrefs["differences"] == "?view=classes#view"
    assert hrefs["over-time"] == "?view=over-time#view"


def test_an_address_of_the_time_before_tabs_that_chooses_classes_opens_them(
    client, phase
):
    page = read(client, phase, "?dimension=facet&sort=system")
    assert CONTENTS["classes"] in page
    assert 'href="?sort=system#view">Notes</a>' in page
    assert 'href="?sort=system&amp;view=cite#view"' in page


def test_the_page_of_a_tab_alone_leads_to_the_tab_with_its_choices(client, phase):
    page = client.get(boards.address("differences", phase) + "?dimension=facet")
    board = boards.address("board", phase)
    assert f'href="{board}?dimension=facet&amp;view=classes#view"' in (
        page.content.decode()
    )


def test_files_and_figures_of_a_tab_are_asked_for_without_the_tab(client, phase):
    page = read(client, phase, "?view=classes&sort=system")
    _, form = page.split(f'action="{boards.address("differences", phase)}"')
    hidden = re.findall(r'type="hidden" name="(\w+)" value="(\w+)"', form)
    assert ("sort", "system") in hidden
    assert "view" not in dict(hidden)
    assert '<option value="heat-map.svg">' in form


def test_a_reader_adjusts_the_table_by_a_form_that_keeps_the_other_choices(
    client, phase
):
    assert 'name="rank"' not in read(client, phase, "")
    page = read(client, phase, "?adjust=yes&sort=system&q=ada&view=over-time")
    form = page.partition('class="controls adjust"')[2].partition("</form>")[0]
    carried = re.findall(r'type="hidden" name="([^"]+)" value="([^"]+)"', form)
    assert carried == [("view", "over-time")]
    assert '<option value="system" selected>' in form
    assert 'value="ada"' in form
    for name in ("rules", "rank", "sort", "q"):
        assert f'name="{name}"' in form


def test_the_share_tab_has_the_frame_where_the_season_allows_one(client, phase):
    assert "iframe" not in read(client, phase, "?view=share")
    season = phase.task.season
    season.allows_frames = True
    season.save()
    frame = f"{boards.address('embed', phase)}?sort=system"
    assert f'{frame}" title=' in read(client, phase, "?view=share&sort=system")


def test_the_names_of_tabs_are_unique_and_every_one_is_read_from_an_address():
    names = [tab.name for tab in BOARD_TABS]
    assert len(set(names)) == len(names)
    for name in names:
        assert BoardPageParameters.of(QueryDict(f"view={name}")).view == name
