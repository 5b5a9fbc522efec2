"""Implement `python -m scoring judge run`, which asks a declared judge about the items
of a file and writes ledger rows.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, Self

from scoring.judges.asking import (
    MAX_REPLIES_PER_QUESTION,
    ChatAsker,
    CostEstimate,
    JudgeAnswer,
    JudgeReply,
    ask_all_questions,
    compute_max_cost_per_question,
    estimate_cost,
)
from scoring.judges.chat import ChatEndpoint
from scoring.judges.declared import (
    ChatJudge,
    DeclaredJudge,
    LocalJudge,
    read_judges_file,
)
from scoring.judges.local import build_local_judge_signature, load_local_model
from scoring.judges.questions import (
    JudgePrompt,
    JudgeQuestion,
    build_chat_judge_signature,
    hash_signature,
)
from tasks.types.base import OptionRefused
from tasks.types.files import open_input_files
from tasks.types.ledger import (
    ENTAILS_KIND,
    JUDGEMENT_KINDS_BY_NAME,
    NO_VALID_LABEL,
    format_item_digests,
)
from tasks.types.problems import Problem, raise_if_any_problem_is_fatal
from tasks.types.text import iterate_json_objects

EXAMPLE_QUESTION = '{"premise": "It rains in Oslo.", "hypothesis": "It rains."}'


@dataclass
class JudgeRunOutcome:
    """The number of items and the cost of a call of the command `judge run`.

    ``before`` is the number of items that the output file already contained.
    """

    judge: str
    labels: int = 0
    unlabelled: int = 0
    failed: int = 0
    before: int = 0
    cost: Decimal = field(default_factory=Decimal)


def find_declared_judge(path: Path, name: str) -> DeclaredJudge:
    judges = read_judges_file(path)
    if name not in judges:
        names = ", ".join(judges) or "none"
        raise OptionRefused(f"{path} declares no judge “{name}”; it declares {names}")
    return judges[name]


def read_questions(path: Path) -> list[JudgeQuestion]:
    """Read the items that a judge is asked about from a file, without duplicates. All
    items of the file must be of the same kind of judgement.

    Raises InputRefused with all invalid lines of the file.
    """
    problems: list[Problem] = []
    found: dict[JudgeQuestion, None] = {}
    kinds = {
        frozenset(kind.items): name for name, kind in JUDGEMENT_KINDS_BY_NAME.items()
    }
    kind = ""
    for file in open_input_files(path):
        for line, record, raw in iterate_json_objects(file, problems):
            fields = frozenset(record)
            name = next((kinds[kind] for kind in kinds if kind <= fields), "")
            is_text = name and all(
                isinstance(record[role], str)
                for role in JUDGEMENT_KINDS_BY_NAME[name].items
            )
            kind = kind or name
            if not is_text or name != kind:
                problems.append(
                    file.make_problem(
                        "no item of the first line's kind",
                        EXAMPLE_QUESTION,
                        line=line,
                        raw=raw,
                    )
                )
                continue
            texts = tuple(record[role] for role in JUDGEMENT_KINDS_BY_NAME[name].items)
            found[JudgeQuestion(name, texts)] = None
    raise_if_any_problem_is_fatal(problems)
    return list(found)


def estimate_judging_cost(
    judge: DeclaredJudge, questions: Sequence[JudgeQuestion]
) -> CostEstimate:
    """Estimate the cost of asking about all items, without sending a question."""
    if isinstance(judge, ChatJudge) and questions:
        return estimate_cost(judge, JudgePrompt.default(questions[0].kind), questions)
    return CostEstimate(len(questions), Decimal(0), Decimal(0), "")


def run_judge(
    judge: DeclaredJudge,
    questions: Sequence[JudgeQuestion],
    out: Path,
    budget: Decimal | None = None,
) -> JudgeRunOutcome:
    """Ask the judge about each item that has no row in the file ``out``, and append the
    judge's answers to the file as they arrive.

    The command can be interrupted at any time. The next command continues after the
    last complete line of ``out``.
    """
    if isinstance(judge, LocalJudge):
        return _run_local_model(judge, questions, out)
    prompt = JudgePrompt.default(questions[0].kind if questions else ENTAILS_KIND)
    writer = _JudgementFileWriter(
        out, judge.name, hash_signature(build_chat_judge_signature(judge, prompt))
    )
    left = writer.select_unanswered_questions(questions, most=MAX_REPLIES_PER_QUESTION)
    reserved: dict[JudgeQuestion, Decimal] = {}

    def record(
        answers: Sequence[JudgeAnswer], wanted: Sequence[JudgeQuestion]
    ) -> Sequence[JudgeQuestion]:
        for answer in answers:
            reserved.pop(answer.question, None)
        writer.write(answers)
        admitted = []
        for question in wanted:
            most = compute_max_cost_per_question(judge, prompt, question)
            total = writer.outcome.cost + sum(reserved.values()) + most
            if budget is not None and total > budget:
                break
            reserved[question] = most
            admitted.append(question)
        return admitted

    stopped = threading.Event()
    with writer, closing(ChatEndpoint(judge, stopped=stopped)) as endpoint:
        asker = ChatAsker(judge, prompt, endpoint)
        ask_all_questions(
            left, asker, at_once=judge.at_once, record=record, stopped=stopped
        )
    return writer.outcome


def _run_local_model(
    judge: LocalJudge, questions: Sequence[JudgeQuestion], out: Path
) -> JudgeRunOutcome:
    if any(question.kind != ENTAILS_KIND for question in questions):
        raise OptionRefused(f"{judge.name} decides entailment alone")
    model = load_local_model(judge)
    digest = hash_signature(build_local_judge_signature(judge, model))
    with _JudgementFileWriter(out, judge.name, digest) as writer:
        for batch in model.labels(writer.select_unanswered_questions(questions)):
            writer.write(
                [
                    JudgeAnswer(question, (JudgeReply(0, label, None),), Decimal(0))
                    for question, label in batch
                ]
            )
    return writer.outcome


class _JudgementFileWriter:
    """The output file of `judge run`, which may contain rows of earlier calls. Answers
    are appended in batches, and each batch is flushed to the disk.
    """

    def __init__(self, path: Path, judge: str, digest: str) -> None:
        self._path, self._digest = path, digest
        self.outcome = JudgeRunOutcome(judge)
        self._replies, self._decided = Counter[str](), set[str]()
        for items, label in self._read_earlier_rows():
            if label == NO_VALID_LABEL:
                self._replies[items] += 1
            else:
                self._decided.add(items)
        self._file: IO[str] | None = None

    def _read_earlier_rows(self) -> Iterator[tuple[str, str]]:
        if not self._path.exists():
            return
        content = self._path.read_bytes()
        if (whole := content.rfind(b"\n") + 1) < len(content):
            with self._path.open("r+b") as file:
                file.truncate(whole)
        problems: list[Problem] = []
        for rows in open_input_files(self._path):
            for _line, record, _raw in iterate_json_objects(rows, problems):
                said = record.get("judge"), record.get("digest")
                if said != (self.outcome.judge, self._digest):
                    raise OptionRefused(
                        f"{self._path} has rows of another judge, prompt or model; give each a file"
                    )
                yield " ".join(map(str, record["items"])), str(record["label"])
        raise_if_any_problem_is_fatal(problems)

    def __enter__(self) -> Self:
        self._file = self._path.open("a", encoding="utf-8")
        return self

    def __exit__(self, *_reason: object) -> None:
        if self._file is not None:
            self._file.close()

    def select_unanswered_questions(
        self, questions: Sequence[JudgeQuestion], *, most: int = 1
    ) -> list[JudgeQuestion]:
        left = []
        for question in questions:
            items = " ".join(format_item_digests(question.items))
            if items not in self._decided and self._replies[items] < most:
                left.append(replace(question, replies=self._replies[items]))
        self.outcome.before = len(questions) - len(left)
        return left

    def write(self, answers: Sequence[JudgeAnswer]) -> None:
        assert self._file is not None
        at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        for answer in answers:
            for row in answer.rows:
                self._file.write(
                    f"{json.dumps(self._reply_as_json_values(answer.question, row, at))}\n"
                )
            self._count_answer(answer)
        self._file.flush()
        os.fsync(self._file.fileno())

    def _reply_as_json_values(
        self, question: JudgeQuestion, row: JudgeReply, at: str
    ) -> Mapping[str, Any]:
        line: dict[str, Any] = {
            "kind": question.kind,
            "judge": self.outcome.judge,
            "digest": self._digest,
            "items": format_item_digests(question.items),
            "label": row.label,
            "at": at,
        }
        if row.repeat:
            line["repeat"] = row.repeat
        if row.cost is not None:
            line["cost"] = float(row.cost)
        return line

    def _count_answer(self, answer: JudgeAnswer) -> None:
        self.outcome.cost += answer.cost
        if answer.failure:
            self.outcome.failed += 1
        elif answer.is_open:
            return
        elif answer.rows and answer.rows[-1].label == NO_VALID_LABEL:
            self.outcome.unlabelled += 1
        elif answer.rows:
            self.outcome.labels += 1
