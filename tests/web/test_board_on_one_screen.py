"""A board fits one screen: controls, Tab stops and words in the server's HTML.

The numbers are those of the page without scripts; `tests.browser.test_first_screen` checks the heights.
"""

from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest

from scoring.models import Score
from scoring.results.board.standings import compute_board
from tasks.models import Phase
from tasks.models.seasons import increment_board_version
from tests import factories
from tests.kept_worlds import KeptWorld, keep_world
from tests.scoring import boards

pytestmark = pytest.mark.django_db

#: Tags that are controls, and tags without an end.
CONTROLS = ("a", "button", "input", "select", "textarea", "summary")
VOID = ("meta", "link", "input", "br", "img", "hr", "circle", "path")
METRICS = (
    "overlap_precision_micro",
    "overlap_recall_micro",
    "overlap_f1_macro",
    "overlap_precision_macro",
    "overlap_recall_macro",
    "rouge_l_f1",
    "rouge_2_f1",
)


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]

    @property
    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()

    def hides(self, inner: "Element | None") -> bool:
        """Return True if the reader cannot see the content, whose next element is ``inner``."""
        is_closed = self.tag == "details" and "open" not in self.attributes
        return (
            self.tag in ("head", "script", "style", "dialog")
            or "hidden" in self.attributes
            or not {"hidden", "skip"}.isdisjoint(self.classes)
            or (is_closed and (inner is None or inner.tag != "summary"))
        )


@dataclass
class Page(HTMLParser):
    """Counts the controls, stops and visible words of a page."""

    open: list[Element] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    above: list[str] = field(default_factory=list)
    stops_by_row: list[int] = field(default_factory=list)
    numbers_by_row: list[int] = field(default_factory=list)
    words: int = 0
    has_reached_table: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def is_in(self, tag: str, name: str = "") -> bool:
        return any(
            element.tag == tag and (not name or name in element.classes)
            for element in self.open
        )

    @property
    def is_in_rows(self) -> bool:
        return self.is_in("table", "board") and self.is_in("tbody")

    @property
    def is_seen(self) -> bool:
        inner = [*self.open[1:], None]
        return not any(map(Element.hides, self.open, inner))

    def handle_starttag(self, tag, attrs) -> None:
        attributes = dict(attrs)
        self.open.append(Element(tag, attributes))
        self.has_reached_table |= tag == "table" and self.is_in("table", "board")
        if tag == "tr" and self.is_in_rows:
            self.stops_by_row.append(0)
            self.numbers_by_row.append(0)
        if tag in CONTROLS and attributes.get("type") != "hidden":
            self._count(tag, attributes)
        if tag in VOID:
            self.open.pop()

    def _count(self, tag: str, attributes: dict[str, str | None]) -> None:
        name = attributes.get("id") or attributes.get("href") or tag
        if self.is_in_rows:
            self.stops_by_row[-1] += attributes.get("tabindex") != "-1"
            self.numbers_by_row[-1] += "#s" in (attributes.get("href") or "")
            return
        self.outside.append(name)
        is_in_main = self.is_in("main") or self.is_in("nav", "crumbs")
        if is_in_main and self.is_seen and not self.has_reached_table:
            self.above.append(name)

    def handle_endtag(self, tag) -> None:
        if self.is_in(tag):
            while self.open.pop().tag != tag:
                pass

    def handle_data(self, data) -> None:
        if self.is_seen and not self.is_in_rows:
            self.words += len(data.split())


def make_small() -> Phase:
    """Return a phase beside two others, with two rule sets, a baseline and classes."""
    phase = boards.make_phase()
    for title in ("Evaluation", "Pilot"):
        factories.make_phase(task=phase.task, title=title, with_gold=False)
    for name, value in (("Ada", 0.6), ("Bo", 0.5), ("Cy", 0.2)):
        run = boards.make_run(phase, boards.make_team(phase, name))
        boards.score(run, value, overlap_recall_micro=value, rouge_l_f1=value)
        boards.by_class(run, "facet", {"Method": value, "Aim": 0.5})
    boards.score(boards.make_run(phase, None, system="Lead"), 0.1, rouge_l_f1=0.2)
    return phase


def make_large() -> Phase:
    """Return a phase with 25 systems and 8 columns."""
    phase = boards.make_phase(title="Large")
    for number in range(25):
        run = boards.make_run(phase, boards.make_team(phase, f"Team {number}"))
        value = 0.9 - number / 50
        boards.score(run, value, **dict.fromkeys(METRICS, value))
        for dimension in ("facet", "topic"):
            boards.by_class(run, dimension, {"Method": value, "Aim": 0.5})
    return phase


def make_boards() -> dict[str, Phase]:
    return {"small": make_small(), "25 systems by 8 columns": make_large()}


@pytest.fixture(scope="module")
def kept_boards(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_boards, django_db_blocker)


@pytest.fixture(params=["small", "25 systems by 8 columns"])
def phase(request, db, kept_boards) -> Phase:
    return kept_boards()[request.param]


@pytest.fixture
def small(db, kept_boards) -> Phase:
    return kept_boards()["small"]


def read(client, phase: Phase, query: str = "?columns=all") -> Page:
    page = Page()
    page.feed(client.get(boards.address("board", phase) + query).content.decode())
    return page


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_board_has_few_controls_and_words_beside_its_numbers(client, phase, language):
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = language
    page = read(client, phase)
    assert len(page.above) <= 8, page.above
    assert {"cite", "share", "adjust"} <= set(page.above)
    assert len(page.outside) <= 50, page.outside
    assert 100 < page.words <= 350


@pytest.mark.parametrize(
    "view", ["notes", "classes", "over-time", "paper", "share", "cite"]
)
@pytest.mark.parametrize("form", ["", "&adjust=yes"])
def test_an_opened_tab_and_the_form_add_few_controls(client, phase, view, form):
    page = read(client, phase, f"?view={view}&columns=all{form}")
    assert len(page.outside) <= 50, page.outside


def test_readers_of_instances_have_few_more_controls(client, phase):
    Phase.objects.update(gold_is_public=True, shows_instances=True)
    page = read(client, phase, "?view=classes&columns=all&adjust=yes")
    assert {"read-class", "read-run", "read-instances"} <= set(page.outside)
    assert len(page.outside) <= 50, page.outside


def test_the_form_sorts_the_table_and_the_heads_do_not_repeat_it(client, small):
    page = read(client, small, "?adjust=yes")
    assert "sort-by" in page.outside
    assert not [
        name for name in page.outside if name.startswith("sort-") and name != "sort-by"
    ]
    html = client.get(boards.address("board", small) + "?adjust=yes&sort=-system")
    assert '<option value="-system" selected>' in html.content.decode()


@pytest.mark.parametrize("name", ["board.csv", "board.bib", "board.hugging-face.zip"])
def test_a_file_that_the_form_names_is_at_its_own_address(client, small, name):
    there = boards.address("board", small)
    answer = client.get(there, {"file": name, "sort": "system", "view": "share"})
    assert (answer.status_code, answer["Location"]) == (302, f"{name}?sort=system")
    assert client.get(f"{there}{name}?sort=system").status_code == 200


def test_a_file_that_no_board_has_is_refused(client, small):
    for name in ("board.exe", "../secret", "https://example.org"):
        answer = client.get(boards.address("board", small), {"file": name})
        assert answer.status_code == 400


@pytest.mark.parametrize("form", ["csv", "json", "tex"])
def test_a_table_of_classes_that_the_form_names_is_at_its_own_address(
    client, small, form
):
    there = boards.address("differences", small)
    asked = {"figure": f"classes.{form}", "dimension": "facet"}
    answer = client.get(there, asked)
    page = boards.address(f"classes-{form}", small)
    assert (answer.status_code, answer["Location"]) == (
        302,
        f"{page}?dimension=facet",
    )
    assert client.get(answer["Location"]).status_code == 200


def test_a_row_has_two_stops_of_the_tab_key_and_a_link_for_each_number(client, phase):
    page = read(client, phase)
    assert set(page.stops_by_row) == {2}
    assert max(page.numbers_by_row) == (8 if len(page.stops_by_row) == 25 else 3)


def test_a_row_without_a_first_number_stops_at_its_next(client):
    phase = boards.make_phase()
    run = boards.make_run(phase, boards.make_team(phase, "Ada"))
    evaluation = boards.score(run, None, overlap_recall_micro=0.7)
    evaluation.scores.filter(shared__metric="overlap_f1_micro").delete()
    assert read(client, phase).stops_by_row == [2]


def test_a_team_that_looks_at_its_own_run_has_no_more_controls_above_the_table(client):
    phase = boards.make_phase()
    member = factories.make_user()
    boards.scored_run(phase, boards.make_team(phase, "Ada", member), 0.5)
    boards.scored_run(phase, boards.make_team(phase, "Bo"), 0.6)
    client.force_login(member)
    assert len(read(client, phase).above) <= 8


def test_more_than_three_phases_are_in_a_menu(client, small):
    factories.make_phase(task=small.task, title="Fourth", with_gold=False)
    page = read(client, small)
    assert "summary" in page.above
    assert len(page.above) <= 8


def test_the_form_sends_the_column_that_sorts_also_where_the_table_hides_it(
    client, small
):
    last = compute_board(small, None).columns_in_display_order[-1]
    Score.objects.filter(shared__metric=last.metric).update(value=None)
    increment_board_version(small.pk)
    board = compute_board(small, None)
    assert last.name in [column.name for column in board.columns]
    assert last.name not in [column.name for column in board.filled]
    for sort in (last.name, f"-{last.name}"):
        answer = client.get(
            boards.address("board", small), {"adjust": "yes", "sort": sort}
        )
        assert f'<option value="{sort}" selected>' in answer.content.decode()
