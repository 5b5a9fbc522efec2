"""What limits on leaks leave of the scores of a run: a part of the split, the Ladder, enough answers."""

import datetime as dt
import os
import subprocess
import sys

import pytest
from django.utils import timezone

from citeboard.core.instants import ENDLESS_PHASE_END
from citeboard.web.organise.attention import find_season_concerns
from scoring.models import Evaluation, MonthlyRanks, Score
from scoring.results.board import monthly_ranks
from scoring.results.board.comparisons import (
    UnreadableStatistics,
    read_statistics_of_run,
)
from scoring.results.board.standings import compute_board
from scoring.results.board.visibility import Audience
from scoring.results.runs.results import find_latest_evaluations_by_rule_set
from scoring.worker.rescoring import request_rescoring_of_stale_phases
from tasks.models import Gold, Phase
from tests.api.sending import score
from tests.factories import (
    answers,
    make_gold,
    make_phase,
    make_submission,
    make_task,
    make_team,
    run_bytes,
)

pytestmark = pytest.mark.django_db

#: Their gold is sentence 1 of one citance and sentences 2 and 3 of the other.
TOPICS = tuple(f"D01-00{number}" for number in range(10, 20))
RANKING = "overlap_f1_micro"


def limited_phase(rules=("corrected",), **fields) -> Phase:
    phase = make_phase(task=make_task(rules=list(rules)), with_gold=False, **fields)
    make_gold(phase=phase, topics=TOPICS)
    return phase


def run(phase, team, right=10, **fields):
    """A scored run whose answers are right in so many topics and wrong in the rest."""
    records = answers(topics=TOPICS[:right]) + answers(
        topics=TOPICS[right:], sentences=("4",)
    )
    sent = make_submission(phase=phase, team=team, content=run_bytes(records), **fields)
    score(sent)
    return sent


def scores(sent) -> dict[str, Score]:
    [evaluation] = find_latest_evaluations_by_rule_set(sent).values()
    return {row.metric: row for row in evaluation.scores.all()}


def close(phase) -> None:
    Phase.objects.filter(pk=phase.pk).update(
        closes=timezone.now() - dt.timedelta(minutes=1)
    )


def test_own_scores_are_of_the_public_part_while_runs_are_taken_and_of_the_private_one_afterwards():
    phase = limited_phase(public_part=30)
    sent = run(phase, make_team(season=phase.task.season), 5)
    phase.refresh_from_db()
    public = scores(sent)[RANKING]
    drawn = f"30-c{phase.draw_commitment[:12]}"
    assert f"|part:public-{drawn}|" in public.column
    assert public.n == 6, "two citances of each of three topics"
    assert read_statistics_of_run(Evaluation.objects.get()).units.size == 6
    assert request_rescoring_of_stale_phases() == 0, (
        "nothing is to be scored again before the end"
    )
    close(phase)
    assert request_rescoring_of_stale_phases() == 1
    score(sent)
    private = scores(sent)[RANKING]
    assert f"|part:private-{drawn}|" in private.column
    assert private.n == 14
    assert read_statistics_of_run(Evaluation.objects.get()).units.size == 14
    assert request_rescoring_of_stale_phases() == 0


def test_organisers_alone_know_what_a_run_has_on_the_other_part_before_the_end():
    phase = limited_phase(public_part=30)
    sent = run(phase, make_team(season=phase.task.season), 5)
    evaluation = Evaluation.objects.get(submission=sent)
    assert evaluation.untold[RANKING]["n"] == 14
    assert evaluation.untold[RANKING]["value"] is not None


def test_phases_on_the_same_gold_draw_the_same_part():
    one = limited_phase(public_part=30)
    other = limited_phase(public_part=30)
    for phase in (one, other):
        run(phase, make_team(season=phase.task.season))
    one.refresh_from_db()
    other.refresh_from_db()
    assert one.part_nonce == other.part_nonce != ""


def test_a_late_run_is_told_its_public_score_as_long_as_runs_are_taken():
    phase = limited_phase(
        public_part=30, late_until=timezone.now() + dt.timedelta(days=60)
    )
    close(phase)
    phase.refresh_from_db()
    assert phase.get_scored_part_at(timezone.now()).startswith("public-")


@pytest.mark.both_databases
def test_by_the_ladder_a_team_is_told_a_number_only_where_it_is_better_by_more_than_an_error():
    phase = limited_phase(rules=("corrected", "official-2017"), ladder=True)
    team = make_team(season=phase.task.season)
    numbers = []
    for right in (4, 5, 3, 9):
        sent = run(phase, team, right)
        of_rules = {
            own.rules: own for own in Evaluation.objects.filter(submission=sent)
        }
        own = {row.metric: row for row in of_rules["corrected"].scores.all()}
        numbers.append(own[RANKING].value)
        assert {row.withheld for name, row in own.items() if name != RANKING} == {
            "ranking-only"
        }
        assert all(row.value is None for row in of_rules["official-2017"].scores.all())
        for evaluation in of_rules.values():
            assert not evaluation.breakdowns.exists()
            with pytest.raises(UnreadableStatistics):
                read_statistics_of_run(evaluation)
        assert own[RANKING].low is own[RANKING].high is None
    assert numbers == [numbers[0], None, None, numbers[3]]
    assert numbers[3] > numbers[0]
    assert all(len(str(number)) <= 4 for number in numbers if number), (
        "rounded to the error"
    )
    board = compute_board(phase, None)
    assert [row.value for row in board.rows] == [numbers[3]]


@pytest.mark.both_databases
def test_what_the_ladder_told_stays_when_the_run_is_scored_again_and_all_is_told_at_the_end():
    phase = limited_phase(ladder=True)
    team = make_team(season=phase.task.season)
    first, second = run(phase, team, 4), run(phase, team, 5)
    told = scores(first)[RANKING].value
    close(phase)
    request_rescoring_of_stale_phases()
    for sent in (first, second):
        score(sent)
        assert scores(sent)[RANKING].value is not None
        assert scores(sent)[RANKING].low is not None
    assert scores(first)[RANKING].value != told
    assert scores(second)[RANKING].value > scores(first)[RANKING].value


def test_a_run_that_answers_too_little_is_told_nothing():
    phase = limited_phase(min_answered_share=50)
    team = make_team(season=phase.task.season)
    sent = make_submission(
        phase=phase, team=team, content=run_bytes(answers(topics=TOPICS[:1]))
    )
    score(sent)
    assert {(row.value, row.withheld) for row in scores(sent).values()} == {
        (None, "few-answers")
    }
    assert not Evaluation.objects.get().breakdowns.exists()
    assert Evaluation.objects.get().rank_value is None


@pytest.mark.parametrize("limit", [{"min_answered_share": 50}, {"ladder": True}])
def test_what_stands_beside_a_withheld_number_does_not_tell_whether_an_answer_is_right(
    limit,
):
    """A run with a right answer and one with a wrong answer leave the same beside their numbers."""
    phase = limited_phase(counting="last", **limit)
    team = make_team(season=phase.task.season)
    run(phase, team)
    [right, wrong] = (
        make_submission(
            phase=phase,
            team=team,
            content=run_bytes(answers(topics=TOPICS[:1], sentences=(sentence,))),
        )
        for sentence in ("1", "4")
    )
    found = []
    for sent in (right, wrong):
        score(sent)
        rows = scores(sent).values()
        assert {row.value for row in rows} == {None}
        found.append({row.metric: (row.n, row.signature) for row in rows})
    assert found[0] == found[1]


def test_classes_of_too_few_answers_are_not_told_nor_those_from_which_they_follow():
    phase = limited_phase(min_answered=2)
    team = make_team(season=phase.task.season)
    few = answers(topics=TOPICS[:8])[:15]
    sent = make_submission(phase=phase, team=team, content=run_bytes(few))
    score(sent)
    rows = {
        row.classes.dimension: row.by_class()
        for row in Evaluation.objects.get().breakdowns.all()
    }
    # One answer in the eighth and none in the last two, which together are still too few.
    told = {
        label
        for label, numbers in rows["topic"].items()
        if not numbers[RANKING].withheld
    }
    assert len(told) == 6
    assert told < set(TOPICS[:7])
    assert all(
        numbers[RANKING].value is None
        for label, numbers in rows["topic"].items()
        if label not in told
    )
    assert scores(sent)[RANKING].value is not None


@pytest.mark.both_databases
def test_without_an_end_the_private_part_ranks_once_a_month_and_a_new_run_waits_for_the_next(
    monkeypatch,
):
    monkeypatch.setattr("scoring.stats.leakage.INSTANCES_PER_RANK_PUBLICATION", 1)
    opens = timezone.now() - dt.timedelta(days=60)
    phase = limited_phase(public_part=30, opens=opens, closes=ENDLESS_PHASE_END)
    season = phase.task.season
    weak, strong = (make_team(season=season) for _ in range(2))
    run(phase, weak, 2)
    assert [row.rank for row in compute_board(phase, None).rows] == [None]
    assert monthly_ranks.save_due_monthly_ranks() == 1
    assert [row.rank for row in compute_board(phase, None).rows] == [1]
    run(phase, strong, 10)
    assert monthly_ranks.save_due_monthly_ranks() == 0
    assert {row.team_slug: row.rank for row in compute_board(phase, None).rows} == {
        weak.slug: 1,
        strong.slug: None,
    }
    MonthlyRanks.objects.update(month=dt.date(2020, 1, 1))
    assert monthly_ranks.save_due_monthly_ranks() == 1
    for audience in (Audience.PUBLIC, Audience.ORGANISER):
        board = compute_board(phase, None, audience=audience)
        assert {row.team_slug: row.rank for row in board.rows} == {
            weak.slug: 2,
            strong.slug: 1,
        }
        assert board.ranks_of is not None


@pytest.mark.parametrize(
    ("instances", "months"),
    [(90, []), (91, [1]), (190, [1, 7]), (1097, [*range(1, 13)])],
)
def test_a_private_part_ranks_as_often_as_it_is_large_enough_for(
    monkeypatch, instances, months
):
    opens = dt.datetime(2029, 12, 31, tzinfo=dt.UTC)
    phase = make_phase(public_part=30, opens=opens, closes=ENDLESS_PHASE_END)
    Gold.objects.update(instances=instances)
    for month in range(1, 13):
        at = dt.datetime(2030, month, 20, tzinfo=dt.UTC)
        monkeypatch.setattr(monthly_ranks, "now", lambda at=at: at)
        monthly_ranks.save_due_monthly_ranks()
    drawn = MonthlyRanks.objects.filter(rules="corrected").order_by("month")
    assert [kept.month for kept in drawn] == [
        dt.date(2030, month, 1) for month in months
    ]
    assert phase.has_monthly_ranks


def test_a_year_of_ranks_tells_no_more_than_5_of_100_private_answers_over_chance(
    root, tmp_path
):
    """Made-up answers for every task type, scored by its scorer; with fewer than 64 there are no ranks."""
    words = [sys.executable, "bench/leak.py", "--presets"]
    surroundings = {**os.environ, "CITEBOARD_DATA_DIR": str(tmp_path)}
    played = subprocess.run(
        words, cwd=root, env=surroundings, capture_output=True, text=True, check=False
    )
    assert (played.returncode, played.stdout.count("Open leaderboard")) == (0, 8), (
        played.stderr
    )


def test_runs_that_look_like_probes_are_marked_with_why():
    phase = limited_phase()
    team = make_team(season=phase.task.season)
    one = make_submission(
        phase=phase, team=team, content=run_bytes(answers(topics=TOPICS[:1])[:1])
    )
    score(one)
    assert Evaluation.objects.get(submission=one).probe == "few 1 20"
    run(phase, team, 6)
    changed = answers(topics=TOPICS[:6]) + answers(topics=TOPICS[6:], sentences=("4",))
    changed[0]["sentences"] = ["4"]
    copy = make_submission(phase=phase, team=team, content=run_bytes(changed))
    score(copy)
    assert Evaluation.objects.get(submission=copy).probe == "copy 2 1 20"
    told = next(
        concern
        for concern in find_season_concerns(phase.task.season)
        if concern.name == "probes"
    )
    assert [line.words.partition(". ")[2] for line in told.lines] == [
        "Its scores differ from those of run 2 in 1 of 20 rows.",
        "It answers 1 of 20 instances.",
    ]


def test_a_phase_that_limits_nothing_tells_everything():
    phase = limited_phase()
    sent = run(phase, make_team(season=phase.task.season), 5)
    evaluation = Evaluation.objects.get(submission=sent)
    assert (
        evaluation.release,
        evaluation.withheld,
        evaluation.untold,
        evaluation.probe,
    ) == ("", "", {}, "")
    assert "part:" not in scores(sent)[RANKING].column
    assert request_rescoring_of_stale_phases() == 0
