"""What the commands of tools and papers share: their options, and how they say what they did."""

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.types import TaskType

FORMS = ("auto", "lines", "clsumm", "unarxive", "s2orc", "scixml")
COLLECTIONS = ("papers", "references")

Given = argparse.Namespace
OptionsOf = Callable[[TaskType, Sequence[str]], Mapping[str, str]]
Adding = Callable[[str, Callable[[Given], int], str], argparse.ArgumentParser]


def adding(commands: Any, options_of: OptionsOf) -> Adding:
    def add(name: str, run: Callable[[Given], int], help_text: str) -> argparse.ArgumentParser:
        added: argparse.ArgumentParser = commands.add_parser(name, help=help_text, allow_abbrev=False)
        added.add_argument("--json", action="store_true")
        added.set_defaults(command=run, options_of=options_of)
        return added

    return add


def add_paths(
    command: Any, flag: str, help_text: str | None = None, *, metavar: str = "PATH", required: bool = True
) -> None:
    more = {"required": True} if required else {}
    command.add_argument(flag, type=Path, nargs="+", action="extend", metavar=metavar, help=help_text, **more)


def add_option(command: argparse.ArgumentParser, help_text: str | None = None) -> None:
    command.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help=help_text)


def add_resolution_options(command: argparse.ArgumentParser, around: int) -> None:
    command.add_argument("--fewest-references", type=int, default=8, metavar="N")
    command.add_argument(
        "--collection",
        choices=COLLECTIONS,
        default=COLLECTIONS[0],
        help="candidates are papers of the corpus, or all references",
    )
    add_number(command, "--around", number_of("sentences", 999, 0), around, "sentences kept on each side")


def whole_number(refusal: str, least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not re.fullmatch(rf"[0-9]{{1,{len(str(most))}}}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"“{text}”{refusal}")
        return int(text)

    return number


def number_of(noun: str, most: int = 999_999, least: int = 1) -> Callable[[str], int]:
    return whole_number(f" is not a number of {noun}, {least} to {most}", least, most)


def add_number(
    command: Any, flag: str, kind: Callable[[str], int], default: int | None, help_text: str | None = None
) -> None:
    command.add_argument(flag, type=kind, default=default, metavar="N", help=help_text)


def say(args: Given, facts: Any, *lines: str) -> int:
    if args.json:
        lines = (facts if isinstance(facts, str) else json.dumps(facts, ensure_ascii=False, default=str),)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


def write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def markdown_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], *, in_numbers: bool = False
) -> Iterator[str]:
    """The lines of a table and a blank one; all columns but the first are numbers where it is said so."""
    yield f"| {' | '.join(heads)} |"
    yield f"| --- |{(' ---: |' if in_numbers else ' --- |') * (len(heads) - 1)}"
    for row in rows:
        cells = (f"{cell:,}" if type(cell) is int else str(cell).replace("|", "\\|") for cell in row)
        yield f"| {' | '.join(cells)} |"
    yield ""
