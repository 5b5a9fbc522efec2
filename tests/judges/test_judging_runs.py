"""A judge of the operator's file is asked for the pairs that runs wait for, and its rows score the runs."""

import logging
import threading
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection, transaction
from django.urls import reverse

from citeboard.core.database import fetch_database_time
from citeboard.core.refusals import ActionRefused
from scoring.judges.questions import JudgePrompt
from scoring.models import BackgroundJob, Judgement, JudgementImport, PhaseJudge
from scoring.worker import judge_jobs
from scoring.worker.judging import queue_judging_job, record_judge_consent
from scoring.worker.score import score
from scoring.worker.withdrawal import withdraw_import
from tasks.jobs import engine, interruptions
from tasks.jobs.work import claim_and_do_job_by_id
from tasks.models import Job, Phase
from tasks.types.ledger import ENTAILS_KIND
from tests.factories import make_user
from tests.judges.stub import said, status, stub_endpoint, write_judges
from tests.scoring.citing import citing_phase, citing_run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.both_databases]
PRICE = '{ input = 0.4, output = 1.6, currency = "USD" }'


def truthful(prompt: str, nth: int):
    """Replies as `tests.scoring.citing.decided` does: texts about Oslo entail."""
    premise = prompt.partition("Hypothesis:")[0]
    return said("Yes" if "Oslo" in premise else "No")


@pytest.fixture
def phase(tmp_path):
    return citing_phase(tmp_path / "phase", entailment="store:support-a")


@pytest.fixture
def offers(settings, tmp_path):
    def offer(stub, **more):
        more = {"price": PRICE, **more}
        settings.JUDGES_FILE = write_judges(tmp_path, stub.address, **more)

    return offer


def agreed(phase, budget="1", **more) -> PhaseJudge:
    return record_judge_consent(
        phase=phase, prompt=None, budget=budget and Decimal(budget), by=None, **more
    )


def work() -> None:
    """Do all queued jobs, of runs and of judges, until none is left."""
    for _round in range(20):
        jobs = list(Job.objects.filter(state="queued").order_by("pk"))
        judging = BackgroundJob.objects.filter(job__state="queued", kind="judge")
        if not jobs and not judging:
            return
        for job in jobs:
            if job.kind == Job.Kind.SCORE:
                score(job.pk)
        for one in judging:
            claim_and_do_job_by_id(one.job_id)
    pytest.fail("jobs do not end")


def recall(run) -> float:
    return run.evaluations.get().scores.get(shared__metric="aliice_recall").value


def test_a_run_is_judged_and_scored_from_the_ledger(phase, offers):
    with stub_endpoint(truthful) as stub:
        offers(stub)
        row = agreed(phase)
        run = citing_run(phase)
        work()
    assert recall(run) == 100
    assert set(stub.asked.values()) == {1}, "each pair is asked once"
    row.refresh_from_db()
    stored = Judgement.objects.filter(judge__name="support-a", judge__kind="entails")
    assert stored.count() == row.replies == len(stub.prompts) > 0
    digests = set(stored.values_list("judge__digest", flat=True))
    assert digests == {row.digest}
    assert row.signature["model"] == "stub-1"
    assert (row.reserved, row.spent > 0) == (0, True)
    used = run.evaluations.get().used_judgements.get()
    assert used.imports.get() == row.source
    assert JudgementImport.objects.get(pk=row.source_id).added == row.replies


def test_a_worker_that_was_killed_is_continued_and_nothing_stored_is_asked_again(
    phase, offers, monkeypatch
):
    class Killed(BaseException):
        """Ends the job as SIGKILL does: nothing else of it is executed."""

    killed, record = (
        threading.Event(),
        judge_jobs._JudgeQuestionnaire._store_answers_and_reserve_costs,
    )

    def truthful_once(prompt: str, nth: int):
        if stub.prompts[0] != prompt:
            killed.wait(60)
        return truthful(prompt, nth)

    def record_then_die(self, answers, wanted):
        admitted = record(self, answers, wanted)
        if answers:
            killed.set()
            raise Killed
        return admitted

    with stub_endpoint(truthful_once) as stub:
        offers(stub, at_once="1")
        row = agreed(phase)
        run = citing_run(phase)
        score(run.jobs.get().pk)
        [judging] = BackgroundJob.objects.filter(kind="judge", job__state="queued")
        monkeypatch.setattr(
            judge_jobs._JudgeQuestionnaire,
            "_store_answers_and_reserve_costs",
            record_then_die,
        )
        monkeypatch.setattr(
            judge_jobs._JudgeQuestionnaire,
            "_close_import_and_resume_runs",
            lambda self: None,
        )
        with pytest.raises(Killed):
            claim_and_do_job_by_id(judging.job_id)
        monkeypatch.undo()
        done = set(Judgement.objects.values_list("items", flat=True))
        assert done
        row.refresh_from_db()
        reserved, spent = row.reserved, row.spent
        assert reserved > 0
        offers(stub, at_once="1")
        before = list(stub.prompts)
        engine.expire_leases_of_owner("")
        engine.expire_lost_leases(fetch_database_time())
        work()
    row.refresh_from_db()
    assert recall(run) == 100
    assert row.reserved == 0
    assert row.spent > spent + reserved, "lost requests count as spent"
    again = stub.prompts[len(before) :]
    lost = len(before) - len(done)
    assert sum(stub.asked[prompt] - 1 for prompt in set(again)) <= lost <= 2
    assert JudgementImport.objects.count() == 1


def test_a_commit_whose_reply_is_lost_counts_no_cost_and_no_reply_twice(
    phase, offers, monkeypatch
):
    losses = []

    @contextmanager
    def losing():
        """Commit, and then lose the connection once for each recorded answer."""
        with transaction.atomic():
            before = Judgement.objects.count()
            yield
            is_answer = Judgement.objects.count() > before
        if is_answer:
            losses.append("commit")
            raise OperationalError("the connection was lost")

    monkeypatch.setattr(interruptions, "RETRY_PAUSE_SECONDS", 0)
    monkeypatch.setattr(judge_jobs, "transaction", SimpleNamespace(atomic=losing))
    with stub_endpoint(truthful) as stub:
        offers(stub, at_once="1")
        row = agreed(phase)
        citing_run(phase)
        work()
    row.refresh_from_db()
    stored = Judgement.objects.filter(judge__name="support-a")
    assert losses
    assert stored.count() == row.replies == len(stub.prompts) > 1
    costs = stored.values_list("cost", flat=True)
    assert float(row.spent) == pytest.approx(sum(costs), abs=1e-6 * len(costs))
    assert (row.reserved, row.unlabelled, row.failures) == (0, 0, {})


def test_a_lost_commit_counts_no_failure_twice(phase, offers, monkeypatch):
    losses = []

    @contextmanager
    def losing():
        with transaction.atomic():
            before = PhaseJudge.objects.get().failed
            yield
            is_failure = PhaseJudge.objects.get().failed > before
        if is_failure and not losses:
            losses.append("commit")
            raise OperationalError("the connection was lost")

    monkeypatch.setattr(interruptions, "RETRY_PAUSE_SECONDS", 0)
    monkeypatch.setattr(judge_jobs, "transaction", SimpleNamespace(atomic=losing))
    with stub_endpoint(lambda prompt, nth: status(400)) as stub:
        offers(stub, at_once="1")
        row = agreed(phase)
        citing_run(phase)
        work()
    row.refresh_from_db()
    assert losses
    assert row.failed == len(stub.prompts)


def test_the_cost_never_exceeds_the_budget_and_a_larger_one_continues(phase, offers):
    def costly(prompt: str, nth: int):
        return said(
            truthful_answer(prompt),
            usage={"prompt_tokens": 10**9, "completion_tokens": 10**9},
        )

    with stub_endpoint(costly) as stub:
        offers(stub, at_once="1")
        row = agreed(phase, budget="0.0026")
        run = citing_run(phase)
        work()
        row.refresh_from_db()
        assert 0 < row.spent <= Decimal("0.0026")
        assert run.evaluations.count() == 0
        asked = len(stub.prompts)
        assert asked > 0
        agreed_at = row.agreed_at
        agreed(phase, budget="1")
        work()
    row.refresh_from_db()
    assert row.agreed_at == agreed_at, "the budget alone is no new consent"
    assert recall(run) == 100
    assert set(stub.asked.values()) == {1}


def truthful_answer(prompt: str) -> str:
    return "Yes" if "Oslo" in prompt.partition("Hypothesis:")[0] else "No"


def test_another_prompt_under_the_same_name_is_refused_until_its_rows_are_withdrawn(
    phase, offers
):
    other = replace(
        JudgePrompt.default(ENTAILS_KIND), template="{premise} | {hypothesis} ?"
    )
    with stub_endpoint(truthful) as stub:
        offers(stub)
        row = agreed(phase)
        run = citing_run(phase)
        work()
        with pytest.raises(ActionRefused, match="another prompt or model"):
            record_judge_consent(phase=phase, prompt=other, budget=Decimal(1), by=None)
        row.refresh_from_db()
        withdraw_import(source=row.source, reason="Another prompt.", by=None)
        record_judge_consent(phase=phase, prompt=other, budget=Decimal(1), by=None)
        late = citing_run(phase)
        work()
    assert any(" | " in prompt for prompt in stub.prompts)
    assert recall(late) == 100
    assert run.pk != late.pk


def test_a_job_whose_terms_change_stores_no_row_of_the_earlier_ones(phase, offers):
    other = replace(
        JudgePrompt.default(ENTAILS_KIND), template="{premise} | {hypothesis} ?"
    )

    def replies(prompt: str, nth: int):
        if len(stub.prompts) == 1:
            # The organisers agree to another prompt while the first question is asked.
            thread = threading.Thread(target=agree_again)
            thread.start()
            thread.join()
        return truthful(prompt.replace(" | ", "Hypothesis:"), nth)

    def agree_again() -> None:
        record_judge_consent(phase=phase, prompt=other, budget=Decimal(1), by=None)
        connection.close()

    with stub_endpoint(replies) as stub:
        offers(stub, at_once="1")
        row = agreed(phase)
        citing_run(phase)
        work()
        assert not Judgement.objects.exists()
        late = citing_run(phase)
        work()
    assert recall(late) == 100
    row.refresh_from_db()
    assert row.prompt == other.template
    assert row.reserved == 0
    digests = set(Judgement.objects.values_list("judge__digest", flat=True))
    assert digests == {row.digest}


def test_two_phases_do_not_ask_one_judge_with_two_prompts(phase, offers):
    other = replace(
        JudgePrompt.default(ENTAILS_KIND), template="{premise} | {hypothesis} ?"
    )
    second = Phase.objects.get(pk=phase.pk)
    second.pk, second.slug, second.title = None, "second", "Second"
    second.save()
    with stub_endpoint(truthful) as stub:
        offers(stub)
        agreed(phase)
        with pytest.raises(ActionRefused, match="stop asking it there first"):
            record_judge_consent(phase=second, prompt=other, budget=Decimal(1), by=None)
        assert not PhaseJudge.objects.filter(phase=second).exists()
        assert agreed(second).digest == agreed(phase).digest


def test_costs_below_the_digits_of_the_database_use_the_budget_up(phase, offers):
    price = '{ input = 0.0001, output = 0.0001, currency = "USD" }'
    with stub_endpoint(truthful) as stub:
        offers(stub, price=price)
        row = agreed(phase)
        citing_run(phase)
        work()
    row.refresh_from_db()
    assert row.spent > 0


def test_a_stop_between_two_replies_asks_for_the_second_reply_alone(phase, offers):
    failing = {"is": True}

    def replies(prompt: str, nth: int):
        if nth == 0:
            return said("Perhaps.")
        return status(400) if failing["is"] else truthful(prompt, nth)

    with stub_endpoint(replies) as stub:
        offers(stub, at_once="1")
        row = agreed(phase)
        run = citing_run(phase)
        work()
        row.refresh_from_db()
        assert (row.unlabelled, row.failed > 0) == (0, True)
        failing["is"] = False
        queue_judging_job(row)
        work()
    assert recall(run) == 100
    # Two replies and the one that failed; the job stopped before the other pair.
    assert max(stub.asked.values()) == 3


def test_a_judge_that_the_operator_changed_is_not_asked(phase, offers):
    with stub_endpoint(truthful) as stub:
        offers(stub)
        agreed(phase)
        work()
        offers(stub, model='"another"')
        citing_run(phase)
        work()
    assert not stub.prompts
    job = BackgroundJob.objects.filter(kind="judge").first()
    assert "they must agree again" in job.job.reason


def test_no_key_and_no_text_of_a_reply_is_stored_logged_or_shown(
    phase, offers, client, caplog, monkeypatch
):
    monkeypatch.setenv("CITEBOARD_JUDGE_KEY_A", "sk-secret-7")
    person = make_user(is_staff=True)
    client.force_login(person)
    replies = iter([status(500), said("sk-secret-7 leaks"), status(401)])
    with stub_endpoint(lambda prompt, nth: next(replies, status(401))) as stub:
        offers(stub, key='"env:CITEBOARD_JUDGE_KEY_A"', at_once="1")
        monkeypatch.setattr("scoring.judges.chat.FIRST_PAUSE_SECONDS", 0.0)
        with caplog.at_level(logging.DEBUG):
            agreed(phase)
            citing_run(phase)
            work()
    assert stub.keys == {"Bearer sk-secret-7"}
    assert "sk-secret" not in caplog.text
    job = BackgroundJob.objects.filter(kind="judge").first()
    pages = [
        client.get(reverse("organise-judges", args=[phase.task.season.slug])),
        client.get(reverse("background-job", args=[job.pk])),
    ]
    assert "refuses the key (401)" in pages[1].content.decode()
    assert all("sk-secret" not in page.content.decode() for page in pages)
    stored = [*Judgement.objects.values(), *PhaseJudge.objects.values()]
    assert "sk-secret" not in str([*stored, *BackgroundJob.objects.values()])


def test_the_same_questions_have_one_job(phase, offers):
    with stub_endpoint(truthful) as stub:
        offers(stub)
        row = agreed(phase)
        assert queue_judging_job(row) == queue_judging_job(row)
        assert BackgroundJob.objects.get().job.queue == "judges"
