"""Run the commands `estimates sheet` and `estimates scores`, which estimate scores from
human labels of a sample.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING

from scoring.offline.arguments import say, write_lines
from scoring.offline.gold_key import gold_key_of
from scoring.offline.scoring import Scoring, as_json
from scoring.offline.terminal import printable
from tasks.types import OptionRefused, task_type

if TYPE_CHECKING:
    from scoring.offline.estimates import Plan

#: People can label the kinds of units in ESTIMATED, to estimate scores.
ESTIMATED = ("nuggets", "citations", "claims")


def write_estimates_sheet(args: argparse.Namespace) -> int:
    """Write a sheet of judgements for people to label, as JSON lines in the format of
    the judgement ledger.
    """
    from scoring.offline.estimates import (
        read_asked,
        read_units,
        sheet_name,
        sheet_rows,
    )

    plan = _plan_of_arguments(args)
    units = [read_units(scoring, plan.of) for scoring in _scorings_of_runs(args)]
    if args.asked:
        write_lines(args.asked, read_asked(_scorings_of_runs(args), plan.kind))
    judgements = write_lines(args.out, sheet_rows(plan, units)) - 1
    facts = {
        "sheet": sheet_name(plan),
        "judgements": judgements,
        "units": [len(plan.drawn(unit)) for unit in units],
    }
    return say(args, facts, f"{args.out}: {judgements:,} judgements for people")


def estimate_scores(args: argparse.Namespace) -> int:
    from scoring.offline.estimates import (
        as_facts,
        as_lines,
        labels_of_people,
        pseudonymous_lines,
        read_people_rows,
        read_run,
    )

    plan, rows = _plan_of_arguments(args), read_people_rows(args.people, args.of)
    people = labels_of_people(rows, args.of)
    runs = [
        (scoring, read_run(scoring, plan.of)) for scoring in _scorings_of_runs(args)
    ]
    names = Counter(run.name for _scoring, run in runs)
    if twice := [name for name, count in names.items() if count > 1]:
        raise OptionRefused(f"two runs are called “{twice[0]}”; rename a file")
    facts = as_facts(plan, runs, people)
    if args.rows:
        lines = "".join(pseudonymous_lines(rows, plan))
        args.rows.write_text(lines, encoding="utf-8")
    return say(args, as_json(facts), *map(printable, as_lines(facts)))


def _plan_of_arguments(args: argparse.Namespace) -> Plan:
    from scoring.offline.estimates import Plan

    return Plan(of=args.of, labels=args.labels, seed=args.seed)


def _scorings_of_runs(args: argparse.Namespace) -> list[Scoring]:
    chosen = task_type(args.type)
    names = args.run_name or [run.name for run in args.run]
    if len(names) != len(args.run):
        raise OptionRefused(
            f"--run-name is given {len(names)} times and --run {len(args.run)} times"
        )
    return [
        Scoring(
            task_type=chosen,
            gold=args.gold,
            run=run,
            run_name=name,
            rules=chosen.checked_rules(args.rules),
            options=args.options_of(chosen, args.option),
            key=gold_key_of(args),
        )
        for run, name in zip(args.run, names, strict=True)
    ]
