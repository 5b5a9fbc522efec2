"""Read and validate battle files (pairwise judgements of systems), and format the
resulting board as JSON and as text.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from scoring.metrics.base import finite
from scoring.offline.terminal import printable
from scoring.stats.battles import LABELS, Battle, Board, Share
from scoring.stats.resampling import Bounds
from tasks.types.files import open_input
from tasks.types.jsonlines import Record, read_records, well_formed
from tasks.types.problems import Problem, Problems, refuse
from tasks.types.text import json_kind, nfc

EXAMPLE = '{"topic": "t1", "left": "a", "right": "b", "label": "left"}'
NAMES = ("topic", "left", "right")
MAX_NAME, MAX_TOPIC = 200, 400
#: The signature of a board of battles names the statistical model and its methods.
SIGNATURE = (
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
    problems = Problems()
    battles = []
    for file in open_input(path, shown=shown):
        for record in read_records(file, problems):
            faults = [*_battle_faults(record)] or [*faults_of(_parse_battle(record))]
            for message, expected in faults:
                problems.append(record.problem(message, expected))
            if not faults:
                battles.append(_parse_battle(record))
    if not battles and not problems.has_errors:
        message = "no battles are here"
        name = shown or path.name
        problems.append(Problem(file=name, message=message, expected=EXAMPLE))
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
    refuse(problems)
    return battles


def _parse_battle(record: Record) -> Battle:
    value = record.value
    topic, left, right = (nfc(well_formed(str(value[name]))) for name in NAMES)
    judge = nfc(well_formed(str(value.get("judge") or "")))
    return Battle(topic, left, right, value["label"], judge)


def _battle_faults(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the faults of one row of a battle file, each as a message and the expected
    form.
    """
    value = record.value
    for name in (*NAMES, *(["judge"] if value.get("judge") is not None else [])):
        if name not in value:
            yield f"“{name}” is missing", EXAMPLE
        elif not isinstance(value[name], str | int) or isinstance(value[name], bool):
            yield f"“{name}” is {json_kind(value[name])}", "a text"
        elif not 0 < len(str(value[name])) <= _max_field_chars(name):
            message = f"“{name}” has {len(str(value[name])):,} characters"
            yield message, f"from 1 to {_max_field_chars(name)} characters"
    # A system's name may be a number, or spell a character with other code points.
    left, right = (nfc(well_formed(str(value.get(name)))) for name in ("left", "right"))
    label = value.get("label")
    if "left" in value and left == right:
        yield f"“{left[:40]}” meets itself", "two different systems"
    if "label" not in value:
        yield "“label” is missing", EXAMPLE
    elif label not in LABELS:
        kind = f"“{label[:40]}”" if isinstance(label, str) else json_kind(label)
        yield f"“label” is {kind}", f"one of {', '.join(LABELS)}"


def _max_field_chars(name: str) -> int:
    """Return the maximum number of characters of a battle's field, which is larger for
    topics because topics can be instance ids.
    """
    return MAX_TOPIC if name == "topic" else MAX_NAME


def as_facts(board: Board) -> dict[str, Any]:
    """Return the board of battles as JSON values, in which undefined values and missing
    intervals are null.
    """
    by_name = sorted(board.standings, key=lambda own: own.system)
    return {
        "strengths": {own.system: finite(own.strength) for own in by_name},
        "shares": {
            system: {
                other: finite(float(share))
                for other, share in zip(board.systems, row, strict=True)
                if other != system
            }
            for system, row in zip(board.systems, board.matrix, strict=True)
        },
        "left": _share_facts(board.left),
        "ordered_by": "strengths" if board.by_strength else "shares",
        "board": [
            {
                "system": own.system,
                "rank": own.rank,
                "ranks": [own.first, own.last],
                "strength": finite(own.strength),
                **_interval_facts("strength", own.strength_bounds),
                "share": finite(own.share),
                **_interval_facts("share", own.share_bounds),
            }
            for own in board.standings
        ],
        "agreement": _agreement_facts(board),
        "battles": board.battles,
        "topics": board.topics,
        "signature": SIGNATURE,
    }


def _interval_facts(name: str, bounds: Bounds | None) -> dict[str, float | None]:
    low, high = bounds or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def _share_facts(share: Share) -> dict[str, float | int | None]:
    low, high = share.bounds or (None, None)
    return {"share": finite(share.value), "low": low, "high": high, "n": share.n}


def _agreement_facts(board: Board) -> dict[str, Any] | None:
    if board.agreement is None:
        return None
    return {
        **_share_facts(board.agreement.share),
        "alpha": finite(board.agreement.alpha),
        "judges": [
            {"judges": [*judges], **_share_facts(share)}
            for judges, share in board.agreement.by_judges.items()
        ],
    }


def as_lines(board: Board) -> Iterator[str]:
    """Yield the board of battles as lines of text for a terminal."""
    if not board.by_strength:
        yield (
            "Some systems never lost or never won against the others, directly or by way of others, so that "
            "no finite strengths exist: shares of wins order the systems."
        )
    for own in board.standings:
        ranks = f"{own.first}–{own.last}" if own.first < own.last else f"{own.first}"
        strength = _interval_text(own.strength, own.strength_bounds, "strength")
        share = _interval_text(own.share, own.share_bounds, "share of wins")
        yield f"{ranks:<7} {printable(own.system):<24} {strength}{share}".rstrip()
    yield f"{board.battles:,} battles on {board.topics:,} topics"
    yield _share_text(board.left, "decided battles won by the left system")
    if board.agreement:
        yield _share_text(
            board.agreement.share, "pairs of labels of two judges that agree"
        )


def _interval_text(value: float, bounds: Bounds | None, name: str) -> str:
    if finite(value) is None:
        return ""
    ends = f" [{bounds[0]:.3f}, {bounds[1]:.3f}]" if bounds else ""
    return f"{name} {value:.3f}{ends}  "


def _share_text(share: Share, words: str) -> str:
    if finite(share.value) is None:
        return f"no {words}"
    ends = f" [{share.bounds[0]:.3f}, {share.bounds[1]:.3f}]" if share.bounds else ""
    return f"{words}: {share.value:.3f}{ends} of {share.n:,}"
