"""What a team does with a run that is sent: describes it anew, deletes its file, reads what happened."""

import pytest
from django.urls import reverse

from citeboard.core import storage
from citeboard.core.audit import find_history_of_subjects
from citeboard.web.organise.attention import find_season_concerns
from tasks.jobs import engine, leases
from tasks.models import Gold, Job, Phase, Submission
from tasks.submissions.run_acts import withdraw_run
from tests import factories
from tests.scoring import boards

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    run = factories.make_submission(status="scored", description="The first one.")
    boards.score(run, 0.5, gold=run.phase.task.gold.get())
    return run


@pytest.fixture
def member(client, run):
    found = run.team.memberships.get().user
    client.force_login(found)
    return found


def describe(client, run, description="Another one.", links="https://example.org/code"):
    where = reverse("submission-describe", args=[run.pk])
    return client.post(
        where, {"description": description, "links": links}, follow=True
    ).content.decode()


@pytest.mark.both_databases
def test_a_team_says_something_else_of_its_run_and_the_history_keeps_what_it_said(
    client, run, member
):
    page = describe(client, run)
    assert "Another one." in page
    assert 'href="https://example.org/code" rel="nofollow ugc noopener"' in page
    [entry] = find_history_of_subjects(run)
    assert [(change["before"], change["after"]) for change in entry.changes] == [
        ("The first one.", "Another one."),
        ([], ["https://example.org/code"]),
    ]
    describe(client, run)
    assert find_history_of_subjects(run).count() == 1


def test_the_form_begins_with_the_links_that_there_are_one_a_line(client, run, member):
    page = describe(
        client, run, links="https://example.org/code\nhttps://example.org/paper"
    )
    assert ">https://example.org/code\nhttps://example.org/paper</textarea>" in page


@pytest.mark.parametrize(
    "links",
    ["javascript:alert(1)", "ftp://example.org", "example.org", "https://" + "x" * 300,
     "\n".join(f"https://example.org/{number}" for number in range(6))],
)  # fmt: skip
def test_what_is_no_link_is_refused_and_nothing_is_kept(client, run, member, links):
    describe(client, run, links=links)
    run.refresh_from_db()
    assert (run.description, run.links) == ("The first one.", [])


@pytest.mark.parametrize("shows_teams", [True, False])
def test_links_are_on_the_board_where_it_names_teams(client, run, shows_teams):
    Submission.objects.update(links=["https://example.org/canary"])
    Phase.objects.update(shows_teams=shows_teams)
    place = [run.phase.task.season.slug, run.phase.task.slug, run.phase.slug, run.pk]
    page = client.get(reverse("standing", args=place)).content.decode()
    assert ("https://example.org/canary" in page) is shows_teams


@pytest.mark.both_databases
def test_the_file_of_a_withdrawn_run_goes_and_its_digest_and_numbers_stay(
    client, run, member, django_capture_on_commit_callbacks
):
    withdraw_run(run, member)
    file, digest = run.file, run.sha256
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("submission-delete-file", args=[run.pk]))
    run.refresh_from_db()
    assert (run.file, run.sha256) == ("", digest)
    assert not storage.run_file_storage.exists(file)
    page = client.get(reverse("submission", args=[run.pk])).content.decode()
    assert digest in page
    assert "0.5000" in page
    assert client.get(reverse("submission-run", args=[run.pk])).status_code == 404


@pytest.mark.both_databases
def test_a_file_that_another_run_names_stays_for_it(
    client, run, member, django_capture_on_commit_callbacks
):
    other = factories.make_submission()
    Submission.objects.filter(pk=other.pk).update(file=run.file)
    withdraw_run(run, member)
    with django_capture_on_commit_callbacks(execute=True):
        client.post(reverse("submission-delete-file", args=[run.pk]))
    assert storage.run_file_storage.exists(run.file)


def test_the_file_of_a_run_that_stands_cannot_be_deleted(client, run, member):
    client.post(reverse("submission-delete-file", args=[run.pk]))
    run.refresh_from_db()
    assert storage.run_file_storage.exists(run.file)


def test_the_page_says_step_by_step_what_happened_and_no_more_than_its_team_may_know(
    client,
):
    run = factories.make_submission()
    job = engine.claim_job(run.jobs.first().pk, "worker")
    leases.complete_job(job, lambda: None)
    client.force_login(run.team.memberships.get().user)
    where = reverse("api:run-history", args=[run.pk])
    told = [event["words"] for event in client.get(where).json()]
    assert [words.partition(" ")[0] for words in told] == [
        "the",
        "received:",
        "scoring",
        "scoring",
    ]
    assert told[-1].endswith("against gold v1: done")
    Phase.objects.update(board="nobody", own_scores="nothing")
    assert len(client.get(where).json()) == 2
    assert (
        "gold v1: done"
        not in client.get(reverse("submission", args=[run.pk])).content.decode()
    )


def told(season) -> dict[str, int]:
    return {concern.name: concern.total for concern in find_season_concerns(season)}


@pytest.mark.both_databases
def test_the_same_file_from_two_teams_is_pointed_out_to_organisers(
    django_capture_on_commit_callbacks,
):
    with django_capture_on_commit_callbacks(execute=True):
        run = factories.make_submission(content=factories.run_bytes())
        factories.make_submission(
            phase=run.phase, team=run.team, content=factories.run_bytes()
        )
    season = run.phase.task.season
    assert "same-files" not in told(season)
    with django_capture_on_commit_callbacks(execute=True):
        other = factories.make_submission(
            phase=run.phase, content=factories.run_bytes()
        )
    assert told(season)["same-files"] == 3
    Submission.objects.filter(pk=other.pk).update(status="cancelled")
    assert "same-files" not in told(season)


def ended(run, how, *given):
    assert how(engine.claim_job(run.jobs.earliest("pk").pk, "worker"), *given)


def test_a_run_that_failed_is_pointed_out_until_a_later_one_of_its_team_is_scored():
    failed = factories.make_submission()
    season, more = (
        failed.phase.task.season,
        {"phase": failed.phase, "team": failed.team},
    )
    ended(failed, leases.fail_job, "It ran out of memory.")
    assert told(season)["failed-runs"] == 1
    ended(
        factories.make_submission(phase=failed.phase), leases.complete_job, lambda: None
    )
    assert told(season)["failed-runs"] == 1
    ended(factories.make_submission(**more), leases.complete_job, lambda: None)
    assert "failed-runs" not in told(season)


@pytest.mark.both_databases
@pytest.mark.parametrize("is_first", [True, False])
def test_rules_under_which_a_scored_run_failed_are_pointed_out_whichever_ended_first(
    is_first,
):
    run = factories.make_submission()
    other = Job.objects.create(
        submission=run, gold=Gold.objects.get(), rules="other", options_digest="d"
    )
    if is_first:
        leases.fail_job(engine.claim_job(other.pk, "worker"), "It ran out of memory.")
    ended(run, leases.complete_job, lambda: None)
    if not is_first:
        leases.fail_job(engine.claim_job(other.pk, "worker"), "It ran out of memory.")
    assert told(run.phase.task.season)["failed-rescorings"] == 1
