"""The commands for checking a sample by hand: `python -m scoring context-sheet | context-check`."""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scoring.tools.builders.context_check import Checked, Share


def add_commands(commands: Any) -> None:
    blank = commands.add_parser(
        "context-sheet", help="write a sample of a diagnostic split as a table, to be checked by hand"
    )
    blank.add_argument("--out", type=Path, required=True, metavar="FILE", help="a .csv, or .tsv with tabs")
    blank.add_argument("--contexts", type=_contexts, default=100, metavar="N", help="100 unless said")
    blank.add_argument("--seed", type=int, default=0, metavar="S")
    blank.set_defaults(command=write)
    filled = commands.add_parser(
        "context-check", help="say how much of a sample is right, and how far those who checked it agree"
    )
    filled.add_argument(
        "--sheet",
        type=Path,
        nargs="+",
        action="extend",
        metavar="FILE",
        required=True,
        help="filled in, one of each person",
    )
    filled.set_defaults(command=check)
    for command in (blank, filled):
        command.allow_abbrev = False
        command.add_argument("--gold", type=Path, nargs="+", action="extend", metavar="PATH", required=True)
        command.add_argument("--json", action="store_true")


def write(given: argparse.Namespace) -> int:
    from scoring.tools.builders.context_sheet import lines, sampled, titles, write_sheet
    from tasks.types.files import open_inputs

    files = open_inputs(given.gold)
    contexts = sampled(files, given.contexts, given.seed)
    count = write_sheet(given.out, lines(contexts), titles(files, contexts))
    told = {"contexts": len(contexts), "lines": count}
    _say(json.dumps(told) if given.json else f"{given.out}: {len(contexts)} contexts, {count} lines")
    return 0


def check(given: argparse.Namespace) -> int:
    from scoring.tools.builders.context_check import checked
    from scoring.tools.builders.context_sheet import answers, known, read_table
    from tasks.types.files import open_inputs

    tables = {path: read_table(path) for path in given.sheet}
    may_be = known(open_inputs(given.gold), tables.values())
    found = list(checked([answers(path, table, may_be) for path, table in tables.items()]))
    if given.json:
        told = {"people": len(tables), "checked": [_as_json(own) for own in found]}
        _say(json.dumps(told))
    else:
        _say(*_printed(found, are_several=len(tables) > 1))
    return 0


def _printed(found: Sequence[Checked], *, are_several: bool) -> Iterator[str]:
    more = f" {'agree':>8} {'95 %':>16} {'alpha':>6}" if are_several else ""
    yield f"{'asked':<16} {'contexts':>8} {'answers':>8} {'right':>8} {'95 %':>16}{more}"
    for own in found:
        nominal = "-" if math.isnan(own.alpha) else f"{own.alpha:.3f}"
        more = f" {_shown(own.agreeing)} {nominal:>6}" if are_several else ""
        yield f"{own.asked:<16} {own.contexts:>8} {own.right.of:>8} {_shown(own.right)}{more}"


def _say(*lines: str) -> None:
    sys.stdout.writelines(f"{line}\n" for line in lines)


def _shown(share: Share) -> str:
    value = "-" if math.isnan(share.value) else f"{share.value:.1%}"
    ends = "" if share.low is None or share.high is None else f"{share.low:.1%} - {share.high:.1%}"
    return f"{value:>8} {ends:>16}"


def _as_json(own: Checked) -> dict[str, Any]:
    return {
        "asked": own.asked,
        "contexts": own.contexts,
        **{name: _share(getattr(own, name)) for name in ("right", "agreeing")},
        "alpha": None if math.isnan(own.alpha) else own.alpha,
    }


def _share(share: Share) -> dict[str, Any]:
    value = None if math.isnan(share.value) else share.value
    return {"value": value, "low": share.low, "high": share.high, "n": share.of}


def _contexts(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,5}", text):
        raise argparse.ArgumentTypeError(f"“{text}” is not a number of contexts, 1 to 999999")
    return int(text)
