"""Rankings as JSON lines: `{"id": …, "ranked": [candidate, …]}`, with scores where a team gives them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tasks.types.files import InputFile
from tasks.types.jsonlines import AnswerForm, named_lines
from tasks.types.problems import Problems
from tasks.types.ranking.declared import read_declared
from tasks.types.ranking.faults import Fault, duplicates, too_long, unknown_candidates
from tasks.types.ranking.gathering import Gathering, RunLimits
from tasks.types.ranking.records import is_name
from tasks.types.records import line_records
from tasks.types.text import json_kind

EXAMPLE = '{"id": "2101.00001_0003", "ranked": ["W12", "W7"]}'
FORM = AnswerForm(example=EXAMPLE, noun="ranking")
SCORES = '{"id": "2101.00001_0003", "scores": {"W12": 0.9, "W7": 0.4}}'

#: Numbers of candidates in order, and which of them have the score of the one before; None without scores.
Ranking = tuple[Sequence[int], Sequence[bool] | None]


def read_json_run(file: InputFile, gathering: Gathering, limits: RunLimits, problems: Problems) -> None:
    choices = gathering.choices
    records = ((record.id, record) for record in line_records(file, problems))
    for name, line in named_lines(records, choices.rows, gathering, FORM, problems):
        if not line.is_sound:
            continue
        row = choices.rows[name]
        candidates = choices.candidates(row)
        ranking = _ranking(line.value, candidates, limits)
        declared = read_declared(line.value, candidates) if limits.declares else {}
        if isinstance(ranking, tuple) and isinstance(declared, dict):
            gathering.declared.add(row, declared)
            numbers, tied = ranking
            kept = limits.kept
            gathering.add(row, numbers[:kept], None if tied is None else tied[:kept])
        else:
            for fault in (own for found in (ranking, declared) if isinstance(found, list) for own in found):
                line.wrong(*fault)


def _ranking(
    record: Mapping[str, Any], candidates: Mapping[str, int], limits: RunLimits
) -> Ranking | list[Fault]:
    ranked, scores = record.get("ranked"), record.get("scores")
    if ranked is None and isinstance(scores, dict):
        return _scored(scores, candidates, limits)
    if not isinstance(ranked, list):
        found = "missing" if ranked is None else f"{json_kind(ranked)}"
        return [(f"“ranked” is {found}", f"a list of candidates, best first: {EXAMPLE}")]
    try:
        numbers = [candidates[name] for name in ranked]
    except (KeyError, TypeError):
        if not all(map(is_name, ranked)):
            return [("“ranked” holds something other than ids", f"a list of candidates: {EXAMPLE}")]
        names = [str(name) for name in ranked]
        if any(name not in candidates for name in names):
            return list(unknown_candidates(names, candidates))
        numbers = [candidates[name] for name in names]
    if len(set(numbers)) < len(numbers):
        return list(duplicates([str(name) for name in ranked]))
    if limits.longest is not None and len(numbers) > limits.longest:
        return [too_long(len(numbers), limits.longest)]
    if scores is None:
        return numbers, None
    faults = list(_score_faults(scores, len(numbers)))
    return faults or (
        numbers,
        [place > 0 and scores[place - 1] == score for place, score in enumerate(scores)],
    )


def _scored(
    scores: Mapping[str, Any], candidates: Mapping[str, int], limits: RunLimits
) -> Ranking | list[Fault]:
    """From an object of scores: highest first, equal ones in the order of the candidates."""
    if unknown := list(unknown_candidates(list(scores), candidates)):
        return unknown
    wrong = next((name for name, score in scores.items() if not _is_number(score)), None)
    if wrong is not None:
        return [(f"the score of “{wrong}” is {_kind(scores[wrong])}", f"a finite number: {SCORES}")]
    if limits.longest is not None and len(scores) > limits.longest:
        return [too_long(len(scores), limits.longest)]
    ordered = sorted((-score, candidates[name]) for name, score in scores.items())
    tied = [place > 0 and ordered[place - 1][0] == ordered[place][0] for place in range(len(ordered))]
    return [number for _, number in ordered], tied


def _score_faults(scores: object, count: int) -> Iterator[Fault]:
    if not isinstance(scores, list):
        yield f"“scores” is {json_kind(scores)}", "a list with one number for each member of “ranked”"
    elif wrong := next((place for place, score in enumerate(scores, 1) if not _is_number(score)), None):
        yield f"the score at place {wrong} is {_kind(scores[wrong - 1])}", "a finite number"
    elif len(scores) != count:
        yield f"{len(scores)} scores for {count} candidates", "one number for each member of “ranked”"
    elif place := next((p for p in range(1, count) if scores[p] > scores[p - 1]), None):
        yield (
            f"the score at place {place + 1} is higher than the one before it",
            "the best candidate first",
        )


def _kind(score: object) -> str:
    return "too large a number" if type(score) is int else json_kind(score)


def _is_number(value: object) -> bool:
    """A number of a size that scores can be compared in; JSON can spell larger ones."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
