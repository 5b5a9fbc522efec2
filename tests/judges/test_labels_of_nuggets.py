"""Cited reports whose labels of nuggets are in the ledger: `assignments = "store:NAME"`."""

import json
from decimal import Decimal

import pytest

from citeboard.acts.judging import CONSENT_TO_JUDGE, QUEUE_JUDGE_QUESTIONS
from citeboard.core.refusals import ActionRefused
from scoring.__main__ import main as offline
from scoring.models import Judgement, PendingLabels, PendingPair, UsedJudgements
from scoring.results.board.judges import (
    NO_AGREEMENT_SEVERAL_KINDS,
    find_visible_judges_of_board,
)
from scoring.results.board.standings import compute_board
from scoring.results.board.visibility import Audience
from scoring.worker.entailment_labels import import_labels, iterate_label_file_lines
from scoring.worker.estimating import (
    SampleParameters,
    compute_estimates,
    sample_units_as_sheet,
)
from scoring.worker.judging import record_judge_consent
from scoring.worker.local_copies import UploadedFileRefused
from scoring.worker.withdrawal import withdraw_import
from tasks.gold.gold_files import load_gold
from tasks.models import Job
from tests import factories
from tests.archive.test_archive import export, first, over, verified
from tests.archive.test_archived_ledger import replace_in
from tests.declared import small_reports
from tests.declared.small_reports import RIGHT, TITLES, WRONG
from tests.judges.reading import (
    consent,
    offering_page,
    read_by_a_team,
    refused_consent,
)
from tests.judges.stub import said, stub_endpoint, write_judges
from tests.judges.test_judging_runs import (  # noqa: F401  (a fixture)
    offers,
    work,
)
from tests.judges.test_labels_of_reports import (
    DOCUMENT,
    labelled,
    open_pairs,
    report_run,
)
from tests.scoring.citing import score_queued, write_lines

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
JUDGE, CITATIONS, OTHER = "nuggets-a", "support-a", "judge-b"
#: The run `report_run(phase)` says the right thing on the first four topics.
TEXTS = [RIGHT] * 4 + [WRONG] * 4
PAIRS = [
    {"kind": "assigns", "topic": title, "nugget": f"Nugget {number}", "report": text}
    for number, (title, text) in enumerate(zip(TITLES, TEXTS, strict=True))
]
#: Of the vital nuggets 0, 2, 4 and 6 the run has one in full and one in part.
LABELS = ["support", "support", "partial_support", *["not_support"] * 5]


def reports_phase(folder, options, **fields):
    season = factories.make_season(organiser=fields.pop("organiser", None))
    task = factories.make_task(
        season=season,
        type="cited-reports",
        rules=fields.pop("rules", ["corrected"]),
        options=options,
    )
    phase = factories.make_phase(task=task, with_gold=False, board="everyone", **fields)
    gold = small_reports.write_gold(folder / "gold")
    load_gold(task=task, split=phase.split, paths=[gold], reason="for tests")
    return phase


@pytest.fixture
def phase(tmp_path):
    return reports_phase(tmp_path, {"assignments": f"store:{JUDGE}"})


@pytest.fixture
def phase_of_both(tmp_path):
    options = {"assignments": f"store:{JUDGE}", "supports": f"store:{CITATIONS}"}
    return reports_phase(tmp_path, options)


def assigned(pair: dict, label: str, **more) -> dict:
    return {
        "texts": [pair[role] for role in ("topic", "nugget", "report")],
        "label": label,
        **more,
    }


ROWS = [assigned(pair, label) for pair, label in zip(PAIRS, LABELS, strict=True)]
CITED = [labelled(RIGHT, "none"), labelled(WRONG, "partial")]


@pytest.fixture
def bring(tmp_path):
    def bring(phase, *rows, judge=JUDGE, kind="assigns"):
        path = write_lines(
            tmp_path / "rows.jsonl", [{"kind": kind, "judge": judge}, *rows]
        )
        season = phase.task.season
        return import_labels(path=path, filename=path.name, by=None, season=season)

    return bring


def value(run, metric="nuggets_vital", rules="corrected") -> float:
    evaluation = run.evaluations.get(rules=rules)
    return evaluation.scores.get(shared__metric=metric).value


def state(run) -> str:
    return run.jobs.latest("pk").state


def test_a_run_waits_for_the_labels_of_its_nuggets_and_imports_complete_it(
    phase, bring
):
    run = report_run(phase)
    score_queued()
    job = run.jobs.get()
    assert job.state == Job.State.WAITING
    # The number of pairs would reveal how many nuggets the gold has.
    assert job.reason.startswith(
        "Pairs pending: which nuggets reports contain is decided by nuggets-a"
    )
    assert not any(sign.isdigit() for sign in job.reason)
    assert open_pairs("--kind", "assigns") == open_pairs() == PAIRS
    assert open_pairs("--kind", "supports") == []
    assert bring(phase, *ROWS[:3]).resumed == 1
    score_queued()
    assert state(run) == Job.State.WAITING
    assert open_pairs() == PAIRS[3:]
    bring(phase, *ROWS[3:])
    score_queued()
    assert value(run) == 1.5 / 4
    used = UsedJudgements.objects.get()
    assert (used.kind, used.name, used.rows) == ("assigns", JUDGE, 8)
    assert not PendingPair.objects.exists()
    assert value(run, "citation_precision") is not None, "the gold has its labels"


def test_a_label_under_the_id_of_topic_and_nugget_counts_as_in_files(phase, bring):
    run = report_run(phase)
    score_queued()
    by_id = [
        {**row, "texts": [str(number), f"{number}.1", row["texts"][2]]}
        for number, row in enumerate(ROWS)
    ]
    bring(phase, *by_id)
    score_queued()
    assert value(run) == 1.5 / 4


def test_labels_of_another_judge_or_kind_complete_nothing(phase, bring):
    run = report_run(phase)
    score_queued()
    bring(phase, *ROWS, judge=OTHER)
    bring(phase, *CITED, kind="supports")
    score_queued()
    assert state(run) == Job.State.WAITING
    assert len(open_pairs()) == 8


def test_a_label_of_another_kind_is_refused_and_the_run_waits_on(phase, bring):
    run = report_run(phase)
    score_queued()
    with pytest.raises(UploadedFileRefused):
        bring(phase, assigned(PAIRS[0], "full"))
    assert not Judgement.objects.exists()
    assert state(run) == Job.State.WAITING


def test_nuggets_without_a_usable_answer_wait_until_people_decide(phase, bring):
    run = report_run(phase)
    score_queued()
    bring(phase, assigned(PAIRS[0], "no label"), *ROWS[1:])
    score_queued()
    assert state(run) == Job.State.WAITING
    bring(phase, assigned(PAIRS[0], "support", by="p1"))
    score_queued()
    assert value(run) == 1.5 / 4


def test_a_run_of_two_judges_waits_for_both_and_names_both(phase_of_both, bring):
    run = report_run(phase_of_both)
    score_queued()
    job = run.jobs.get()
    assert (
        "how far documents support sentences is decided by support-a and "
        "which nuggets reports contain is decided by nuggets-a"
    ) in job.reason
    waits = {row.judge.kind: row for row in PendingLabels.objects.all()}
    assert {kind: row.open_pairs.count() for kind, row in waits.items()} == {
        "assigns": 8,
        "supports": 2,
    }
    assert {kind: row.pairs for kind, row in waits.items()} == {
        "assigns": 8,
        "supports": 2,
    }
    assert open_pairs("--kind", "assigns") == PAIRS
    assert len(open_pairs()) == 10
    bring(phase_of_both, *CITED, judge=CITATIONS, kind="supports")
    score_queued()
    assert state(run) == Job.State.WAITING
    assert run.jobs.get().reason.startswith("Pairs pending: which nuggets")
    assert open_pairs() == PAIRS
    bring(phase_of_both, *ROWS)
    score_queued()
    assert (value(run), value(run, "citation_precision")) == (1.5 / 4, 0.25)
    evaluation = run.evaluations.get()
    scores = {one.shared.metric: one for one in evaluation.scores.all()}
    nuggets, cited = scores["nuggets_vital"], scores["citation_f1"]
    assert f"|assignments:{JUDGE}|" in nuggets.column
    assert f"|supports:{CITATIONS}|" in cited.column
    assert "|assignment_labels:" in nuggets.signature
    assert "|support_labels:" in cited.signature
    assert ":*" not in nuggets.signature + cited.signature
    assert set(evaluation.used_judgements.values_list("kind", "name", "rows")) == {
        ("assigns", JUDGE, 8),
        ("supports", CITATIONS, 2),
    }


def test_a_wait_for_citations_does_not_tell_the_number_of_nuggets(phase_of_both, bring):
    run = report_run(phase_of_both)
    bring(phase_of_both, *ROWS)
    score_queued()
    reason = run.jobs.get().reason
    assert reason.startswith("Pairs pending: how far documents support sentences")
    assert not any(sign.isdigit() for sign in reason)


def test_runs_with_different_labels_share_a_column_of_each_judge(phase_of_both, bring):
    bring(phase_of_both, *CITED, judge=CITATIONS, kind="supports")
    other = [assigned({**pair, "report": RIGHT}, "support") for pair in PAIRS[4:]]
    bring(phase_of_both, *ROWS, *other)
    runs = [report_run(phase_of_both, right) for right in (4, 8)]
    score_queued()
    for metric in ("nuggets_vital", "citation_f1"):
        shared = [
            run.evaluations.get().scores.get(shared__metric=metric) for run in runs
        ]
        assert len({one.shared_id for one in shared}) == 1
        assert len({one.signature for one in shared}) == 2


def test_a_later_label_marks_the_numbers_and_a_withdrawal_makes_the_run_wait(
    phase_of_both, bring
):
    bring(phase_of_both, *CITED, judge=CITATIONS, kind="supports")
    done = bring(phase_of_both, *ROWS)
    run = report_run(phase_of_both)
    score_queued()
    bring(phase_of_both, assigned(PAIRS[0], "not_support", by="p1"))
    outdated = UsedJudgements.objects.filter(outdated_at__isnull=False)
    assert [one.kind for one in outdated] == ["assigns"]
    assert value(run) == 1.5 / 4, "a later row changes no number"
    withdraw_import(source=done.source, reason="A test.", by=None)
    score_queued()
    assert state(run) == Job.State.WAITING
    assert open_pairs() == PAIRS[1:]


def test_exported_labels_score_the_run_offline_in_the_same_column(
    phase, bring, tmp_path, capsys
):
    bring(phase, *ROWS)
    run = report_run(phase)
    score_queued()
    kept = tmp_path / "kept.jsonl"
    kept.write_text(
        "".join(iterate_label_file_lines([Judgement.objects.first().judge]))
    )
    path = tmp_path / "run.jsonl"
    path.write_bytes(small_reports.run(4))
    words = ["score", "cited-reports", f"--gold={tmp_path / 'gold'}", f"--run={path}"]
    assert offline([*words, f"--option=assignments={kept}", "--json"]) == 0
    score = json.loads(capsys.readouterr().out)["metrics"]["nuggets_vital"]
    stored = run.evaluations.get().scores.get(shared__metric="nuggets_vital")
    assert score["value"] == stored.value
    assert f"|assignments:{JUDGE}|" in score["column"]
    assert offline([*words, f"--option=assignments=store:{JUDGE}"]) == 6
    assert "give the file as assignments=PATH" in capsys.readouterr().err
    assert offline([*words, "--option=assignments=store:"]) == 2
    again = import_labels(
        path=kept, filename="kept.jsonl", by=None, season=phase.task.season
    )
    assert (again.added, again.known) == (0, 8), "the file can be imported again"


def test_an_archive_replays_the_rows_of_both_judges(
    phase_of_both, bring, tmp_path, capsys
):
    bring(phase_of_both, *CITED, judge=CITATIONS, kind="supports")
    bring(phase_of_both, *ROWS)
    report_run(phase_of_both)
    score_queued()
    slug = phase_of_both.task.season.slug
    over(slug)
    folder = export(tmp_path / "archive", "--with-gold", season=slug)
    entries = json.loads((folder / "season.json").read_text())["judgements"]
    assert sorted((one["kind"], one["rows"]) for one in entries) == [
        ("assigns", 8),
        ("supports", 2),
    ]
    assert any(line.endswith(" 0 not checked") for line in verified(capsys, folder, 0))
    replace_in(first(folder, "ledger/*assigns*.jsonl"), "partial_support", "support")
    told = verified(capsys, folder, 1)
    words = f"1 labels are not what the rows of “{JUDGE}” say"
    assert any(words in line for line in told)


def truthful(prompt: str, nth: int):
    if "Document:" in prompt:
        return said("None")
    return said("Partial" if "Nugget 2" in prompt else "Absent")


def test_a_judge_is_asked_about_each_nugget_once_and_its_rows_score_the_run(
    phase,
    offers,  # noqa: F811
):
    with stub_endpoint(truthful) as stub:
        offers(stub, name=f'"{JUDGE}"')
        row = record_judge_consent(phase=phase, prompt=None, budget=Decimal(1), by=None)
        run = report_run(phase)
        work()
    assert value(run) == 0.5 / 4
    assert set(stub.asked.values()) == {1}
    assert len(stub.prompts) == 8
    row.refresh_from_db()
    assert (row.kind, row.replies) == ("assigns", 8)


def test_one_judge_of_both_kinds_is_agreed_to_and_asked_for_each_kind(
    tmp_path,
    offers,  # noqa: F811
):
    organiser = factories.make_user()
    options = {"assignments": f"store:{JUDGE}", "supports": f"store:{JUDGE}"}
    phase = reports_phase(tmp_path, options, organiser=organiser)
    with stub_endpoint(truthful) as stub:
        offers(stub, name=f'"{JUDGE}"')
        with pytest.raises(ActionRefused, match="name the kind: assigns, supports"):
            CONSENT_TO_JUDGE(phase, organiser, consent=True, budget=Decimal(1))
        with pytest.raises(
            ActionRefused, match="takes no labels of the kind “entails”"
        ):
            QUEUE_JUDGE_QUESTIONS(phase, organiser, kind="entails")
        for kind in ("assigns", "supports"):
            CONSENT_TO_JUDGE(
                phase, organiser, kind=kind, consent=True, budget=Decimal(1)
            )
        run = report_run(phase)
        work()
    assert len(stub.prompts) == 10
    assert set(stub.asked.values()) == {1}
    assert (value(run), value(run, "citation_precision")) == (0.5 / 4, 0)


def test_an_entailment_model_is_refused_and_the_reason_is_stated(
    phase, settings, tmp_path
):
    path = tmp_path / "judges.toml"
    path.write_text(f'[[judge]]\nname = "{JUDGE}"\nkind = "entailment"\nmodel = "/m"\n')
    settings.JUDGES_FILE = path
    with pytest.raises(ActionRefused, match="asks whether reports contain nuggets"):
        record_judge_consent(phase=phase, prompt=None, budget=None, by=None)
    assert not phase.phase_judges.exists()


def test_the_page_judges_has_a_form_for_each_kind_and_states_what_is_sent(
    client, tmp_path, settings
):
    organiser = factories.make_user()
    options = {"assignments": f"store:{JUDGE}", "supports": f"store:{JUDGE}"}
    phase = reports_phase(tmp_path, options, organiser=organiser)
    client.force_login(organiser)
    judges = write_judges(tmp_path, "http://127.0.0.1:9/v1", name=f'"{JUDGE}"')
    told = offering_page(client, phase, settings, judges)
    for name in ("support", "partial_support", "not_support", "full", "none"):
        assert told.count(f'name="{name}"') == 1
    assert "the nuggets, which are secret gold, are sent to 127.0.0.1:9" in told
    wrong = refused_consent(client, phase, kind="assigns", prompt="{topic} {nugget}")
    assert "the prompt lacks {report}" in wrong
    consent(client, phase, kind="assigns", not_support="No")
    row = phase.phase_judges.get()
    assert (row.kind, row.answers["No"]) == ("assigns", "not_support")
    assert "decides which nuggets reports contain" in read_by_a_team(client, phase)


def board_of(phase, rules=None):
    phase.refresh_from_db()
    return compute_board(phase, None, rules, audience=Audience.PUBLIC)


def test_a_view_replaces_the_first_judge_for_each_of_its_kinds(tmp_path, bring):
    options = {"assignments": f"store:{JUDGE}", "supports": f"store:{JUDGE}"}
    view = f"corrected@{OTHER}"
    phase = reports_phase(tmp_path, options, rules=["corrected", view])
    runs = [report_run(phase, 4)]
    for judge, cited in ((JUDGE, "full"), (OTHER, "none")):
        rows = [labelled(text, cited, DOCUMENT) for text in (RIGHT, WRONG)]
        bring(phase, *rows, judge=judge, kind="supports")
        bring(phase, *ROWS, judge=judge)
    score_queued()
    assert value(runs[0], rules=view) == value(runs[0]) == 1.5 / 4
    assert value(runs[0], "citation_precision", view) == 0
    assert value(runs[0], "citation_precision") == 1
    [seen] = find_visible_judges_of_board(board_of(phase), None).views
    assert (seen.agreement.pairs, seen.agreement.same) == (10, 8)
    assert (seen.agreement.kappa, seen.agreement.reason) == (
        None,
        NO_AGREEMENT_SEVERAL_KINDS,
    )


def test_a_view_keeps_a_second_judge_of_another_kind(tmp_path, bring):
    options = {"assignments": f"store:{JUDGE}", "supports": f"store:{CITATIONS}"}
    view = f"corrected@{OTHER}"
    phase = reports_phase(tmp_path, options, rules=["corrected", view])
    run = report_run(phase)
    bring(phase, *CITED, judge=CITATIONS, kind="supports")
    bring(phase, *ROWS)
    bring(phase, *(assigned(pair, "support") for pair in PAIRS), judge=OTHER)
    score_queued()
    assert (value(run), value(run, rules=view)) == (1.5 / 4, 1)
    assert value(run, "citation_precision", view) == 0.25
    [seen] = find_visible_judges_of_board(board_of(phase), None).views
    assert (seen.agreement.pairs, seen.agreement.same) == (8, 2)


def test_people_correct_scores_by_a_judge_whose_labels_name_ids(
    phase_of_both, bring, tmp_path
):
    bring(phase_of_both, *CITED, judge=CITATIONS, kind="supports")
    by_id = [
        {**row, "texts": [str(number), *row["texts"][1:]]}
        for number, row in enumerate(ROWS)
    ]
    bring(phase_of_both, *by_id)
    run = report_run(phase_of_both)
    score_queued()
    sampling = SampleParameters(
        phase=phase_of_both,
        gold=run.evaluations.get().gold,
        rules="corrected",
        of="nuggets",
        labels=8,
        seed="1",
        runs=[run],
    )
    head, *lines = map(json.loads, sample_units_as_sheet(sampling).splitlines())
    assert len(lines) == 8
    answered = [{**line, "label": "support"} for line in lines]
    people = write_lines(tmp_path / "people.jsonl", [{**head, "by": "p1"}, *answered])
    measures = compute_estimates(sampling, people).result["measures"]
    [system] = measures["nuggets_vital"]["systems"]
    assert system["judge"] == pytest.approx(1.5 / 4)
    assert system["agreement"] == 0.25
