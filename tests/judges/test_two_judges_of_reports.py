"""Cited reports with a judge of nuggets and another of citations: pages, views and sheets of each kind."""

import json

import pytest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import override

from scoring.human.disagreements import (
    DisagreementRequest,
    build_lines_for_people_to_label,
    compared_judges,
    count_ledger_labels,
    list_judges_to_compare,
    sample_disagreements,
    save_disagreement_sheet,
)
from scoring.human.estimates import store_sheet_file
from scoring.human.sheets import SheetRefused
from scoring.models import BackgroundJob, Judgement
from scoring.results.board.judges import (
    OTHER_LABELS,
    asked_judge,
    find_visible_judges_of_board,
)
from scoring.worker.entailment_labels import import_labels
from scoring.worker.rescoring import rank_again
from tasks.models.seasons import increment_board_version
from tests import factories
from tests.archive.test_archive import export, over, verified
from tests.archive.test_archived_ledger import replace_in
from tests.background.background import followed
from tests.judges.test_disagreements_of_reports import form_of, upload
from tests.judges.test_labels_of_nuggets import (
    CITATIONS,
    CITED,
    JUDGE,
    OTHER,
    PAIRS,
    ROWS,
    assigned,
    board_of,
    reports_phase,
    value,
)
from tests.judges.test_labels_of_reports import (
    DOCUMENT,
    RIGHT,
    WRONG,
    labelled,
    report_run,
)
from tests.scoring.citing import score_queued, write_lines
from tests.scoring.sheets import make_estimates
from tests.web.reading import text_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
BOTH = {"assignments": f"store:{JUDGE}", "supports": f"store:{CITATIONS}"}
SAME = {"assignments": f"store:{JUDGE}", "supports": f"store:{JUDGE}"}
OF_CITATIONS = f"corrected@{OTHER}@supports"
OF_NUGGETS = f"corrected@{OTHER}"


@pytest.fixture
def organiser(db):
    return factories.make_user()


@pytest.fixture
def bring(tmp_path):
    def bring(phase, judge, kind, *rows):
        head = {"kind": kind, "judge": judge}
        path = write_lines(tmp_path / "rows.jsonl", [head, *rows])
        season = phase.task.season
        return import_labels(path=path, filename=path.name, by=None, season=season)

    return bring


@pytest.fixture
def scored(tmp_path, bring, organiser):
    """Return a function that makes a phase with a run that its judges have judged.

    The further judge labels one citation in another way, and six of eight nuggets.
    """

    def scored(options=BOTH, rules=("corrected",)):
        phase = reports_phase(tmp_path, options, rules=list(rules), organiser=organiser)
        named = [options[name].partition(":")[2] for name in BOTH]
        for judge, rows in ((named[0], ROWS), (OTHER, FURTHER)):
            bring(phase, judge, "assigns", *rows)
        for judge, rows in ((named[1], CITED), (OTHER, FURTHER_CITED)):
            bring(phase, judge, "supports", *rows)
        report_run(phase)
        score_queued()
        return phase

    return scored


FURTHER = [assigned(pair, "support") for pair in PAIRS]
FURTHER_CITED = [labelled(RIGHT, "none"), labelled(WRONG, "full")]


def read(client, phase, name="board-judge", **query):
    task = phase.task
    address = reverse(name, args=[task.season.slug, task.slug, phase.slug])
    return client.get(address, query)


def test_each_judge_of_two_kinds_has_a_page_without_any_view(scored, client):
    phase = scored()
    told = text_of(read(client, phase))
    assert f"Judge {JUDGE}" in told
    assert "It decides nuggets" in told
    assert "This judge determines the ranks of the board." in told
    assert "Pairs behind the shown numbers 8" in told
    told = text_of(read(client, phase, judge=CITATIONS))
    assert f"Judge {CITATIONS}" in told
    assert "It decides citations" in told
    assert "Scores of the board use labels of this judge, but its ranks do not." in told
    assert "Pairs behind the shown numbers 2" in told
    assert phase.title in told[told.index("Boards of the season that it decides") :]
    for unknown in (f"{CITATIONS}@assigns", f"{JUDGE}@entails", "nobody", "@supports"):
        assert read(client, phase, judge=unknown).status_code == 404


def test_the_board_links_to_the_page_of_each_of_its_judges(scored, client):
    phase = scored()
    page = read(client, phase, "judges").content.decode()
    for judge in (JUDGE, CITATIONS):
        assert f'about/?judge={judge}"' in page
    assert "Cohen" not in page, "no judge has a view"
    facts = client.get(f"/api/v1/phases/{phase.pk}/judges/").json()
    assert (facts["first_judge"], facts["kinds"]) == (JUDGE, ["assigns"])
    [other] = facts["others"]
    assert (other["judge"], other["kinds"]) == (CITATIONS, ["supports"])
    assert facts["views"] == []


def test_a_board_of_one_judge_links_to_its_page(scored, client):
    phase = scored(SAME)
    page = read(client, phase, "board").content.decode()
    assert "judges/about/" in page
    assert read(client, phase, "judges").status_code == 404


def test_the_organisers_page_links_to_the_page_of_each_judge_and_kind(
    scored, client, organiser
):
    phase = scored(rules=("corrected", OF_NUGGETS, OF_CITATIONS))
    client.force_login(organiser)
    address = reverse("organise-judges", args=[phase.task.season.slug])
    page = client.get(address).content.decode()
    for key in (
        f"{JUDGE}%40assigns",
        f"{CITATIONS}%40supports",
        f"{OTHER}%40assigns",
        f"{OTHER}%40supports",
    ):
        assert f"judges/about/?judge={key}" in page


def test_a_task_that_scores_nothing_has_no_pages_of_judges(tmp_path, client, organiser):
    phase = reports_phase(tmp_path, BOTH, organiser=organiser)
    phase.task.rules = []
    phase.task.save()
    client.force_login(organiser)
    answer = client.get(reverse("organise-judges", args=[phase.task.season.slug]))
    assert answer.status_code == 200
    assert f"names the judge {JUDGE} for nuggets" in text_of(answer)
    assert "judges/about/" not in answer.content.decode()


def test_a_view_of_citations_replaces_their_judge_and_keeps_the_judge_of_nuggets(
    scored, client
):
    phase = scored(rules=("corrected", OF_CITATIONS))
    [run] = phase.submissions.all()
    assert value(run, rules=OF_CITATIONS) == value(run) == 1.5 / 4
    assert value(run, "citation_precision") == 0.25
    assert value(run, "citation_precision", OF_CITATIONS) == 0.5
    [view] = find_visible_judges_of_board(board_of(phase), None).views
    assert (view.judge.name, view.judge.kinds) == (OTHER, ("supports",))
    assert view.compared == CITATIONS
    assert (view.agreement.pairs, view.agreement.same) == (2, 1)
    assert view.agreement.kappa is not None
    assert view.missing_correlation_reason == OTHER_LABELS
    told = text_of(read(client, phase, "board", judge=f"{OTHER}@supports"))
    assert f"View by the judge {OTHER} (citations)" in told
    assert "ranked by Vital nuggets." in told, "the view does not decide the ranks"
    assert f"View by the judge {OTHER}" in text_of(
        read(client, phase, "board", judge=OTHER)
    )
    told = text_of(read(client, phase, "judges"))
    assert f"{OTHER} (citations) in place of {CITATIONS}" in told
    assert "the ranks use other labels" in told
    assert (
        f"Agreement with other judges Judge Pairs Same label Cohen's kappa {CITATIONS} 2"
        in (text_of(read(client, phase, judge=OTHER)))
    )


def test_an_archive_replays_a_view_by_the_judge_of_one_kind(scored, tmp_path, capsys):
    phase = scored(rules=("corrected", OF_CITATIONS))
    slug = phase.task.season.slug
    over(slug)
    archive = export(tmp_path / "archive", "--with-gold", season=slug)
    assert any(line.endswith(" 0 not checked") for line in verified(capsys, archive, 0))
    [path] = [
        path
        for path in archive.glob("ledger/*supports*.jsonl")
        if json.loads(path.read_text().splitlines()[0])["judge"] == OTHER
    ]
    replace_in(path, '"full"', '"none"')
    told = verified(capsys, archive, 1)
    words = f"1 labels are not what the rows of “{OTHER}” say"
    assert any(words in line for line in told)


def test_views_without_a_stored_judge_have_no_comparison_of_judges(scored, client):
    phase = scored(rules=("corrected", OF_NUGGETS, OF_CITATIONS))
    api = f"/api/v1/phases/{phase.pk}/judges/"
    assert client.get(api).status_code == 200
    phase.task.options = {}
    phase.task.save()
    increment_board_version(phase.pk)
    assert client.get(api).status_code == 404
    assert read(client, phase, "judges").status_code == 404
    assert read(client, phase).status_code == 404
    assert read(client, phase, "board").status_code == 200


def test_ranks_that_use_no_labels_name_no_judge_that_determines_them(scored, client):
    phase = scored(rules=("corrected", OF_CITATIONS))
    phase.task.rank_by = "coverage"
    phase.task.save()
    rank_again(phase.task)
    told = text_of(read(client, phase, "judges"))
    assert "The ranks use no labels of a judge." in told
    assert "determines the ranks" not in told
    told = text_of(read(client, phase, "board", judge=f"{OTHER}@supports"))
    assert "The ranks of this phase use no labels of a judge: the board" in told
    told = text_of(read(client, phase))
    assert "Scores of the board use labels of this judge, but its ranks do not." in told


def test_links_to_pages_of_judges_keep_the_rule_set(scored, client):
    further = ("official", f"official@{OTHER}")
    phase = scored(rules=("corrected", *further))
    page = read(client, phase, "judges", rules="official").content.decode()
    for judge in (JUDGE, CITATIONS, OTHER):
        assert f'about/?rules=official&amp;judge={judge}"' in page
    page = read(client, phase, rules="official", judge=OTHER).content.decode()
    assert f'about/?rules=official&amp;judge={JUDGE}"' in page
    assert f'about/?judge={CITATIONS}"' in (
        read(client, phase, "judges").content.decode()
    )


def test_the_page_of_a_judge_links_to_the_board_by_its_labels_of_this_kind(
    scored, client
):
    phase = scored(
        rules=("corrected", OF_NUGGETS, "official", f"official@{OTHER}@supports")
    )
    page = read(client, phase, rules="official", judge=f"{OTHER}@supports")
    assert f'/?rules=official&amp;judge={OTHER}%40supports"' in page.content.decode()
    page = read(client, phase, judge=OTHER).content.decode()
    assert f'/{phase.slug}/?judge={OTHER}"' in page


def test_a_board_of_one_judge_keeps_the_rule_set_in_its_link(scored, client):
    phase = scored(SAME, ("corrected", "official"))
    page = read(client, phase, "board", rules="official").content.decode()
    assert 'judges/about/?rules=official"' in page


def test_views_of_both_kinds_by_one_judge_are_told_apart(scored, client):
    phase = scored(rules=("corrected", OF_NUGGETS, OF_CITATIONS))
    for key, kinds, rules in (
        (OTHER, ("assigns",), OF_NUGGETS),
        (f"{OTHER}@supports", ("supports",), OF_CITATIONS),
        (f"{OTHER}@assigns", ("assigns",), OF_NUGGETS),
        (JUDGE, ("assigns",), "corrected"),
        (CITATIONS, ("supports",), "corrected"),
    ):
        found = asked_judge(phase, None, key)
        assert (found.kinds, found.rules) == (kinds, rules)
    views = client.get(f"/api/v1/phases/{phase.pk}/judges/").json()["views"]
    assert [(one["kinds"], one["compared_with"], one["pairs"]) for one in views] == [
        (["assigns"], JUDGE, 8),
        (["supports"], CITATIONS, 2),
    ]
    page = read(client, phase, "board", adjust="yes").content.decode()
    assert f'value="{OTHER}@supports"' in page


def publish_sheet(phase, of, measure, labels, counts):
    """Publish estimates as people's labels of one kind leave them."""
    [run] = phase.submissions.all()
    line = {"run": str(run.pk), "judge": value(run, measure), "agreement": 0.75}
    unknown = ("estimated", "low", "high", "worth", "judge_weight")
    line |= {**dict.fromkeys(unknown), "labels": 4, "too_few": "topics"}
    topics = [{"topic": 0, "counts": counts}]
    sheet = make_estimates(phase, [run])
    sheet.of = of
    sheet.result = {
        "measures": {measure: {"systems": [line], "differences": []}},
        "people_and_judge": {
            "labels": labels,
            "systems": [{"run": str(run.pk), "topics": topics}],
        },
    }
    sheet.published_at = timezone.now()
    sheet.save()
    increment_board_version(phase.pk)


def test_labels_of_people_of_each_kind_stand_beside_a_judge_of_both(scored, client):
    phase = scored(SAME, ("corrected", OF_NUGGETS))
    api = f"/api/v1/phases/{phase.pk}/judges/"
    facts = client.get(api).json()
    assert (facts["with_people"], facts["with_people_by_kind"]) == (None, [])
    nuggets = ("nuggets", "nuggets_vital", ["support", "not_support"])
    publish_sheet(phase, *nuggets, [[9, 0], [0, 0]])
    publish_sheet(phase, *nuggets, [[2, 1], [0, 1]])
    publish_sheet(
        phase, "citations", "citation_precision", ["full", "none"], [[1, 0], [1, 1]]
    )
    facts = client.get(api).json()
    found = {one["of"]: one for one in facts["with_people_by_kind"]}
    assert [
        (of, one["judgements"], one["same_label"]) for of, one in found.items()
    ] == [
        ("nuggets", 4, 3),
        ("citations", 3, 2),
    ]
    assert facts["with_people"] == found["citations"], "its sheet was published last"
    [view] = facts["views"]
    assert view["with_people_by_kind"] == [], "the sheets correct the first judge"
    told = text_of(read(client, phase))
    assert "Agreement with people: nuggets" in told
    assert "Agreement with people: citations" in told


def test_a_judge_of_both_kinds_has_kappa_for_each_kind(scored, client):
    phase = scored(SAME, ("corrected", OF_NUGGETS))
    told = text_of(read(client, phase))
    assert "It decides nuggets, citations" in told
    assert (
        f"Judge Labels Pairs Same label Cohen's kappa {OTHER} nuggets 8 2" not in told
    )
    start = told.index("Agreement with other judges")
    part = told[start : told.index("Agreement with people")]
    assert f"{OTHER} nuggets 8 0.25" in part
    assert f"{OTHER} citations 2 0.50" in part
    [view] = client.get(f"/api/v1/phases/{phase.pk}/judges/").json()["views"]
    assert (view["kappa"], view["why_no_kappa"]) == (None, "several-kinds")
    assert [(one["kind"], one["pairs"]) for one in view["by_kind"]] == [
        ("assigns", 8),
        ("supports", 2),
    ]
    alone = text_of(read(client, phase, judge=f"{JUDGE}@supports"))
    assert "Pairs behind the shown numbers 2" in alone
    assert "nuggets" not in alone[alone.index("It decides") : alone.index("Boards of")]


def test_the_page_models_says_what_else_decides_pairs_of_reports(
    scored, client, organiser
):
    phase = scored()
    client.force_login(organiser)
    address = reverse("organise-models", args=[phase.task.season.slug])
    told = text_of(client.get(address))
    assert "scoring judge run NAME pairs.jsonl" in told
    assert "rows with by" in told
    assert "decide --model" not in told, "an entailment model decides no citations"


def test_the_job_of_an_import_names_no_kind_of_labels():
    kind = BackgroundJob.Kind.LABELS
    assert str(kind.label) == "Import labels of a judge"
    with override("de"):
        assert str(kind.label) == "Labels eines Urteilsmodells importieren"


def test_where_scores_are_hidden_no_judge_has_a_page(scored, client):
    phase = scored(rules=("corrected", OF_CITATIONS))
    phase.board = "ranks"
    phase.save()
    for key in (JUDGE, CITATIONS, OTHER, f"{OTHER}@supports"):
        assert read(client, phase, judge=key).status_code == 404


def test_labels_of_another_season_change_no_page_of_a_judge(scored, client, bring):
    phase = scored(rules=("corrected", OF_CITATIONS))
    pages = [text_of(read(client, phase, judge=key)) for key in (CITATIONS, OTHER)]
    season = factories.make_season()
    elsewhere = factories.make_phase(task=factories.make_task(season=season))
    for judge in (CITATIONS, OTHER):
        again = [labelled(RIGHT, "full", repeat=1), labelled(RIGHT, "none")]
        bring(elsewhere, judge, "supports", *again)
    phase.save()
    assert [
        text_of(read(client, phase, judge=key)) for key in (CITATIONS, OTHER)
    ] == pages


def sheet_of(phase, organiser, judge=OTHER):
    asked = DisagreementRequest(phase=phase, judge=judge, pairs=10, seed="1")
    found = sample_disagreements(asked, organiser)
    lines = store_sheet_file(build_lines_for_people_to_label(asked, found))
    return save_disagreement_sheet(asked, found, lines, by=organiser)


def test_a_sheet_has_the_nuggets_that_two_judges_label_differently(scored, organiser):
    phase = scored(rules=("corrected", OF_NUGGETS))
    assert list_judges_to_compare(phase) == [OTHER]
    sheet = sheet_of(phase, organiser)
    head, *rows = form_of(sheet)
    assert (head["kind"], head["judge"]) == ("assigns", "people")
    differing = [
        {key: text for key, text in pair.items() if key != "kind"} for pair in PAIRS[2:]
    ]
    assert sorted((row["texts"] for row in rows), key=json.dumps) == sorted(
        differing, key=json.dumps
    )
    assert all(row["label"] == "" for row in rows)
    assert (sheet.result["common"], sheet.result["differing"]) == (8, 6)
    assert sheet.result["judges"] == [JUDGE, OTHER]


def test_nuggets_of_equal_reports_of_two_runs_are_compared_once(scored, organiser):
    phase = scored(rules=("corrected", OF_NUGGETS))
    report_run(phase)
    score_queued()
    sheet = sheet_of(phase, organiser)
    assert (sheet.result["common"], sheet.judgements) == (8, 6)


def test_labels_under_ids_of_topics_and_nuggets_are_compared(scored, organiser, bring):
    phase = scored(rules=("corrected", OF_NUGGETS))
    Judgement.objects.filter(judge__name=OTHER).delete()
    by_id = [
        {"texts": [str(number), f"{number}.1", pair["report"]], "label": "support"}
        for number, pair in enumerate(PAIRS)
    ]
    bring(phase, OTHER, "assigns", *by_id)
    sheet = sheet_of(phase, organiser)
    assert (sheet.result["common"], sheet.result["differing"]) == (8, 6)


def test_people_s_labels_of_nuggets_return_to_the_ledger(scored, organiser, client):
    phase = scored(rules=("corrected", OF_NUGGETS))
    sheet = sheet_of(phase, organiser)
    client.force_login(organiser)
    head, row, *_rest = form_of(sheet)
    line = {**row, "label": "partial_support", "by": "assessor 1"}
    assert "1 label of people added" in upload(client, sheet, head, line)
    own = Judgement.objects.get(judge__name="people")
    assert (own.label, own.by) == ("partial_support", "assessor 1")
    assert (own.judge.kind, own.judge.digest) == ("assigns", head["digest"])
    assert count_ledger_labels(sheet) == 1


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"label": "full", "by": "A"}, "“label” is “full”"),
        ({"label": "support"}, "it does not say who labelled the pair"),
        (
            {"label": "support", "by": "A", "texts": {**PAIRS[0], "nugget": "Snow"}},
            "the sheet has no such pair",
        ),
    ],
)
def test_labels_that_are_not_of_the_sheet_s_nuggets_are_refused(
    scored, organiser, client, changed, words
):
    sheet = sheet_of(scored(rules=("corrected", OF_NUGGETS)), organiser)
    client.force_login(organiser)
    head, row, *_rest = form_of(sheet)
    line = {**row, **changed}
    line["texts"] = {key: line["texts"][key] for key in row["texts"]}
    assert words in upload(client, sheet, head, line)
    assert not Judgement.objects.filter(judge__name="people").exists()


def test_a_further_judge_of_both_kinds_has_a_sheet_of_each_kind(
    scored, organiser, client
):
    phase = scored(SAME, ("corrected", OF_NUGGETS))
    assert list_judges_to_compare(phase) == [f"{OTHER}@assigns", f"{OTHER}@supports"]
    kinds = {key: one.kind for key, one in compared_judges(phase).items()}
    assert kinds[OTHER] == "supports", "requests of earlier releases name no kind"
    nuggets, citations = (
        sheet_of(phase, organiser, f"{OTHER}@{kind}")
        for kind in ("assigns", "supports")
    )
    assert (nuggets.result["kind"], nuggets.judgements) == ("assigns", 6)
    assert (citations.result["kind"], citations.judgements) == ("supports", 1)
    assert nuggets.rules == citations.rules == OF_NUGGETS
    client.force_login(organiser)
    season = phase.task.season.slug
    page = text_of(client.get(reverse("organise-estimates", args=[season])))
    assert f"{OTHER} (nuggets)" in page
    make = reverse("organise-disagreements-make", args=[season, phase.pk])
    asked = {"judge": f"{OTHER}@assigns", "pairs": 10, "seed": "7"}
    told = text_of(followed(client, client.post(make, asked)))
    assert "The sheet is created, with 6 pairs" in told


def test_views_of_two_kinds_have_a_sheet_of_each_kind(scored, organiser):
    phase = scored(rules=("corrected", OF_NUGGETS, OF_CITATIONS))
    assert list_judges_to_compare(phase) == [f"{OTHER}@assigns", f"{OTHER}@supports"]
    sheet = sheet_of(phase, organiser, f"{OTHER}@supports")
    assert (sheet.rules, sheet.result["judges"]) == (OF_CITATIONS, [CITATIONS, OTHER])
    with pytest.raises(SheetRefused, match="decides no view"):
        sample_disagreements(
            DisagreementRequest(phase=phase, judge=CITATIONS, pairs=10, seed="1"),
            organiser,
        )


def test_the_document_of_a_citation_is_no_part_of_a_sheet_of_nuggets(scored, organiser):
    sheet = sheet_of(scored(rules=("corrected", OF_NUGGETS)), organiser)
    assert DOCUMENT not in json.dumps(form_of(sheet))
