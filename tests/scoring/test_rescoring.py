"""Scoring again: one run, a phase, a season. Asked for twice it happens once; stopped, it can go on."""

import io

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.utils import timezone

from citeboard.core.models import AuditEntry
from citeboard.core.refusals import ActionRefused
from scoring.metrics.base import Metric
from scoring.metrics.clsumm import PlainRouge
from scoring.models import Evaluation, Rescore, Score
from scoring.results.board.standings import compute_board
from scoring.worker import rescoring
from scoring.worker.rescoring import (
    compute_rescoring_progress,
    queue_rescoring_jobs,
    request_rescoring_of_phase,
    request_rescoring_of_season,
    rescore_run,
    stop_rescoring,
)
from tasks.jobs import engine, leases
from tasks.models import Job, Phase, Submission
from tasks.types.positional_citations import parsing
from tasks.types.positional_citations.rule_parser import RULE_PARSER_VERSION
from tests import factories
from tests.api.sending import score
from tests.kept_worlds import KeptWorld, keep_world
from tests.scoring import boards

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
OTHER = (
    ("D05-0001", "3", ["4"], "Aim_Citation"),
    ("D05-0002", "7", ["2"], "Results_Citation"),
)
RULES = ["corrected", "official-2017"]


def make_phase() -> Phase:
    return factories.make_phase(task=factories.make_task(rules=RULES))


def make_runs() -> tuple[Phase, list[Submission]]:
    phase = make_phase()
    return phase, [scored(phase, sentence) for sentence in ("1", "2", "3")]


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_runs, django_db_blocker)


@pytest.fixture
def world(request, db, kept) -> tuple[Phase, list[Submission]]:
    return kept() if "runs" in request.fixturenames else (make_phase(), [])


@pytest.fixture
def phase(world) -> Phase:
    return world[0]


@pytest.fixture
def runs(world) -> list[Submission]:
    return world[1]


def scored(phase, sentence="1", **fields) -> Submission:
    run = factories.make_submission(
        phase=phase, content=factories.run_bytes(sentences=(sentence,)), **fields
    )
    score(run)
    return run


def corrected(phase):
    return factories.make_gold(phase=phase, citances=OTHER, reason="A fix.")


def waiting(phase) -> int:
    return Job.objects.filter(submission__phase=phase, state="queued").count()


def command(*arguments) -> str:
    out = io.StringIO()
    call_command("rescore", *map(str, arguments), stdout=out)
    return out.getvalue().strip()


def test_every_run_is_scored_against_the_new_gold_and_keeps_its_score_meanwhile(
    phase, runs
):
    before = [row.value for row in compute_board(phase, None).rows]
    new = corrected(phase)
    request_rescoring_of_phase(phase=phase, by=None)
    assert waiting(phase) == 6
    assert [row.value for row in compute_board(phase, None).rows] == before
    assert set(Submission.objects.values_list("status", flat=True)) == {"scored"}
    for run in runs:
        score(run)
    phase.refresh_from_db()
    assert compute_board(phase, None).gold == new
    assert (
        compute_rescoring_progress(phase).done,
        compute_rescoring_progress(phase).left,
    ) == (3, 0)


def test_asked_twice_it_happens_once(phase, runs):
    corrected(phase)
    order = request_rescoring_of_phase(phase=phase, by=None)
    assert request_rescoring_of_phase(phase=phase, by=None).ended_at is not None
    assert (waiting(phase), order.ended_at is not None) == (6, True)
    for run in runs:
        score(run)
    request_rescoring_of_phase(phase=phase, by=None)
    assert waiting(phase) == 0


def test_what_is_scored_in_todays_way_is_not_scored_again(phase, runs):
    request_rescoring_of_phase(phase=phase, by=None)
    assert waiting(phase) == 0


def test_a_metric_with_a_new_version_has_its_runs_scored_again_once(phase, runs):
    changed = Evaluation.objects.filter(submission=runs[0], rules="corrected").get()
    key = Score.objects.get(evaluation=changed, shared__metric="rouge_l_f1")
    boards.set_version_0(key)
    request_rescoring_of_phase(phase=phase, by=None)
    assert list(
        Job.objects.filter(state="queued").values_list("submission", "rules")
    ) == [(runs[0].pk, "corrected")]
    assert request_rescoring_of_phase(phase=phase, by=None)
    assert waiting(phase) == 1
    score(runs[0])
    request_rescoring_of_phase(phase=phase, by=None)
    assert waiting(phase) == 0


def test_boards_of_phases_that_are_over_keep_earlier_versions_until_organisers_ask(
    phase, runs
):
    Phase.objects.filter(pk=phase.pk).update(
        min_answered=1, closes=timezone.now(), late_until=None
    )
    phase.refresh_from_db()
    Evaluation.objects.update(release=phase.get_score_restrictions_at(timezone.now()))
    for key in Score.objects.filter(shared__metric="rouge_l_f1"):
        boards.set_version_0(key)
    assert rescoring.request_rescoring_of_stale_phases() == 0
    assert waiting(phase) == 0
    request_rescoring_of_phase(phase=phase, by=None)
    assert waiting(phase) == 3


def test_a_scorer_that_is_behind_is_not_asked_again_and_again(phase, runs):
    for key in Score.objects.filter(shared__metric="rouge_l_f1"):
        boards.set_version_0(key)
    order = request_rescoring_of_phase(phase=phase, by=None)
    assert waiting(phase) == 3
    for run in runs:
        score(run)
    for key in Score.objects.filter(shared__metric="rouge_l_f1"):
        boards.set_version_0(key)
    Rescore.objects.filter(pk=order.pk).update(ended_at=None)
    queue_rescoring_jobs()
    assert waiting(phase) == 0


def test_new_runs_do_not_wait_behind_all_of_them(phase, runs, monkeypatch):
    monkeypatch.setattr(rescoring, "MAX_QUEUED_RESCORINGS", 2)
    monkeypatch.setattr(rescoring, "RUNS_PER_TRANSACTION", 1)
    corrected(phase)
    order = request_rescoring_of_phase(phase=phase, by=None)
    assert (waiting(phase), order.ended_at) == (2, None)
    assert queue_rescoring_jobs() == 0
    score(runs[0])
    assert queue_rescoring_jobs() == 2
    score(runs[1])
    assert queue_rescoring_jobs() == 2
    score(runs[2])
    queue_rescoring_jobs()
    order.refresh_from_db()
    assert order.ended_at is not None
    assert compute_rescoring_progress(phase).left == 0


def test_stopped_it_goes_on_where_it_was(phase, runs):
    old, new = phase.task.gold.get(), corrected(phase)
    request_rescoring_of_phase(phase=phase, by=None)
    score(runs[0])
    assert stop_rescoring(phase=phase, by=None) == 4
    assert waiting(phase) == 0
    assert stop_rescoring(phase=phase, by=None) == 0
    told = compute_rescoring_progress(phase)
    assert (told.done, told.left, told.is_moving, told.is_stopped) == (
        1,
        2,
        False,
        True,
    )
    assert queue_rescoring_jobs() == 0
    phase.refresh_from_db()
    assert compute_board(phase, None).gold == old
    request_rescoring_of_phase(phase=phase, by=None)
    assert waiting(phase) == 4
    for run in runs[1:]:
        score(run)
    phase.refresh_from_db()
    assert compute_board(phase, None).gold == new


def test_what_is_being_scored_when_it_is_stopped_comes_to_its_end(phase, runs):
    corrected(phase)
    request_rescoring_of_phase(phase=phase, by=None)
    first = Job.objects.filter(state="queued").order_by("pk")[0]
    held = engine.claim_job(first.pk, "a worker")
    assert stop_rescoring(phase=phase, by=None) == 5
    assert leases.complete_job(held, lambda: None)


def test_a_run_that_was_never_scored_stays_in_the_queue(phase, runs):
    new = factories.make_submission(phase=phase)
    half = factories.make_submission(phase=phase)
    Submission.objects.filter(pk=half.pk).update(status="scored")
    stop_rescoring(phase=phase, by=None)
    assert new.jobs.filter(state="queued").count() == 2
    assert half.jobs.filter(state="queued").count() == 2


def test_stopping_what_was_to_be_scored_anew_leaves_it_scored(phase, runs):
    before = runs[0].jobs.get(sets_status=True)
    rescore_run(submission=runs[0], by=None)
    assert stop_rescoring(phase=phase, by=None) == 2
    after = runs[0].jobs.get(sets_status=True)
    assert (after.state, after.started_at) == ("done", before.started_at)
    assert after.finished_at > after.started_at


def test_one_run_is_scored_anew_once(phase, runs):
    before = runs[0].evaluations.get(rules="corrected")
    assert rescore_run(submission=runs[0], by=None) == 2
    assert rescore_run(submission=runs[0], by=None) == 0
    score(runs[0])
    after = runs[0].evaluations.get(rules="corrected")
    assert (after.pk, after.rank_value) == (before.pk, before.rank_value)


def test_a_run_that_failed_by_the_sites_fault_is_scored_again(phase):
    run = factories.make_submission(phase=phase)
    job = engine.claim_job(run.jobs.get(sets_status=True).pk, "a worker")
    leases.fail_job(job, "The disk was full.")
    run.refresh_from_db()
    rescore_run(submission=run, by=None)
    run.refresh_from_db()
    assert (run.status, run.reason) == ("queued", "")
    score(run)
    assert run.status == "scored"


@pytest.mark.parametrize("status", ["withdrawn", "cancelled"])
def test_what_its_team_took_back_stays_so(phase, status):
    run = factories.make_submission(phase=phase, status=status)
    with pytest.raises(
        ActionRefused, match=f"a run that is {status} cannot be rescored"
    ):
        rescore_run(submission=run, by=None)
    request_rescoring_of_phase(phase=phase, by=None)
    run.refresh_from_db()
    assert run.status == status


def test_a_season_is_all_its_phases_with_runs(phase, runs):
    other = factories.make_phase(task=phase.task)
    scored(other)
    factories.make_phase(task=phase.task)
    corrected(phase)
    orders = request_rescoring_of_season(season=phase.task.season, by=None)
    assert {order.phase for order in orders} == {phase, other}
    assert (waiting(phase), waiting(other)) == (6, 2)


def test_what_organisers_do_stands_in_the_history_once(phase, runs):
    person = factories.make_user(name="Olga")
    corrected(phase)
    request_rescoring_of_phase(phase=phase, by=person)
    stop_rescoring(phase=phase, by=person)
    request_rescoring_of_phase(phase=phase, by=person)
    rescore_run(submission=runs[0], by=person)
    told = list(AuditEntry.objects.order_by("pk").values_list("action", "actor_name"))
    expected = ["rescore-asked", "rescore-stopped", "rescore-asked"]
    assert [action for action, _ in told if action.startswith("rescore")] == expected
    assert {name for _, name in told} == {"Olga"}


def test_the_command_queues_a_phase_a_season_or_one_run(phase, runs):
    task = phase.task
    place = f"{task.season.slug}/{task.slug}/{phase.slug}"
    assert (
        command(place) == "every run has been queued or scored against gold v1 already"
    )
    corrected(phase)
    assert command("--season", task.season.slug).endswith(
        "6 scorings queued for 3 runs, against gold v2"
    )
    assert command(place, "--stop").endswith("6 scorings taken out of the queue")
    assert command(place) == "6 scorings queued for 3 runs, against gold v2"
    for run in runs:
        score(run)
    assert command("--run", runs[0].pk).startswith("2 scorings of ")
    assert command("--run", runs[0].pk).endswith("is being scored already")
    for wrong in (
        ("--run", 10**9),
        ("--season", "nowhere"),
        ("--run", runs[0].pk, "--stop"),
        (),
    ):
        with pytest.raises(CommandError):
            command(*wrong)


@pytest.mark.parametrize("is_over", [False, True])
def test_a_new_version_of_a_metric_or_its_intervals_is_followed_while_a_phase_takes_runs(
    phase, runs, is_over, client, monkeypatch
):
    cache.clear()
    monkeypatch.setattr(
        PlainRouge, "interval_version", rescoring.MIN_CURRENT_INTERVAL_VERSION
    )
    if is_over:
        Phase.objects.update(closes=timezone.now(), late_until=None)
    assert rescoring.request_rescoring_of_stale_phases() == (0 if is_over else 1)
    assert waiting(phase) == (0 if is_over else 3)
    page = client.get(boards.address("board", phase)).content.decode()
    assert ("rescores the runs of this board" in page) is not is_over


def rescored_note(client, phase) -> bool:
    page = client.get(boards.address("board", phase)).content.decode()
    return "the site rescored the runs of this board" in page


def test_the_board_of_an_open_phase_tells_of_the_rescore_of_a_new_release(
    phase, runs, client, monkeypatch
):
    cache.clear()
    assert not rescored_note(client, phase)
    monkeypatch.setattr(
        PlainRouge, "interval_version", rescoring.MIN_CURRENT_INTERVAL_VERSION
    )
    rescoring.request_rescoring_of_stale_phases()
    assert not rescored_note(client, phase), "it goes on"
    for run in runs:
        score(run)
    rescoring.queue_rescoring_jobs()
    assert rescored_note(client, phase)


@pytest.mark.parametrize(
    "facts",
    [{"asked_by": "organiser"}, {"stopped_at": "now"}, {"ended_at": None}],
    ids=["asked by an organiser", "stopped", "not ended"],
)
def test_another_rescore_is_not_told_as_that_of_a_release(phase, runs, client, facts):
    values = {"organiser": factories.make_user(), "now": timezone.now(), None: None}
    ended = {"ended_at": timezone.now()}
    facts = {name: values[value] for name, value in facts.items()}
    Rescore.objects.create(phase=phase, **ended | facts)
    assert not rescored_note(client, phase)


def test_a_closed_board_tells_of_no_rescore(phase, runs, client):
    Rescore.objects.create(phase=phase, ended_at=timezone.now())
    Phase.objects.update(closes=timezone.now(), late_until=None)
    assert not rescored_note(client, phase)


def test_what_rules_parsed_is_scored_again_by_itself_once_a_pipeline_is_there(
    phase, runs, monkeypatch
):
    changed = Evaluation.objects.filter(submission=runs[0], rules="corrected").get()
    key = Score.objects.get(evaluation=changed, shared__metric="rouge_l_f1")
    boards.set_column(
        key, key.column.replace("|v:", f"|parser:{RULE_PARSER_VERSION}|v:")
    )
    assert rescoring.request_rescoring_of_stale_phases() == 0, "no pipeline is there"
    monkeypatch.setattr(Metric, "replaces", f"|parser:{parsing.RULE_BASED_PARSER}-")
    assert rescoring.request_rescoring_of_stale_phases() == 1
    assert list(
        Job.objects.filter(state="queued").values_list("submission", "rules")
    ) == [(runs[0].pk, "corrected")]
