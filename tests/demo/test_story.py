"""The story of the demo, as the services of its boards return it."""

import csv
import datetime as dt
import json
from itertools import pairwise

import pytest

from citeboard.demo.conclude import conclude_ended_demo_season
from scoring.models import BackgroundJob, Snapshot
from scoring.results.board.confirming import compute_confirmation_of_board
from scoring.results.board.public_results import load_overall_ranking_of_season
from scoring.results.board.standings import Board, compute_board
from scoring.results.publications import published
from scoring.tools.baselines import find_baselines_of_task_type
from scripts.demo.papers import PAPERS, citances
from scripts.write_demo import EXAMPLES
from tasks.models import Season, Submission
from tests import factories
from tests.demo.worlds import make_story, phase_at
from tests.kept_worlds import KeptWorld, keep_world

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def kept_story(django_db_setup, django_db_blocker) -> KeptWorld:
    return keep_world(make_story, django_db_blocker)


@pytest.fixture
def story(db, kept_story) -> None:
    kept_story()


def board_of(season: str, task: str, phase: str = "practice") -> Board:
    board = compute_board(phase_at(season, task, phase), None)
    assert board.is_compared
    assert board.separation.can_differ
    return board


def ranked(board: Board) -> list:
    return [row for row in board.rows if row.rank is not None]


def test_one_board_is_decided(story):
    verdict = board_of("demo", "recommendation").verdict
    assert verdict.leader.system == "TwoTower-384"
    assert len(verdict.leaders) == 1
    assert verdict.tied == ()
    assert len(verdict.behind) == 4


def test_one_board_is_tied_between_the_first_two_alone(story):
    board = board_of("demo", "1a")
    assert [row.system for row in board.verdict.tied] == ["ctx+3 rerank"]
    first, second, *_ = ranked(board)
    assert (first.rank_high, second.rank_low) == (2, 1)


def test_one_board_is_overturned_its_first_by_value_is_not_the_surest_by_significance(
    story,
):
    first, second, third, *_ = ranked(board_of("demo", "resolution"))
    assert first.value > second.value + 0.05
    # The second system is significantly above the third, and could be tied with the first.
    assert (first.rank_low, first.rank_high) == (1, 3)
    assert (second.rank_low, second.rank_high) == (1, 2)
    assert third.rank_low == 2 or third.rank_high > 2


def test_on_one_board_a_baseline_has_the_best_value(story):
    first, *others = compute_board(phase_at("demo", "2", "practice"), None).rows
    assert first.is_baseline
    assert first.value > max(row.value for row in others)


def test_months_of_runs_rise_past_a_line_that_is_called_invented(story):
    board = board_of("demo", "1a")
    runs = sorted(ranked(board), key=lambda row: row.submitted_at)
    gaps = [b.submitted_at - a.submitted_at for a, b in pairwise(runs)]
    assert min(gaps) > dt.timedelta(days=25)
    assert runs[-1].submitted_at - runs[0].submitted_at > dt.timedelta(days=150)
    values = [row.value for row in runs]
    assert values == sorted(values)
    table = published.find_leading_table_by_task([board.phase.task])[
        board.phase.task_id
    ]
    line = table.rows[0]
    assert values[0] < line.value(board.ranking.metric) < values[-1]
    assert "invented" in line.system
    assert "Invented" in table.table.paper.title
    assert table.leading.name == board.ranking.metric


def test_cut_offs_differ_because_the_pools_are_large(story):
    for row in ranked(board_of("demo", "recommendation")):
        assert row.scores["mrr@10"].value < row.scores["recall@10"].value - 0.05


def test_rankings_of_the_field_s_tasks_hold_more_than_one_candidate():
    folder = EXAMPLES / "field-tasks" / "source-retrieval"
    pool = (folder / "gold" / "collection.csv").read_text().splitlines()
    assert len(list(csv.DictReader(pool))) > 50
    posts = (folder / "gold" / "gold.tsv").read_text().splitlines()
    cited = {post["post_id"]: post for post in csv.DictReader(posts, delimiter="\t")}
    places = []
    for line in (folder / "few-shot-3.jsonl").read_text().splitlines():
        answer = json.loads(line)
        assert len(answer["ranking"]) == 20
        right = cited[answer["post_id"]]["cord_uid"]
        ranking = [*answer["ranking"], right]
        places.append(ranking.index(right))
    found = [sum(place < cut for place in places) for cut in (1, 5, 10)]
    assert found[0] < found[1] < found[2] < len(places)


def test_the_season_has_an_overall_table_of_its_teams(story):
    season = Season.objects.get(slug="demo")
    assert season.shows_overall
    table = load_overall_ranking_of_season(season)
    assert len(table.boards) == 4
    assert {row.team for row in table.rows} >= {"Avocet", "Bittern", "Curlew"}


def test_the_season_that_ended_has_a_winner_and_is_confirmed_cited_and_archived(story):
    assert conclude_ended_demo_season()
    board = board_of("demo-2024", "recommendation", "evaluation")
    assert board.phase.closes < board.updated_at
    assert board.verdict.leader.system == "TwoTower-384"
    assert board.verdict.tied == ()
    confirmation = compute_confirmation_of_board(board)
    assert not confirmation.is_preliminary
    assert confirmation.confirmed == confirmation.teams == 5
    cited = Snapshot.objects.get(phase=board.phase)
    assert cited.occasion == Snapshot.Occasion.CITED
    archives = BackgroundJob.objects.filter(kind=BackgroundJob.Kind.ARCHIVE)
    assert archives.get().season == board.phase.task.season
    # A second call does nothing.
    assert conclude_ended_demo_season()
    assert archives.count() == Snapshot.objects.count() == 1


def test_a_season_whose_runs_still_wait_is_not_concluded(story):
    phase = phase_at("demo-2024", "recommendation", "evaluation")
    run = phase.submissions.filter(kind=Submission.Kind.PRIMARY).first()
    Submission.objects.filter(pk=run.pk).update(status=Submission.Status.QUEUED)
    assert not conclude_ended_demo_season()
    assert not BackgroundJob.objects.exists()
    assert not Snapshot.objects.exists()


def test_an_ended_season_of_an_earlier_release_stays_as_it_was(db):
    season = factories.make_season(slug="demo-2024")
    factories.make_phase(task=factories.make_task(season=season))
    assert conclude_ended_demo_season()
    assert not BackgroundJob.objects.exists()


def test_systems_have_names_of_their_own_and_none_has_that_of_a_program(loaded):
    for run in Submission.objects.select_related("phase__task"):
        assert run.system not in find_baselines_of_task_type(
            run.phase.task.task_type
        ), run
        assert run.system.lower() not in ("lead", "baseline"), run


def test_each_of_the_twelve_papers_is_cited_by_others_and_cites_others():
    assert len(PAPERS) == 12
    for paper in PAPERS.values():
        assert list(citances(paper)), paper.title
        assert any(citation.keys for _, citation in paper.citing()), paper.title
        for _, citation in paper.citing():
            assert citation.work.year <= paper["year"], paper.title


def test_no_sentence_of_the_literature_is_said_twice():
    said = [each.text for paper in PAPERS.values() for each in paper.sentences]
    assert len(said) == len(set(said))
    assert all(text[0].isupper() or text[0].isdigit() for text in said)
    assert all(text[-1] in ".:?" for text in said)
    assert not [text for text in said if "@" in text or "{" in text]
