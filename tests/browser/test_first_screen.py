"""The first screen of a board, layout shifts on a first visit, and requests of charts."""

import re
import shutil
import subprocess

import pytest
from django.urls import reverse

from tasks.models.seasons import increment_board_version
from tests.browser.driving import barriers, comes_to, until, wait_for
from tests.browser.scenes import METRICS, Scene
from tests.factories import make_submission, make_team
from tests.scoring import boards

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 360, "height": 740}
SYSTEMS, COLUMNS = 25, 8
#: Further metrics, which give the scene's board eight columns.
MORE = ("overlap_precision_macro", "overlap_recall_macro", "rouge_2_f1")
#: Positions of rows and other parts of a board, in pixels from the top of the page.
PLACES = """() => {
    const box = (part) => part.getBoundingClientRect();
    const all = (parts) => [...document.querySelectorAll(parts)].map(box);
    return {
        rows: all('table.board tbody tr').map((row) => row.bottom),
        title: all('h1')[0].bottom,
        verdict: all('.board-verdict')[0].bottom,
        table: all('table.board')[0].top,
        columns: all('table.board thead th').length,
        buttons: all('.board-actions a').slice(0, 3).map((button) => button.top),
        isWide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    };
}"""
#: Sums the layout shifts that no input of the reader causes.
SHIFTS = """new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
        if (!entry.hadRecentInput) window.shift = (window.shift || 0) + entry.value;
    }
}).observe({ type: 'layout-shift', buffered: true });"""
MAX_SHIFT = 0.05
FOCUSED = "document.activeElement"


@pytest.fixture
def large(scene) -> Scene:
    """Return the scene with 25 systems on a board of eight columns."""
    for number in range(SYSTEMS - 7):
        team = make_team(season=scene.phase.task.season, name=f"Group {number}")
        run = make_submission(
            phase=scene.phase, team=team, system=f"A name {number}", status="scored"
        )
        value = 0.02 * number
        boards.score(run, value, **dict.fromkeys((*METRICS, *MORE), value))
    return scene


def places(visit, address: str, size: dict[str, int]) -> dict:
    page = visit(viewport=size)
    page.goto(address)
    return page.evaluate(PLACES)


def test_the_first_screen_of_a_wide_board_has_its_first_ten_rows(
    visit, live_server, large
):
    address = live_server.url + large.address("board") + "?columns=all"
    seen = places(visit, address, WIDE)
    assert len(seen["rows"]) == SYSTEMS
    assert seen["columns"] == len(("rank", "system", "interval", "sent")) + COLUMNS
    assert seen["rows"][9] <= WIDE["height"]
    assert not seen["isWide"]
    assert seen["title"] < seen["verdict"] <= seen["table"]
    assert len(set(seen["buttons"])) == 1, "submit, cite and share are side by side"


def test_the_first_screen_of_a_narrow_board_has_its_first_three_rows(
    visit, live_server, large
):
    seen = places(visit, live_server.url + large.address("board"), NARROW)
    assert seen["rows"][2] <= NARROW["height"]
    assert seen["title"] < seen["verdict"] <= seen["table"]
    assert len(set(seen["buttons"])) == 1
    assert not seen["isWide"]


#: The height of each row, and whether its link stands on the line of its team.
ROWS = """() => [...document.querySelectorAll('table.board tbody tr')].map((row) => {
    const parts = [...row.querySelectorAll('.team, .team a.unfold')];
    const [team, link] = parts.map((part) => part.getBoundingClientRect().top);
    return { height: row.offsetHeight, isBeside: Math.abs(team - link) < 12 };
})"""


@pytest.fixture
def marked(large) -> Scene:
    """Return the large scene, whose own run is that of a closed model."""
    large.run.card = {"model": "closed"}
    large.run.save(update_fields=["card"])
    increment_board_version(large.phase.pk)
    return large


def test_a_wide_row_with_a_mark_is_as_high_as_the_others_in_german(
    visit, live_server, marked
):
    page = visit(viewport=WIDE, locale="de-DE")
    page.goto(live_server.url + marked.address("board"))
    assert "geschlossenes Modell" in page.locator("tbody .run-mark").inner_text()
    heights = {row["height"] for row in page.evaluate(ROWS)}
    assert max(heights) - min(heights) <= 12, "the first row has room above it"
    assert page.evaluate(PLACES)["rows"][9] <= WIDE["height"]
    page.goto(live_server.url + marked.address("board") + "?columns=all")
    boxes = "document.querySelector('tbody .run-mark').getClientRects().length"
    assert page.evaluate(boxes) == 1, "the mark is on one line"


def test_a_narrow_row_with_a_mark_has_one_more_line_and_its_link_beside_its_team(
    visit, live_server, marked
):
    page = visit(viewport=NARROW, locale="de-DE")
    page.goto(live_server.url + marked.address("board"))
    assert page.locator("tbody .run-mark").is_visible()
    rows = page.evaluate(ROWS)
    assert all(row["isBeside"] for row in rows)
    heights = [row["height"] for row in rows]
    assert max(heights) - min(heights) <= 30
    assert page.evaluate(PLACES)["rows"][2] <= NARROW["height"]


def test_the_narrow_head_of_the_site_begins_on_the_line_of_its_name(
    visit, live_server, scene
):
    page = visit(viewport=NARROW)
    page.goto(live_server.url + scene.address("board"))
    name, first = (
        page.locator(part).first.bounding_box() for part in (".wordmark", "header li a")
    )
    assert first["x"] > name["x"] + name["width"]
    assert first["y"] < name["y"] + name["height"]


def named_pages(scene: Scene) -> dict[str, str]:
    season, task = scene.phase.task.season.slug, scene.phase.task.slug
    board = scene.address("board")
    return {
        "home": reverse("home"),
        "season": reverse("season", args=[season]),
        "task": reverse("task", args=[season, task]),
        "board": board,
        "classes": f"{board}?view=classes",
        "over time": f"{board}?view=over-time",
        "row": f"{board}runs/{scene.run.pk}/",
        "comparison": scene.address("compare"),
        "published results": reverse("papers"),
        "about": reverse("about"),
    }


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_no_page_moves_on_a_first_visit(visit, live_server, scene, size):
    shifts = {}
    for name, address in named_pages(scene).items():
        page = visit(viewport=size)
        page.add_init_script(SHIFTS)
        page.goto(live_server.url + address, wait_until="networkidle")
        shifts[name] = page.evaluate("window.shift || 0")
    assert {name: moved for name, moved in shifts.items() if moved > MAX_SHIFT} == {}


def test_plotly_is_fetched_when_a_reader_points_at_a_chart(page, live_server, scene):
    fetched = []
    page.on("request", lambda sent: fetched.append(sent.url))
    page.goto(live_server.url + scene.address("board") + "?view=classes")
    for chart in page.locator(".chart").all():
        chart.scroll_into_view_if_needed()
        assert chart.locator("svg.drawing").is_visible()
    page.keyboard.press("Tab")
    assert not [address for address in fetched if "plotly" in address]
    for place in (20, 60):
        page.locator("#bars").hover(position={"x": place, "y": place})
    page.wait_for_selector("#bars[data-drawn]")
    assert [address for address in fetched if "plotly" in address]


def test_arrow_keys_move_between_the_numbers_of_a_row_that_tab_reaches_once(
    page, live_server, scene
):
    page.goto(live_server.url + scene.address("board"))
    page.locator("table.board tbody .system a").first.focus()
    page.keyboard.press("Tab")
    wait_for(page, f"{FOCUSED}.matches('tbody tr:first-child td.first > a')")
    page.keyboard.press("ArrowRight")
    wait_for(page, f"{FOCUSED}.matches('tbody tr:first-child td.rest > a')")
    page.keyboard.press("ArrowDown")
    wait_for(page, f"{FOCUSED}.matches('tbody tr:nth-child(2) td.rest > a')")
    page.keyboard.press("End")
    last = "[...document.querySelectorAll('tbody tr:nth-child(2) td.n > a')].at(-1)"
    wait_for(page, f"{FOCUSED} === {last}")
    page.keyboard.press("Tab")
    wait_for(page, f"{FOCUSED}.matches('tbody tr:nth-child(3) .system a')")
    page.keyboard.press("Shift+Tab")
    wait_for(page, f"{FOCUSED} === {last}")
    page.keyboard.press("Enter")
    page.wait_for_selector("#panel[open] .parts")


def test_an_old_anchor_opens_the_tab_that_replaced_its_section(
    page, live_server, scene
):
    page.goto(live_server.url + scene.address("board") + "?sort=system#differences")
    page.wait_for_selector("#view table.classes")
    comes_to(page, "?sort=system&view=classes#view")


def test_a_tab_is_opened_in_place_and_sorting_keeps_it(page, live_server, scene, axe):
    page.goto(live_server.url + scene.address("board"))
    page.evaluate("window.isSame = true")
    page.click("#differences")
    page.wait_for_selector("#view table.classes")
    page.click("#sort-system")
    comes_to(page, "?sort=system&view=classes")
    page.wait_for_selector("#view table.classes")
    assert page.evaluate("window.isSame"), "the page was not loaded anew"
    assert barriers(page, axe) == []


@pytest.mark.parametrize("view", ["share", "cite", "notes", "over-time", "paper"])
def test_tabs_and_the_form_of_a_board_keep_nobody_out(
    page, live_server, scene, axe, view
):
    page.goto(f"{live_server.url}{scene.address('board')}?view={view}&adjust=yes")
    assert barriers(page, axe) == []


def test_a_board_on_paper_has_its_table_and_the_opened_tab(page, live_server, scene):
    page.goto(live_server.url + scene.address("board") + "?view=classes&adjust=yes")
    page.emulate_media(media="print")
    assert page.is_visible("table.board")
    assert page.is_visible("#view table.classes")
    for control in (".tabs", ".board-actions", ".adjust"):
        assert not page.is_visible(control)


#: Words of controls of a board, its tabs and the head and foot of the site.
CONTROLS = (
    "Adjust table", "Close choices", "Apply", "Submit a run", "Cite", "Share", "Over time",
    "Show these", "CSV", "Chart", "Download", "Read them", "Sign in", "Use dark colours",
    "Words:", "Skip to the content", "hold Ctrl", "Show exact times",
)  # fmt: skip


def words_on_paper(page, folder) -> str:
    """Return the text of the page as a PDF, each space and line break as one space."""
    program = shutil.which("pdftotext")
    if program is None:
        pytest.skip("pdftotext is not installed")
    file = folder / "page.pdf"
    page.pdf(path=str(file), format="A4")
    run = subprocess.run(
        [program, str(file), "-"], check=True, capture_output=True, text=True
    )
    return " ".join(run.stdout.split())


@pytest.mark.parametrize(
    ("view", "title"),
    [("classes", "Where systems differ"), ("over-time", "Over time")],
)
def test_a_printed_board_has_its_table_and_the_opened_tab_and_no_controls(
    page, live_server, scene, tmp_path, view, title
):
    address = f"{live_server.url}{scene.address('board')}?view={view}&adjust=yes"
    page.goto(address)
    words = words_on_paper(page, tmp_path)
    for part in ("Cited text spans", "My system", "System A", title):
        assert part in words
    controls = [control for control in CONTROLS if control != title]
    assert [one for one in controls if re.search(rf"\b{one}\b", words)] == []


def test_without_scripts_the_tabs_and_the_numbers_are_links(visit, live_server, scene):
    page = visit(java_script_enabled=False)
    page.goto(live_server.url + scene.address("board"))
    page.click("#over-time")
    page.wait_for_selector("#view h2 >> text=Over time")
    page.click("#adjust")
    page.check("input[name=baselines]")
    page.click("#apply")
    until(lambda: page.locator("table.board tbody tr").count() == 6)
    assert "view=over-time" in page.url
    page.click("tbody tr >> nth=1 >> td.rest > a >> nth=1")
    until(lambda: "/runs/" in page.url)
