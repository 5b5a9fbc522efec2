"""The ledger: duplicate and contradicting rows, majorities of people, withdrawn imports."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils.timezone import now

from citeboard.api.receipts import serialize_receipts
from scoring.metrics.entailment import read_entailment_labels
from scoring.models import Judge, Judgement, UsedJudgements
from scoring.results.board.judged import build_judgement_notes
from scoring.results.board.visibility import Audience
from scoring.worker import gathering, ledger
from scoring.worker.entailment_labels import import_labels, iterate_label_file_lines
from scoring.worker.ledger import (
    ROWS_PER_SQL_STATEMENT,
    iterate_judgement_file_lines,
    look_up_labels,
)
from scoring.worker.local_copies import UploadedFileRefused
from scoring.worker.rescoring import request_rescoring_of_phase
from scoring.worker.score import score
from scoring.worker.withdrawal import withdraw_import
from tasks.models import Job, Phase
from tests.scoring.citing import (
    MODEL,
    OSLO,
    PAIRS,
    citing_phase,
    citing_run,
    decided,
    write_lines,
)
from tests.scoring.test_ledger_rows import HEADER, digest, row

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


def vote(by: str, entailed: bool, pair=PAIRS[0]) -> dict:
    texts = dict(zip(("premise", "hypothesis"), pair, strict=True))
    return {"texts": texts, "label": "yes" if entailed else "no", "by": by}


def bring(tmp_path, lines, **more):
    path = write_lines(tmp_path / "rows.jsonl", lines)
    return import_labels(path=path, filename="rows.jsonl", by=None, **more)


def refused(tmp_path, lines, **more) -> list[str]:
    with pytest.raises(UploadedFileRefused) as refusal:
        bring(tmp_path, lines, **more)
    return [str(problem) for problem in refusal.value.problems]


def work(*runs) -> None:
    for job in Job.objects.filter(submission__in=runs, state=Job.State.QUEUED).order_by(
        "pk"
    ):
        score(job.pk)


def exported(judge: str, kind: str) -> list[dict]:
    lines = iterate_judgement_file_lines(
        list(Judge.objects.deciding(judge, None, kind))
    )
    return [json.loads(line) for line in lines]


def test_rows_go_in_and_out_in_one_form(tmp_path):
    lines = [
        row("a", score=0.5, rationale="It\nsays so.", cost=0.001),
        row("b", "none", by="p1", at="2026-05-01T12:00:00+00:00"),
        row("b", "partial", by="p1", repeat=1),
    ]
    done = bring(tmp_path, [HEADER, *lines])
    assert (done.added, done.known) == (3, 0)
    assert exported("nli", "supports") == [HEADER, *lines]
    again = bring(tmp_path, exported("nli", "supports"))
    assert (again.added, again.known) == (0, 3)


def test_postgresql_knows_the_number_of_rows_after_a_large_import(
    tmp_path, monkeypatch
):
    if connection.vendor != "postgresql":
        pytest.skip("SQLite keeps no statistics of its own accord")
    monkeypatch.setattr(ledger, "MIN_NEW_ROWS_FOR_ANALYZE", 3)
    # Tests that empty tables leave 0 in place of the -1 of a new table.
    before = estimated_rows()
    counts = []
    for count in (2, 5):
        bring(
            tmp_path, [HEADER, *(row(f"{count} {number}") for number in range(count))]
        )
        counts.append(estimated_rows())
    assert counts == [before, 7]


def estimated_rows() -> float:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reltuples FROM pg_class WHERE relname = 'scoring_judgement'"
        )
        [rows] = cursor.fetchone()
    return rows


def test_texts_are_digested_and_not_kept(tmp_path):
    texts = {"topic": "Rain", "left": "It rains.", "right": "It is dry."}
    common = {"kind": "prefers", "judge": "people"}
    bring(tmp_path, [{**common, "texts": texts, "label": "left", "by": "p1"}])
    kept = Judgement.objects.get()
    assert kept.items.split() == [digest(text)[7:] for text in texts.values()]
    assert "rains" not in "".join(map(str, Judgement.objects.values().get().values()))


def test_equal_rows_are_kept_once_also_within_a_file(tmp_path):
    many = [row(str(number)) for number in range(ROWS_PER_SQL_STATEMENT + 3)]
    done = bring(tmp_path, [HEADER, *many, *many[:7]])
    assert (done.added, Judgement.objects.count()) == (
        ROWS_PER_SQL_STATEMENT + 3,
        ROWS_PER_SQL_STATEMENT + 3,
    )


def test_a_contradiction_is_refused_by_its_line_and_leaves_nothing(tmp_path):
    bring(tmp_path, [HEADER, row("a")])
    told = refused(tmp_path, [HEADER, row("b"), row("a", "none")])
    kept = "rows.jsonl:3: these items are stored as “full”"
    once = "what a judge has said once; a further answer has “repeat”"
    assert told == [f"{kept}; expected {once}"]
    assert Judgement.objects.count() == 1
    # Another definition of the judge is another judge.
    bring(tmp_path, [{**HEADER, "digest": "sha256:2"}, row("a", "none")])
    items = Judgement.objects.first().items
    deciding = list(Judge.objects.deciding("nli", None, "supports"))
    [(_, found)] = look_up_labels(deciding, [items])
    assert found.settled.label == "none"


def test_a_judge_s_own_season_goes_before_shared_rows_in_files_and_look_ups(tmp_path):
    season = citing_phase(tmp_path / "p").task.season
    bring(tmp_path, [HEADER, row("a", "none")], season=season)
    bring(tmp_path, [HEADER, row("a"), row("b")])
    judges = list(Judge.objects.deciding("nli", season, "supports"))
    lines = [json.loads(line) for line in iterate_judgement_file_lines(judges)]
    assert [one["label"] for one in lines[1:]] == ["none", "full"]
    items = [one.items for one in Judgement.objects.filter(judge=judges[1])]
    found = dict(look_up_labels(judges, items))
    assert [found[one].settled.label for one in items] == ["none", "full"]


@pytest.fixture
def phase(tmp_path):
    return citing_phase(tmp_path / "phase")


def recall(run) -> float:
    scores = run.evaluations.get().scores
    return scores.get(shared__metric="aliice_recall").value


def test_a_scorer_is_given_the_judgements_of_its_own_pairs_alone(
    phase, tmp_path, monkeypatch, django_assert_max_num_queries
):
    others = [("another premise", f"claim {number}") for number in range(50)]
    bring(tmp_path, decided(*PAIRS, *others))
    given = []
    options = gathering.CollectedJudgementsOfRun.options

    def watched(self, folder):
        made = options(self, folder)
        given.append(read_entailment_labels(folder / "labels-entails.jsonl").entailed)
        return made

    monkeypatch.setattr(gathering.CollectedJudgementsOfRun, "options", watched)
    run = citing_run(phase)
    work(run)
    assert recall(run) == 100
    assert [len(labels) for labels in given] == [0, len(PAIRS)]
    used = UsedJudgements.objects.get()
    assert (used.rows, used.evaluation.submission_id) == (len(PAIRS), run.pk)
    items = list(Judgement.objects.values_list("items", flat=True))
    judges = list(Judge.objects.deciding(MODEL, None))
    with django_assert_max_num_queries(1):
        assert len(list(look_up_labels(judges, items))) == len(PAIRS) + 50


def test_votes_decide_a_run_and_a_later_vote_makes_its_numbers_outdated(
    phase, tmp_path
):
    votes = [vote(by, True, pair) for pair in PAIRS for by in ("p1", "p2")]
    header = {"kind": "entails", "judge": MODEL}
    bring(tmp_path, [header, *votes])
    run, silent = citing_run(phase), citing_run(phase, "It rains.")
    work(run, silent)
    before = run.evaluations.get()
    assert recall(run) == 100
    assert build_judgement_notes(phase, [before.pk]) == []
    bring(tmp_path, [header, vote("p3", False), vote("p4", False, (OSLO, "other"))])
    assert recall(run) == 100
    notes = build_judgement_notes(phase, [before.pk, silent.evaluations.get().pk])
    assert notes == ["Judgements have been added that concern 1 run."]
    bring(tmp_path, [header, vote("p5", False), vote("p6", False)])
    work(run)
    assert recall(run) == 100, "a later row changes no number"
    request_rescoring_of_phase(phase=phase, by=None)
    work(run)
    assert recall(run) < 100
    assert build_judgement_notes(phase, [before.pk]) == []


def test_a_divided_vote_takes_the_lower_label_and_is_counted(phase, tmp_path):
    header = {"kind": "entails", "judge": MODEL}
    votes = [vote("p1", True, pair) for pair in PAIRS]
    votes += [vote("p2", False, pair) for pair in (PAIRS[0], PAIRS[3])]
    bring(tmp_path, [header, *votes])
    run = citing_run(phase)
    work(run)
    assert recall(run) == 0
    assert UsedJudgements.objects.get().ties == 2
    [note] = build_judgement_notes(phase, [run.evaluations.get().pk])
    assert note.startswith("People are divided on up to 2 judgements behind a run")
    lines = iterate_label_file_lines(list(Judge.objects.deciding(MODEL, None)))
    assert sorted(json.loads(line).get("entailed", -1) for line in lines) == [
        *(-1, 0, 0),
        *(1, 1, 1, 1),
    ]


def test_files_of_labels_have_a_model_s_first_usable_answer(tmp_path):
    texts = ["premise", "claim"]
    header = {"kind": "entails", "judge": "chat"}
    bring(tmp_path, [header, {"texts": texts, "label": "no label"}])
    assert (
        len(list(iterate_label_file_lines(list(Judge.objects.deciding("chat", None)))))
        == 1
    )
    bring(tmp_path, [header, {"texts": texts, "label": "yes", "repeat": 1}])
    [_, line] = iterate_label_file_lines(list(Judge.objects.deciding("chat", None)))
    assert json.loads(line)["entailed"] == 1


def test_a_run_whose_season_has_no_usable_answer_waits_and_is_not_tried_for_ever(
    phase, tmp_path
):
    own = [{**vote("", True, pair), "label": "no label"} for pair in PAIRS]
    header = {"kind": "entails", "judge": MODEL}
    bring(tmp_path, [header, *own], season=phase.task.season)
    bring(tmp_path, decided())
    run = citing_run(phase)
    work(run)
    assert run.jobs.get().state == "waiting"
    usable = [{**vote("", True, pair), "repeat": 1} for pair in PAIRS]
    bring(tmp_path, [header, *usable], season=phase.task.season)
    work(run)
    assert recall(run) == 100


def test_a_row_that_changes_between_two_look_ups_makes_the_numbers_outdated(
    phase, tmp_path, monkeypatch
):
    done = bring(tmp_path, decided(*PAIRS[:3]))
    add, looked_up = gathering.CollectedJudgementsOfRun.add, []

    def watched(self, pending):
        found = add(self, pending)
        if not looked_up:
            looked_up.append(found)
            withdraw_import(source=done.source, reason="A wrong prompt.", by=None)
            bring(tmp_path, decided(entailed=lambda _: 0))
        return found

    monkeypatch.setattr(gathering.CollectedJudgementsOfRun, "add", watched)
    run = citing_run(phase)
    work(run)
    assert UsedJudgements.objects.get().outdated_at is not None


def test_rows_that_all_seasons_share_do_not_outdate_a_season_with_its_own(
    phase, tmp_path
):
    bring(tmp_path, decided(), season=phase.task.season)
    run = citing_run(phase)
    work(run)
    bring(tmp_path, decided(entailed=lambda _: 0))
    assert not UsedJudgements.objects.filter(outdated_at__isnull=False).exists()


def test_a_withdrawn_import_decides_nothing_and_its_runs_are_scored_again(
    phase, tmp_path
):
    done = bring(tmp_path, decided())
    run = citing_run(phase)
    work(run)
    withdrawn = withdraw_import(source=done.source, reason="A wrong prompt.", by=None)
    assert (withdrawn.runs, withdrawn.frozen) == (1, 0)
    assert Judge.objects.get(season=None).decided == 0
    work(run)
    assert run.jobs.get().state == "waiting"
    # The run keeps its numbers until it is rescored; they state the withdrawal.
    evaluation = run.evaluations.get()
    told = ["Judgements behind 1 run were withdrawn: A wrong prompt."]
    assert build_judgement_notes(phase, [evaluation.pk]) == told
    bring(tmp_path, decided(entailed=lambda _: 0))
    work(run)
    assert recall(run) == 0
    assert build_judgement_notes(phase, [evaluation.pk]) == []
    receipts = serialize_receipts(run, Audience.ORGANISER, has_scores=True, is_own=True)
    said = [receipt.get("withdrawn_judgements") for receipt in receipts]
    assert said[0][0]["reason"] == "A wrong prompt."
    assert said[1] is None


def test_a_frozen_board_keeps_its_numbers_and_says_what_was_withdrawn(phase, tmp_path):
    done = bring(tmp_path, decided())
    run = citing_run(phase)
    work(run)
    Phase.objects.filter(pk=phase.pk).update(frozen_from=now())
    withdrawn = withdraw_import(source=done.source, reason="A wrong prompt.", by=None)
    assert (withdrawn.runs, withdrawn.frozen) == (1, 1)
    work(run)
    assert run.jobs.get().state == "done"
    assert recall(run) == 100
    [note] = build_judgement_notes(phase, [run.evaluations.get().pk])
    assert "A wrong prompt." in note


def test_the_shell_exports_any_kind_and_withdraws_an_import_once(tmp_path):
    done = bring(tmp_path, [HEADER, row("a")])
    call_command(
        "export_labels", "nli", "--kind", "supports", stdout=(out := StringIO())
    )
    assert [json.loads(line) for line in out.getvalue().splitlines()] == [
        HEADER,
        row("a"),
    ]
    words = ["withdraw_import", str(done.source.pk), "--reason", "A test."]
    call_command(*words, stdout=(out := StringIO()))
    assert out.getvalue().startswith("1 judgement of nli withdrawn; no runs rested")
    with pytest.raises(CommandError, match="withdrawn already"):
        call_command(*words)
    # Withdrawn rows may be imported again.
    assert bring(tmp_path, [HEADER, row("a", "none")]).added == 1
