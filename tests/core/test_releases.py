"""docs/releases.md names the commit and the digests of each release; a script writes its rows."""

import datetime as dt
import re
import shutil

import pytest

from scoring.distribution import backend
from scripts import release

PAGE = """# Releases

| task | section |
| --- | --- |
| a | b |

| release | day | commit | wheel | image | notes |
| --- | --- | --- | --- | --- | --- |
| 0.1.0 | 1 Jan 2026 | `a` | not published | not published | x |
"""
PINS = """[actions."a/b"]
tag = "v1"
commit = "1111"
checked = 2026-01-01

[images."c"]
tag = "2"
digest = "sha256:2222"
checked = 2026-01-02
"""


def test_a_new_row_stands_above_those_of_earlier_releases():
    lines = release.with_row(PAGE, "| 0.2.0 | 1 Feb 2026 |").splitlines()
    assert [line.split(" |")[0] for line in lines[8:]] == ["| 0.2.0", "| 0.1.0"]


def test_a_release_has_one_row():
    text = release.with_row(PAGE, "| 0.1.0 | 1 Feb 2026 |")
    assert re.findall(r"^\| 0\.1\.0 .*$", text, re.MULTILINE) == [
        "| 0.1.0 | 1 Feb 2026 |"
    ]


def test_the_notes_lead_to_the_heading_of_the_changelog():
    text = "## 0.3.0 (2026-11-23)\n"
    assert release.anchor(text, "0.3.0") == "030-2026-11-23"


@pytest.mark.parametrize(
    ("day", "words"), [("2026-11-03", "3 Nov 2026"), ("2026-05-31", "31 May 2026")]
)
def test_a_row_writes_its_day_as_pages_do(day, words):
    assert release.readable(day) == words


def test_a_text_that_is_no_date_is_no_day():
    with pytest.raises(ValueError, match="Invalid isoformat"):
        release.readable("yesterday")


def test_a_release_without_a_heading_in_the_changelog_is_refused():
    with pytest.raises(SystemExit, match=r"no heading '## 9\.0\.0'"):
        release.anchor("## Unreleased\n", "9.0.0")


def test_only_a_pin_that_its_source_confirms_gets_the_day():
    answers = {"a/b": "1111", "c": "sha256:other"}
    text, unconfirmed = release.refreshed(
        PINS, dt.date(2026, 6, 1), lambda group, name, tag: answers[name]
    )
    assert unconfirmed == ["c"]
    assert re.findall(r"checked = (\S+)", text) == ["2026-06-01", "2026-01-02"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["1.0"], "no version"),
        (["1.0.0", "--image", "sha256:12"], "no digest"),
        (["1.0.0", "--wheel", "/nowhere.whl"], "no wheel"),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_is_written(
    arguments, reason, capsys
):
    before = release.RELEASES.read_text()
    with pytest.raises(SystemExit):
        release.main(arguments)
    assert reason in capsys.readouterr().err
    assert release.RELEASES.read_text() == before


def test_the_commits_of_the_page_are_read_newest_release_first():
    text = release.with_row(PAGE, f"| 0.2.0 | 1 Feb 2026 | `{'b' * 40}` | x | y | z |")
    text = release.with_row(text, f"| 0.3.0 | 12 Mar 2026 | `{'c' * 40}` | x | y | z |")
    assert list(release.commits(text).items()) == [
        ("0.3.0", "c" * 40),
        ("0.2.0", "b" * 40),
    ]


def test_a_cell_that_is_no_whole_commit_is_not_read_as_one():
    assert release.commits(PAGE) == {}


def test_every_row_of_the_page_has_a_commit_that_programs_read():
    text = release.RELEASES.read_text()
    rows = re.findall(r"^\| (\d\S+) \|", text, re.MULTILINE)
    assert list(release.commits(text)) == rows


@pytest.fixture
def copied(root, tmp_path):
    """A copy of the files that a release changes, with an unreleased part of the changelog."""
    for name in release.VERSIONED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(
        "## Unreleased\n\n- New.\n\n## 0.1.0 (2026-01-01)\n"
    )
    return tmp_path


def test_every_file_that_names_the_version_names_that_of_the_project(root):
    versions = release.named_versions(root)
    assert set(map(frozenset, versions.values())) == {
        frozenset({backend.read_project_version(root)})
    }


def test_a_prepared_release_is_named_in_every_file_with_its_day(copied):
    release.prepare(copied, "9.8.7", dt.date(2026, 6, 1))
    assert list(release.named_versions(copied).values()) == [{"9.8.7"}] * len(
        release.VERSIONED
    )
    assert "\ndate-released: 2026-06-01\n" in (copied / "CITATION.cff").read_text()
    assert (copied / "CHANGELOG.md").read_text() == (
        "## 9.8.7 (2026-06-01)\n\n- New.\n\n## 0.1.0 (2026-01-01)\n"
    )


def test_a_release_without_unreleased_entries_is_not_prepared(copied):
    (copied / "CHANGELOG.md").write_text("## 0.1.0 (2026-01-01)\n")
    before = release.named_versions(copied)
    with pytest.raises(SystemExit, match="no heading '## Unreleased'"):
        release.prepare(copied, "9.8.7", dt.date(2026, 6, 1))
    assert release.named_versions(copied) == before


def lacking_rows(changelog: str, page: str) -> list[str]:
    """Return the releases that can be upgraded and have no row.

    The commit of a release cannot name itself: its row comes with the next commit, and before new entries.
    """
    headings = re.findall(r"^## (\S+)", changelog, re.MULTILINE)
    rows = re.findall(r"^\| (\d\S+) \|", page, re.MULTILINE)
    due = headings[1:] if headings[0] not in rows else headings
    return [version for version in due if version not in {"Unreleased", "0.1.0", *rows}]


def test_the_page_has_a_row_of_each_release_that_can_be_upgraded(root):
    changelog = (root / "CHANGELOG.md").read_text()
    page = release.RELEASES.read_text()
    assert lacking_rows(changelog, page) == []
    rows = re.findall(r"^\| (\d\S+) \|", page, re.MULTILINE)
    released = re.findall(r"^## (\d\S+)", changelog, re.MULTILINE)
    assert rows == [version for version in released if version in rows]


@pytest.mark.parametrize(
    ("headings", "lacking"),
    [
        (["0.3.0", "0.2.0"], []),
        (["Unreleased", "0.3.0", "0.2.0"], ["0.3.0"]),
        (["0.4.0", "0.3.0", "0.2.0"], ["0.3.0"]),
    ],
    ids=["its own commit", "new entries", "the next release"],
)
def test_only_the_commit_of_a_release_has_no_row_of_it(headings, lacking):
    changelog = "".join(f"## {heading}\n" for heading in headings)
    assert lacking_rows(changelog, "| 0.2.0 | 1 Feb 2026 |\n") == lacking
