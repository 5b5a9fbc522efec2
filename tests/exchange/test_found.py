"""Released data is described for programs, with checksums that hold; nothing that is not released is told."""

import datetime as dt
import hashlib
import io
import json
import re
import zipfile

import pytest
from django.urls import reverse
from django.utils import timezone

from tasks.gold.gold_files import load_gold
from tasks.models import Phase, Season
from tasks.types import task_types
from tests import factories
from tests.tasks.test_every_type import folder
from tests.tasks.types.rankings import write_recommendation

pytestmark = pytest.mark.django_db


@pytest.fixture
def phase(tmp_path):
    """A recommendation task with a licence, its test split released and another one to come."""
    season = factories.make_season(licence="cc-by-4.0")
    task = factories.make_task(
        season=season, type="citation-recommendation", summary="Find the paper."
    )
    phase = factories.make_phase(task=task, with_gold=False)
    later = factories.make_phase(
        task=task, with_gold=False, split="hidden", slug="later", position=1,
        opens=timezone.now() + dt.timedelta(days=1),
    )  # fmt: skip
    for of_phase, cited in (
        (phase, (("q1", "a"), ("q2", "b"))),
        (later, (("canary", "e"),)),
    ):
        paths = [write_recommendation(tmp_path / of_phase.split, cited)]
        load_gold(task=task, split=of_phase.split, paths=paths, reason="first")
    return phase


def described(client, phase):
    task = phase.task
    return client.get(reverse("croissant", args=[task.season.slug, task.slug]))


def local(address: str) -> str:
    """The path of an address of this site."""
    return re.sub(r"^https?://[^/]+", "", address)


def test_every_checksum_is_that_of_the_file_that_the_address_gives(client, phase):
    content = described(client, phase).json()
    files = {entry["@id"]: entry for entry in content["distribution"]}
    archive = client.get(local(files["test.zip"]["contentUrl"])).getvalue()
    assert files["test.zip"]["sha256"] == hashlib.sha256(archive).hexdigest()
    assert files["test.zip"]["contentSize"] == f"{len(archive)} B"
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        for name in opened.namelist():
            entry = files[f"test.zip/{name}"]
            assert entry["sha256"] == hashlib.sha256(opened.read(name)).hexdigest()
            assert entry["containedIn"] == {"@id": "test.zip"}
    assert content["license"] == "https://spdx.org/licenses/CC-BY-4.0.html"
    assert content["rai:dataCollection"]
    fields = {
        field["name"]: field["dataType"]
        for own in content["recordSet"]
        for field in own["field"]
    }
    assert fields["test-diagnostic/id"] == "sc:Text"


def test_neither_gold_nor_inputs_of_a_phase_to_come_are_told_to_anybody(client, phase):
    for person in (None, factories.make_user(is_staff=True)):
        if person:
            client.force_login(person)
        said = described(client, phase).content.decode()
        assert "hidden" not in said
        assert "canary" not in said
        assert '"cited_id"' not in said
    Phase.objects.update(opens=timezone.now() + dt.timedelta(days=2))
    assert described(client, phase).status_code == 404


# Of libraries that it stands on.
@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"
)
@pytest.mark.parametrize(
    "task_type",
    [kind for kind in task_types().values() if not kind.declared],
    ids=lambda kind: kind.slug,
)
def test_the_library_of_the_format_takes_it_and_loads_every_record(
    client, task_type, tmp_path, monkeypatch
):
    """Of each task type; a wrong column is seen by loading alone."""
    import mlcroissant

    # It keeps what it unpacked by address alone, and addresses come again.
    unpacked = mlcroissant._src.operation_graph.operations.extract
    monkeypatch.setattr(
        unpacked, "EXTRACT_PATH", type(unpacked.EXTRACT_PATH)(tmp_path / "unpacked")
    )
    task = factories.make_task(
        season=factories.make_season(licence="CC-BY-4.0"), type=task_type.slug
    )
    phase = factories.make_phase(task=task, with_gold=False)
    [gold] = (folder(task_type) / "sample").glob("gold*")
    load_gold(task=task, split=phase.split, paths=[gold], reason="first")
    content = described(client, phase).json()
    archive = tmp_path / "inputs.zip"
    archive.write_bytes(
        client.get(local(content["distribution"][0]["contentUrl"])).getvalue()
    )
    assert content["conformsTo"][0].endswith("croissant/1.1")
    for field in (
        "dataCollection",
        "dataLimitations",
        "dataBiases",
        "personalSensitiveInformation",
    ):
        assert content[f"rai:{field}"]
    data = mlcroissant.Dataset(
        jsonld=content, mapping={content["distribution"][0]["@id"]: archive}
    )
    assert data.metadata.issues.errors == data.metadata.issues.warnings == set()
    assert content["recordSet"]
    for record_set in content["recordSet"]:
        records = list(data.records(record_set["@id"]))
        assert records
        for record in records:
            assert set(record) == {field["@id"] for field in record_set["field"]}
            assert all(value is not None for value in record.values())


def test_a_task_of_many_files_tells_of_their_kinds(client):
    """The corpus of CL-Summ has a folder for each topic."""
    phase = factories.make_phase()
    kinds = {
        entry["@type"] for entry in described(client, phase).json()["distribution"]
    }
    assert "cr:FileObject" in kinds


def test_a_page_leads_programs_to_its_citation_its_licence_and_its_data(client, phase):
    task = phase.task
    head = client.get(reverse("task", args=[task.season.slug, task.slug]))["Link"]
    for relation in ("cite-as", "describedby", "license", "item", "type"):
        assert f'rel="{relation}"' in head
    assert reverse("croissant", args=[task.season.slug, task.slug]) in head
    assert "later" not in head
    assert (
        'rel="license"'
        in client.get(reverse("season", args=[task.season.slug]))["Link"]
    )
    Season.objects.update(licence="ask us")
    assert (
        'rel="license"'
        not in client.get(reverse("season", args=[task.season.slug]))["Link"]
    )


def test_the_map_of_the_site_has_what_everybody_may_read_and_every_page_answers(
    client, phase
):
    draft = factories.make_phase(
        task=factories.make_task(season=factories.make_season(is_public=False))
    )
    content = client.get("/sitemap.xml").content.decode()
    pages = [local(address) for address in re.findall(r"<loc>([^<]+)</loc>", content)]
    assert reverse("task", args=[phase.task.season.slug, phase.task.slug]) in pages
    assert draft.task.season.slug not in content
    assert {client.get(page).status_code for page in pages} == {200}


def test_robots_are_told_what_is_nobodys_business(client):
    lines = client.get("/robots.txt").content.decode().splitlines()
    assert "Disallow: /accounts/" in lines
    assert lines[-1].endswith("/sitemap.xml")


def test_the_description_is_json_ld_that_any_site_may_read(client, phase):
    response = described(client, phase)
    assert response["Content-Type"] == "application/ld+json"
    assert response["Access-Control-Allow-Origin"] == "*"
    assert json.loads(response.content)["conformsTo"][0].endswith("croissant/1.1")
