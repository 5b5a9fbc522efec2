"""Rows of a board are compared in the background, one new run with each row, and ranks follow from it."""

import datetime as dt
import itertools
import random

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import F
from django_q.models import OrmQ

from citeboard.core import storage
from citeboard.core.database import fetch_database_time
from scoring.metrics import build_metric
from scoring.models import BoardOrder, BoardRanks, Comparison, Evaluation
from scoring.offline.compare import compare as compare_offline, read_runs
from scoring.results.board import (
    comparison_state as board_orders,
    comparisons,
    stored_ranks,
)
from scoring.results.board.comparisons import RANK_BY_SIGNIFICANCE
from scoring.results.board.standings import compute_board
from scoring.stats.significance import choose_number_of_exchanges
from scoring.worker import compare_board
from tasks.jobs import engine, leases
from tasks.jobs.queue_choice import WORKER_START_GRACE_SECONDS, WorkerGroupWatchdog
from tasks.jobs.sweeper import sweep_jobs
from tasks.jobs.work import claim_and_do_job_by_id, take_jobs
from tasks.models import Job, Phase
from tasks.models.seasons import increment_board_version
from tasks.submissions.run_acts import withdraw_run
from tests import factories
from tests.api.sending import score
from tests.scoring import boards, compared
from tests.scoring.compared import compare, scored

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

VISITOR = AnonymousUser()


@pytest.fixture
def phase() -> Phase:
    return compared.make_phase()


def asked(phase) -> BoardOrder:
    board_orders.queue_board_comparison(phase.pk, "corrected")
    return BoardOrder.objects.get(phase=phase)


def ranges(phase, **choice) -> list[tuple]:
    return [
        (row.rank, row.rank_low, row.rank_high)
        for row in compute_board(phase, VISITOR, **choice).rows
    ]


def test_ranks_are_the_intervals_that_the_tests_leave_open(phase):
    for right in (10, 9, 1):
        scored(phase, right)
    compare(phase)
    board = compute_board(phase, VISITOR)
    assert board.is_compared
    assert ranges(phase) == [(1, 1, 2), (2, 1, 2), (3, 3, 3)]


def test_by_significance_a_row_has_the_best_rank_that_is_open(phase):
    for right in (10, 9, 1):
        scored(phase, right)
    compare(phase)
    assert ranges(phase, by=RANK_BY_SIGNIFICANCE) == [(1, 1, 2), (1, 1, 2), (3, 3, 3)]


def test_until_every_two_rows_are_compared_no_rank_is_promised(phase):
    for right in (10, 1):
        scored(phase, right)
    board = compute_board(phase, VISITOR, by=RANK_BY_SIGNIFICANCE)
    assert (board.is_compared, board.by) == (False, "value")
    assert ranges(phase, by=RANK_BY_SIGNIFICANCE) == [(1, 1, 2), (2, 1, 2)]


def test_a_new_run_costs_one_comparison_with_each_row(phase):
    for right in (9, 5, 1):
        scored(phase, right)
    compare(phase)
    before = set(Comparison.objects.values_list("pk", flat=True))
    new = scored(phase, 7)
    compare(phase)
    added = Comparison.objects.exclude(pk__in=before)
    assert added.count() == 3
    assert {each.second.submission_id for each in added} == {new.pk}
    assert before < set(Comparison.objects.values_list("pk", flat=True))


def test_ranks_are_read_from_the_database_once_they_are_stored(phase, monkeypatch):
    for right in (9, 5, 1):
        scored(phase, right)
    compare(phase)
    phase.refresh_from_db()
    computed = []
    compute = stored_ranks.compute_ranks_of_board_rows

    def noted(rows, values, metric):
        computed.append(len(rows))
        return compute(rows, values, metric)

    monkeypatch.setattr(stored_ranks, "compute_ranks_of_board_rows", noted)
    before = ranges(phase)
    # The worker has stored them when it found that nothing was left to compare.
    assert computed == []
    assert len(before) == 3


def test_who_reads_a_board_before_its_worker_computes_ranks_and_writes_nothing(
    phase,
):
    for right in (9, 5, 1):
        scored(phase, right)
    compare(phase)
    stored = list(BoardRanks.objects.values())
    scored(phase, 7)
    phase.refresh_from_db()
    assert len(ranges(phase)) == 4
    assert list(BoardRanks.objects.values()) == stored


def test_ranks_follow_a_comparison_that_was_made_anew(phase):
    for right in (9, 1):
        scored(phase, right)
    compare(phase)
    apart = ranges(phase)
    Comparison.objects.update(p=1.0)
    assert ranges(phase) == apart
    BoardOrder.objects.update(revision=F("revision") + 1)
    assert ranges(phase) != apart


def test_after_an_upgrade_workers_store_the_ranks_of_each_board(phase):
    for right in (9, 1):
        scored(phase, right)
    compare(phase)
    BoardRanks.objects.all().delete()
    # As the migration does.
    BoardOrder.objects.update(version=0)
    assert board_orders.queue_outdated_board_comparisons() == 1
    compare(phase)
    assert BoardRanks.objects.get().is_complete


def test_what_is_compared_one_by_one_is_read_as_it_comes(phase):
    runs = [
        scored(phase, right).evaluations.get(rules="corrected")
        for right in (9, 5, 4, 1)
    ]
    metric = build_metric(phase.task.task_type, "overlap_f1_micro", "corrected", {})
    pairs = list(itertools.combinations(runs, 2))
    random.Random(1).shuffle(pairs)

    board_orders.get_or_create_board_order(phase.pk, "corrected")

    def shown(*, keeps: bool) -> list[tuple]:
        BoardRanks.objects.all().delete()
        Comparison.objects.all().delete()
        boards_shown = [(compute_board(phase, VISITOR).is_compared, ranges(phase))]
        for first, second in pairs:
            with transaction.atomic():
                comparisons.save_comparisons(
                    comparisons.compare_evaluation_with_others(metric, first, [second])
                )
                increment_board_version(phase.pk, 0)
            phase.refresh_from_db()
            if not keeps:
                BoardRanks.objects.all().delete()
            boards_shown.append(
                (compute_board(phase, VISITOR).is_compared, ranges(phase))
            )
        return boards_shown

    assert shown(keeps=True) == shown(keeps=False)


def test_a_board_after_others_is_the_board_that_is_read_from_nothing(phase):
    def board_now() -> tuple:
        board = compute_board(phase, VISITOR)
        ranks = [
            (row.system, row.rank, row.rank_low, row.rank_high) for row in board.rows
        ]
        return board.is_compared, ranks, board.separation

    runs, restart, told = [], leases.restart_job, []
    for step in (
        9,
        5,
        compare,
        1,
        7,
        compare,
        withdraw_run,
        4,
        compare,
        restart,
        compare,
        8,
        compare,
    ):
        if step is compare:
            compare(phase)
        elif step is withdraw_run:
            run = runs.pop(1)
            withdraw_run(run, run.team.memberships.get().user)
        elif step is restart:
            restart(runs[0].jobs.get())
            score(runs[0])
        else:
            runs.append(scored(phase, step, wrong=str(step), system=f"System {step}"))
        phase.refresh_from_db()
        found = board_now()
        BoardRanks.objects.all().delete()
        assert found == board_now()
        told.append(found[0])
    assert told == [
        True,
        False,
        True,
        False,
        False,
        True,
        True,
        False,
        True,
        False,
        True,
        False,
        True,
    ]


def test_a_run_that_does_not_count_is_not_compared(phase):
    team = factories.make_team(season=phase.task.season)
    scored(phase, 9, team=team)
    scored(phase, 5)
    compare(phase)
    scored(phase, 3, team=team)
    compare(phase)
    assert Comparison.objects.count() == 1


def test_a_comparison_is_what_the_offline_command_prints(phase, tmp_path):
    runs = [scored(phase, right) for right in (8, 3)]
    compare(phase)
    gold = storage.copy_to_local_folder(
        storage.gold_file_storage, phase.task.gold.get().file, tmp_path
    )
    paths = []
    for run in runs:
        (folder := tmp_path / str(run.pk)).mkdir()
        paths.append(
            storage.copy_to_local_folder(storage.run_file_storage, run.file, folder)
        )
    kind = phase.task.task_type
    read = read_runs(
        kind, [gold], paths, rules="corrected", options=kind.validate_options({})
    )
    told = compare_offline(read, trials=10_000, seed=0)["metrics"]["overlap_f1_micro"]
    kept = Comparison.objects.get()
    for name in ("difference", "error", "low", "high", "p", "test", "trials", "units"):
        assert getattr(kept, name) == told[name], name
    assert kept.first.submission == runs[0]


def test_scoring_a_run_anew_forgets_its_comparisons_and_makes_them_again(phase):
    first, second = scored(phase, 9), scored(phase, 2)
    compare(phase)
    before = Comparison.objects.get()
    leases.restart_job(second.jobs.get())
    score(second)
    assert not Comparison.objects.exists()
    compare(phase)
    assert Comparison.objects.get().p == before.p
    assert first.evaluations.get().pk == before.first_id


def test_a_comparison_of_what_was_scored_anew_meanwhile_is_not_kept(phase, monkeypatch):
    for right in (9, 2):
        scored(phase, right)
    real = compare_board.comparisons.compare_evaluation_with_others

    def while_it_is_scored_anew(metric, one, others, **given):
        found = real(metric, one, others, **given)
        Evaluation.objects.filter(pk=one.pk).update(statistics="another/file.npz")
        return found

    monkeypatch.setattr(
        compare_board.comparisons,
        "compare_evaluation_with_others",
        while_it_is_scored_anew,
    )
    compare(phase)
    assert not Comparison.objects.exists()


def test_a_run_that_counts_again_after_a_withdrawal_is_compared(phase):
    team = factories.make_team(season=phase.task.season)
    scored(phase, 4, team=team)
    best = scored(phase, 9, team=team)
    scored(phase, 1)
    compare(phase)
    withdraw_run(best, team.memberships.get().user)
    phase.refresh_from_db()
    assert not compute_board(phase, VISITOR).is_compared
    assert board_orders.queue_outdated_board_comparisons() == 1
    compare(phase)
    assert compute_board(phase, VISITOR).is_compared


def test_the_pages_of_a_board_are_made_anew_when_its_order_is_known(phase):
    for right in (9, 2):
        scored(phase, right)
    phase.refresh_from_db()
    before = phase.version
    compare(phase)
    assert phase.version == before + 1
    assert BoardOrder.objects.get().version == phase.version
    compare(phase)
    assert phase.version == before + 1


@pytest.mark.django_db(transaction=True)
def test_a_scored_run_wakes_whoever_compares_once(phase):
    for right in (9, 2):
        scored(phase, right)
    assert (BoardOrder.objects.get().job.state, OrmQ.objects.count()) == ("queued", 1)
    take_jobs()
    assert Comparison.objects.count() == 1
    assert board_orders.queue_outdated_board_comparisons() == 0


def test_who_asks_while_a_board_is_compared_is_heard(phase):
    order = asked(phase)
    job = engine.claim_job(order.job_id, "host:1:2")
    assert board_orders.queue_board_comparison(phase.pk, "corrected")
    assert not board_orders.queue_board_comparison(phase.pk, "corrected")
    assert not board_orders.finish_board_comparison(order, job, 7)
    assert board_orders.finish_board_comparison(order, job, 7)
    order.refresh_from_db()
    assert (order.version, order.job.state) == (7, "done")


def test_comparing_makes_way_for_runs_that_wait(phase, monkeypatch):
    monkeypatch.setattr(compare_board.comparisons, "EVALUATIONS_PER_BATCH", 1)
    for right in (9, 5, 2):
        scored(phase, right)
    factories.make_submission(phase=phase)
    order = asked(phase)
    claim_and_do_job_by_id(order.job_id)
    assert Comparison.objects.count() == 1
    order.job.refresh_from_db()
    assert (order.job.state, OrmQ.objects.count()) == ("queued", 1)
    claim_and_do_job_by_id(order.job_id)
    assert Comparison.objects.count() == 2


def test_a_board_is_looked_through_at_the_beginning_and_at_the_end_however_many_steps_it_takes(
    phase, monkeypatch
):
    monkeypatch.setattr(compare_board.comparisons, "EVALUATIONS_PER_BATCH", 1)
    for right in (9, 8, 5, 4, 2):
        scored(phase, right)
    looked, left = [], compare_board.MissingComparisons
    monkeypatch.setattr(
        compare_board,
        "MissingComparisons",
        lambda *asked: looked.append(asked) or left(*asked),
    )
    order = asked(phase)
    claim_and_do_job_by_id(order.job_id)
    assert Comparison.objects.count() == 10
    assert len(looked) == 2


def test_a_run_that_comes_while_a_board_is_compared_is_compared_too(phase, monkeypatch):
    monkeypatch.setattr(compare_board.comparisons, "EVALUATIONS_PER_BATCH", 1)
    for right in (9, 5, 2):
        scored(phase, right)
    real = compare_board.comparisons.compare_evaluation_with_others

    def while_another_comes(*given, **more):
        if phase.submissions.count() == 3:
            increment_board_version(phase.pk, scored(phase, 7).team_id)
        return real(*given, **more)

    monkeypatch.setattr(
        compare_board.comparisons, "compare_evaluation_with_others", while_another_comes
    )
    claim_and_do_job_by_id(asked(phase).job_id)
    assert Comparison.objects.count() == 6


def test_a_run_whose_numbers_go_while_a_board_is_compared_stops_nothing(
    phase, monkeypatch
):
    monkeypatch.setattr(compare_board.comparisons, "EVALUATIONS_PER_BATCH", 1)
    runs = [scored(phase, right) for right in (9, 5, 2)]
    real = compare_board.comparisons.compare_evaluation_with_others

    def while_one_goes(metric, one, others, **more):
        spared = {one.submission_id, *(other.submission_id for other in others)}
        Evaluation.objects.exclude(submission__in=spared).delete()
        return real(metric, one, others, **more)

    monkeypatch.setattr(
        compare_board.comparisons, "compare_evaluation_with_others", while_one_goes
    )
    order = asked(phase)
    claim_and_do_job_by_id(order.job_id)
    assert Comparison.objects.count() == 1
    assert (
        Evaluation.objects.filter(submission__in=runs, rules="corrected").count() == 2
    )
    assert not Job.all_kinds.get(pk=order.job_id).reason


def test_classes_come_after_the_rows_of_every_board(phase):
    for right in (9, 2):
        scored(phase, right)
    order = asked(phase)
    other = asked(factories.make_phase())
    claim_and_do_job_by_id(order.job_id)
    assert Comparison.objects.count() == 1
    job = Job.all_kinds.get(pk=order.job_id)
    assert (job.state, job.priority) == ("queued", Job.Priority.CLASSES)
    assert engine.claim_next_job("host:1:2", "host:1:").pk == other.job_id
    board_orders.queue_board_comparison(phase.pk, "corrected")
    job.refresh_from_db()
    assert job.priority == Job.Priority.COMPARISON


def test_matrices_that_cannot_be_read_leave_their_rank_open_and_end_nothing(phase):
    runs = [scored(phase, right) for right in (10, 9, 0)]
    storage.statistics_file_storage.delete(runs[1].evaluations.get().statistics)
    compare(phase)
    assert Comparison.objects.count() == 1
    assert not compute_board(phase, VISITOR).is_compared
    assert ranges(phase)[1][1:3] == (1, 3)
    assert BoardOrder.objects.get().version == phase.version


def test_a_storage_that_is_away_puts_a_board_off_and_leaves_nothing_open(
    phase, monkeypatch, settings
):
    for right in (10, 0):
        scored(phase, right)

    def refuse(*_):
        raise storage.StorageUnavailable(5, "no answer")

    with monkeypatch.context() as patched:
        patched.setattr(storage.FolderStorage, "_open", refuse)
        compare(phase)
    assert not Comparison.objects.exists()
    assert not Evaluation.objects.filter(has_class_intervals=True).exists()
    order = BoardOrder.objects.get()
    assert (
        order.version,
        order.job.state,
        board_orders.queue_outdated_board_comparisons(),
    ) == (
        0,
        "waiting",
        0,
    )
    assert (
        sweep_jobs(
            fetch_database_time() + dt.timedelta(seconds=settings.LEASE_SECONDS + 1)
        ).resumed
        == 1
    )
    compare(phase)
    assert Comparison.objects.count() == 1


@pytest.mark.parametrize("is_comparing", [False, True])
def test_a_worker_that_compares_is_not_stuck(
    phase, settings, monkeypatch, is_comparing
):
    factories.make_submission(phase=phase)
    if is_comparing:
        engine.claim_job(asked(phase).job_id, "host:1:2")
    now = [0.0]
    monkeypatch.setattr("tasks.jobs.queue_choice.time.monotonic", lambda: now[0])
    watchdog = WorkerGroupWatchdog("host:1:", workers=1)
    watchdog.is_stuck()
    now[0] += WORKER_START_GRACE_SECONDS + settings.LEASE_SECONDS + 1
    assert watchdog.is_stuck() is not is_comparing


def test_while_new_gold_is_scored_both_boards_are_compared(phase):
    runs = [scored(phase, right) for right in (9, 2)]
    compare(phase)
    old = phase.task.gold.get()
    new = boards.make_gold(phase, 2, "a fix")
    for run, value in zip(runs, (0.5, 0.4), strict=True):
        boards.score(run, value, gold=new)
    Evaluation.objects.filter(gold=new).update(
        statistics=runs[0].evaluations.get(gold=old).statistics
    )
    Phase.objects.filter(pk=phase.pk).update(version=99)
    compare(phase)
    assert Comparison.objects.filter(first__gold=new).count() == 1
    assert Comparison.objects.filter(first__gold=old).count() == 1


def test_where_there_are_many_units_fewer_are_compared_at_a_time_and_alike(
    phase, monkeypatch
):
    for right in (9, 5, 2):
        scored(phase, right)
    compare(phase)
    pairs = Comparison.objects.order_by("first", "second")
    at_once = list(
        pairs.values_list("first", "second", "p", "low", "high", "difference")
    )
    pairs.delete()
    Phase.objects.filter(pk=phase.pk).update(version=99)
    monkeypatch.setattr("scoring.results.board.comparisons.MAX_ROWS_PER_BATCH", 1)
    compare(phase)
    assert (
        list(
            pairs.all().values_list("first", "second", "p", "low", "high", "difference")
        )
        == at_once
    )


@pytest.mark.parametrize(
    ("units", "trials"),
    [(4, 10_000), (20_000, 10_000), (50_000, 4_000), (10**6, 1_000)],
)
def test_the_more_units_the_fewer_trials_and_never_too_few(units, trials):
    assert choose_number_of_exchanges(units) == trials


def test_a_board_that_grows_tries_its_clearest_pairs_again_so_that_they_stay_significant(
    monkeypatch,
):
    """More rows are a stricter correction, for which the first number of trials may be too few."""
    for name in ("DEFAULT_EXCHANGES", "MIN_EXCHANGES"):
        monkeypatch.setattr(f"scoring.stats.significance.{name}", 40)
    topics = tuple(f"D01-{number:04d}" for number in range(1, 25))
    phase = compared.make_phase(topics=topics)
    for right in (24, 0):
        scored(phase, right, topics=topics)
    compare(phase)
    first = Comparison.objects.get()
    assert (first.trials, first.p) == (40, 1 / 41)
    for right in (23, 12):
        scored(phase, right, topics=topics)
    compare(phase)
    assert compute_board(phase, VISITOR).is_compared
    again = Comparison.objects.get(first=first.first, second=first.second)
    assert (again.trials, again.p) == (80, 1 / 81)
    assert Comparison.objects.count() == 6
    assert [row.rank_low for row in compute_board(phase, VISITOR).rows] == [1, 1, 3, 4]
