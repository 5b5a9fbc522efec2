"""A board with systems of several runs: the mean ranks, and the runs stand below it."""

import json

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from scoring.models import Evaluation, FrozenBoard, SystemComparison, SystemMean
from scoring.results.board import exports
from scoring.results.board.standings import compute_board
from scoring.results.board.verdict import PAIRED_TEST_NAME, SEED_MEAN_TEST_NAME
from scoring.worker import compare_seeds
from tasks.models import Phase, Submission
from tasks.submissions.run_acts import accept_late_run
from tests import factories
from tests.scoring import boards, compared
from tests.web.reading import text_of

pytestmark = pytest.mark.django_db

VISITOR = AnonymousUser()
METRIC = "overlap_f1_micro"


@pytest.fixture
def phase() -> Phase:
    return boards.make_phase(counting="all")


def seeds(phase: Phase, *values: float | None, name: str = "Owl") -> list[Submission]:
    team = boards.make_team(phase, name)
    return [
        boards.scored_run(phase, team, value, seeds_of=name, system=f"{name}-{number}")
        for number, value in enumerate(values)
    ]


def shown(phase: Phase) -> list[tuple]:
    board = compute_board(Phase.objects.get(pk=phase.pk), VISITOR)
    return [
        (row.system, row.rank, row.value, [run.value for run in row.runs])
        for row in board.rows
    ]


def test_the_mean_ranks_with_its_runs_below(phase):
    seeds(phase, 0.9, 0.4, 0.2)
    boards.scored_run(phase, boards.make_team(phase, "Cat"), 0.6, system="Cat")
    assert shown(phase) == [
        ("Cat", 1, 0.6, []),
        ("Owl", 2, pytest.approx(0.5), [0.9, 0.4, 0.2]),
    ]


def test_runs_that_were_withdrawn_or_excluded_leave_the_mean(phase):
    first, second, third, fourth = seeds(phase, 0.1, 0.4, 0.6, 0.8)
    Submission.objects.filter(pk=first.pk).update(status="withdrawn")
    Submission.objects.filter(pk=second.pk).update(exclusion="hidden")
    assert shown(phase) == [("Owl", 1, pytest.approx(0.7), [0.6, 0.8])]
    Submission.objects.filter(pk=third.pk).update(exclusion="disqualified")
    assert shown(phase) == [(fourth.system, 1, 0.8, [])]


def test_a_mean_without_the_number_of_a_run_has_none(phase):
    seeds(phase, 0.9, None)
    [row] = compute_board(phase, VISITOR).rows
    assert (row.value, row.scores[METRIC].value) == (None, None)


def test_a_mean_has_the_marks_of_each_run_and_the_card_that_all_share(phase):
    _first, second = seeds(phase, 0.9, 0.4)
    Submission.objects.update(card={"seed": "1", "code": "https://example.org"})
    Submission.objects.filter(pk=second.pk).update(
        card={"model": "closed", "seed": "2", "code": "https://example.org"}
    )
    [row] = compute_board(phase, VISITOR).rows
    assert row.marks == [("model", "closed model")]
    assert row.card == {"code": "https://example.org"}


def test_a_phase_by_the_ladder_shows_each_run_for_itself(phase):
    seeds(phase, 0.9, 0.4)
    Phase.objects.filter(pk=phase.pk).update(ladder=True)
    assert [row[3] for row in shown(phase)] == [[], []]


def test_beside_means_a_best_run_is_labelled_best_of(phase):
    Phase.objects.filter(pk=phase.pk).update(counting="best")
    seeds(phase, 0.9, 0.4)
    cat = boards.make_team(phase, "Cat")
    for value in (0.6, 0.5):
        boards.scored_run(phase, cat, value)
    gone = boards.scored_run(phase, cat, 0.7)
    Submission.objects.filter(pk=gone.pk).update(status="withdrawn")
    boards.score(boards.make_run(phase, cat, exclusion="hidden"), 0.8)
    rows = compute_board(Phase.objects.get(pk=phase.pk), VISITOR).rows
    assert [row.best_of for row in rows] == [1, 3]
    assert "best of 3" in rows[1].marked_name
    assert "mean of 2 runs" in rows[0].marked_name


def test_contrastive_runs_are_not_among_the_systems_of_which_a_run_is_the_best(phase):
    Phase.objects.filter(pk=phase.pk).update(counting="best")
    seeds(phase, 0.9, 0.4)
    cat = boards.make_team(phase, "Cat")
    boards.scored_run(phase, cat, 0.6)
    boards.scored_run(phase, cat, 0.5, kind="contrastive")
    rows = compute_board(Phase.objects.get(pk=phase.pk), VISITOR).rows
    assert [row.best_of for row in rows if row.rank is not None] == [1, 1]


@pytest.mark.both_databases
def test_a_late_run_that_is_accepted_on_a_frozen_board_leaves_best_of_as_it_was(phase):
    Phase.objects.filter(pk=phase.pk).update(counting="best")
    seeds(phase, 0.9, 0.4)
    late = boards.scored_run(phase, Submission.objects.first().team, 0.5, is_late=True)
    now = timezone.now()
    Phase.objects.filter(pk=phase.pk).update(frozen_from=now)
    FrozenBoard.objects.create(
        phase=phase,
        rules="corrected",
        gold=Evaluation.objects.first().gold,
        frozen_from=now,
        evaluations=[
            run.evaluation for run in compute_board(phase, VISITOR).rows[0].runs
        ],
    )

    def best_of() -> list[int]:
        board = compute_board(Phase.objects.get(pk=phase.pk), VISITOR)
        return [row.best_of for row in board.rows]

    assert best_of() == [1]
    accept_late_run(late, factories.make_user(), "Ill.")
    assert best_of() == [1]
    Phase.objects.filter(pk=phase.pk).update(frozen_from=None)
    assert best_of() == [2]


def test_a_board_without_means_says_nothing_of_seeds(phase):
    team = boards.make_team(phase, "Cat")
    boards.scored_run(phase, team, 0.6, seeds_of="Cat")
    Phase.objects.filter(pk=phase.pk).update(counting="best")
    boards.scored_run(phase, team, 0.5)
    board = compute_board(Phase.objects.get(pk=phase.pk), VISITOR)
    [row] = json.loads(exports.board_as_json(board, board.rows, {}))["rows"]
    assert not {"runs", "best_of"} & row.keys()
    assert "mean_of" not in exports.board_as_csv(board, board.rows, {})


def test_exports_have_the_runs_below_the_mean(phase):
    seeds(phase, 0.9, 0.4)
    board = compute_board(phase, VISITOR)
    [row] = json.loads(exports.board_as_json(board, board.rows, {}))["rows"]
    assert [run["scores"][METRIC]["value"] for run in row["runs"]] == [0.9, 0.4]
    heads, mean, *runs = exports.board_as_csv(board, board.rows, {}).splitlines()
    assert heads.endswith("mean_of,seed_of,best_of")
    assert mean.endswith("2,,")
    assert [line.endswith(",Owl,") for line in runs] == [True, True]


def test_hidden_teams_hide_their_means_and_runs(phase):
    Phase.objects.filter(pk=phase.pk).update(counting="best")
    [first, _second] = seeds(phase, 0.9, 0.4)
    boards.scored_run(phase, first.team, 0.2)
    phase = Phase.objects.get(pk=phase.pk)
    assert [row.best_of for row in compute_board(phase, VISITOR).rows] == [2]
    phase.task.season.__class__.objects.update(anonymous_until="2091-01-01T00:00Z")
    board = compute_board(Phase.objects.get(pk=phase.pk), VISITOR)
    teams = {(row.team_slug, row.best_of) for row in board.rows_with_seed_runs}
    assert teams == {(None, 0)}


def test_the_page_and_the_api_show_the_runs_below_the_mean(client, phase):
    seeds(phase, 0.9, 0.4)
    page = text_of(client.get(boards.address("board", phase)))
    assert "mean of 2 runs" in page
    assert page.index("mean of 2 runs") < page.index("Owl-0") < page.index("Owl-1")
    [row] = client.get(f"/api/v1/phases/{phase.pk}/leaderboard/").json()["rows"]
    assert (row["system"], len(row["runs"])) == ("Owl", 2)


@pytest.fixture
def scored_phase() -> Phase:
    phase = compared.make_phase(counting="all")
    team = factories.make_team(season=phase.task.season)
    for right in (9, 10, 9):
        run = compared.scored(phase, right, team=team)
        Submission.objects.filter(pk=run.pk).update(seeds_of="Owl")
    compared.scored(phase, 1, system="Cat")
    compared.scored(phase, 2, system="Dog")
    return phase


@pytest.mark.both_databases
def test_the_worker_compares_means_and_gives_them_intervals(scored_phase):
    board = compute_board(scored_phase, VISITOR)
    assert (board.is_compared, board.verdict.test) == (False, "")
    compared.compare(scored_phase)
    board = compute_board(Phase.objects.get(pk=scored_phase.pk), VISITOR)
    assert board.is_compared
    assert [(row.system, row.rank_low, row.rank_high) for row in board.rows] == [
        ("Owl", 1, 1), ("Dog", 2, 3), ("Cat", 2, 3),
    ]  # fmt: skip
    cell = board.rows[0].scores[METRIC]
    assert cell.low < cell.value < cell.high
    assert board.verdict.test == SEED_MEAN_TEST_NAME
    assert SystemComparison.objects.count() == 2
    assert SystemMean.objects.count() == 1


def test_the_worker_reads_the_board_once_and_renews_it_once_a_mean(
    scored_phase, monkeypatch
):
    team = factories.make_team(season=scored_phase.task.season)
    for right in (4, 5, 6):
        run = compared.scored(scored_phase, right, team=team)
        Submission.objects.filter(pk=run.pk).update(seeds_of="Fox")
    compared.compare(scored_phase)
    SystemComparison.objects.all().delete()
    SystemMean.objects.all().delete()
    Phase.objects.filter(pk=scored_phase.pk).update(version=99)
    reads, renewed = [], []
    monkeypatch.setattr(compare_seeds, "COMPARED_ROWS_PER_BATCH", 1)
    monkeypatch.setattr(
        compare_seeds,
        "compute_board",
        lambda *args, **named: reads.append(1) or compute_board(*args, **named),
    )
    monkeypatch.setattr(
        compare_seeds, "increment_board_version", lambda *args: renewed.append(args)
    )
    compared.compare(scored_phase)
    assert SystemMean.objects.count() == 2
    # Each mean with both single runs, and the two means with each other.
    assert SystemComparison.objects.count() == 5
    # The first call finds the missing results, the second finds none.
    assert (len(reads), len(renewed)) == (2, 2)


def test_a_run_that_leaves_renews_the_mean_and_its_comparisons(scored_phase):
    compared.compare(scored_phase)
    first = Submission.objects.filter(seeds_of="Owl").earliest("pk")
    Submission.objects.filter(pk=first.pk).update(status="withdrawn")
    Phase.objects.filter(pk=scored_phase.pk).update(version=99)
    board = compute_board(Phase.objects.get(pk=scored_phase.pk), VISITOR)
    assert not board.is_compared
    assert board.rows[0].scores[METRIC].low is None
    compared.compare(scored_phase)
    assert compute_board(Phase.objects.get(pk=scored_phase.pk), VISITOR).is_compared


@pytest.mark.parametrize("system", ["Owl", "Cat"])
def test_a_withheld_run_is_compared_with_no_mean(scored_phase, system):
    withheld = Evaluation.objects.filter(submission__seeds_of=system).first()
    withheld = withheld or Evaluation.objects.get(submission__system=system)
    Evaluation.objects.filter(pk=withheld.pk).update(withheld="few-answers")
    compared.compare(scored_phase)
    compared_with = SystemComparison.objects.count()
    assert compared_with == (0 if system == "Owl" else 1)


def test_a_mean_whose_statistics_are_lost_leaves_its_ranks_open(scored_phase):
    Evaluation.objects.filter(submission__seeds_of="Owl").update(statistics="gone")
    compared.compare(scored_phase)
    board = compute_board(Phase.objects.get(pk=scored_phase.pk), VISITOR)
    assert (board.rows[0].rank_low, board.rows[0].rank_high) == (1, 3)
    assert board.is_compared


def test_without_seeds_the_verdict_names_the_test_as_ever(scored_phase):
    Submission.objects.update(seeds_of="")
    compared.compare(scored_phase)
    board = compute_board(Phase.objects.get(pk=scored_phase.pk), VISITOR)
    assert board.verdict.test == PAIRED_TEST_NAME


def test_a_frozen_board_keeps_its_mean_when_a_run_is_withdrawn_since(phase):
    first, *_others = seeds(phase, 0.9, 0.4)
    now = timezone.now()
    Phase.objects.filter(pk=phase.pk).update(frozen_from=now)
    FrozenBoard.objects.create(
        phase=phase,
        rules="corrected",
        gold=Evaluation.objects.first().gold,
        frozen_from=now,
        evaluations=list(Evaluation.objects.values_list("pk", flat=True)),
    )
    before = shown(phase)
    Submission.objects.filter(pk=first.pk).update(status="withdrawn")
    assert shown(phase) == before == [("Owl", 1, pytest.approx(0.65), [0.9, 0.4])]


def test_the_page_of_a_seed_names_its_system(client, phase):
    [first, second] = seeds(phase, 0.9, 0.4)
    for run in (first, second):
        page = text_of(client.get(f"{boards.address('board', phase)}runs/{run.pk}/"))
        assert "a seed of Owl" in page
    board = compute_board(phase, VISITOR)
    [row] = board.with_first_runs_only.rows
    assert (row.system, row.value) == (f"Owl, run {first.number}", 0.9)
