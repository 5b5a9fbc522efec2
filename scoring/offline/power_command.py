"""`python -m scoring power`: how small a difference a test set can show."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scoring.offline.scoring import as_json, read_runs
from tasks.types import OptionRefused, TaskType, task_type

OptionsOf = Callable[[TaskType, Sequence[str]], dict[str, str]]


def add_command(commands: Any, options_of: OptionsOf) -> None:
    command = commands.add_parser(
        "power", help="say how small a difference a test set can show", allow_abbrev=False
    )
    command.add_argument("type")
    command.add_argument("--gold", type=Path, nargs="+", action="extend", metavar="PATH", required=True)
    command.add_argument(
        "--run",
        type=Path,
        action="append",
        metavar="PATH",
        required=True,
        help="two or more, each with --run",
    )
    command.add_argument("--rules", metavar="NAME")
    command.add_argument("--option", action="append", default=[], metavar="KEY=VALUE")
    command.add_argument("--json", action="store_true")
    command.set_defaults(command=lambda given: show_power(given, options_of))


def show_power(given: argparse.Namespace, options_of: OptionsOf) -> int:
    from scoring.offline.power import power

    if len(given.run) < 2:
        raise OptionRefused("differences are between runs: give two or more, such as baselines, with --run")
    chosen = task_type(given.type)
    rules, options = chosen.checked_rules(given.rules), options_of(chosen, given.option)
    found = power(read_runs(chosen, given.gold, given.run, rules=rules, options=options), unit=chosen.unit)
    if given.json:
        print(as_json(found))
        return 0
    units, unit = found["units"], found["unit"]
    print(f"{units} {unit}s; the smallest p of two runs is {found['smallest_p']:.3g}")
    print("the smallest difference that is found with a chance of 80 %, at 1, 2 and 4 times the units:")
    for name, metric in found["metrics"].items():
        told = "  ".join(f"{_shown(value):>9}" for value in metric["detectable"].values())
        print(f"{name:<40} {told}")
    return 0


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.6f}"
