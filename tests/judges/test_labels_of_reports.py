"""Cited reports whose labels of citations are in the ledger: `supports = "store:NAME"`."""

import json
from decimal import Decimal
from functools import partial
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from citeboard.acts.judging import CONSENT_TO_JUDGE
from citeboard.core.refusals import ActionRefused
from scoring.__main__ import main as offline
from scoring.models import (
    Evaluation,
    Judgement,
    PendingLabels,
    PendingPair,
    UsedJudgements,
)
from scoring.results.board.judges import find_visible_judges_of_board
from scoring.results.board.standings import compute_board
from scoring.results.board.visibility import Audience
from scoring.worker import gathering
from scoring.worker.entailment_labels import import_labels, iterate_label_file_lines
from scoring.worker.gathering import start_judgement_collection
from scoring.worker.judging import record_judge_consent
from scoring.worker.local_copies import UploadedFileRefused
from scoring.worker.withdrawal import withdraw_import
from tasks.gold.gold_files import load_gold
from tasks.models import Job, Organiser
from tests import factories
from tests.archive.test_archive import export, first, over, verified
from tests.archive.test_archived_ledger import replace_in
from tests.declared import small_reports
from tests.declared.small_reports import RIGHT, WRONG
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
from tests.scoring.citing import score_queued, write_lines

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
JUDGE, OTHER = "support-a", "support-b"
VIEW = f"corrected@{OTHER}"
DOCUMENT = "Source\nIt may be so."
PAIRS = [
    {"kind": "supports", "sentence": sentence, "document": DOCUMENT}
    for sentence in (RIGHT, WRONG)
]


def reports_phase(folder, **fields):
    """A phase whose gold has labels of citations, which the ledger replaces."""
    more = {name: fields.pop(name) for name in ("organiser",) if name in fields}
    task = factories.make_task(
        season=factories.make_season(**more),
        type="cited-reports",
        rules=fields.pop("rules", ["corrected"]),
        options={"supports": f"store:{JUDGE}"},
    )
    phase = factories.make_phase(
        task=task, with_gold=False, board="everyone", shows_instances=True, **fields
    )
    gold = small_reports.write_gold(folder / "gold")
    load_gold(task=task, split=phase.split, paths=[gold], reason="for tests")
    return phase


@pytest.fixture
def phase(tmp_path):
    return reports_phase(tmp_path)


def report_run(phase, right: int = 4):
    return factories.make_submission(phase=phase, content=small_reports.run(right))


def labelled(sentence: str, label: str, document: str = DOCUMENT, **more) -> dict:
    return {"texts": [sentence, document], "label": label, **more}


#: By these labels the run above has citations with the credits 0 and .5.
ROWS = (labelled(RIGHT, "none"), labelled(WRONG, "partial"))


@pytest.fixture
def bring(tmp_path, phase):
    def bring(*rows, judge=JUDGE, kind="supports", **more):
        path = write_lines(
            tmp_path / "rows.jsonl", [{"kind": kind, "judge": judge, **more}, *rows]
        )
        season = phase.task.season
        return import_labels(path=path, filename=path.name, by=None, season=season)

    return bring


def precision(run, rules="corrected") -> float:
    evaluation = run.evaluations.get(rules=rules)
    return evaluation.scores.get(shared__metric="citation_precision").value


def downloaded(client, phase, **query):
    address = reverse("organise-labels", args=[phase.task.season.slug])
    answer = client.get(address, query)
    lines = b"".join(answer).decode().splitlines()
    return [json.loads(line) for line in lines]


def open_pairs(*arguments: str) -> list[dict]:
    out = StringIO()
    call_command("export_pairs", *arguments, stdout=out, stderr=StringIO())
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_run_waits_for_the_labels_of_its_citations_and_an_import_completes_it(
    phase, bring
):
    run = report_run(phase)
    score_queued()
    job = run.jobs.get()
    assert job.state == Job.State.WAITING
    assert job.reason.startswith(
        "2 of 2 pairs pending: how far documents support sentences is decided by support-a"
    )
    assert PendingLabels.objects.get().judge.kind == "supports"
    assert sorted(open_pairs(), key=str) == sorted(PAIRS, key=str)
    assert open_pairs("--kind", "supports") == open_pairs()
    assert open_pairs("--kind", "entails") == []
    done = bring(ROWS[0])
    assert (done.added, done.resumed) == (1, 1)
    score_queued()
    job.refresh_from_db()
    assert job.state == Job.State.WAITING
    assert open_pairs() == PAIRS[1:]
    bring(ROWS[1])
    score_queued()
    assert precision(run) == 0.25
    used = UsedJudgements.objects.get()
    assert (used.kind, used.name, used.rows) == ("supports", JUDGE, 2)
    assert not PendingPair.objects.exists()
    assert {used.judge.name for used in used.imports.all()} == {JUDGE}


def test_labels_of_another_form_of_the_document_count_as_in_files(phase, bring):
    run = report_run(phase)
    score_queued()
    bring(*(labelled(one, "full", f"Title: {DOCUMENT}") for one in (RIGHT, WRONG)))
    score_queued()
    assert precision(run) == 1


def test_labels_of_another_kind_or_judge_complete_nothing(phase, bring):
    run = report_run(phase)
    score_queued()
    bring(*ROWS, judge=OTHER)
    yes = {"texts": [RIGHT, DOCUMENT], "label": "yes"}
    bring(yes, kind="entails")
    score_queued()
    assert run.jobs.get().state == Job.State.WAITING
    assert len(open_pairs()) == 2


def test_a_file_with_an_unknown_label_is_refused_and_the_run_waits_on(phase, bring):
    run = report_run(phase)
    score_queued()
    with pytest.raises(UploadedFileRefused):
        bring(labelled(RIGHT, "mostly"))
    assert not Judgement.objects.exists()
    assert run.jobs.get().state == Job.State.WAITING


def test_pairs_without_a_usable_answer_wait_until_people_decide(phase, bring):
    run = report_run(phase)
    score_queued()
    bring(labelled(RIGHT, "no label"), ROWS[1])
    score_queued()
    assert run.jobs.get().state == Job.State.WAITING
    bring(labelled(RIGHT, "full", by="p1"))
    score_queued()
    assert precision(run) == 0.75


def test_runs_with_different_pairs_share_a_column_that_names_the_judge(phase, bring):
    bring(*ROWS)
    runs = [report_run(phase, right) for right in (4, 8)]
    score_queued()
    scores = [
        run.evaluations.get().scores.get(shared__metric="citation_f1") for run in runs
    ]
    assert len({one.column for one in scores}) == 1
    assert f"|supports:{JUDGE}|" in scores[0].column
    digests = [one.signature.partition("support_labels:")[2][:12] for one in scores]
    assert len(set(digests)) == 2
    assert all(digests)


def test_a_scorer_receives_the_labels_of_its_own_pairs_with_one_query(
    phase, bring, tmp_path, monkeypatch, django_assert_max_num_queries
):
    strange = [labelled(f"Sentence {number}.", "full") for number in range(300)]
    bring(*ROWS, *strange)
    given = []
    replace_options = gathering.replace_judges_by_label_files

    def watched(options, paths):
        given.append(paths["supports"].read_text().splitlines())
        return replace_options(options, paths)

    monkeypatch.setattr(gathering, "replace_judges_by_label_files", watched)
    run = report_run(phase)
    score_queued()
    assert precision(run) == 0.25
    assert [len(lines) for lines in given] == [1, 3]
    gathered = start_judgement_collection(run.jobs.get())
    pending = write_lines(tmp_path / "pending.jsonl", [{**one} for one in PAIRS])
    with django_assert_max_num_queries(4):
        assert gathered.add(pending)


def test_a_later_label_marks_the_numbers_and_a_withdrawal_makes_the_run_wait(
    phase, bring
):
    done = bring(*ROWS)
    run = report_run(phase)
    score_queued()
    bring(labelled(RIGHT, "full", by="p1"))
    used = UsedJudgements.objects.get()
    assert used.outdated_at is not None
    assert precision(run) == 0.25, "a later row changes no number"
    withdraw_import(source=done.source, reason="A test.", by=None)
    score_queued()
    assert run.jobs.latest("pk").state == Job.State.WAITING


def test_exported_labels_score_the_run_offline_in_the_same_column(
    phase, bring, tmp_path, capsys
):
    bring(*ROWS)
    report_run(phase)
    score_queued()
    judges = [Judgement.objects.first().judge]
    kept = tmp_path / "kept.jsonl"
    kept.write_text("".join(iterate_label_file_lines(judges)))
    path = tmp_path / "run.jsonl"
    path.write_bytes(small_reports.run(4))
    words = ["score", "cited-reports", f"--gold={tmp_path / 'gold'}", f"--run={path}"]
    assert offline([*words, f"--option=supports={kept}", "--json"]) == 0
    offline_score = json.loads(capsys.readouterr().out)["metrics"]["citation_precision"]
    assert offline_score["value"] == 0.25
    assert f"|supports:{JUDGE}|" in offline_score["column"]
    assert offline([*words, f"--option=supports=store:{JUDGE}"]) == 6
    assert "have its organisers export them" in capsys.readouterr().err
    assert offline([*words, "--option=supports=store:"]) == 2
    again = import_labels(
        path=kept, filename="kept.jsonl", by=None, season=phase.task.season
    )
    assert (again.added, again.known) == (0, 2), "the file can be imported again"


def test_a_file_as_value_keeps_its_meaning(tmp_path, capsys):
    gold = small_reports.write_gold(tmp_path / "gold")
    rows = [{"kind": "supports", **one} for one in ROWS]
    judgements = gold / "judgements.jsonl"
    kept = [
        line for line in judgements.read_text().splitlines() if '"supports"' not in line
    ]
    write_lines(judgements, kept)
    supports = write_lines(tmp_path / "supports.jsonl", rows)
    run = tmp_path / "run.jsonl"
    run.write_bytes(small_reports.run(4))
    words = ["score", "cited-reports", f"--gold={gold}", f"--run={run}", "--json"]
    assert offline([*words, f"--option=supports={supports}"]) == 0
    own = json.loads(capsys.readouterr().out)["metrics"]["citation_precision"]
    assert own["value"] == 0.25
    assert "|supports:" not in own["column"]
    assert "support_labels" not in own["signature"]


def test_an_archive_replays_the_rows_of_the_judge(phase, bring, tmp_path, capsys):
    bring(*ROWS)
    report_run(phase)
    score_queued()
    over(phase.task.season.slug)
    folder = export(tmp_path / "archive", "--with-gold", season=phase.task.season.slug)
    [entry] = json.loads((folder / "season.json").read_text())["judgements"]
    assert (entry["kind"], entry["rows"]) == ("supports", 2)
    assert any(line.endswith(" 0 not checked") for line in verified(capsys, folder, 0))
    replace_in(first(folder, "ledger/*.jsonl"), '"partial"', '"full"')
    told = verified(capsys, folder, 1)
    words = f"1 labels are not what the rows of “{JUDGE}” say"
    assert any(words in line for line in told)


def truthful(prompt: str, nth: int):
    sentence = prompt.partition("Document:")[0]
    return said("Partial" if WRONG in sentence else "None")


def test_a_judge_is_asked_about_each_citation_once_and_its_rows_score_the_run(
    phase,
    offers,  # noqa: F811
):
    with stub_endpoint(truthful) as stub:
        offers(stub)
        row = record_judge_consent(phase=phase, prompt=None, budget=Decimal(1), by=None)
        run = report_run(phase)
        work()
    assert precision(run) == 0.25
    assert set(stub.asked.values()) == {1}
    assert len(stub.prompts) == 2
    assert all(f"Document:\n{DOCUMENT}" in prompt for prompt in stub.prompts)
    row.refresh_from_db()
    assert (row.kind, row.replies) == ("supports", 2)
    assert row.answers == {"Full": "full", "Partial": "partial", "None": "none"}
    assert set(Judgement.objects.values_list("label", flat=True)) == {"none", "partial"}


def test_replies_without_one_answer_are_asked_once_more_and_the_run_waits(
    phase,
    offers,  # noqa: F811
):
    with stub_endpoint(lambda prompt, nth: said("Full or Partial")) as stub:
        offers(stub)
        record_judge_consent(phase=phase, prompt=None, budget=Decimal(1), by=None)
        run = report_run(phase)
        work()
    assert set(stub.asked.values()) == {2}
    assert run.jobs.get().state == Job.State.WAITING
    assert set(Judgement.objects.values_list("label", flat=True)) == {"no label"}


def test_an_entailment_model_is_refused_and_the_reason_is_stated(
    phase, settings, tmp_path
):
    path = tmp_path / "judges.toml"
    path.write_text(f'[[judge]]\nname = "{JUDGE}"\nkind = "entailment"\nmodel = "/m"\n')
    settings.JUDGES_FILE = path
    with pytest.raises(ActionRefused, match="asks for full, partial or no support"):
        record_judge_consent(phase=phase, prompt=None, budget=None, by=None)
    assert not phase.phase_judges.exists()


def test_the_page_judges_asks_for_the_three_answers_of_support(
    client, tmp_path, settings
):
    organiser = factories.make_user()
    phase = reports_phase(tmp_path, organiser=organiser)
    client.force_login(organiser)
    judges = write_judges(tmp_path, "http://127.0.0.1:9/v1")
    told = offering_page(client, phase, settings, judges)
    for name in ("prompt", "full", "partial", "none"):
        assert f'name="{name}"' in told
    for name in ("yes", "no"):
        assert f'name="{name}"' not in told
    assert "It contains {sentence} and {document}." in told
    wrong = refused_consent(client, phase, prompt="{premise}: {hypothesis}?")
    assert "the prompt lacks {sentence}" in wrong
    with pytest.raises(ActionRefused, match="“yes” is no label; the labels are full"):
        CONSENT_TO_JUDGE(phase, organiser, consent=True, yes="Y")
    assert not phase.phase_judges.exists()
    prompt = "{sentence}\n{document}"
    consent(client, phase, prompt=prompt, full="Entirely")
    row = phase.phase_judges.get()
    assert (row.kind, row.prompt) == ("supports", prompt)
    assert row.answers == {"Entirely": "full", "Partial": "partial", "None": "none"}
    told = read_by_a_team(client, phase)
    assert "decides how far cited documents support sentences" in told
    assert "are sent to 127.0.0.1:9" in told


def board_of(phase, rules=None):
    phase.refresh_from_db()
    return compute_board(phase, None, rules, audience=Audience.PUBLIC)


def test_a_view_has_the_scores_of_a_further_judge_beside_those_of_the_first(
    tmp_path, client
):
    phase = reports_phase(tmp_path, rules=["corrected", VIEW])
    runs = [report_run(phase, right) for right in (2, 4, 6)]
    path = tmp_path / "rows.jsonl"
    own = {JUDGE: ("full", "none"), OTHER: ("none", "partial")}
    load = partial(import_labels, path=path, filename=path.name, by=None)
    for judge, labels in own.items():
        rows = [
            labelled(one, label)
            for one, label in zip((RIGHT, WRONG), labels, strict=True)
        ]
        write_lines(path, [{"kind": "supports", "judge": judge}, *rows])
        load(season=phase.task.season)
    score_queued()
    assert [precision(run) for run in runs] == [0.25, 0.5, 0.75]
    assert [precision(run, VIEW) for run in runs] == [0.375, 0.25, 0.125]
    columns = {
        one.rules: one.scores.get(shared__metric="citation_f1").column
        for one in Evaluation.objects.filter(submission=runs[0])
    }
    assert f"|supports:{OTHER}|" in columns[VIEW]
    [view] = find_visible_judges_of_board(board_of(phase), None).views
    assert view.judge.name == OTHER
    assert (view.agreement.pairs, view.agreement.same) == (2, 0)
    task = phase.task
    address = reverse("board", args=[task.season.slug, task.slug, phase.slug])
    page = client.get(address, {"judge": OTHER})
    assert page.status_code == 200
    assert OTHER in page.content.decode()


def test_labels_of_each_kind_of_a_judge_are_downloaded_apart(
    phase, bring, client, tmp_path
):
    season = phase.task.season
    factories.make_task(
        season=season,
        type="positional-citations",
        options={"entailment": f"store:{JUDGE}"},
    )
    bring(labelled(RIGHT, "full"))
    bring({"texts": [DOCUMENT, RIGHT], "label": "yes"}, kind="entails")
    organiser = factories.make_user()
    Organiser.objects.create(season=season, user=organiser)
    client.force_login(organiser)
    [_head, supports] = downloaded(client, phase, model=JUDGE, kind="supports")
    [_head, entails] = downloaded(client, phase, model=JUDGE, kind="entails")
    assert (supports["label"], entails["entailed"]) == ("full", 1)
    models = client.get(reverse("organise-models", args=[season.slug]))
    for kind in ("supports", "entails"):
        assert f"?model={JUDGE}&amp;kind={kind}" in models.content.decode()
