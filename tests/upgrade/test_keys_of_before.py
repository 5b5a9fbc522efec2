"""Gold, parts and runs of before the secret digests, as the migration leaves them."""

from importlib import import_module

import pytest
from django.apps import apps
from django.test import Client

from scoring.results.board.gold_keys import build_gold_key_options
from scoring.worker.release import find_part_scored_now
from tasks.models import Gold, Phase
from tests import factories
from tests.api.conftest import API
from tests.api.sending import score

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def upgrade() -> None:
    """From rows as an earlier release has them."""
    for gold in Gold.objects.all():
        digest = gold.digests["1"]
        facts = {"digest": digest, "digests": {}, "digest_rule": 1, "nonce": ""}
        facts["reading_version"] = 1
        Gold.objects.filter(pk=gold.pk).update(**facts)
    import_module("tasks.migrations.0068_secret_digests").make_nonces(apps, None)


@pytest.fixture
def phase() -> Phase:
    season = factories.make_season(is_public=True)
    return factories.make_phase(task=factories.make_task(season=season))


def test_gold_keeps_its_key_and_a_run_that_comes_later_is_scored_under_it(phase):
    upgrade()
    gold = Gold.objects.get()
    assert (gold.digest, gold.reading_version) == (gold.plain_digest, 1)
    assert build_gold_key_options(gold) == ["--digest-rule=1", "--reading=1"]
    sent = factories.make_submission(
        phase=phase, team=factories.make_team(season=phase.task.season)
    )
    score(sent)
    columns = {row.column for row in sent.evaluations.get().scores.all()}
    assert all(f"|gold:{gold.digest[:12]}|" in column for column in columns)
    assert not any("reading:" in column for column in columns)


def test_a_board_of_unreleased_gold_shows_a_key_that_nobody_can_guess_beside_the_old_one(
    phase,
):
    upgrade()
    gold = Gold.objects.get()
    told = Client().get(f"{API}/phases/{phase.pk}/").json()
    assert told["gold"]["sha256"] == gold.digest
    assert told["commitments"]["gold"] == gold.salted_digest != gold.digest
    address = f"/seasons/{phase.task.season.slug}/{phase.task.slug}/{phase.slug}/"
    page = Client().get(address).content.decode()
    assert gold.salted_digest in page
    assert "lets a reader guess them" in page


def test_the_same_content_has_one_nonce_in_a_season_and_another_in_another(phase):
    same = factories.make_phase(task=phase.task, split="other")
    elsewhere = factories.make_phase()
    upgrade()
    one, other, far = (
        Gold.objects.get(task=each.task, split=each.split).nonce
        for each in (phase, same, elsewhere)
    )
    assert one == other != far != ""


def test_a_part_of_before_stays_what_it_was_and_is_called_guessable(phase):
    Phase.objects.update(public_part=30, part_seed=7)
    upgrade()
    phase.refresh_from_db()
    assert find_part_scored_now(phase) == "public-30-7"
    assert phase.has_guessable_part
    beside = factories.make_phase(task=phase.task, split=phase.split, public_part=30)
    assert find_part_scored_now(beside) == "public-30-7", (
        "phases on the same gold share a draw"
    )
