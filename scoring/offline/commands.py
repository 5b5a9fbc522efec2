"""Commands of the offline scorer besides scoring: `pairs`, `decide`, `agreement`, `power` and `verify`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.offline.scoring import as_json
from scoring.offline.terminal import GREEN, RED, bar, is_terminal, painted, printable
from tasks.types import InputRefused, OptionRefused, TaskType, task_type
from tasks.types.runs import read_run

if TYPE_CHECKING:
    from scoring.metrics.entailed import CitationMetric
    from tasks.types import Pairs

#: Turns what `--option` was given into the options of a task type.
OptionsOf = Callable[[TaskType, Sequence[str]], dict[str, str]]
DIFFERS, NOTHING = 1, 3


def add_commands(commands: Any, options_of: OptionsOf) -> None:
    def added(name: str, does: Callable[[argparse.Namespace], int], words: str) -> argparse.ArgumentParser:
        command: argparse.ArgumentParser = commands.add_parser(name, help=words, allow_abbrev=False)
        command.set_defaults(command=does)
        return command

    pairs = added(
        "pairs", lambda args: export_pairs(args, options_of), "write what has to be decided for a run"
    )
    pairs.add_argument("--json", action="store_true", help="one list in place of a line for each pair")
    pairs.add_argument("--next", action="store_true", help="only what has to be decided in any case")
    agreeing = added(
        "agreement", lambda args: show_agreement(args, options_of), "compare people with automatic labels"
    )
    agreeing.add_argument("--judgements", type=Path, required=True, metavar="FILE")
    agreeing.add_argument("--json", action="store_true", help="as without it")
    powering = added(
        "power", lambda args: show_power(args, options_of), "say how small a difference a test set can show"
    )
    powering.add_argument("--json", action="store_true")
    for command in (pairs, agreeing, powering):
        several = "two or more, each with --run" if command is powering else None
        command.add_argument("type")
        command.add_argument("--gold", type=Path, nargs="+", action="extend", metavar="PATH", required=True)
        command.add_argument("--run", type=Path, action="append", metavar="PATH", required=True, help=several)
        command.add_argument("--rules", metavar="NAME")
        command.add_argument("--option", action="append", default=[], metavar="KEY=VALUE")

    deciding = added("decide", decide_pairs, "have a model decide exported pairs")
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

    verifying = added("verify", verify_archive, "compute the numbers of a season's archive again")
    verifying.add_argument("archive", type=Path, metavar="DIR", help="what `export_season --archive` wrote")
    verifying.add_argument(
        "--key", type=Path, metavar="FILE", help="the site's public key, by which receipts must be signed"
    )
    verifying.add_argument("--json", action="store_true", help="print the result as JSON")


def export_pairs(args: argparse.Namespace, options_of: OptionsOf) -> int:
    """One line on standard output for each pair that is not decided yet."""
    from scoring.offline.entailment_exchange import pair_line, pending_pairs

    metrics, runs = _read(args, options_of)
    pending = {pair: None for run in runs for pair in pending_pairs(metrics, run, is_next_only=args.next)}
    lines = [pair_line(pair) for pair in pending]
    for line in [lines] if args.json else lines:
        print(json.dumps(line, ensure_ascii=False))
    print(f"{len(pending)} pairs are pending", file=sys.stderr)
    return 0


def decide_pairs(args: argparse.Namespace) -> int:
    from scoring.metrics.entailment import ModelJudge
    from scoring.offline.entailment_exchange import decide, read_pairs

    if args.batch < 1:
        raise OptionRefused(f"--batch {args.batch}: expected at least 1")
    judge = ModelJudge(args.model, batch=args.batch, device=args.device)
    pairs = read_pairs(args.pairs)
    with bar("deciding", len(pairs), "pairs") as at:

        def progress(done: int, total: int) -> None:
            if is_terminal(sys.stderr):
                # Pairs that were decided before count as done.
                at(len(pairs) - total + done)
            else:
                print(json.dumps({"step": "deciding", "done": done / total}), file=sys.stderr, flush=True)

        now, before = decide(pairs, judge, args.labels, progress)
    if args.json:
        print(json.dumps({"decided": now, "before": before, "model": judge.name}))
    else:
        print(f"{now} pairs decided by {judge.name}; {before} were decided before")
    return 0


def show_agreement(args: argparse.Namespace, options_of: OptionsOf) -> int:
    from scoring.offline.evaluate import details_of
    from scoring.stats.people_and_labels import agreement, automatic_labels, items_of, read_judgements

    metrics, runs = _read(args, options_of)
    if len(runs) != 1:
        raise OptionRefused(f"judgements are of one run, {len(runs)} given")
    details = details_of(metrics, runs[0].answers)
    judgements = read_judgements(args.judgements, items_of(details).__contains__)
    print(json.dumps(agreement(judgements, automatic_labels(details)), ensure_ascii=False))
    return 0


def _read(args: argparse.Namespace, options_of: OptionsOf) -> tuple[list[CitationMetric], list[Pairs]]:
    from scoring.metrics import metrics_of
    from scoring.metrics.entailed import CitationMetric
    from scoring.offline.scoring import read_split
    from tasks.types.files import open_input
    from tasks.types.problems import fatal

    chosen = task_type(args.type)
    rules, options = chosen.checked_rules(args.rules), options_of(chosen, args.option)
    declared = metrics_of(chosen, rules, options)
    metrics = [metric for metric in declared if isinstance(metric, CitationMetric)]
    if not metrics:
        raise OptionRefused(f"no metric of {chosen.slug} asks what entails what")
    split = read_split(chosen, args.gold, options)
    read = [read_run(chosen, open_input(run), split.index, options) for run in args.run]
    if problems := fatal([problem for _, of_run in read for problem in of_run]):
        raise InputRefused(problems)
    return metrics, [chosen.pairs_of(split, answers, rules, options) for answers, _ in read]


def show_power(args: argparse.Namespace, options_of: OptionsOf) -> int:
    from scoring.offline.compare import power, read_runs

    if len(args.run) < 2:
        raise OptionRefused("differences are between runs: give two or more, such as baselines, with --run")
    chosen = task_type(args.type)
    rules, options = chosen.checked_rules(args.rules), options_of(chosen, args.option)
    read = read_runs(chosen, args.gold, args.run, rules=rules, options=options)
    result = power(read, unit=chosen.unit_of(options))
    if args.json:
        print(as_json(result))
        return 0
    print(f"{result['units']} {result['unit']}s; the smallest p of two runs is {result['smallest_p']:.3g}")
    print("the smallest difference that is found with a chance of 80 %, at 1, 2 and 4 times the units:")
    for name, metric in result["metrics"].items():
        differences = ("none" if value is None else f"{value:.6f}" for value in metric["detectable"].values())
        print(f"{name:<40} {'  '.join(f'{words:>9}' for words in differences)}")
    return 0


def verify_archive(args: argparse.Namespace) -> int:
    from scoring.offline.receipts import keys_in
    from scoring.offline.verify import verify

    try:
        keys = keys_in(args.key.read_text(encoding="utf-8")) if args.key else ()
    except ValueError as fault:
        expected = "64 hexadecimal digits on a line"
        raise OptionRefused(f"{args.key} holds no public key; expected {expected}") from fault
    with bar("verifying", 1.0) as at:
        verified = verify(args.archive, at, keys)
    if args.json:
        print(as_json(verified.as_dict()))
    else:
        *details, last = verified.summary()
        for line in details:
            print(printable(line))
        print(painted(last, RED if verified.differing else GREEN, sys.stdout))
    if verified.differing:
        return DIFFERS
    return 0 if verified.checked else NOTHING
