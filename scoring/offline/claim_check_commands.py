"""The commands about badly parsed claims: `python -m scoring claim-sheet | claim-check`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.types import InputRefused, TaskType, task_type
from tasks.types.base import OFFICIAL

if TYPE_CHECKING:
    from tasks.types import Pairs

TYPE = "positional-citations"
OptionsOf = Callable[[TaskType, Sequence[str]], dict[str, str]]


def add_commands(commands: Any, options_of: OptionsOf) -> None:
    blank = commands.add_parser(
        "claim-sheet", help="write the claims of a run, to be rewritten by people or a model"
    )
    blank.add_argument("--out", type=Path, required=True, metavar="FILE")
    blank.set_defaults(command=lambda given: write_sheet(given, options_of))
    checked = commands.add_parser(
        "claim-check", help="say how many claims keep their entailment label when they are rewritten"
    )
    checked.add_argument("--sheet", type=Path, required=True, metavar="FILE", help="the sheet, filled in")
    checked.add_argument("--pairs", type=Path, metavar="FILE", help="write there what is not decided yet")
    checked.set_defaults(command=lambda given: check_claims(given, options_of))
    for command in (blank, checked):
        command.allow_abbrev = False
        command.add_argument("--gold", type=Path, nargs="+", action="extend", metavar="PATH", required=True)
        command.add_argument("--run", type=Path, required=True, metavar="PATH")
        command.add_argument("--rules", metavar="NAME")
        command.add_argument("--option", action="append", default=[], metavar="KEY=VALUE")
        command.add_argument("--json", action="store_true")


def write_sheet(given: argparse.Namespace, options_of: OptionsOf) -> int:
    from scoring.offline.claim_check import sheet

    rows, rules, _ = _read(given, options_of)
    lines = list(sheet(rows, is_official=rules == OFFICIAL))
    given.out.write_text(
        "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8"
    )
    print(json.dumps({"claims": len(lines)}) if given.json else f"{given.out}: {len(lines)} claims")
    return 0


def check_claims(given: argparse.Namespace, options_of: OptionsOf) -> int:
    from scoring.metrics.entailment.judges import judge_of
    from scoring.offline.claim_check import Claim, checked, pairs_of, pending, read_sheet, sheet
    from scoring.offline.entailment_exchange import pair_line

    rows, rules, options = _read(given, options_of)
    questions = {question.id: question for question in rows.gold if question is not None}
    known = {
        Claim(line["id"], line["claim"], tuple(line["marks"])): questions[line["id"]]
        for line in sheet(rows, is_official=rules == OFFICIAL)
    }
    asked = pairs_of(read_sheet(given.sheet, known), known)
    judge = judge_of(options)
    if given.pairs:
        lines = [json.dumps(pair_line(pair), ensure_ascii=False) for pair in pending(asked, judge)]
        given.pairs.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    found = checked(asked, known, judge)
    if given.json:
        print(json.dumps({"entailment": judge.name, "data_sets": [asdict(own) for own in found]}))
        return 0
    print(f"labels by {judge.name}")
    print(f"{'data set':<20} {'claims':>8} {'same':>8} {'share':>8} {'lost':>6} {'gained':>6} {'pending':>8}")
    for own in found:
        decided = own.claims - own.pending
        share = f"{100 * own.same / decided:.2f} %" if decided else "-"
        print(
            f"{own.dataset:<20} {own.claims:>8} {own.same:>8} {share:>8} {own.no_longer_entailed:>6} "
            f"{own.entailed_now:>6} {own.pending:>8}"
        )
    return 0


def _read(given: argparse.Namespace, options_of: OptionsOf) -> tuple[Pairs, str, dict[str, str]]:
    """The rows of the run, the rules and the options. Raises OptionRefused, InputRefused."""
    from scoring.offline.scoring import read_split
    from tasks.types.files import open_input
    from tasks.types.problems import fatal
    from tasks.types.runs import read_run

    chosen = task_type(TYPE)
    rules, options = chosen.checked_rules(given.rules), options_of(chosen, given.option)
    split = read_split(chosen, given.gold, options)
    run, problems = read_run(chosen, open_input(given.run), split.index, options)
    if fatal(problems):
        raise InputRefused(problems)
    return chosen.pair(split, run, rules, options), rules, options
