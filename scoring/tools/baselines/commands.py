"""The offline scorer's commands around baselines: `baselines`, `baseline`, `human`, `human-line`, `pilot`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring.stats.interval_methods import METHODS
from tasks.types import TaskType, task_type

#: Named here as well, so that nothing heavy is imported to read a command line.
HUMAN = ("clsumm-1a", "clsumm-1b", "clsumm-2")

OptionsOf = Callable[[TaskType, Sequence[str]], Mapping[str, str]]


def add_commands(commands: Any, options_of: OptionsOf) -> None:
    listed = commands.add_parser("baselines", help="list the built-in baselines")
    listed.add_argument("--json", action="store_true")
    listed.set_defaults(command=list_baselines)

    run = commands.add_parser("baseline", help="write a built-in baseline's run", allow_abbrev=False)
    run.add_argument("name")
    run.add_argument("--out", type=Path, required=True, metavar="FILE")
    run.add_argument("--option", action="append", default=[], metavar="KEY=VALUE")
    run.add_argument("--progress", action="store_true", help="problems as JSON objects on standard error")
    run.add_argument("--json", action="store_true")
    run.set_defaults(command=write_run)

    human = commands.add_parser("human", help="score each annotator against the others", allow_abbrev=False)
    human.set_defaults(command=lambda given: print_human_lines(given, options_of))
    line = commands.add_parser(
        "human-line", help="score all annotators, each against the others, as one run", allow_abbrev=False
    )
    line.add_argument("--statistics", type=Path, metavar="FILE", help="keep the matrices behind the numbers")
    line.add_argument("--progress", action="store_true", help="one JSON object per step on standard error")
    line.set_defaults(command=lambda given: print_human_line(given, options_of))
    for command in (human, line):
        command.add_argument("type", choices=HUMAN)
        command.add_argument("--rules", metavar="NAME")
        command.add_argument("--option", action="append", default=[], metavar="KEY=VALUE")
        command.add_argument(
            "--intervals",
            type=int,
            default=1000,
            metavar="N",
            help="0 for no intervals; else the resamples of percentile and bca",
        )
        command.add_argument("--method", choices=METHODS, default=METHODS[0], help="how intervals are made")
        command.add_argument("--seed", type=int, default=0, metavar="S")
        command.add_argument("--json", action="store_true")

    pilot = commands.add_parser("pilot", help="reproduce the pilot's tables as a page", allow_abbrev=False)
    pilot.add_argument("--paper", type=Path, required=True, metavar="FILE", help="the paper's tables as JSON")
    pilot.add_argument("--out", type=Path, required=True, metavar="FILE")
    pilot.add_argument("--json", action="store_true")
    pilot.set_defaults(command=write_pilot_page)
    for command in (run, human, line, pilot):
        command.add_argument("--gold", type=Path, nargs="+", action="extend", metavar="PATH", required=True)


def list_baselines(given: argparse.Namespace) -> int:
    from scoring.tools.baselines import baselines

    if given.json:
        print(
            json.dumps(
                [
                    {
                        "name": baseline.name,
                        "task_types": list(baseline.task_types),
                        "summary": baseline.summary,
                        "source": baseline.source,
                    }
                    for baseline in baselines().values()
                ],
                ensure_ascii=False,
            )
        )
    else:
        for baseline in baselines().values():
            print(f"{baseline.name:<32} {', '.join(baseline.task_types)}\n{'':<32} {baseline.summary}")
    return 0


def write_run(given: argparse.Namespace) -> int:
    from scoring.tools.baselines import UnknownBaseline, baseline
    from tasks.types.base import given_options
    from tasks.types.files import open_inputs

    options = given_options(given.option)
    try:
        chosen = baseline(given.name).with_options(options)
    except UnknownBaseline as unknown:
        print(f"python -m scoring: {unknown}", file=sys.stderr)
        return 2
    words = chosen.words(options)
    count = chosen.write(open_inputs(given.gold), given.out)
    if given.json:
        print(json.dumps({"lines": count, "rests_on": words}, ensure_ascii=False))
    else:
        print(f"{given.out}: {count} lines", *([words] if words else []), sep="\n")
    return 0


def print_human_lines(given: argparse.Namespace, options_of: OptionsOf) -> int:
    from scoring.offline.evaluate import Resampling
    from scoring.offline.scoring import as_json, read_split
    from scoring.tools.baselines.clsumm_human import human_lines

    chosen = task_type(given.type)
    rules, options = chosen.checked_rules(given.rules), options_of(chosen, given.option)
    split = read_split(chosen, given.gold, options)
    resampling = Resampling(resamples=given.intervals, seed=given.seed, method=given.method)
    lines = human_lines(chosen, split, rules=rules, options=options, resampling=resampling)
    if given.json:
        entries = [line.as_dict() for line in lines]
        print(as_json({"task_type": chosen.slug, "rules": rules, "lines": entries}))
        return 0
    if not lines:
        print("no topic has two annotators")
    for line in lines:
        for name, value in line.against_others.metrics.items():
            own = line.against_all.metrics[name].value
            print(f"{line.annotator or 'together':<16} {name:<40} {value.value:.6f}  with own {own:.6f}")
    return 0


def print_human_line(given: argparse.Namespace, options_of: OptionsOf) -> int:
    """What `score` prints, of the human line."""
    from scoring.offline.scoring import Scoring, as_json, keep_statistics, printed, read_split
    from scoring.tools.baselines.clsumm_human import as_one_run

    chosen = task_type(given.type)
    scoring = Scoring(
        task_type=chosen,
        gold=given.gold,
        run=Path(),
        rules=chosen.checked_rules(given.rules),
        options=options_of(chosen, given.option),
        resamples=given.intervals,
        seed=given.seed,
        method=given.method,
    )
    split = read_split(chosen, scoring.gold, scoring.options)
    scores, pairs = as_one_run(
        chosen, split, rules=scoring.rules, options=scoring.options, resampling=scoring.resampling
    )
    if given.statistics:
        keep_statistics(scoring, given.statistics, scores, pairs)
    if given.json:
        print(as_json(printed(scoring, split, scores) | {"run": {"sha256": ""}}))
        return 0
    for name, value in scores.metrics.items():
        print(f"{name:<40} {value.value:.6f}\n{'':<40} {value.signature}")
    return 0


def write_pilot_page(given: argparse.Namespace) -> int:
    from scoring.tools.baselines.clsumm_pilot import pilot_page
    from tasks.types.files import open_inputs

    paper = json.loads(given.paper.read_text(encoding="utf-8"))
    given.out.write_text(pilot_page(open_inputs(given.gold), paper), encoding="utf-8")
    print(json.dumps({"out": str(given.out)}) if given.json else f"wrote {given.out}")
    return 0
