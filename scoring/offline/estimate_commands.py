"""Run the commands `estimates sheet` and `estimates scores`, which estimate scores from
human labels of a sample.
"""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING

from scoring.offline.arguments import print_output, write_json_lines
from scoring.offline.gold_key import build_gold_key
from scoring.offline.scoring import ScoringRequest, format_json
from scoring.offline.terminal import replace_control_characters
from tasks.types import OptionRefused, task_type

if TYPE_CHECKING:
    from scoring.offline.estimates import LabellingPlan

#: People can label the kinds of units in ESTIMATED, to estimate scores.
ESTIMATED = ("nuggets", "citations", "claims")


def write_estimates_sheet(args: argparse.Namespace) -> int:
    """Write a sheet of judgements for people to label, as JSON lines in the format of
    the judgement ledger.
    """
    from scoring.offline.estimates import (
        format_sheet_name,
        iterate_judge_questions,
        iterate_sheet_rows,
        read_units,
    )

    plan = _build_plan(args)
    units = [read_units(scoring, plan.of) for scoring in _build_scoring_requests(args)]
    if args.asked:
        write_json_lines(
            args.asked,
            iterate_judge_questions(_build_scoring_requests(args), plan.kind),
        )
    judgements = write_json_lines(args.out, iterate_sheet_rows(plan, units)) - 1
    facts = {
        "sheet": format_sheet_name(plan),
        "judgements": judgements,
        "units": [len(plan.drawn(unit)) for unit in units],
    }
    return print_output(
        args, facts, f"{args.out}: {judgements:,} judgements for people"
    )


def estimate_scores(args: argparse.Namespace) -> int:
    from scoring.offline.estimates import (
        compute_estimates_as_json,
        format_estimates,
        group_labels_of_people,
        iterate_pseudonymous_lines,
        read_labelled_run,
        read_people_rows,
    )

    plan, rows = _build_plan(args), read_people_rows(args.people, args.of)
    people = group_labels_of_people(rows, args.of)
    runs = [
        (scoring, read_labelled_run(scoring, plan.of))
        for scoring in _build_scoring_requests(args)
    ]
    names = Counter(run.name for _scoring, run in runs)
    if twice := [name for name, count in names.items() if count > 1]:
        raise OptionRefused(f"two runs are called “{twice[0]}”; rename a file")
    facts = compute_estimates_as_json(plan, runs, people)
    if args.rows:
        lines = "".join(iterate_pseudonymous_lines(rows, plan))
        args.rows.write_text(lines, encoding="utf-8")
    return print_output(
        args,
        format_json(facts),
        *map(replace_control_characters, format_estimates(facts)),
    )


def _build_plan(args: argparse.Namespace) -> LabellingPlan:
    from scoring.offline.estimates import LabellingPlan

    return LabellingPlan(of=args.of, labels=args.labels, seed=args.seed)


def _build_scoring_requests(args: argparse.Namespace) -> list[ScoringRequest]:
    chosen = task_type(args.type)
    names = args.run_name or [run.name for run in args.run]
    if len(names) != len(args.run):
        raise OptionRefused(
            f"--run-name is given {len(names)} times and --run {len(args.run)} times"
        )
    return [
        ScoringRequest(
            task_type=chosen,
            gold=args.gold,
            run=run,
            run_name=name,
            rules=chosen.validate_rule_set_name(args.rules),
            options=args.options_of(chosen, args.option),
            key=build_gold_key(args),
        )
        for run, name in zip(args.run, names, strict=True)
    ]
