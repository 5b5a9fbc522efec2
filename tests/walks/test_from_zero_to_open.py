"""From a site without an account to an open season of three tasks, in the browser alone: what it costs."""

import datetime as dt
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.utils import timezone

from tasks.models import Season, Submission
from tasks.seasons.organisers import write_first_organiser_instructions
from tests.browser.driving import until
from tests.factories import write_corpus

pytestmark = [pytest.mark.browser, pytest.mark.worker]
TYPES = ("clsumm-1a", "clsumm-1b", "citation-recommendation")
#: Of a page, and of a button or a link; fields are counted apart.
MOST_LOADS, MOST_PRESSES = 15, 40
PATIENCE = 240


@dataclass
class Organiser:
    page: object
    base: str
    presses: int = 0
    fields: int = 0
    loads: int = 0

    def __post_init__(self) -> None:
        self.page.on("framenavigated", self._loaded)

    def _loaded(self, frame) -> None:
        self.loads += frame == self.page.main_frame

    def go(self, path: str) -> None:
        self.page.goto(self.base + path)

    def press(self, name: str, role: str = "button", within: str = "main") -> None:
        self.presses += 1
        with self.page.expect_navigation():
            self.page.locator(within).get_by_role(role, name=name).first.click()

    def fill(self, label: str, text: str) -> None:
        self.fields += 1
        self.page.get_by_label(label, exact=True).fill(text)

    def tick(self, name: str) -> None:
        self.fields += 1
        self.page.check(f"input[value='{name}']")

    @property
    def said(self) -> str:
        return self.page.inner_text("main")


def golds(folder: Path, root: Path) -> dict[str, Path]:
    """By the field that takes it."""
    found = {}
    for split, topics in (
        ("dev", ("D01-0001", "D01-0002")),
        ("test", ("D01-0003", "D01-0004")),
    ):
        corpus = write_corpus(folder / f"corpus-{split}", topics=topics)
        packed = Path(shutil.make_archive(str(corpus), "zip", corpus))
        found |= {f"gold-clsumm-1a-{split}": packed, f"gold-clsumm-1b-{split}": packed}
        sample = folder / f"sample-{split}"
        shutil.copytree(
            root / "tasks/types/citation_recommendation/sample/gold", sample
        )
        for file in sample.iterdir() if split == "test" else ():
            text = re.sub(
                r'("(?:\w+_)?id": "|"sentence": ")', r"\1other ", file.read_text()
            )
            file.write_text(text)
        found[f"gold-citation-recommendation-{split}"] = Path(
            shutil.make_archive(str(sample), "zip", sample)
        )
    return found


def test_from_zero_to_an_open_season_of_three_tasks(
    transactional_db, visit, live_server, worker, root, tmp_path
):
    olga = Organiser(visit(), live_server.url)
    makes_the_first_account(olga)
    makes_the_season(olga)
    brings_gold(olga, golds(tmp_path, root))
    does_the_rest(olga)
    print(f"{olga.loads} page loads, {olga.presses} presses, {olga.fields} fields")  # noqa: T201
    assert olga.loads <= MOST_LOADS
    assert olga.presses <= MOST_PRESSES
    reader = visit()
    reader.goto(f"{live_server.url}/seasons/zero-2031/")
    said = reader.inner_text("main")
    assert "Papers are due" in said
    assert len(re.findall("Evaluation", said)) >= len(TYPES)


def makes_the_first_account(olga: Organiser) -> None:
    token = re.search(r"with the token (\S+)", write_first_organiser_instructions())[1]
    olga.go("/first-organiser/")
    for label, text in {
        "Token": token, "E-mail address": "olga@example.org", "Your name": "Olga",
        "Password": "correct horse battery",
    }.items():  # fmt: skip
        olga.fill(label, text)
    olga.press("Create the account")
    assert "From a preset" in olga.said


def makes_the_season(olga: Organiser) -> None:
    olga.press("Like SemEval", role="link")
    olga.fill("Title", "Zero 2031")
    olga.fill("Name in addresses", "zero-2031")
    for name in TYPES:
        olga.tick(name)
    today = timezone.now()
    for label, days in {
        "Practice opens": -1, "Evaluation opens": 30, "Evaluation closes": 40,
        "Results are announced (may be left out)": 50, "Papers are due (may be left out)": 60,
        "Camera-ready papers are due (may be left out)": 90, "Workshop (may be left out)": 120,
    }.items():  # fmt: skip
        olga.fill(label, f"{today + dt.timedelta(days):%Y-%m-%d} 23:59")
    olga.press("Create the draft")
    assert "Nothing has been done yet." in olga.said
    olga.press("Do it")
    assert "Zero 2031 is a draft" in olga.said


def brings_gold(olga: Organiser, files: dict[str, Path]) -> None:
    for name, path in files.items():
        olga.fields += 1
        olga.page.set_input_files(f"input[name={name}]", path)
    olga.press("Publish the gold")
    assert "Gold of 6 splits is published." in olga.said


def does_the_rest(olga: Organiser) -> None:
    olga.press("Compute a baseline for every phase")
    olga.press("Send me a test e-mail")
    olga.press("Terms", role="link")
    olga.fill("Terms", "For research, and for nothing else.")
    olga.press("Publish these terms")
    moving = Submission.objects.filter(status__in=Submission.MOVING)
    until(lambda: not moving.exists(), seconds=PATIENCE)
    olga.press("Launch", role="link", within="body")
    assert "Everything is done." in olga.said
    olga.press("Open the season to everybody")
    assert "Everybody: that there is Zero 2031" in olga.said
    olga.press("Do it")
    assert Season.objects.get().is_public
