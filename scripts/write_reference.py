"""Writes docs/reference.md from the code: task types, metrics, options, commands and addresses.

`make reference` calls it; a test fails where the page and the code differ, in either direction.
"""

from __future__ import annotations

import argparse
import inspect
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference.md"

if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "platform"), str(ROOT)]
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "citeboard.settings")
    import django

    django.setup()

from django.core.management import get_commands, load_command_class
from django.urls import URLPattern, URLResolver, get_resolver

from scoring.__main__ import build_argument_parser
from scoring.metrics.base import Metric
from tasks.types import TaskType, task_types
from tasks.types.references import MetricRef

HELP = "`--help` behind each says more."
OURS = ("citeboard", "scoring", "tasks")
HEAD = """# Reference

This page is for everyone who looks up a name. It lists all task types with rule sets, metrics, classes and
options, all commands, and all addresses of the site and the API. `make reference` writes it from the code.

    python -m scoring types                           # list the task types
    python -m scoring COMMAND --help                  # explain a command of the offline scorer
    python manage.py COMMAND --help                   # explain a command of the site

| task | section |
| --- | --- |
"""
TASKS = """\
| find a command of the offline scorer | [Commands of the offline scorer](#commands-of-the-offline-scorer) |
| find a command of the site | [Commands of the site](#commands-of-the-site) |
| find a page or an operation of the API | [Addresses](#addresses) |
| set an environment variable | [Settings](settings.md) |
| write a season file | [The season file](season-file.md) |
| learn what a metric means | [How scores are made](scores.md) |
"""


def page() -> str:
    titles = [task_type.title for task_type in task_types().values()]
    types = f"| find a metric or option of a task type | {', '.join(map(_link, titles))} |\n"
    lines = [HEAD + types + TASKS]
    for task_type in task_types().values():
        lines += [f"## {task_type.title}", "", *_type(task_type)]
    lines += [
        "## Commands of the offline scorer",
        "",
        "`python -m scoring COMMAND`; `--help` behind each says more.",
        "",
    ]
    lines += _table(("command", "does"), sorted(_offline()))
    lines += [
        "## Commands of the site",
        "",
        "`python manage.py COMMAND`; `--help` behind each says more.",
        "",
    ]
    lines += _table(("command", "does"), sorted(_commands()))
    lines += [
        "## Addresses",
        "",
        "Pages, then the API; `{…}` stands for what differs.",
        "",
    ]
    lines += _table(("address", "name", "what"), _addresses())
    return "\n".join(lines)


def _link(title: str) -> str:
    anchor = re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
    return f"[{title}](#{anchor})"


def _type(task_type: TaskType) -> Iterator[str]:
    rules = ", ".join(f"`{name}`" for name in task_type.rules)
    yield f"Task type `{task_type.slug}`. Rule sets: {rules}; the first ranks unless a task says otherwise."
    classes = ", ".join(f"`{name}`" for name in task_type.dimensions) or "none"
    yield f"Unit that is resampled: {task_type.unit}. Classes: {classes}."
    yield ""
    yield from _table(("metric", "rule sets", "what"), _metrics(task_type))
    if task_type.options:
        rows = (
            (
                f"`{option.name}`",
                _choices(option.choices),
                f"`{option.default}`" if option.default else "",
                option.summary,
            )
            for option in task_type.options
        )
        yield from _table(("option", "values", "default", "what"), rows)


def _choices(choices: Iterable[str]) -> str:
    return ", ".join(f"`{choice}`" for choice in choices)


def _metrics(task_type: TaskType) -> Iterator[tuple[str, str, str]]:
    options = task_type.validate_options({})
    found: dict[str, MetricRef] = {}
    having: dict[str, list[str]] = {}
    for rules, references in task_type.rules.items():
        for reference in references:
            found.setdefault(reference.name, reference)
            having.setdefault(reference.name, []).append(rules)
    for name, reference in found.items():
        rules = (
            "all"
            if len(having[name]) == len(task_type.rules)
            else _choices(having[name])
        )
        yield (
            f"`{name}`",
            rules,
            _meaning(reference.build_metric(having[name][0], options)),
        )


def _meaning(metric: Metric) -> str:
    """The first sentence of what the metric says of itself."""
    return _first_sentence(inspect.getdoc(type(metric)) or "")


def _first_sentence(text: str) -> str:
    plain = " ".join(text.replace("``", "`").split())
    return re.split(r"(?<=[.?!])\s+(?=[A-Z`*])", plain)[0].replace("|", "\\|")


def _offline(
    commands: argparse.ArgumentParser | None = None, group: str = ""
) -> Iterator[tuple[str, str]]:
    for action in (commands or build_argument_parser())._actions:  # noqa: SLF001  (argparse has no other way)
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for choice in action._choices_actions:  # noqa: SLF001
                yield f"`{group}{choice.dest}`", choice.help or ""
                yield from _offline(action.choices[choice.dest], f"{choice.dest} ")


def _commands() -> Iterator[tuple[str, str]]:
    for name, app in get_commands().items():
        if str(app).startswith(OURS):
            yield f"`{name}`", _first_sentence(load_command_class(str(app), name).help)


def _addresses() -> Iterator[tuple[str, str, str]]:
    for address, pattern in sorted(
        _patterns(get_resolver(), "/"), key=lambda found: found[0]
    ):
        view = inspect.unwrap(pattern.callback)
        view = getattr(view, "cls", getattr(view, "view_class", view))
        module = inspect.getmodule(view)
        if module is not None and module.__name__.startswith(OURS):
            summary = getattr(view, "summary", "")
            summary = summary or view.__doc__ or module.__doc__ or ""
            yield f"`{address}`", pattern.name or "", _first_sentence(summary)


def _patterns(resolver: URLResolver, before: str) -> Iterator[tuple[str, URLPattern]]:
    for pattern in resolver.url_patterns:
        address = before + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(pattern.pattern))
        if isinstance(pattern, URLResolver):
            yield from _patterns(pattern, address)
        elif "(?P" not in address:
            yield address, pattern


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
