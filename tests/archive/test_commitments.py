"""An archive opens the commitments of a board: the key of its gold, and the draw of its parts."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from django.db import transaction

from scoring.__main__ import main
from scoring.worker.rescoring import request_rescoring_of_stale_phases
from tasks.models import Gold, Phase
from tests import factories
from tests.api.sending import score
from tests.archive.test_archive import export, over, rewrite, verified
from tests.kept_worlds import keep_world

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

TOPICS = [f"D{number:02}-0001" for number in range(1, 13)]


def make_phase() -> Phase:
    """A phase with a public part, which is over: its run is scored on the private one."""
    season = factories.make_season(slug="past", licence="CC BY 4.0")
    phase = factories.make_phase(
        task=factories.make_task(season=season, slug="spans"),
        slug="test",
        board=Phase.Audience.EVERYONE,
        public_part=30,
        with_gold=False,
    )
    factories.make_gold(phase=phase, topics=TOPICS)
    content = factories.run_bytes(topics=TOPICS)
    sent = factories.make_submission(phase=phase, content=content)
    score(sent)
    over("past")
    request_rescoring_of_stale_phases()
    score(sent)
    return phase


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker, tmp_path_factory) -> Path:
    world = keep_world(make_phase, django_db_blocker)
    with django_db_blocker.unblock(), transaction.atomic():
        world()
        folder = export(tmp_path_factory.mktemp("kept") / "archive", "--with-gold")
        transaction.set_rollback(True)
    return folder


@pytest.fixture
def archive(kept, tmp_path) -> Path:
    return shutil.copytree(kept, tmp_path / "archive")


def printed(capsys, archive: Path) -> dict:
    assert main(["verify", str(archive), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def season_of(archive: Path) -> dict:
    return json.loads((archive / "season.json").read_text())


def test_the_digest_the_key_and_the_draw_of_an_archive_are_computed_again(
    archive, capsys
):
    [task] = season_of(archive)["tasks"]
    [gold], [phase] = task["gold"], task["phases"]
    assert verified(capsys, archive, 0)[-1].endswith("numbers equal, 0 not checked")
    told = printed(capsys, archive)
    assert told["digests"] == [
        f"HMAC-SHA-256 {gold['sha256']}",
        f"SHA-256 {gold['plain_sha256']}",
    ]
    assert told["draws"] == 1
    assert set(phase["draw"]) == {"commitment", "nonce"}
    with zipfile.ZipFile(archive / gold["file"]) as packed:
        lines = packed.read("nonce.txt").decode().splitlines()
    assert lines == [gold["nonce"], gold["sha256"]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda gold, phase: gold.update(nonce="0" * 64), "has the HMAC-SHA-256"),
        (lambda gold, phase: gold.update(plain_sha256="0" * 64), "has the SHA-256 000"),
        (
            lambda gold, phase: phase["draw"].update(nonce="0" * 64),
            "the nonce of the draw is not the one that the board committed to",
        ),
    ],
    ids=["nonce", "digest", "draw"],
)
def test_a_commitment_that_does_not_hold_is_found(change, words, archive, capsys):
    rewrite(
        archive / "season.json",
        lambda season: change(
            season["tasks"][0]["gold"][0], season["tasks"][0]["phases"][0]
        ),
    )
    told = verified(capsys, archive, 1)
    assert [line for line in told if words in line]


def test_an_archive_without_the_gold_opens_nothing(tmp_path, capsys, django_db_blocker):
    make_phase()
    folder = export(tmp_path / "archive")
    gold, phase = Gold.objects.get(), Phase.objects.get()
    text = (folder / "season.json").read_text()
    for secret in (gold.nonce, gold.plain_digest, phase.part_nonce):
        assert secret not in text
    [task] = json.loads(text)["tasks"]
    assert task["gold"][0]["sha256"] == gold.digest
    assert task["phases"][0]["draw"] == {"commitment": phase.draw_commitment}


def test_gold_of_before_is_verified_by_its_own_rule_and_without_a_nonce(
    tmp_path, capsys
):
    phase = make_phase()
    for gold in Gold.objects.all():
        Gold.objects.filter(pk=gold.pk).update(
            digest=gold.digests["1"], digests={}, digest_rule=1
        )
    Phase.objects.update(part_nonce="", part_seed=7)
    [sent] = phase.submissions.all()
    request_rescoring_of_stale_phases()
    score(sent)
    folder = export(tmp_path / "archive", "--with-gold")
    assert printed(capsys, folder)["digests"] == [
        f"SHA-256 {Gold.objects.get().digest}"
    ]
