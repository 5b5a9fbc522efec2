"""The human line: each annotator held to the others, on the board beside the systems and never ranked."""

import datetime as dt

import pytest
from django.urls import reverse
from django.utils import timezone

from citeboard.core.refusals import ActionRefused
from scoring.models import load_class_scores_of_evaluations
from scoring.results.board.comparisons import read_statistics_of_run
from scoring.results.board.gold_keys import build_gold_key_options
from scoring.worker.baseline_runs import request_baselines
from scoring.worker.rescoring import request_rescoring_of_stale_phases
from scoring.worker.score import score
from tasks.gold.gold_files import load_gold
from tasks.models import Job, Phase, Submission
from tests import factories
from tests.scoring import offline
from tests.tasks.types.corpus import csv_row, write_csv_topic

pytestmark = pytest.mark.django_db

TOPIC = "D01-0001"
#: They agree on one citance of two.
ADA = [csv_row(TOPIC, 1, "D05-0001", ["1"]), csv_row(TOPIC, 2, "D05-0002", ["2"])]
BOB = [csv_row(TOPIC, 1, "D05-0001", ["1"]), csv_row(TOPIC, 2, "D05-0002", ["3"])]
SYSTEM = "Annotators, each against the others"


@pytest.fixture
def corpus(tmp_path):
    write_csv_topic(tmp_path / "corpus", TOPIC, {"ada": ADA, "bob": BOB})
    return tmp_path / "corpus"


@pytest.fixture
def phase(corpus) -> Phase:
    task = factories.make_task(rules=["corrected", "official-2018"])
    phase = factories.make_phase(task=task, with_gold=False)
    load_gold(task=task, split=phase.split, paths=[corpus], reason="first release")
    return phase


@pytest.fixture
def line(phase) -> Submission:
    asked = request_baselines(phase=phase, names=["human-line"], by=None)[0].submission
    work_off(phase)
    return Submission.objects.get(pk=asked.pk)


def work_off(phase) -> None:
    while job := Job.objects.filter(submission__phase=phase, state="queued").first():
        score(job.pk)


def address(name: str, phase: Phase) -> str:
    return reverse(name, args=[phase.task.season.slug, phase.task.slug, phase.slug])


def test_it_is_scored_under_every_rule_set_as_the_offline_command_does(
    line, corpus, capsys
):
    assert (line.status, line.kind, line.team, line.file) == (
        "scored",
        "human",
        None,
        "",
    )
    for evaluation in line.evaluations.all():
        command = [
            "papers",
            "human-line",
            "clsumm-1a",
            "--gold",
            str(corpus),
            "--rules",
            evaluation.rules,
            *build_gold_key_options(evaluation.gold),
            "--json",
        ]
        assert offline.main(command) == 0
        printed = offline.json.loads(capsys.readouterr().out)["metrics"]
        kept = {
            each.metric: (each.value, each.low, each.signature)
            for each in evaluation.scores.all()
        }
        assert kept == {
            name: (each["value"], each["low"], each["signature"])
            for name, each in printed.items()
        }
        assert all(
            each["signature"].endswith("|against:other-annotators")
            for each in printed.values()
        )
    corrected = line.evaluations.get(rules="corrected").scores.get(
        shared__metric="overlap_f1_micro"
    )
    assert corrected.value == 0.5
    assert set(line.evaluations.values_list("rules", flat=True)) == {
        "corrected",
        "official-2018",
    }


def test_it_is_told_by_annotator_too(line):
    found = load_class_scores_of_evaluations(
        [line.evaluations.get(rules="corrected").pk], "answered_by", "overlap_f1_micro"
    )
    assert {label: number.value for label, _, number in found} == {
        "ada": 0.5,
        "bob": 0.5,
    }


def test_it_stands_on_the_board_without_a_rank_and_can_be_hidden(line, phase, client):
    page = client.get(address("board", phase) + "?adjust=yes").content.decode()
    assert '<tr class="human">\n<td class="rank"></td>' in page
    assert SYSTEM in page
    assert ">human line<" in page
    assert "Hide the human line" in page
    hidden = client.get(
        address("board", phase) + "?human=no&adjust=yes"
    ).content.decode()
    assert SYSTEM not in hidden
    assert 'name="human" value="no" checked>' not in page
    assert 'name="human" value="no" checked>' in hidden
    assert (
        SYSTEM in client.get(address("board", phase) + "?baselines=no").content.decode()
    )


def test_exports_and_api_name_its_kind(line, phase, client):
    rows = client.get(address("board-json", phase)).json()["rows"]
    assert [(row["kind"], row["rank"], row["team"]) for row in rows] == [
        ("human", None, None)
    ]
    assert ",human," in client.get(address("board-csv", phase)).content.decode()
    told = client.get(reverse("api:leaderboard", args=[phase.pk])).json()["rows"]
    assert [(row["kind"], row["rank"], row["team"]) for row in told] == [
        ("human", None, None)
    ]
    assert told[0]["scores"]["overlap_f1_micro"]["value"] == 0.5


def test_its_numbers_lead_to_the_command_that_gives_them_again(line, phase, client):
    page = reverse(
        "standing", args=[*address("board", phase).strip("/").split("/")[1:], line.pk]
    )
    text = client.get(page).content.decode()
    assert (
        "python -m scoring papers human-line clsumm-1a --gold GOLD --rules corrected"
        in text
    )
    assert "compare with another run" not in text


def test_it_ranks_nobody_and_no_run_is_compared_with_it(line, phase, client):
    team = factories.make_team(season=phase.task.season)
    answers = factories.run_bytes(
        [
            {
                "topic": TOPIC,
                "citing": "D05-0001",
                "marker": "0",
                "sentences": ["1"],
                "facets": ["Method"],
            }
        ]
    )
    run = factories.make_submission(phase=phase, team=team, content=answers)
    work_off(phase)
    rows = client.get(address("board-json", phase)).json()["rows"]
    assert [(row["submission"], row["rank"]) for row in rows if row["rank"]] == [
        (run.pk, 1)
    ]
    page = client.get(f"{address('compare', phase)}?a={run.pk}").content.decode()
    assert SYSTEM not in page
    assert client.get(
        f"{address('compare', phase)}?a={run.pk}&b={line.pk}"
    ).status_code in (200, 404)


def test_classes_of_systems_are_compared_without_it(line, phase, client):
    team = factories.make_team(season=phase.task.season)
    citances = [("D05-0001", "0", [], ""), ("D05-0002", "0", [], "")]
    content = factories.run_bytes(topics=[TOPIC], citances=citances)
    factories.make_submission(phase=phase, team=team, content=content)
    work_off(phase)
    page = client.get(address("differences", phase)).content.decode()
    assert "By" in page
    assert SYSTEM not in page


def test_its_annotators_answers_are_no_file_that_anyone_can_fetch(line, phase, client):
    client.force_login(factories.make_user(is_staff=True))
    assert client.get(f"/submissions/{line.pk}/run/").status_code == 404
    assert client.get(reverse("api:run", args=[line.pk])).status_code == 404
    assert client.get(f"/submissions/{line.pk}/").status_code == 200


def test_a_new_gold_gives_a_new_line(line, phase, tmp_path):
    write_csv_topic(tmp_path / "fix", TOPIC, {"ada": ADA, "bob": ADA})
    load_gold(
        task=phase.task,
        split=phase.split,
        paths=[tmp_path / "fix"],
        reason="Bob agrees.",
    )
    assert [
        each.is_new
        for each in request_baselines(phase=phase, names=["human-line"], by=None)
    ] == [True]
    work_off(phase)
    newest = (
        line.evaluations.filter(rules="corrected").order_by("-gold__number").first()
    )
    assert newest.scores.get(shared__metric="overlap_f1_micro").value == 1.0
    assert [
        each.is_new
        for each in request_baselines(phase=phase, names=["human-line"], by=None)
    ] == [False]


@pytest.fixture
def summaries(tmp_path):
    """One paper with the summaries of two, who share half of their words."""
    topic = write_csv_topic(tmp_path / "summaries", TOPIC, {"ada": ADA, "bob": BOB})
    gold = topic / "gold" / "Task2"
    gold.mkdir()
    for name, text in {
        f"{TOPIC}.abstract.txt": "We count words.",
        f"{TOPIC}_ada.community.txt": "They count cats and dogs.",
        f"{TOPIC}_ada.human.txt": "They count cats and dogs.",
        f"{TOPIC}_bob.human.txt": "<S>They count words and people, and nothing else.</S>",
    }.items():
        (gold / name).write_text(text)
    return tmp_path / "summaries"


@pytest.fixture
def summary_phase(summaries) -> Phase:
    task = factories.make_task(type="clsumm-2", rules=["corrected"])
    phase = factories.make_phase(task=task, with_gold=False)
    load_gold(task=task, split=phase.split, paths=[summaries], reason="first release")
    return phase


def test_a_human_summary_is_held_to_the_abstract_and_to_what_the_others_made(
    summary_phase, client
):
    """ROUGE-1 by hand: three words of five and eight are shared; bob alone is held to the community text."""
    request_baselines(phase=summary_phase, names=["human-line"], by=None)
    work_off(summary_phase)
    evaluation = Submission.objects.get().evaluations.get()
    values = {each.metric: each.value for each in evaluation.scores.all()}
    shared = 2 * 3 / (5 + 8)
    assert values["rouge_1_f1.human"] == pytest.approx(shared, abs=1e-5)
    assert values["rouge_1_f1.community"] == pytest.approx(shared, abs=1e-5)
    assert values["rouge_1_f1.abstract"] == pytest.approx(
        (2 * 1 / 8 + 2 * 2 / 11) / 2, abs=1e-5
    )
    by_name = load_class_scores_of_evaluations(
        [evaluation.pk], "answered_by", "rouge_1_f1.abstract"
    )
    assert {label: number.value for label, _, number in by_name} == {
        "ada": pytest.approx(2 * 1 / 8, abs=1e-5),
        "bob": pytest.approx(2 * 2 / 11, abs=1e-5),
    }
    page = client.get(address("board", summary_phase)).content.decode()
    assert '<tr class="human">\n<td class="rank"></td>' in page


def test_where_one_alone_wrote_a_summary_there_is_no_line_of_summaries(
    summaries, capsys
):
    (summaries / TOPIC / "gold" / "Task2" / f"{TOPIC}_bob.human.txt").unlink()
    assert offline.main(["papers", "human", "clsumm-2", "--gold", str(summaries)]) == 0
    assert "no topic has two annotators" in capsys.readouterr().out


def test_with_ones_own_summary_among_the_gold_the_line_is_higher(summaries, capsys):
    assert (
        offline.main(
            ["papers", "human", "clsumm-2", "--gold", str(summaries), "--json"]
        )
        == 0
    )
    lines = offline.json.loads(capsys.readouterr().out)["lines"]
    assert [line["annotator"] for line in lines] == [None, "ada", "bob"]
    for line in lines:
        own, others = (
            line[which]["rouge_1_f1.human"]["value"] for which in ("all", "others")
        )
        assert own > others
        assert (
            line["all"]["rouge_1_f1.abstract"] == line["others"]["rouge_1_f1.abstract"]
        )


def test_where_nobody_annotated_twice_there_is_none_to_ask_for():
    phase = factories.make_phase()
    with pytest.raises(ActionRefused, match="no topic of the gold has two annotators"):
        request_baselines(phase=phase, names=["human-line"], by=None)
    assert "human-line" not in [
        each.name for each in request_baselines(phase=phase, by=None)
    ]


def test_where_numbers_are_of_a_part_so_is_the_line(tmp_path, client):
    topics = [f"D01-00{number}" for number in range(10, 20)]
    for topic in topics:
        ada, bob = (
            [csv_row(topic, 1, "D05-0001", [sid])]
            for sid in ("1", "1" if topic < "D01-0014" else "2")
        )
        write_csv_topic(tmp_path / "corpus", topic, {"ada": ada, "bob": bob})
    phase = factories.make_phase(with_gold=False, public_part=30)
    load_gold(
        task=phase.task,
        split=phase.split,
        paths=[tmp_path / "corpus"],
        reason="first release",
    )
    asked = request_baselines(phase=phase, names=["human-line"], by=None)[0].submission
    work_off(phase)

    def line():
        evaluation = asked.evaluations.get(rules="corrected")
        score_of = evaluation.scores.get(shared__metric="overlap_f1_micro")
        return (
            score_of.n,
            read_statistics_of_run(evaluation).units.size,
            score_of.column.split("part:")[1][:7],
        )

    assert line() == (6, 6, "public-"), "two annotators of each of three topics"
    Phase.objects.update(closes=timezone.now() - dt.timedelta(minutes=1))
    request_rescoring_of_stale_phases()
    work_off(phase)
    assert line() == (14, 14, "private")
    assert request_rescoring_of_stale_phases() == 0
