"""Read the true leaderboard and the leaderboards of judges, which map systems to
scores.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.types.base import (
    AnswerPart,
    Index,
    Options,
    Pairs,
    ShownInstance,
    Split,
    rows_by_name,
)
from tasks.types.files import Files, InputFile, shown_names
from tasks.types.jsonlines import Record, as_lines, read_records, well_formed
from tasks.types.judge_leaderboards import (
    DESCRIBED,
    JUDGE_MEASURE,
    MEASURE,
    SYSTEMS,
    TOPICS,
)
from tasks.types.judge_leaderboards.rows import (
    ALL,
    MAX_NAME,
    Row,
    of_measure,
    read_rows,
)
from tasks.types.problems import InputRefused, Problem, Problems, refuse
from tasks.types.text import nfc

#: The number of systems is limited because correlations compare all pairs of systems.
MAX_SYSTEMS = 1_000
#: A correlation is computed for each topic, so systems times topics are limited.
MAX_VALUES = 50_000


@dataclass(frozen=True)
class SystemScore:
    """The overall score of a system on a leaderboard, and the system's score on each
    topic if the leaderboard has topics.
    """

    score: float
    topics: dict[str, float]


Leaderboard = Mapping[str, SystemScore]


@dataclass(frozen=True)
class JudgedRun:
    """A leaderboard that a participating judge submitted. ``systems`` contains the
    judge's scores of those systems that are on the true leaderboard. ``unknown`` is the
    number of further systems, which are not on the true leaderboard.
    """

    systems: Leaderboard
    unknown: int


def leaderboard_of(rows: Iterable[Row]) -> dict[str, SystemScore]:
    """Return the scores of each system from the rows of a leaderboard, sorted by system
    id. The overall score of a system is its score on the topic `all`, or else its mean
    score over topics.
    """
    values: dict[str, dict[str, float]] = {}
    for row in rows:
        values.setdefault(row.system, {})[row.topic] = row.value
    systems = {}
    for system, own in sorted(values.items()):
        topics = {topic: own[topic] for topic in sorted(own) if topic != ALL}
        # `math.fsum` is exact, so the order of scores does not change the mean.
        mean = math.fsum(topics.values()) / len(topics) if topics else 0.0
        systems[system] = SystemScore(own.get(ALL, mean), topics)
    return systems


def read_gold(files: Files, options: Options) -> Split:
    """Read the true leaderboard, which is the gold (reference) of this task. Raises
    InputRefused with all problems.
    """
    problems = Problems()
    measure = options.get(MEASURE.name, "")
    rows = read_rows(files, measure, problems)
    if not rows and not problems.has_errors:
        problems.append(Problem(message="no rows are here", expected=DESCRIBED))
    refuse(problems)
    chosen = of_measure(rows, measure, MEASURE.name, shown_names(files))
    systems = leaderboard_of(chosen)
    topics = topics_of(systems.values())
    _refuse_many(len(systems), MAX_SYSTEMS, "systems")
    _refuse_many(len(systems) * len(topics), MAX_VALUES, "systems times topics")
    return Split(
        content=systems,
        instances=len(systems),
        index={"instances": [*systems], "topics": topics},
        digest=_compute_rows_digest(chosen),
        rows=len(rows),
    )


def _refuse_many(count: int, most: int, noun: str) -> None:
    if count > most:
        message = f"the truth has {count:,} {noun}"
        raise InputRefused([Problem(message=message, expected=f"at most {most:,}")])


def topics_of(systems: Iterable[SystemScore]) -> list[str]:
    return sorted({topic for system in systems for topic in system.topics})


def _compute_rows_digest(rows: Iterable[Row]) -> str:
    values = sorted((row.system, row.topic, row.value) for row in rows)
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_inputs(files: Files, options: Options) -> Index:
    """Return the ids of systems and topics in the public inputs, for the validation of
    runs. Raises InputRefused.
    """
    problems = Problems()
    systems = _read_names(files, SYSTEMS, "run_id", problems)
    topics = _read_names(files, TOPICS, "topic_id", problems)
    if not systems and not problems.has_errors:
        message = f"there is no {SYSTEMS} that names systems"
        problems.append(Problem(message=message, expected='{"run_id": "a1"} a line'))
    refuse(problems)
    return {"instances": systems, "topics": topics}


def _read_names(files: Files, name: str, key: str, problems: Problems) -> list[str]:
    names = set()
    for file in files:
        for record in read_records(file, problems) if file.base == name else ():
            value = record.value.get(key)
            if isinstance(value, str) and 0 < len(value) <= MAX_NAME:
                names.add(well_formed(value))
            else:
                expected = f"a text of at most {MAX_NAME} characters"
                problems.append(record.problem(f"no “{key}”", expected))
    return sorted(names)


def public_files(files: Files, options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield the public files with system ids and topic ids, in alphabetical order
    because the true ranking is secret.
    """
    index = read_gold(files, options).index
    yield SYSTEMS, as_lines({"run_id": name} for name in index["instances"])
    yield TOPICS, as_lines({"topic_id": name} for name in index["topics"])


def instance_names(file: InputFile, of_file: Sequence[Record]) -> Iterator[str | None]:
    """Yield the system id in each record of a leaderboard."""
    for record in of_file:
        name = record.value.get("run_id")
        yield None if name is None else str(name)


def read_run(
    files: Files, index: Index, options: Options
) -> tuple[JudgedRun, list[Problem]]:
    """Return the judge's leaderboard, limited to the systems of the true leaderboard,
    and all problems of the judge's files.

    The problems include warnings about systems that are on only one of the two
    leaderboards.
    """
    problems = Problems()
    measure = options.get(JUDGE_MEASURE.name, "")
    rows = read_rows(files, measure, problems)
    if problems.has_errors or not rows:
        return JudgedRun({}, 0), problems
    chosen = of_measure(rows, measure, JUDGE_MEASURE.name, shown_names(files))
    names, topics = (
        _map_nfc_to_spelling(index["instances"]),
        _map_nfc_to_spelling(index["topics"]),
    )
    spelt = [
        Row(
            row.line,
            names.get(nfc(row.system), row.system),
            topics.get(nfc(row.topic), row.topic),
            row.measure,
            row.value,
        )
        for row in chosen
    ]
    systems = leaderboard_of(spelt)
    known = {name: systems[name] for name in index["instances"] if name in systems}
    problems += _make_coverage_warnings(known, systems, index)
    return JudgedRun(known, len(systems) - len(known)), problems


def _map_nfc_to_spelling(names: Iterable[str]) -> dict[str, str]:
    """Return a mapping from the Unicode form NFC of each name to the spelling in the
    true leaderboard.
    """
    return {nfc(name): name for name in names}


def _make_coverage_warnings(
    leaderboard: Leaderboard, systems: Leaderboard, index: Index
) -> list[Problem]:
    if not leaderboard:
        return []
    unknown = [name for name in systems if name not in leaderboard]
    missing = [name for name in index["instances"] if name not in leaderboard]
    left_out = "systems of the run are not in the truth and are left out"
    as_zero = "systems have no score and count as 0"
    found = [
        _make_coverage_warning(unknown, len(systems), left_out),
        _make_coverage_warning(missing, len(index["instances"]), as_zero),
    ]
    if any(own.topics for own in leaderboard.values()):
        judged = set(topics_of(leaderboard.values()))
        absent = [name for name in index["topics"] if name not in judged]
        found.append(
            _make_coverage_warning(absent, len(index["topics"]), "topics have no score")
        )
    return [problem for problem in found if problem]


def _make_coverage_warning(
    names: Sequence[str], whole: int, words: str
) -> Problem | None:
    if not names:
        return None
    message = f"{len(names):,} of {whole:,} {words}, the first is “{names[0]}”"
    return Problem(message=message, fatal=False)


def filled(run: JudgedRun, index: Index) -> Iterator[bool]:
    """Yield True for each system of the true leaderboard to which the judge gives a
    score.
    """
    return (True for _ in run.systems)


def pair(split: Split, run: JudgedRun, rules: str, options: Options) -> Pairs:
    """Return the true scores and the judge's scores, with one item for each system of
    the true leaderboard.
    """
    systems: Leaderboard = split.content
    answers = [run.systems.get(name) for name in systems]
    return Pairs(
        gold=[*systems.values()],
        answers=answers,
        units=[*systems],
        features={},
        names=[*systems],
        notes={"missing_systems": answers.count(None), "unknown_systems": run.unknown},
    )


def show_instances(
    files: Files, split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """Yield each system with its score and rank on the true leaderboard and on the
    judge's leaderboard.
    """
    ranks = [_rank_scores(side) for side in (pairs.gold, pairs.answers)]
    for name, [row] in rows_by_name(pairs.names).items():
        gold, answer = (
            ()
            if side[row] is None
            else (AnswerPart(f"#{own[row]}", note=f"{side[row].score:.4f}"),)
            for side, own in zip((pairs.gold, pairs.answers), ranks, strict=True)
        )
        yield ShownInstance(
            name=name,
            given=name,
            gold=_join_part_texts(gold),
            answer=_join_part_texts(answer),
            gold_parts=gold,
            answer_parts=answer,
        )


def _join_part_texts(parts: Sequence[AnswerPart]) -> str:
    return "\n".join(text for part in parts for text in (part.note, part.name))


def _rank_scores(side: Sequence[SystemScore | None]) -> list[int]:
    scores = [0.0 if own is None else own.score for own in side]
    first: dict[float, int] = {}
    for rank, score in enumerate(sorted(scores, reverse=True), start=1):
        first.setdefault(score, rank)
    return [first[score] for score in scores]


def contents(files: Files, split: Split) -> Iterator[tuple[Any, Any]]:
    """Yield the public id of each system, and the secret scores of the system."""
    for name, own in split.content.items():
        yield [name], [own.score, sorted(own.topics.items())]
