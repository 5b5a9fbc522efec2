"""Settings by forms: the season, its tasks and phases; new ones, and what is deleted."""

import json

import pytest
from django.urls import reverse

from citeboard.core.audit import find_history_of_place
from citeboard.teams.models import Token
from tasks.models import Phase, Season, Task
from tasks.seasons.file.entries import make_setting_key
from tasks.seasons.file.load import InvalidSettings, change_settings
from tests import factories
from tests.api.conftest import API
from tests.scoring import boards
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def organiser(client):
    person = factories.make_user(name="Olga")
    client.force_login(person)
    return person


@pytest.fixture
def phase(organiser):
    season = factories.make_season(organiser=organiser, title="The season", slug="one")
    task = factories.make_task(season=season, slug="1a", title="Spans")
    return factories.make_phase(
        task=task, slug="final", title="Final", time_zone="Europe/Rome"
    )


def place(kind, *numbers) -> str:
    return reverse(f"organise-settings-{kind}", args=["one", *numbers])


def shown(client, where) -> dict:
    """What a browser would send back that has changed nothing."""
    form = client.get(where).context["form"]
    sent = {}
    for name, field in form.fields.items():
        value = field.prepare_value(form.get_initial_for_field(field, name))
        if value not in (None, False):
            written = value if isinstance(value, list) else str(value)
            sent[name] = sent[f"initial-{name}"] = written
    return sent


def save(client, where, **changed):
    sent = {**shown(client, where), **changed}
    return client.post(
        where, {name: value for name, value in sent.items() if value is not None}
    )


def test_a_form_that_is_sent_as_it_is_changes_nothing(client, phase):
    before = find_history_of_place(phase.task.season).count()
    for where in (
        place("season"),
        place("task", phase.task_id),
        place("phase", phase.pk),
    ):
        assert save(client, where).status_code == 302
    assert find_history_of_place(phase.task.season).count() == before


def test_a_phase_is_changed_and_the_history_says_what(client, phase, organiser):
    where = place("phase", phase.pk)
    answer = save(
        client,
        where,
        closes="2090-05-01 23:59 AoE",
        runs_per_day="2",
        board="organisers",
        shows_teams=None,
    )
    assert answer.status_code == 302
    phase.refresh_from_db()
    assert phase.closes.isoformat() == "2090-05-02T11:59:00+00:00"
    assert (phase.runs_per_day, phase.board, phase.shows_teams) == (
        2,
        "organisers",
        False,
    )
    entry = find_history_of_place(phase.task.season)[0]
    assert (entry.action, entry.actor) == ("phase-changed", organiser)
    assert {change["key"].rpartition(".")[2]: change["after"] for change in entry.changes} == {
        "closes": "2090-05-02T11:59:00Z", "runs_per_day": 2, "board": "organisers", "shows_teams": False,
    }  # fmt: skip


@pytest.mark.both_databases
def test_times_are_shown_on_the_clocks_of_the_phase(client, phase):
    Phase.objects.update(opens="2026-05-01T10:00Z")
    page = client.get(place("phase", phase.pk)).text
    assert 'value="2026-05-01 12:00"' in page
    assert "In Europe/Rome" in page


def test_times_are_read_in_the_zone_that_the_same_form_gives(client, phase):
    Phase.objects.update(opens="2026-05-01T10:00Z", closes="2090-05-01T21:59Z")
    where = place("phase", phase.pk)
    asked = save(client, where, time_zone="AoE", closes="2090-05-02 23:59")
    assert asked.status_code == 422
    assert "What stays?" in text_of(asked)
    names = list(asked.context["form"].fields)
    assert names[names.index("time_zone") + 1] == "zone_moves"
    assert Phase.objects.get().time_zone == "Europe/Rome"
    answer = save(
        client, where, time_zone="AoE", closes="2090-05-02 23:59", zone_moves="instants"
    )
    assert answer.status_code == 302
    times = {
        "opens": "2026-05-01T10:00:00+00:00",
        "closes": "2090-05-03T11:59:00+00:00",
    }
    phase.refresh_from_db()
    assert {name: getattr(phase, name).isoformat() for name in times} == times
    # As the clocks show it: what was 22:00 the day before on earth's last clock is 22:00 in Rome.
    assert (
        save(client, where, time_zone="Europe/Rome", zone_moves="clocks").status_code
        == 302
    )
    phase.refresh_from_db()
    assert phase.opens.isoformat() == "2026-04-30T20:00:00+00:00"
    assert phase.closes.isoformat() == "2090-05-02T21:59:00+00:00"


def test_the_history_shows_instants_in_the_season_s_zone_and_in_utc(client, phase):
    Season.objects.update(time_zone="AoE")
    save(client, place("phase", phase.pk), closes="2090-05-01 23:59 AoE")
    page = text_of(client.get(reverse("organise-history", args=["one"])))
    assert "→ 1 May 2090, 23:59 AoE (2 May 2090, 11:59 UTC)" in page


def test_a_new_phase_is_shown_with_the_zone_of_its_season(client, phase):
    Season.objects.update(time_zone="Asia/Tokyo")
    where = place("new-phase", phase.task_id)
    assert client.get(where).context["form"].initial["time_zone"] == "Asia/Tokyo"
    times = {
        "opens": "2026-01-01 00:00",
        "closes": "2090-01-01 09:00",
        "split": "next",
    }
    assert save(client, where, slug="next", title="Next", **times).status_code == 302
    assert (
        Phase.objects.get(slug="next").closes.isoformat() == "2090-01-01T00:00:00+00:00"
    )
    assert Phase.objects.get(slug="next").time_zone == "Asia/Tokyo"


@pytest.mark.both_databases
def test_a_phase_that_was_closed_by_hand_opens_again_until_its_planned_end(
    client, phase
):
    planned = Phase.objects.get().closes
    where = reverse("organise-phases", args=["one"])
    client.post(reverse("organise-close", args=["one", phase.pk]))
    assert Phase.objects.get().closes < planned
    assert "Reopen until" in text_of(client.get(where))
    client.post(reverse("organise-open", args=["one", phase.pk]))
    assert Phase.objects.get().closes == planned


def test_what_is_wrong_stands_at_its_field_and_nothing_changes(client, phase):
    answer = save(
        client,
        place("phase", phase.pk),
        opens="2091-01-01 00:00",
        closes="2090-01-01 00:00",
        title="New",
    )
    assert answer.status_code == 422
    assert "which is not after it opens" in str(answer.context["form"].errors["closes"])
    answer = save(client, place("phase", phase.pk), time_zone="Mars")
    assert "not a time zone" in text_of(answer)
    answer = save(client, place("phase", phase.pk), closes="soon")
    assert "“soon” is not a date and time" in str(
        answer.context["form"].errors["closes"]
    )
    phase.refresh_from_db()
    assert phase.title == "Final"


@pytest.mark.both_databases
def test_two_organisers_who_have_the_form_open_do_not_undo_each_other(client, phase):
    mine = shown(client, place("phase", phase.pk))
    save(client, place("phase", phase.pk), title="The final")
    client.post(place("phase", phase.pk), {**mine, "runs_in_total": "4"})
    phase.refresh_from_db()
    assert (phase.title, phase.runs_in_total) == ("The final", 4)


@pytest.mark.both_databases
def test_options_of_the_task_type_have_fields_and_runs_are_scored_again(client, phase):
    factories.make_submission(phase=phase, status="scored")
    answer = save(
        client, place("task", phase.task_id), **{"option-annotation": "annv3"}
    )
    assert answer.status_code == 302
    task = Task.objects.get()
    assert task.options == {"annotation": "annv3"}
    assert "queued for the runs" in find_history_of_place(task.season)[0].words
    answer = save(client, place("task", phase.task_id), rules="corrected\nnonsense")
    assert "has no rules “nonsense”" in str(answer.context["form"].errors["rules"])


def test_no_file_of_the_machine_is_named_by_a_form(phase, organiser):
    season = factories.make_season(organiser=organiser)
    task = factories.make_task(
        season=season, type="positional-citations", slug="p", title="Claims"
    )
    with pytest.raises(InvalidSettings, match="names a file"):
        change_settings(
            season=season,
            values={"tasks.p.options": {"entailment": "labels:/etc/passwd"}},
            by=organiser,
        )
    task.refresh_from_db()
    assert task.options == {}


@pytest.mark.both_databases
def test_a_task_and_a_phase_are_added_and_deleted_while_they_have_no_runs(
    client, phase
):
    answer = save(
        client, place("new-task"), slug="1b", title="Facets", type="clsumm-1b"
    )
    assert answer.status_code == 302
    task = Task.objects.get(slug="1b")
    assert (task.rules, task.options, task.season) == (
        ["corrected"],
        {},
        phase.task.season,
    )
    times = {"opens": "2026-01-01 00:00", "closes": "2090-01-01 00:00 AoE"}
    where = place("new-phase", task.pk)
    answer = save(client, where, slug="final", title="Final", **times)
    assert answer.status_code == 302, answer.context["form"].errors
    made = task.phases.get()
    assert made.closes.isoformat() == "2090-01-01T12:00:00+00:00"
    assert "This name is taken" in text_of(
        save(client, where, slug="final", title="Again", **times)
    )
    assert "cannot stand in an address" in text_of(
        save(client, where, slug="A b", title="Again", **times)
    )
    client.post(place("delete-phase", made.pk))
    client.post(place("delete-task", task.pk))
    assert not Task.objects.filter(slug="1b").exists()
    assert (
        find_history_of_place(phase.task.season)[0].words == "deleted the task Facets"
    )


@pytest.mark.both_databases
def test_what_has_runs_stays(client, phase):
    boards.make_run(phase, boards.make_team(phase, "Night Shift"))
    assert "has runs, which stay" in text_of(
        client.post(place("delete-phase", phase.pk), follow=True)
    )
    assert "which stays" in text_of(
        client.post(place("delete-task", phase.task_id), follow=True)
    )
    assert Phase.objects.filter(pk=phase.pk).exists()
    answer = save(client, place("phase", phase.pk), split="other")
    assert (
        "the phase has runs on split test"
        in str(answer.context["form"].errors["split"]).lower()
    )


def test_gold_and_places_of_others_stay_where_settings_change(client, phase):
    assert save(client, place("season"), title="Another").status_code == 302
    assert phase.task.gold.count() == 1
    assert Season.objects.get(slug="one").title == "Another"


def test_every_setting_of_a_form_is_a_key_of_the_file(phase, organiser):
    rows = {
        "season": phase.task.season,
        "tasks.1a": phase.task,
        "tasks.1a.phases.final": phase,
    }
    values = {
        make_setting_key(prefix, name): getattr(row, name)
        for prefix, row in rows.items()
        for name in row.SETTINGS
        if name != "entry_list"
    }
    assert (
        change_settings(season=phase.task.season, values=values, by=organiser).changes
        == []
    )


@pytest.fixture
def token(organiser):
    return {
        "HTTP_AUTHORIZATION": f"Token {Token.objects.create_token(user=organiser, name='mine')[1]}"
    }


def post_settings(client, token, **values):
    given = {key.replace("__", "."): value for key, value in values.items()}
    return client.post(
        f"{API}/seasons/one/settings/", {"settings": json.dumps(given)}, **token
    )


def test_settings_are_changed_by_token_by_the_keys_of_the_file(client, phase, token):
    answer = post_settings(
        client,
        token,
        tasks__1a__phases__final__closes="2090-05-01 23:59 AoE",
        tasks__1b__title="Facets",
        tasks__1b__type="clsumm-1b",
    )
    assert set(answer.json()["changes"]) == {
        "task 1b: created",
        "phase 1a/final: closes changed",
    }
    now = client.get(f"{API}/seasons/one/settings/", **token).json()["settings"]
    assert now["tasks.1a.phases.final.closes"] == "2090-05-02T11:59:00Z"
    assert (
        client.delete(f"{API}/seasons/one/settings/tasks.1b/", **token).status_code
        == 204
    )
    assert not Task.objects.filter(slug="1b").exists()


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("tasks__1a__phases__final__runs_per_day", 0, "“runs_per_day” is 0"),
        ("tasks__1a__phases__final__slug", "x", "there is no such setting"),
        ("season__organisers", ["eve@example.org"], "there is no such setting"),
        ("tasks__1a__gold", [], "there is no such setting"),
        ("nonsense", 1, "there is no such setting"),
        ("season__title", "\0", "holds a character that no text has"),
        ("season__title", {"a": 1}, "“title” is a table"),
        ("season__title", 1.5, None),
        ("season__public", "yes", "“public” is a text"),
        ("tasks__1b__title", "No type", "“type” is missing"),
        ("season__members_until", "whenever", "is not a"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_its_key(
    client, phase, token, key, value, words
):
    answer = post_settings(client, token, **{key: value})
    if words is None:
        assert answer.status_code == 200
        return
    (fault,) = answer.json()["faults"]
    assert answer.status_code == 422
    assert words in fault["message"]


def test_settings_are_an_object(client, phase, token):
    for text in ("[]", "nonsense", '"x"', "", '{"a": "\\ud800"}', "[" * 100_000):
        answer = client.post(
            f"{API}/seasons/one/settings/", {"settings": text}, **token
        )
        assert answer.status_code == 400
