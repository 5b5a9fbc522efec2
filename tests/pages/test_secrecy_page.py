"""Who can know what, when; versions that are sealed or deleted; and acts that let something out too early."""

import datetime as dt

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import history
from scoring.board.open_gold import may_have_gold
from tasks.models import Gold, GoldOverlap, Phase
from tests import factories
from tests.pages.reading import text_of
from tests.scoring import boards

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)


@pytest.fixture
def phase(client) -> Phase:
    """Open, with a board for organisers alone."""
    organiser = factories.make_user()
    client.force_login(organiser)
    task = factories.make_task(season=factories.make_season(organiser=organiser), title="Spans")
    return factories.make_phase(task=task, board="organisers", title="Test")


def address(name: str, phase: Phase, *more: int) -> str:
    return reverse(name, args=[phase.task.season.slug, *more])


def facts(client, phase: Phase) -> list[dict]:
    return client.get(address("organise-secrecy-json", phase)).json()["contents"]


class TestWhoCanKnow:
    def test_each_group_has_its_instant(self, client, phase):
        [content] = facts(client, phase)
        known = content["known"]
        assert known["inputs"] == dict.fromkeys(known["inputs"], "now")
        own = {**dict.fromkeys(known["own"], "never"), "helpers": "now", "organisers": "now"}
        assert known["own"] == own
        assert set(known["gold"].values()) == {"never", "now"}
        later = (timezone.now() + HOUR).replace(microsecond=0)
        Phase.objects.update(board_from=later, board_then="everyone")
        [content] = facts(client, phase)
        assert content["known"]["others"]["visitors"] == later.isoformat()
        assert content["known"]["own"]["team"] == later.isoformat()

    def test_the_page_has_every_row_and_tells_what_is_shared(self, client, phase):
        other = factories.make_phase(task=phase.task, split="practice", title="Practice")
        factories.make_phase(task=factories.make_task(title="Elsewhere"))
        page = text_of(client.get(address("organise-secrecy", phase)))
        assert "v1 has in common with Spans, practice, v1: scored instances: 4" in page
        assert "with gold of another season" in page
        assert "Elsewhere" not in page
        practice = next(one for one in facts(client, other) if one["split"] == "practice")
        assert practice["known"]["others"]["visitors"] == phase.closes.isoformat()


class TestVersions:
    def test_a_sealed_version_is_given_out_never_again(self, client, phase):
        Phase.objects.update(board="everyone", shows_instances=True, gold_is_public=True)
        gold = Gold.objects.get()
        assert may_have_gold(Phase.objects.get(), None)
        where = address("organise-gold-seal", phase, gold.pk)
        assert "Say why" in text_of(client.post(where, {"reason": " "}, follow=True))
        client.post(where, {"reason": "Test items stood in it."})
        assert not may_have_gold(Phase.objects.get(), None)
        [content] = facts(client, phase)
        assert content["gold"] == [{"version": 1, "instances": 4, "sealed": True}]
        assert content["known"]["instances"]["visitors"] == "never"
        words = history(phase.task.season)[0].words
        assert words == "sealed gold v1 of Spans, test: Test items stood in it."

    def test_a_version_is_deleted_while_nothing_counts_by_it(self, client, phase):
        first = Gold.objects.get()
        where = address("organise-gold-delete", phase, first.pk)
        assert "Phases are scored by v1" in text_of(client.post(where, {"reason": "x"}, follow=True))
        factories.make_gold(phase=phase, topics=["X00-0001"], reason="the right one")
        run = factories.make_submission(
            phase=phase, status="scored", content=factories.run_bytes(topics=["X00-0001"])
        )
        evaluation = boards.score(run, 0.5, gold=first)
        page = text_of(client.post(where, {"reason": "x"}, follow=True))
        assert "Runs were scored with v1; seal it instead" in page
        evaluation.delete()
        client.post(where, {"reason": "Test items stood in it."})
        assert [gold.number for gold in Gold.objects.all()] == [2]
        assert not GoldOverlap.objects.filter(gold=first.pk).exists()


class TestLettingOutEarly:
    def test_showing_a_running_board_is_asked_again_and_goes_on_by_name_and_reason(self, client, phase):
        where = address("organise-reveal", phase, phase.pk)
        answer = client.post(where)
        said = text_of(answer)
        assert answer.status_code == 409
        assert f"the scores of all of Spans, Test (free from {phase.closes:%Y-%m-%d %H:%M} UTC)" in said
        client.post(where, {"let_out_task": "Another", "let_out_reason": "We must."})
        client.post(where, {"let_out_task": "Spans", "let_out_reason": " "})
        assert Phase.objects.get().board == "organisers"
        client.post(where, {"let_out_task": "Spans", "let_out_reason": "All teams agreed."})
        assert Phase.objects.get().board == "everyone"
        told = [entry.words for entry in history(phase.task.season)]
        assert any(words.startswith("let out before its time: ") for words in told)
        assert any(words.endswith(": All teams agreed.") for words in told)

    def test_once_it_has_closed_nothing_is_asked(self, client, phase):
        Phase.objects.update(closes=timezone.now() - HOUR)
        assert client.post(address("organise-reveal", phase, phase.pk)).status_code == 302
        assert Phase.objects.get().board == "everyone"

    def test_a_phase_opened_over_hidden_gold_shows_scores_only_if_an_organiser_goes_on(self, client, phase):
        opens = timezone.now() + HOUR
        after = factories.make_phase(task=phase.task, opens=opens, closes=opens + HOUR, title="Afterwards")
        where = address("organise-open", phase, after.pk)
        answer = client.post(where)
        assert answer.status_code == 409
        assert "Spans, Test" in text_of(answer)
        client.post(where, {"let_out_task": "Spans", "let_out_reason": "It is over."})
        board = reverse("board", args=[phase.task.season.slug, phase.task.slug, after.slug])
        client.logout()
        assert "keeps scores back" not in text_of(client.get(board))
        Phase.objects.filter(pk=after.pk).update(let_out=[], version=9)
        assert "Another phase on the same gold keeps scores back until" in text_of(client.get(board))

    def test_settings_and_new_gold_are_asked_too(self, client, phase):
        practice = factories.make_phase(task=phase.task, split="practice", with_gold=False, title="Practice")
        where = reverse("organise-settings-phase", args=[phase.task.season.slug, phase.pk])
        form = client.get(where).context["form"]
        sent = {name: form[name].value() for name in form.fields if form[name].value() not in (None, False)}
        answer = client.post(where, sent | {"board": "everyone"})
        assert answer.status_code == 409
        assert 'name="board" value="everyone"' in answer.content.decode()
        assert practice.split == "practice"
