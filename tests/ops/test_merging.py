"""Two teams of a season become one, and nothing is lost."""

import datetime as dt

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.core.audit import find_history_of_place
from citeboard.ops.merging import (
    accept_merge,
    drop_merge_proposal,
    merge_teams,
    propose_merge,
)
from scoring.models import Evaluation
from scoring.results.board.standings import compute_board
from tasks.models import Bundle, MergeProposal, Phase, Registration, Submission
from tasks.models.seasons import increment_board_version
from tasks.registration.entries import TeamEntryRefused
from tasks.submissions.run_acts import give_tries
from tasks.submissions.submit import compute_remaining_quota
from tests import factories
from tests.scoring import boards
from tests.tasks.mailing import letters_to
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture(autouse=True)
def _address(settings):
    settings.BASE_URL = "https://board.example.org"


@pytest.fixture
def olga():
    return factories.make_user(name="Olga")


@pytest.fixture
def phase(olga):
    later = timezone.now() + dt.timedelta(days=10)
    season = factories.make_season(
        organiser=olga, slug="the-season", title="The season", merge_until=later
    )
    phase = boards.make_phase(season)
    phase.runs_in_total = 5
    phase.save()
    return phase


@pytest.fixture
def season(phase):
    return phase.task.season


@pytest.fixture
def ada():
    return factories.make_user(name="Ada")


@pytest.fixture
def bob():
    return factories.make_user(name="Bob")


@pytest.fixture
def day(season, ada):
    return factories.make_team(
        season=season, lead=ada, name="Day Shift", slug="day-shift"
    )


@pytest.fixture
def night(season, bob):
    return factories.make_team(
        season=season, lead=bob, name="Night Shift", slug="night-shift"
    )


def test_runs_members_tries_and_scores_go_into_the_team_that_stays(
    phase, season, day, night, ada, bob, olga
):
    kept = boards.scored_run(phase, day, 0.4, system="Owl")
    moved = [
        boards.scored_run(phase, night, value, system=f"Bat {value}")
        for value in (0.3, 0.6)
    ]
    give_tries(phase=phase, team=night, tries=2, reason="The site was away.", by=olga)
    bundle = Bundle.objects.create(
        season=season, team=night, filename="runs.zip", sha256="0" * 64
    )
    assert (
        accept_merge(
            proposal=propose_merge(season=season, team=night, into=day, by=bob), by=ada
        )
        == 2
    )
    for run in (kept, *moved):
        run.refresh_from_db()
    first = kept.number
    assert [run.team for run in (kept, *moved)] == [day] * 3
    assert [run.number for run in moved] == [first + 1, first + 2]
    assert set(Evaluation.objects.values_list("team", flat=True)) == {day.pk}
    bundle.refresh_from_db()
    assert bundle.team == day
    assert {str(member) for member in day.members.all()} == {"Ada", "Bob"}
    assert compute_remaining_quota(phase, day).left == 5 + 2 - 3
    (row,) = compute_board(phase, None).rows
    assert (row.team, row.system) == ("Day Shift", "Bat 0.6")
    assert list(
        Registration.objects.filter(season=season).values_list("team__name", flat=True)
    ) == ["Day Shift"]
    assert not MergeProposal.objects.exists()


def test_the_history_says_which_run_had_which_number(
    phase, season, day, night, ada, bob
):
    kept, moved = (
        boards.scored_run(phase, day, 0.4),
        boards.scored_run(phase, night, 0.3),
    )
    accept_merge(
        proposal=propose_merge(season=season, team=night, into=day, by=bob), by=ada
    )
    entries = find_history_of_place(season).filter(action="teams-merged")
    assert {entry.words for entry in entries} == {
        "merged Night Shift into Day Shift, with 1 run"
    }
    changes = {
        change["key"]: (change["before"], change["after"])
        for change in entries[0].changes
    }
    assert changes == {
        "team": ("Night Shift", "Day Shift"),
        "members": (None, ["Bob"]),
        f"run {phase.task.slug}/{phase.slug}": (
            f"Night Shift {moved.number}",
            f"Day Shift {kept.number + 1}",
        ),
    }
    assert find_history_of_place(day).filter(action="teams-merged").exists()


def test_of_what_both_have_once_the_team_that_stays_keeps_its_own(
    phase, season, day, night, olga
):
    own, theirs = boards.make_run(phase, day), boards.make_run(phase, night)
    for run in (own, theirs):
        run.idempotency_key, run.is_selected = "the-key", True
        run.save()
    merge_teams(
        season=season, team=night, into=day, by=olga, reason="They are one group."
    )
    for run in (own, theirs):
        run.refresh_from_db()
    assert (own.idempotency_key, own.is_selected) == ("the-key", True)
    assert (theirs.idempotency_key, theirs.is_selected) == ("", False)


def test_the_last_run_of_both_counts_where_the_last_run_counts(
    phase, season, day, night, olga
):
    phase.counting = "last"
    phase.save()
    first = boards.scored_run(phase, night, 0.6, system="Earlier")
    boards.scored_run(phase, day, 0.4, system="Later")
    merge_teams(
        season=season, team=night, into=day, by=olga, reason="They are one group."
    )
    (row,) = compute_board(phase, None).rows
    assert row.system == "Later"
    first.refresh_from_db()
    first.status = "withdrawn"
    first.save()
    increment_board_version(phase.pk)
    phase.refresh_from_db()
    (row,) = compute_board(phase, None).rows
    assert row.system == "Later"


def test_the_lead_is_asked_and_all_members_are_told(season, day, night, ada, bob):
    proposal = propose_merge(season=season, team=night, into=day, by=bob)
    assert propose_merge(season=season, team=night, into=day, by=bob) == proposal
    assert letters_to(ada) == [
        (
            "[Citeboard] Night Shift asks to merge into Day Shift\n\n"
            "Night Shift asks to merge into Day Shift.\n\n"
            "If you accept, its members come into your team, and its runs and tries in The season become "
            "yours. You can decline.\n\nhttps://board.example.org/teams/day-shift/#merge"
        )
    ]
    accept_merge(proposal=proposal, by=ada)
    assert letters_to(bob) == [
        (
            "[Citeboard] Night Shift was merged into Day Shift\n\nNight Shift was merged into Day Shift.\n\n"
            "Members, runs and tries in The season are those of one team now, called Day Shift.\n\n"
            "https://board.example.org/teams/day-shift/"
        )
    ]
    with pytest.raises(TeamEntryRefused, match="answered or withdrawn"):
        drop_merge_proposal(proposal=proposal, by=bob)


def test_a_proposal_that_is_dropped_changes_nothing(
    phase, season, day, night, ada, bob
):
    run = boards.make_run(phase, night)
    proposal = propose_merge(season=season, team=night, into=day, by=bob)
    drop_merge_proposal(proposal=proposal, by=ada)
    run.refresh_from_db()
    assert run.team == night
    assert letters_to(ada) == []
    with pytest.raises(TeamEntryRefused, match="answered or withdrawn"):
        accept_merge(proposal=proposal, by=ada)


def test_after_the_date_organisers_alone_merge_teams(
    season, day, night, ada, bob, olga
):
    proposal = propose_merge(season=season, team=night, into=day, by=bob)
    season.merge_until = timezone.now() - dt.timedelta(days=1)
    season.save()
    with pytest.raises(TeamEntryRefused, match="could merge until"):
        accept_merge(proposal=proposal, by=ada)
    season.merge_until = None
    season.save()
    with pytest.raises(TeamEntryRefused, match="do not merge by themselves"):
        propose_merge(season=season, team=day, into=night, by=ada)
    merge_teams(
        season=season, team=night, into=day, by=olga, reason="They are one group."
    )
    assert letters_to(bob)[0].startswith(
        "[Citeboard] Night Shift was merged into Day Shift"
    )
    assert "The organisers say: They are one group." in letters_to(ada)[0]


def test_the_size_of_a_team_holds_for_teams_and_not_for_organisers(
    season, day, night, ada, bob, olga
):
    season.max_team_size = 1
    season.save()
    proposal = propose_merge(season=season, team=night, into=day, by=bob)
    with pytest.raises(TeamEntryRefused, match="at most"):
        accept_merge(proposal=proposal, by=ada)
    assert Registration.objects.filter(season=season).count() == 2
    merge_teams(season=season, team=night, into=day, by=olga, reason="They asked.")
    assert day.members.count() == 2


def test_what_another_season_says_of_its_teams_holds(
    season, day, night, ada, bob, olga
):
    other = factories.make_season(organiser=olga)
    Registration.objects.create(season=other, team=day)
    factories.make_team(season=other, lead=bob)
    with pytest.raises(TeamEntryRefused, match="with another team"):
        merge_teams(season=season, team=night, into=day, by=olga, reason="They asked.")
    assert Registration.objects.filter(season=season).count() == 2


def test_an_organiser_lets_nobody_into_a_team_that_others_organise_seasons_of(
    season, day, night, ada, olga
):
    """Its members read its runs there."""
    Registration.objects.create(season=factories.make_season(), team=day)
    with pytest.raises(TeamEntryRefused, match="its new members would read"):
        merge_teams(season=season, team=night, into=day, by=olga, reason="They asked.")
    assert [str(member) for member in day.members.all()] == ["Ada"]


def test_two_teams_do_not_merge_to_send_more_runs_than_one_may(
    phase, season, day, night, ada, bob, olga
):
    for team in (day, night):
        for _ in range(3):
            boards.make_run(phase, team)
    proposal = propose_merge(season=season, team=night, into=day, by=bob)
    with pytest.raises(
        TeamEntryRefused, match=r"submitted 6 runs in .* where one may submit 5"
    ):
        accept_merge(proposal=proposal, by=ada)
    give_tries(phase=phase, team=day, tries=1, reason="They merge.", by=olga)
    assert accept_merge(proposal=proposal, by=ada) == 3


def test_runs_in_other_seasons_stay_where_they_are(season, day, night, olga):
    other = boards.make_phase(factories.make_season())
    Registration.objects.create(season=other.task.season, team=night)
    run = boards.make_run(other, night)
    merge_teams(season=season, team=night, into=day, by=olga, reason="They asked.")
    run.refresh_from_db()
    assert run.team == night


@pytest.mark.parametrize("wrong", ["itself", "elsewhere"])
def test_teams_that_cannot_merge_are_refused(season, day, night, olga, wrong):
    into = night if wrong == "itself" else factories.make_team()
    with pytest.raises(TeamEntryRefused):
        merge_teams(season=season, team=night, into=into, by=olga, reason="They asked.")


def post(client, person, name, *arguments, **data):
    client.force_login(person)
    return text_of(client.post(reverse(name, args=arguments), data, follow=True))


def test_two_leads_merge_their_teams_on_their_pages(
    client, season, day, night, ada, bob
):
    page = post(
        client, bob, "team-merge", night.slug, season=season.slug, into=day.slug
    )
    assert "You have asked to merge into Day Shift; its lead decides." in page
    proposal = MergeProposal.objects.get()
    page = post(
        client, bob, "team-merge-answer", night.slug, proposal.pk, decision="accept"
    )
    assert "Say whether to accept or to decline." in page
    client.force_login(ada)
    assert "Night Shift asks to merge into Day Shift" in text_of(
        client.get(reverse("team", args=[day.slug]))
    )
    page = post(
        client, ada, "team-merge-answer", day.slug, proposal.pk, decision="accept"
    )
    assert "Night Shift is part of Day Shift now, with no runs." in page


def test_no_program_accepts_what_its_own_team_has_proposed(
    client, season, day, night, bob
):
    proposal = propose_merge(season=season, team=night, into=day, by=bob)
    client.force_login(bob)
    answer = reverse("api:merge", args=[night.slug, proposal.pk])
    assert client.post(answer, {"decision": "accept"}).status_code == 400
    assert MergeProposal.objects.filter(pk=proposal.pk).exists()


def test_an_organiser_merges_two_teams_with_a_reason(client, season, day, night, olga):
    chosen = {"merge-team": night.slug, "merge-into": day.slug}
    page = post(client, olga, "organise-merge", season.slug, **chosen)
    assert "The teams were not merged: This field is required." in page
    page = post(
        client,
        olga,
        "organise-merge",
        season.slug,
        **chosen,
        **{"merge-reason": "They asked."},
    )
    assert "Night Shift is part of Day Shift now, with no runs." in page


def test_where_runs_have_a_priority_those_of_the_team_that_stays_come_first(
    phase, season, day, night, olga
):
    Phase.objects.update(counting="priority", priority_runs=2)
    for place in (1, 2):
        for team, name in ((night, "Bat"), (day, "Owl")):
            run = boards.scored_run(phase, team, 0.1 * place, system=f"{name} {place}")
            Submission.objects.filter(pk=run.pk).update(priority=place)
    phase.refresh_from_db()
    merge_teams(
        season=season, team=night, into=day, by=olga, reason="They share a laboratory."
    )
    assert {row.system for row in compute_board(phase, None).rows} == {"Owl 1", "Owl 2"}
    runs = Submission.objects.order_by("priority", "number")
    assert [run.system for run in runs] == ["Owl 1", "Owl 2", "Bat 1", "Bat 2"]
