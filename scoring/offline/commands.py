"""The commands about entailment: `python -m scoring pairs | decide | agreement`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.offline.scoring import as_json, read_runs
from scoring.offline.terminal import GREEN, RED, Done, bar, is_terminal, painted, printable
from tasks.types import InputRefused, OptionRefused, TaskType, task_type
from tasks.types.runs import read_run

if TYPE_CHECKING:
    from scoring.metrics.entailed import CitationMetric
    from tasks.types import Pairs

OptionsOf = Callable[[TaskType, Sequence[str]], dict[str, str]]


def add_entailment(commands: Any, options_of: OptionsOf) -> None:
    """``options_of`` turns what `--option` was given into the options of a task type."""
    pairs = commands.add_parser("pairs", help="write what has to be decided for a run", allow_abbrev=False)
    pairs.add_argument("--json", action="store_true", help="one list in place of a line for each pair")
    pairs.add_argument("--next", action="store_true", help="only what has to be decided in any case")
    pairs.set_defaults(command=lambda given: export_pairs(given, options_of))

    agreeing = commands.add_parser(
        "agreement", help="compare people with automatic labels", allow_abbrev=False
    )
    agreeing.add_argument("--judgements", type=Path, required=True, metavar="FILE")
    agreeing.set_defaults(command=lambda given: show_agreement(given, options_of))
    agreeing.add_argument("--json", action="store_true", help="as without it")
    for command in (pairs, agreeing):
        command.add_argument("type")
        command.add_argument("--gold", type=Path, nargs="+", action="extend", metavar="PATH", required=True)
        command.add_argument("--run", type=Path, action="append", metavar="PATH", required=True)
        command.add_argument("--rules", metavar="NAME")
        command.add_argument("--option", action="append", default=[], metavar="KEY=VALUE")

    deciding = commands.add_parser("decide", help="have a model decide exported pairs", allow_abbrev=False)
    deciding.add_argument("--model", required=True, metavar="PATH_OR_NAME")
    deciding.add_argument("--pairs", type=Path, required=True, metavar="FILE")
    deciding.add_argument(
        "--labels", type=Path, required=True, metavar="FILE", help="added to; never asked again"
    )
    deciding.add_argument("--batch", type=int, default=8, metavar="N")
    deciding.add_argument(
        "--device", default="auto", help="cpu, cuda, cuda:1; auto takes a GPU where there is one"
    )
    deciding.add_argument("--json", action="store_true")
    deciding.set_defaults(command=decide_pairs)


def export_pairs(given: argparse.Namespace, options_of: OptionsOf) -> int:
    """One line on standard output for each pair that is not decided yet."""
    from scoring.offline.entailment_exchange import pair_line, pending_pairs

    metrics, runs = _read(given, options_of)
    found = {pair: None for run in runs for pair in pending_pairs(metrics, run, is_next_only=given.next)}
    lines = [pair_line(pair) for pair in found]
    for line in [lines] if given.json else lines:
        print(json.dumps(line, ensure_ascii=False))
    print(f"{len(found)} pairs are pending", file=sys.stderr)
    return 0


def decide_pairs(given: argparse.Namespace) -> int:
    from scoring.metrics.entailment.judges import ModelJudge
    from scoring.offline.entailment_exchange import decide, read_pairs

    if given.batch < 1:
        raise OptionRefused(f"--batch {given.batch}: expected at least 1")
    judge = ModelJudge(given.model, batch=given.batch, device=given.device)
    pairs = read_pairs(given.pairs)
    with bar("deciding", len(pairs), "pairs") as at:
        told = _on_the_bar(at, len(pairs)) if is_terminal(sys.stderr) else _show_progress
        now, before = decide(pairs, judge, given.labels, told)
    if given.json:
        print(json.dumps({"decided": now, "before": before, "model": judge.name}))
        return 0
    print(f"{now} pairs decided by {judge.name}; {before} were decided before")
    return 0


def show_agreement(given: argparse.Namespace, options_of: OptionsOf) -> int:
    from scoring.metrics.entailment.judgements import read_judgements
    from scoring.offline.matrices import details_of
    from scoring.stats.people_and_labels import agreement, automatic_labels, items_of

    metrics, runs = _read(given, options_of)
    if len(runs) != 1:
        raise OptionRefused(f"judgements are of one run, {len(runs)} given")
    details = details_of(metrics, runs[0].answers)
    known = items_of(details)
    judgements = read_judgements(given.judgements, known.__contains__)
    print(json.dumps(agreement(judgements, automatic_labels(details)), ensure_ascii=False))
    return 0


def _read(given: argparse.Namespace, options_of: OptionsOf) -> tuple[list[CitationMetric], list[Pairs]]:
    """The metrics that ask for entailment, and the rows of each run. Raises OptionRefused, InputRefused."""
    from scoring.metrics import metrics_of
    from scoring.metrics.entailed import CitationMetric
    from scoring.offline.scoring import read_split
    from tasks.types.files import open_input
    from tasks.types.problems import fatal

    chosen = task_type(given.type)
    rules, options = chosen.checked_rules(given.rules), options_of(chosen, given.option)
    declared = metrics_of(chosen, rules, options)
    metrics = [metric for metric in declared if isinstance(metric, CitationMetric)]
    if not metrics:
        raise OptionRefused(f"no metric of {chosen.slug} asks what entails what")
    split = read_split(chosen, given.gold, options)
    read = [read_run(chosen, open_input(run), split.index, options) for run in given.run]
    if problems := fatal([problem for _, found in read for problem in found]):
        raise InputRefused(problems)
    return metrics, [chosen.pair(split, answers, rules, options) for answers, _ in read]


def _on_the_bar(at: Done, pairs: int) -> Callable[[int, int], None]:
    """Pairs that were decided before count as done."""
    return lambda done, total: at(pairs - total + done)


def _show_progress(done: int, total: int) -> None:
    print(json.dumps({"step": "deciding", "done": done / total}), file=sys.stderr, flush=True)


def add_power(commands: Any, options_of: OptionsOf) -> None:
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
    from scoring.offline.compare import power

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


DIFFERS, NOTHING = 1, 3


def add_verify(commands: Any) -> None:
    command = commands.add_parser(
        "verify", help="compute the numbers of a season's archive again", allow_abbrev=False
    )
    command.add_argument("archive", type=Path, metavar="DIR", help="what `export_season --archive` wrote")
    command.add_argument("--json", action="store_true", help="print the result as JSON")
    command.set_defaults(command=verify_archive)


def verify_archive(given: argparse.Namespace) -> int:
    from scoring.offline.verify import verify

    with bar("verifying", 1.0) as at:
        verified = verify(given.archive, at)
    if given.json:
        print(as_json(verified.as_dict()))
    else:
        *details, last = verified.summary()
        for line in details:
            print(printable(line))
        print(painted(last, RED if verified.differing else GREEN, sys.stdout))
    if verified.differing:
        return DIFFERS
    return 0 if verified.checked else NOTHING
