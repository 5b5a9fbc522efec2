"""Read and validate battle files (pairwise judgements of systems), and format the
resulting board as JSON and as text.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from scoring.metrics.base import finite_or_none
from scoring.offline.terminal import replace_control_characters
from scoring.stats.battles import (
    BATTLE_LABELS,
    Battle,
    BattleResults,
    ShareWithInterval,
)
from scoring.stats.resampling import IntervalBounds
from tasks.types.files import open_input_files
from tasks.types.jsonlines import JsonRecord, read_records, replace_unpaired_surrogates
from tasks.types.problems import Problem, ProblemList, raise_if_any_problem_is_fatal
from tasks.types.text import describe_json_type, normalise_to_nfc

EXAMPLE_BATTLE_LINE = '{"topic": "t1", "left": "a", "right": "b", "label": "left"}'
BATTLE_NAME_FIELDS = ("topic", "left", "right")
MAX_SYSTEM_NAME_CHARS, MAX_TOPIC_NAME_CHARS = 200, 400
#: The signature of a board of battles names the statistical model and its methods.
BATTLES_SIGNATURE = (
    "battles|rules:corrected|strengths:bradley-terry|ties:half|"
    "intervals:jackknife-topics|ranks:bonferroni|v:1"
)
#: A board of battles has at most MAX_SYSTEMS systems, because each pair needs a cell.
MAX_SYSTEMS = 500


def read_battles(
    path: Path,
    *,
    shown: str | None = None,
    faults_of: Callable[[Battle], Iterable[tuple[str, str]]] = lambda battle: (),
) -> list[Battle]:
    """Return the battles (pairwise judgements) in a JSON Lines file.

    Raises InputRefused with all faults. ``shown`` is the original name of the uploaded
    file, for messages. ``faults_of`` yields further faults of a battle, each as a
    message and the expected form.
    """
    problems = ProblemList()
    battles = []
    for file in open_input_files(path, shown=shown):
        for record in read_records(file, problems):
            faults = [*_find_battle_faults(record)] or [
                *faults_of(_parse_battle(record))
            ]
            for message, expected in faults:
                problems.append(record.problem(message, expected))
            if not faults:
                battles.append(_parse_battle(record))
    if not battles and not problems.has_errors:
        message = "no battles are here"
        name = shown or path.name
        problems.append(
            Problem(file=name, message=message, expected=EXAMPLE_BATTLE_LINE)
        )
    systems = {name for battle in battles for name in (battle.left, battle.right)}
    if len(systems) > MAX_SYSTEMS:
        message = f"battles of {len(systems):,} systems"
        problems.append(
            Problem(
                file=shown or path.name,
                message=message,
                expected=f"at most {MAX_SYSTEMS}",
            )
        )
    raise_if_any_problem_is_fatal(problems)
    return battles


def _parse_battle(record: JsonRecord) -> Battle:
    value = record.value
    topic, left, right = (
        normalise_to_nfc(replace_unpaired_surrogates(str(value[name])))
        for name in BATTLE_NAME_FIELDS
    )
    judge = normalise_to_nfc(replace_unpaired_surrogates(str(value.get("judge") or "")))
    return Battle(topic, left, right, value["label"], judge)


def _find_battle_faults(record: JsonRecord) -> Iterator[tuple[str, str]]:
    """Yield the faults of one row of a battle file, each as a message and the expected
    form.
    """
    value = record.value
    for name in (
        *BATTLE_NAME_FIELDS,
        *(["judge"] if value.get("judge") is not None else []),
    ):
        if name not in value:
            yield f"“{name}” is missing", EXAMPLE_BATTLE_LINE
        elif not isinstance(value[name], str | int) or isinstance(value[name], bool):
            yield f"“{name}” is {describe_json_type(value[name])}", "a text"
        elif not 0 < len(str(value[name])) <= _find_max_field_chars(name):
            message = f"“{name}” has {len(str(value[name])):,} characters"
            yield message, f"from 1 to {_find_max_field_chars(name)} characters"
    # A system's name may be a number, or spell a character with other code points.
    left, right = (
        normalise_to_nfc(replace_unpaired_surrogates(str(value.get(name))))
        for name in ("left", "right")
    )
    label = value.get("label")
    if "left" in value and left == right:
        yield f"“{left[:40]}” meets itself", "two different systems"
    if "label" not in value:
        yield "“label” is missing", EXAMPLE_BATTLE_LINE
    elif label not in BATTLE_LABELS:
        kind = (
            f"“{label[:40]}”" if isinstance(label, str) else describe_json_type(label)
        )
        yield f"“label” is {kind}", f"one of {', '.join(BATTLE_LABELS)}"


def _find_max_field_chars(name: str) -> int:
    """Return the maximum number of characters of a battle's field, which is larger for
    topics because topics can be instance ids.
    """
    return MAX_TOPIC_NAME_CHARS if name == "topic" else MAX_SYSTEM_NAME_CHARS


def convert_battle_results_to_json(board: BattleResults) -> dict[str, Any]:
    """Return the board of battles as JSON values, in which undefined values and missing
    intervals are null.
    """
    by_name = sorted(board.standings, key=lambda own: own.system)
    return {
        "strengths": {own.system: finite_or_none(own.strength) for own in by_name},
        "shares": {
            system: {
                other: finite_or_none(float(share))
                for other, share in zip(board.systems, row, strict=True)
                if other != system
            }
            for system, row in zip(board.systems, board.matrix, strict=True)
        },
        "left": _build_share_fields(board.left),
        "ordered_by": "strengths" if board.by_strength else "shares",
        "board": [
            {
                "system": own.system,
                "rank": own.rank,
                "ranks": [own.first, own.last],
                "strength": finite_or_none(own.strength),
                **_build_interval_fields("strength", own.strength_bounds),
                "share": finite_or_none(own.share),
                **_build_interval_fields("share", own.share_bounds),
            }
            for own in board.standings
        ],
        "agreement": _build_agreement_fields(board),
        "battles": board.battles,
        "topics": board.topics,
        "signature": BATTLES_SIGNATURE,
    }


def _build_interval_fields(
    name: str, bounds: IntervalBounds | None
) -> dict[str, float | None]:
    low, high = bounds or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def _build_share_fields(share: ShareWithInterval) -> dict[str, float | int | None]:
    low, high = share.bounds or (None, None)
    return {
        "share": finite_or_none(share.value),
        "low": low,
        "high": high,
        "n": share.n,
    }


def _build_agreement_fields(board: BattleResults) -> dict[str, Any] | None:
    if board.agreement is None:
        return None
    return {
        **_build_share_fields(board.agreement.share),
        "alpha": finite_or_none(board.agreement.alpha),
        "judges": [
            {"judges": [*judges], **_build_share_fields(share)}
            for judges, share in board.agreement.by_judges.items()
        ],
    }


def format_battle_results(board: BattleResults) -> Iterator[str]:
    """Yield the board of battles as lines of text for a terminal."""
    if not board.by_strength:
        yield (
            "Some systems never lost or never won against the others, directly or by way of others, so that "
            "no finite strengths exist: shares of wins order the systems."
        )
    for own in board.standings:
        ranks = f"{own.first}–{own.last}" if own.first < own.last else f"{own.first}"
        strength = _format_interval(own.strength, own.strength_bounds, "strength")
        share = _format_interval(own.share, own.share_bounds, "share of wins")
        yield f"{ranks:<7} {replace_control_characters(own.system):<24} {strength}{share}".rstrip()
    yield f"{board.battles:,} battles on {board.topics:,} topics"
    yield _format_share(board.left, "decided battles won by the left system")
    if board.agreement:
        yield _format_share(
            board.agreement.share, "pairs of labels of two judges that agree"
        )


def _format_interval(value: float, bounds: IntervalBounds | None, name: str) -> str:
    if finite_or_none(value) is None:
        return ""
    ends = f" [{bounds[0]:z.3f}, {bounds[1]:z.3f}]" if bounds else ""
    return f"{name} {value:z.3f}{ends}  "


def _format_share(share: ShareWithInterval, words: str) -> str:
    if finite_or_none(share.value) is None:
        return f"no {words}"
    ends = f" [{share.bounds[0]:.3f}, {share.bounds[1]:.3f}]" if share.bounds else ""
    return f"{words}: {share.value:.3f}{ends} of {share.n:,}"
