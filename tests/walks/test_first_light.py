"""The whole way: real runs are uploaded, scored by a real worker process, and stand on a board."""

import shutil
from pathlib import Path

import httpx
import pytest
from django.core.management import call_command
from django.urls import reverse

from citeboard.teams.models import Token
from tasks.models import Phase, Season, Submission
from tests.browser.driving import comes_to, reveal, sign_in, until
from tests.factories import PASSWORD, make_team, make_user
from tests.scoring.offline import score
from tests.tasks.pilot import PATHS, PILOT, season_text

pytestmark = [pytest.mark.shared, pytest.mark.browser, pytest.mark.worker]


@pytest.fixture
def corpus(shared: Path) -> Path:
    return shared / "scisumm"


@pytest.fixture
def season(transactional_db, corpus, tmp_path) -> Season:
    """ "CL-Summ pilot": twelve topics, tasks 1A and 1B."""
    folder = tmp_path / "season"
    folder.mkdir()
    (folder / "season.toml").write_text(season_text())
    call_command("load_season", str(folder), data=corpus)
    return Season.objects.get()


def packed(corpus: Path, run: str, folder: Path) -> Path:
    """The run as its team would send it: a zip with `Task1/`."""
    shutil.copytree(
        corpus / "golden" / "annv3" / run / "submission", folder / run / "Task1"
    )
    return Path(shutil.make_archive(str(folder / run), "zip", folder / run))


@pytest.mark.both_databases
def test_a_run_by_browser_and_a_run_by_program_stand_on_the_board_with_the_offline_numbers(
    live_server, page, season, worker, corpus, tmp_path, capsys
):
    people = {
        name: make_user(email=f"{name}@example.org") for name in ("browser", "program")
    }
    for name, person in people.items():
        make_team(season=season, lead=person, name=f"The {name} team", slug=name)
    runs = {
        name: packed(corpus, name, tmp_path)
        for name in ("top1_majority", "top3_lexical")
    }
    phases = {phase.task.slug: phase for phase in Phase.objects.select_related("task")}

    sign_in(page, live_server, "browser@example.org", PASSWORD)
    for phase in phases.values():
        upload_by_browser(
            page,
            live_server,
            phase,
            runs["top1_majority"],
            "One sentence, majority facet",
        )
        upload_by_program(
            live_server,
            phase,
            people["program"],
            runs["top3_lexical"],
            "Three sentences",
        )
    until(
        lambda: set(Submission.objects.values_list("status", flat=True)) == {"scored"},
        seconds=240,
    )

    gold = [corpus / path for path in PATHS]
    for slug, phase in phases.items():
        expected = {
            run: score(
                capsys, f"clsumm-{slug}", gold, path, "--rules", "official-2017"
            )["metrics"]
            for run, path in runs.items()
        }
        rows = board_by_program(live_server, phase)
        assert [row["rank"] for row in rows] == [1, 2]
        for row in rows:
            run = "top1_majority" if row["team"] == "browser" else "top3_lexical"
            for name, metric in expected[run].items():
                assert same(row["scores"][name]["value"], metric["value"], 1e-12), name
                assert same(row["scores"][name]["low"], metric["low"], 1e-10), name
        shown_on_the_board(page, live_server, phase, expected)


def same(found: float | None, expected: float | None, to: float) -> bool:
    """Equal, or both undefined."""
    return (
        found is expected
        if expected is None
        else found == pytest.approx(expected, rel=to)
    )


def upload_by_browser(page, live_server, phase: Phase, run: Path, system: str) -> None:
    page.goto(live_server.url + board_address("upload", phase))
    page.set_input_files("input[name=run]", run)
    page.fill("input[name=system]", system)
    page.click("button[value=submit]")
    comes_to(page, "/submissions/")


def upload_by_program(
    live_server, phase: Phase, person, run: Path, system: str
) -> None:
    _, secret = Token.objects.create_token(user=person, name="test")
    answer = httpx.post(
        f"{live_server.url}/api/v1/phases/{phase.pk}/submissions/",
        headers={"Authorization": f"Token {secret}"},
        files={"run": (run.name, run.read_bytes())},
        data={"system": system},
        timeout=120,
    )
    assert answer.status_code == 201, answer.text


def board_by_program(live_server, phase: Phase) -> list[dict]:
    where = f"{live_server.url}/api/v1/phases/{phase.pk}/leaderboard/"
    return httpx.get(where, timeout=120).json()["rows"]


def shown_on_the_board(page, live_server, phase: Phase, expected: dict) -> None:
    page.goto(
        live_server.url + board_address("board", phase) + "?columns=all&dimension=topic"
    )
    text = page.inner_text("main")
    for metrics in expected.values():
        for metric in metrics.values():
            assert metric["value"] is None or f"{metric['value']:.4f}" in text
    reveal(page)
    assert page.locator("#bars[data-drawn]").is_visible()
    for topic in PILOT:
        assert topic in page.inner_text("#view table")


def board_address(name: str, phase: Phase) -> str:
    return reverse(name, args=[phase.task.season.slug, phase.task.slug, phase.slug])
