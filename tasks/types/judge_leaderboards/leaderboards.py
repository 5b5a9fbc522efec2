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
    group_row_numbers_by_instance,
)
from tasks.types.files import Files, InputFile, join_shown_file_names
from tasks.types.jsonlines import (
    JsonRecord,
    format_as_json_lines,
    read_records,
    replace_unpaired_surrogates,
)
from tasks.types.judge_leaderboards import (
    JUDGE_MEASURE_OPTION,
    LEADERBOARD_FORM_DESCRIPTION,
    MEASURE_OPTION,
    SYSTEMS_FILE_NAME,
    TOPICS_FILE_NAME,
)
from tasks.types.judge_leaderboards.rows import (
    ALL_TOPICS,
    MAX_NAME_CHARACTERS,
    LeaderboardRow,
    read_leaderboard_rows,
    select_rows_of_measure,
)
from tasks.types.problems import (
    InputRefused,
    Problem,
    ProblemList,
    raise_if_any_problem_is_fatal,
)
from tasks.types.text import normalise_to_nfc

#: The number of systems is limited because correlations compare all pairs of systems.
MAX_SYSTEMS = 1_000
#: A correlation is computed for each topic, so systems times topics are limited.
MAX_SYSTEM_TOPIC_SCORES = 50_000


@dataclass(frozen=True)
class SystemScore:
    """The overall score of a system on a leaderboard, and the system's score on each
    topic if the leaderboard has topics.
    """

    score: float
    topics: dict[str, float]


ScoresBySystem = Mapping[str, SystemScore]


@dataclass(frozen=True)
class SubmittedLeaderboard:
    """A leaderboard that a participating judge submitted. ``systems`` contains the
    judge's scores of those systems that are on the true leaderboard. ``unknown`` is the
    number of further systems, which are not on the true leaderboard.
    """

    systems: ScoresBySystem
    unknown: int


def compute_system_scores(rows: Iterable[LeaderboardRow]) -> dict[str, SystemScore]:
    """Return the scores of each system from the rows of a leaderboard, sorted by system
    id. The overall score of a system is its score on the topic `all`, or else its mean
    score over topics.
    """
    values: dict[str, dict[str, float]] = {}
    for row in rows:
        values.setdefault(row.system, {})[row.topic] = row.value
    systems = {}
    for system, own in sorted(values.items()):
        topics = {topic: own[topic] for topic in sorted(own) if topic != ALL_TOPICS}
        # `math.fsum` is exact, so the order of scores does not change the mean.
        mean = math.fsum(topics.values()) / len(topics) if topics else 0.0
        systems[system] = SystemScore(own.get(ALL_TOPICS, mean), topics)
    return systems


def read_gold(files: Files, options: Options) -> Split:
    """Read the true leaderboard, which is the gold (reference) of this task. Raises
    InputRefused with all problems.
    """
    problems = ProblemList()
    measure = options.get(MEASURE_OPTION.name, "")
    rows = read_leaderboard_rows(files, measure, problems)
    if not rows and not problems.has_errors:
        problems.append(
            Problem(message="no rows are here", expected=LEADERBOARD_FORM_DESCRIPTION)
        )
    raise_if_any_problem_is_fatal(problems)
    chosen = select_rows_of_measure(
        rows, measure, MEASURE_OPTION.name, join_shown_file_names(files)
    )
    systems = compute_system_scores(chosen)
    topics = list_topics_of_systems(systems.values())
    _refuse_many(len(systems), MAX_SYSTEMS, "systems")
    _refuse_many(
        len(systems) * len(topics), MAX_SYSTEM_TOPIC_SCORES, "systems times topics"
    )
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


def list_topics_of_systems(systems: Iterable[SystemScore]) -> list[str]:
    return sorted({topic for system in systems for topic in system.topics})


def _compute_rows_digest(rows: Iterable[LeaderboardRow]) -> str:
    values = sorted((row.system, row.topic, row.value) for row in rows)
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def read_inputs(files: Files, options: Options) -> Index:
    """Return the ids of systems and topics in the public inputs, for the validation of
    runs. Raises InputRefused.
    """
    problems = ProblemList()
    systems = _read_names(files, SYSTEMS_FILE_NAME, "run_id", problems)
    topics = _read_names(files, TOPICS_FILE_NAME, "topic_id", problems)
    if not systems and not problems.has_errors:
        message = f"there is no {SYSTEMS_FILE_NAME} that names systems"
        problems.append(Problem(message=message, expected='{"run_id": "a1"} a line'))
    raise_if_any_problem_is_fatal(problems)
    return {"instances": systems, "topics": topics}


def _read_names(files: Files, name: str, key: str, problems: ProblemList) -> list[str]:
    names = set()
    for file in files:
        for record in read_records(file, problems) if file.base == name else ():
            value = record.value.get(key)
            if isinstance(value, str) and 0 < len(value) <= MAX_NAME_CHARACTERS:
                names.add(replace_unpaired_surrogates(value))
            else:
                expected = f"a text of at most {MAX_NAME_CHARACTERS} characters"
                problems.append(record.problem(f"no “{key}”", expected))
    return sorted(names)


def public_files(files: Files, options: Options) -> Iterator[tuple[str, bytes]]:
    """Yield the public files with system ids and topic ids, in alphabetical order
    because the true ranking is secret.
    """
    index = read_gold(files, options).index
    yield (
        SYSTEMS_FILE_NAME,
        format_as_json_lines({"run_id": name} for name in index["instances"]),
    )
    yield (
        TOPICS_FILE_NAME,
        format_as_json_lines({"topic_id": name} for name in index["topics"]),
    )


def instance_names(
    file: InputFile, of_file: Sequence[JsonRecord]
) -> Iterator[str | None]:
    """Yield the system id in each record of a leaderboard."""
    for record in of_file:
        name = record.value.get("run_id")
        yield None if name is None else str(name)


def read_run(
    files: Files, index: Index, options: Options
) -> tuple[SubmittedLeaderboard, list[Problem]]:
    """Return the judge's leaderboard, limited to the systems of the true leaderboard,
    and all problems of the judge's files.

    The problems include warnings about systems that are on only one of the two
    leaderboards.
    """
    problems = ProblemList()
    measure = options.get(JUDGE_MEASURE_OPTION.name, "")
    rows = read_leaderboard_rows(files, measure, problems)
    if problems.has_errors or not rows:
        return SubmittedLeaderboard({}, 0), problems
    chosen = select_rows_of_measure(
        rows, measure, JUDGE_MEASURE_OPTION.name, join_shown_file_names(files)
    )
    names, topics = (
        _map_nfc_to_spelling(index["instances"]),
        _map_nfc_to_spelling(index["topics"]),
    )
    spelt = [
        LeaderboardRow(
            row.line,
            names.get(normalise_to_nfc(row.system), row.system),
            topics.get(normalise_to_nfc(row.topic), row.topic),
            row.measure,
            row.value,
        )
        for row in chosen
    ]
    systems = compute_system_scores(spelt)
    known = {name: systems[name] for name in index["instances"] if name in systems}
    problems += _make_coverage_warnings(known, systems, index)
    return SubmittedLeaderboard(known, len(systems) - len(known)), problems


def _map_nfc_to_spelling(names: Iterable[str]) -> dict[str, str]:
    """Return a mapping from the Unicode form NFC of each name to the spelling in the
    true leaderboard.
    """
    return {normalise_to_nfc(name): name for name in names}


def _make_coverage_warnings(
    leaderboard: ScoresBySystem, systems: ScoresBySystem, index: Index
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
        judged = set(list_topics_of_systems(leaderboard.values()))
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


def filled(run: SubmittedLeaderboard, index: Index) -> Iterator[bool]:
    """Yield True for each system of the true leaderboard to which the judge gives a
    score.
    """
    return (True for _ in run.systems)


def pair(
    split: Split, run: SubmittedLeaderboard, rules: str, options: Options
) -> Pairs:
    """Return the true scores and the judge's scores, with one item for each system of
    the true leaderboard.
    """
    systems: ScoresBySystem = split.content
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
    for name, [row] in group_row_numbers_by_instance(pairs.names).items():
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
