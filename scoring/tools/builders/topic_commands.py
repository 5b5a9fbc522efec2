"""The commands on CL-Summ topics: `build-topics`, `describe-topics` and `convert-biomedsumm`."""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

FORMS = ("auto", "lines", "unarxive", "s2orc", "scixml")
HELP = {
    "seed": "decides the lot",
    "topics": "so many topics at most",
    "more_than_citations": "a reference paper has more than so many citations",
    "years_apart": "the first and the last citation are so many years apart",
    "fewest_citing": "so many papers of the corpus cite it",
    "most_others": "so many citing papers besides the oldest and the newest",
    "last_year": "reference papers have appeared by then",
}


def add_commands(commands: Any) -> None:
    built = commands.add_parser(
        "build-topics", help="build CL-Summ topics for annotation from a corpus", allow_abbrev=False
    )
    built.add_argument("corpus", type=Path)
    built.add_argument("--form", choices=FORMS, default="auto", help="how the corpus is written")
    built.add_argument("--out", type=Path, required=True, metavar="DIR")
    built.add_argument("--json", action="store_true")
    for name, help_text in HELP.items():
        built.add_argument(f"--{name.replace('_', '-')}", type=_number, metavar="N", help=help_text)
    built.set_defaults(command=build)

    other = commands.add_parser(
        "convert-biomedsumm",
        help="write BiomedSumm's topics in the layout of CL-Summ, ranges of characters as sentences",
        allow_abbrev=False,
    )
    other.add_argument("data", type=Path)
    other.add_argument("--out", type=Path, required=True, metavar="DIR")
    other.add_argument("--json", action="store_true")
    other.set_defaults(command=convert_biomedsumm)

    told = commands.add_parser(
        "describe-topics",
        help="say what CL-Summ topics consist of, such as sentences a citance",
        allow_abbrev=False,
    )
    given = told.add_mutually_exclusive_group(required=True)
    for option, help_text in (("--gold", "topics with their annotation"), ("--inputs", "topics without")):
        given.add_argument(option, type=Path, nargs="+", action="extend", metavar="PATH", help=help_text)
    told.add_argument(
        "--annotation", default="auto", metavar="VERSION", help="such as annv2; the newest unless said"
    )
    told.add_argument("--json", action="store_true")
    told.set_defaults(command=describe)


def build(given: argparse.Namespace) -> int:
    from scoring.tools.builders.build_topics import build_topics
    from scoring.tools.builders.topics import TopicRules

    chosen = {field.name: getattr(given, field.name) for field in fields(TopicRules)}
    rules = TopicRules(**{name: value for name, value in chosen.items() if value is not None})
    facts = build_topics(given.corpus, given.out, rules, form=given.form)
    citances = facts.get("statistics", {}).get("citances", {}).get("sum", 0)
    made, eligible = len(facts["topics"]), facts["eligible"]
    words = f"{made:,} topics of {eligible:,} that could be one, {citances:,} citances, in {given.out}"
    lines = [words, *(f"  {count:,} left out: {why}" for why, count in facts["left_out"].items())]
    sys.stdout.write("\n".join([json.dumps(facts, ensure_ascii=False)] if given.json else lines) + "\n")
    return 0


def convert_biomedsumm(given: argparse.Namespace) -> int:
    from scoring.tools.builders.biomedsumm import convert

    counts = dict(sorted(convert(given.data, given.out).items()))
    lines = [f"topics in {given.out}", *(f"  {count:,} references {how}" for how, count in counts.items())]
    sys.stdout.write("\n".join([json.dumps({"references": counts})] if given.json else lines) + "\n")
    return 0


def describe(given: argparse.Namespace) -> int:
    from scoring.tools.builders.clsumm_statistics import statistics, statistics_rows
    from tasks.types.base import checked_options
    from tasks.types.clsumm.inputs import read_input_topics
    from tasks.types.clsumm.options import ANNOTATION
    from tasks.types.clsumm.topics import read_topics
    from tasks.types.files import open_inputs
    from tasks.types.problems import InputRefused, Problem

    options = checked_options("describe-topics", (ANNOTATION,), {"annotation": given.annotation})
    files = open_inputs(given.gold or given.inputs)
    gold = read_topics(files, options).topics if given.gold else []
    inputs = read_input_topics(files, options)
    if not inputs:
        raise InputRefused([Problem(message="no topic with a reference paper was found")])
    facts = statistics(inputs, gold)
    rows = [f"{name:<28} {value}" for name, value in statistics_rows(facts)]
    sys.stdout.write("\n".join([json.dumps(facts)] if given.json else rows) + "\n")
    return 0


def _number(text: str) -> int:
    if not re.fullmatch(r"\d{1,6}", text):
        raise argparse.ArgumentTypeError(f"“{text}” is not a whole number")
    return int(text)
