"""The command that has a model write citation texts: `python -m scoring write-texts`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

MAX_COUNT = 100_000


def add_commands(commands: Any) -> None:
    writing = commands.add_parser(
        "write-texts",
        help="write a run of citation texts by a sequence-to-sequence model from a folder",
        allow_abbrev=False,
    )
    writing.add_argument("--model", type=Path, required=True, metavar="DIR")
    writing.add_argument(
        "--inputs", type=Path, nargs="+", action="extend", metavar="PATH", required=True,
        help="the inputs that participants have; of gold no target is read",
    )  # fmt: skip
    writing.add_argument("--out", type=Path, required=True, metavar="FILE")
    writing.add_argument("--cited-only", action="store_true", help="the cited abstracts without context")
    for name, default, told in (
        ("--max-input", 4096, "tokens that are read"),
        ("--max-output", 1024, "tokens that are written"),
        ("--beams", 1, "beams of the search"),
        ("--batch", 4, "texts that go through the model together"),
    ):
        writing.add_argument(name, type=_count, default=default, metavar="N", help=f"{told}, {default}")
    writing.add_argument("--json", action="store_true")
    writing.set_defaults(command=write_texts)


def write_texts(given: argparse.Namespace) -> int:
    from scoring.tools.baselines.citation_text_seq2seq import Writing, answers
    from tasks.types.files import open_inputs

    writing = Writing(
        model=given.model,
        cited_only=given.cited_only,
        max_input=given.max_input,
        max_output=given.max_output,
        beams=given.beams,
        batch=given.batch,
    )
    lines = [json.dumps(answer, ensure_ascii=False) for answer in answers(open_inputs(given.inputs), writing)]
    given.out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    print(json.dumps({"lines": len(lines)}) if given.json else f"{given.out}: {len(lines)} lines")
    return 0


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MAX_COUNT):
        raise argparse.ArgumentTypeError(f"“{text}”: expected a whole number from 1 to {MAX_COUNT}")
    return int(text)
