"""Create argument parsers from `commands.toml` files.

Each table of a `commands.toml` file declares a command. `help` is its help text. The
key `does` names the function of a command, if the function has another name than the
command. The key `needs_scorer` is true if the command needs the packages of the extra
`score`. The key `one_of` lists groups of mutually exclusive arguments. All other keys
of a table are arguments of the command in order. A declared argument has the parameters
of `add_argument`, or refers to an argument in the table `shared`. Every command starts
with the arguments in the table `every`.
"""

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from tasks.types import TaskType

ARGUMENT_TYPE_BY_NAME: Mapping[str, Callable[[str], Any]] = {
    "path": Path,
    "int": int,
    "float": float,
}


def add_declared_commands(
    commands: Any, file: Path, names: Mapping[str, Any], **defaults: Any
) -> None:
    """Add the commands that a `commands.toml` file declares to an argument parser.
    ``names`` maps names in the file to Python functions, types and lists of choices.
    """
    tables = tomllib.loads(file.read_text(encoding="utf-8"))
    numbers = {
        name: whole_number(**bounds)
        for name, bounds in tables.pop("numbers", {}).items()
    }
    every, shared = tables.pop("every", {}), tables.pop("shared", {})
    named = {**ARGUMENT_TYPE_BY_NAME, **numbers, **names}

    def add_command_tables(commands: Any, tables: Mapping[str, Any]) -> None:
        for name, table in tables.items():
            command = commands.add_parser(
                name, help=table.pop("help"), allow_abbrev=False
            )
            if table.pop("is_group", False):
                add_command_tables(
                    command.add_subparsers(required=True, metavar="COMMAND"), table
                )
                continue
            command.set_defaults(
                command=named[table.pop("does", name.replace("-", "_"))],
                needs_scorer=table.pop("needs_scorer", False),
                **defaults,
            )
            one_of = table.pop("one_of", ())
            group = (
                command.add_mutually_exclusive_group(required=True)
                if one_of
                else command
            )
            for flag, argument in {**every, **table}.items():
                settings = _build_argument_parameters(
                    flag,
                    shared[argument] if isinstance(argument, str) else argument,
                    named,
                )
                (group if flag in one_of else command).add_argument(flag, **settings)

    add_command_tables(commands, tables)


def _build_argument_parameters(
    flag: str, declared: Mapping[str, Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the parameters of `add_argument` for an argument that a `commands.toml`
    file declares. The first choice of an argument with choices is the default value.
    """
    settings = dict(declared)
    if "type" in settings:
        settings["type"] = named[settings["type"]]
    if choices := settings.get("choices"):
        settings["choices"] = choices = (
            named[choices] if isinstance(choices, str) else choices
        )
        if flag.startswith("-") and "required" not in settings:
            settings.setdefault("default", choices[0])
    if "help" in settings:
        settings["help"] = re.sub(
            r"\{([A-Z_]+)\}", lambda name: ", ".join(named[name[1]]), settings["help"]
        )
    return settings


def whole_number(refusal: str, least: int, most: int) -> Callable[[str], int]:
    def parse_integer(text: str) -> int:
        if (
            not re.fullmatch(rf"[0-9]{{1,{len(str(most))}}}", text)
            or not least <= int(text) <= most
        ):
            raise argparse.ArgumentTypeError(f"“{text}”{refusal}")
        return int(text)

    return parse_integer


ParsedArguments = argparse.Namespace
OptionsParser = Callable[[TaskType, Sequence[str]], Mapping[str, str]]


def collect_dataclass_arguments(args: ParsedArguments, kind: Any) -> dict[str, Any]:
    """Return the command-line arguments that have the name of a dataclass field, as a
    mapping.
    """
    given = ((field.name, getattr(args, field.name, None)) for field in fields(kind))
    return {name: value for name, value in given if value is not None}


def print_step(step: str) -> None:
    """Print the current step of a long command to standard error, if standard error is
    a terminal.
    """
    if sys.stderr.isatty():
        sys.stderr.write(f"{step} …\n")
        sys.stderr.flush()


def print_output(args: ParsedArguments, facts: Any, *lines: str) -> int:
    if args.json:
        lines = (
            facts
            if isinstance(facts, str)
            else json.dumps(facts, ensure_ascii=False, default=str),
        )
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return 0


def write_json_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def format_markdown_table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], *, in_numbers: bool = False
) -> Iterator[str]:
    """Yield the lines of a Markdown table, followed by a blank line. If ``in_numbers``
    is True, all columns except the first are aligned to the right.
    """
    yield f"| {' | '.join(heads)} |"
    yield f"| --- |{(' ---: |' if in_numbers else ' --- |') * (len(heads) - 1)}"
    for row in rows:
        cells = (
            f"{cell:,}" if type(cell) is int else str(cell).replace("|", "\\|")
            for cell in row
        )
        yield f"| {' | '.join(cells)} |"
    yield ""
