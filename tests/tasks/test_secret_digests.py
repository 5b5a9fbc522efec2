"""What names gold in public before its release: an HMAC, of which only the release gives the key."""

import datetime as dt
import hashlib
import io
import json
import shutil
import zipfile
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from scoring.offline.receipts import encode_canonical_json
from scoring.receipts.log import read_openings
from tasks.gold.gold_files import (
    load_gold,
    open_gold_archive,
    record_gold_version,
    store_prepared_gold,
)
from tasks.gold.packing import prepare_gold
from tasks.models import Gold, Phase
from tasks.models.declarations import store_declaration
from tasks.seasons.file.export import export_season
from tasks.types import task_type
from tasks.types.digests import compute_salted_digest
from tasks.types.files import CURRENT_PARSING_RULES_VERSION, open_files_of_all_inputs
from tests.api.conftest import API
from tests.api.sending import score
from tests.factories import (
    make_gold,
    make_phase,
    make_season,
    make_submission,
    make_task,
    make_team,
    make_user,
    write_corpus,
)

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
POOL = "claims-and-evidence"


@pytest.fixture
def hidden() -> Phase:
    return make_phase(task=make_task(season=make_season(is_public=True)))


def release(phase: Phase) -> Phase:
    """The phase is over and gives its gold out."""
    Phase.objects.filter(pk=phase.pk).update(
        closes=timezone.now() - dt.timedelta(minutes=1),
        board="everyone",
        gold_is_public=True,
    )
    return Phase.objects.select_related("task__season").get(pk=phase.pk)


def read_phase(phase: Phase) -> dict:
    response = Client().get(f"{API}/phases/{phase.pk}/")
    assert response.status_code == 200
    return response.json()


def test_gold_is_named_by_an_hmac_of_its_digest(hidden):
    gold = Gold.objects.get()
    assert len(gold.nonce) == 64
    assert gold.digest == compute_salted_digest(gold.plain_digest, gold.nonce)
    assert gold.digest not in gold.digests.values()
    assert (gold.digest_rule, gold.reading_version) == (
        2,
        CURRENT_PARSING_RULES_VERSION,
    )


def test_a_visitor_reads_neither_the_plain_digest_nor_the_nonce_before_the_release(
    hidden,
):
    gold = Gold.objects.get()
    told = read_phase(hidden)
    assert told["gold"]["sha256"] == told["commitments"]["gold"] == gold.digest
    assert told["commitments"]["gold_nonce"] is None
    assert (told["gold"]["instances"], told["gold"]["rows"]) == (gold.instances, None)
    page = Client().get(board_of(hidden)).content.decode()
    for secret in (gold.plain_digest, gold.nonce):
        assert secret not in json.dumps(told)
        assert secret[:12] not in page
    assert gold.digest in page


def board_of(phase: Phase) -> str:
    season = phase.task.season.slug
    return reverse("board", args=[season, phase.task.slug, phase.slug])


def test_the_release_of_the_gold_opens_its_key(hidden):
    phase = release(hidden)
    gold = Gold.objects.get()
    read = read_phase(phase)
    assert (read["gold"]["rows"], gold.rows is None) == (gold.rows, False)
    told = read["commitments"]
    assert compute_salted_digest(gold.plain_digest, told["gold_nonce"]) == told["gold"]
    season, task = phase.task.season.slug, phase.task.slug
    address = reverse("gold", args=[season, task, phase.slug, gold.number])
    response = Client().get(address)
    content = b"".join(response.streaming_content)
    assert int(response["Content-Length"]) == len(content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        lines = archive.read("nonce.txt").decode().splitlines()
    assert lines == [gold.nonce, gold.digest]
    part = Client().get(address, headers={"Range": "bytes=2-9"})
    assert b"".join(part.streaming_content) == content[2:10]


def test_scores_receipts_and_columns_have_the_key_and_nothing_else_of_the_gold(hidden):
    gold = Gold.objects.get()
    sent = make_submission(phase=hidden, team=make_team(season=hidden.task.season))
    printed = score(sent)["corrected"]
    assert printed["gold"]["sha256"] == gold.plain_digest
    evaluation = sent.evaluations.get()
    for row in evaluation.scores.all():
        assert f"|gold:{gold.digest[:12]}|" in row.column
    opened = read_openings(evaluation.receipts.get())
    assert json.loads(opened["gold"]["text"])["sha256"] == gold.digest
    assert gold.plain_digest not in encode_canonical_json(opened)


def test_a_team_reads_the_key_beside_its_scores(hidden):
    gold, team = Gold.objects.get(), make_team(season=hidden.task.season)
    Phase.objects.update(board="everyone", own_scores="scores")
    sent = make_submission(phase=hidden, team=team)
    score(sent)
    client = Client()
    client.force_login(team.memberships.get().user)
    response = client.get(f"{API}/submissions/{sent.pk}/")
    told = response.json()
    assert gold.digest in json.dumps(told)
    assert gold.plain_digest[:12] not in json.dumps(told)


def test_another_season_s_key_of_the_same_gold_is_another_one(hidden):
    other = make_phase(task=make_task(season=make_season(organiser=make_user())))
    mine, theirs = (Gold.objects.get(task=phase.task) for phase in (hidden, other))
    assert mine.plain_digest == theirs.plain_digest
    assert (mine.digest, mine.nonce) != (theirs.digest, theirs.nonce)
    assert mine.digest != theirs.digest


def test_tags_of_files_are_no_functions_that_others_can_compute(hidden):
    gold = Gold.objects.get()
    Phase.objects.update(inputs_from=timezone.now() - dt.timedelta(days=1))
    season, task = hidden.task.season.slug, hidden.task.slug
    response = Client().get(reverse("inputs", args=[season, task, hidden.slug]))
    response.close()
    assert response.status_code == 200
    guess = hashlib.sha256(gold.public.encode()).hexdigest()[:32]
    assert response["ETag"] != f'"{guess}"'
    for name in (gold.file, gold.public, gold.index):
        assert gold.plain_digest not in name
        assert gold.digest not in name


def test_the_organiser_s_archive_has_the_nonce_and_loads_as_the_same_gold(
    hidden, tmp_path
):
    gold = Gold.objects.get()
    exported_gold(hidden, tmp_path / "gold.zip")
    with zipfile.ZipFile(tmp_path / "gold.zip") as archive:
        assert archive.read("nonce.txt").decode().splitlines()[0] == gold.nonce
    again, is_new = load_gold(
        task=hidden.task, split=gold.split, paths=[tmp_path / "gold.zip"], reason="x"
    )
    assert (again.pk, is_new) == (gold.pk, False)


def exported_gold(phase: Phase, path: Path) -> Path:
    files = export_season(phase.task.season).files
    [name] = [name for name in files if name.startswith("gold/")]
    with files[name]() as source:
        path.write_bytes(source.read())
    return path


def test_an_exported_season_keeps_its_key_where_it_is_loaded(hidden, tmp_path):
    gold = Gold.objects.get()
    path = exported_gold(hidden, tmp_path / "gold.zip")
    elsewhere = make_phase(with_gold=False)
    loaded, _ = load_gold(
        task=elsewhere.task, split=elsewhere.split, paths=[path], reason="Moved."
    )
    assert (loaded.digest, loaded.nonce) == (gold.digest, gold.nonce)


def test_a_corrected_gold_takes_no_nonce_of_the_gold_before_it(hidden, tmp_path):
    gold = Gold.objects.get()
    with zipfile.ZipFile(exported_gold(hidden, tmp_path / "gold.zip")) as archive:
        archive.extractall(tmp_path / "gold")
    [path, *_] = (tmp_path / "gold").rglob("*.annv3.txt")
    path.write_text(path.read_text().replace("Method_Citation", "Aim_Citation"))
    fixed, is_new = load_gold(
        task=hidden.task, split=gold.split, paths=[tmp_path / "gold"], reason="A fix."
    )
    assert is_new
    assert fixed.nonce != gold.nonce


def test_the_organisers_alone_read_the_plain_digest_and_the_nonce(hidden):
    gold = Gold.objects.get()
    organiser = make_user()
    hidden.task.season.organisers.create(user=organiser)
    address = f"{API}/tasks/{hidden.task_id}/gold/"
    client = Client()
    client.force_login(organiser)
    [version] = client.get(address).json()["results"]
    assert version["plain_sha256"] == gold.plain_digest
    assert (version["nonce"], version["sha256"]) == (gold.nonce, gold.digest)
    assert (version["digest_rule"], version["reading_version"]) == (
        2,
        CURRENT_PARSING_RULES_VERSION,
    )
    client.force_login(make_user())
    assert client.get(address).status_code == 404


# Digests do not depend on the order of lines.


@pytest.fixture
def pooled() -> Phase:
    """A task with a pool of documents."""
    declared = task_type(str(EXAMPLES / "tasks" / POOL))
    task = make_task(type=declared.slug, declaration=store_declaration(declared))
    return make_phase(task=task, with_gold=False)


def load(phase: Phase, folder: Path) -> tuple[Gold, bool]:
    task = phase.task
    prepared = prepare_gold(
        task.task_type,
        open_files_of_all_inputs([folder / "gold"]),
        task.options,
        folder,
    )
    return record_gold_version(
        task=task,
        split=phase.split,
        kept=store_prepared_gold(prepared),
        reason="A reason.",
    )


def copied(folder: Path, change=lambda lines: lines, ends: bytes = b"\n") -> Path:
    shutil.copytree(EXAMPLES / "field-tasks" / POOL / "gold", folder / "gold")
    path = folder / "gold" / "corpus.jsonl"
    path.write_bytes(ends.join(change(path.read_bytes().splitlines())) + ends)
    return folder


def test_the_same_pool_in_another_order_is_no_new_version_and_leaves_its_files(
    pooled, tmp_path
):
    first, is_new = load(pooled, copied(tmp_path / "a"))
    assert is_new
    again, is_new = load(pooled, copied(tmp_path / "b", lambda lines: lines[::-1]))
    assert (again.pk, is_new) == (first.pk, False)
    assert (again.file, again.index) == (first.file, first.index)
    other, is_new = load(pooled, copied(tmp_path / "c", ends=b"\r\n"))
    assert (other.pk, is_new, other.digest) == (first.pk, False, first.digest)


def test_a_pool_with_one_document_less_is_a_new_version_of_another_key(
    pooled, tmp_path
):
    first, _ = load(pooled, copied(tmp_path / "a"))
    second, is_new = load(pooled, copied(tmp_path / "b", lambda lines: lines[:-1]))
    assert is_new
    assert (second.digest, second.nonce) != (first.digest, first.nonce)


# Content of before keeps its key.


def as_of_before(gold: Gold) -> Gold:
    """The row as an earlier release has it."""
    facts = {"digest": gold.digests["1"], "digests": {}, "digest_rule": 1, "nonce": ""}
    Gold.objects.filter(pk=gold.pk).update(**facts)
    return Gold.objects.get(pk=gold.pk)


def test_the_content_of_a_version_of_before_keeps_its_key_in_a_later_version(hidden):
    before = as_of_before(Gold.objects.get())
    fixed = (("D05-0001", "3", ["4"], "Aim_Citation"),)
    salted = make_gold(phase=hidden, citances=fixed, reason="A fix.")
    assert salted.is_salted
    back = make_gold(phase=hidden, reason="The fix was wrong.")
    assert (back.number, back.digest, back.digest_rule) == (3, before.digest, 1)
    assert not back.is_salted


def test_loading_the_files_of_a_version_of_before_again_makes_none(hidden, tmp_path):
    before = as_of_before(Gold.objects.get())
    again, is_new = load_gold(
        task=hidden.task,
        split=before.split,
        paths=[write_corpus(tmp_path / "corpus")],
        reason="x",
    )
    assert (again.pk, is_new, again.digest) == (before.pk, False, before.digest)


def test_an_archive_of_gold_without_a_nonce_is_given_out_as_it_is(hidden):
    gold = as_of_before(Gold.objects.get())
    with open_gold_archive(gold) as source, zipfile.ZipFile(source) as archive:
        assert "nonce.txt" not in archive.namelist()
