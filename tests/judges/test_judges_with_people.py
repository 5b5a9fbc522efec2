"""Labels by people beside a judge's, and labels of pairs that a judge judged again."""

import json

import pytest
from django.db.models import F
from django.urls import reverse

from citeboard.core import storage
from scoring.human.estimates import (
    compute_estimates_from_file,
    create_sample_parameters,
    publish,
    sample_units_as_sheet_lines,
    save_estimate_sheet,
    save_people_labels,
    store_sheet_file,
)
from scoring.metrics.entailment import EntailmentPair
from scoring.models import EstimateSheet, Evaluation, Judge, Judgement, Score
from scoring.results.board import judge_repeats
from tasks.models.seasons import increment_board_version
from tests.factories import make_user
from tests.judges.test_views_by_judge import (
    FIRST,
    OTHER,
    make_judged,
    page_of_judge,
    told_by_api,
)
from tests.kept_worlds import keep_world
from tests.scoring.citing import CLAIM, OSLO, PAIRS, ROME
from tests.tasks.types.citations import write_parses
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
#: People's labels by passage. The first judge answers “yes” to both passages together.
BY_PEOPLE = {OSLO: "yes", ROME: "no", f"{OSLO}\n{ROME}": "no"}
TITLE = "Labels of the sample by people and by the judge"


@pytest.fixture(scope="module")
def kept(django_db_setup, django_db_blocker):
    return keep_world(make_judged, django_db_blocker)


@pytest.fixture
def world(db, kept):
    return kept()


@pytest.fixture
def phase(world):
    return world[0]


@pytest.fixture
def runs(world):
    """Return runs that cite both passages, the passage on Oslo, and that on Rome."""
    return world[1]


def labelled(phase, folder, by_people=BY_PEOPLE) -> EstimateSheet:
    """Create a sheet with people's labels of all claims, not yet published."""
    by = make_user()
    # The file of parses in the options is gone.
    parses = write_parses(folder, CLAIM, "Wind is air that moves", "Rome is dry")
    phase.task.options = {**phase.task.options, "parser": str(parses)}
    phase.task.save()
    sampling = create_sample_parameters(phase, "claims", 20, by)
    sheet = save_estimate_sheet(
        sampling, store_sheet_file(sample_units_as_sheet_lines(sampling)), by=by
    )
    with storage.statistics_file_storage.open(sheet.file) as file:
        head, *rows = map(json.loads, file.read().splitlines())
    lines = [
        {**head, "by": "A"},
        *({**row, "label": by_people[row["texts"]["premise"]]} for row in rows),
    ]
    path = folder / "people.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    found = compute_estimates_from_file(sheet, path, path.name)
    save_people_labels(sheet, found.result, store_sheet_file(found.rows), by=by)
    sheet.refresh_from_db()
    return sheet


@pytest.fixture
def sheet(phase, tmp_path):
    return labelled(phase, tmp_path)


@pytest.fixture
def published(sheet):
    publish(sheet=sheet, by=sheet.created_by)
    sheet.refresh_from_db()
    return sheet


def change(phase, sheet, **result):
    """Store another result, and let caches of the board expire."""
    sheet.result = {**sheet.result, **result}
    sheet.save()
    increment_board_version(phase.pk)


def test_programs_read_people_s_labels_beside_the_judge_s(
    phase, runs, published, client
):
    facts = told_by_api(client, phase).json()
    found = facts["with_people"]
    counts = {(one["people"], one["judge"]): one for one in found["confusion"]}
    assert {cell: one["judgements"] for cell, one in counts.items()} == {
        ("yes", "yes"): 2,
        ("yes", "no"): 0,
        ("no", "yes"): 1,
        ("no", "no"): 2,
    }
    assert (found["of"], found["judgements"], found["same_label"]) == ("claims", 5, 4)
    # Observed agreement .8, chance agreement (2 · 3 + 3 · 2) / 25 = .48.
    assert found["kappa"] == pytest.approx(0.32 / 0.52)
    assert found["low"] is found["high"] is found["why_no_kappa"] is None
    assert found["why_no_interval"] == "few-units", "there is one topic"
    assert found["by_label"] == [
        {
            "label": "yes",
            "by_people": 2,
            "sensitivity": 1,
            "specificity": pytest.approx(2 / 3),
        },
        {
            "label": "no",
            "by_people": 3,
            "sensitivity": pytest.approx(2 / 3),
            "specificity": 1,
        },
    ]
    by_run = {one["run"]: one for one in found["systems"]}
    both, rainy, dry = (by_run[run.pk] for run in runs)
    assert [one["judgements"] for one in (both, rainy, dry)] == [3, 1, 1]
    assert both["by_label"][0]["specificity"] == 0.5
    assert rainy["by_label"][0]["specificity"] is None
    assert dry["by_label"][0]["sensitivity"] is None
    [view] = facts["views"]
    assert view["with_people"] is None, "the sheet corrects the first judge"


def test_the_page_of_a_judge_shows_people_s_labels_beside_the_judge_s(
    phase, runs, published, client
):
    told = text_of(page_of_judge(client, phase))
    assert "Judgements that people and the judge labelled 5 Same label 4" in told
    assert "Cohen's kappa 0.6154 (no interval: fewer than three units" in told
    assert "People's label yes no yes 2 0 no 1 2" in told
    assert "all systems yes 2 1.0000 0.6667 no 3 0.6667 1.0000" in told
    assert f"{runs[0].system} " in told
    page = page_of_judge(client, phase).content.decode()
    assert "<script" not in page[page.index(TITLE) : page.index("one topic at a time")]
    assert TITLE not in text_of(page_of_judge(client, phase, judge=OTHER))


def test_the_page_has_the_labels_in_german(phase, published, client):
    task = phase.task
    address = reverse("board-judge", args=[task.season.slug, task.slug, phase.slug])
    told = text_of(client.get(address, headers={"Accept-Language": "de"}))
    assert "Labels der Stichprobe von Menschen und vom Urteilsmodell" in told
    assert "Sensitivität" in told
    assert TITLE not in told


def test_labels_of_people_appear_with_their_publication(phase, sheet, client):
    assert told_by_api(client, phase).json()["with_people"] is None
    assert TITLE not in text_of(page_of_judge(client, phase))
    publish(sheet=sheet, by=sheet.created_by)
    assert told_by_api(client, phase).json()["with_people"] is not None
    assert TITLE in text_of(page_of_judge(client, phase))


def test_estimates_of_earlier_releases_have_no_labels_beside_the_judge_s(
    phase, published, client
):
    del published.result["people_and_judge"]
    change(phase, published)
    assert told_by_api(client, phase).json()["with_people"] is None
    told = text_of(page_of_judge(client, phase))
    assert "Lowest share of labels" in told
    assert TITLE not in told


def test_one_label_alone_has_no_kappa_and_the_reason_is_stated(
    phase, runs, published, client
):
    topics = [{"topic": 0, "counts": [[3, 0], [0, 0]]}]
    systems = [{"run": str(runs[0].pk), "topics": topics}]
    stored_labels = {"labels": ["yes", "no"], "systems": systems}
    change(phase, published, people_and_judge=stored_labels)
    found = told_by_api(client, phase).json()["with_people"]
    assert found["kappa"] is found["why_no_interval"] is None
    assert found["why_no_kappa"] == "one-label"
    told = text_of(page_of_judge(client, phase))
    assert "undefined: people and the judge give one label" in told


def test_a_sheet_without_labels_of_people_shows_no_table(
    phase, runs, published, client
):
    systems = [{"run": str(run.pk), "topics": []} for run in runs]
    stored_labels = {"labels": ["yes", "no"], "systems": systems}
    change(phase, published, people_and_judge=stored_labels)
    assert told_by_api(client, phase).json()["with_people"] is None
    assert TITLE not in text_of(page_of_judge(client, phase))


def test_labels_of_a_run_whose_number_has_changed_are_left_out(
    phase, runs, published, client
):
    own = Score.objects.filter(evaluation__submission=runs[0])
    own.exclude(value=None).update(value=F("value") + 0.123)
    increment_board_version(phase.pk)
    found = told_by_api(client, phase).json()["with_people"]
    assert {one["run"] for one in found["systems"]} == {run.pk for run in runs[1:]}
    assert (found["judgements"], found["same_label"]) == (2, 2)


def test_withheld_numbers_show_no_labels_of_people(phase, published, client):
    Evaluation.objects.update(release="public-30-7", withheld="public")
    increment_board_version(phase.pk)
    facts = told_by_api(client, phase).json()
    assert facts["with_people"] is facts["repeats"] is None
    assert TITLE not in text_of(page_of_judge(client, phase))


@pytest.mark.parametrize("audience", ["ranks", "organisers"])
def test_where_scores_are_hidden_people_s_labels_are_too(
    phase, published, client, audience
):
    phase.board = audience
    phase.save()
    assert told_by_api(client, phase).status_code == 404
    assert page_of_judge(client, phase).status_code == 404


def answer_again(pair, label, *, judge=FIRST, repeat=1, is_standing=True, **changes):
    """Store a further answer of a judge to a pair of the ledger."""
    row = Judgement.objects.filter(judge__name=judge, items=items_of(*pair)).first()
    row = row or Judgement.objects.filter(judge__name=judge).first()
    Judgement.objects.create(
        judge=row.judge,
        source=row.source,
        items=changes.get("items", row.items),
        label=label,
        repeat=repeat,
        is_standing=is_standing,
    )
    Judge.objects.filter(pk=row.judge_id).update(version=F("version") + 1)


def items_of(premise, hypothesis) -> str:
    return " ".join(EntailmentPair(premise, hypothesis).key)


def repeats(client, phase):
    return told_by_api(client, phase).json()["repeats"]


JOINT, IN_OSLO, IN_ROME = PAIRS[:3]


def test_consistency_is_the_share_of_repeated_pairs_with_one_label(phase, runs, client):
    assert repeats(client, phase) is None
    answer_again(IN_OSLO, "yes")
    answer_again(IN_OSLO, "yes", repeat=2)
    assert repeats(client, phase) == {"pairs": 1, "same_label": 1}
    answer_again(IN_ROME, "yes")
    assert repeats(client, phase) == {"pairs": 2, "same_label": 1}
    told = text_of(page_of_judge(client, phase))
    assert "each time the judge was asked again 1 of 2" in told
    [view] = told_by_api(client, phase).json()["views"]
    assert view["repeats"] is None


def test_repeated_pairs_are_read_in_several_statements(
    phase, runs, client, monkeypatch
):
    monkeypatch.setattr(judge_repeats, "QUESTIONS_PER_STATEMENT", 1)
    answer_again(IN_OSLO, "yes")
    answer_again(IN_ROME, "yes")
    answer_again(JOINT, "yes", repeat=3)
    assert repeats(client, phase) == {"pairs": 3, "same_label": 2}


def test_pairs_behind_no_shown_number_do_not_count_as_repeated(phase, runs, client):
    elsewhere = f"{'a' * 64} {'b' * 64}"
    answer_again(IN_OSLO, "yes", items=elsewhere, repeat=0)
    answer_again(IN_OSLO, "no", items=elsewhere)
    assert repeats(client, phase) is None


@pytest.mark.parametrize(
    "answer", [{"label": "no label"}, {"label": "no", "is_standing": False}]
)
def test_withdrawn_answers_and_attempts_without_a_label_do_not_count(
    phase, runs, client, answer
):
    answer_again(IN_OSLO, **answer)
    assert repeats(client, phase) is None


def test_numbers_on_a_part_of_the_gold_show_no_consistency(phase, runs, client):
    answer_again(IN_OSLO, "yes")
    Evaluation.objects.filter(rules="corrected").update(release="public-30-7")
    increment_board_version(phase.pk)
    assert repeats(client, phase) is None
