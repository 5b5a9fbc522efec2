"""Which runs stand on a board, in which order, and who sees what of them."""

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from scoring.results.board.standings import UnknownRuleSet, compute_board
from scoring.results.board.visibility import (
    Audience,
    BoardVisibility,
    may_see_scores,
    may_see_submission,
)
from tasks.models import Job, Organiser, Phase
from tasks.submissions.run_acts import acknowledge_failure
from tests import factories
from tests.scoring import boards

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

VISITOR = AnonymousUser()


def shown(board) -> list[tuple[str | None, int | None]]:
    return [(row.team, row.rank) for row in board.rows]


def values(board) -> list[float | None]:
    return [row.scores["overlap_f1_micro"].value for row in board.rows]


@pytest.mark.parametrize(
    ("counting", "expected"),
    [("best", "second"), ("last", "third"), ("selected", "first")],
)
def test_one_run_of_a_team_counts_by_the_choice_of_the_phase(counting, expected):
    phase = boards.make_phase(counting=counting)
    team = boards.make_team(phase, "Ada")
    boards.scored_run(phase, team, 0.2, system="first", is_selected=True)
    boards.scored_run(phase, team, 0.5, system="second")
    boards.scored_run(phase, team, 0.3, system="third")
    assert [row.system for row in compute_board(phase, VISITOR).rows] == [expected]


def test_where_teams_select_nothing_stands_for_one_that_has_not():
    phase = boards.make_phase(counting="selected")
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.5)
    assert compute_board(phase, VISITOR).rows == []


def test_a_last_run_that_is_withdrawn_brings_no_earlier_one_back():
    phase = boards.make_phase(counting="last")
    team = boards.make_team(phase, "Ada")
    boards.scored_run(phase, team, 0.9)
    boards.scored_run(phase, team, 0.2, status="withdrawn")
    assert compute_board(phase, VISITOR).rows == []
    boards.scored_run(phase, team, 0.3, kind="contrastive", status="withdrawn")
    boards.scored_run(phase, team, 0.1, system="the last")
    assert [row.system for row in compute_board(phase, VISITOR).rows] == ["the last"]


def test_of_two_equally_good_runs_the_earlier_one_counts():
    phase = boards.make_phase()
    team = boards.make_team(phase, "Ada")
    boards.scored_run(phase, team, 0.5, system="earlier")
    boards.scored_run(phase, team, 0.5, system="later")
    assert [row.system for row in compute_board(phase, VISITOR).rows] == ["earlier"]


@pytest.mark.parametrize(
    "status", ["queued", "scoring", "waiting", "failed", "cancelled", "withdrawn"]
)
@pytest.mark.parametrize(
    ("counting", "stands"),
    [("best", ["scored"]), ("last", ["scored"]), ("selected", [])],
)
def test_only_a_scored_run_ranks(status, counting, stands):
    phase = boards.make_phase(counting=counting)
    team = boards.make_team(phase, "Ada")
    boards.scored_run(phase, team, 0.2, system="scored")
    boards.scored_run(phase, team, 0.9, status=status, system="other", is_selected=True)
    boards.scored_run(phase, boards.make_team(phase, "Bo"), 0.9, status=status)
    is_last_gone = (counting, status) == ("last", "withdrawn")
    shown = [(row.team, row.system) for row in compute_board(phase, VISITOR).rows]
    assert shown == [("Ada", system) for system in stands if not is_last_gone]


def test_a_contrastive_run_never_stands_for_its_team():
    phase = boards.make_phase()
    team = boards.make_team(phase, "Ada")
    boards.scored_run(phase, team, 0.9, kind="contrastive")
    assert compute_board(phase, VISITOR).rows == []
    boards.scored_run(phase, team, 0.1)
    assert values(compute_board(phase, VISITOR)) == [0.1]


def test_where_every_run_counts_each_has_a_row_and_a_rank():
    phase = boards.make_phase(counting="all")
    ada, bo = boards.make_team(phase, "Ada"), boards.make_team(phase, "Bo")
    boards.scored_run(phase, ada, 0.2)
    boards.scored_run(phase, ada, 0.9)
    boards.scored_run(phase, bo, 0.5)
    boards.scored_run(phase, bo, 0.6, status="withdrawn")
    boards.scored_run(phase, bo, 0.6, is_late=True)
    boards.scored_run(phase, bo, 0.6, exclusion="hidden")
    boards.scored_run(phase, bo, 0.7, kind="contrastive")
    board = compute_board(phase, VISITOR)
    assert shown(board) == [("Ada", 1), ("Bo", 2), ("Ada", 3)]
    boards.scored_run(phase, boards.make_team(phase, "Cy"), 0.5)
    assert shown(compute_board(phase, VISITOR)) == [
        ("Ada", 1),
        ("Bo", 2),
        ("Cy", 2),
        ("Ada", 4),
    ]


def test_a_team_that_is_refused_has_no_row_where_every_run_counts():
    phase = boards.make_phase(counting="all", shows_contrastive=True)
    team = boards.make_team(phase, "Ada")
    boards.scored_run(phase, team, 0.9)
    boards.scored_run(phase, team, 0.9, kind="contrastive")
    team.registrations.update(is_approved=False)
    assert compute_board(phase, VISITOR).rows == []


@pytest.mark.parametrize("counting", ["best", "last", "selected", "all"])
def test_a_phase_may_show_contrastive_runs_marked_and_without_a_rank(client, counting):
    phase = boards.make_phase(counting=counting, shows_contrastive=True)
    ada, bo = boards.make_team(phase, "Ada"), boards.make_team(phase, "Bo")
    boards.scored_run(phase, ada, 0.9, kind="contrastive")
    boards.scored_run(phase, ada, 0.5, is_selected=True)
    boards.scored_run(phase, bo, 0.4, is_selected=True)
    boards.scored_run(phase, bo, 0.8, kind="contrastive", exclusion="hidden")
    board = compute_board(phase, VISITOR)
    assert shown(board) == [("Ada", None), ("Ada", 1), ("Bo", 2)]
    task = phase.task
    page = client.get(
        f"/seasons/{task.season.slug}/{task.slug}/{phase.slug}/"
    ).content.decode()
    assert page.count("Ada, contrastive") == 1
    rows = client.get(f"/api/v1/phases/{phase.pk}/leaderboard/").json()["rows"]
    assert [(row["kind"], row["rank"]) for row in rows[:2]] == [
        ("contrastive", None),
        ("primary", 1),
    ]


def test_an_undefined_value_counts_only_where_a_team_has_no_other_and_comes_last():
    phase = boards.make_phase()
    ada, bo = boards.make_team(phase, "Ada"), boards.make_team(phase, "Bo")
    boards.scored_run(phase, ada, None)
    boards.scored_run(phase, bo, None)
    boards.scored_run(phase, bo, 0.1)
    board = compute_board(phase, VISITOR)
    assert shown(board) == [("Bo", 1), ("Ada", 2)]
    assert values(board) == [0.1, None]


def test_every_baseline_has_a_row_and_none_a_rank():
    phase = boards.make_phase()
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.2)
    boards.scored_run(phase, None, 0.3, system="lead")
    boards.scored_run(phase, None, 0.1, system="random")
    board = compute_board(phase, VISITOR)
    assert [(row.system, row.rank) for row in board.rows if row.is_baseline] == [
        ("lead", None),
        ("random", None),
    ]
    assert shown(board) == [(None, None), ("Ada", 1), (None, None)]


def test_runs_of_another_phase_do_not_stand_here():
    phase = boards.make_phase()
    other = boards.make_phase(phase.task.season)
    boards.scored_run(other, boards.make_team(phase, "Ada"), 0.9)
    assert compute_board(phase, VISITOR).rows == []


def test_each_rule_set_has_a_board_of_its_own_and_the_first_ranks():
    phase = boards.make_phase()
    first, second = boards.make_team(phase, "Ada"), boards.make_team(phase, "Bo")
    for team, corrected, official in ((first, 0.2, 0.9), (second, 0.3, 0.1)):
        run = boards.scored_run(phase, team, corrected)
        boards.score(run, official, rules="official-2017")
    assert shown(compute_board(phase, VISITOR)) == [("Bo", 1), ("Ada", 2)]
    assert compute_board(phase, VISITOR).rules == "corrected"
    assert shown(compute_board(phase, VISITOR, "official-2017")) == [
        ("Ada", 1),
        ("Bo", 2),
    ]


def test_a_board_is_found_by_the_old_name_of_its_rules():
    phase = boards.make_phase(rules=("corrected", "official-2017"))
    assert compute_board(phase, VISITOR, "fair").rules == "corrected"
    with pytest.raises(
        UnknownRuleSet, match="no rules “as-published”; it has corrected, official-2017"
    ):
        compute_board(phase, VISITOR, "as-published")


def test_unknown_rules_are_refused_and_the_known_ones_named():
    phase = boards.make_phase()
    with pytest.raises(UnknownRuleSet, match="corrected, official-2017"):
        compute_board(phase, VISITOR, "official-1999")


def test_a_task_without_rules_has_an_empty_board():
    board = compute_board(boards.make_phase(rules=()), VISITOR)
    assert (board.rules, board.rows, board.columns) == (None, [], [])


def test_numbers_computed_otherwise_never_share_a_column():
    phase = boards.make_phase()
    for name, value in (("Ada", 0.2), ("Bo", 0.3)):
        boards.scored_run(phase, boards.make_team(phase, name), value)
    odd = boards.make_run(phase, boards.make_team(phase, "Cy"))
    boards.score(odd, 0.9, column="overlap_f1_micro|rules:corrected|gold:1|v:2")
    board = compute_board(phase, VISITOR)
    assert shown(board) == [("Bo", 1), ("Ada", 2), ("Cy", None)]
    assert [column.name for column in board.columns] == [
        "overlap_f1_micro",
        "overlap_f1_micro|rules:corrected|gold:1|v:2",
    ]
    assert [set(row.scores) for row in board.rows[1:]] == [
        {"overlap_f1_micro"},
        {"overlap_f1_micro|rules:corrected|gold:1|v:2"},
    ]
    assert board.has_differently_computed_scores


def test_columns_stand_in_the_order_of_the_scorer_and_the_first_ranks():
    phase = boards.make_phase()
    run = boards.make_run(phase, boards.make_team(phase, "Ada"))
    boards.score(run, 0.2, overlap_recall_micro=0.4, overlap_precision_micro=0.1)
    columns = compute_board(phase, VISITOR).columns
    assert [
        (column.name, column.is_ranking, column.higher_is_better) for column in columns
    ] == [
        ("overlap_f1_micro", True, True),
        ("overlap_recall_micro", False, True),
        ("overlap_precision_micro", False, True),
    ]


def test_a_board_stays_on_its_gold_until_every_run_is_scored_against_the_new_one():
    phase = boards.make_phase()
    runs = [
        boards.scored_run(phase, boards.make_team(phase, name), 0.5)
        for name in ("Ada", "Bo")
    ]
    fixed = boards.make_gold(phase, 2, "A sentence id was wrong")
    boards.score(runs[0], 0.7, gold=fixed)
    assert (
        compute_board(phase, VISITOR).gold.number,
        values(compute_board(phase, VISITOR)),
    ) == (1, [0.5, 0.5])
    boards.score(runs[1], 0.6, gold=fixed)
    Phase.objects.filter(pk=phase.pk).update(version=2)
    phase.refresh_from_db()
    board = compute_board(phase, VISITOR)
    assert (board.gold.number, values(board)) == (2, [0.7, 0.6])
    assert values(
        compute_board(phase, VISITOR, gold=phase.task.gold.get(number=1))
    ) == [
        0.5,
        0.5,
    ]


def test_a_run_that_fails_against_the_new_gold_holds_the_board_back_until_somebody_has_seen_it():
    phase = boards.make_phase()
    runs = [
        boards.scored_run(phase, boards.make_team(phase, name), 0.5)
        for name in ("Ada", "Bo")
    ]
    fixed = boards.make_gold(phase, 2)
    boards.score(runs[0], 0.7, gold=fixed)
    job = Job.objects.create(
        submission=runs[1],
        gold=fixed,
        rules="corrected",
        options_digest="d",
        sets_status=True,
        state="failed",
        finished_at=timezone.now(),
    )
    assert shown(compute_board(phase, VISITOR)) == [("Ada", 1), ("Bo", 1)]
    acknowledge_failure(run=runs[1], job=job, note="seen", by=factories.make_user())
    phase.refresh_from_db()
    assert shown(compute_board(phase, VISITOR)) == [("Ada", 1)]


# What a phase shows, to whom: the sight of the board for visitor, member and organiser.
SIGHTS = {
    "everyone": (
        BoardVisibility.SCORES,
        BoardVisibility.SCORES,
        BoardVisibility.SCORES,
    ),
    "ranks": (BoardVisibility.RANKS, BoardVisibility.RANKS, BoardVisibility.SCORES),
    "organisers": (
        BoardVisibility.NOTHING,
        BoardVisibility.NOTHING,
        BoardVisibility.SCORES,
    ),
    "nobody": (
        BoardVisibility.NOTHING,
        BoardVisibility.NOTHING,
        BoardVisibility.SCORES,
    ),
}


def people(phase):
    member, organiser = factories.make_user(), factories.make_user()
    Organiser.objects.create(season=phase.task.season, user=organiser)
    return member, organiser, boards.make_team(phase, "Ada", member)


@pytest.mark.parametrize("choice", SIGHTS)
def test_the_phase_says_who_sees_its_board(choice):
    phase = boards.make_phase(board=choice)
    member, organiser, team = people(phase)
    boards.scored_run(phase, team, 0.5)
    assert (
        tuple(
            compute_board(phase, each).visibility
            for each in (VISITOR, member, organiser)
        )
        == SIGHTS[choice]
    )
    assert (
        compute_board(phase, factories.make_user(is_staff=True)).visibility
        == BoardVisibility.SCORES
    )
    assert compute_board(phase, factories.make_user()).visibility == SIGHTS[choice][0]


def test_ranks_come_without_a_number():
    phase = boards.make_phase(board="ranks")
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.5)
    board = compute_board(phase, VISITOR)
    assert shown(board) == [("Ada", 1)]
    assert board.columns == []
    assert [(row.scores, row.value) for row in board.rows] == [({}, None)]


@pytest.mark.parametrize("choice", ["organisers", "nobody"])
def test_a_hidden_board_has_neither_rows_nor_columns(choice):
    phase = boards.make_phase(board=choice)
    boards.scored_run(phase, boards.make_team(phase, "Ada"), 0.5)
    board = compute_board(phase, VISITOR)
    assert (board.rows, board.columns) == ([], [])


def test_an_organiser_of_another_season_is_the_public_here():
    phase = boards.make_phase(board="organisers")
    other = factories.make_user()
    Organiser.objects.create(season=factories.make_season(), user=other)
    assert compute_board(phase, other).audience == Audience.PUBLIC


# A single run: who sees that it exists, and who its numbers, for stranger, member and organiser.
RUNS = {
    "everyone": ((False, True, True), (False, True, True)),
    "ranks": ((False, True, True), (False, False, True)),
    "organisers": ((False, True, True), (False, False, True)),
    "nobody": ((False, True, True), (False, False, True)),
}


@pytest.mark.parametrize("choice", RUNS)
def test_a_team_sees_its_own_runs_and_of_their_numbers_what_everyone_does(choice):
    phase = boards.make_phase(board=choice)
    member, organiser, team = people(phase)
    stranger = factories.make_user()
    boards.make_team(phase, "Bo", stranger)
    run = boards.scored_run(phase, team, 0.5)
    everybody = (stranger, member, organiser)
    assert tuple(may_see_submission(run, each) for each in everybody) == RUNS[choice][0]
    assert tuple(may_see_scores(run, each) for each in everybody) == RUNS[choice][1]
    assert not may_see_submission(run, VISITOR)


@pytest.mark.parametrize(
    ("board", "own", "shown"),
    [
        ("everyone", "nothing", "scores"),
        ("ranks", "", "scored"),
        ("ranks", "nothing", "scored"),
        ("ranks", "scores", "scores"),
        ("organisers", "", "scored"),
        ("organisers", "nothing", "nothing"),
        ("organisers", "scores", "scores"),
        ("nobody", "", "scored"),
        ("nobody", "nothing", "nothing"),
    ],
)
def test_own_runs_have_a_switch_of_their_own_that_hides_nothing_everyone_sees(
    board, own, shown
):
    assert Phase(board=board, own_scores=own).visible_detail_of_own_runs == shown


def test_a_baseline_belongs_to_the_organisers():
    phase = boards.make_phase()
    member, organiser, _ = people(phase)
    run = boards.scored_run(phase, None, 0.5)
    assert [may_see_submission(run, each) for each in (VISITOR, member, organiser)] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("teams", [2, 12])
def test_the_number_of_queries_does_not_grow_with_teams_and_runs(
    teams, django_assert_num_queries
):
    phase = boards.make_phase()
    for number in range(teams):
        team = boards.make_team(phase, f"Team {number}")
        for value in (0.1, 0.2, 0.3):
            boards.scored_run(phase, team, value + number)
    boards.scored_run(phase, None, 0.5)
    phase = Phase.objects.select_related("task__season").get(pk=phase.pk)
    with django_assert_num_queries(8):
        assert len(compute_board(phase, VISITOR).rows) == teams + 1
