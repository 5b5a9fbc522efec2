"""A season file that names published results and says how teams enter; what cannot be meant is refused."""

import pytest

from scoring.models import Reported
from tasks.models import Phase, Season, Task
from tests.scoring.publications import PLACEMENTS, publication, write
from tests.tasks.seasons import edit, load, refusals

pytestmark = pytest.mark.django_db

SEASON = """\
[season]
slug = "history"
title = "History"
registration = "closed"
several_teams = true
published = ["own.json"]
public = true
[[tasks]]
slug = "1a"
title = "Cited text spans"
type = "clsumm-1a"
reported_only = true

[[tasks.published]]
table = "Table 1"
metric = "F1"
interval = ["low", "high"]

[[tasks.published]]
paper = "own-2020"
table = "Table 2"
by = "topic"
overall = "Average"
"""


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "own.json")
    (tmp_path / "season.toml").write_text(SEASON, encoding="utf-8")
    return tmp_path


def test_a_season_brings_its_published_results(folder):
    assert load(folder) == [
        "season history: created",
        "task 1a: created",
        "own-2020: new",
        "Table 1: 12 figures new",
        "Table 2: 6 figures new",
    ]
    season = Season.objects.get()
    assert (season.registration, season.allows_several_teams) == ("closed", True)
    kept = Task.objects.get().published
    assert [
        {name: each[name] for name in wanted}
        for each, wanted in zip(kept, PLACEMENTS, strict=True)
    ] == (PLACEMENTS)
    assert load(folder) == ["season history: nothing to change"]


@pytest.mark.both_databases
def test_a_changed_placement_and_a_changed_figure_are_loaded_and_told(folder):
    load(folder)
    edit(folder, ('metric = "F1"\n', 'metric = "P"\n'))
    content = publication()
    row = content["tables"][0]["rows"][0]
    row["values"]["P"], row["printed"]["P"] = 0.12, ".12"
    write(folder / "own.json", content)
    assert load(folder) == ["task 1a: published changed", "Table 1: 1 figure changed"]
    assert Reported.objects.get(system="Heron", metric="P").value == 0.12


FAULTS = [
    (
        'registration = "closed"',
        'registration = "shut"',
        "season.toml:4: “shut” is not known here",
    ),
    ('"own.json"', '"other.json"', "season.toml:6: there is no other.json"),
    (
        '"own.json"',
        '"../own.json"',
        "season.toml:6: ../own.json leads out of the folder",
    ),
    (
        "Table 1",
        "Table 9",
        "season.toml:15: own-2020 has no “Table 9” (did you mean “Table",
    ),
    (
        'metric = "F1"',
        'metric = "F2"',
        "season.toml:16: Table 1 has no metric “F2”; expected one of P, F1",
    ),
    ('["low", "high"]', '["low"]', "season.toml:17: “interval” names 1 metrics"),
    ('["low", "high"]', '["low", "hi"]', "season.toml:17: Table 1 has no metric “hi”"),
    (
        'paper = "own-2020"',
        'paper = "own-2021"',
        "season.toml:20: “own-2021” is not among the season's publications",
    ),
    (
        'by = "topic"',
        'by = "facet"',
        "season.toml:22: the rows of Table 2 have no “facet”",
    ),
    (
        'overall = "Average"',
        'overall = "Mean"',
        "season.toml:23: Table 2 has no topic “Mean”",
    ),
    (
        'overall = "Average"',
        'where = { topic = "T9" }',
        "season.toml:23: no row of Table 2 is picked",
    ),
    (
        'by = "topic"\noverall = "Average"',
        "",
        "season.toml:21: Table 2 has several rows of one system",
    ),
    (
        'slug = "1a"',
        'slug = "organise"',
        "season.toml:9: “organise” leads to another page of the site",
    ),
    (
        'published = ["own.json"]',
        "",
        "season.toml:14: “paper” is missing; expected “published” in [season]",
    ),
    (
        "several_teams = true",
        "several_teams = 2",
        "season.toml:5: “several_teams” is a number",
    ),
]


@pytest.mark.parametrize(("old", "new", "said"), FAULTS)
def test_what_is_wrong_is_told_by_line_and_nothing_is_loaded(folder, old, new, said):
    edit(folder, (old, new))
    assert any(line.startswith(said) for line in refusals(folder)), refusals(folder)
    assert not Season.objects.exists()
    assert not Reported.objects.exists()


@pytest.mark.both_databases
def test_a_file_of_results_that_is_refused_refuses_the_season(folder):
    content = publication()
    content["tables"][0]["rows"][0]["row"] = 0
    write(folder / "own.json", content)
    assert refusals(folder) == [
        "own.json: Table 1, entry 1: “row” is 0; expected a whole number from 1 to 100000"
    ]
    assert not Season.objects.exists()


def test_no_phase_is_called_as_the_page_of_published_results(folder):
    phase = """
[[tasks.phases]]
slug = "published"
title = "X"
opens = 2020-01-01T00:00:00Z
closes = 2020-01-02T00:00:00Z
"""
    path = folder / "season.toml"
    path.write_text(path.read_text(encoding="utf-8") + phase, encoding="utf-8")
    assert any("“published” leads to another page" in line for line in refusals(folder))
    assert not Phase.objects.exists()
