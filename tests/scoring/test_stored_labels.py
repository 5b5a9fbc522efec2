"""Labels that the site keeps: a run waits for them where everybody sees it, and goes on by itself."""

import datetime as dt
import hashlib
import json
from io import StringIO
from itertools import combinations

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from citeboard.core import storage
from scoring.metrics.entailment import EntailmentPair, compute_labels_digest
from scoring.models import (
    Evaluation,
    Judge,
    Judgement,
    JudgementImport,
    PendingLabels,
    PendingPair,
)
from scoring.results.board.standings import compute_board
from scoring.stats.signature import parse_signature
from scoring.worker.entailment_labels import (
    find_jobs_waiting_for_labels,
    import_labels,
    iterate_label_file_lines,
    iterate_open_pairs,
)
from scoring.worker.local_copies import UploadedFileRefused
from scoring.worker.rescoring import request_rescoring_of_phase
from scoring.worker.score import score
from tasks.jobs import engine
from tasks.jobs.sweeper import sweep_jobs
from tasks.models import Job, Submission
from tasks.submissions.run_acts import cancel_run
from tasks.types.problems import MAX_STORED_PROBLEMS
from tests.scoring.citing import (
    CLAIM,
    MODEL,
    OSLO,
    PAIRS,
    ROME,
    citing_gold,
    citing_phase,
    citing_run,
    decided,
    entailment_label,
    write_lines,
)
from tests.tasks.types.citations import RAIN

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]


@pytest.fixture
def phase(tmp_path):
    return citing_phase(tmp_path / "phase")


def work(*runs: Submission) -> None:
    """What a worker does that is woken for every job."""
    for job in Job.objects.filter(submission__in=runs, state=Job.State.QUEUED).order_by(
        "pk"
    ):
        score(job.pk)


def read(row):
    return type(row).objects.get(pk=row.pk)


def bring(tmp_path, lines, **more):
    path = write_lines(tmp_path / "labels.jsonl", lines)
    return import_labels(path=path, filename="labels.jsonl", by=None, **more)


def refusals(tmp_path, lines, **more) -> list[str]:
    with pytest.raises(UploadedFileRefused) as refused:
        bring(tmp_path, lines, **more)
    return [str(problem) for problem in refused.value.problems]


class TestWaiting:
    def test_a_run_with_pending_pairs_waits_and_says_how_many(self, phase):
        run = citing_run(phase)
        work(run)
        run = read(run)
        assert run.status == "waiting"
        assert run.reason.startswith(
            f"6 of 6 pairs pending: whether passages entail claims is decided by {MODEL}"
        )
        assert not Evaluation.objects.exists()
        assert run.jobs.get().attempt == 0

    def test_passages_may_hold_other_ends_of_lines_than_files(self, phase, tmp_path):
        docs = [{"title": "Oslo", "text": "It\u2028rains\x85in Oslo."}, RAIN["docs"][1]]
        citing_gold(phase, tmp_path, {**RAIN, "docs": docs})
        run = citing_run(phase)
        work(run)
        assert read(run).reason.startswith("6 of 6 pairs pending: ")
        [waits] = find_jobs_waiting_for_labels()
        assert any(
            "It\u2028rains\x85in" in pair["premise"]
            for pair in iterate_open_pairs([waits])
        )

    def test_it_is_scored_when_the_last_label_is_there_and_not_before(
        self, phase, tmp_path
    ):
        run = citing_run(phase)
        work(run)
        assert bring(tmp_path, decided(*PAIRS[:2])).resumed == 1
        work(run)
        assert (read(run).status, read(run).reason[:22]) == (
            "waiting",
            "4 of 6 pairs pending: ",
        )
        assert not Evaluation.objects.exists()
        bring(tmp_path, decided(*PAIRS[2:]))
        assert (read(run).status, run.jobs.get().state) == ("waiting", "queued")
        work(run)
        assert (read(run).status, read(run).reason) == ("scored", "")
        scores = {each.metric: each for each in Evaluation.objects.get().scores.all()}
        # The passage on Oslo is enough, so that the one on Rome earns nothing.
        assert (scores["aliice_recall"].value, scores["aliice_precision"].value) == (
            100,
            50,
        )
        assert f"entailment:{MODEL}" in scores["aliice_f1"].column

    def test_one_whose_passages_entail_nothing_needs_no_more_than_that(
        self, phase, tmp_path
    ):
        run = citing_run(phase)
        work(run)
        bring(tmp_path, decided(PAIRS[0], PAIRS[3], entailed=lambda _: 0))
        work(run)
        assert read(run).status == "scored"
        assert (
            Evaluation.objects.get().scores.get(shared__metric="aliice_f1").value == 0
        )

    def test_labels_are_shared_by_all_runs_of_all_seasons(self, phase, tmp_path):
        bring(tmp_path, decided())
        elsewhere = citing_phase(tmp_path / "elsewhere")
        runs = [citing_run(phase), citing_run(elsewhere)]
        work(*runs)
        assert [read(run).status for run in runs] == ["scored", "scored"]

    def test_a_run_that_cites_nothing_waits_for_nothing_and_shares_the_column(
        self, phase, tmp_path
    ):
        silent = citing_run(phase, "It rains.")
        work(silent)
        assert read(silent).status == "scored"
        bring(tmp_path, decided())
        cited = citing_run(phase)
        work(cited)
        first, second = (
            each.evaluations.get().scores.get(shared__metric="alce_recall").column
            for each in (silent, cited)
        )
        assert first == second

    def test_a_sweep_leaves_it_alone_for_a_day(self, phase):
        run = citing_run(phase)
        work(run)
        assert sweep_jobs(timezone.now() + dt.timedelta(hours=20)).resumed == 0
        assert sweep_jobs(timezone.now() + dt.timedelta(hours=25)).resumed == 1

    def test_labels_that_come_while_it_is_scored_set_it_going_again(
        self, phase, tmp_path, monkeypatch
    ):
        run = citing_run(phase)
        defer = engine.defer_job

        def late(*arguments, **named):
            bring(tmp_path, decided())
            return defer(*arguments, **named)

        monkeypatch.setattr("scoring.worker.entailment_labels.engine.defer_job", late)
        work(run)
        assert run.jobs.get().state == "queued"
        work(run)
        assert read(run).status == "scored"

    def test_so_do_those_by_the_older_digest(self, phase, tmp_path, monkeypatch):
        run = citing_run(phase)
        defer = engine.defer_job
        lines = [
            {
                "premise_sha1": hashlib.sha1(
                    premise.encode(), usedforsecurity=False
                ).hexdigest(),
                "hypothesis": hypothesis,
                "entailed": int("Oslo" in premise),
                "model": MODEL,
            }
            for premise, hypothesis in PAIRS
        ]

        def late(*arguments, **named):
            bring(tmp_path, lines)
            return defer(*arguments, **named)

        monkeypatch.setattr("scoring.worker.entailment_labels.engine.defer_job", late)
        work(run)
        assert run.jobs.get().state == "queued"
        work(run)
        assert read(run).status == "scored"

    def test_one_that_waits_is_not_tried_again_for_nothing(self, phase, tmp_path):
        bring(tmp_path, decided(*PAIRS[:2]))
        run = citing_run(phase)
        work(run)
        assert run.jobs.get().state == "waiting"

    def test_one_that_is_cancelled_leaves_nothing_behind(self, phase, tmp_path):
        run = citing_run(phase)
        work(run)
        file = PendingLabels.objects.get().file
        cancel_run(run, run.submitted_by)
        bring(tmp_path, decided())
        assert read(run).status == "cancelled"
        assert not PendingLabels.objects.exists()
        assert not PendingPair.objects.exists()
        assert not storage.statistics_file_storage.exists(file)

    def test_a_lost_job_keeps_no_pairs(self, phase, monkeypatch):
        run = citing_run(phase)
        monkeypatch.setattr(
            "scoring.worker.entailment_labels.engine.defer_job", lambda *_, **__: False
        )
        work(run)
        assert not PendingLabels.objects.exists()
        assert (
            not storage.statistics_file_storage.exists(str(run.pk))
            or not storage.statistics_file_storage.listdir(str(run.pk))[1]
        )

    def test_a_rescore_that_waits_leaves_the_run_on_the_board(self, phase, tmp_path):
        bring(tmp_path, decided())
        run = citing_run(phase)
        work(run)
        before = [
            (row.submission, row.value) for row in compute_board(phase, None).rows
        ]
        assert before == [(run.pk, pytest.approx(200 / 3))]
        citing_gold(phase, tmp_path, {**RAIN, "docs": RAIN["docs"][::-1]})
        request_rescoring_of_phase(phase=phase, by=None)
        work(run)
        assert read(run).status == "scored"
        assert run.jobs.get(gold__number=2).state == "waiting"
        assert [
            (row.submission, row.value) for row in compute_board(read(phase), None).rows
        ] == before
        [waits] = find_jobs_waiting_for_labels()
        bring(
            tmp_path,
            [
                entailment_label(p["premise"], p["hypothesis"], 1, model=MODEL)
                for p in iterate_open_pairs([waits])
            ],
        )
        work(run)
        assert compute_board(read(phase), None).gold.number == 2


class TestImporting:
    def test_what_is_kept_already_may_come_again(self, tmp_path):
        first = bring(tmp_path, decided())
        assert (first.added, first.known, first.judge.name) == (6, 0, MODEL)
        again = bring(tmp_path, decided(*PAIRS, (ROME, "It is dry")))
        assert (again.added, again.known) == (1, 6)
        assert (
            Judgement.objects.count(),
            Judge.objects.get().decided,
        ) == (7, 7)

    def test_what_goes_out_comes_in_again(self, tmp_path):
        bring(tmp_path, decided())
        lines = list(iterate_label_file_lines([Judge.objects.get()]))
        assert json.loads(lines[0]) == {"model": MODEL, "kept": True}
        again = bring(tmp_path, [line.strip() for line in lines])
        assert (again.added, again.known) == (0, 6)

    def test_a_model_decides_a_pair_once_and_another_may_decide_otherwise(
        self, tmp_path
    ):
        bring(tmp_path, decided())
        told = refusals(
            tmp_path,
            [
                *decided((OSLO, "It is wet")),
                *decided((OSLO, CLAIM), entailed=lambda _: 0),
            ],
        )
        expected = (
            "expected what a model has decided once; another model goes by another name"
        )
        assert told == [f"labels.jsonl:2: this pair is stored as 1; {expected}"]
        assert (Judgement.objects.count(), JudgementImport.objects.count()) == (6, 1)
        bring(tmp_path, decided((OSLO, CLAIM), entailed=lambda _: 0, model="another"))
        assert Judgement.objects.filter(label="no", judge__name="another").count() == 1

    def test_a_bad_file_names_every_line_and_leaves_nothing(self, tmp_path):
        told = refusals(
            tmp_path,
            [
                entailment_label(OSLO, CLAIM, 1, model=MODEL),
                "no JSON",
                {"premise_sha256": "9F", "hypothesis": CLAIM, "entailed": 1},
                {"premise": OSLO, "entailed": 1},
                entailment_label(OSLO, "x", 2),
                {
                    **entailment_label(OSLO, "y", 1),
                    "hypothesis": None,
                    "hypothesis_sha256": "../../etc",
                },
                entailment_label(OSLO, CLAIM, 0, model=MODEL),
                entailment_label(OSLO, "z", 1, model="another"),
            ],
        )
        assert [each.partition(": ")[0] for each in told] == [
            f"labels.jsonl:{line}" for line in (2, 3, 4, 5, 6, 7, 8)
        ]
        assert not Judge.objects.exists()
        assert not Judgement.objects.exists()

    @pytest.mark.parametrize(
        ("lines", "more", "reason"),
        [
            ([], {}, "there is no label in it"),
            ([{"model": MODEL}], {}, "there is no label in it"),
            (
                [entailment_label(OSLO, CLAIM, 1)],
                {},
                "it does not say whose labels these are",
            ),
            (
                decided(),
                {"model": "another"},
                f"these are labels of “{MODEL}”; expected those of “another”",
            ),
            (
                [entailment_label(OSLO, CLAIM, 1, model="x" * 201)],
                {},
                "the model's name cannot be stored",
            ),
            (
                [entailment_label(OSLO, CLAIM, 1, model="a\u202eb")],
                {},
                "the model's name cannot be stored",
            ),
        ],
    )
    def test_a_file_must_say_something_and_whose_word_it_is(
        self, tmp_path, lines, more, reason
    ):
        [told] = refusals(tmp_path, lines, **more)
        assert reason in told

    def test_a_file_of_another_kind_is_not_read_to_its_end(self, tmp_path):
        assert (
            len(refusals(tmp_path, ["nonsense"] * (MAX_STORED_PROBLEMS + 50)))
            == MAX_STORED_PROBLEMS + 1
        )

    def test_logs_of_evaluations_set_their_runs_going_too(self, phase, tmp_path):
        run = citing_run(phase)
        work(run)
        lines = [
            {
                "premise_sha1": hashlib.sha1(
                    premise.encode(), usedforsecurity=False
                ).hexdigest(),
                "claim": claim,
                "result": int("Oslo" in premise),
            }
            for premise, claim in PAIRS
        ]
        bring(tmp_path, lines, model=MODEL)
        work(run)
        assert read(run).status == "scored"


class TestExporting:
    def test_pairs_of_several_runs_go_out_once_and_none_that_is_decided(
        self, phase, tmp_path
    ):
        runs = [citing_run(phase), citing_run(phase)]
        work(*runs)
        bring(tmp_path, decided(PAIRS[1]))
        found = list(iterate_open_pairs(list(find_jobs_waiting_for_labels())))
        assert sorted(
            (each["premise"], each["hypothesis"]) for each in found
        ) == sorted((PAIRS[0], *PAIRS[2:]))

    def test_what_has_to_be_decided_in_any_case_goes_out_by_itself(self, phase):
        work(citing_run(phase))
        found = list(
            iterate_open_pairs(list(find_jobs_waiting_for_labels()), is_next_only=True)
        )
        assert {each["premise"] for each in found} == {PAIRS[0][0]}
        assert len(found) == 2

    def test_each_waiting_run_says_how_many_of_its_pairs_are_open(self, phase):
        run = citing_run(phase)
        work(run)
        [waits] = find_jobs_waiting_for_labels()
        assert (waits.left, waits.pairs, waits.job.submission) == (6, 6, run)

    def test_decide_closes_the_loop(self, phase, tmp_path, capsys):
        pytest.importorskip("transformers")
        from scoring.__main__ import main
        from scoring.metrics.entailment import ModelJudge
        from tests.scoring.tinymodel import make_model

        folder = make_model(tmp_path / "tiny")
        name = ModelJudge(str(folder)).name
        phase.task.options = {**phase.task.options, "entailment": f"store:{name}"}
        phase.task.save()
        run = citing_run(phase)
        work(run)
        pairs, entailment_labels = tmp_path / "pairs.jsonl", tmp_path / "out.jsonl"
        call_command("export_pairs", "--model", name, stdout=(out := StringIO()))
        pairs.write_text(out.getvalue())
        words = [
            "decide",
            "--model",
            str(folder),
            "--pairs",
            str(pairs),
            "--labels",
            str(entailment_labels),
        ]
        assert main([*words, "--device", "cpu"]) == 0
        call_command(
            "import_labels", str(entailment_labels), stdout=(told := StringIO())
        )
        assert (
            told.getvalue()
            == f"6 labels of {name} added, 0 were there; 1 scoring goes on\n"
        )
        work(run)
        assert read(run).status == "scored"


class TestCommands:
    def test_import_names_every_bad_line_and_fails(self, tmp_path):
        path = write_lines(
            tmp_path / "bad.jsonl", ["nonsense", entailment_label(OSLO, CLAIM, 7)]
        )
        with pytest.raises(CommandError) as refused:
            call_command("import_labels", str(path))
        assert "bad.jsonl:1: not JSON" in str(refused.value)
        assert "bad.jsonl:2: the label is 7" in str(refused.value)
        with pytest.raises(CommandError, match="there is no file"):
            call_command("import_labels", str(tmp_path / "nowhere"))

    def test_export_gives_a_model_s_labels_and_names_those_known(self, tmp_path):
        bring(tmp_path, decided())
        call_command("export_labels", MODEL, stdout=(out := StringIO()))
        assert len(out.getvalue().splitlines()) == 7
        with pytest.raises(
            CommandError, match=f"no labels of “another”; there are those of {MODEL}"
        ):
            call_command("export_labels", "another")

    def test_pairs_of_one_run_can_be_asked_for(self, phase):
        runs = [citing_run(phase), citing_run(phase, "Rome is dry [2].")]
        work(*runs)
        call_command(
            "export_pairs", "--run", str(runs[1].pk), stdout=(out := StringIO())
        )
        assert {
            json.loads(line)["premise"] for line in out.getvalue().splitlines()
        } == {ROME}


def test_runs_share_their_signatures_and_each_has_the_digest_of_its_own_labels(
    phase, tmp_path
):
    bring(tmp_path, decided())
    runs = [citing_run(phase), citing_run(phase, f"{CLAIM} [1].")]
    work(*runs)
    bring(tmp_path, decided((ROME, "It is dry")))
    runs.append(citing_run(phase))
    work(runs[-1])
    scores = [
        run.evaluations.get().scores.get(shared__metric="aliice_f1") for run in runs
    ]
    assert len({score.shared_id for score in scores}) == 1
    digests = [
        parse_signature(score.signature)["entailment_labels"] for score in scores
    ]
    assert digests == [run.evaluations.get().labels_digest for run in runs]
    assert digests[0] == digests[2] != digests[1]
    assert len(digests[0]) == 12
    for kept in runs[0].evaluations.get().scores.all():
        assert ("|entailment:" in kept.column) == (
            f"|entailment_labels:{digests[0]}|" in kept.signature
        )
        assert "entailment_labels" not in kept.column


def test_the_digest_of_labels_cannot_be_guessed_while_the_gold_is_hidden(
    phase, tmp_path
):
    bring(tmp_path, decided())
    run = citing_run(phase)
    work(run)
    gold = run.evaluations.get().gold
    labels = [(EntailmentPair(*pair).key, "Oslo" in pair[0]) for pair in PAIRS]
    possible = [
        dict(chosen)
        for count in range(1, len(labels) + 1)
        for chosen in combinations(labels, count)
    ]
    published = run.evaluations.get().labels_digest
    assert published not in {compute_labels_digest(guess) for guess in possible}
    assert published in {compute_labels_digest(guess, gold.nonce) for guess in possible}


def test_runs_scored_by_kept_labels_are_compared_and_can_be_computed_again(
    client, phase, tmp_path
):
    bring(tmp_path, decided())
    runs = [citing_run(phase), citing_run(phase, f"{CLAIM} [1].")]
    work(*runs)
    place = (phase.task.season.slug, phase.task.slug, phase.slug)
    told = client.get(
        reverse("compare", args=place), {"a": runs[0].pk, "b": runs[1].pk}
    ).content.decode()
    assert "entailment=labels:LABELS" in told
    standing = client.get(
        reverse("standing", args=[*place, runs[0].pk])
    ).content.decode()
    assert "entailment=labels:LABELS" in standing
    assert MODEL in standing
