"""Compare labels of claims before and after people rewrote the claims, to measure how
much errors of claim extraction change the labels.

The check follows Table 2 of the ALiiCE paper (Xu et al., 2025). A person reads the
sentence of every extracted claim and rewrites the claim if the extraction is wrong. The
extracted claim is correct if the cited passages entail both the extracted and the
rewritten claim, or neither of the two. The sheet for people has a line for each scored
claim, with an empty field for the rewritten claim.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.metrics.entailed import build_case
from scoring.metrics.entailment import EntailmentJudge, EntailmentPair
from tasks.types.base import Pairs
from tasks.types.files import open_input_files
from tasks.types.positional_citations.questions import (
    QuestionWithPassages,
    WholeAnswerRow,
)
from tasks.types.positional_citations.sentences import are_marks_in_range
from tasks.types.problems import (
    Problem,
    raise_if_any_problem_is_fatal,
    select_fatal_problems,
    shorten_quoted_line,
)
from tasks.types.text import iterate_json_objects

ALL_DATA_SETS = "all"
EXAMPLE_SHEET_LINE = '{"id": "q1", "claim": "signs include gas a halo", "marks": [2], "rewritten": "signs include a halo"}'  # noqa: E501


@dataclass(frozen=True)
class CitedClaim:
    id: str
    text: str
    marks: tuple[int, ...]

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> "CitedClaim":
        return cls(line["id"], line["claim"], tuple(line["marks"]))


def sheet(pairs: Pairs, *, is_official: bool) -> Iterator[dict[str, Any]]:
    """Yield a line of the sheet for each distinct scored claim of the run."""
    claims: set[CitedClaim] = set()
    for response in (
        answer for answer in pairs.answers if isinstance(answer, WholeAnswerRow)
    ):
        question = response.question
        for sentence in response.sentences:
            for parsed in sentence.claims:
                claim = CitedClaim(question.id, parsed.text, tuple(parsed.marks))
                counts = are_marks_in_range(
                    claim.marks, len(question.passages), is_official=is_official
                )
                if counts and claim not in claims:
                    claims.add(claim)
                    facts = {
                        "id": claim.id,
                        "sentence": sentence.text,
                        "claim": claim.text,
                    }
                    yield {**facts, "marks": list(claim.marks), "rewritten": ""}


def read_rewritten_claims(
    path: Path, questions: Mapping[CitedClaim, QuestionWithPassages]
) -> dict[CitedClaim, str]:
    problems: list[Problem] = []
    claims: dict[CitedClaim, str] = {}
    for file in open_input_files(path):
        for number, line, raw in iterate_json_objects(file, problems):
            if fault := _find_line_fault(line, questions, claims):
                problems.append(file.make_problem(*fault, line=number, raw=raw))
            elif line["rewritten"].strip():
                claims[CitedClaim.of(line)] = line["rewritten"].strip()
    if not claims and not select_fatal_problems(problems):
        expected = "a text in “rewritten”"
        problems.append(
            Problem(file=str(path), message="no claim is rewritten", expected=expected)
        )
    raise_if_any_problem_is_fatal(problems)
    return claims


def _find_line_fault(
    line: Mapping[str, Any],
    questions: Mapping[CitedClaim, QuestionWithPassages],
    claims: Mapping[CitedClaim, str],
) -> tuple[str, str] | None:
    for key in ("id", "claim", "rewritten"):
        if not isinstance(line.get(key), str):
            return f"“{key}” is no text", EXAMPLE_SHEET_LINE
    marks = line.get("marks")
    if not isinstance(marks, list) or not all(type(mark) is int for mark in marks):
        return "“marks” is no list of numbers", EXAMPLE_SHEET_LINE
    if CitedClaim.of(line) not in questions:
        return (
            f"the run has no such claim of “{shorten_quoted_line(line['id'])}”",
            "a line of this run's own sheet",
        )
    if CitedClaim.of(line) in claims:
        return "the claim was rewritten on an earlier line", "each claim once"
    return None


def build_claim_pairs(
    rewritten: Mapping[CitedClaim, str],
    questions: Mapping[CitedClaim, QuestionWithPassages],
) -> list[tuple[CitedClaim, EntailmentPair, EntailmentPair]]:
    """For each rewritten claim, return two pairs of a premise and a hypothesis.

    In both pairs, the premise is the text of all cited passages. The hypothesis is the
    extracted claim in the first pair, and the rewritten claim in the second pair.
    """
    triples = []
    for claim, text in rewritten.items():
        before, after = (
            build_case(questions[claim], words, claim.marks).joint_pair
            for words in (claim.text, text)
        )
        triples.append((claim, before, after))
    return triples


def find_pending_pairs(
    triples: Sequence[tuple[CitedClaim, EntailmentPair, EntailmentPair]],
    judge: EntailmentJudge,
) -> list[EntailmentPair]:
    wanted = list(dict.fromkeys(pair for _, *both in triples for pair in both))
    return [
        pair
        for pair, label in zip(wanted, judge.decide(wanted), strict=True)
        if label is None
    ]


def compare_labels_by_data_set(
    triples: Sequence[tuple[CitedClaim, EntailmentPair, EntailmentPair]],
    questions: Mapping[CitedClaim, QuestionWithPassages],
    judge: EntailmentJudge,
) -> Iterator[dict[str, Any]]:
    """Yield the results of each data set, and a total if there are several data sets.

    ``same`` counts the claims that have the same label before and after they were
    rewritten. A claim is pending if its original or its rewritten form has no label
    yet.
    """
    before = judge.decide([pair for _, pair, _ in triples])
    after = judge.decide([pair for _, _, pair in triples])
    groups: dict[str, list[tuple[bool | None, bool | None, bool]]] = {}
    for (claim, first, second), old, new in zip(triples, before, after, strict=True):
        groups.setdefault(questions[claim].dataset, []).append(
            (old, new, first == second)
        )
    if len(groups) > 1:
        groups[ALL_DATA_SETS] = [
            labels for group in groups.values() for labels in group
        ]
    for name, group in groups.items():
        decided = [
            (old, new) for old, new, _ in group if old is not None and new is not None
        ]
        yield {
            "dataset": name,
            "claims": len(group),
            "same": sum(old == new for old, new in decided),
            "no_longer_entailed": decided.count((True, False)),
            "entailed_now": decided.count((False, True)),
            "pending": len(group) - len(decided),
            "unchanged_texts": sum(same for _, _, same in group),
        }
