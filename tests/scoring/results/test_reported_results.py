"""Published results: read and judged as a whole, kept as printed, and loaded again without a change."""

import json

import pytest

from scoring.models import Paper, Reported, ReportedTable
from tasks.models import Phase
from tests import factories
from tests.scoring.publications import PLACEMENTS, load, publication, refusals, write

pytestmark = pytest.mark.django_db


def figures() -> dict[tuple[str, str], Reported]:
    return {
        (figure.system, figure.metric): figure
        for figure in Reported.objects.filter(table__name="Table 1")
    }


@pytest.mark.both_databases
def test_every_figure_is_kept_as_it_is_printed(tmp_path):
    told = load(write(tmp_path / "own.json"))
    assert told == [
        "own-2020: new",
        "Table 1: 12 figures new",
        "Table 2: 6 figures new",
        "own-2020: at /published/own-2020/",
    ]
    ibis, jay = figures()["Ibis", "F1"], figures()["Jay", "P"]
    assert (ibis.value, ibis.printed, ibis.line, ibis.scale) == (
        0.5,
        "0.500",
        2,
        "fraction",
    )
    assert (ibis.suspect, ibis.is_inconsistent) == ("it cannot be so high", False)
    assert (jay.value, jay.printed, jay.less_than, jay.is_inconsistent) == (
        None,
        "<0.01",
        0.01,
        True,
    )
    average = Reported.objects.get(
        table__name="Table 2", system="Ibis", features__topic="Average"
    )
    assert (average.deviation, average.printed_deviation, average.features) == (
        1.5,
        "1.5",
        {"topic": "Average"},
    )


@pytest.mark.both_databases
def test_once_more_it_changes_nothing(tmp_path):
    path = write(tmp_path / "own.json")
    load(path)
    before = list(Reported.objects.order_by("pk").values())
    loaded_at = Paper.objects.get().loaded_at
    assert load(path) == ["own-2020: at /published/own-2020/, as it was"]
    assert list(Reported.objects.order_by("pk").values()) == before
    assert Paper.objects.get().loaded_at == loaded_at


@pytest.mark.both_databases
def test_a_corrected_file_changes_what_is_other_in_it_and_says_what(tmp_path):
    load(write(tmp_path / "own.json"))
    kept = figures()["Heron", "F1"].pk
    corrected = publication()
    corrected["paper"]["venue"] = "Somewhere"
    heron = corrected["tables"][0]["rows"][0]
    heron["values"]["P"], heron["printed"]["P"] = 0.11, ".11"
    del corrected["tables"][0]["rows"][2]
    del corrected["tables"][1]
    told = load(write(tmp_path / "own.json", corrected))
    assert told[:-1] == [
        "own-2020: venue changed",
        "Table 2: gone",
        "Table 1: 1 figure changed, 4 figures gone",
    ]
    assert figures()["Heron", "P"].value == 0.11
    assert figures()["Heron", "F1"].pk == kept
    assert ReportedTable.objects.count() == 1


@pytest.mark.both_databases
def test_boards_that_show_a_paper_are_renewed_when_it_changes(tmp_path):
    shown = factories.make_phase(
        with_gold=False, task=factories.make_task(published=PLACEMENTS)
    )
    other = factories.make_phase(with_gold=False)
    path = write(tmp_path / "own.json")
    load(path)
    load(path)
    versions = {phase.pk: phase.version for phase in Phase.objects.all()}
    assert versions == {shown.pk: shown.version + 1, other.pk: other.version}


def changed(change) -> dict:
    content = publication()
    change(content, content["tables"][0], content["tables"][0]["rows"][0])
    return content


def remove(container, name):
    del container[name]


AHEAD = {
    "name": "Ibis leads",
    "by": ["metric"],
    "more": {"system": ["Ibis"]},
    "less": {"system": ["Heron", "Jay"]},
}
ORDERED = {
    "name": "It rises",
    "form": "rises",
    "along": "topic",
    "more": {"metric": ["P"]},
}
REFUSED = [
    (
        lambda top, table, row: top.update(schema="something/2"),
        ["“schema” is “something/2”"],
    ),
    (lambda top, table, row: top.update(more=1), ["there is no field “more” here"]),
    (
        lambda top, table, row: remove(top, "paper"),
        ["“key” is missing", "“title” is missing"],
    ),
    (lambda top, table, row: top["paper"].update(year="2020"), ["“year” is “2020”"]),
    (
        lambda top, table, row: top["paper"].update(key="Own 2020"),
        ["“key” is “Own 2020”"],
    ),
    (lambda top, table, row: top["paper"].update(authors=[]), ["“authors” is empty"]),
    (lambda top, table, row: top.update(tables=[]), ["“tables” is empty"]),
    (lambda top, table, row: table.update(kind="resluts"), ["did you mean “results”?"]),
    (
        lambda top, table, row: table.update(row_key=["sytem"]),
        ["“row_key” names “sytem”"],
    ),
    (lambda top, table, row: table.update(id="Table 2"), ["Table 2: is there twice"]),
    (
        lambda top, table, row: table["metrics"][0].update(scale="share"),
        ["“scale” is “share”"],
    ),
    (
        lambda top, table, row: table["metrics"][0].update(higher_is_better="yes"),
        ["“higher_is_better” is “yes”"],
    ),
    (lambda top, table, row: table["rows"].append(row), ["two entries are of Heron"]),
    (
        lambda top, table, row: row.update(sytem="x"),
        ["entry 1: there is no field “sytem” here (did you mean “system”?)"],
    ),
    (lambda top, table, row: row.update(row=0), ["entry 1: “row” is 0"]),
    (lambda top, table, row: row.update(system=""), ["“system” is empty"]),
    (lambda top, table, row: remove(row["values"], "P"), ["entry 1: P is missing"]),
    (lambda top, table, row: row["values"].update(Q=1), ["there is no metric “Q”"]),
    (
        lambda top, table, row: row["values"].update(P=1.5),
        ["P is 1.5; expected a fraction, from 0 to 1"],
    ),
    (lambda top, table, row: row["values"].update(P="0.1"), ["“values” of P is “0.1”"]),
    (
        lambda top, table, row: row["values"].update(P=None),
        ["P has no value and is printed “.10”"],
    ),
    (lambda top, table, row: row.update(topic=["T1"]), ["“topic” is a list"]),
    (lambda top, table, row: row.update(note=7), ["“note” is 7"]),
    (
        lambda top, table, row: table.update(conclusions=[AHEAD | {"by": ["sytem"]}]),
        ["“by” names “sytem”"],
    ),
    (
        lambda top, table, row: table.update(conclusions=[AHEAD | {"less": {}}]),
        ["“less” names no field"],
    ),
    (
        lambda top, table, row: table.update(conclusions=[AHEAD | {"of": "most"}]),
        ["“of” is “most”"],
    ),
    (
        lambda top, table, row: table.update(
            conclusions=[AHEAD | {"more": {"system": ["Owl"]}}]
        ),
        ["Table 1, conclusions: “Ibis leads” compares no two figures of this table"],
    ),
    (
        lambda top, table, row: table.update(
            conclusions=[AHEAD | {"also": ["Table 9"]}]
        ),
        ["“Ibis leads” names “Table 9”", "one of Table 1"],
    ),
    (
        lambda top, table, row: table.update(conclusions=[AHEAD | {"form": "leads"}]),
        ["“form” is “leads”"],
    ),
    (
        lambda top, table, row: table.update(
            conclusions=[AHEAD | {"from_table": "yes"}]
        ),
        ["“from_table” is “yes”; expected true or false"],
    ),
    (
        lambda top, table, row: table.update(conclusions=[ORDERED | {"order": [True]}]),
        ["“order” is a list; expected a list of texts or numbers"],
    ),
    (
        lambda top, table, row: table.update(conclusions=[ORDERED | {"order": []}]),
        ["“order” is empty; expected a list of texts or numbers"],
    ),
    (
        lambda top, table, row: table.update(conclusions=[ORDERED | {"order": "0.1"}]),
        ["“order” is “0.1”; expected a list of texts or numbers"],
    ),
    (
        lambda top, table, row: table.update(
            conclusions=[{"name": "Nothing decides", "form": "open"}]
        ),
        ["“why” is missing"],
    ),
    (
        lambda top, table, row: table.update(
            conclusions=[
                {"name": "It rises", "form": "rises", "more": {}, "along": "x"}
            ]
        ),
        ["“more” names no field", "“order” is missing", "“along” names “x”"],
    ),
]


@pytest.mark.parametrize(("change", "said"), REFUSED)
def test_what_is_wrong_is_said_with_its_place_and_nothing_is_loaded(
    tmp_path, change, said
):
    lines = "\n".join(refusals(write(tmp_path / "own.json", changed(change))))
    assert "own.json: " in lines
    for words in said:
        assert words in lines
    assert not Paper.objects.exists()


def test_everything_that_is_wrong_is_said_at_once(tmp_path):
    content = publication()
    content["paper"]["year"] = 1
    ibis = content["tables"][0]["rows"][1]
    ibis["values"]["F1"], ibis["printed"]["F1"] = 7, "7"
    content["tables"][1]["metrics"][0]["scale"] = "x"
    lines = refusals(write(tmp_path / "own.json", content))
    assert [line.split(": ", 1)[1].split(":")[0] for line in lines] == [
        "paper", "Table 1, entry 2", "Table 2, metric 1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cannot be read"),
        ("[1, 2", "cannot be read"),
        ("[]", "not an object"),
        (
            '{"schema": "published-results/1", "schema": "x"}',
            "“schema” is there twice in one object",
        ),
        ("[" * 100_000, "cannot be read"),
        ('{"schema": NaN}', "NaN is not a number"),
    ],
)
def test_a_file_that_is_none_is_refused_in_words(tmp_path, text, said):
    path = tmp_path / "own.json"
    path.write_text(text, encoding="utf-8")
    assert said in "\n".join(refusals(path))


@pytest.mark.both_databases
def test_of_several_files_either_all_are_loaded_or_none(tmp_path):
    good = write(tmp_path / "good.json")
    bad = write(
        tmp_path / "bad.json", changed(lambda top, table, row: row.update(row=0))
    )
    assert [line.split(":")[0] for line in refusals(good, bad)] == ["bad.json"]
    assert not Paper.objects.exists()


@pytest.mark.both_databases
def test_a_print_that_is_not_the_value_is_told_and_kept(tmp_path):
    content = publication()
    content["tables"][0]["rows"][0]["printed"]["P"] = "0010"
    told = load(write(tmp_path / "own.json", content))
    assert (
        "note: own.json: Table 1, entry 1: P is printed “0010” and read as 0.1" in told
    )
    assert figures()["Heron", "P"].printed == "0010"


@pytest.mark.both_databases
@pytest.mark.shared
def test_published_tables_of_five_papers_are_kept_to_the_last_figure(shared):
    files = sorted((shared / "published").glob("*.json"))
    assert len(files) == 5
    for path in files:
        load(path)
        content = json.loads(path.read_text(encoding="utf-8"))
        paper = Paper.objects.get(key=content["paper"]["key"])
        for table in content["tables"]:
            kept = Reported.objects.filter(table__paper=paper, table__name=table["id"])
            wanted = [
                (row["row"], row["system"] or "", name, row["values"][name], printed,
                 row.get("suspect", {}).get(name, ""), row.get("inconsistent", False),
                 row.get("deviations", {}).get(name))
                for row in table["rows"]
                for name, printed in row["printed"].items()
            ]  # fmt: skip
            found = kept.order_by("position", "id").values_list(
                "line",
                "system",
                "metric",
                "value",
                "printed",
                "suspect",
                "is_inconsistent",
                "deviation",
            )
            assert sorted(found, key=str) == sorted(wanted, key=str)
    assert Reported.objects.count() == 1556
    assert (
        Reported.objects.filter(is_inconsistent=True)
        .values("key", "table")
        .distinct()
        .count()
        == 38
    )
