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

from scoring.metrics.entailed import case_of
from scoring.metrics.entailment import Judge, Pair
from tasks.types.base import Pairs
from tasks.types.files import open_input
from tasks.types.positional_citations.questions import Question, Response
from tasks.types.positional_citations.sentences import are_in_range
from tasks.types.problems import Problem, fatal, quoted, refuse
from tasks.types.text import json_lines

ALL = "all"
EXAMPLE = '{"id": "q1", "claim": "signs include gas a halo", "marks": [2], "rewritten": "signs include a halo"}'  # noqa: E501


@dataclass(frozen=True)
class Claim:
    id: str
    text: str
    marks: tuple[int, ...]

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> "Claim":
        return cls(line["id"], line["claim"], tuple(line["marks"]))


def sheet(pairs: Pairs, *, is_official: bool) -> Iterator[dict[str, Any]]:
    """Yield a line of the sheet for each distinct scored claim of the run."""
    claims: set[Claim] = set()
    for response in (
        answer for answer in pairs.answers if isinstance(answer, Response)
    ):
        question = response.question
        for sentence in response.sentences:
            for parsed in sentence.claims:
                claim = Claim(question.id, parsed.text, tuple(parsed.marks))
                counts = are_in_range(
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


def read_sheet(path: Path, questions: Mapping[Claim, Question]) -> dict[Claim, str]:
    problems: list[Problem] = []
    claims: dict[Claim, str] = {}
    for file in open_input(path):
        for number, line, raw in json_lines(file, problems):
            if fault := _fault(line, questions, claims):
                problems.append(file.problem(*fault, line=number, raw=raw))
            elif line["rewritten"].strip():
                claims[Claim.of(line)] = line["rewritten"].strip()
    if not claims and not fatal(problems):
        expected = "a text in “rewritten”"
        problems.append(
            Problem(file=str(path), message="no claim is rewritten", expected=expected)
        )
    refuse(problems)
    return claims


def _fault(
    line: Mapping[str, Any],
    questions: Mapping[Claim, Question],
    claims: Mapping[Claim, str],
) -> tuple[str, str] | None:
    for key in ("id", "claim", "rewritten"):
        if not isinstance(line.get(key), str):
            return f"“{key}” is no text", EXAMPLE
    marks = line.get("marks")
    if not isinstance(marks, list) or not all(type(mark) is int for mark in marks):
        return "“marks” is no list of numbers", EXAMPLE
    if Claim.of(line) not in questions:
        return (
            f"the run has no such claim of “{quoted(line['id'])}”",
            "a line of this run's own sheet",
        )
    if Claim.of(line) in claims:
        return "the claim was rewritten on an earlier line", "each claim once"
    return None


def pairs_of(
    rewritten: Mapping[Claim, str], questions: Mapping[Claim, Question]
) -> list[tuple[Claim, Pair, Pair]]:
    """For each rewritten claim, return two pairs of a premise and a hypothesis.

    In both pairs, the premise is the text of all cited passages. The hypothesis is the
    extracted claim in the first pair, and the rewritten claim in the second pair.
    """
    triples = []
    for claim, text in rewritten.items():
        before, after = (
            case_of(questions[claim], words, claim.marks).joint
            for words in (claim.text, text)
        )
        triples.append((claim, before, after))
    return triples


def pending(triples: Sequence[tuple[Claim, Pair, Pair]], judge: Judge) -> list[Pair]:
    wanted = list(dict.fromkeys(pair for _, *both in triples for pair in both))
    return [
        pair
        for pair, label in zip(wanted, judge.decide(wanted), strict=True)
        if label is None
    ]


def checked(
    triples: Sequence[tuple[Claim, Pair, Pair]],
    questions: Mapping[Claim, Question],
    judge: Judge,
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
        groups[ALL] = [labels for group in groups.values() for labels in group]
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
