"""Ask one judge many questions. The module limits the number of concurrent requests,
reserves the cost of each request, and stores each answer on arrival.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Protocol

from scoring.judges.chat import (
    ChatEndpoint,
    ChatRequestFailed,
    ChatRequestNotSent,
    EndpointRefusesAll,
)
from scoring.judges.declared import ChatJudge
from scoring.judges.questions import JudgePrompt, JudgeQuestion
from tasks.types.ledger import NO_VALID_LABEL
from tasks.types.problems import SoftwareUnavailable

#: Prepared questions keep all connections busy while answers are stored.
#: The number of prepared questions is ``at_once`` times this factor.
PREPARED_QUESTIONS_FACTOR = 2
#: The number of consecutive failures after which the endpoint is considered down.
MAX_CONSECUTIVE_FAILURES = 20
#: Maximum number of tokens that the chat format adds to a prompt.
MAX_CHAT_FORMAT_TOKENS = 64
#: The maximum number of requests for one question that the endpoint may charge for.
#: Before a question is asked, the cost of this many requests is reserved.
MAX_CHARGED_REQUESTS_PER_QUESTION = 3
#: A question gets no label if this many replies contain no single answer.
MAX_REPLIES_PER_QUESTION = 2
ZERO_COST = Decimal(0)


@dataclass(frozen=True)
class JudgeReply:
    """A judge's reply to a question, as stored in the judgement ledger."""

    repeat: int
    label: str
    cost: Decimal | None


@dataclass(frozen=True)
class JudgeAnswer:
    """The replies to a question, their total cost, and the ``failure`` of the last
    request.

    The cost also includes requests that failed. An answer without rows and without a
    failure means that the question was not sent. ``is_open`` is True if no reply has an
    answer and the question may be sent again.
    """

    question: JudgeQuestion
    rows: tuple[JudgeReply, ...]
    cost: Decimal
    failure: str = ""
    is_open: bool = False


class AnswerRecorder(Protocol):
    """A function that stores answers and reserves the cost of the next questions. The
    function returns those of the next questions whose cost could be reserved.
    """

    def __call__(
        self, answers: Sequence[JudgeAnswer], wanted: Sequence[JudgeQuestion]
    ) -> Sequence[JudgeQuestion]: ...


class ChatAsker:
    """Asks an endpoint a question, and asks the question again if the first reply does
    not have exactly one answer.
    """

    def __init__(
        self, judge: ChatJudge, prompt: JudgePrompt, endpoint: ChatEndpoint
    ) -> None:
        self._judge, self._prompt, self._endpoint = judge, prompt, endpoint

    def __call__(self, question: JudgeQuestion) -> JudgeAnswer:
        text = self._prompt.filled(question)
        most = compute_max_cost_per_request(self._judge, text)
        rows: list[JudgeReply] = []
        requests, spent, failure = 0, ZERO_COST, ""
        left = MAX_REPLIES_PER_QUESTION - question.replies
        while len(rows) < left and requests < MAX_CHARGED_REQUESTS_PER_QUESTION:
            try:
                reply = self._endpoint.ask(
                    text, most_charged=MAX_CHARGED_REQUESTS_PER_QUESTION - requests
                )
            except ChatRequestFailed as failed:
                spent += most * failed.charged
                failure = failed.cause
                break
            except ChatRequestNotSent as stopped:
                spent += most * stopped.charged
                break
            except EndpointRefusesAll as refusal:
                spent += most * refusal.charged
                if not rows:
                    refusal.cost = spent
                    raise
                # Keep the first reply.
                # The request for the next question raises the error again.
                break
            cost = self._compute_request_cost(
                reply.input_tokens, reply.output_tokens, most
            )
            requests += 1 + reply.charged
            spent += cost + most * reply.charged
            label = self._prompt.find_label_of_reply(reply.text)
            is_priced = self._judge.price is not None
            repeat = question.replies + len(rows)
            rows.append(JudgeReply(repeat, label, cost if is_priced else None))
            if label != NO_VALID_LABEL:
                break
        # Store the first reply without an answer even if the second request failed.
        is_open = 0 < len(rows) < left and rows[-1].label == NO_VALID_LABEL
        return JudgeAnswer(
            question, tuple(rows), spent, failure=failure, is_open=is_open
        )

    def _compute_request_cost(
        self, inputs: int | None, outputs: int | None, most: Decimal
    ) -> Decimal:
        if self._judge.price is None:
            return ZERO_COST
        if not inputs or outputs is None:
            return most
        return min(self._judge.price.of(inputs, outputs), most)


def compute_max_cost_per_request(judge: ChatJudge, text: str) -> Decimal:
    """Return the maximum cost of one request to a judge. The estimate assumes that a
    text has at most as many tokens as bytes.
    """
    if judge.price is None:
        return ZERO_COST
    size = len(text.encode("utf-8", "replace")) + MAX_CHAT_FORMAT_TOKENS
    return judge.price.of(size, judge.max_tokens)


def compute_max_cost_per_question(
    judge: ChatJudge, prompt: JudgePrompt, question: JudgeQuestion
) -> Decimal:
    """Return the maximum cost of all requests for a question, which is the amount to
    reserve.
    """
    return MAX_CHARGED_REQUESTS_PER_QUESTION * compute_max_cost_per_request(
        judge, prompt.filled(question)
    )


@dataclass(frozen=True)
class CostEstimate:
    """The approximate cost and the maximum cost of a number of questions."""

    questions: int
    cost: Decimal
    most: Decimal
    currency: str


#: Assumed characters per token and tokens per reply, for cost estimates.
ASSUMED_CHARACTERS_PER_TOKEN, ASSUMED_TOKENS_PER_REPLY = 4, 5


def estimate_cost(
    judge: ChatJudge, prompt: JudgePrompt, questions: Iterable[JudgeQuestion]
) -> CostEstimate:
    """Estimate the cost of asking each question once, without asking a question."""
    price = judge.price
    number, cost, most = 0, ZERO_COST, ZERO_COST
    for question in questions:
        number += 1
        if price is not None:
            text = prompt.filled(question)
            tokens = (
                len(text) // ASSUMED_CHARACTERS_PER_TOKEN
                + MAX_CHAT_FORMAT_TOKENS // ASSUMED_CHARACTERS_PER_TOKEN
            )
            cost += price.of(tokens, min(ASSUMED_TOKENS_PER_REPLY, judge.max_tokens))
            most += MAX_CHARGED_REQUESTS_PER_QUESTION * compute_max_cost_per_request(
                judge, text
            )
    return CostEstimate(number, cost, most, price.currency if price else "")


class EndpointUnavailable(SoftwareUnavailable):
    """The endpoint has answered none of the latest questions. The error message gives
    the causes of the failures.
    """


class _PendingQuestions:
    """The questions that threads are asking at the moment, and a queue of the answers."""

    def __init__(
        self, ask: Callable[[JudgeQuestion], JudgeAnswer], at_once: int
    ) -> None:
        self._ask = ask
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="judge")
        self._done: SimpleQueue[Future[JudgeAnswer]] = SimpleQueue()
        self._questions: dict[Future[JudgeAnswer], JudgeQuestion] = {}
        #: The refusal of the endpoint after which no more questions are sent.
        self.refusal: EndpointRefusesAll | None = None

    def __len__(self) -> int:
        return len(self._questions)

    def send(self, question: JudgeQuestion) -> None:
        future = self._pool.submit(self._ask, question)
        self._questions[future] = question
        future.add_done_callback(self._done.put)

    def recall(self) -> None:
        """Cancel the questions that no thread has begun to ask."""
        for future in list(self._questions):
            future.cancel()

    def wait_for_answers(self) -> list[JudgeAnswer]:
        """Wait until a question is answered, and return all answers that have arrived.

        The answer to a cancelled question has no rows.
        """
        futures = [self._done.get()]
        with suppress(Empty):
            while True:
                futures.append(self._done.get_nowait())
        return [self._build_answer_of_future(future) for future in futures]

    def _build_answer_of_future(self, future: Future[JudgeAnswer]) -> JudgeAnswer:
        question = self._questions.pop(future)
        try:
            return future.result()
        except CancelledError:
            return JudgeAnswer(question, (), ZERO_COST)
        except EndpointRefusesAll as refusal:
            self.refusal = refusal
            return JudgeAnswer(question, (), refusal.cost)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


class _ConsecutiveFailureCounter:
    """Counts consecutive questions to an endpoint that failed, with their causes."""

    def __init__(self) -> None:
        self._causes: list[str] = []

    def count(self, answers: Iterable[JudgeAnswer]) -> EndpointUnavailable | None:
        """Return an exception if MAX_CONSECUTIVE_FAILURES consecutive questions have failed, or else
        None.
        """
        for answer in answers:
            if answer.rows:
                self._causes.clear()
            elif answer.failure:
                self._causes.append(answer.failure)
        if len(self._causes) < MAX_CONSECUTIVE_FAILURES:
            return None
        [(cause, _count)] = Counter(self._causes).most_common(1)
        return EndpointUnavailable(
            f"{len(self._causes)} questions in a row had no reply: {cause}"
        )


def ask_all_questions(
    questions: Iterable[JudgeQuestion],
    ask: Callable[[JudgeQuestion], JudgeAnswer],
    *,
    at_once: int,
    record: AnswerRecorder,
    stopped: threading.Event,
) -> None:
    """Ask the judge the questions until no question is left, the budget is spent, or
    ``stopped`` is set.

    Answers that arrive after a stop are recorded too. Raises EndpointRefusesAll, or
    EndpointUnavailable after MAX_CONSECUTIVE_FAILURES consecutive failures.
    """
    source = iter(questions)
    flight, failures = _PendingQuestions(ask, at_once), _ConsecutiveFailureCounter()
    answers: list[JudgeAnswer] = []
    unadmitted: list[JudgeQuestion] = []
    reason: Exception | None = None
    try:
        while True:
            room = at_once * PREPARED_QUESTIONS_FACTOR - len(flight) - len(unadmitted)
            wanted = [*unadmitted, *islice(source, max(room, 0))]
            admitted = record(answers, [] if stopped.is_set() else wanted)
            # Answers release reserved costs, so later rounds may admit more questions.
            unadmitted = wanted[len(admitted) :]
            for question in admitted:
                flight.send(question)
            if stopped.is_set():
                flight.recall()
            if not len(flight):
                break
            answers = flight.wait_for_answers()
            reason = reason or flight.refusal or failures.count(answers)
            if reason is not None:
                stopped.set()
    except BaseException:
        # Wake up threads that wait before they repeat a request.
        stopped.set()
        raise
    finally:
        flight.close()
    if reason is not None:
        raise reason
