"""Reported figures beside recomputed ones: each in columns of its own, and hidden where the board is."""

import io
import re

import pytest
from django.core.management import call_command
from django.urls import reverse

from scoring.models import Comparison, Reported
from scoring.worker.score import score
from tasks.models import Job, Phase, Season, Task
from tests import factories
from tests.scoring import boards
from tests.scoring.publications import BESIDE, PLACEMENTS, load, publication, write
from tests.tasks import seasons
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db


PLACED = [{**placement, "recomputed": BESIDE["recomputed"]} for placement in PLACEMENTS]


@pytest.fixture
def phase(tmp_path):
    load(write(tmp_path / "own.json"))
    phase = boards.make_phase()
    Task.objects.filter(pk=phase.task_id).update(published=PLACED)
    run = boards.scored_run(phase, None, 0.31, system="Owl")
    boards.by_class(run, "topic", {"T1": 0.25, "T2": 0.4})
    return Phase.objects.get(pk=phase.pk)


def address(phase) -> str:
    return reverse("reproduced", args=[phase.task.season.slug])


def lines(html: str, number: int) -> list[list[str]]:
    table = (
        html.split('<table class="reproduced">')[number]
        .split("<tbody>")[1]
        .split("</table>", maxsplit=1)[0]
    )
    rows = table.split("</tr>")[:-1]
    return [
        [
            " ".join(re.sub(r"<[^>]+>", " ", cell).split())
            for cell in re.split(r"</t[hd]>", row)[:-1]
        ]
        for row in rows
    ]


def test_a_table_by_class_has_reported_recomputed_and_difference_in_columns_of_their_own(
    client, phase
):
    html = client.get(address(phase)).content.decode()
    # Printed in per cent, so that ours stands in per cent, with the decimals of print.
    assert lines(html, 1) == [
        ["T1", "5", "20.5", "25.0", "+4.5"],
        ["T2", "6", "41.0", "40.0", "\u22121.0"],
    ]
    assert "Not rebuilt here: Ibis." in html
    assert 'href="/published/own-2020/#table-2-1"' in html


def test_small_classes_and_what_sets_the_two_apart_are_told(client, phase):
    run = phase.submissions.get()
    run.evaluations.get(rules="corrected").breakdowns.all().delete()
    boards.by_class(
        run, "topic", dict.fromkeys(["T0", "T1", *map(str, range(8)), "T2"], 0.25), n=2
    )
    placements = [
        {**one, "recomputed": {**one["recomputed"], "remark": "Fewer topics."}}
        for one in PLACED
    ]
    Task.objects.filter(pk=phase.task_id).update(published=placements)
    told = text_of(client.get(address(phase)))
    assert (
        "Fewer topics. Less than half as large as the largest class here: T1." in told
    )


def test_systems_have_their_figures_beside_those_of_the_board(client, phase):
    html = client.get(address(phase)).content.decode()
    assert lines(html, 2) == [["Heron Owl", "0.250", "0.310", "+0.060"]]
    assert f'href="{boards.address("board", phase)}?rules=corrected"' in html


def test_a_board_that_is_hidden_keeps_its_numbers_here_too(client, phase):
    Phase.objects.filter(pk=phase.pk).update(board=Phase.Audience.NOBODY)
    html = client.get(address(phase)).content.decode()
    assert lines(html, 1)[0] == ["T1", "20.5", "", ""]
    assert "0.310" not in html
    assert "No board shows scores of these systems yet." in html
    Phase.objects.filter(pk=phase.pk).update(board=Phase.Audience.RANKS)
    assert lines(client.get(address(phase)).content.decode(), 2) == [
        ["Heron Owl", "0.250", "", ""]
    ]


def test_the_season_leads_there_and_another_has_no_such_page(client, phase):
    season = client.get(
        reverse("season", args=[phase.task.season.slug])
    ).content.decode()
    assert address(phase) in season
    other = factories.make_task(published=PLACEMENTS)
    assert (
        client.get(reverse("reproduced", args=[other.season.slug])).status_code == 404
    )
    assert (
        "/published/seasons/"
        not in client.get(reverse("season", args=[other.season.slug])).content.decode()
    )


def test_the_chart_holds_what_the_table_does(client, phase):
    bars = client.get(address(phase)).context["tables"][0].bars
    assert [
        (series.name, [value.value for value in series.values])
        for series in bars.series
    ] == [
        ("Heron, reported", [20.5, 41.0]),
        ("Heron, recomputed", [25.0, 40.0]),
    ]


def paper_lines(client, phase, query: str = "") -> list[list[str]]:
    page = client.get(boards.address("board", phase) + f"paper/{query}")
    return [[cell for cell in line if cell] for line in lines(page.content.decode(), 1)]


def test_a_board_is_shown_as_a_paper_prints_it_with_printed_and_computed_side_by_side(
    client, phase
):
    kite = boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.4, system="Kite")
    boards.by_class(kite, "topic", {"T1": 0.5})
    board = boards.address("board", phase)
    assert (
        'href="?view=paper#view">As printed</a>' in client.get(board).content.decode()
    )
    # By Table 1 the systems in their printed order, then those of the board alone.
    assert paper_lines(client, phase) == [
        ["Heron Owl", ".10", "0.250", "0.310", "0.2", "0.3", "0.3", "0.4"],
        ["Ibis", ".30", "0.500 doubted", "0.4", "0.6"],
        ["Jay", "&lt;0.01 doubted", "0.010 doubted", "0.0 doubted", "0.1 doubted"],
        ["Kite Ada", "0.400", "0.4", "0.5"],
    ]  # fmt: skip
    assert "P: no measure of the board is named for it" in text_of(
        client.get(board + "paper/")
    )
    # By Table 2 each class, in per cent, as they are printed.
    assert paper_lines(client, phase, "?table=3") == [
        ["Heron Owl", "T1", "20.5 (1.5)", "25.0"], ["Ibis", "T1", "30.5 (1.5)"],
        ["Kite Ada", "T1", "50.0"],
        ["Heron Owl", "T2", "41.0 (1.5)", "40.0"], ["Ibis", "T2", "40.0 (1.5)"],
    ]  # fmt: skip
    drawn = client.get(board + "paper/?figure=paper-chart.svg")
    assert drawn["Content-Type"] == "image/svg+xml"
    assert {"reported", "computed here", "Heron", "Kite"} <= set(
        re.findall(">([^<>]+)<", drawn.content.decode())
    )
    assert client.get(board + "paper/?table=9").status_code == 404


def placed(phase, place: int, **facts) -> None:
    placements = [dict(placement) for placement in PLACED]
    placements[place] |= facts
    Task.objects.filter(pk=phase.task_id).update(published=placements)


def test_a_table_of_a_part_of_the_instances_is_compared_with_that_part(client, phase):
    """The whole run has .31, in the class T1 .25."""
    where = boards.address("board", phase) + "paper/"
    placed(phase, 0, only="topic:t1")
    assert paper_lines(client, phase)[0][:4] == ["Heron Owl", ".10", "0.250", "0.250"]
    assert "those computed here: topic: t1" in text_of(client.get(where))
    placed(phase, 0, only="topic:T9")
    assert paper_lines(client, phase)[0][:4] == ["Heron Owl", ".10", "0.250", "0.2"]
    told = text_of(client.get(where))
    assert "the board has no values of topic: T9 alone" in told
    placed(phase, 0, only="topic:T9", of_all=["F1"])
    assert paper_lines(client, phase)[0][:4] == ["Heron Owl", ".10", "0.250", "0.310"]


def test_a_table_by_class_may_have_classes_or_systems_as_columns(client, phase):
    place = next(place for place, one in enumerate(PLACED) if one.get("by"))
    for layout, expected in (
        ("classes", [["Heron", "20.5 25.0", "41.0 40.0"], ["Ibis", "30.5", "40.0"]]),
        ("systems", [["T1", "20.5 25.0", "30.5"], ["T2", "41.0 40.0", "40.0"]]),
    ):
        placed(phase, place, layout=layout)
        assert paper_lines(client, phase, "?table=3") == expected


def test_a_board_without_published_tables_is_shown_as_others_of_its_kind_are_printed(
    client, tmp_path
):
    told = publication()
    for measure in (told["tables"][0]["metrics"][1], told["tables"][1]["metrics"][0]):
        measure["computed"] = "overlap_f1_micro"
    load(write(tmp_path / "own.json", told))
    phase = boards.make_phase()
    boards.scored_run(phase, None, 0.31, system="Owl")
    where = boards.address("board", phase) + "paper/"
    assert "The site knows no published table for this kind of task" in text_of(
        client.get(where)
    )
    printed = factories.make_task(published=PLACEMENTS, is_reported_only=True)
    assert paper_lines(client, phase)[-1][1] == "0.310"
    page = client.get(where)
    assert "compare columns, not numbers" in text_of(page)
    assert "paper-chart" not in page.content.decode(), "one axis would compare them"
    # No class of Table 2 is on the board, whose number is of all instances.
    by_class = paper_lines(client, phase, "?table=3")
    assert (by_class[0], by_class[-1]) == (
        ["Heron", "T1", "20.5 (1.5)"],
        ["Owl baseline", "all", "31.0"],
    )
    Season.objects.filter(pk=printed.season_id).update(is_public=False)
    assert "The site knows no published table for this kind of task" in text_of(
        client.get(where)
    )


def test_the_paper_view_tells_nothing_of_a_board_whose_numbers_are_hidden(
    client, phase
):
    for audience in (Phase.Audience.NOBODY, Phase.Audience.RANKS):
        Phase.objects.filter(pk=phase.pk).update(board=audience)
        assert client.get(boards.address("board", phase) + "paper/").status_code == 404
        assert "As printed" not in text_of(client.get(boards.address("board", phase)))


BETTER = {
    "name": "Heron is above Ibis, topic by topic",
    "by": ["topic"],
    "more": {"system": ["Heron"], "topic": ["T1", "T2"]},
    "less": {"system": ["Ibis"], "topic": ["T1", "T2"]},
}


def test_what_a_paper_concludes_is_held_to_print_and_board(client, phase, tmp_path):
    """Printed are 20.5 and 41 against 30.5 and 40; the board has nothing of Ibis."""
    told = publication()
    later = {
        "name": "The second topic is easier",
        "by": ["system"],
        "more": {"topic": ["T2"]},
    }
    harder = {
        "name": "The first topic is easier",
        "by": ["system"],
        "more": {"topic": ["T1"]},
        "less": {"topic": ["T2"]},
        "from_table": True,
    }
    told["tables"][1]["conclusions"] = [
        BETTER,
        {**later, "less": {"topic": ["T1"]}},
        harder,
    ]
    load(write(tmp_path / "own.json", told))
    text = text_of(client.get(address(phase)))
    assert (
        "topic by topic ( Table 2 ) Fails on its own table : "
        "cannot be decided: in 1 of 2 cases, by −4.500 on average –" in text
    )
    assert "cannot be decided: in 2 of 2 cases, by +15.000 on average" in text
    assert "cannot be decided: in 1 of 1 cases, by +15.000 on average" in text
    listed = text_of(client.get(reverse("papers")))
    _, _, failing = listed.partition("Claims that fail on their own tables")
    assert "Heron is above Ibis, topic by topic" in failing
    assert "The second topic is easier" not in listed
    assert "The first topic is easier ( Table 2 ; read from the table)" in text
    assert "The first topic is easier" not in listed
    season, task = phase.task.season.slug, phase.task.slug
    for name, where in (("paper", ["own-2020"]), ("published", [season, task])):
        assert "in 1 of 2 cases, by −4.500 on average" in text_of(
            client.get(reverse(name, args=where))
        )


def test_a_conclusion_on_one_pair_of_systems_is_decided_by_their_runs_on_the_same_instances(
    client, phase, tmp_path
):
    told = publication()
    above = {
        "name": "Ibis is above Heron",
        "by": ["metric"],
        "more": {"system": ["Ibis"]},
    }
    told["tables"][0]["conclusions"] = [{**above, "less": {"system": ["Heron"]}}]
    load(write(tmp_path / "own.json", told))
    systems = {"Heron": "Owl", "Ibis": "Kite"}
    placements = [
        {**one, "recomputed": {**one["recomputed"], "systems": systems}}
        for one in PLACED
    ]
    Task.objects.filter(pk=phase.task_id).update(published=placements)
    kite = boards.scored_run(phase, None, 0.4, system="Kite")
    said = "cannot be decided: in 1 of 1 cases, by +0.090 on average"
    assert said in text_of(client.get(address(phase)))
    owl = phase.submissions.get(system="Owl")
    Comparison.objects.create(
        first=owl.evaluations.get(rules="corrected"),
        second=kite.evaluations.get(rules="corrected"),
        metric="overlap_f1_micro",
        difference=-0.09,
        low=-0.15,
        high=-0.03,
        test="exact",
        trials=1,
        units=9,
    )
    text = text_of(client.get(address(phase)))
    assert "holds: in 1 of 1 cases, by +0.090 [0.030, 0.150] on average" in text


RECOMPUTED = """
[tasks.published.recomputed]
rules = "corrected"
metrics = { F1 = "overlap_f1_micro" }
systems = { Heron = "lead" }
"""
SEASON = f"""\
[season]
slug = "again"
title = "Again"
public = true
[[tasks]]
slug = "1a"
title = "Cited text spans"
type = "clsumm-1a"
rules = ["corrected"]

[[tasks.phases]]
slug = "one"
title = "One"
opens = 2020-01-01T00:00:00Z
closes = 2020-02-01T00:00:00Z

[[tasks.published]]
paper = "own-2020"
table = "Table 2"
metric = "F1"
by = "topic"
overall = "Average"
{RECOMPUTED}"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "season").mkdir()
    (tmp_path / "season" / "season.toml").write_text(SEASON, encoding="utf-8")
    return tmp_path / "season"


def test_a_season_names_a_paper_that_the_site_has_already(folder, tmp_path):
    assert any("own-2020” is not among" in line for line in seasons.refusals(folder))
    load(write(tmp_path / "own.json"))
    assert seasons.load(folder)[:2] == ["season again: created", "task 1a: created"]
    assert Task.objects.get().published[0]["recomputed"]["systems"] == {"Heron": "lead"}
    assert seasons.load(folder)[0] == "season again: nothing to change"
    assert Reported.objects.count() == 18


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            'rules = "corrected"\nmetrics',
            'rules = "unfair"\nmetrics',
            "season.toml:25: the task has no rules “unfair”",
        ),
        ("{ F1 =", "{ F2 =", "season.toml:26: Table 2 has no “F2”; expected one of F1"),
        (
            "overlap_f1_micro",
            "overlap_f1",
            "season.toml:26: corrected has no metric “overlap_f1”",
        ),
        (
            "{ Heron =",
            "{ Herons =",
            "season.toml:27: Table 2 has no “Herons” (did you mean “Heron”?)",
        ),
        ('{ Heron = "lead" }', "{ }", "season.toml:27: “systems” is empty"),
        (
            'rules = "corrected"\nmetrics',
            "metrics",
            "season.toml:24: “rules” is missing",
        ),
    ],
)
def test_what_cannot_stand_beside_a_table_is_told_by_line(
    folder, tmp_path, old, new, said
):
    load(write(tmp_path / "own.json"))
    seasons.edit(folder, (old, new))
    assert any(line.startswith(said) for line in seasons.refusals(folder)), (
        seasons.refusals(folder)
    )


RUNS = """
[tasks.published.recomputed]
rules = "corrected"
metrics = { F1 = "overlap_f1_micro" }
runs = { T1 = "lead", T2 = "tail" }
"""


def of_one_system() -> dict:
    content = publication()
    own = content["tables"][1]
    own["rows"] = [row for row in own["rows"] if row["system"] == "Heron"]
    return content


def test_a_season_may_name_a_run_for_each_class(folder, tmp_path):
    load(write(tmp_path / "own.json", of_one_system()))
    seasons.edit(folder, (RECOMPUTED, RUNS))
    seasons.load(folder)
    assert Task.objects.get().published[0]["recomputed"]["runs"] == {
        "T1": "lead",
        "T2": "tail",
    }
    assert seasons.load(folder)[0] == "season again: nothing to change"


def test_classes_that_are_settings_of_one_system_have_a_run_each(client, tmp_path):
    load(write(tmp_path / "own.json", of_one_system()))
    phase = boards.make_phase()
    runs = {**BESIDE["recomputed"], "systems": {}, "runs": {"T1": "lead", "T2": "tail"}}
    Task.objects.filter(pk=phase.task_id).update(
        published=[{**PLACEMENTS[1], "recomputed": runs}]
    )
    boards.scored_run(phase, None, 0.3, system="lead")
    boards.scored_run(phase, None, 0.5, system="tail")
    html = client.get(address(phase)).content.decode()
    assert lines(html, 1) == [
        ["T1 lead", "20.5", "30.0", "+9.5"],
        ["T2 tail", "41.0", "50.0", "+9.0"],
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("T2 =", "T9 =", "season.toml:27: Table 2 has no class “T9” here"),
        (
            "runs",
            'systems = { Heron = "lead" }\nruns',
            "season.toml:28: “runs” and “systems” both say",
        ),
    ],
)
def test_runs_of_classes_that_cannot_stand_are_told_by_line(
    folder, tmp_path, old, new, said
):
    load(write(tmp_path / "own.json", of_one_system()))
    seasons.edit(folder, (RECOMPUTED, RUNS.replace(old, new, 1)))
    assert any(line.startswith(said) for line in seasons.refusals(folder)), (
        seasons.refusals(folder)
    )


def test_a_table_of_several_systems_names_no_run_by_class(folder, tmp_path):
    load(write(tmp_path / "own.json"))
    seasons.edit(folder, (RECOMPUTED, RUNS))
    said = "season.toml:27: “runs” is for a table of one system, and Table 2 has 2"
    assert any(line.startswith(said) for line in seasons.refusals(folder)), (
        seasons.refusals(folder)
    )


@pytest.mark.slow
@pytest.mark.shared
def test_the_pilot_s_topics_stand_beside_what_its_paper_prints(
    client, shared, tmp_path
):
    call_command("load_season", "examples/cl-summ-2014", stdout=io.StringIO())
    call_command(
        "load_season", "examples/cl-summ-2014-pilot", "--data", str(shared / "scisumm/pilot"),
        stdout=io.StringIO(),
    )  # fmt: skip
    phase = Phase.objects.get(task__season__slug="cl-summ-2014-pilot", task__slug="1a")
    call_command(
        "run_baselines", "cl-summ-2014-pilot", "--task", "1a", "--baseline", "clsumm-mq-context-literal",
        stdout=io.StringIO(),
    )  # fmt: skip
    while job := Job.objects.filter(submission__phase=phase, state="queued").first():
        score(job.pk)
    html = client.get("/published/seasons/cl-summ-2014-pilot/").content.decode()
    first = lines(html, 1)
    assert [line[0] for line in first] == list(TOPICS)
    # As on the page “The five papers, row by row”, to the letter.
    assert first[0][2:5] == ["0.235", "0.160", "\u22120.075"]
    assert first[6][2:5] == ["0.101", "0.121", "+0.020"]
    context = next(line for line in lines(html, 4) if line[0].startswith("context"))
    assert context[1:] == [
        "0.214", "0.161", "\u22120.053", "0.339", "0.322", "\u22120.017", "0.225", "0.187", "\u22120.038",
    ]  # fmt: skip
    assert "Task 2" in text_of(client.get("/published/seasons/cl-summ-2014-pilot/"))


TOPICS = (
    "C90-2039", "C94-2154", "E03-1020", "H05-1115", "H89-2014",
    "J00-3003", "J98-2005", "N01-1011", "P98-1081", "X96-1048",
)  # fmt: skip


def test_a_class_that_a_board_keeps_back_says_why(client, phase):
    Task.objects.filter(pk=phase.task_id).update(min_class_size=1000)
    html = client.get(address(phase)).content.decode()
    assert lines(html, 1)[0] == ["T1", "20.5", "the class has too few instances", ""]
