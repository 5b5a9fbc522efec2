"""Who can know what, when; versions that are sealed or deleted; and acts that let something out too early."""

import datetime as dt
import json
import shutil
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from citeboard.core.instants import format_utc_minute
from citeboard.ops.merging import accept_merge, propose_merge
from citeboard.teams.models import Membership
from scoring.results.board.open_gold import may_download_gold
from tasks.gold.early import EmbargoBreach
from tasks.gold.secrecy import ContentKind, get_embargoes_of_phase
from tasks.models import Gold, GoldOverlap, Phase, Season
from tasks.registration.entries import TeamEntryRefused
from tasks.seasons.file.export import build_season_file_structure
from tasks.seasons.file.load import load_season_from_values
from tasks.seasons.file.tables import format_season_file
from tests import factories
from tests.api.conftest import API
from tests.api.sending import score
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)


@pytest.fixture
def phase(client) -> Phase:
    """Open, with a board for organisers only."""
    organiser = factories.make_user()
    client.force_login(organiser)
    task = factories.make_task(
        season=factories.make_season(organiser=organiser), title="Spans"
    )
    return factories.make_phase(task=task, board="organisers", title="Test")


def address(name: str, phase: Phase, *more: int) -> str:
    return reverse(name, args=[phase.task.season.slug, *more])


def facts(client, phase: Phase) -> list[dict]:
    return client.get(address("organise-secrecy-json", phase)).json()["contents"]


def free_of(client, phase: Phase, kind: str) -> str:
    [content] = facts(client, phase)
    return content["known"][kind]["visitors"]


class TestWhoCanKnow:
    def test_each_group_has_its_instant(self, client, phase):
        [content] = facts(client, phase)
        known = content["known"]
        assert known["inputs"] == dict.fromkeys(known["inputs"], "now")
        own = {
            **dict.fromkeys(known["own"], "never"),
            "helpers": "now",
            "organisers": "now",
        }
        assert known["own"] == own
        assert set(known["gold"].values()) == {"never", "now"}
        later = (timezone.now() + HOUR).replace(microsecond=0)
        Phase.objects.update(board_from=later, board_then="everyone")
        [content] = facts(client, phase)
        assert content["known"]["others"]["visitors"] == later.isoformat()
        assert content["known"]["own"]["team"] == later.isoformat()

    def test_a_phase_of_battles_alone_never_shows_measures(self, client, phase):
        Phase.objects.update(board="everyone", shows_instances=True)
        assert free_of(client, phase, "others") == "now"
        Phase.objects.update(battles_alone=True)
        [content] = facts(client, phase)
        told = {kind: known["visitors"] for kind, known in content["known"].items()}
        assert told == {"inputs": "now", **dict.fromkeys([*told][1:], "never")}
        assert content["known"]["own"]["team"] == "never"
        assert content["battles_alone"] == [phase.slug]
        page = text_of(client.get(address("organise-secrecy", phase)))
        assert "Test shows battles alone" in page
        Phase.objects.update(own_scores="scores")
        [content] = facts(client, phase)
        assert content["known"]["own"]["team"] == "now"

    def test_battles_alone_bind_other_phases_on_the_same_gold(self, client, phase):
        other = factories.make_phase(
            task=phase.task, split=phase.split, board="everyone", title="Other"
        )
        Phase.objects.filter(pk=phase.pk).update(board="everyone", battles_alone=True)
        assert not get_embargoes_of_phase(
            Phase.objects.get(pk=other.pk)
        ).is_free_of_embargo(ContentKind.OTHERS)

    def test_the_page_has_every_row_and_tells_what_is_shared(self, client, phase):
        other = factories.make_phase(
            task=phase.task, split="practice", title="Practice"
        )
        page = text_of(client.get(address("organise-secrecy", phase)))
        assert "v1 has in common with Spans, practice, v1: scored instances: 4" in page
        practice = next(
            one for one in facts(client, other) if one["split"] == "practice"
        )
        assert practice["known"]["others"]["visitors"] == phase.closes.isoformat()


@pytest.mark.both_databases
class TestVersions:
    def test_a_sealed_version_is_given_out_never_again(self, client, phase):
        Phase.objects.update(
            board="everyone", shows_instances=True, gold_is_public=True
        )
        gold = Gold.objects.get()
        assert may_download_gold(Phase.objects.get(), None)
        where = address("organise-gold-seal", phase, gold.pk)
        assert "Say why" in text_of(client.post(where, {"reason": " "}, follow=True))
        client.post(where, {"reason": "Test items stood in it."})
        assert not may_download_gold(Phase.objects.get(), None)
        [content] = facts(client, phase)
        assert content["gold"] == [{"version": 1, "instances": 4, "sealed": True}]
        assert content["known"]["instances"]["visitors"] == "never"
        words = find_history_of_place(phase.task.season)[0].words
        assert words == "sealed gold v1 of Spans, test: Test items stood in it."

    def test_the_only_phase_of_a_sealed_version_goes_on_with_its_board_and_its_secrecy(
        self, client, phase
    ):
        score(factories.make_submission(phase=phase, content=factories.run_bytes()))
        client.post(
            address("organise-gold-seal", phase, Gold.objects.get().pk),
            {"reason": "Test items."},
        )
        [content] = facts(client, phase)
        assert content["known"]["instances"]["visitors"] == "never"
        assert (
            get_embargoes_of_phase(Phase.objects.get()).min_class_size
            == phase.task.min_class_size
        )

    def test_a_version_is_deleted_while_nothing_counts_by_it(self, client, phase):
        first = Gold.objects.get()
        where = address("organise-gold-delete", phase, first.pk)
        assert "Phases are scored by v1" in text_of(
            client.post(where, {"reason": "x"}, follow=True)
        )
        factories.make_gold(phase=phase, topics=["X00-0001"], reason="the right one")
        run = factories.make_submission(
            phase=phase,
            status="scored",
            content=factories.run_bytes(topics=["X00-0001"]),
        )
        evaluation = boards.score(run, 0.5, gold=first)
        page = text_of(client.post(where, {"reason": "x"}, follow=True))
        assert "Runs were scored with v1; seal it instead" in page
        evaluation.delete()
        asked = text_of(client.post(where, {"reason": "Test items stood in it."}))
        assert "This can never be taken back" in asked
        assert Gold.objects.count() == 2
        typed = {
            "let_out_task": phase.task.season.title,
            "let_out_reason": "Test items stood in it.",
        }
        client.post(where, {"reason": "Test items stood in it.", **typed})
        assert [gold.number for gold in Gold.objects.all()] == [2]
        assert not GoldOverlap.objects.filter(gold=first.pk).exists()


@pytest.mark.both_databases
class TestLettingOutEarly:
    def test_showing_a_running_board_is_asked_again_and_goes_on_by_name_and_reason(
        self, client, phase
    ):
        where = address("organise-reveal", phase, phase.pk)
        answer = client.post(where)
        said = text_of(answer)
        assert answer.status_code == 409
        assert (
            f"the scores of all of Spans, Test (free from {format_utc_minute(phase.closes)})"
            in said
        )
        client.post(where, {"let_out_task": "Another", "let_out_reason": "We must."})
        client.post(where, {"let_out_task": "Spans", "let_out_reason": " "})
        assert Phase.objects.get().board == "organisers"
        client.post(
            where, {"let_out_task": "Spans", "let_out_reason": "All teams agreed."}
        )
        assert Phase.objects.get().board == "everyone"
        told = [entry.words for entry in find_history_of_place(phase.task.season)]
        assert any(words.startswith("let out before its time: ") for words in told)
        assert any(words.endswith(": All teams agreed.") for words in told)

    def test_once_it_has_closed_nothing_is_asked(self, client, phase):
        Phase.objects.update(closes=timezone.now() - HOUR)
        assert (
            client.post(address("organise-reveal", phase, phase.pk)).status_code == 302
        )
        assert Phase.objects.get().board == "everyone"

    def test_a_phase_opened_over_hidden_gold_shows_scores_only_if_an_organiser_goes_on(
        self, client, phase
    ):
        opens = timezone.now() + HOUR
        after = factories.make_phase(
            task=phase.task, opens=opens, closes=opens + HOUR, title="Afterwards"
        )
        where = address("organise-open", phase, after.pk)
        answer = client.post(where)
        assert answer.status_code == 409
        assert "Spans, Test" in text_of(answer)
        client.post(where, {"let_out_task": "Spans", "let_out_reason": "It is over."})
        board = reverse(
            "board", args=[phase.task.season.slug, phase.task.slug, after.slug]
        )
        client.logout()
        assert "withholds scores" not in text_of(client.get(board))
        Phase.objects.filter(pk=after.pk).update(let_out=[], version=9)
        assert "Another phase on the same gold withholds scores until" in text_of(
            client.get(board)
        )

    def test_the_page_of_a_run_names_the_other_phase_as_the_reason_for_hidden_scores(
        self, client, phase
    ):
        Phase.objects.filter(pk=phase.pk).update(own_scores="scored")
        opens = timezone.now() - HOUR
        after = factories.make_phase(
            task=phase.task,
            opens=opens,
            closes=opens + 2 * HOUR,
            title="Afterwards",
            own_scores="scores",
        )
        user = factories.make_user()
        team = factories.make_team(season=phase.task.season, lead=user)
        run = factories.make_submission(phase=after, team=team, status="scored")
        client.force_login(user)
        page = reverse("submission", args=[run.pk])
        assert "Another phase on the same gold withholds scores until" in text_of(
            client.get(page)
        )
        Phase.objects.filter(pk=after.pk).update(
            board="organisers", own_scores="scored", version=9
        )
        told = text_of(client.get(page))
        assert "withholds scores" not in told
        assert "teams do not see the scores of their runs yet" in told

    def test_settings_and_new_gold_are_asked_too(self, client, phase):
        practice = factories.make_phase(
            task=phase.task, split="practice", with_gold=False, title="Practice"
        )
        where = reverse(
            "organise-settings-phase", args=[phase.task.season.slug, phase.pk]
        )
        form = client.get(where).context["form"]
        sent = {
            name: form[name].value()
            for name in form.fields
            if form[name].value() not in (None, False)
        }
        answer = client.post(where, sent | {"board": "everyone"})
        assert answer.status_code == 409
        assert 'name="board" value="everyone"' in answer.content.decode()
        assert practice.split == "practice"

    @pytest.fixture
    def practice(self, phase) -> Phase:
        """Open with its board, on gold of its own."""
        practice = factories.make_phase(
            task=phase.task, split="practice", with_gold=False, title="Practice"
        )
        factories.make_gold(phase=practice, topics=["X00-0001"])
        return practice

    def refused(self, answer) -> str:
        assert answer.status_code == 409, answer.content
        assert "before its time" in answer.json()["detail"]
        assert answer.json()["task"] == "Spans"
        return {row["what"] for row in answer.json()["lets_out"]}

    def test_new_gold_is_refused_on_page_by_api_and_by_command_with_what_it_would_tell(
        self, client, phase, practice, tmp_path
    ):
        corpus = factories.write_corpus(
            tmp_path / "corpus", topics=["D01-0001", "X00-0001"]
        )
        archive = shutil.make_archive(str(tmp_path / "gold"), "zip", corpus)

        def sent(**more):
            file = SimpleUploadedFile("gold.zip", Path(archive).read_bytes())
            return {"file": file, "reason": "More of it.", **more}

        where = f"{API}/tasks/{phase.task.pk}/gold/"
        assert self.refused(client.post(where, sent(split="practice"))) == {
            "own",
            "others",
        }
        page = client.post(
            address("organise-gold", phase), sent(split=f"{phase.task.pk}/practice")
        )
        assert page.status_code == 409
        assert (
            "the scores of all of Spans, Practice, which Spans, Test withholds"
            in text_of(page)
        )
        named = f"{phase.task.season.slug}/{phase.task.slug}"
        with pytest.raises(CommandError, match="Spans, Test withholds"):
            call_command(
                "load_gold", named, archive, "--reason", "More.", "--split", "practice"
            )
        assert Gold.objects.filter(split="practice").count() == 1
        asked = "?let_out_task=Spans&let_out_reason=We+must"
        assert client.post(where + asked, sent(split="practice")).status_code == 201
        practice.refresh_from_db()
        assert ["others", phase.task.pk, phase.split] in practice.let_out

    def test_a_new_phase_and_a_season_file_are_refused_too(self, client, phase):
        season, now = phase.task.season, timezone.now()
        values = build_season_file_structure(season)
        more = {
            "slug": "more",
            "title": "More",
            "split": phase.split,
            "opens": now - HOUR,
            "closes": now + HOUR,
        }
        values["tasks"][0]["phases"].append(more)
        with pytest.raises(
            EmbargoBreach,
            match="the scores of all of Spans, More, which Spans, Test withholds",
        ):
            load_season_from_values(values, by=None, slug=season.slug)
        values["tasks"][0]["gold"] = [{"split": phase.split, "paths": ["gold"]}]
        text = format_season_file(values)
        file = SimpleUploadedFile("season.toml", text.encode())
        assert self.refused(
            client.post(f"{API}/seasons/{season.slug}/file/", {"file": file})
        ) >= {"others"}
        assert not Phase.objects.filter(slug="more").exists()

    def test_a_clone_is_a_draft_and_publishing_it_over_hidden_gold_is_refused(
        self, client, phase
    ):
        season = phase.task.season
        Phase.objects.update(board="everyone")
        made = client.post(
            f"{API}/seasons/{season.slug}/clone/",
            {"slug": "next", "title": "Next", "days": 0},
        )
        assert made.status_code == 201
        copy = Phase.objects.get(task__season__slug="next")
        factories.make_gold(phase=copy)
        Phase.objects.filter(pk=phase.pk).update(board="organisers")
        answer = client.post(
            f"{API}/seasons/next/settings/",
            {"settings": json.dumps({"season.public": True})},
        )
        assert self.refused(answer) >= {"others"}
        assert not Season.objects.get(slug="next").is_public

    def test_merging_teams_that_would_learn_each_others_scores_is_refused(
        self, client, phase
    ):
        season = phase.task.season
        Phase.objects.update(own_scores="scores")
        teams = [
            factories.make_team(season=season, lead=factories.make_user())
            for _ in range(2)
        ]
        run = factories.make_submission(phase=phase, team=teams[0], status="scored")
        boards.score(run, 0.5)
        Season.objects.update(merge_until=timezone.now() + HOUR)
        lead = Membership.objects.get(team=teams[1]).user
        proposal = propose_merge(season=season, team=teams[0], into=teams[1], by=lead)
        with pytest.raises(
            TeamEntryRefused,
            match=r"the scores of all of Spans, Test .*; an organiser can merge",
        ):
            accept_merge(proposal=proposal, by=lead)
        where = f"{API}/seasons/{season.slug}/merges/"
        sent = {"team": teams[0].slug, "into": teams[1].slug, "reason": "They asked."}
        assert self.refused(client.post(where, sent)) == {"others"}
        assert Membership.objects.filter(team=teams[1]).count() == 1
        assert (
            client.post(
                f"{where}?let_out_task=Spans&let_out_reason=Agreed", sent
            ).status_code
            < 300
        )
        assert Membership.objects.filter(team=teams[1]).count() == 2

    def test_the_admin_asks_too_and_goes_on_in_the_same_way(self, client, phase):
        client.force_login(factories.make_user(is_staff=True, is_superuser=True))
        where = reverse("admin:tasks_phase_change", args=[phase.pk])
        form = client.get(where).context["adminform"].form
        sent = {}
        for name, field in form.fields.items():
            value = (
                field.widget.decompress(form.initial.get(name))
                if hasattr(field.widget, "decompress")
                else form[name].value()
            )
            if isinstance(value, list) and hasattr(field.widget, "decompress"):
                sent |= {
                    f"{name}_{place}": one
                    for place, one in enumerate(value)
                    if one is not None
                }
            elif value is not None and value is not False:
                sent[name] = (
                    json.dumps(value) if isinstance(value, list | dict) else value
                )
        sent["board"] = "everyone"
        answer = client.post(where, sent)
        assert answer.status_code == 409, text_of(answer)
        assert "the scores of all of Spans, Test" in text_of(answer)
        assert Phase.objects.get().board == "organisers"
        client.post(
            where, sent | {"let_out_task": "Spans", "let_out_reason": "It is over."}
        )
        assert Phase.objects.get().board == "everyone"
        assert (
            client.post(
                reverse("admin:tasks_phase_delete", args=[phase.pk]), {"post": "yes"}
            ).status_code
            == 302
        )

    @pytest.fixture
    def after(self, phase) -> Phase:
        """Open with its board, on gold that the other phase withholds."""
        return factories.make_phase(task=phase.task, title="Afterwards")

    def asked_and_done(self, client, where, sent=()) -> None:
        """Refused as it is, with another task's name and without a reason; done with name and reason."""
        sent = dict(sent)
        told = {"let_out_task": "Spans", "let_out_reason": "All teams agreed."}
        for lacking in (
            {},
            told | {"let_out_task": "Another"},
            told | {"let_out_reason": " "},
        ):
            before = list(Phase.objects.values_list("pk"))
            answer = client.post(where, sent | lacking)
            assert answer.status_code == 409
            said = "the scores of all of Spans, Afterwards, which Spans, Test withholds"
            assert said in text_of(answer)
            assert bool(lacking) == (
                "What was typed is not the name" in text_of(answer)
            )
            assert list(Phase.objects.values_list("pk")) == before
        assert client.post(where, sent | told).status_code == 302
        words = find_history_of_place(Season.objects.get())
        assert any(one.words.endswith(": All teams agreed.") for one in words)

    def test_deleting_what_keeps_scores_back_is_asked_on_the_page_and_by_the_api(
        self, client, phase, after
    ):
        row = f"{API}/seasons/{phase.task.season.slug}/settings/tasks.{phase.task.slug}.phases.{phase.slug}/"
        assert self.refused(client.delete(row)) == {"own", "others"}
        self.asked_and_done(
            client, address("organise-settings-delete-phase", phase, phase.pk)
        )
        assert list(Phase.objects.all()) == [after]
        assert free_of(client, phase, "others") == "now"

    def test_bringing_back_what_shows_hidden_scores_is_asked_on_the_page(
        self, client, phase, after
    ):
        client.post(address("organise-settings-delete-phase", phase, after.pk))
        entry = find_history_of_place(phase.task.season)[0]
        self.asked_and_done(client, address("organise-undo", phase, entry.pk))
        assert Phase.objects.filter(pk=after.pk).exists()
        assert after.pk in [row.pk for row in Phase.objects.exclude(let_out=[])]

    def test_a_phase_that_opens_over_gold_still_hidden_then_is_told_of_wherever_it_is_made_or_moved(
        self, client, phase
    ):
        season, opens = phase.task.season, timezone.now() + HOUR
        later = factories.make_phase(
            task=phase.task, title="Later", opens=opens, closes=opens + HOUR
        )
        until = f"{format_utc_minute(phase.closes)}"
        words = f"the scores of all of Spans, Later, which Spans, Test withholds (free from {until})"
        # By its own settings as another phase on other gold.
        factories.make_phase(
            task=phase.task, split="other", with_gold=False, title="Other"
        )
        settings = reverse("organise-settings-phase", args=[season.slug, later.pk])
        form = client.get(settings).context["form"]
        sent = {
            name: form[name].value()
            for name in form.fields
            if form[name].value() not in (None, False)
        }
        assert f"Not shown yet: {words}." in text_of(
            client.post(settings, sent, follow=True)
        )
        assert words in text_of(client.get(address("organise-phases", phase)))
        assert words in text_of(client.get(address("organise", phase)))
        loaded = load_season_from_values(
            build_season_file_structure(season), by=None, slug=season.slug
        )
        assert f"not shown yet: {words}" in loaded.notices
        times = {
            "opens": (opens + HOUR).isoformat(),
            "closes": (opens + 2 * HOUR).isoformat(),
        }
        assert client.post(f"{API}/phases/{later.pk}/times/", times).status_code == 200
        told = client.get(f"{API}/phases/{later.pk}/").json()["kept_back"]
        assert {row["what"] for row in told} == {"own", "others"}
        assert dt.datetime.fromisoformat(told[0]["free_from"]) == phase.closes
        # From the very end of the other one on nothing is kept back.
        Phase.objects.filter(pk=later.pk).update(
            opens=phase.closes, closes=phase.closes + HOUR
        )
        assert client.get(f"{API}/phases/{later.pk}/").json()["kept_back"] == []
        for name in ("organise", "organise-phases"):
            assert "withholds" not in text_of(client.get(address(name, phase)))

    def test_the_admin_asks_before_it_deletes_or_brings_back_and_then_all_or_nothing(
        self, client, phase, after
    ):
        client.force_login(factories.make_user(is_staff=True, is_superuser=True))
        opened = phase.opens - 9 * HOUR
        harmless = factories.make_phase(
            task=phase.task, split="other", with_gold=False, opens=opened
        )
        chosen = {
            "action": "delete_selected",
            "_selected_action": [harmless.pk, phase.pk],
            "post": "yes",
        }
        self.asked_and_done(client, reverse("admin:tasks_phase_changelist"), chosen)
        assert list(Phase.objects.all()) == [after]
        # Brought back it withholds what the other one shows by then: nothing is let out by that.
        back = reverse("admin:core_auditentry_changelist")
        deleted = find_history_of_place(phase.task.season).filter(
            action__startswith="deleted", subject_id=phase.pk
        )
        entry = {"action": "bring_back", "_selected_action": [deleted.get().pk]}
        assert client.post(back, entry).status_code == 302
        Phase.objects.filter(pk=after.pk).update(let_out=[])
        client.post(
            reverse("admin:tasks_phase_delete", args=[after.pk]), {"post": "yes"}
        )
        gone = find_history_of_place(phase.task.season).filter(
            action__startswith="deleted"
        )
        entry["_selected_action"] = [
            row.pk for row in gone.exclude(subject_id=phase.pk)
        ]
        self.asked_and_done(client, back, entry)
        assert Phase.objects.count() == 3


def test_the_api_says_what_teams_learn_of_their_runs_and_not_what_a_setting_says(
    client, phase
):
    practice = factories.make_phase(task=phase.task, split="practice", title="Practice")
    where = f"{API}/phases/{practice.pk}/"
    assert client.get(where).json()["own_scores"] == "scored"
    Phase.objects.filter(pk=phase.pk).update(closes=timezone.now() - HOUR)
    assert client.get(where).json()["own_scores"] == "scores"
