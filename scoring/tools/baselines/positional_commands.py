"""The commands that set marks elsewhere: `python -m scoring place-marks` and `mix-positions`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

TYPE = "positional-citations"
SENTENCE_ENDS, OVERLAP, LABELS = "sentence-ends", "overlap", "labels"
WAYS = (SENTENCE_ENDS, OVERLAP, LABELS)


def add_commands(commands: Any) -> None:
    placed = commands.add_parser(
        "place-marks", help="write a run with its citation marks in other places", allow_abbrev=False
    )
    placed.add_argument("--how", choices=WAYS, required=True, help="where marks go")
    placed.add_argument("--out", type=Path, required=True, metavar="FILE")
    placed.add_argument(
        "--option", action="append", default=[], metavar="KEY=VALUE", help="entailment=..., for labels"
    )
    placed.set_defaults(command=place_marks)
    mixed = commands.add_parser(
        "mix-positions",
        help="say how CVCP changes as answers take their marks to sentence ends",
        allow_abbrev=False,
    )
    mixed.add_argument("--steps", type=_steps, default=10, metavar="N")
    mixed.add_argument("--seed", type=int, default=0, metavar="S", help="which answers change first")
    mixed.set_defaults(command=print_mixtures, option=[])
    for command in (placed, mixed):
        command.add_argument("--gold", type=Path, nargs="+", action="extend", metavar="PATH", required=True)
        command.add_argument("--run", type=Path, required=True, metavar="PATH")
        command.add_argument("--json", action="store_true")


def place_marks(given: argparse.Namespace) -> int:
    from scoring.metrics.entailment.judges import judge_of
    from scoring.tools.baselines.positional import at_sentence_ends, by_labels, by_overlap, marked_anew
    from tasks.types.files import open_inputs
    from tasks.types.positional_citations.gold import read_questions

    outputs, options = _outputs(given)
    if given.how == LABELS and options["entailment"] == "none":
        print("python -m scoring: --how labels needs --option entailment=labels:PATH", file=sys.stderr)
        return 2
    questions = {question.id: question for question in read_questions(open_inputs(given.gold))}
    if given.how == SENTENCE_ENDS:
        found = {name: at_sentence_ends(output) for name, output in outputs.items()}
    else:
        marking = by_overlap if given.how == OVERLAP else by_labels(judge_of(options))
        found = {name: marked_anew(output, questions[name], marking) for name, output in outputs.items()}
    lines = [json.dumps({"id": name, "output": output}, ensure_ascii=False) for name, output in found.items()]
    given.out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(json.dumps({"lines": len(lines)}) if given.json else f"{given.out}: {len(lines)} lines")
    return 0


def print_mixtures(given: argparse.Namespace) -> int:
    from scoring.tools.baselines.positional import mixtures

    outputs, options = _outputs(given)
    found = list(mixtures(outputs, steps=given.steps, seed=given.seed, options=options))
    if given.json:
        from scoring.offline.scoring import as_json

        print(as_json({"mixtures": [asdict(mixture) for mixture in found]}))
        return 0
    print(f"{'share':>6} {'positional':>14} {'CVCP':>8} {'pooled':>8}")
    for own in found:
        count = f"{own.positional} of {own.answers}"
        print(f"{own.share:>6.2f} {count:>14} {own.cvcp:>8.4f} {own.pooled:>8.4f}")
    return 0


def _outputs(given: argparse.Namespace) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The run's answers and the options. Raises InputRefused where the run cannot be read."""
    from tasks.types import task_type
    from tasks.types.base import given_options
    from tasks.types.files import open_input, open_inputs
    from tasks.types.problems import InputRefused, fatal
    from tasks.types.runs import read_run

    chosen = task_type(TYPE)
    options = chosen.checked_options(given_options(given.option))
    split = chosen.read_gold(open_inputs(given.gold), options)
    run, problems = read_run(chosen, open_input(given.run), split.index, options)
    if fatal(problems):
        raise InputRefused(problems)
    return run.outputs, options


def _steps(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError(f"“{text}”: expected a whole number from 1 to 100")
    return int(text)
