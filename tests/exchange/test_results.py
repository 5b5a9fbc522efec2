"""A board in the formats of others: each as its readers take it, every number with its column key."""

import csv
import io
import json
import zipfile

import bibtexparser
import openpyxl
import pytest
import yaml
from django.urls import reverse

from scoring.models import Score, Snapshot
from tasks.models import Phase, Task
from tests.exchange.every_eval_ever import check
from tests.scoring import boards

pytestmark = pytest.mark.django_db

SYSTEM = 'Ada\'s "system" {50%} & co: ../x'


@pytest.fixture
def phase():
    """Two teams and a baseline; a metric that is undefined for one of them."""
    phase = boards.make_phase()
    for name, system, value, recall in (
        ("Ada", SYSTEM, 0.6, 0.5),
        ("Bo", "Plain", 0.2, None),
    ):
        run = boards.make_run(
            phase,
            boards.make_team(phase, name),
            system=system,
            description="BM25, then luck.",
        )
        boards.score(run, value, overlap_recall_micro=recall)
    boards.score(
        boards.make_run(phase, None, system="Lead"), 0.3, overlap_recall_micro=0.1
    )
    return phase


def got(client, phase, name: str, query: str = "") -> bytes:
    response = client.get(boards.address(name, phase) + query)
    assert response.status_code == 200
    return response.content


@pytest.mark.both_databases
def test_a_workbook_has_the_numbers_as_numbers_and_what_they_are_of(client, phase):
    content = got(client, phase, "board-xlsx")
    assert content == got(client, phase, "board-xlsx")
    book = openpyxl.load_workbook(io.BytesIO(content))
    heads, *lines = book["Board"].values
    board = [dict(zip(heads, line, strict=True)) for line in lines]
    rows = list(csv.DictReader(io.StringIO(got(client, phase, "board-csv").decode())))
    assert [row["overlap_f1_micro"] for row in board] == [
        float(row["overlap_f1_micro"]) for row in rows
    ]
    assert list(heads) == list(rows[0])
    assert SYSTEM in {row["system"] for row in board}
    assert keys()["overlap_f1_micro"] in {line[4] for line in book["About"].values}


def files(content: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode() for name in archive.namelist()}


def of_system(found: dict[str, str], system: str) -> str:
    [text] = [text for name, text in found.items() if system in name]
    return text


def keys() -> dict[str, str]:
    return {score.metric: score.column for score in Score.objects.all()}


@pytest.mark.both_databases
def test_every_eval_ever_has_a_record_for_each_system_with_all_that_its_schema_wants(
    client, phase
):
    found = files(got(client, phase, "board-every-eval-ever"))
    records = [json.loads(text) for text in found.values()]
    assert {record["model_info"]["name"] for record in records} == {
        SYSTEM,
        "Plain",
        "Lead",
    }
    for record in records:
        check(record)
        assert record["source_metadata"]["evaluator_relationship"] in (
            "first_party",
            "third_party",
        )
        float(record["retrieved_timestamp"])
    [ada] = [record for record in records if record["model_info"]["name"] == SYSTEM]
    by_metric = {
        entry["metric_config"]["metric_id"]: entry
        for entry in ada["evaluation_results"]
    }
    f1 = by_metric["citeboard.overlap_f1_micro"]
    assert f1["score_details"]["score"] == 0.6
    interval = f1["score_details"]["uncertainty"]["confidence_interval"]
    assert list(interval.values()) == pytest.approx([0.55, 0.65, 0.95])
    assert (
        f1["metric_config"]["additional_details"]["column_key"]
        == keys()["overlap_f1_micro"]
    )
    assert f1["score_details"]["details"]["signature"].startswith(
        keys()["overlap_f1_micro"]
    )


def test_an_undefined_number_is_no_result_and_no_name_leaves_its_folder(client, phase):
    found = files(got(client, phase, "board-every-eval-ever"))
    [bo] = [json.loads(text) for name, text in found.items() if "/bo/" in name]
    assert [
        entry["metric_config"]["metric_id"] for entry in bo["evaluation_results"]
    ] == ["citeboard.overlap_f1_micro"]
    for name in ("board-every-eval-ever", "board-hugging-face", "board-ir-metadata"):
        for path in files(got(client, phase, name)):
            assert ".." not in path.split("/")
            assert path.isascii()


@pytest.mark.both_databases
def test_the_same_board_is_the_same_bytes(client, phase):
    for name in ("board-every-eval-ever", "board-hugging-face", "board-ir-metadata"):
        assert got(client, phase, name) == got(client, phase, name)


def test_hugging_face_gets_an_entry_for_each_number_of_each_system(client, phase):
    found = files(got(client, phase, "board-hugging-face", "?dataset=our-lab/clsumm"))
    assert all("/.eval_results/" in name for name in found)
    entries = yaml.safe_load(of_system(found, "Ada"))
    assert [entry["dataset"]["id"] for entry in entries] == ["our-lab/clsumm"] * 2
    by_task = {entry["dataset"]["task_id"]: entry for entry in entries}
    f1 = by_task["test_overlap_f1_micro"]
    assert (f1["value"], f1["notes"]) == (0.6, keys()["overlap_f1_micro"])
    assert set(f1) == {"dataset", "value", "date", "source", "notes"}
    assert f1["source"]["url"].endswith("/")
    assert len(yaml.safe_load(of_system(found, "Plain"))) == 1


def test_the_organisers_name_of_the_data_set_stands_where_a_reader_gives_none(
    client, phase
):
    Task.objects.update(hub_dataset="our-lab/clsumm")
    for query, name in (("", "our-lab/clsumm"), ("?dataset=mine/other", "mine/other")):
        entries = yaml.safe_load(
            of_system(files(got(client, phase, "board-hugging-face", query)), "Ada")
        )
        assert {entry["dataset"]["id"] for entry in entries} == {name}


@pytest.mark.parametrize("dataset", ["clsumm", "a/b/c", "../x", "a/b%0Ac", "a/b: x"])
def test_a_data_set_that_the_hub_cannot_have_is_refused(client, phase, dataset):
    response = client.get(
        boards.address("board-hugging-face", phase) + f"?dataset={dataset}"
    )
    assert response.status_code == 400


def test_papers_with_code_gets_the_table_and_its_keys(client, phase):
    [task] = json.loads(got(client, phase, "board-papers-with-code"))
    [dataset] = task["datasets"]
    assert set(task) == {
        "task", "description", "categories", "synonyms", "subtasks", "source_link", "datasets",
    }  # fmt: skip
    assert set(dataset["sota"]) == {"metrics", "rows"}
    first = dataset["sota"]["rows"][0]
    assert first["model_name"] == f"{SYSTEM} (Ada)"
    assert first["metrics"] == {"overlap_f1_micro": 0.6, "overlap_recall_micro": 0.5}
    assert f"overlap_f1_micro = {keys()['overlap_f1_micro']}" in dataset["description"]
    assert set(first["metrics"]) <= set(dataset["sota"]["metrics"])


def test_ir_metadata_says_what_is_known_of_each_run(client, phase):
    found = yaml.safe_load(
        of_system(files(got(client, phase, "board-ir-metadata")), "Ada")
    )
    assert (found["tag"], found["actor"]["team"]) == (SYSTEM, "Ada")
    assert found["method"]["description"] == "BM25, then luck."
    assert found["research goal"]["evaluation"]["reported measures"] == list(
        keys().values()
    )
    assert found["data"]["test collection"]["qrels digest"].startswith("sha256:")


def test_the_bibtex_of_a_board_is_read_back_whatever_a_system_is_called(client, phase):
    library = bibtexparser.loads(got(client, phase, "board-bib").decode())
    assert len(library.entries) == 4
    board, ada, *_ = library.entries
    assert f"Version {phase.version}" in board["note"]
    assert "sha256" in board["note"]
    kept = Snapshot.objects.get()
    assert board["url"].endswith(
        f"{boards.address('board', phase)}snapshots/{kept.short}/"
    )
    assert ada["url"].startswith(board["url"])
    assert "Rank 1 of 2" in ada["note"]
    assert (
        keys()["overlap_f1_micro"].replace("_", r"\_").replace("|", r"\textbar{}")
        in ada["note"]
    )
    assert r"\{50\%\} \& co" in ada["title"]


@pytest.mark.parametrize("name", ["season-bib", "task-bib"])
def test_a_season_and_a_task_can_be_cited_with_their_address(client, phase, name):
    task = phase.task
    place = (
        [task.season.slug] if name == "season-bib" else [task.season.slug, task.slug]
    )
    [entry] = bibtexparser.loads(
        client.get(reverse(name, args=place)).content.decode()
    ).entries
    page = reverse(name.removesuffix("-bib"), args=place)
    assert entry["url"].endswith(page)
    assert entry["year"] == str(phase.opens.year)
    shown = client.get(page).content.decode()
    assert f"Organisers of {task.season}." in shown
    assert entry["ID"] in shown


def test_the_rows_are_those_that_the_reader_chose(client, phase):
    assert "Lead" not in "".join(
        files(got(client, phase, "board-hugging-face", "?baselines=no"))
    )
    [task] = json.loads(
        got(client, phase, "board-papers-with-code", "?baselines=no&sort=-rank")
    )
    names = [row["model_name"] for row in task["datasets"][0]["sota"]["rows"]]
    assert names == ["Plain (Bo)", f"{SYSTEM} (Ada)"]


@pytest.mark.parametrize("shown", ["ranks", "organisers"])
def test_a_board_whose_numbers_are_hidden_is_in_no_format(client, phase, shown):
    Phase.objects.update(board=shown)
    for name in (
        "board-bib", "board-every-eval-ever", "board-hugging-face", "board-ir-metadata",
        "board-papers-with-code",
    ):  # fmt: skip
        assert client.get(boards.address(name, phase)).status_code == 404, name
