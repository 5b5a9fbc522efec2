"""The seasons of published results that ship: every figure of its source, with its place and its doubts."""

import csv
import io
import json
import re

import pytest
from django.core.cache import caches
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from citeboard.demo.prepare import (
    EXAMPLES_FOLDER,
    PUBLISHED_RESULTS_SEASON_SLUGS,
    load_published_seasons,
)
from scoring.models import Paper, Reported, ReportedTable
from tasks.models import Season, Task
from tests import factories
from tests.scoring.publications import load, publication, write
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db

SOURCES = {
    "citation-resolution-2014/duma-klein-2014.json": "citation-resolution.json",
    "citation-recommendation-2024/maharjan-2024.json": "citation-recommendation-diagnostics.json",
    "citebench-2023/funkquist-2023.json": "citebench.json",
    "aliice-2025/xu-2025.json": "aliice.json",
}


def load_season(slug: str) -> str:
    call_command(
        "load_season", str(EXAMPLES_FOLDER / slug), stdout=(told := io.StringIO())
    )
    return told.getvalue()


def page(client, season: str, query: str = ""):
    task = Task.objects.filter(season__slug=season).first()
    return client.get(reverse("published", args=[season, task.slug]) + query)


def order(html: str) -> list[str]:
    return re.findall(r'<th scope="row">([^<]+)</th>', html)


@pytest.mark.slow
@pytest.mark.parametrize("slug", PUBLISHED_RESULTS_SEASON_SLUGS)
def test_each_loads_once_and_is_read_without_a_broken_link(client, slug):
    assert "created" in load_season(slug)
    assert "nothing to change" in load_season(slug)
    for task in Task.objects.filter(season__slug=slug):
        response = client.get(reverse("published", args=[slug, task.slug]))
        assert response.status_code == 200
        html = response.content.decode()
        links = set(re.findall(r'href="(/published/[\w-]+/)#([\w-]+)"', html))
        assert links
        for address, anchor in links:
            assert f'id="{anchor}"' in client.get(address).content.decode()


@pytest.mark.both_databases
def test_a_first_start_brings_them_all_and_a_second_asks_little(client):
    load_published_seasons()
    assert set(PUBLISHED_RESULTS_SEASON_SLUGS) <= set(
        Season.objects.values_list("slug", flat=True)
    )
    figures = Reported.objects.count()
    with CaptureQueriesContext(connection) as queries:
        load_published_seasons()
    assert Reported.objects.count() == figures == 1556
    reported = [
        query for query in queries.captured_queries if "scoring_" in query["sql"]
    ]
    assert len(reported) == len(PUBLISHED_RESULTS_SEASON_SLUGS)


def test_a_release_with_another_figure_brings_it_to_a_site_that_has_the_season():
    load_published_seasons()
    Reported.objects.filter(table__paper__key="xu-2025").delete()
    Paper.objects.filter(key="xu-2025").update(digest="of another release")
    load_published_seasons()
    assert Reported.objects.count() == 1556


@pytest.mark.both_databases
def test_the_first_page_reads_the_figures_of_leading_tables_alone(client):
    for slug in PUBLISHED_RESULTS_SEASON_SLUGS:
        load_season(slug)
    client.get("/")
    caches["pages"].clear()
    with CaptureQueriesContext(connection) as queries:
        assert client.get("/").status_code == 200
    figures = [
        query["sql"]
        for query in queries.captured_queries
        if 'FROM "scoring_reported"' in query["sql"]
    ]
    assert len(figures) == 1
    big = ReportedTable.objects.get(paper__key="maharjan-2024").pk
    assert str(big) not in re.search(r"IN \(([\d, ]+)\)", figures[0])[1].split(", ")


def test_the_first_page_leads_to_each_of_them_once(client):
    for slug in PUBLISHED_RESULTS_SEASON_SLUGS:
        load_season(slug)
    html = client.get("/").content.decode()
    for task in Task.objects.all():
        assert (
            html.count(
                f'href="{reverse("published", args=[task.season.slug, task.slug])}"'
            )
            == 1
        )


@pytest.mark.shared
@pytest.mark.parametrize("ours", SOURCES)
def test_the_figures_are_those_of_the_source_with_its_doubts(shared, ours):
    names = (
        "table__name", "key", "metric", "value", "printed", "line", "system", "deviation", "less_than",
        "mark", "is_inconsistent", "contradiction",
    )  # fmt: skip

    def kept(path) -> tuple[set, set]:
        load(path)
        facts = set(Reported.objects.values_list(*names))
        doubted = set(
            Reported.objects.exclude(suspect="").values_list(
                "table__name", "key", "metric"
            )
        )
        Paper.objects.all().delete()
        return facts, doubted

    mine, theirs = (
        kept(EXAMPLES_FOLDER / ours),
        kept(shared / "published" / SOURCES[ours]),
    )
    assert mine == theirs
    assert len(mine[0]) > 60


def test_the_rows_of_the_diagnostics_table_that_cannot_be_are_told_with_the_reason(
    client,
):
    load_season("citation-recommendation-2024")
    told = Reported.objects.exclude(contradiction="")
    assert told.values("key").distinct().count() == 38
    html = page(client, "citation-recommendation-2024").content.decode()
    reason = "MRR@10 0 is below Recall@10 / 10, which is 0.00063"
    assert f'<abbr class="doubt" title="{reason}">doubted</abbr>' in html
    assert f"LCR, Computer Science ({reason})" in html
    task = Task.objects.get()
    exported = client.get(
        reverse("published-csv", args=[task.season.slug, task.slug])
    ).content.decode()
    rows = list(csv.DictReader(io.StringIO(exported)))
    assert len(rows) == 672
    assert sum("MRR@10" in row["doubt"] for row in rows) == 2 * 38
    answer = client.get(reverse("api:published", args=[task.pk])).json()
    assert (
        sum("MRR@10" in (figure["doubt"] or "") for figure in answer["figures"])
        == 2 * 38
    )
    assert answer["papers"][0]["key"] == "maharjan-2024"


def test_classes_are_ordered_by_a_system_and_the_metric_is_chosen_in_the_address(
    client,
):
    load_season("citation-recommendation-2024")
    plain = page(client, "citation-recommendation-2024").context["by_class"]
    assert [each["dimension"] for each in plain] == [
        "Fields", "Years", "Citation Count", "Length", "Location", "Intent", "Low Resource", "POS",
    ]  # fmt: skip
    assert sum(len(each["lines"]) for each in plain) == 56
    assert len(plain[0]["heads"]) == 6
    fields = page(client, "citation-recommendation-2024", "?order=BM25").context[
        "by_class"
    ][0]
    values = [float(line["cells"][5]["text"]) for line in fields["lines"]]
    assert values == sorted(values, reverse=True)
    assert fields["heat"].rows == [line["label"] for line in fields["lines"]]
    assert fields["heads"][5]["aria"] == "descending"
    assert fields["heads"][5]["href"] == "?order=-BM25"
    turned = page(client, "citation-recommendation-2024", "?order=-BM25").context[
        "by_class"
    ][0]
    assert [line["label"] for line in turned["lines"]] == [
        line["label"] for line in fields["lines"]
    ][::-1]
    other = page(
        client, "citation-recommendation-2024", "?metric=M@10&order=NCN"
    ).context
    assert other["by_class"][0]["measure"].name == "M@10"
    assert other["by_class"][0]["heads"][0]["href"] == "?metric=M%4010&order=-NCN"
    assert [is_current for *_, is_current in other["measures"]] == [False, True]
    nonsense = page(
        client, "citation-recommendation-2024", "?metric=x&order=y"
    ).context["by_class"]
    assert [each["lines"] for each in nonsense] == [each["lines"] for each in plain]


def test_citation_resolution_stands_as_methods_by_window(client):
    load_season("citation-resolution-2014")
    table = page(client, "citation-resolution-2014").context["by_class"][0]
    assert (len(table["heads"]), [line["label"] for line in table["lines"]]) == (
        13, [f"{words} words" for words in ("5 + 5", "10 + 5", "10 + 10", "20 + 20", "30 + 30")],
    )  # fmt: skip
    assert table["lines"][0]["cells"][0]["text"] == "0.318"


def test_the_transfer_matrix_is_a_heat_map_with_its_table(client):
    load_season("citebench-2023")
    response = page(client, "citebench-2023")
    transfer = next(
        each for each in response.context["by_class"] if each["table"].name == "Table 4"
    )
    heat = transfer["heat"]
    assert heat.columns == [
        "*led-base-aburaed",
        "*led-base-chen",
        "*led-base-lu",
        "*led-base-xing",
    ]
    assert heat.rows == ["ABURAED", "CHEN Delve", "CHEN S2ORC", "LU", "XING"]
    assert heat.values[0][0] == 13.95
    assert [cell["text"] for cell in transfer["lines"][0]["cells"]] == heat.texts[0]
    html = response.content.decode()
    assert "Table 4: where systems differ, by data set" in html


def test_tables_of_no_system_stand_as_printed_with_their_doubts(client):
    load_season("citebench-2023")
    response = page(client, "citebench-2023")
    assert [other["table"].name for other in response.context["others"]] == [
        "Table 11",
        "Appendix A.5 (text)",
    ]
    text = text_of(response)
    assert "530,869 doubted" in text
    assert "A-C 0.48 0.18" in text


def test_aliice_shows_citation_scores_human_judgements_and_alce_for_each_set_of_questions(
    client,
):
    load_season("aliice-2025")
    titles = {
        task.slug: [
            headline["title"]
            for headline in client.get(
                reverse("published", args=["aliice-2025", task.slug])
            ).context["headlines"]
        ]
        for task in Task.objects.all()
    }
    assert titles == {
        "asqa": ["Table 1, ASQA", "Table 3", "Table 4, ASQA"],
        "eli5": ["Table 1, ELI5", "Table 6", "Table 4, ELI5"],
    }
    shown = text_of(client.get(reverse("published", args=["aliice-2025", "asqa"])))
    assert "78.4 (0.5)" in shown


def ranked(**printed) -> dict:
    """The small publication with one row that has a recall and a reciprocal rank."""
    content = publication()
    table = content["tables"][0]
    table["metrics"] = [
        {"name": name, "scale": "percent", "higher_is_better": True} for name in printed
    ]
    table["rows"] = [
        {"row": 1, "system": "Heron", "printed": printed,
         "values": {name: float(value) for name, value in printed.items()}}
    ]  # fmt: skip
    return content


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        ({"R@5": "20.0", "MRR@5": "3.0"}, "MRR@5 3 is below Recall@5 / 5, which is 4"),
        (
            {"Recall@5": "20.0", "M@5": "30.0"},
            "MRR@5 30 is above Recall@5, which is 20",
        ),
        ({"R@5": "20.0", "MRR@5": "4.0"}, ""),
        # Within the rounding of print.
        ({"R@5": "20.2", "MRR@5": "4.0"}, ""),
        ({"R@5": "20", "MRR@5": "20"}, ""),
        # Cut elsewhere, they bound nothing.
        ({"R@5": "20.0", "MRR@10": "1.0"}, ""),
        ({"F@5": "20.0", "MRR@5": "1.0"}, ""),
    ],
)
def test_a_recall_and_a_reciprocal_rank_that_cannot_be_together_are_told_on_import(
    tmp_path, printed, said
):
    told = load(write(tmp_path / "own.json", ranked(**printed)))
    assert [line for line in told if "MRR@" in line] == (
        [f"note: own.json: Table 1: Heron: {said}"] if said else []
    )
    assert {
        figure.contradiction
        for figure in Reported.objects.filter(table__name="Table 1")
    } == {said}
    once_more = load(write(tmp_path / "own.json", ranked(**printed)))
    assert once_more[-1].endswith("as it was")


def test_a_task_without_published_results_has_none_in_the_api(client):
    assert (
        client.get(
            reverse("api:published", args=[factories.make_task().pk])
        ).status_code
        == 404
    )
    hidden = factories.make_task(season=factories.make_season(is_public=False))
    assert client.get(reverse("api:published", args=[hidden.pk])).status_code == 404


def test_every_file_that_ships_is_of_the_form_that_is_documented():
    for path in EXAMPLES_FOLDER.glob("*/*-20*.json"):
        assert (
            json.loads(path.read_text(encoding="utf-8"))["schema"]
            == "published-results/1"
        )
