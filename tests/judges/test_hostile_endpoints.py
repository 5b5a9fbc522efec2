"""Endpoints that lie, stall or fail: each costs its own labels alone, and never more than is reserved."""

import socket
import threading
from collections import Counter
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import pytest
import urllib3

from scoring.judges import connections
from scoring.judges.asking import (
    MAX_CHARGED_REQUESTS_PER_QUESTION,
    MAX_CONSECUTIVE_FAILURES,
    ChatAsker,
    EndpointUnavailable,
    ask_all_questions,
    compute_max_cost_per_question,
    compute_max_cost_per_request,
)
from scoring.judges.chat import (
    MAX_PAUSE_SECONDS,
    MAX_REPLY_BYTES,
    MAX_REQUEST_ATTEMPTS,
    ChatEndpoint,
    ChatRequestFailed,
    EndpointRefusesAll,
    parse_retry_after_seconds,
)
from scoring.judges.declared import ChatJudge, TokenPrice
from scoring.judges.questions import JudgePrompt, JudgeQuestion
from tasks.types.ledger import ENTAILS_KIND, NO_VALID_LABEL
from tests.judges.stub import Sent, said, status, stub_endpoint

PROMPT = JudgePrompt.default(ENTAILS_KIND)
USD = TokenPrice(Decimal("0.4"), Decimal("1.6"), "USD")
GOOD = JudgeQuestion(ENTAILS_KIND, ("It rains in Oslo.", "It rains."))
BAD = JudgeQuestion(ENTAILS_KIND, ("This one is hostile.", "It rains."))


def judge_at(address: str, **more) -> ChatJudge:
    fields = {"timeout": 0.6, "at_once": 2, "price": USD, "max_tokens": 50, **more}
    return ChatJudge(name="j", address=address, model="m", **fields)


class Clock:
    """A clock that only pauses move."""

    def __init__(self) -> None:
        self.now, self.pauses = 0.0, []
        self._lock = threading.Lock()

    def __call__(self) -> float:
        return self.now

    def pause(self, seconds: float) -> None:
        with self._lock:
            self.now += seconds
            self.pauses.append(seconds)


def asked(replies, *questions: JudgeQuestion, **more):
    """Ask the questions; return the answers by question, the stub, the clock and the judge."""
    clock, answers, reserved = Clock(), {}, Counter()

    def record(landed, wanted):
        for answer in landed:
            answers[answer.question] = answer
            assert answer.cost <= reserved[answer.question]
        for question in wanted:
            reserved[question] = compute_max_cost_per_question(judge, PROMPT, question)
        return wanted

    with stub_endpoint(replies) as stub:
        judge = judge_at(stub.address, **more)
        stopped = threading.Event()
        endpoint = ChatEndpoint(judge, stopped=stopped, pause=clock.pause, clock=clock)
        try:
            ask_all_questions(
                questions or (BAD, GOOD),
                ChatAsker(judge, PROMPT, endpoint),
                at_once=judge.at_once,
                record=record,
                stopped=stopped,
            )
        finally:
            endpoint.close()
    return answers, stub, clock


def hostile(bad) -> object:
    """Reply as ``bad`` says to the hostile question, and rightly to the other."""

    def replies(prompt: str, nth: int) -> Sent:
        if "hostile" not in prompt:
            return said("Yes")
        return bad(prompt, nth) if callable(bad) else bad

    return replies


HALF = Sent(said("Yes").body[:40], length=len(said("Yes").body))
NO_JSON = Sent(said("Yes").body[:40])
#: What the hostile question gets: a reply, the label, the failure, the number of requests.
CASES = {
    "429 for ever": (status(429), "", "status 429", MAX_REQUEST_ATTEMPTS),
    "500 for ever": (status(500), "", "status 500", MAX_REQUEST_ATTEMPTS),
    "400": (status(400), "", "status 400", 1),
    "a redirect": (status(302, Location="http://127.0.0.1:1/"), "", "status 302", 1),
    "half a document": (HALF, "", "connection lost", MAX_CHARGED_REQUESTS_PER_QUESTION),
    "half a document, well framed": (NO_JSON, "", "not JSON", MAX_CHARGED_REQUESTS_PER_QUESTION),
    "a list": (Sent(b"[]"), "", "not a chat reply", MAX_CHARGED_REQUESTS_PER_QUESTION),
    "no choices": (Sent(b'{"choices": []}'), "", "not a chat reply", MAX_CHARGED_REQUESTS_PER_QUESTION),
    "content of numbers": (said(7), "", "not a chat reply", MAX_CHARGED_REQUESTS_PER_QUESTION),
    "deep nesting": (Sent(b"[" * 100_000), "", "not JSON", MAX_CHARGED_REQUESTS_PER_QUESTION),
    "not text": (Sent(b"\xff\xfe\x00"), "", "not JSON", MAX_CHARGED_REQUESTS_PER_QUESTION),
    "a megabyte": (said("Yes " * 250_000), "", "longer than 256 KiB", 1),
    "a megabyte of error": (Sent(b"x" * 1_000_000, 500), "", "status 500", MAX_REQUEST_ATTEMPTS),
    "stalls before a byte": (
        Sent(b"", length=9, stalls=True),
        "",
        "no reply in time",
        MAX_CHARGED_REQUESTS_PER_QUESTION,
    ),
    "stalls within": (
        Sent(b'{"ch', length=9, stalls=True),
        "",
        "no reply in time",
        MAX_CHARGED_REQUESTS_PER_QUESTION,
    ),
    "the model refuses": (said(None, refusal="I cannot."), "", "the model refuses", 1),
    "the prompt's own words": (lambda prompt, nth: said(prompt), NO_VALID_LABEL, "", 2),
    "two answers": (said("Yes. Or No?"), NO_VALID_LABEL, "", 2),
    "no answer": (said("Perhaps."), NO_VALID_LABEL, "", 2),
    "nothing": (said(None), NO_VALID_LABEL, "", 2),
    "another case": (said("YES, yes"), NO_VALID_LABEL, "", 2),
    "within a word": (said("Yesterday, Yes-ish"), NO_VALID_LABEL, "", 2),
    "an answer at the second time": (
        lambda prompt, nth: said("No" if nth else "Both"), "no", "", 2,
    ),
    "thinking in tags": (said("<think>Yes? Yes.</think>\n**No**"), "no", "", 1),
    "thinking without its first tag": (said("Yes? </think> No."), "no", "", 1),
    "thinking without its last tag": (said("<think>Yes, No, Yes"), NO_VALID_LABEL, "", 2),
    "thinking in thinking": (said("<think><think>Yes</think>Yes</think>No"), "no", "", 1),
    "many tags": (said("<think>" * 20_000 + "Yes"), NO_VALID_LABEL, "", 2),
    "a lie about tokens": (
        said("No", usage={"prompt_tokens": 10**12, "completion_tokens": 10**12}), "no", "", 1,
    ),
    "tokens below nought": (said("No", usage={"prompt_tokens": -5}), "no", "", 1),
    "usage of texts": (said("No", usage="much"), "no", "", 1),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_hostile_reply_costs_its_own_label_alone(case):
    reply, label, failure, requests = CASES[case]
    answers, stub, _clock = asked(hostile(reply))
    good, bad = answers[GOOD], answers[BAD]
    assert [row.label for row in good.rows] == ["yes"]
    assert bad.failure == failure
    assert (bad.rows[-1].label if bad.rows else "") == label
    assert stub.asked[PROMPT.filled(BAD)] == requests
    assert stub.asked[PROMPT.filled(GOOD)] == 1


def test_a_repeat_is_stored_after_a_reply_without_an_answer():
    answers, _stub, _clock = asked(
        hostile(lambda prompt, nth: said("No" if nth else "?"))
    )
    rows = answers[BAD].rows
    assert [(row.repeat, row.label) for row in rows] == [(0, NO_VALID_LABEL), (1, "no")]


def test_a_second_request_that_fails_is_sent_again_and_the_first_reply_stays():
    def replies(prompt: str, nth: int) -> Sent:
        return (said("?"), status(400), said("No"))[nth]

    answers, _stub, _clock = asked(replies, GOOD)
    answer = answers[GOOD]
    assert [row.label for row in answer.rows] == [NO_VALID_LABEL]
    assert (answer.failure, answer.is_open) == ("status 400", True)
    again = replace(GOOD, replies=1)
    answers, stub, _clock = asked(lambda prompt, nth: said("No"), again)
    assert [(row.repeat, row.label) for row in answers[again].rows] == [(1, "no")]
    answers, stub, _clock = asked(lambda prompt, nth: said("?"), again)
    assert len(stub.prompts) == len(answers[again].rows) == 1
    assert not answers[again].is_open


def endpoint_of(urlopen, monkeypatch, **more) -> ChatEndpoint:
    """Return an endpoint whose pool does what ``urlopen`` does."""
    endpoint = ChatEndpoint(judge_at("https://llm.example.org/v1"), **more)
    monkeypatch.setattr(endpoint._pool, "urlopen", urlopen)
    return endpoint


@pytest.mark.parametrize(
    ("is_connected", "cause", "charged"),
    [
        (True, "connection lost", MAX_CHARGED_REQUESTS_PER_QUESTION),
        (False, "no connection", 0),
    ],
)
def test_encryption_that_breaks_after_the_request_is_charged(
    is_connected, cause, charged, monkeypatch
):
    def urlopen(*args, **options):
        if is_connected:
            connections._thread_local_deadline.deadline.connection = object()
        raise urllib3.exceptions.SSLError("sk-secret")

    endpoint = endpoint_of(urlopen, monkeypatch, pause=lambda seconds: None)
    with closing(endpoint), pytest.raises(ChatRequestFailed) as failed:
        endpoint.ask("Premise", most_charged=MAX_CHARGED_REQUESTS_PER_QUESTION)
    assert (failed.value.cause, failed.value.charged) == (cause, charged)


@pytest.mark.parametrize("ending", ["refusal", "stop"])
def test_attempts_before_a_refusal_or_a_stop_are_charged(ending, monkeypatch):
    stopped = threading.Event()

    def urlopen(*args, **options):
        connections._thread_local_deadline.deadline.connection = object()
        if ending == "stop":
            stopped.set()
        elif calls:
            raise EndpointRefusesAll("refused")
        calls.append(1)
        raise urllib3.exceptions.ProtocolError("lost")

    calls: list[int] = []
    endpoint = endpoint_of(
        urlopen, monkeypatch, stopped=stopped, pause=lambda seconds: None
    )
    judge = judge_at("https://llm.example.org/v1")
    most = compute_max_cost_per_request(judge, PROMPT.filled(GOOD))
    with closing(endpoint):
        asker = ChatAsker(judge, PROMPT, endpoint)
        if ending == "stop":
            assert asker(GOOD).cost == most
            return
        with pytest.raises(EndpointRefusesAll) as refused:
            asker(GOOD)
    assert refused.value.cost == most


def test_a_cut_leaves_a_socket_its_encryption():
    ours, theirs = socket.socketpair()

    class Encrypted(socket.socket):
        def shutdown(self, how: int) -> None:
            pytest.fail("the encryption is removed while a thread uses it")

    with theirs, Encrypted(fileno=ours.detach()) as sock:
        deadline = connections.RequestDeadline(0)
        deadline.connection = SimpleNamespace(sock=sock)
        deadline.shut_down_connection()
        assert theirs.recv(1) == b""


def test_retry_after_holds_all_requests_and_has_a_limit():
    def replies(prompt: str, nth: int) -> Sent:
        return said("Yes") if nth else status(429, Retry_After="7")

    answers, _stub, clock = asked(replies, GOOD)
    assert answers[GOOD].rows[0].label == "yes"
    assert clock.pauses == [7.0]
    assert answers[GOOD].cost < compute_max_cost_per_question(
        judge_at("http://x"), PROMPT, GOOD
    )

    def for_ever(prompt: str, nth: int) -> Sent:
        return said("Yes") if nth else status(503, Retry_After="9999999999")

    _answers, _stub, clock = asked(for_ever, GOOD)
    assert clock.pauses == [MAX_PAUSE_SECONDS]


def test_without_retry_after_pauses_grow():
    _answers, _stub, clock = asked(hostile(status(429)), BAD)
    assert len(clock.pauses) == MAX_REQUEST_ATTEMPTS - 1
    assert clock.pauses == sorted(clock.pauses)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None), ("", None), ("soon", None), ("-5", None), ("1.5", None), ("٣", None),
        ("0", 0.0), ("30", 30.0), ("9" * 400, MAX_PAUSE_SECONDS),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 60.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("Thu, 99 Jan 1970 00:00:00 GMT", None),
    ],
)  # fmt: skip
def test_retry_after_is_read_or_ignored(text, seconds):
    assert parse_retry_after_seconds(text, now=40.0) == seconds


@pytest.mark.parametrize("code", [401, 403, 404])
def test_an_endpoint_that_refuses_all_is_asked_no_further(code):
    many = [
        JudgeQuestion(ENTAILS_KIND, (f"Premise {number}", "h")) for number in range(50)
    ]
    with pytest.raises(EndpointRefusesAll, match=str(code)) as told:
        asked(lambda prompt, nth: status(code), *many)
    assert "sk-secret" not in str(told.value)


def test_an_endpoint_that_is_away_is_left_after_some_failures():
    many = [
        JudgeQuestion(ENTAILS_KIND, (f"Premise {number}", "h")) for number in range(100)
    ]
    with pytest.raises(EndpointUnavailable, match="longer than"):
        asked(lambda prompt, nth: said("x" * MAX_REPLY_BYTES), *many)
    replies = Counter()

    def count(prompt: str, nth: int) -> Sent:
        replies[prompt] += 1
        return said("x" * MAX_REPLY_BYTES)

    with pytest.raises(EndpointUnavailable):
        asked(count, *many)
    assert MAX_CONSECUTIVE_FAILURES <= len(replies) <= MAX_CONSECUTIVE_FAILURES + 4


def test_connections_are_kept_alive_and_never_more_than_declared():
    many = [
        JudgeQuestion(ENTAILS_KIND, (f"Premise {number}", "h")) for number in range(60)
    ]
    answers, stub, _clock = asked(
        lambda prompt, nth: said("Yes"), *many, at_once=3, timeout=60
    )
    assert len(answers) == len(many)
    assert stub.most_at_once <= 3
    assert len(stub.connections) <= 3


def test_a_stop_keeps_the_answers_in_flight_and_unsent_questions_cost_nothing():
    many = [
        JudgeQuestion(ENTAILS_KIND, (f"Premise {number}", "h")) for number in range(40)
    ]
    answers, stopped = {}, threading.Event()

    def replies(prompt: str, nth: int) -> Sent:
        if len(stub.prompts) > 5:
            stopped.set()
        return said("Yes")

    def record(landed, wanted):
        answers.update({answer.question: answer for answer in landed})
        return [] if stopped.is_set() else wanted

    with stub_endpoint(replies) as stub:
        judge = judge_at(stub.address)
        endpoint = ChatEndpoint(judge, stopped=stopped, pause=lambda seconds: None)
        asker = ChatAsker(judge, PROMPT, endpoint)
        ask_all_questions(many, asker, at_once=2, record=record, stopped=stopped)
        endpoint.close()
    replied = [answer for answer in answers.values() if answer.rows]
    assert len(replied) == len(stub.prompts) < len(many)
    assert all(answer.cost == 0 for answer in answers.values() if not answer.rows)
