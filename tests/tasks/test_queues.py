"""Queues by need, and whose turn it is: what a group of workers takes, and in which order."""

import datetime as dt
import itertools
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.utils import timezone
from django_q.brokers import get_broker
from django_q.models import OrmQ
from django_q.signing import SignedPackage

from citeboard.core.processes import build_process_group_name
from scoring.models import BackgroundJob
from scoring.worker.background import queue_background_job
from scoring.worker.scorers import build_scoring_limits
from tasks.jobs import engine, leases, queue_choice
from tasks.jobs.queue_choice import (
    HEAVY_RUN_DURATION,
    MAX_QUEUE_POSITION,
    MAX_SILENCE_SECONDS,
    WORKER_START_GRACE_SECONDS,
    WorkerGroupWatchdog,
    choose_queue_of_task,
    compute_position_in_queue,
    explain_unserved_queue,
    list_living_worker_groups,
    record_worker_group_heartbeat,
)
from tasks.jobs.sweeper import sweep_jobs
from tasks.jobs.work import take_jobs
from tasks.models import Job, Submission, WorkerGroup
from tests.factories import (
    make_baseline,
    make_gold,
    make_phase,
    make_season,
    make_submission,
    make_task,
    make_team,
    make_user,
    other_run,
)
from tests.scoring.scorers import put_in_place

GROUP = "host-0a1b2c3d:1.1:"
MINUTE = dt.timedelta(minutes=1)
THEN = timezone.now()

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def claimed() -> list[Job]:
    """All that is queued, in the order in which a worker takes it; each ends at once."""
    found = []
    while (job := engine.claim_next_job(f"{GROUP}2.2", GROUP)) is not None:
        leases.complete_job(job, lambda: None)
        found.append(job)
    return found


@pytest.mark.parametrize(
    ("had", "sent", "order"),
    [
        ("", "AB", "AB"),
        ("A", "AB", "BA"),
        ("A", "AABB", "BABA"),
        ("AB", "AB", "AB"),
        ("AAAB", "BA", "BA"),
        ("A", "BC", "CB"),
        ("CA", "BC", "CB"),
        ("AC", "CB", "BC"),
        ("o", "oA", "Ao"),
    ],
    ids=[
        "the oldest where nobody had a turn",
        "who had none",
        "in turn from there",
        "the oldest where all had as many",
        "turns without others cost nothing",
        "a season that had none",
        "a season whose turn is the longest ago",
        "the other one",
        "what organisers set is a team's equal",
    ],
)
def test_whose_turn_it_is(had, sent, order):
    phase, other = make_phase(), make_phase()
    teams = {name: make_team(season=phase.task.season) for name in "AB"}
    teams["C"] = make_team(season=other.task.season)

    def send(name: str) -> Submission:
        if name == "o":
            return make_baseline(phase=phase, content=other_run(next(numbers)))
        return make_submission(phase=other if name == "C" else phase, team=teams[name])

    numbers = itertools.count(1)
    for name in had:
        send(name)
        claimed()
    runs = {send(name).pk: name for name in sent}
    assert "".join(runs[job.submission_id] for job in claimed()) == order


def test_who_comes_late_has_no_turns_to_make_up_for():
    phase = make_phase()
    first, second = (make_team(season=phase.task.season) for _ in range(2))
    for _ in range(3):
        make_submission(phase=phase, team=first)
        claimed()
    runs = [
        make_submission(phase=phase, team=team)
        for team in (first, first, second, second, second)
    ]
    order = [job.submission_id for job in claimed()]
    assert order == [runs[place].pk for place in (2, 0, 3, 1, 4)]


def test_what_could_not_be_taken_in_its_turn_gives_nobody_earlier_ones(settings):
    settings.QUEUES = ["light"]
    phase = make_phase()
    other = make_phase(task=make_task(season=phase.task.season, queue="gpu"))
    first, second = (make_team(season=phase.task.season) for _ in range(2))
    late = make_submission(phase=other, team=second)
    for _ in range(3):
        make_submission(phase=phase, team=first)
    assert len(claimed()) == 3
    settings.QUEUES = []
    assert [job.submission_id for job in claimed()] == [late.pk]
    runs = [make_submission(phase=phase, team=team) for team in (first, second, second)]
    assert [job.submission_id for job in claimed()] == [run.pk for run in runs]


def test_a_place_after_a_hundred_others_is_not_counted(client):
    phase = make_phase()
    many, one = (make_team(season=phase.task.season) for _ in range(2))
    first = make_submission(phase=phase, team=many)
    job = first.jobs.get()
    for number in range(2, 2 * MAX_QUEUE_POSITION):
        run = copied(first, number=number)
        copied(job, submission=run, turn=number)
    last = make_submission(phase=phase, team=many)
    assert compute_position_in_queue(last) == MAX_QUEUE_POSITION + 1
    client.force_login(last.submitted_by)
    assert (
        "At least 100 runs before it."
        in client.get(f"/submissions/{last.pk}/").content.decode()
    )
    assert compute_position_in_queue(make_submission(phase=phase, team=one)) == 2


def copied(row, **fields):
    row = type(row)._base_manager.get(pk=row.pk)
    row.pk = None
    for name, value in fields.items():
        setattr(row, name, value)
    row.save(force_insert=True)
    return row


def test_fifty_runs_of_a_team_do_not_hold_up_another_ones():
    phase = make_phase()
    many, one = (make_team(season=phase.task.season) for _ in range(2))
    runs = [make_submission(phase=phase, team=many) for _ in range(50)]
    late = make_submission(phase=phase, team=one)
    assert compute_position_in_queue(late) == 2
    order = [job.submission_id for job in claimed()]
    assert order.index(late.pk) == 1
    assert [pk for pk in order if pk != late.pk] == [run.pk for run in runs]


def test_a_seasons_many_teams_do_not_hold_up_another_season():
    phase, other = make_phase(), make_phase()
    for _ in range(5):
        make_submission(phase=phase)
    team = make_team(season=other.task.season)
    late = [make_submission(phase=other, team=team) for _ in range(2)]
    places = [compute_position_in_queue(run) for run in late]
    order = [job.submission_id for job in claimed()]
    assert [order.index(run.pk) + 1 for run in late] == places == [2, 4]


def test_the_place_in_the_queue_is_the_order_in_which_runs_are_taken():
    phase, other = make_phase(), make_phase()
    teams = [make_team(season=season.task.season) for season in (phase, phase, other)]
    phases = [phase, phase, other]
    runs = [
        make_submission(phase=phases[n], team=teams[n])
        for n in (0, 0, 0, 1, 2, 2, 0, 1, 2)
    ]
    leases.complete_job(
        engine.claim_job(runs[3].jobs.get().pk, f"{GROUP}2.2"), lambda: None
    )
    waiting = [run for run in runs if run is not runs[3]]
    places = {run.pk: compute_position_in_queue(run) for run in waiting}
    assert [places[job.submission_id] for job in claimed()] == list(
        range(1, len(waiting) + 1)
    )


def test_a_run_that_is_taken_while_its_place_is_counted_has_none(monkeypatch):
    phase = make_phase()
    runs = [make_submission(phase=phase) for _ in range(2)]
    in_turn = queue_choice.sort_by_fair_share

    def taken_meanwhile(jobs):
        found = in_turn(jobs)
        engine.claim_job(runs[0].jobs.get().pk, f"{GROUP}2.2")
        return found

    monkeypatch.setattr(queue_choice, "sort_by_fair_share", taken_meanwhile)
    assert compute_position_in_queue(runs[0]) is None


def test_runs_that_are_scored_again_come_after_new_ones():
    old = make_submission()
    claimed()
    gold = make_gold(phase=old.phase, topics=("D01-0001",), reason="one topic less")
    old.refresh_from_db()
    [again] = leases.create_scoring_jobs(old, gold)
    new = make_submission(phase=old.phase)
    assert (again.priority, new.jobs.get().priority) == (
        Job.Priority.AGAIN,
        Job.Priority.NEW,
    )
    assert [job.submission_id for job in claimed()] == [new.pk, old.pk]


def test_seasons_whose_runs_are_scored_again_take_turns():
    phases = make_phase(), make_phase()
    runs = {phase: [make_submission(phase=phase) for _ in range(2)] for phase in phases}
    claimed()
    for phase, old in runs.items():
        gold = make_gold(phase=phase, topics=("D01-0001",), reason="one topic less")
        for run in old:
            run.refresh_from_db()
            leases.create_scoring_jobs(run, gold)
    first, second, *later = [job.season for job in claimed()]
    assert {first, second} == {phase.task.season_id for phase in phases}
    assert later == [first, second]


class TestQueues:
    @pytest.fixture
    def heavy(self) -> Job:
        return make_submission(phase=make_phase(task=make_task(queue="gpu"))).jobs.get()

    def test_a_job_waits_in_the_queue_that_its_task_names(self, heavy):
        assert (heavy.queue, heavy.is_heavy) == ("gpu", True)
        assert [wake.key for wake in OrmQ.objects.all()] == ["gpu"]

    @pytest.mark.parametrize(
        ("task_type", "options", "queue"),
        [
            ("clsumm-1a", {}, "light"),
            ("citation-text", {}, "light"),
            ("citation-text", {"engine": "package"}, "light"),
            ("citation-text", {"bertscore": "yes"}, "models"),
            ("citation-text", {"bertscore": "yes", "engine": "package"}, "models"),
            ("citation-text", {"learned_model": "/models/bleurt"}, "models"),
            (
                "positional-citations",
                {"entailment": "labels:TRUE", "parser": "/parses.jsonl"},
                "light",
            ),
            (
                "positional-citations",
                {"entailment": "model:TRUE", "parser": "/parses.jsonl"},
                "models",
            ),
            (
                "positional-citations",
                {"entailment": "labels:TRUE", "parser": "en_core_web_sm"},
                "models",
            ),
            (
                "positional-citations",
                {"entailment": "labels:TRUE", "parser": "rules"},
                "light",
            ),
        ],
    )
    def test_without_a_name_the_options_decide(self, task_type, options, queue):
        assert choose_queue_of_task(make_task(type=task_type, options=options)) == queue

    def test_a_group_never_takes_what_it_does_not_serve(self, heavy, settings):
        settings.QUEUES = ["light", "models"]
        small = make_submission().jobs.get()
        before = Job.objects.filter(pk=heavy.pk).values().get()
        assert [job.pk for job in claimed()] == [small.pk]
        assert Job.objects.filter(pk=heavy.pk).values().get() == before

    def test_the_check_of_a_large_run_needs_no_model(self, settings):
        settings.CHECK_MAX_MB = 0
        job = make_submission(phase=make_phase(task=make_task(queue="gpu"))).jobs.get()
        assert (job.kind, job.queue) == (Job.Kind.CHECK, "light")

    def test_a_group_that_serves_nothing_that_waits_is_not_stuck(
        self, heavy, settings, monkeypatch
    ):
        settings.QUEUES = ["light"]
        now = [1000.0]
        monkeypatch.setattr("tasks.jobs.queue_choice.time.monotonic", lambda: now[0])
        dog = WorkerGroupWatchdog(GROUP, workers=2)
        now[0] += WORKER_START_GRACE_SECONDS + settings.LEASE_SECONDS + 1
        assert not dog.is_stuck()

    def test_a_run_says_who_would_take_it(self, heavy, client):
        client.force_login(heavy.submission.submitted_by)
        record_worker_group_heartbeat(GROUP)
        page = client.get(f"/submissions/{heavy.submission_id}/").content.decode()
        assert "in the queue gpu" in page
        WorkerGroup.objects.update(queues=["light"])
        page = client.get(f"/submissions/{heavy.submission_id}/").content.decode()
        assert "in the queue gpu; no worker serves the queue gpu" in page


class TestLanes:
    """Of heavy runs, work for a season and boards a group does at most so many; light runs take the rest."""

    @pytest.fixture(autouse=True)
    def _one_of_each(self, settings):
        settings.WORKERS, settings.FAST_LANE = 1, True

    @pytest.fixture
    def jobs(self) -> dict[str, list[Job]]:
        heavy, light = make_phase(task=make_task(queue="models")), make_phase()
        return {
            name: [make_submission(phase=phase).jobs.get() for _ in range(3)]
            for name, phase in (("heavy", heavy), ("light", light))
        }

    def claim(self, process: int = 2, group: str = GROUP) -> str | None:
        job = engine.claim_next_job(f"{group}{process}.2", group)
        return None if job is None else "heavy" if job.is_heavy else str(job.queue)

    def test_heavy_runs_leave_a_process_to_light_ones(self, jobs):
        assert {self.claim(2), self.claim(3)} == {"heavy", "light"}
        Job.objects.filter(is_heavy=False, state="queued").delete()
        assert self.claim(3) is None
        assert self.claim(2, "other-0a1b2c3d:1.1:") == "heavy"

    def test_light_runs_take_what_is_idle(self, jobs):
        Job.objects.filter(is_heavy=True).delete()
        assert [self.claim(process) for process in (2, 3)] == ["light", "light"]

    def test_work_for_a_season_leaves_a_process_to_light_runs(self, jobs):
        Job.objects.filter(is_heavy=False).delete()
        heavy = Job.objects.filter(is_heavy=True)
        engine.claim_job(heavy.first().pk, f"{GROUP}2.2")
        queue_background_job(
            BackgroundJob.Kind.SHEET, make_season(), {}, by=make_user()
        )
        assert self.claim(3) is None
        heavy.delete()
        assert self.claim(3) is not None

    def test_all_rule_sets_of_a_run_are_one_process(self, settings):
        settings.WORKERS = 2
        task = make_task(queue="models", rules=["corrected", "official-2017"])
        runs = [make_submission(phase=make_phase(task=task)) for _ in range(2)]
        for number, run in enumerate(runs):
            first, _ = run.jobs.order_by("pk")
            claimed = engine.claim_job(first.pk, f"{GROUP}{number}.2")
            assert [other.rules for other in leases.claim_other_rule_sets(claimed)] == [
                "official-2017"
            ]
        assert self.claim(5) is None
        assert set(Job.objects.values_list("attempt", "state")) == {(1, "running")}

    @pytest.mark.parametrize("field", ["gold", "options_digest", "queue"])
    def test_a_rule_set_with_other_gold_options_or_queue_is_another_process(
        self, field
    ):
        task = make_task(queue="models", rules=["corrected", "official-2017"])
        first, second = make_submission(phase=make_phase(task=task)).jobs.order_by("pk")
        differing = {
            "gold": make_gold(phase=make_phase()),
            "options_digest": "0" * 64,
            "queue": "light",
        }
        Job.objects.filter(pk=second.pk).update(**{field: differing[field]})
        assert (
            leases.claim_other_rule_sets(engine.claim_job(first.pk, f"{GROUP}0.2"))
            == []
        )

    def test_without_the_lane_whoever_is_next_is_next(self, jobs, settings):
        settings.FAST_LANE = False
        Job.objects.filter(is_heavy=False).delete()
        assert [self.claim() for _ in range(3)] == ["heavy"] * 3

    def test_a_run_is_heavy_where_its_phases_runs_have_lately_been(self, settings):
        phase = make_phase()
        for _ in range(3):
            job = make_submission(phase=phase).jobs.get()
            Job.objects.filter(pk=job.pk).update(
                state="done", started_at=THEN, finished_at=THEN + 2 * HEAVY_RUN_DURATION
            )
        assert make_submission(phase=phase).jobs.get().is_heavy
        assert not make_submission().jobs.get().is_heavy
        settings.CHECK_MAX_MB = 0
        assert make_submission().jobs.get().is_heavy

    @pytest.mark.django_db(transaction=True)
    def test_workers_of_a_group_that_claim_at_once_keep_to_it(self, jobs, settings):
        settings.WORKERS = 2

        def claim(number: int) -> str | None:
            try:
                job = engine.claim_next_job(f"{GROUP}{number}.1", GROUP)
                return None if job is None else "heavy" if job.is_heavy else "light"
            finally:
                connection.close()

        with ThreadPoolExecutor(8) as pool:
            kinds = list(pool.map(claim, range(8)))
        assert (kinds.count("heavy"), kinds.count("light"), kinds.count(None)) == (
            2,
            3,
            3,
        )
        assert Job.objects.filter(state="running").count() == 5


@pytest.mark.django_db(transaction=True)
def test_workers_that_claim_at_once_take_each_job_once(settings):
    settings.FAST_LANE = False
    phase = make_phase()
    for _ in range(6):
        make_submission(phase=phase)

    def claim(number: int) -> int | None:
        try:
            job = engine.claim_next_job(
                f"host-0a1b2c3d:{number}.1:1.1", f"host-0a1b2c3d:{number}.1:"
            )
            return None if job is None else job.pk
        finally:
            connection.close()

    with ThreadPoolExecutor(9) as pool:
        taken = list(pool.map(claim, range(9)))
    assert sorted(pk for pk in taken if pk) == sorted(
        Job.objects.values_list("pk", flat=True)
    )
    assert {job.attempt for job in Job.objects.all()} == {1}


def test_who_takes_a_job_wakes_another_for_the_next_and_nobody_for_the_same_run():
    task = make_task(rules=["corrected", "official-2017"])
    phase = make_phase(task=task)
    make_submission(phase=phase)
    OrmQ.objects.all().delete()
    first = engine.claim_next_job(f"{GROUP}2.2", GROUP)
    engine.wake_next_worker(first)
    assert OrmQ.objects.count() == 0
    make_submission(phase=phase)
    OrmQ.objects.all().delete()
    engine.wake_next_worker(first)
    assert OrmQ.objects.count() == 1


def test_one_wake_is_enough_for_all_that_waits():
    phase = make_phase()
    runs = [make_submission(phase=phase) for _ in range(2)]
    take_jobs()
    assert {run.jobs.get().state for run in runs} == {"done"}


class TestWakes:
    @pytest.fixture
    def queued(self) -> list[str]:
        make_submission()
        make_submission(phase=make_phase(task=make_task(queue="gpu")))
        return ["light", "gpu"]

    def fetched(self) -> list[str]:
        broker, found = get_broker(), []
        for _ in range(3):
            for pk, _ in broker.dequeue() or []:
                # The jobs stay, so that who is told of nothing finds them.
                if pk is not None:
                    found.append(OrmQ.objects.get(pk=pk).key)
                    broker.acknowledge(pk)
        return found

    def test_a_group_fetches_those_of_its_queues(self, queued, settings):
        settings.QUEUES = ["gpu"]
        assert self.fetched() == ["gpu"]

    def test_a_group_without_a_setting_fetches_all(self, queued):
        assert self.fetched() == queued

    def test_many_that_wait_are_one(self, queued):
        for _ in range(3):
            make_submission()
        assert sorted(OrmQ.objects.values_list("key", flat=True)) == ["gpu", "light"]

    def test_what_nobody_was_told_of_is_found_by_whoever_looks(
        self, queued, monkeypatch
    ):
        monkeypatch.setattr("tasks.jobs.brokers.DATABASE_POLL_SECONDS", 0)
        OrmQ.objects.all().delete()
        broker = get_broker()
        assert broker.dequeue() is None
        [(number, wake)] = broker.dequeue()
        assert (number, SignedPackage.loads(wake)["func"]) == (
            None,
            engine.WAKEUP_FUNCTION,
        )

    def test_one_that_is_fetched_is_nobody_elses(self, queued):
        first, second = get_broker().dequeue(), get_broker().dequeue()
        assert first[0][0] != second[0][0]
        assert get_broker().dequeue() is None

    @pytest.mark.parametrize("minutes", [-10, 10])
    def test_the_clock_of_a_machine_neither_hides_nor_brings_back_one(
        self, queued, monkeypatch, minutes
    ):
        real = timezone.now
        monkeypatch.setattr(
            "django.utils.timezone.now", lambda: real() + minutes * MINUTE
        )
        assert self.fetched() == queued

    def test_whoever_fetches_gives_a_sign_of_life(self, settings):
        settings.QUEUES = ["gpu", "models"]
        get_broker().dequeue()
        [group] = list_living_worker_groups()
        assert (group.name, group.queues) == (
            build_process_group_name(os.getpgrp()),
            ["gpu", "models"],
        )


class TestGroups:
    def test_it_is_said_why_nothing_is_taken_from_a_queue(self, settings):
        assert explain_unserved_queue("light") == "no worker is running"
        settings.QUEUES = ["light"]
        record_worker_group_heartbeat(GROUP)
        assert (explain_unserved_queue("light"), explain_unserved_queue("gpu")) == (
            "",
            "no worker serves the queue gpu",
        )
        settings.QUEUES = []
        record_worker_group_heartbeat("other-0a1b2c3d:1.1:")
        assert explain_unserved_queue("gpu") == ""

    def test_a_group_that_is_silent_serves_nothing_and_is_forgotten_later(self):
        record_worker_group_heartbeat(GROUP)
        WorkerGroup.objects.update(
            seen_at=timezone.now() - dt.timedelta(seconds=MAX_SILENCE_SECONDS + 1)
        )
        sweep_jobs()
        assert (explain_unserved_queue("light"), WorkerGroup.objects.count()) == (
            "no worker is running",
            1,
        )
        WorkerGroup.objects.update(seen_at=timezone.now() - dt.timedelta(days=2))
        sweep_jobs()
        assert WorkerGroup.objects.count() == 0


def test_teams_in_two_seasons_have_a_turn_in_each():
    first, second = make_phase(task=make_task(season=make_season())), make_phase()
    team = make_team(season=first.task.season)
    team.registrations.create(season=second.task.season)
    runs = [make_submission(phase=phase, team=team) for phase in (first, first, second)]
    assert [job.submission_id for job in claimed()] == [
        runs[0].pk,
        runs[2].pk,
        runs[1].pk,
    ]


class TestLimits:
    @pytest.mark.parametrize(
        ("own", "seconds", "memory_mb"),
        [
            ({}, 1800, 4096),
            ({"max_seconds": 60, "max_memory_mb": 512}, 60, 512),
            ({"max_seconds": 9999}, 1800, 4096),
        ],
        ids=[
            "those of the site",
            "those of the task",
            "never more than those of the site",
        ],
    )
    def test_a_scoring_has(self, own, seconds, memory_mb):
        limits = build_scoring_limits(make_task(**own))
        assert (limits.cpu_seconds, limits.wall_seconds, limits.memory_mb) == (
            seconds,
            2 * seconds,
            memory_mb,
        )

    def test_a_run_that_needs_more_than_its_task_allows_is_told_so(
        self, tmp_path, monkeypatch
    ):
        """Another task's run, scored by the same worker, has the site's."""
        task = make_task(max_memory_mb=256)
        put_in_place(
            monkeypatch, tmp_path, "bytearray(1 << 29)\nreturn real(arguments)"
        )
        small, other = (
            make_submission(phase=make_phase(task=own)) for own in (task, make_task())
        )
        take_jobs()
        small.refresh_from_db(), other.refresh_from_db()
        assert (small.status, small.reason) == (
            "failed",
            "Scoring needed more than 256 MB of memory.",
        )
        assert other.status == "scored"
