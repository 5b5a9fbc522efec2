"""Acts refuse a later phase that tells more of the gold than its budget, or that has an unequal part."""

import datetime as dt
import json
import shutil
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from citeboard.core.instants import ENDLESS_PHASE_END
from citeboard.core.words import THIN_SPACE
from tasks.models import Phase, Season
from tasks.seasons.file.export import build_season_file_structure
from tasks.seasons.file.tables import format_season_file
from tests import factories
from tests.api.conftest import API
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db

TEXTS = [[f"D05-{number:04}", "3", ["1"], "Method_Citation"] for number in range(300)]
TOPICS = ["D01-0001"]
DAY = dt.timedelta(days=1)
#: Bits: a quarter for each of the 210 instances of the private part.
BUDGET = 52.5


@pytest.fixture
def phase(client) -> Phase:
    """An open leaderboard with a public part, in a season whose organiser is signed in."""
    organiser = factories.make_user()
    client.force_login(organiser)
    season = factories.make_season(organiser=organiser, slug="one")
    task = factories.make_task(season=season, slug="1a", title="Spans")
    phase = factories.make_phase(
        task=task,
        with_gold=False,
        slug="first",
        title="First",
        public_part=30,
        closes=ENDLESS_PHASE_END,
        runs_per_day=3,
    )
    factories.make_gold(phase=phase, citances=TEXTS, topics=TOPICS)
    return phase


def ended(phase: Phase, **fields) -> Phase:
    """A phase on the same split that is over, and whose board organisers alone see."""
    now = timezone.now()
    times = {"opens": now - 20 * DAY, "closes": now - DAY}
    return factories.make_phase(task=phase.task, board="organisers", **times, **fields)


def settings_of(task: str, slug: str, **fields) -> dict[str, object]:
    """The keys of a new phase on the split of the first one, which ends."""
    given = {
        "title": slug.capitalize(),
        "opens": "2026-01-01 00:00",
        "closes": "2090-01-01 00:00",
        **fields,
    }
    return {f"tasks.{task}.phases.{slug}.{key}": value for key, value in given.items()}


def send(client, values: dict[str, object], **query):
    address = f"{API}/seasons/one/settings/"
    if query:
        address += f"?{urlencode(query)}"
    return client.post(address, {"settings": json.dumps(values)})


def slugs() -> set[str]:
    return set(Phase.objects.values_list("slug", flat=True))


UNPROTECTED = {"runs_per_day": 50}
EQUAL = {"runs_per_day": 50, "public_part": 30}
UNEQUAL = {"runs_per_day": 50, "public_part": 60}


class TestALaterPhaseBeyondTheBudget:
    def test_a_program_reads_what_was_found_what_was_expected_and_what_adds_up(
        self, client, phase
    ):
        answer = send(client, settings_of("1a", "second", **UNPROTECTED))
        assert answer.status_code == 409
        told = answer.json()
        [over] = told["lets_out"]
        assert (over["what"], over["phase"]) == ("budget", phase.pk)
        assert over["bits"] > 100_000
        assert over["bits_colluding"] == pytest.approx(5 * over["bits"])
        assert over["bits_expected"] == BUDGET
        assert [item.partition(" (")[0] for item in over["adds_up"]] == [
            "Spans, Second: scores by corrected",
            "Spans, First: ranks by corrected",
        ]
        assert (
            "reveal more of the gold than its budget allows: Spans, First:"
            in told["detail"]
        )
        assert "at most 52 bits are expected" in told["detail"]
        assert "Spans, Second: scores by corrected" in told["detail"]
        assert slugs() == {"first"}

    def test_its_rehearsal_says_the_same(self, client, phase):
        values = settings_of("1a", "second", **UNPROTECTED)
        rehearsed = send(client, values, dry_run="true").json()
        [over] = rehearsed["lets_out"]
        assert over["what"] == "budget"
        assert rehearsed["asks_for_name"] is True
        assert slugs() == {"first"}

    def test_the_page_asks_for_the_name_and_a_reason_and_the_history_has_both(
        self, client, phase
    ):
        where = reverse("organise-settings-new-phase", args=["one", phase.task_id])
        values = {
            "slug": "second",
            "title": "Second",
            "split": "test",
            "opens": "2026-01-01 00:00",
            "closes": "2090-01-01 00:00",
            "time_zone": "UTC",
            "board": "everyone",
            "counting": "best",
            "runs_per_day": "50",
        }
        page = client.post(where, values)
        assert page.status_code == 409
        words = text_of(page)
        assert "This would reveal more of the gold than its budget allows" in words
        assert "before its time" not in words
        assert "Spans, Second: scores by corrected" in words
        assert slugs() == {"first"}
        hidden = dict(page.context["posted"])
        go_on = {
            **hidden,
            "rehearsed": page.context["rehearsal"].digest,
            "let_out_task": "Spans",
            "let_out_reason": "Everybody knows these labels.",
        }
        assert client.post(where, go_on).status_code == 302
        assert slugs() == {"first", "second"}
        [entry] = [
            entry
            for entry in find_history_of_place(phase.task.season)
            if entry.action == "let-out"
        ]
        assert "Everybody knows these labels." in entry.words
        assert "one team is told" in entry.words

    def test_a_german_reader_is_asked_in_german_and_the_history_is_english(
        self, client, phase
    ):
        second = ended(phase, slug="second", title="Second")
        where = reverse("organise-board", args=["one", second.pk])
        values = {"board": "everyone", "board_from": "", "board_then": ""}
        german = {"HTTP_ACCEPT_LANGUAGE": "de"}
        page = client.post(where, values, **german)
        assert page.status_code == 409
        words = text_of(page)
        assert "Werte könnten mehr verraten, als das Budget erlaubt" in words
        assert "Ein Team erfährt höchstens alles" in words
        assert "Dies ergibt die Summe: Spans, Second: Werte nach corrected" in words
        go_on = {
            "rehearsed": page.context["rehearsal"].digest,
            "let_out_task": "Spans",
            "let_out_reason": "Bekannt.",
        }
        assert client.post(where, values | go_on, **german).status_code == 302
        entry = find_history_of_place(phase.task.season).filter(action="let-out").get()
        assert "one team is told at most everything" in str(entry.facts["what"])

    def test_more_tries_of_a_phase_that_has_a_neighbour_are_refused_too(
        self, client, phase
    ):
        factories.make_phase(
            task=phase.task, slug="second", board="organisers", runs_in_total=1
        )
        key = "tasks.1a.phases.second.own_scores"
        answer = send(client, {key: "scores"})
        assert answer.status_code == 409
        assert "budget" in {row["what"] for row in answer.json()["lets_out"]}

    def test_gold_of_another_task_that_shows_the_same_is_refused(
        self, client, phase, tmp_path
    ):
        task = factories.make_task(season=phase.task.season, slug="b", title="Again")
        factories.make_phase(task=task, with_gold=False, runs_per_day=50)
        corpus = factories.write_corpus(
            tmp_path / "corpus", citances=TEXTS, topics=TOPICS
        )
        archive = shutil.make_archive(str(tmp_path / "gold"), "zip", corpus)
        file = SimpleUploadedFile("gold.zip", Path(archive).read_bytes())
        answer = client.post(
            f"{API}/tasks/{task.pk}/gold/", {"file": file, "reason": "First."}
        )
        assert answer.status_code == 409, answer.content
        assert {row["what"] for row in answer.json()["lets_out"]} == {"budget"}
        assert not task.gold.exists()

    def test_a_phase_of_a_season_of_the_same_organiser_is_refused_when_it_is_published(
        self, client, phase
    ):
        organiser = phase.task.season.organisers.get().user
        draft = factories.make_season(organiser=organiser, slug="two", is_public=False)
        task = factories.make_task(season=draft, slug="x", title="Draft task")
        other = factories.make_phase(task=task, with_gold=False, runs_per_day=50)
        factories.make_gold(phase=other, citances=TEXTS, topics=TOPICS)
        answer = client.post(
            f"{API}/seasons/two/settings/",
            {"settings": json.dumps({"season.public": True})},
        )
        assert answer.status_code == 409
        assert {row["what"] for row in answer.json()["lets_out"]} == {"budget"}

    def test_a_season_of_another_organiser_refuses_nothing(self, client, phase):
        other = factories.make_phase(
            task=factories.make_task(
                season=factories.make_season(organiser=factories.make_user())
            ),
            with_gold=False,
            runs_per_day=500,
        )
        factories.make_gold(phase=other, citances=TEXTS, topics=TOPICS)
        answer = send(client, settings_of("1a", "second", **EQUAL))
        assert answer.status_code == 200, answer.content

    def test_phases_are_planned_in_a_draft(self, client, phase):
        Season.objects.update(is_public=False)
        answer = send(client, settings_of("1a", "second", **UNPROTECTED))
        assert answer.status_code == 200, answer.content
        assert send(client, {"season.public": True}).status_code == 200

    def test_all_phases_of_a_new_season_come_together_and_are_not_refused(
        self, client, phase
    ):
        Phase.objects.all().delete()
        both = settings_of("1a", "second", **UNPROTECTED)
        both |= settings_of("1a", "third", **UNPROTECTED)
        assert send(client, both).status_code == 200
        assert slugs() == {"second", "third"}


class TestParts:
    def test_an_equal_part_is_accepted(self, client, phase):
        answer = send(client, settings_of("1a", "second", **EQUAL))
        assert answer.status_code == 200, answer.content
        assert slugs() == {"first", "second"}

    @pytest.mark.parametrize("query", [{}, {"dry_run": "true"}])
    def test_an_unequal_part_is_refused_by_what_was_found_and_expected(
        self, client, phase, query
    ):
        answer = send(client, settings_of("1a", "second", **UNEQUAL), **query)
        assert answer.status_code == 409
        assert answer.json()["detail"] == (
            "Spans, Second has the public part 60 %; expected is 30 %, that of Spans, First: parts of the "
            "same content must be equal."
        )
        assert slugs() == {"first"}

    def test_the_form_names_an_unequal_part_and_asks_nothing(self, client, phase):
        second = factories.make_phase(
            task=phase.task, slug="second", title="Second", public_part=30
        )
        where = reverse("organise-settings-phase", args=["one", second.pk])
        form = client.get(where).context["form"]
        sent = {
            name: form[name].value()
            for name in form.fields
            if form[name].value() not in (None, False)
        }
        answer = client.post(where, sent | {"public_part": "60"})
        assert answer.status_code == 422
        [fault] = answer.context["form"].non_field_errors()
        assert "expected is 30 %, that of Spans, First" in fault

    def test_the_command_that_loads_a_season_says_so_and_loads_nothing(
        self, client, phase, tmp_path
    ):
        text = format_season_file(build_season_file_structure(phase.task.season))
        head, _phase, rest = text.partition("[[tasks.phases]]")
        added = (
            'slug = "second"\ntitle = "Second"\nopens = 2026-01-01T00:00:00Z\n'
            "closes = 2090-01-01T00:00:00Z\npublic_part = 60\n"
        )
        factories.write_corpus(tmp_path / "corpus", citances=TEXTS, topics=TOPICS)
        head += '[[tasks.gold]]\npaths = ["corpus"]\n'
        blocks = [head, rest, f"\n{added}"]
        (tmp_path / "season.toml").write_text("[[tasks.phases]]".join(blocks))
        with pytest.raises(
            CommandError, match=r"expected is 30 %, .* nothing was loaded"
        ):
            call_command("load_season", str(tmp_path), apply=["all"])
        assert slugs() == {"first"}

    def test_no_name_and_reason_get_an_unequal_part_through(self, client, phase):
        answer = send(
            client,
            settings_of("1a", "second", **UNEQUAL),
            let_out_task="Spans",
            let_out_reason="Because.",
        )
        assert answer.status_code == 409
        assert slugs() == {"first"}

    def test_unequal_parts_are_refused_even_where_all_phases_are_new(
        self, client, phase
    ):
        Phase.objects.all().delete()
        both = settings_of("1a", "second", **EQUAL)
        both |= settings_of("1a", "third", **UNEQUAL)
        assert send(client, both).status_code == 409
        assert slugs() == set()

    def test_both_shares_are_changed_in_one_act(self, client, phase):
        assert send(client, settings_of("1a", "second", **EQUAL)).status_code == 200
        keys = [f"tasks.1a.phases.{slug}.public_part" for slug in ("first", "second")]
        assert send(client, {keys[0]: 40}).status_code == 409
        assert send(client, dict.fromkeys(keys, 40)).status_code == 200

    def test_gold_of_only_some_of_the_instances_draws_another_part(self, client, phase):
        task = factories.make_task(season=phase.task.season, slug="b", title="Some")
        other = factories.make_phase(task=task, split="half", with_gold=False)
        factories.make_gold(phase=other, citances=TEXTS[:150], topics=TOPICS)
        other.delete()
        values = settings_of("b", "second", split="half", **EQUAL)
        answer = send(client, values)
        assert answer.status_code == 409
        assert "share a part of their instances alone" in answer.json()["detail"]


class TestWhatRunsAlready:
    @pytest.fixture
    def second(self, phase) -> Phase:
        """As an earlier release let it be."""
        return factories.make_phase(
            task=phase.task,
            slug="second",
            title="Second",
            public_part=60,
            runs_per_day=9,
        )

    def test_its_page_tells_the_organiser_the_sum_and_what_adds_up(
        self, client, phase, second
    ):
        third = factories.make_phase(
            task=phase.task, slug="third", title="Third", runs_in_total=2
        )
        where = reverse("organise-settings-phase", args=["one", phase.pk])
        page = client.get(where)
        words = text_of(page)
        assert "Warning:" in words
        assert "5 teams that collude exceed the budget of 52 bits" in words
        assert (
            "Another public part of the same instances is drawn in Spans, Second"
            in (words)
        )
        assert f"Spans, {third.title} scores by corrected 2 runs," in words
        budget = page.context["budget"]
        sums = f"Together {budget.bits_text_for_one_team} {budget.bits_text_for_colluding_teams}"
        assert sums.replace(THIN_SPACE, " ") in words

    def test_other_settings_change_and_runs_are_taken(self, client, phase, second):
        answer = send(client, {"tasks.1a.phases.first.title": "The first"})
        assert answer.status_code == 200, answer.content
        team = factories.make_team(season=phase.task.season)
        run = factories.make_submission(
            phase=second,
            team=team,
            content=factories.run_bytes(topics=TOPICS, citances=TEXTS),
        )
        assert run.pk

    def test_fewer_tries_are_not_refused(self, client, phase, second):
        answer = send(client, {"tasks.1a.phases.second.runs_per_day": 1})
        assert answer.status_code == 200, answer.content

    def test_the_results_of_a_phase_that_is_over_are_asked_about(self, client, phase):
        over = ended(phase, slug="over", title="Over", runs_in_total=5)
        values = {f"tasks.1a.phases.{over.slug}.board": "everyone"}
        answer = send(client, values)
        assert {row["what"] for row in answer.json()["lets_out"]} == {"budget"}
        asked = {"let_out_task": "Spans", "let_out_reason": "The results are due."}
        assert send(client, values, **asked).status_code == 200
