"""By which metric runs rank is the organisers' choice, and follows from the numbers that there are."""

import csv
import io

import pytest

from scoring.models import Evaluation
from scoring.worker.recording import compute_rank_value
from tasks.models import Job, Phase, Task
from tests.api.conftest import API, make_world
from tests.factories import make_user
from tests.scoring import boards
from tests.tasks.seasons import edit, load, refusals, write_season

pytestmark = pytest.mark.django_db
MICRO, MACRO = "overlap_f1_micro", "overlap_f1_macro"


@pytest.fixture
def world():
    """Two runs of one team and one of another; by the other metric another run and another team is best."""
    world = make_world()
    Phase.objects.update(counting="best")
    for team, system, micro, macro in [
        (world.team, "alpha", 0.9, 0.2),
        (world.team, "beta", 0.8, 0.4),
        (world.other_team, "gamma", 0.5, 0.3),
        (world.other_team, "delta", 0.4, 0.7),
    ]:
        run = boards.make_run(world.phase, team, system=system)
        boards.score(run, micro, **{MACRO: macro})
    return world


def settings(world, **values):
    key = f"tasks.{world.task.slug}"
    given = {"settings": {f"{key}.{name}": value for name, value in values.items()}}
    address = f"{API}/seasons/{world.season.slug}/settings/"
    return world.ask("organiser").post(address, given, content_type="application/json")


def board(world) -> dict:
    return (
        world.ask("organiser").get(f"{API}/phases/{world.phase.pk}/leaderboard/").json()
    )


def ranked(world) -> list[tuple[int, str]]:
    return [(row["rank"], row["system"]) for row in board(world)["rows"]]


@pytest.mark.both_databases
def test_a_board_ranks_by_another_metric_at_once_and_no_run_is_scored_again(
    world, client
):
    assert ranked(world) == [(1, "alpha"), (2, "gamma")]
    jobs = Job.objects.count()
    assert settings(world, rank_by=MACRO).status_code == 200
    assert ranked(world) == [(1, "delta"), (2, "beta")]
    assert [
        (column["name"], column["ranks"]) for column in board(world)["columns"]
    ] == [
        (MACRO, True),
        (MICRO, False),
    ]
    assert Job.objects.count() == jobs
    task = world.ask("organiser").get(f"{API}/tasks/{world.task.pk}/").json()
    assert (task["rank_by"], task["metrics"]["corrected"][0]) == (MACRO, MACRO)
    lines = client.get(
        f"{boards.address('board', world.phase)}board.csv"
    ).content.decode()
    rows = list(csv.DictReader(io.StringIO(lines)))
    assert [row["system"] for row in rows] == ["delta", "beta"]
    page = client.get(boards.address("board", world.phase)).content.decode()
    assert page.index("delta") < page.index("beta")
    slug = world.other_team.slug
    badge = client.get(
        f"{boards.address('board', world.phase)}teams/{slug}/badge.svg"
    ).content.decode()
    assert "rank 1" in badge
    assert settings(world, rank_by=None).status_code == 200
    assert ranked(world) == [(1, "alpha"), (2, "gamma")]
    assert set(Evaluation.objects.values_list("rank_value", flat=True)) == {
        0.9,
        0.8,
        0.5,
        0.4,
    }


def test_other_rule_sets_without_the_metric_rank_by_their_first(world):
    for run in world.phase.submissions.all():
        boards.score(run, 0.1, rules="official-2017")
    assert settings(world, rank_by="rouge_l_f1").status_code == 200
    assert set(
        Evaluation.objects.filter(rules="official-2017").values_list(
            "rank_value", flat=True
        )
    ) == {0.1}
    assert set(
        Evaluation.objects.filter(rules="corrected").values_list(
            "rank_value", flat=True
        )
    ) == {None}


def test_a_board_shows_the_metrics_first_that_its_task_names(world, client):
    Task.objects.update(shown_measures=[MICRO])
    page = client.get(boards.address("board", world.phase)).content.decode()
    Task.objects.update(shown_measures=[MICRO, MACRO])
    assert client.get(boards.address("board", world.phase)).content.decode() != page


def test_a_run_that_is_scored_later_has_the_value_of_the_metric_that_ranks():
    metrics = {
        MICRO: {"value": 0.9, "higher_is_better": True},
        "wrong": {"value": 0.2, "higher_is_better": False},
    }
    assert compute_rank_value(metrics) == compute_rank_value(metrics, "absent") == 0.9
    assert compute_rank_value(metrics, "wrong") == -0.2


@pytest.mark.parametrize(
    ("key", "said", "told"),
    [
        ("rank_by", '"mrr@5"', "rules “corrected” have no metric “mrr@5”"),
        ("shown_measures", '["accuracy"]', "have no metric “accuracy”"),
        (
            "rank_by",
            '"rouge_s_star_f1"',
            "rules “corrected” have no metric “rouge_s_star_f1”",
        ),
        ("cutoffs", "[5]", "clsumm-1a has no option for cut-offs"),
        ("accept", '["narrative"]', "clsumm-1a has no findings to accept"),
    ],
)
def test_a_measure_that_the_task_has_not_is_refused_with_its_line(
    tmp_path, key, said, told
):
    make_user(email="ada@example.org")
    folder = write_season(tmp_path)
    edit(folder, ('type = "clsumm-1a"', f'type = "clsumm-1a"\n{key} = {said}'))
    assert told in "\n".join(refusals(folder))


def write_task(tmp_path, task: str):
    """Write a season with this task alone, and its first phase."""
    make_user(email="ada@example.org")
    folder = write_season(tmp_path)
    text = (folder / "season.toml").read_text()
    head, _, rest = text.partition("[[tasks]]")
    phase = rest[
        rest.index("[[tasks.phases]]") : rest.index('[[tasks.phases]]\nslug = "final"')
    ]
    (folder / "season.toml").write_text(f"{head}[[tasks]]\n{task}{phase}")
    return folder


def test_cut_offs_are_the_option_of_their_type_and_one_of_them_may_rank(tmp_path):
    task = 'slug = "rec"\ntitle = "R"\ntype = "citation-recommendation"\ncutoffs = [5, 20]\nrank_by = "mrr@5"\n'  # noqa: E501
    load(write_task(tmp_path, task))
    made = Task.objects.get()
    assert (made.options, made.rank_by) == ({"k": "5,20"}, "mrr@5")
    assert made.task_type.get_ranking_metric_name("corrected", made.options) == "mrr@5"


def test_findings_that_a_task_accepts_are_the_option_of_their_type(tmp_path):
    task = 'slug = "rep"\ntitle = "R"\ntype = "cited-reports"\naccept = ["narrative", "length"]\n'
    load(write_task(tmp_path, task))
    assert Task.objects.get().options == {"accept": "narrative,length"}
