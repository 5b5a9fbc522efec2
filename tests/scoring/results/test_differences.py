"""Scores by class: as charts, in words and as the table behind them."""

import csv
import io
import json
import math
import re
from dataclasses import replace

import pytest
from django.http import Http404

from citeboard.core.instants import format_utc_minute
from citeboard.teams.models import Team
from scoring.exchange.figure_files import list_image_formats, render_figure
from scoring.figures.description import FigureValue
from scoring.models import Breakdown, Evaluation, save_breakdowns
from scoring.results.board.charts import (
    build_score_history_chart,
    summarise_class_table,
)
from scoring.results.board.differences import InstanceClass, ScoresByClassTable
from scoring.results.board.standings import BoardRow
from tasks.models import Phase, Submission
from tasks.models.seasons import increment_board_version
from tests import factories
from tests.lazily import Lazily
from tests.scoring import boards

go = Lazily("plotly.graph_objects")

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase():
    phase = boards.make_phase()
    for name, values in {"Ada": (0.2, 0.9), "Bo": (0.6, 0.1)}.items():
        run = boards.scored_run(
            phase, boards.make_team(phase, name), values[0], system=f"{name}'s"
        )
        boards.by_class(run, "topic", {"C90-2039": values[0], "E03-1020": values[1]})
        boards.by_class(run, "facet", {"Method": 0.5, "None": None})
    return phase


def make_text_phase() -> Phase:
    """Two scored runs of citation texts by data set, with a metric that ranks and one that describes."""
    task = factories.make_task(type="citation-text", rules=["corrected"])
    phase = factories.make_phase(task=task, with_gold=False)
    boards.make_gold(phase)
    for name in ("Ada", "Bo"):
        run = boards.make_run(phase, boards.make_team(phase, name))
        evaluation = boards.score(
            run, 0.5, rules="corrected", rouge_l_f1=20.0, length=28.8
        )
        numbers = {
            metric: {"value": 20.0, "n": 5} for metric in ("rouge_l_f1", "length")
        }
        save_breakdowns([Breakdown.of(evaluation, "dataset", {"lu": numbers})])
    return phase


def page(client, phase, query="", **headers) -> str:
    response = client.get(boards.address("differences", phase) + query, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def figure(html: str, name: str) -> dict:
    return json.loads(
        re.search(rf'<script id="{name}" type="application/json">(.*?)</script>', html)[
            1
        ]
    )


def test_the_charts_hold_the_numbers_of_the_table(client, phase):
    html = page(client, phase, "?dimension=topic")
    heat = figure(html, "heat-map-data")["data"][0]
    assert heat["y"] == ["C90-2039", "E03-1020"]
    assert heat["x"] == ["Bo's", "Ada's"]
    assert heat["z"] == [[0.6, 0.2], [0.1, 0.9]]
    bars = figure(html, "bars-data")["data"]
    assert [(trace["name"], trace["y"]) for trace in bars] == [
        ("Bo's", [0.6, 0.1]),
        ("Ada's", [0.2, 0.9]),
    ]
    table = html[html.index('<table class="classes">') : html.index("<tfoot>")]
    assert re.findall(r">(0\.\d{4})<", table) == [
        "0.6000",
        "0.2000",
        "0.1000",
        "0.9000",
    ]
    # Nobody has looked yet whether the best are so by chance.
    assert "*" not in table
    assert "Significance has not been computed yet." in html


def test_each_system_has_its_mean_over_the_classes_beside_the_number_of_the_board(
    client, phase
):
    html = page(client, phase, "?dimension=topic")
    macro, micro = re.findall(
        r"<tr>.*?</tr>", html[html.index("<tfoot>") : html.index("</tfoot>")], re.DOTALL
    )
    assert re.findall(r'<td class="n">(.*?)</td>', macro) == ["", "0.3500", "0.5500"]
    assert re.findall(r'<td class="n">(.*?)</td>', micro) == ["", "0.6000", "0.2000"]


@pytest.mark.parametrize(
    ("values", "infinite", "expected"),
    [
        ((0.2, 0.4), (), 0.3),
        ((0.2, None), (), None),
        ((0.2, None), ("b",), math.inf),
        ((), (), None),
    ],
)
def test_the_mean_over_classes_is_known_where_each_class_has_a_value(
    values, infinite, expected
):
    classes = dict(zip("ab", ((value,) for value in values), strict=False))
    table = replace(
        class_table(classes), infinite=frozenset((label, 0) for label in infinite)
    )
    assert table.over_classes(table.systems[0]) == (
        expected if expected is None else pytest.approx(expected)
    )


def test_every_dimension_has_its_classes_with_their_support(client, phase):
    html = page(client, phase, "?dimension=facet")
    table = html[html.index('<table class="classes">') : html.index("<tfoot>")]
    assert re.findall(
        r'<th scope="row">(.*?)</th>\s*<td class="n">(.*?)</td>', table
    ) == [
        ("Method", "5"),
        ("None", "6"),
    ]
    assert "\u2013" in table


def test_a_metric_without_a_number_in_any_class_is_not_offered(client):
    phase = boards.make_phase()
    for name in ("Ada", "Bo"):
        run = boards.make_run(phase, boards.make_team(phase, name))
        evaluation = boards.score(run, 0.5, bertscore_f1=None, kl_intent=None)
        numbers = {
            "overlap_f1_micro": {"value": 0.5, "n": 5},
            "bertscore_f1": {"value": None, "n": 5},
            "kl_intent": {"value": None, "infinite": True, "n": 5},
        }
        save_breakdowns([Breakdown.of(evaluation, "topic", {"C90-2039": numbers})])
    html = page(client, phase, "?dimension=topic&metric=bertscore_f1")
    assert "BERTScore" not in html
    assert '<option value="kl_intent">' in html
    assert '<option value="overlap_f1_micro" selected>' in html


def test_of_what_only_describes_nothing_is_said_to_be_better(client):
    phase = make_text_phase()
    html = page(client, phase, "?dimension=dataset&metric=length")
    assert '<option value="length" selected>' in html
    assert "by chance" not in html
    words = "Significance has not been computed yet."
    assert words not in html
    assert words in page(client, phase, "?dimension=dataset&metric=rouge_l_f1")


def test_systems_are_chosen_in_the_address(client, phase):
    run = phase.submissions.get(system="Ada's")
    html = page(client, phase, f"?system={run.pk}")
    assert [trace["name"] for trace in figure(html, "bars-data")["data"]] == ["Ada's"]


def test_the_tab_of_the_board_has_the_figures_of_the_page_alone(client, phase):
    tab = client.get(
        boards.address("board", phase) + "?view=classes&dimension=facet"
    ).content.decode()
    for name in ("bars-data", "heat-map-data"):
        alone = page(client, phase, "?dimension=facet")
        assert figure(tab, name) == figure(alone, name)


def test_caches_are_told_that_a_part_is_not_the_whole_page(client, phase):
    whole = client.get(boards.address("differences", phase))
    assert "HX-Request" in whole["Vary"]


def test_the_page_names_what_lacks_an_interval_and_why(client, phase):
    assert (
        "Without an interval: “Bo&#x27;s” and “Ada&#x27;s” in Method (not computed yet); "
        "“Bo&#x27;s” and “Ada&#x27;s” in None (no value)." in page(client, phase)
    )
    Evaluation.objects.update(has_class_intervals=True)
    increment_board_version(phase.pk)
    assert (
        "Without an interval: “Bo&#x27;s” and “Ada&#x27;s” in Method (too few instances to tell one); "
        "“Bo&#x27;s” and “Ada&#x27;s” in None (no value)." in page(client, phase)
    )


def test_without_a_breakdown_the_page_says_so(client):
    phase = boards.make_phase()
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.5)
    assert "No run has been scored by class yet" in page(client, phase)


def test_every_dimension_stands_on_one_page_on_demand(client, phase):
    html = page(client, phase, "?dimension=all")
    assert re.findall(r'<h3 id="by-(\w+)">', html) == ["facet", "topic"]
    assert figure(html, "bars-facet-data") == figure(
        page(client, phase, "?dimension=facet"), "bars-data"
    )


def test_a_dimension_of_a_single_class_is_not_offered(client):
    phase = boards.make_phase()
    run = boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.5)
    boards.by_class(run, "topic", {"C90-2039": 0.5})
    boards.by_class(run, "facet", {"Aim": 0.2, "Method": 0.8})
    html = page(client, phase)
    assert "Overlap F1, micro by facet" in html
    assert '<option value="topic"' not in html


def test_a_figure_of_the_page_is_had_as_a_file(client, phase):
    address = boards.address("differences", phase)
    html = client.get(address).content.decode()
    assert f'method="get" action="{address}"' in html
    assert '<option value="heat-map.svg">' in html
    drawn = client.get(f"{address}?figure=heat-map.svg")
    assert drawn["Content-Disposition"] == 'attachment; filename="heat-map.svg"'
    assert drawn["Content-Type"] == "image/svg+xml"
    assert drawn.content.decode() in html
    assert client.get(f"{address}?figure=heat-map.gif").status_code == 404
    assert client.get(f"{address}?figure=other.svg").status_code == 404


def test_the_file_of_a_figure_is_in_english_for_every_reader(client, phase):
    address = f"{boards.address('differences', phase)}?figure=bars.svg"
    english, german = (
        client.get(address, headers={"Accept-Language": code}) for code in ("en", "de")
    )
    assert german.content == english.content
    assert "Content-Language" not in german


def test_no_table_of_classes_can_be_had_of_a_board_without_any(client):
    phase = boards.make_phase()
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.5)
    assert client.get(boards.address("classes-tex", phase)).status_code == 404


@pytest.mark.parametrize(("form", "start"), [("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_a_figure_is_had_for_print_and_for_slides(client, phase, form, start):
    if form not in list_image_formats():
        pytest.skip("the system's library cairo is not installed")
    response = client.get(f"{boards.address('differences', phase)}?figure=bars.{form}")
    assert response.content.startswith(start)
    assert response["Content-Type"].endswith(form)


def test_a_figure_is_had_as_the_data_that_plotly_writes_and_as_a_page_of_its_own(
    client, phase
):
    address = f"{boards.address('differences', phase)}?figure=bars."
    data = client.get(f"{address}json").json()
    assert {trace["type"] for trace in data["data"]} == {"bar"}
    assert go.Figure(data).layout.barmode == "group"
    page = client.get(f"{address}html")
    assert page["Content-Type"] == "application/octet-stream", (
        "no browser runs it at our address"
    )
    content = page.content.decode()
    assert "<html>" in content[:100]
    assert "Plotly.newPlot" in content
    assert not re.search("<script[^>]* src=", content), "it needs no other file"
    links = client.get(boards.address("differences", phase)).content.decode()
    forms = ("svg", "json", "html")
    assert all(f'<option value="bars.{form}">' in links for form in forms)


def test_where_plotly_is_not_installed_a_sentence_says_so(client, phase, monkeypatch):
    monkeypatch.setattr("scoring.exchange.figure_files.list_plotly_formats", tuple)
    response = client.get(f"{boards.address('differences', phase)}?figure=bars.html")
    assert response.status_code == 404
    with pytest.raises(
        Http404, match="Plotly is not installed here, which writes a figure as HTML"
    ):
        render_figure({"bars": None}, "bars.html")


def test_names_that_a_spreadsheet_would_calculate_are_text_in_the_table_of_classes(
    client, phase
):
    Submission.objects.filter(system="Ada's").update(system="=HYPERLINK(0)")
    Team.objects.filter(name="Ada").update(name="+Team")
    content = client.get(boards.address("classes-csv", phase)).content.decode()
    lines = csv.DictReader(io.StringIO(content))
    names = {(line["system"], line["team"]) for line in lines}
    assert ("'=HYPERLINK(0)", "'+Team") in names
    assert len(names) == 2


def test_the_table_of_classes_is_had_for_a_spreadsheet_and_for_a_paper(client, phase):
    content = client.get(boards.address("classes-csv", phase)).content.decode()
    lines = list(csv.DictReader(io.StringIO(content)))
    found = {
        (line["class"], line["system"]): (float(line["value"]), line["metric"])
        for line in lines
        if line["dimension"] == "topic" and line["metric"] == "overlap_f1_micro"
    }
    assert found == {
        ("C90-2039", "Bo's"): (0.6, "overlap_f1_micro"),
        ("C90-2039", "Ada's"): (0.2, "overlap_f1_micro"),
        ("E03-1020", "Bo's"): (0.1, "overlap_f1_micro"),
        ("E03-1020", "Ada's"): (0.9, "overlap_f1_micro"),
    }
    tex = client.get(
        boards.address("classes-tex", phase) + "?dimension=topic"
    ).content.decode()
    assert r"\toprule" in tex
    assert re.search(r"C90-2039 & \d+ & \\textbf{0\.6000} & 0\.2000 \\\\", tex)


def row(number: int, system: str) -> BoardRow:
    return BoardRow(number, number, system, "primary", 1, boards.START)


def class_table(
    values: dict[str, tuple[float | None, ...]], *, higher_is_better=True
) -> ScoresByClassTable:
    count = max(map(len, values.values()), default=1)
    systems = [
        row(number, name) for number, name in enumerate(("first", "second")[:count])
    ]
    return ScoresByClassTable(
        dimension="topic",
        metric="overlap_f1_micro",
        scale=1.0,
        higher_is_better=higher_is_better,
        classes=[InstanceClass(label, 5) for label in values],
        systems=systems,
        values={
            (label, number): value
            for label, own in values.items()
            for number, value in enumerate(own)
        },
    )


def test_a_settled_board_keeps_the_words_on_who_leads_and_where_it_is_hard():
    words = summarise_class_table(
        class_table({"a": (0.1, 0.2), "b": (0.5, 0.7), "c": (0.9, 0.8)})
    )
    assert words == (
        "“second” has the best number in 2 of 3 classes. "
        "Over these systems c is the easiest (mean 0.8500) and a the hardest (0.1500)."
    )


def test_a_single_system_is_named_and_has_no_mean():
    words = summarise_class_table(class_table({"a": (0.1,), "b": (0.5,)}))
    assert words == "For “first” b is the easiest (0.5000) and a the hardest (0.1000)."


def test_where_lower_is_better_the_lowest_leads():
    words = summarise_class_table(
        class_table({"a": (0.1, 0.2), "b": (0.5, 0.7)}, higher_is_better=False)
    )
    assert "“first” has the best number in 2 of 2 classes" in words
    assert "a is the easiest" in words


def test_without_values_there_is_nothing_to_say_about_classes():
    assert (
        summarise_class_table(class_table({"a": (None, None)}))
        == "No class has a value yet."
    )


def test_a_team_s_history_shows_each_run_and_the_best_so_far():
    points = [
        (boards.START, FigureValue(value=value), f"run {value}")
        for value in (0.2, 0.5, 0.4)
    ]
    runs, line = build_score_history_chart(points, "Overlap F1, micro", 1.0).series
    assert [point.y.value for point in runs.points] == [0.2, 0.5, 0.4]
    assert [point.y.value for point in line.points] == [0.2, 0.5, 0.5]
    assert runs.points[0].x.text == format_utc_minute(boards.START)
