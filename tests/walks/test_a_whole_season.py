"""A season from its first draft to the next year's, through the browser alone; a real worker scores."""

import datetime as dt
import re
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.utils import timezone

from citeboard.core.instants import format_day
from tests.browser.driving import comes_to, sign_in, until
from tests.factories import PASSWORD, answers, make_user, run_bytes, write_corpus
from tests.tasks.types.corpus import CITANCES

pytestmark = [pytest.mark.browser, pytest.mark.worker]

#: So long a scoring may take on a machine that does other work.
PATIENCE = 240
SEASON = "/seasons/walk-2031/"
ORGANISE = f"{SEASON}organise/"
BOARD = f"{SEASON}main/evaluation/"
NAMES = {"ants": "Counting Ants", "bees": "Busy Bees"}


@dataclass
class Person:
    """Somebody at a browser of their own."""

    page: object
    base: str
    #: What the site last asked before it did something; empty where it asked nothing.
    asked: str = ""

    def go(self, path: str) -> str:
        """What the page there says."""
        self.page.goto(self.base + path)
        return self.page.inner_text("main")

    @property
    def said(self) -> str:
        return self.page.inner_text("main")

    def press(self, name: str, within: str = "main") -> None:
        """A button by its words, and the page that it leads to; whoever is asked reads it and goes on."""
        with self.page.expect_navigation():
            self.page.locator(within).get_by_role("button", name=name).first.click()
        self.goes_on()

    def goes_on(self) -> None:
        is_asked = any(
            words in self.said for words in ("What this would change", "The draft of")
        )
        self.asked = self.said if is_asked else ""
        if self.asked:
            # What touches results that stand takes the name of the season and a reason.
            if self.page.locator("#let-out-task").count():
                self.page.fill("#let-out-task", "The walk 2031")
                self.page.fill("#let-out-reason", "It has to be so.")
            with self.page.expect_navigation():
                self.page.get_by_role("button", name="Do it").click()

    def leaves_it(self) -> None:
        with self.page.expect_navigation():
            self.page.get_by_role("link", name="Leave it as it is").click()

    def unfold(self, words: str) -> None:
        self.page.locator("summary", has_text=words).first.click()

    def eventually(self, path: str, words: str) -> None:
        """The page there comes to say this."""
        until(lambda: words in self.go(path), seconds=PATIENCE)


@pytest.fixture
def people(transactional_db, visit, live_server) -> dict[str, Person]:
    """An organiser, who is staff so that they may make a season, two who take part, and a reader."""
    found = {}
    for name in ("olga", "ants", "bees"):
        make_user(
            email=f"{name}@example.org", name=name.capitalize(), is_staff=name == "olga"
        )
        found[name] = Person(visit(), live_server.url)
        sign_in(found[name].page, live_server, f"{name}@example.org", PASSWORD)
    found["reader"] = Person(visit(), live_server.url)
    return found


def packed_gold(folder: Path, sentence: str, doubled: int = 0) -> Path:
    """A corpus in which every citance cites this sentence, and the first ones stand twice."""
    cited = [*CITANCES, *CITANCES[:doubled]]
    citances = [
        (citing, marker, (sentence,), facet) for citing, marker, _, facet in cited
    ]
    corpus = write_corpus(folder / f"gold-{sentence}-{doubled}", citances=citances)
    return Path(shutil.make_archive(str(corpus), "zip", corpus))


def packed_practice(folder: Path) -> Path:
    """Of other topics, with a line that stands twice."""
    corpus = write_corpus(
        folder / "practice", citances=[*CITANCES, CITANCES[0]], topics=["P01-0001"]
    )
    return Path(shutil.make_archive(str(corpus), "zip", corpus))


def test_a_season_from_a_preset_to_its_clone(people, worker, tmp_path):
    olga, reader = people["olga"], people["reader"]
    makes_a_season_from_a_preset(olga)
    publishes_gold(olga, packed_gold(tmp_path, "2"), "The first version.", number=1)
    publishes_terms(olga)
    opens_the_season(olga, reader)
    for name, team in NAMES.items():
        enters(people[name], team)
    runs = {
        "ants": sends(people["ants"], tmp_path, sentence="1", system="ant-1"),
        "bees": sends(
            people["bees"], tmp_path, sentence="2", system="bee-1", first="3"
        ),
    }
    the_board_is_hidden_from_all_but_the_organiser(people)
    shows(olga, reader)
    would_publish_a_doubled_line_and_leaves_the_gold(
        olga, packed_gold(tmp_path, "2", doubled=1)
    )
    publishes_practice_gold_and_takes_it_back(olga, reader, packed_practice(tmp_path))
    gives_tries_and_takes_them_back(olga, people["ants"])
    excludes_a_team_and_takes_it_back(olga, reader)
    moves_the_close_and_takes_it_back(olga, people["ants"])
    publishes_other_terms_an_hour_before_the_end_and_takes_them_back(
        olga, people["ants"]
    )
    freezes(olga, reader)
    mends_the_gold(olga, packed_gold(tmp_path, "1"))
    the_frozen_board_is_as_it_stood(people)
    closes(olga, people["ants"])
    reveals(olga, reader)
    confirms(olga, people["ants"], runs["ants"])
    changes_what_is_half_confirmed_and_takes_it_back(olga, reader)
    disqualifies(olga, people["ants"], reader, runs["ants"])
    takes_it_all_away(olga, reader)
    clones(olga, reader)
    the_history_has_it_all(olga)


def makes_a_season_from_a_preset(olga: Person) -> None:
    olga.go("/new-season/")
    with olga.page.expect_navigation():
        olga.page.get_by_role("link", name="Like SemEval").click()
    now = timezone.now().astimezone(dt.timezone(dt.timedelta(hours=-12)))
    dates = {"opens": now - dt.timedelta(days=20), "evaluation": now - dt.timedelta(days=10),
             "closes": now + dt.timedelta(hours=1)}  # fmt: skip
    olga.page.fill("#id_title", "The walk 2031")
    olga.page.fill("#id_slug", "walk-2031")
    olga.page.check("input[value=clsumm-1a]")
    olga.page.fill("#id_time_zone", "AoE")
    for name, at in dates.items():
        olga.page.fill(f"#id_{name}", f"{at:%Y-%m-%d %H:%M}")
    olga.press("Create the draft")
    assert "The walk 2031 is a draft." in olga.said
    for phase in ("Practice", "Evaluation", "Post-evaluation"):
        assert phase in olga.said


def fills_in_gold(olga: Person, gold: Path, reason: str) -> None:
    olga.go(f"{ORGANISE}gold/")
    split = olga.page.locator("#id_split option", has_text="test").get_attribute(
        "value"
    )
    olga.page.select_option("#id_split", split)
    olga.page.set_input_files("#id_file", gold)
    olga.page.fill("#id_reason", reason)


def publishes_gold(olga: Person, gold: Path, reason: str, *, number: int) -> None:
    fills_in_gold(olga, gold, reason)
    olga.press("Publish as the next gold version")
    assert f"Gold v{number} of" in olga.said
    assert reason in olga.said


def publishes_terms(olga: Person) -> None:
    olga.go(f"{ORGANISE}terms/")
    olga.page.fill("#id_text", "For research, and for nothing else.")
    olga.press("Publish these terms")


def opens_the_season(olga: Person, reader: Person) -> None:
    assert "The walk 2031" not in reader.go("/")
    olga.go(f"{ORGANISE}settings/season/")
    olga.page.check("input[name=is_public]")
    olga.page.check("input[name=shows_overall]")
    saves(olga)
    assert "Everybody: that there is The walk 2031" in olga.asked
    assert "the settings are saved" in olga.said
    assert "The walk 2031" in reader.go("/")


def enters(person: Person, team: str) -> None:
    """With a team of their own, once they have accepted the terms."""
    person.go("/teams/")
    person.page.fill("#id_name", team)
    person.press("Create the team")
    person.go("/terms/walk-2031/")
    person.press("Accept version 1")
    person.go(SEASON)
    person.press("Enter this season")
    assert f"You take part with {team}." in person.go(SEASON)


def sends(
    person: Person, folder: Path, *, sentence: str, system: str, first: str = ""
) -> str:
    """The address of the run, once it has been scored; what it scored is not told."""
    run, answered = folder / f"{system}.jsonl", answers(sentences=(sentence,))
    answered[0]["sentences"] = [first or sentence]
    run.write_bytes(run_bytes(answered))
    person.go(f"{BOARD}submit/")
    person.page.set_input_files("#id_run", run)
    person.page.fill("#id_system", system)
    person.page.click("button[value=submit]")
    comes_to(person.page, "/submissions/")
    address = person.page.evaluate("location.pathname")
    # A run that waits is to be "Scored in about" so many seconds.
    until(
        lambda: re.search("Scored (?!in about)", person.go(address)), seconds=PATIENCE
    )
    assert "1.0000" not in person.said
    return address


def the_board_is_hidden_from_all_but_the_organiser(people: dict[str, Person]) -> None:
    for name in ("ants", "bees", "reader"):
        said = people[name].go(BOARD)
        assert "Only the organisers of The walk 2031 see this board for now." in said
        assert "bee-1" not in said
        assert "No board shows its scores." in downloaded(people[name], "results.md")
    assert rows_of(people["olga"]) == ["bee-1", "ant-1"]


def would_publish_a_doubled_line_and_leaves_the_gold(olga: Person, gold: Path) -> None:
    """It moves the score of who answers that line otherwise than the rest, and is told before it is done."""
    fills_in_gold(olga, gold, "A line more.")
    with olga.page.expect_navigation():
        olga.page.get_by_role("button", name="Publish as the next gold version").click()
    assert "they count twice" in olga.said
    row = olga.page.locator("[id^=dry-run] tbody tr", has_text="bee-1")
    row.wait_for(timeout=PATIENCE * 1000)
    before, after = (
        row.locator("td").nth(3).inner_text(),
        row.locator("td").nth(4).inner_text(),
    )
    assert float(after) < float(before)
    olga.leaves_it()
    assert "Gold v2" not in olga.said


def gives_tries_and_takes_them_back(olga: Person, ants: Person) -> None:
    # Show times from now become others meanwhile.
    ants.go(f"{BOARD}submit/")
    ants.page.click("text=Show exact times")
    before = ants.go(f"{BOARD}submit/")
    olga.go(f"{ORGANISE}tries/")
    olga.page.select_option("#id_team", label="Counting Ants")
    olga.page.select_option(
        "#id_phase", label=olga.page.locator("#id_phase option").nth(1).inner_text()
    )
    olga.page.fill("#id_reason", "By mistake.")
    olga.press("Give these tries")
    assert "Counting Ants may submit" in olga.asked
    olga.press("Take it back")
    assert "Taken back" in olga.said
    assert ants.go(f"{BOARD}submit/") == before


def excludes_a_team_and_takes_it_back(olga: Person, reader: Person) -> None:
    olga.go(f"{ORGANISE}teams/")
    entry = olga.page.locator("tr", has_text="Busy Bees")
    entry.locator("summary", has_text="Exclude").click()
    entry.get_by_label("Reason, which the team reads").fill("By mistake.")
    olga.press("Exclude Busy Bees")
    assert "not on the board" in olga.asked
    assert "Who will be notified" in olga.asked
    assert rows_of(reader) == ["ant-1"]
    olga.press("Take it back")
    assert rows_of(reader) == ["bee-1", "ant-1"]


def publishes_practice_gold_and_takes_it_back(
    olga: Person, reader: Person, gold: Path
) -> None:
    """No run answers it, and the board keeps the numbers of the gold before."""
    publishes_gold(olga, gold, "The file of another task.", number=2)
    assert "With another answer" in olga.asked
    assert "Scores that would follow" in olga.asked
    assert "it counts twice" in olga.said
    olga.eventually(ORGANISE, "The board stays on gold v1: 2 runs failed against v2.")
    assert rows_of(reader) == ["bee-1", "ant-1"]
    olga.go(f"{ORGANISE}gold/")
    olga.press("Take it back")
    assert "Taken back: made gold v2" in olga.said
    assert rows_of(reader) == ["bee-1", "ant-1"]


def moves_the_close_and_takes_it_back(olga: Person, ants: Person) -> None:
    """What is typed with AoE is an instant of AoE, whatever the zone of the form."""
    before = end_of(ants)
    day = timezone.now() + dt.timedelta(days=30)
    opens_settings_of(olga, "Evaluation")
    olga.page.fill("#id_closes", f"{day:%Y-%m-%d} 23:59 AoE")
    saves(olga)
    assert (
        f"closes at {format_day(day + dt.timedelta(days=1))}, 11:59 UTC" in olga.asked
    )
    assert "at once:" in olga.asked
    olga.press("Take it back")
    assert "Taken back" in olga.said
    assert end_of(ants) == before


def publishes_other_terms_an_hour_before_the_end_and_takes_them_back(
    olga: Person, ants: Person
) -> None:
    """They would have locked every team out of the evaluation for its last hour."""
    olga.go(f"{ORGANISE}terms/")
    olga.page.fill("#id_text", "For nothing at all.")
    olga.press("Publish these terms")
    told = olga.asked.partition("Who will be notified")[2]
    assert "people who have not accepted it get no data and cannot submit runs" in told
    assert "Accept version 2" in ants.go("/terms/walk-2031/")
    assert "Changed within 48 hours of an end" in olga.go(ORGANISE)
    olga.press("Take it back")
    assert "Taken back" in olga.said
    assert "Accept version" not in ants.go("/terms/walk-2031/")


def confirms(olga: Person, ants: Person, run: str) -> None:
    """One of two teams that are asked."""
    opens_settings_of(olga, "Evaluation")
    olga.page.check("input[name=confirms_results]")
    saves(olga)
    ants.go(run)
    ants.press("Confirm this result")


def changes_what_is_half_confirmed_and_takes_it_back(
    olga: Person, reader: Person
) -> None:
    """Counting and rules of a closed board that everybody sees: each asks for the name and a reason."""
    for part, field, value in (
        ("Evaluation", "#id_counting", "best"),
        ("Settings of the task", "#id_rules", "official-2018"),
    ):
        opens_settings_of(olga, part)
        choice = olga.page.locator(field)
        choice.select_option(value) if part == "Evaluation" else choice.fill(value)
        with olga.page.expect_navigation():
            olga.page.locator("main form.fields button[type=submit]").click()
        assert "1 result of " in olga.said
        reason = olga.page.get_by_label("Reason, which stands in the history")
        assert not reason.input_value()
        if part == "Evaluation":
            olga.leaves_it()
            assert choice.input_value() != value
    assert "Rescored" in olga.said
    reason.fill("By mistake.")
    olga.page.get_by_label("type the name of the season").fill("The walk 2031")
    olga.press("Do it")
    assert "the settings are saved" in olga.said
    olga.press("Take it back")
    assert "Taken back" in olga.said
    assert rows_of(reader) == ["ant-1", "bee-1"]


def opens_settings_of(olga: Person, name: str) -> None:
    olga.go(f"{ORGANISE}settings/")
    with olga.page.expect_navigation():
        olga.page.locator("main").get_by_text(name, exact=True).first.click()


def end_of(ants: Person) -> str:
    ants.go(f"{BOARD}submit/")
    return ants.page.locator("main time").first.get_attribute("datetime")


def saves(olga: Person) -> None:
    with olga.page.expect_navigation():
        olga.page.locator("main form.fields button[type=submit]").click()
    olga.goes_on()


def mends_the_gold(olga: Person, gold: Path) -> None:
    """What was right is wrong now, and the other way round: the order turns."""
    publishes_gold(olga, gold, "Every citance was off by one.", number=2)
    until(lambda: rows_of(olga) == ["ant-1", "bee-1"], seconds=PATIENCE)
    assert "gold v2" in olga.said


def closes(olga: Person, ants: Person) -> None:
    olga.go(f"{ORGANISE}phases/")
    olga.press("Close now")
    assert "is closed now" in olga.said
    assert "closed since" in ants.go(f"{BOARD}submit/")
    assert not ants.page.locator("button[value=submit]").count()


def of_the_evaluation(olga: Person, link: str) -> None:
    """Follow a link of the evaluation among the phases."""
    olga.go(f"{ORGANISE}phases/")
    with olga.page.expect_navigation():
        olga.page.locator("tr", has_text="Evaluation").filter(
            has_not_text="Post"
        ).get_by_role("link", name=link).click()


def shows(olga: Person, reader: Person) -> None:
    of_the_evaluation(olga, "Who sees the board")
    olga.unfold("Show it to everybody now")
    olga.press("Show the board to everybody")
    lets_out(olga, "So that teams see where they stand.")
    assert rows_of(reader) == ["bee-1", "ant-1"]


def lets_out(olga: Person, reason: str) -> None:
    """What was kept back until its time, against the advice of the page."""
    assert "reveal something before its time" in olga.said
    label = olga.page.get_by_label("type the name of the task")
    label.fill(
        olga.page.locator("label[for=let-out-task]").inner_text().partition("task: ")[2]
    )
    olga.page.get_by_label("Reason, which stands in the history").fill(reason)
    olga.press("Reveal it")


def freezes(olga: Person, reader: Person) -> None:
    of_the_evaluation(olga, "Freeze the board")
    olga.press("Freeze the board now")
    assert "It is frozen since" in olga.said
    assert "this is the board as it stood" in reader.go(BOARD)


def the_frozen_board_is_as_it_stood(people: dict[str, Person]) -> None:
    for name in ("ants", "bees", "reader"):
        assert rows_of(people[name]) == ["bee-1", "ant-1"]
        assert "gold v2" not in people[name].said
    assert rows_of(people["olga"]) == ["ant-1", "bee-1"]
    assert "Live shadow board" in people["olga"].said
    assert "the board as it stood" in people["olga"].go(f"{BOARD}?as=others")


def reveals(olga: Person, reader: Person) -> None:
    assert rows_of(reader) == ["bee-1", "ant-1"]
    of_the_evaluation(olga, "Freeze the board")
    olga.unfold("Reveal the board")
    olga.press("Reveal the board")
    assert "is revealed" in olga.said
    assert rows_of(reader) == ["ant-1", "bee-1"]
    assert "1.0000" in reader.said


def disqualifies(olga: Person, ants: Person, reader: Person, run: str) -> None:
    olga.go(run)
    olga.unfold("Disqualify this run")
    olga.page.fill("#disqualify-reason", "It was written by hand.")
    olga.press("Disqualify run 1")
    assert rows_of(reader) == ["bee-1"]
    assert "It was written by hand." in ants.go(run)


def takes_it_all_away(olga: Person, reader: Person) -> None:
    """Everybody has the tables; the list of all runs and their files are the organiser's."""
    reader.go(SEASON)
    with reader.page.expect_navigation():
        reader.page.click("text=Tables and charts for papers")
    reader.press("Create the zip")
    reader.page.wait_for_selector("text=The zip is created.", timeout=120_000)
    with reader.page.expect_download() as download:
        reader.page.click("text=Download it")
    with zipfile.ZipFile(download.value.path()) as archive:
        board = archive.read("boards/main-evaluation-corrected.tex").decode()
        facts = archive.read("results.md").decode()
        teams = archive.read("participants.csv").decode()
    assert "bee-1" in board
    assert "ant-1" not in board
    assert "Of 1 ranked run bee\\-1 of Busy Bees" in facts
    assert "Counting Ants" in teams
    olga.go(f"{ORGANISE}runs/")
    with olga.page.expect_download() as download:
        olga.page.locator("main a[href*='runs.csv']").first.click()
    runs = download.value.path().read_text()
    assert "It was written by hand." in runs
    assert "bee-1" in runs


def clones(olga: Person, reader: Person) -> None:
    olga.go(f"{ORGANISE}clone/")
    olga.page.fill("#id_title", "The walk 2032")
    olga.page.fill("#id_slug", "walk-2032")
    olga.press("Create the draft")
    assert "The walk 2032 is a draft" in olga.said
    assert "Nobody but its organisers sees the draft" in olga.asked
    assert "organisers only" in olga.asked
    assert "The walk 2032" not in reader.go("/seasons/walk-2032/")
    said = olga.go("/seasons/walk-2032/organise/settings/")
    for phase in ("Practice", "Evaluation", "Post-evaluation"):
        assert phase in said
    assert "Busy Bees" not in olga.go("/seasons/walk-2032/organise/teams/")
    assert "For research, and for nothing else." in olga.go("/terms/walk-2032/")
    olga.go(f"{ORGANISE}clone/")
    olga.press("Take it back")
    assert "Taken back: cloned" in olga.said


def the_history_has_it_all(olga: Person) -> None:
    said = olga.go(f"{ORGANISE}history/")
    for words in (
        "from the preset",
        "gold v2",
        "is frozen",
        "closed",
        "By mistake.",
        "It was written by hand.",
    ):
        assert words in said


def rows_of(person: Person) -> list[str]:
    """The systems of teams on the board, best first; none where it is hidden."""
    person.go(BOARD)
    cells = person.page.locator("table.board tbody tr").all_inner_texts()
    return [name for row in cells for name in ("ant-1", "bee-1") if name in row]


def downloaded(person: Person, name: str) -> str:
    answer = person.page.request.get(
        f"{person.base}/overview-paper/walk-2031/files/{name}"
    )
    assert answer.ok
    return answer.body().decode()
