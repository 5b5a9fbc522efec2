"""Run the background job that asks a judge questions. The job stores each answer when
it arrives, so that another worker can continue the job.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from itertools import chain, islice
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from citeboard.core.refusals import ActionRefused
from scoring.judges.addressing import find_judge_instruction
from scoring.judges.asking import (
    ChatAsker,
    JudgeAnswer,
    JudgeReply,
    ask_all_questions,
    compute_max_cost_per_question,
    estimate_cost,
)
from scoring.judges.chat import ChatEndpoint
from scoring.judges.declared import ChatJudge, LocalJudge
from scoring.judges.local import (
    LocalEntailmentModel,
    build_local_judge_signature,
    load_local_model,
)
from scoring.judges.questions import (
    JudgePrompt,
    JudgeQuestion,
    build_chat_judge_signature,
    hash_signature,
)
from scoring.models import BackgroundJob, PhaseJudge
from scoring.models.judging import COST_FIELD_PRECISION
from scoring.worker.entailment_labels import resume_jobs_waiting_for_judge
from scoring.worker.judging import (
    count_open_pairs_of_judge,
    iterate_open_questions,
    read_judges_offered_by_operator,
    refuse_changed_judge_settings,
)
from scoring.worker.ledger import (
    append_judgements,
    close_judgement_import,
    create_judgement_import,
)
from tasks.jobs import engine, interruptions
from tasks.types.ledger import (
    ENTAILS_KIND,
    JUDGEMENT_KINDS_BY_NAME,
    NO_VALID_LABEL,
    Judgement,
)
from tasks.types.problems import SoftwareUnavailable

#: Maximum number of reported texts that seem to instruct the judge, per job.
MAX_ADDRESSING_EXCERPTS = 20
#: The number of questions that a local model answers before answers are stored.
LOCAL_MODEL_QUESTIONS_PER_ROUND = 2_000


class JudgeCannotBeAsked(Exception):
    """An error with the reason for which a judge can be asked no more questions."""


@dataclass(frozen=True)
class JudgingOutcome:
    """The outcome of a job that asked a judge questions.

    The function ``has_more`` returns False if the judge has no questions left that can
    be asked now.
    """

    row: PhaseJudge
    numbers: Mapping[str, Any]
    has_more: Callable[[], bool]


def ask_judge_for_job(job: BackgroundJob) -> JudgingOutcome:
    """Ask a judge the questions of a background job that have no answer yet. Raises
    JudgeCannotBeAsked.
    """
    row = _load_phase_judge_of_job(job)
    if row.ended_at is not None:
        raise JudgeCannotBeAsked(
            "The organisers do not let this judge be asked any more."
        )
    asking = _JudgeQuestionnaire(job, row)
    try:
        return JudgingOutcome(row, asking.run(), asking.has_more_open_questions)
    except (SoftwareUnavailable, ActionRefused) as reason:
        raise JudgeCannotBeAsked(_format_as_sentence(str(reason))) from reason


def _load_phase_judge_of_job(job: BackgroundJob) -> PhaseJudge:
    rows = PhaseJudge.objects.select_related("phase__task__season", "source__judge")
    return rows.get(pk=job.given["judge"])


def estimate_judging_cost(job: BackgroundJob) -> dict[str, Any]:
    """Return the number of questions that a judge has not answered yet, and their
    approximate cost. The function sends no question to the judge.
    """
    row = _load_phase_judge_of_job(job)
    judge = read_judges_offered_by_operator().judges.get(row.name)
    if isinstance(judge, ChatJudge):
        prompt = JudgePrompt(row.kind, row.prompt, row.answers)
        found = estimate_cost(judge, prompt, iterate_open_questions(row))
        return {
            "questions": found.questions,
            "cost": str(round(found.cost, 4)),
            "most": str(round(found.most, 4)),
            "currency": found.currency,
        }
    return {
        "questions": sum(1 for _question in iterate_open_questions(row)),
        "currency": "",
    }


def _format_as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


@dataclass(frozen=True)
class _JudgingTotals:
    """Totals over all questions to a judge, which are the cost, the number of replies,
    the questions without a label, and the failures by cause.
    """

    spent: Decimal
    replies: int
    unlabelled: int
    failures: Mapping[str, int]

    @classmethod
    def of(cls, row: PhaseJudge) -> _JudgingTotals:
        return cls(row.spent, row.replies, row.unlabelled, dict(row.failures))

    def add_answers(self, answers: Sequence[JudgeAnswer]) -> _JudgingTotals:
        spent, replies, failures = self.spent, self.replies, Counter(self.failures)
        for answer in answers:
            spent = _round_cost_up(spent + answer.cost)
            replies += len(answer.rows)
            failures[answer.failure] += bool(answer.failure)
        return _JudgingTotals(
            spent=spent,
            replies=replies,
            unlabelled=self.unlabelled
            + _count_answers_by_outcome(answers)["unlabelled"],
            failures={cause: number for cause, number in failures.items() if number},
        )


class _JudgeQuestionnaire:
    """Asks one judge the questions of one background job."""

    def __init__(self, job: BackgroundJob, row: PhaseJudge) -> None:
        self._job, self._row = job, row
        self._stopped = threading.Event()
        self._tried: set[str] = set()
        self._addressing: list[str] = []
        self._numbers = Counter[str]()
        self._is_over_budget = False
        self._total = count_open_pairs_of_judge(row)
        self._reserved: dict[str, Decimal] = {}
        #: Totals of the last transaction, which only the job with the lease changes.
        self._totals = _JudgingTotals.of(row)

    def run(self) -> dict[str, Any]:
        judge = read_judges_offered_by_operator().judges.get(self._row.name)
        if judge is None:
            raise JudgeCannotBeAsked("The operator does not offer this judge any more.")
        if isinstance(judge, ChatJudge):
            self._check_judge_is_unchanged(judge)
            refuse_changed_judge_settings(self._row, self._row.digest)
            self._charge_reserved_cost_of_lost_requests()
            self._create_judgement_import()
            endpoint = ChatEndpoint(judge, stopped=self._stopped)
            try:
                self._ask_endpoint_in_rounds(judge, endpoint)
            finally:
                endpoint.close()
                self._close_import_and_resume_runs()
        else:
            self._ask_local_model(judge)
        interruptions.raise_if_stop_requested()
        return {
            **self._numbers,
            "is_over_budget": self._is_over_budget,
            "addressing": self._addressing,
        }

    def _check_judge_is_unchanged(self, judge: ChatJudge) -> None:
        prompt = JudgePrompt(self._row.kind, self._row.prompt, self._row.answers)
        if (
            hash_signature(build_chat_judge_signature(judge, prompt))
            != self._row.digest
        ):
            raise JudgeCannotBeAsked(
                "The operator has changed this judge since the organisers agreed; they must agree again."
            )

    def _charge_reserved_cost_of_lost_requests(self) -> None:
        with transaction.atomic():
            self._renew_lease()
            own = PhaseJudge.objects.filter(pk=self._row.pk)
            own.update(spent=F("spent") + F("reserved"), reserved=Decimal(0))
            self._totals = _JudgingTotals.of(own.get())

    def _create_judgement_import(self) -> None:
        source = self._row.source
        if source is not None and source.withdrawn_at is None:
            return
        with transaction.atomic():
            self._row.source = create_judgement_import(
                self._row.get_or_create_ledger_judge(),
                f"asked for {self._row.phase.slug}",
                "",
                self._row.agreed_by,
            )
            self._row.save(update_fields=["source"])

    def _close_import_and_resume_runs(self) -> None:
        source = self._row.source
        assert source is not None
        source.refresh_from_db()
        if source.withdrawn_at is None:
            close_judgement_import(source)
        self._resume_waiting_runs()

    def _resume_waiting_runs(self) -> None:
        assert self._row.source is not None
        resume_jobs_waiting_for_judge(self._row.source.judge)

    def _ask_endpoint_in_rounds(self, judge: ChatJudge, endpoint: ChatEndpoint) -> None:
        prompt = JudgePrompt(self._row.kind, self._row.prompt, self._row.answers)
        asker = ChatAsker(judge, prompt, endpoint)

        def record(
            answers: Sequence[JudgeAnswer], wanted: Sequence[JudgeQuestion]
        ) -> Sequence[JudgeQuestion]:
            costs = [
                compute_max_cost_per_question(judge, prompt, one) for one in wanted
            ]
            return interruptions.retry_on_database_error(
                self._store_answers_and_reserve_costs,
                answers,
                list(zip(wanted, costs, strict=True)),
            )

        while not (self._stopped.is_set() or self._is_over_budget):
            questions = self._iterate_untried_questions()
            if (first := next(questions, None)) is None:
                return
            ask_all_questions(
                chain([first], questions),
                asker,
                at_once=judge.at_once,
                record=record,
                stopped=self._stopped,
            )
            self._resume_waiting_runs()

    def has_more_open_questions(self) -> bool:
        """Return True if runs wait for pairs that this job has not sent to the judge,
        or if the judge's prompt or model has changed.
        """
        row = PhaseJudge.objects.get(pk=self._row.pk)
        if row.ended_at is not None:
            return False
        if not self._has_same_signature(row):
            return True
        return not self._is_over_budget and any(self._iterate_untried_questions())

    def _iterate_untried_questions(self) -> Iterator[JudgeQuestion]:
        for question in iterate_open_questions(self._row):
            if question.items not in self._tried:
                self._tried.add(question.items)
                self._collect_addressing_excerpts(question)
                yield question

    def _collect_addressing_excerpts(self, question: JudgeQuestion) -> None:
        kind = JUDGEMENT_KINDS_BY_NAME[question.kind]
        for role, text in zip(kind.items, question.texts, strict=True):
            is_full = len(self._addressing) >= MAX_ADDRESSING_EXCERPTS
            if (
                role in kind.of_run
                and not is_full
                and (words := find_judge_instruction(text))
            ):
                self._addressing.append(words)

    def _store_answers_and_reserve_costs(
        self,
        answers: Sequence[JudgeAnswer],
        wanted: Sequence[tuple[JudgeQuestion, Decimal]],
    ) -> list[JudgeQuestion]:
        if interruptions.is_stop_requested():
            self._stopped.set()
            wanted = ()
        with transaction.atomic():
            self._renew_lease()
            row = PhaseJudge.objects.select_for_update().get(pk=self._row.pk)
            if row.ended_at is not None or not self._has_same_signature(row):
                self._stopped.set()
                wanted = ()
            totals = self._totals.add_answers(answers)
            self._store_answers(row, totals, answers)
            landed = {answer.question.items for answer in answers}
            reserved = {
                items: most
                for items, most in self._reserved.items()
                if items not in landed
            }
            in_flight, is_over = sum(reserved.values(), Decimal(0)), False
            for question, most in wanted:
                if row.budget is not None and row.spent + in_flight + most > row.budget:
                    is_over = True
                    break
                in_flight += most
                reserved[question.items] = most
            row.reserved = _round_cost_up(in_flight)
            row.save()
        self._totals, self._reserved = totals, reserved
        # When running requests end, their reserved cost is free again for questions.
        self._is_over_budget = is_over and not reserved
        self._numbers.update(_count_answers_by_outcome(answers))
        return [question for question, _most in wanted if question.items in reserved]

    def _has_same_signature(self, row: PhaseJudge) -> bool:
        return bool(row.signature == self._row.signature)

    def _store_answers(
        self, row: PhaseJudge, totals: _JudgingTotals, answers: Sequence[JudgeAnswer]
    ) -> None:
        # Assign the totals, because a repeated transaction would add the counts twice.
        row.spent, row.replies = totals.spent, totals.replies
        row.unlabelled, row.failures = totals.unlabelled, dict(totals.failures)
        if self._has_same_signature(row):
            # Store no answers to an earlier prompt or model, which must not be mixed.
            self._append_judgements(
                [
                    one
                    for answer in answers
                    for one in self._iterate_judgements_of_answer(answer)
                ]
            )

    def _append_judgements(self, rows: Sequence[Judgement]) -> None:
        if rows:
            assert self._row.source is not None
            append_judgements(self._row.source, rows)

    def _iterate_judgements_of_answer(self, answer: JudgeAnswer) -> Iterator[Judgement]:
        at = timezone.now().isoformat()
        for one in answer.rows:
            yield Judgement(
                kind=self._row.kind,
                judge=self._row.name,
                digest=self._row.digest,
                items=answer.question.items,
                by="",
                repeat=one.repeat,
                label=one.label,
                at=at,
                cost=None if one.cost is None else float(one.cost),
            )

    def _renew_lease(self) -> None:
        share = min(len(self._tried) / max(self._total, 1), 0.99)
        if not engine.renew_lease(self._job.job, progress=share):
            raise engine.JobClaimLost

    def _ask_local_model(self, judge: LocalJudge) -> None:
        if self._row.kind != ENTAILS_KIND:
            raise JudgeCannotBeAsked(
                "The operator has made this judge an entailment model, which answers yes or no alone."
            )
        model = load_local_model(judge)
        digest = hash_signature(build_local_judge_signature(judge, model))
        refuse_changed_judge_settings(self._row, digest)
        self._row.digest = digest
        PhaseJudge.objects.filter(pk=self._row.pk).update(digest=digest)
        self._create_judgement_import()
        try:
            while some := list(
                islice(
                    self._iterate_untried_questions(), LOCAL_MODEL_QUESTIONS_PER_ROUND
                )
            ):
                self._store_labels_of_local_model(model, some)
                if self._stopped.is_set():
                    break
        finally:
            self._close_import_and_resume_runs()

    def _store_labels_of_local_model(
        self, model: LocalEntailmentModel, questions: Sequence[JudgeQuestion]
    ) -> None:
        for batch in model.labels(questions):
            answers = [
                JudgeAnswer(question, (JudgeReply(0, label, None),), Decimal(0))
                for question, label in batch
            ]
            interruptions.retry_on_database_error(
                self._store_answers_and_reserve_costs, answers, []
            )
            interruptions.raise_if_stop_requested()
            if self._stopped.is_set():
                return


def _round_cost_up(cost: Decimal) -> Decimal:
    return cost.quantize(
        Decimal(1).scaleb(-COST_FIELD_PRECISION["decimal_places"]), ROUND_CEILING
    )


def _count_answers_by_outcome(answers: Sequence[JudgeAnswer]) -> Mapping[str, int]:
    counts = Counter[str]()
    for answer in answers:
        if answer.failure:
            counts["failed"] += 1
        elif answer.rows and not answer.is_open:
            is_labelled = answer.rows[-1].label != NO_VALID_LABEL
            counts["labels" if is_labelled else "unlabelled"] += 1
    return counts
