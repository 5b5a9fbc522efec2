"""Released data in the layouts of others, read by their own programs; what is not given out is in none."""

import datetime as dt
import io
import json
import re
import zipfile

import pytest
import yaml
from django.urls import reverse

from tasks.gold.gold_files import load_gold
from tasks.models import Phase, Season, Task
from tasks.registration.entries import publish_terms
from tests import factories
from tests.tasks.types.instances import RIVERS, write_lines
from tests.tasks.types.rankings import (
    CANDIDATES,
    write_recommendation,
    write_resolution,
)

pytestmark = pytest.mark.django_db

#: An id with everything that some format stumbles over.
ODD = "q 1/100% <a>&\x07é"


@pytest.fixture
def recommendation(tmp_path) -> Phase:
    """Over, with its gold given out."""
    season = factories.make_season(licence="cc-by-4.0", title="Citing </script> 2027")
    task = factories.make_task(
        season=season, type="citation-recommendation", summary="Find it."
    )
    phase = over(
        factories.make_phase(task=task, with_gold=False, board=Phase.Audience.EVERYONE)
    )
    load(
        phase,
        write_recommendation(
            tmp_path / "gold", ((ODD, "a"), ("q2", "b")), grades=({"a": 3, "e": 0}, {})
        ),
    )
    return phase


@pytest.fixture
def resolution(tmp_path) -> Phase:
    task = factories.make_task(type="citation-resolution")
    phase = over(
        factories.make_phase(task=task, with_gold=False, board=Phase.Audience.EVERYONE)
    )
    papers = (("p1", CANDIDATES), ("p2", ("a", "z")))
    load(
        phase,
        write_resolution(
            tmp_path / "gold", (("c1", "p1", ["b"]), ("c2", "p2", ["z", "b"])), papers
        ),
    )
    return phase


def over(phase: Phase) -> Phase:
    Phase.objects.filter(pk=phase.pk).update(
        closes=phase.opens + dt.timedelta(hours=1), gold_is_public=True
    )
    phase.refresh_from_db()
    return phase


def load(phase: Phase, folder) -> None:
    load_gold(task=phase.task, split=phase.split, paths=[folder], reason="first")


def address(name: str, phase: Phase) -> str:
    return reverse(name, args=[phase.task.season.slug, phase.task.slug])


def got(client, name: str, phase: Phase) -> bytes:
    return client.get(address(name, phase)).getvalue()


def registered(content: bytes, folder):
    import ir_datasets

    from scoring.adapters.ir_datasets_provider import register

    (folder / "trec.zip").write_bytes(content)
    [name] = register(folder / "trec.zip", folder / "unpacked")
    return ir_datasets.load(name)


def test_ir_datasets_reads_topics_documents_and_qrels(client, recommendation, tmp_path):
    found = registered(got(client, "data-trec", recommendation), tmp_path)
    topics = {topic.query_id: topic.text for topic in found.queries_iter()}
    odd = "q%201/100%25%20<a>&%07é"
    assert set(topics) == {odd, "q2"}
    assert topics["q2"] == "Somebody cites <REF> in q2."
    # The order of candidates is drawn when the gold is published.
    assert {(doc.doc_id, doc.text) for doc in found.docs_iter()} == {
        (n, f"Paper {n}") for n in CANDIDATES
    }
    judged = {(own.query_id, own.doc_id): own.relevance for own in found.qrels_iter()}
    assert judged == {(odd, "a"): 3, (odd, "e"): 0, ("q2", "b"): 1}


def test_a_folder_is_registered_too_and_candidates_are_those_of_the_topic_s_paper(
    client, resolution, tmp_path
):
    with zipfile.ZipFile(io.BytesIO(got(client, "data-trec", resolution))) as archive:
        archive.extractall(tmp_path)
    import ir_datasets

    from scoring.adapters.ir_datasets_provider import register

    [name] = register(tmp_path)
    found = ir_datasets.load(name)
    own = {(scored.query_id, scored.doc_id) for scored in found.scoreddocs_iter()}
    assert own == {("c1", f"p1/{ref}") for ref in CANDIDATES} | {
        ("c2", "p2/a"),
        ("c2", "p2/z"),
    }
    # What is no reference of its paper is not judged, as it is not scored.
    assert {(judged.query_id, judged.doc_id) for judged in found.qrels_iter()} == {
        ("c1", "p1/b"),
        ("c2", "p2/z"),
    }
    assert {doc.doc_id for doc in found.docs_iter()} == {doc for _, doc in own}


def test_the_card_names_files_that_are_there_with_their_splits(
    client, recommendation, tmp_path
):
    folder = tmp_path / "data-set"
    with zipfile.ZipFile(
        io.BytesIO(got(client, "data-hugging-face", recommendation))
    ) as archive:
        names = set(archive.namelist())
        archive.extractall(folder)
    from huggingface_hub import DatasetCard

    told = DatasetCard.load(folder / "README.md").data.to_dict()
    assert (told["license"], told["language"]) == ("cc-by-4.0", ["en"])
    named = {own["config_name"]: own["data_files"] for own in told["configs"]}
    assert set(named) == {
        "diagnostic",
        "references",
        "gold_diagnostic",
        "gold_references",
    }
    paths = {file["path"] for files in named.values() for file in files}
    assert paths | {"README.md"} == names
    assert {file["split"] for files in named.values() for file in files} == {"test"}
    assert [own["config_name"] for own in told["configs"] if own.get("default")] == [
        "diagnostic"
    ]
    lines = (folder / "data/test/diagnostic.jsonl").read_text().splitlines()
    assert lines
    assert all("cited_id" not in json.loads(line) for line in lines)


def test_a_task_that_has_a_name_on_the_hub_is_described_as_a_benchmark_there(
    client, recommendation
):
    Task.objects.update(hub_dataset="our-lab/where-to-cite")
    with zipfile.ZipFile(
        io.BytesIO(got(client, "data-hugging-face", recommendation))
    ) as archive:
        told = yaml.safe_load(archive.read("eval.yaml"))
    assert set(told) == {"name", "description", "tasks"}
    ids = {task["id"] for task in told["tasks"]}
    assert {"test_recall@10", "test_mrr@10"} <= ids
    assert len(ids) == len(told["tasks"])
    assert {(task["config"], task["split"]) for task in told["tasks"]} == {
        ("diagnostic", "test")
    }


def test_the_hub_s_loader_reads_it(client, recommendation, tmp_path):
    datasets = pytest.importorskip(
        "datasets", reason="datasets, of 280 MB, is not installed"
    )
    with zipfile.ZipFile(
        io.BytesIO(got(client, "data-hugging-face", recommendation))
    ) as archive:
        archive.extractall(tmp_path / "data-set")
    found = datasets.load_dataset(
        str(tmp_path / "data-set"), "gold_diagnostic", cache_dir=str(tmp_path / "cache")
    )
    assert found["test"]["cited_id"] == ["a", "b"]


@pytest.mark.parametrize(
    "change", [{"gold_is_public": False}, {"closes": "2090-01-01T00:00:00Z"}]
)
def test_gold_that_is_not_given_out_stands_in_neither(client, recommendation, change):
    Phase.objects.update(**change)
    for name in ("data-trec", "data-hugging-face"):
        with zipfile.ZipFile(io.BytesIO(got(client, name, recommendation))) as archive:
            assert not [
                file for file in archive.namelist() if "qrels" in file or "gold" in file
            ]
            assert not any(
                b"cited_id" in archive.read(file) for file in archive.namelist()
            )


def test_training_data_go_out_with_gold_while_the_test_split_keeps_its_own(
    client, tmp_path
):
    task = factories.make_task(type="citation-text")
    shown = {"gold_is_public": True, "shows_instances": True}
    for split, own in (("train", shown), ("test", {"gold_is_public": True})):
        phase = factories.make_phase(
            task=task, slug=split, split=split, with_gold=False, **own
        )
        line = {**RIVERS, "id": f"{split}-00", "target": f"The {split} says so."}
        load(phase, write_lines(tmp_path / split / "rivers.jsonl", line).parent)
    with zipfile.ZipFile(
        io.BytesIO(got(client, "data-hugging-face", phase))
    ) as archive:
        everything = b"".join(archive.read(file) for file in archive.namelist())
    assert b"The train says so." in everything
    assert b"test-00" in everything
    assert b"The test says so." not in everything


def test_data_come_after_the_terms_and_not_before_their_release(client, recommendation):
    publish_terms(
        season=recommendation.task.season, text="Be kind.", by=factories.make_user()
    )
    assert client.get(address("data-trec", recommendation)).status_code == 403
    Phase.objects.update(opens="2089-01-01T00:00:00Z", closes="2090-01-01T00:00:00Z")
    assert client.get(address("data-trec", recommendation)).status_code == 404


def test_the_same_is_not_sent_twice_and_other_kinds_of_data_are_not_bent(
    client, recommendation
):
    first = client.get(address("data-trec", recommendation))
    assert first.getvalue()
    assert (
        client.get(
            address("data-trec", recommendation),
            headers={"If-None-Match": first["ETag"]},
        ).status_code
        == 304
    )
    Season.objects.update(licence="ask us")
    again = client.get(
        address("data-trec", recommendation), headers={"If-None-Match": first["ETag"]}
    )
    assert again.getvalue()
    assert again.status_code == 200
    spans = factories.make_phase()
    assert {
        client.get(address(name, spans)).status_code
        for name in ("data-trec", "data-hugging-face")
    } == {404}


def test_the_page_tells_search_engines_of_the_data_and_no_title_breaks_out_of_it(
    client, recommendation
):
    page = client.get(address("task", recommendation)).content.decode()
    [text] = re.findall(
        r'<script type="application/ld\+json">(.*?)</script>', page, re.DOTALL
    )
    told = json.loads(text)
    assert told["@type"] == "Dataset"
    assert told["name"].startswith("Citing </script> 2027")
    assert told["license"] == "https://spdx.org/licenses/CC-BY-4.0.html"
    [download] = told["distribution"]
    given = client.get(re.sub(r"^https?://[^/]+", "", download["contentUrl"]))
    assert given.getvalue()
    assert (given.status_code, given["Content-Type"]) == (
        200,
        download["encodingFormat"],
    )


def test_a_licence_that_the_hub_does_not_know_is_named(client, recommendation):
    Season.objects.update(licence="Ask us first")
    with zipfile.ZipFile(
        io.BytesIO(got(client, "data-hugging-face", recommendation))
    ) as archive:
        front = yaml.safe_load(archive.read("README.md").decode().split("---\n")[1])
    assert (front["license"], front["license_name"]) == ("other", "ask_us_first")


def test_the_page_of_a_task_names_the_layouts_that_its_data_have(
    client, recommendation
):
    page = got(client, "task", recommendation).decode()
    for name in ("data-hugging-face", "data-trec"):
        assert f'href="{address(name, recommendation)}"' in page


def test_the_page_of_a_task_without_json_lines_names_no_other_layout(client):
    phase = over(factories.make_phase(task=factories.make_task(type="clsumm-1a")))
    assert client.get(address("data-hugging-face", phase)).status_code == 404
    page = got(client, "task", phase).decode()
    assert address("croissant", phase) in page
    assert address("data-hugging-face", phase) not in page
    assert "Also available as" not in page
