"""A board as the paper prints it has the head of the printed table, which is copied here from the papers."""

import re
import tomllib
from dataclasses import replace
from types import SimpleNamespace

import pytest

from scoring.models import Reported, ReportedTable
from scoring.results.publications import published
from scoring.results.publications.paper_view import PaperTableView
from scoring.results.publications.placement import (
    PublishedTablePlacement,
    find_printed_class_name,
)
from scoring.results.publications.reading import read_publication

QUALITY = ["Rec.", "Prec."]
BRACKETS = "{} (in brackets)"
DATA_SETS = ["ABURAED", "CHEN Delve", "CHEN S2ORC", "LU", "XING"]
SYSTEMS = ["NCN", "LCR", "Galactica 125m", "Galactica 1.3b", "Galactica 6.7b", "BM25"]
TEAMS = ["MQ", "clair_umich", "TALN.UPF"]
#: By season and table its columns, without the names of systems and classes in front.
HEADS = {
    ("aliice-2025", "Table 1"): [*QUALITY, "F1.", "CVCP", "Fluency", "Correct.", "Length"],
    ("aliice-2025", "Table 3"): [*QUALITY, *QUALITY],
    ("aliice-2025", "Table 6"): [*QUALITY, *QUALITY],
    # The numbers in brackets behind the first three are columns of their own here.
    ("aliice-2025", "Table 4"): [
        "PF Sample", BRACKETS.format("PF Sample"), "Answer Utility", BRACKETS.format("Answer Utility"),
        "PF Citation Utility", BRACKETS.format("PF Citation Utility"),
        "Human Rec.", "Human Prec.", "ALiiCE Rec.", "ALiiCE Prec.",
    ],
    ("citation-resolution-2014", "Table 1"): ["5 5", "10 10", "10 5", "20 20", "30 30"],
    ("citation-recommendation-2024", "Table 1"): SYSTEMS,
    ("citebench-2023", "Table 3"): DATA_SETS,
    ("citebench-2023", "Table 4"): DATA_SETS,
    ("citebench-2023", "Table 6"): DATA_SETS,
    ("citebench-2023", "Table 7"): DATA_SETS,
    ("cl-summ-2014", "Table 2"): ["P", "R", "F_1"],
    ("cl-summ-2014", "Table 3"): TEAMS,
    ("cl-summ-2014", "Table 4"): ["NB", "SVM", "LR"],
    ("cl-summ-2014", "Table 5"): ["TF.IDF", "Task 1A TF.IDF", "Task 1A MMR"],
    ("cl-summ-2014", "Table 6"): ["P", "R", "F_1", "CI", "CI"],
}  # fmt: skip
PHASE = SimpleNamespace(task=SimpleNamespace(options={}))
BOARD = SimpleNamespace(columns=[], rows=[], rules="corrected", phase=PHASE)


def views(root, season: str):
    """Yield the view of each table that the season shows, beside a board without runs."""
    folder = root / "examples" / season
    told = tomllib.loads((folder / "season.toml").read_text(encoding="utf-8"))
    publication, _ = read_publication(folder / told["season"]["published"][0])
    tables = {table.name: table for table in publication.tables}
    for kept in (one for task in told["tasks"] for one in task.get("published", ())):
        printed = tables[kept["table"]]
        measures = list(printed.measures)
        facts = {"paper": publication.paper.key, "metric": measures[0].name}
        placement = PublishedTablePlacement.of(facts | kept)
        figures = [
            Reported(
                pk=place,
                key=str(printed.key(row)),
                line=row.line,
                system=row.system or "",
                features=dict(row.features),
                metric=figure.measure,
                value=figure.value,
                printed=figure.printed,
                printed_deviation=figure.printed_deviation,
            )
            for place, row in enumerate(printed.rows)
            for figure in row.figures
            if placement.takes(row.features)
        ]
        table = ReportedTable(name=printed.name, row_key=list(printed.row_key))
        rows = published.build_published_rows(table, figures)
        for row in rows:
            features = next(iter(row.figures.values())).features
            row.label = find_printed_class_name(features, placement)
        shown = published.PublishedTable(
            table=table, placement=placement, measures=measures, rows=rows
        )
        yield PaperTableView(shown=shown, board=BOARD, by_class=bool(placement.by))


def head(view: PaperTableView) -> list[str]:
    if view.has_classes_or_systems_as_columns:
        return [
            " ".join(re.findall(r"\d+", name)) if "words" in name else name
            for name in view.heads
        ]
    return [measure.printed_name or measure.name for measure in view.measures]


@pytest.mark.parametrize("season", sorted({season for season, _ in HEADS}))
def test_the_view_has_the_head_of_the_printed_table(root, season):
    seen = set()
    for view in views(root, season):
        name = view.shown.table.name
        if (season, name) in HEADS:
            assert head(view) == HEADS[season, name], name
            assert len(view.empty_columns_with_reasons) >= len(view.measures) - len(
                view.shown.placement.interval
            )
            seen.add(name)
    assert seen == {table for one, table in HEADS if one == season}


def test_citation_resolution_has_thirteen_lines_of_five_windows(root):
    [view] = views(root, "citation-resolution-2014")
    assert [len(row.cells) for row in view.grid] == [5] * 13
    assert all(len(cell) == 1 for row in view.grid for cell in row.cells)


def test_printed_deviations_stay_beside_their_figures(root):
    view = next(iter(views(root, "aliice-2025")))
    assert view.shown.table.name == "Table 1"
    first = view.lines[0].pairs[0].texts
    assert (first["reported"], first["reported_deviation"]) == ("78.4", "0.5")


@pytest.mark.parametrize(
    ("model", "is_beside"),
    [
        ("distilbert-base-uncased", True),
        ("/models/distilbert-base-uncased", True),
        ("all-minilm-l6-v2", False),
    ],
)
def test_no_bertscore_of_another_model_stands_beside_the_printed_ones(
    root, model, is_beside
):
    view = next(
        view
        for view in views(root, "citebench-2023")
        if view.shown.table.name == "Table 3"
    )
    column = SimpleNamespace(name="bertscore_f1")
    task = SimpleNamespace(options={"bertscore_model": model})
    phase = SimpleNamespace(task=task)
    own = replace(
        view,
        board=SimpleNamespace(columns=[column], rows=[], rules="official", phase=phase),
    )
    [printed] = [measure for measure in own.measures if measure.name == "BertS"]
    reasons = [
        why for name, why in own.empty_columns_with_reasons if name == printed.label
    ]
    expected = (
        "the board's values are those of another model than distilbert-base-uncased"
    )
    assert (expected in reasons) is not is_beside
    assert (
        "BertS" in own.shown.select_board_metrics_of_same_model(task.options)
    ) is is_beside
