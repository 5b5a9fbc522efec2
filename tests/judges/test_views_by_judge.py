"""Further judges of a phase: views of its board, correlations of rankings, and agreement on pairs."""

import hashlib
import json
from datetime import timedelta
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from django.core.cache import caches
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score

from citeboard.core import storage
from citeboard.core.refusals import ActionRefused
from scoring.human.disagreements import (
    DisagreementRequest,
    build_lines_for_people_to_label,
    sample_disagreements,
    save_disagreement_sheet,
)
from scoring.human.estimates import (
    compute_estimates_from_file,
    publish,
    store_sheet_file,
)
from scoring.human.sheets import SheetRefused
from scoring.metrics.entailment import EntailmentPair
from scoring.models import (
    EstimateSheet,
    Evaluation,
    Judgement,
    PhaseJudge,
    UsedJudgements,
)
from scoring.models.ledger import (
    BYTE_BY_LABEL,
    hash_items_to_eight_bytes,
    hash_units_to_four_bytes,
)
from scoring.offline.ledger import parse_ledger_row
from scoring.results.board.judges import (
    count_labelled_pairs,
    find_visible_judges_of_board,
)
from scoring.results.board.standings import compute_board
from scoring.results.board.visibility import Audience
from scoring.stats.jackknife import compute_jackknife_interval
from scoring.worker.entailment_labels import import_labels
from tasks.jobs.leases import queue_missing_scorings
from tasks.models import Job, Submission
from tasks.models.seasons import increment_board_version
from tasks.types.ledger import NO_VALID_LABEL
from tests.background.background import followed, work_off
from tests.factories import make_user
from tests.kept_worlds import keep_world
from tests.scoring.citing import (
    CLAIM,
    OUTPUT,
    PAIRS,
    citing_gold,
    citing_phase,
    citing_run,
    decided,
    score_queued,
    write_lines,
)
from tests.tasks.types.citations import RAIN
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
FIRST, OTHER = "judge-a", "judge-b"
VIEW = f"corrected@{OTHER}"
RAINY, DRY = "It rains in Oslo [1].", "It rains in Oslo [2]."
OUTPUTS = (OUTPUT, RAINY, DRY)


def with_view(phase):
    """Let the second judge decide a view of the phase's board."""
    phase.task.rules = ["corrected", VIEW]
    phase.task.save()
    return phase


def make_phase(folder):
    return with_view(
        citing_phase(folder, board="everyone", entailment=f"store:{FIRST}")
    )


@pytest.fixture
def phase(db, tmp_path):
    return make_phase(tmp_path / "phase")


def about(city: str):
    return lambda premise: int(city in premise)


def bring(folder, phase, judge: str, city: str):
    """Import labels by which the passages about the city entail."""
    lines = decided(*PAIRS, entailed=about(city), model=judge)
    path = write_lines(folder / f"{judge}.jsonl", lines)
    season = phase.task.season
    import_labels(path=path, filename=path.name, by=None, season=season)


@pytest.fixture
def label(tmp_path):
    return partial(bring, tmp_path)


def make_judged():
    """Create three runs that both judges have judged: one judge by Oslo, the other by Rome."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        phase = make_phase(folder / "phase")
        bring(folder, phase, FIRST, "Oslo")
        bring(folder, phase, OTHER, "Rome")
        runs = [citing_run(phase, output) for output in OUTPUTS]
        score_queued()
    return phase, runs


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker):
    return keep_world(make_judged, django_db_blocker)


@pytest.fixture
def judged_phase(db, kept):
    return kept()


@pytest.fixture
def judged(judged_phase):
    return judged_phase[1]


@pytest.fixture
def scored(judged_phase):
    """Return the phase of the judged runs."""
    return judged_phase[0]


def board_of(phase, rules=None, audience=Audience.PUBLIC):
    phase.refresh_from_db()
    return compute_board(phase, None, rules, audience=audience)


def read(client, phase, **query) -> str:
    task = phase.task
    address = reverse("board", args=[task.season.slug, task.slug, phase.slug])
    answer = client.get(address, query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_scores_of_a_further_judge_are_stored_under_a_rule_set_of_its_own(judged):
    for run in judged:
        by_rules = {one.rules: one for one in run.evaluations.all()}
        assert set(by_rules) == {"corrected", VIEW}
        for rules, judge in (("corrected", FIRST), (VIEW, OTHER)):
            own = by_rules[rules]
            signature = own.scores.get(shared__metric="aliice_f1").signature
            assert f"|entailment:{judge}|" in signature
            assert "|rules:corrected|" in signature
            assert own.used_judgements.get().name == judge
            assert own.options["entailment"] == f"store:{judge}"


def test_the_first_judge_ranks_and_the_view_has_ranks_of_its_own(scored, judged):
    first, view = board_of(scored), board_of(scored, VIEW)
    ranks = [
        {row.submission: row.rank for row in board.rows} for board in (first, view)
    ]
    _both, rainy, dry = (run.pk for run in judged)
    assert ranks[0][rainy] == 1
    assert ranks[1][dry] == 1
    assert ranks[0][dry] == ranks[1][rainy] == 3
    submission = Submission.objects.get(pk=dry)
    ranked = submission.evaluations.get(rules="corrected").rank_value
    assert ranked == 0, "the first judge's value ranks the run"


def test_the_correlation_is_that_of_scipy_over_the_ranked_systems(scored, judged):
    [view] = find_visible_judges_of_board(board_of(scored), None).views
    own = {row.submission: row.value for row in view.board.rows}
    first = {row.submission: row.value for row in view.first.rows}
    expected = kendalltau([first[run] for run in own], [own[run] for run in own])
    assert view.correlation.value == pytest.approx(expected.statistic)
    assert view.correlation.n == len(judged) == 3
    assert view.correlation.low is None, "an interval needs five systems"
    assert view.missing_correlation_reason == ""


def test_agreement_counts_each_pair_once_that_both_judges_labelled(scored, judged):
    [view] = find_visible_judges_of_board(board_of(scored), None).views
    # The other judge's labels of passages that follow from them are not asked.
    used = UsedJudgements.objects.filter(is_current=True)
    assert all(len(one.labels) == one.rows for one in used)
    found = view.agreement
    assert 0 < found.pairs <= len(PAIRS)
    labels = [
        (about("Oslo")(premise), about("Rome")(premise))
        for premise, _hypothesis in common_pairs(view)
    ]
    assert found.pairs == len(labels)
    assert found.same == sum(a == b for a, b in labels)
    expected = cohen_kappa_score(*zip(*labels, strict=True))
    assert found.kappa == pytest.approx(expected)


def test_few_questions_give_kappa_no_interval_and_the_reason_is_stated(
    scored, judged, client
):
    [view] = find_visible_judges_of_board(board_of(scored), None).views
    assert view.facts["kappa"] is not None
    assert view.facts["kappa_low"] is view.facts["kappa_high"] is None
    assert view.facts["why_no_kappa_interval"] == "few-units"
    told = text_of(page_of_judge(client, scored, judge=OTHER))
    assert "no interval: fewer than three units contribute" in told


def test_the_interval_of_kappa_leaves_out_one_question_at_a_time(scored, judged):
    labels, rng = np.array([0, 1], np.uint8), np.random.default_rng(7)
    first, other = (rng.choice(labels, 60) for _judge in range(2))
    questions = np.repeat(
        [hash_units_to_four_bytes([f"q{number}"])[0] for number in range(10)], 6
    )
    items = hash_items_to_eight_bytes(map(str, range(60)))
    for name, own in ((FIRST, first), (OTHER, other)):
        used = UsedJudgements.objects.filter(name=name, is_current=True)
        used.update(
            items=items.tobytes(), labels=own.tobytes(), units=questions.tobytes()
        )
    [view] = find_visible_judges_of_board(board_of(scored), None).views
    found = view.agreement
    assert found.pairs == 60
    left_out = [
        cohen_kappa_score(first[questions != one], other[questions != one])
        for one in np.unique(questions)
    ]
    kappa = cohen_kappa_score(first, other)
    assert found.kappa == pytest.approx(kappa)
    expected = compute_jackknife_interval(kappa, left_out, (-1.0, 1.0))
    assert found.interval == pytest.approx(expected)
    assert view.facts["kappa_low"] == pytest.approx(expected[0])
    assert view.facts["why_no_kappa_interval"] is None


def test_numbers_from_before_questions_were_stored_have_kappa_without_an_interval(
    scored, judged, client
):
    UsedJudgements.objects.update(units=b"")
    [view] = find_visible_judges_of_board(board_of(scored), None).views
    assert view.facts["kappa"] is not None
    assert view.facts["why_no_kappa_interval"] == "no-topics"
    told = text_of(page_of_judge(client, scored, judge=OTHER))
    assert "runs of an earlier release were scored without their topics" in told


def test_the_questions_of_pairs_are_stored_with_the_numbers(judged):
    [question] = hash_units_to_four_bytes(["q1"])
    for used in UsedJudgements.objects.all():
        units = np.frombuffer(bytes(used.units), np.uint32)
        assert units.tolist() == [question] * used.rows


def common_pairs(view):
    """Return the pairs behind both judges' numbers, found by their digests."""

    def behind(board):
        rows = UsedJudgements.objects.filter(
            evaluation__in=[row.evaluation for row in board.rows]
        )
        return {
            digest
            for one in rows
            for digest in np.frombuffer(bytes(one.items), np.uint64)
        }

    both = behind(view.first) & behind(view.board)
    return [
        pair
        for pair in PAIRS
        if hash_items_to_eight_bytes([" ".join(EntailmentPair(*pair).key)])[0] in both
    ]


def test_two_systems_have_no_correlation_and_the_reason_is_stated(phase, label, client):
    label(phase, FIRST, "Oslo")
    label(phase, OTHER, "Rome")
    for output in OUTPUTS[:2]:
        citing_run(phase, output)
    score_queued()
    [view] = find_visible_judges_of_board(board_of(phase), None).views
    assert view.facts["tau_b"] is None
    assert view.facts["why_no_tau_b"] == "few-systems"
    assert "fewer than three systems" in read(client, phase, view="judges")


def test_equal_systems_have_no_correlation(phase, label):
    label(phase, FIRST, "Oslo")
    label(phase, OTHER, "Paris")
    for output in OUTPUTS:
        citing_run(phase, output)
    score_queued()
    [view] = find_visible_judges_of_board(board_of(phase), None).views
    assert view.facts["tau_b"] is None
    assert view.facts["why_no_tau_b"] == "all-tied"


def test_a_run_without_labels_of_the_further_judge_keeps_its_rank(phase, label, client):
    label(phase, FIRST, "Oslo")
    runs = [citing_run(phase, output) for output in OUTPUTS]
    score_queued()
    assert [row.rank for row in board_of(phase).rows] == [1, 2, 3]
    states = Job.objects.filter(rules=VIEW).values_list("state", flat=True)
    assert set(states) == {Job.State.WAITING}
    [view] = find_visible_judges_of_board(board_of(phase), None).views
    assert view.correlation.n == 0
    assert "not judged" in read(client, phase, view="judges")
    label(phase, OTHER, "Rome")
    score_queued()
    assert {row.submission for row in board_of(phase, VIEW).rows} == {
        run.pk for run in runs
    }


def test_labels_of_a_further_judge_alone_score_no_run(phase, label):
    label(phase, OTHER, "Rome")
    run = citing_run(phase)
    score_queued()
    run.refresh_from_db()
    assert run.status == Submission.Status.WAITING
    assert not board_of(phase).rows


def test_the_view_shows_the_runs_that_count_by_the_first_judge(phase, label):
    phase.counting = "best"
    phase.save()
    label(phase, FIRST, "Oslo")
    label(phase, OTHER, "Rome")
    best = citing_run(phase, RAINY)
    other = citing_run(phase, DRY, team=best.team)
    score_queued()
    assert Evaluation.objects.filter(submission=other, rules=VIEW).exists()
    assert [row.submission for row in board_of(phase, VIEW).rows] == [best.pk]


def test_the_page_of_a_view_names_its_judge_and_the_changed_ranks(
    scored, judged, client
):
    told = read(client, scored, judge=OTHER)
    assert f"View by the judge {OTHER}" in told
    assert f"by the judge {OTHER}" in told
    assert "(first judge: 3)" in told
    assert "(first judge" not in read(client, scored)
    assert "(first judge" not in read(client, scored, judge=FIRST)
    told = read(client, scored, view="judges")
    assert "2 places up" in told
    assert "2 places down" in told


@pytest.mark.parametrize("judge", ["judge-c", "corrected", "judge-b@judge-b", "@"])
def test_an_unknown_judge_has_no_view(scored, judged, client, judge):
    task = scored.task
    address = reverse("board", args=[task.season.slug, task.slug, scored.slug])
    assert client.get(address, {"judge": judge}).status_code == 404


def test_a_rule_set_without_a_view_offers_no_judge_and_the_judge_has_its_own_board(
    scored, judged, client
):
    task = scored.task
    task.rules = ["official", "corrected", VIEW]
    task.save()
    plain = read(client, scored, adjust="yes")
    assert 'id="choose-judge"' not in plain
    assert "view=judges" not in plain
    corrected = read(client, scored, rules="corrected", adjust="yes")
    assert 'id="choose-rules"' in corrected
    assert 'id="choose-judge"' in corrected
    assert f"View by the judge {OTHER}" in read(client, scored, judge=OTHER)
    address = reverse("board", args=[task.season.slug, task.slug, scored.slug])
    asked = {"rules": "official", "judge": OTHER}
    assert client.get(address, asked).status_code == 404
    told = text_of(page_of_judge(client, scored, judge=OTHER))
    assert (
        f"Agreement with other judges Judge Pairs Same label Cohen's kappa {FIRST}"
        in told
    )


def test_ranks_by_a_further_judge_name_it_where_scores_are_hidden(
    scored, judged, client
):
    scored.board = "ranks"
    scored.save()
    assert f"View by the judge {OTHER}" in read(client, scored, judge=OTHER)
    assert "View by the judge" not in read(client, scored)


def test_a_frozen_board_on_older_gold_has_both_judges_on_that_gold(tmp_path, label):
    phase = make_phase(tmp_path / "phase")
    label(phase, FIRST, "Oslo")
    label(phase, OTHER, "Rome")
    citing_run(phase)
    score_queued()
    citing_gold(phase, tmp_path / "phase", {**RAIN, "question": "Does it rain?"})
    queue_missing_scorings(phase)
    score_queued()
    older = phase.task.gold.get(number=1)
    phase.frozen_from = timezone.now()
    phase.frozen_until = phase.frozen_from + timedelta(days=1)
    phase.save()
    public = Audience.PUBLIC
    for rules in ("corrected", VIEW):
        board = compute_board(phase, None, rules, gold=older, audience=public)
        found = find_visible_judges_of_board(board, None)
        assert board.frozen_at is not None
        assert found.first.gold == found.views[0].board.gold == older


def test_a_board_without_further_judges_has_no_judges_tab(tmp_path, client):
    plain = citing_phase(tmp_path / "plain", board="everyone")
    task = plain.task
    address = reverse("judges", args=[task.season.slug, task.slug, plain.slug])
    assert client.get(address).status_code == 404
    assert find_visible_judges_of_board(board_of(plain), None) is None


def told_by_api(client, phase):
    return client.get(f"/api/v1/phases/{phase.pk}/judges/")


@pytest.mark.parametrize("audience", ["ranks", "organisers"])
def test_where_scores_are_hidden_judges_show_nothing(scored, judged, client, audience):
    scored.board = audience
    scored.save()
    task = scored.task
    address = reverse("judges", args=[task.season.slug, task.slug, scored.slug])
    assert client.get(address).status_code == 404
    assert told_by_api(client, scored).status_code == 404
    assert find_visible_judges_of_board(board_of(scored), None) is None
    organiser = find_visible_judges_of_board(
        board_of(scored, audience=Audience.ORGANISER), None
    )
    assert organiser.views[0].correlation.n == 3


def test_numbers_on_a_part_of_the_gold_show_no_agreement_on_the_whole(scored, judged):
    Evaluation.objects.filter(rules=VIEW).update(release="public-30-7")
    [view] = find_visible_judges_of_board(board_of(scored), None).views
    assert view.facts["pairs"] is view.facts["kappa"] is None
    assert view.facts["why_no_kappa"] == "part-withheld"


def test_numbers_from_before_labels_were_stored_show_no_agreement(scored, judged):
    UsedJudgements.objects.update(labels=b"")
    [view] = find_visible_judges_of_board(board_of(scored), None).views
    assert view.facts["pairs"] == 0
    assert view.facts["why_no_kappa"] == "no-pairs"


def test_replies_without_a_label_are_no_agreement(scored, judged):
    for one in UsedJudgements.objects.filter(name=OTHER):
        one.labels = bytes([BYTE_BY_LABEL[NO_VALID_LABEL]]) * one.rows
        one.save()
    [view] = find_visible_judges_of_board(board_of(scored), None).views
    assert view.facts["pairs"] == 0


def test_of_two_labels_of_a_pair_the_one_of_the_newest_run_counts(scored, judged):
    older, *_between, newest = UsedJudgements.objects.filter(name=OTHER).order_by("pk")
    older.items, older.rows, older.labels = newest.items, newest.rows, b""
    older.save()
    alone = find_visible_judges_of_board(board_of(scored), None).views[0].agreement
    assert alone.pairs > 0
    # Labels are 0 and 1, so the older run has the opposite label of each pair.
    older.labels = bytes(1 - label for label in bytes(newest.labels))
    older.save()
    caches["results"].clear()
    assert (
        find_visible_judges_of_board(board_of(scored), None).views[0].agreement == alone
    )


def test_judgements_of_earlier_scorings_are_not_behind_the_numbers(scored, judged):
    UsedJudgements.objects.update(is_current=False)
    board = board_of(scored)
    assert count_labelled_pairs(board, ["entails"]) == 0
    assert find_visible_judges_of_board(board, None).views[0].agreement.pairs == 0


def test_the_page_of_a_judge_counts_pairs_from_before_labels_were_stored(
    scored, judged, client
):
    before = count_labelled_pairs(board_of(scored), ["entails"])
    assert before > 0
    UsedJudgements.objects.update(labels=b"")
    caches["results"].clear()
    told = text_of(page_of_judge(client, scored))
    assert f"Pairs behind the shown numbers {before}" in told


def reads_of_labels(client, phase) -> int:
    """Return how many statements of a judge's page read stored pairs."""
    with CaptureQueriesContext(connection) as asked:
        assert page_of_judge(client, phase).status_code == 200
    table = UsedJudgements._meta.db_table
    return sum(f'FROM "{table}"' in one["sql"] for one in asked)


def test_the_page_of_a_judge_reads_the_pairs_once_for_each_version_of_the_board(
    scored, judged, client
):
    assert reads_of_labels(client, scored) > 0
    assert reads_of_labels(client, scored) == 0
    assert "Pairs behind the shown numbers" in text_of(page_of_judge(client, scored))
    increment_board_version(scored.pk)
    assert reads_of_labels(client, scored) > 0


def test_programs_read_the_judges_of_a_board(scored, judged, client):
    facts = told_by_api(client, scored).json()
    assert facts["first_judge"] == FIRST
    [view] = facts["views"]
    assert (view["judge"], view["rules"]) == (OTHER, VIEW)
    assert view["systems"] == 3
    assert -1 <= view["tau_b"] < 0
    ranks = {line["run"]: (line["first_rank"], line["rank"]) for line in view["ranks"]}
    assert ranks[judged[1].pk] == (1, 3)
    assert json.dumps(facts)


def test_an_organiser_adds_a_view_and_stored_runs_are_scored_under_it(tmp_path, label):
    phase = citing_phase(
        tmp_path / "plain",
        organiser=make_user(),
        board="everyone",
        entailment=f"store:{FIRST}",
    )
    label(phase, FIRST, "Oslo")
    label(phase, OTHER, "Rome")
    run = citing_run(phase)
    score_queued()
    before = run.evaluations.get()
    queue_missing_scorings(with_view(phase))
    score_queued()
    assert run.evaluations.get(rules="corrected") == before
    assert run.evaluations.get(rules="corrected").created_at == before.created_at
    assert run.evaluations.filter(rules=VIEW).count() == 1


def claim_pairs():
    return [{"premise": premise, "hypothesis": CLAIM} for premise, _claim in PAIRS[:3]]


def asked(phase, **changes) -> DisagreementRequest:
    return DisagreementRequest(
        **{"phase": phase, "judge": OTHER, "pairs": 10, "seed": "1", **changes}
    )


@pytest.fixture
def organiser(db):
    return make_user()


@pytest.fixture
def organised(organiser, tmp_path, label):
    """Return a phase with an organiser and a run that both judges have judged."""
    phase = with_view(
        citing_phase(
            tmp_path / "organised",
            organiser=organiser,
            board="everyone",
            entailment=f"store:{FIRST}",
        )
    )
    label(phase, FIRST, "Oslo")
    label(phase, OTHER, "Rome")
    citing_run(phase)
    score_queued()
    return phase


def test_the_pairs_on_which_judges_disagree_follow_from_the_seed(organised, organiser):
    by = organiser
    found = sample_disagreements(asked(organised), by)
    differing = [
        texts
        for texts in claim_pairs()
        if about("Oslo")(texts["premise"]) != about("Rome")(texts["premise"])
    ]
    assert (found.common, found.differing) == (3, len(differing)) == (3, 2)
    rows = [row["texts"] for row in found.rows]
    assert sorted(rows, key=json.dumps) == sorted(differing, key=json.dumps)
    assert sample_disagreements(asked(organised), by).rows == found.rows
    orders = {
        json.dumps(sample_disagreements(asked(organised, seed=seed), by).rows)
        for seed in "123456"
    }
    assert len(orders) == 2
    head, *lines = map(
        json.loads,
        build_lines_for_people_to_label(asked(organised), found).splitlines(),
    )
    assert head["judge"] == "people"
    assert all(line["label"] == "" for line in lines), "no judge's label is shown"
    [one] = sample_disagreements(asked(organised, pairs=1), by).rows
    assert one == found.rows[0]


@pytest.mark.parametrize("first", ["m" * 200, "Modell ÄÖ " * 20, "judge-a"])
def test_the_name_of_a_sheet_fits_the_ledger_and_tells_judges_apart(organised, first):
    judges = ("b" * 200, "b" * 199 + "c", OTHER)
    organised.task.options = {"entailment": f"store:{first}"}
    organised.task.rules = ["corrected", *(f"corrected@{judge}" for judge in judges)]
    names = {
        asked(organised, judge=judge, pairs=1000, seed="s" * 32).name
        for judge in judges
    }
    assert len(names) == 3
    for name in names:
        row = {"kind": "entails", "judge": "people", "digest": name, "label": "yes"}
        texts = {"premise": "It rains.", "hypothesis": "It rains."}
        assert parse_ledger_row({**row, "texts": texts}).digest == name
    assert any(OTHER in name for name in names), "a short name stays"


def test_a_sheet_that_would_be_empty_is_refused_with_the_reason(
    organised, organiser, label
):
    by = organiser
    with pytest.raises(SheetRefused, match="decides no view"):
        sample_disagreements(asked(organised, judge="judge-c"), by)
    organised.task.rules = ["corrected", "corrected@judge-c"]
    organised.task.save()
    with pytest.raises(SheetRefused, match="no pair has labels of both"):
        sample_disagreements(asked(organised, judge="judge-c"), by)
    label(organised, "judge-c", "Oslo")
    with pytest.raises(SheetRefused, match="agree on all of the 3 pairs"):
        sample_disagreements(asked(organised, judge="judge-c"), by)


def test_an_organiser_draws_a_sheet_that_corrects_no_score(
    organised, organiser, client
):
    client.force_login(organiser)
    season = organised.task.season.slug
    make = reverse("organise-disagreements-make", args=[season, organised.pk])
    for bad in (
        {"judge": "judge-c", "pairs": 10},
        {"judge": OTHER, "pairs": 9},
        {"judge": OTHER, "pairs": 1001},
        {"judge": OTHER, "pairs": 10, "seed": "A b"},
    ):
        assert client.post(make, bad).status_code == 422
    answer = client.post(make, {"judge": OTHER, "pairs": 10, "seed": "7"})
    assert "The sheet is created, with 2 pairs" in text_of(followed(client, answer))
    sheet = EstimateSheet.objects.get()
    assert (sheet.of, sheet.seed, sheet.judgements) == ("disagreements", "7", 2)
    told = text_of(client.get(reverse("organise-estimates", args=[season])))
    assert "labelled 3 pairs in common and disagree on 2" in told
    assert "Upload the labels" in told
    assert "Publish beside the board" not in told
    with pytest.raises(ActionRefused):
        publish(sheet=sheet, by=organiser)
    with pytest.raises(SheetRefused):
        compute_estimates_from_file(sheet, Path("people.jsonl"), "people.jsonl")


@pytest.fixture
def sheet(organised, organiser):
    """Return a sheet of the two pairs on which the judges disagree."""
    request = asked(organised)
    found = sample_disagreements(request, organiser)
    return save_disagreement_sheet(
        request,
        found,
        store_sheet_file(build_lines_for_people_to_label(request, found)),
        by=organiser,
    )


def test_the_history_says_that_a_sheet_is_of_disagreements(sheet, organiser, client):
    client.force_login(organiser)
    season = sheet.phase.task.season.slug
    told = text_of(client.get(reverse("organise-history", args=[season])))
    runs = len(sheet.runs)
    assert (
        "made a sheet of 2 pairs on which two judges disagree, of "
        f"{runs} run{'s' * (runs > 1)}" in told
    )
    assert "for estimates" not in told


def form_of(sheet) -> list[dict]:
    with storage.statistics_file_storage.open(sheet.file) as file:
        return [json.loads(line) for line in file.read().splitlines()]


def upload(client, sheet, lines) -> str:
    """Upload people's labels of a sheet, and return the page on which the job ends."""
    content = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
    season = sheet.phase.task.season.slug
    address = reverse("organise-estimates-labels", args=[season, sheet.pk])
    file = SimpleUploadedFile("people.jsonl", content)
    return text_of(followed(client, client.post(address, {"file": file})))


def people_s_rows(sheet):
    return Judgement.objects.filter(
        judge__name="people", judge__digest=form_of(sheet)[0]["digest"]
    )


def test_people_s_labels_of_a_sheet_of_disagreements_return_to_the_ledger(
    sheet, organiser, client
):
    client.force_login(organiser)
    head, first, second = form_of(sheet)
    labelled = {**first, "label": "yes", "by": "assessor 1"}
    told = upload(client, sheet, [head, labelled, {**second, "by": "assessor 1"}])
    assert "1 label of people added" in told
    [row] = people_s_rows(sheet)
    assert (row.label, row.by, row.is_standing) == ("yes", "assessor 1", True)
    assert row.judge.season == sheet.phase.task.season
    later = {**second, "label": "no", "by": "assessor 2"}
    told = upload(client, sheet, [head, labelled, later])
    assert "1 label of people added, 1 other" in told
    assert people_s_rows(sheet).count() == 2
    season = sheet.phase.task.season.slug
    told = text_of(client.get(reverse("organise-estimates", args=[season])))
    assert "It has 2 labels of this sheet" in told


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"label": "yes"}, "it does not say who labelled the pair"),
        ({"label": "", "by": "A"}, "there is no label in it"),
        ({"label": "maybe", "by": "A"}, "“label” is “maybe”"),
        ({"label": "yes", "by": "A", "digest": "another"}, "not the lines of this"),
        ({"label": "yes", "by": "A", "judge": "judge-a"}, "not the lines of this"),
        (
            {
                "label": "yes",
                "by": "A",
                "texts": {"premise": "Snow.", "hypothesis": "It snows."},
            },
            "the sheet has no such pair",
        ),
    ],
)
def test_labels_that_are_not_people_s_of_the_sheet_are_refused(
    sheet, organiser, client, changed, words
):
    client.force_login(organiser)
    head, first, _second = form_of(sheet)
    assert words in upload(client, sheet, [head, {**first, **changed}])
    assert not people_s_rows(sheet)


def draw(phase, by, *options) -> str:
    task = phase.task
    place = (task.season.slug, task.slug, phase.slug)
    named = (*place, OTHER, "--organiser", by, *options)
    call_command("draw_disagreements", *named, stdout=(out := StringIO()))
    return out.getvalue()


def test_a_command_draws_the_sheet_that_the_page_draws(organised, organiser, tmp_path):
    lines = draw(organised, organiser.email, "--pairs", "10", "--seed", "1")
    request = asked(organised)
    assert lines.encode() == build_lines_for_people_to_label(
        request, sample_disagreements(request, organiser)
    )
    sheet = EstimateSheet.objects.get()
    assert (sheet.judgements, sheet.seed, sheet.created_by) == (2, "1", organiser)
    out = tmp_path / "sheet.jsonl"
    assert draw(organised, organiser.email, "--seed", "1", "--out", str(out)) == ""
    _head, *rows = map(json.loads, out.read_text().splitlines())
    assert [row["label"] for row in rows] == ["", ""]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--pairs", "9"), "pairs: "),
        (("--seed", "A b"), "seed: "),
    ],
)
def test_the_command_refuses_what_the_page_refuses(
    organised, organiser, options, words
):
    with pytest.raises(CommandError, match=words):
        draw(organised, organiser.email, *options)
    assert not EstimateSheet.objects.exists()


def test_the_command_names_a_phase_that_does_not_exist(organised, organiser):
    slugs = (organised.task.season.slug, organised.task.slug, "elsewhere")
    with pytest.raises(CommandError, match=f"no phase “{'/'.join(slugs)}”"):
        call_command(
            "draw_disagreements", *slugs, OTHER, "--organiser", organiser.email
        )


def test_the_command_draws_for_organisers_and_views_alone(organised, organiser):
    with pytest.raises(CommandError, match="does not organise"):
        draw(organised, make_user().email)
    organised.task.rules = ["corrected"]
    organised.task.save()
    with pytest.raises(CommandError, match="decides no view"):
        draw(organised, organiser.email)
    assert not EstimateSheet.objects.exists()


def test_a_sheet_of_disagreements_that_is_not_recorded_leaves_no_file(
    organised, organiser, client, monkeypatch
):
    def files() -> set[str]:
        return {
            entry.name
            for entry in storage.statistics_file_storage.entries("background")
        }

    def fail(*given, **named):
        raise RuntimeError("the transaction fails")

    before = files()
    client.force_login(organiser)
    season = organised.task.season.slug
    make = reverse("organise-disagreements-make", args=[season, organised.pk])
    monkeypatch.setattr(
        "scoring.worker.background._finish_row_and_delete_sent_file", fail
    )
    client.post(make, {"judge": OTHER, "pairs": 10, "seed": "7"})
    [job] = work_off()
    assert job.job.state != Job.State.DONE
    assert files() == before
    assert not EstimateSheet.objects.exists()


def page_of_judge(client, phase, **query):
    task = phase.task
    address = reverse("board-judge", args=[task.season.slug, task.slug, phase.slug])
    return client.get(address, query)


def test_the_page_of_a_judge_states_what_rests_on_it(scored, judged, client):
    for judge, words in ((FIRST, "determines the ranks"), (OTHER, "are a view")):
        told = text_of(page_of_judge(client, scored, judge=judge))
        assert f"Judge {judge}" in told
        assert words in told
        assert "The organisers import its labels" in told
        assert "No estimates by people" in told
        assert "Agreement with other judges" in told
    used = UsedJudgements.objects.filter(name=OTHER)
    assert f"Pairs behind the shown numbers {max(one.rows for one in used)}" in told


def test_the_page_of_a_judge_shows_the_terms_of_the_consent_and_no_prompt(
    scored, judged, client
):
    row = PhaseJudge.objects.create(
        phase=scored,
        name=FIRST,
        kind="entails",
        instrument="chat",
        host="llm.example.org",
        model="example-large",
        prompt="A secret {premise} {hypothesis}",
        digest="d" * 64,
        currency="USD",
        spent=1.5,
        agreed_at=scored.opens,
    )
    told = text_of(page_of_judge(client, scored))
    for words in ("example-large", "llm.example.org", "d" * 64, "1.5000 USD"):
        assert words in told
    assert hashlib.sha256(row.prompt.encode()).hexdigest() in told
    assert "A secret" not in told
    scored.shows_run_counts = False
    scored.save()
    assert "USD" not in text_of(page_of_judge(client, scored)), "cost counts runs"


def test_the_cost_of_a_judge_is_hidden_while_the_board_is_frozen(
    scored, judged, client
):
    PhaseJudge.objects.create(
        phase=scored,
        name=FIRST,
        kind="entails",
        instrument="chat",
        currency="USD",
        spent=1.5,
        agreed_at=scored.opens,
    )
    assert "1.5000 USD" in text_of(page_of_judge(client, scored))
    scored.frozen_from = timezone.now()
    scored.save()
    told = text_of(page_of_judge(client, scored))
    assert "Pairs behind the shown numbers" in told
    assert "USD" not in told, "the cost rises with runs that came after the freeze"


@pytest.mark.parametrize(
    ("replies", "words"),
    [(3, "example-large"), (0, "The organisers import its labels")],
)
def test_the_page_of_a_judge_that_the_site_asks_no_longer_names_its_model_if_it_replied(
    scored, judged, client, replies, words
):
    PhaseJudge.objects.create(
        phase=scored,
        name=FIRST,
        kind="entails",
        instrument="chat",
        host="llm.example.org",
        model="example-large",
        replies=replies,
        agreed_at=scored.opens,
        ended_at=scored.opens,
    )
    told = text_of(page_of_judge(client, scored))
    assert words in told
    assert "Texts are sent to" not in told
    assert ("example-large" in told) is (replies > 0)


@pytest.mark.parametrize("audience", ["ranks", "organisers"])
def test_where_scores_are_hidden_no_judge_has_a_page(scored, judged, client, audience):
    scored.board = audience
    scored.save()
    assert page_of_judge(client, scored).status_code == 404
    assert page_of_judge(client, scored, judge=OTHER).status_code == 404


def test_a_board_without_a_stored_judge_has_no_page_of_a_judge(scored, judged, client):
    scored.task.options = {**scored.task.options, "entailment": "none"}
    scored.task.rules = ["corrected"]
    scored.task.save()
    assert page_of_judge(client, scored).status_code == 404
