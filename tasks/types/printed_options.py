"""Options as readers see them: a file that one names, without the folder in which this machine keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath, PureWindowsPath


def printed_options(options: Mapping[str, str]) -> dict[str, str]:
    """
    >>> printed_options({"parser": "/srv/data/parses.jsonl", "entailment": "labels:/srv/l.jsonl"})
    {'parser': 'parses.jsonl', 'entailment': 'labels:l.jsonl'}
    """
    return {name: _without_folder(value) for name, value in options.items()}


def _without_folder(value: str) -> str:
    head, separator, path = value.partition(":")
    if separator and len(head) > 1 and _is_absolute(path):
        return f"{head}:{_name(path)}"
    return _name(value) if _is_absolute(value) else value


def _is_absolute(path: str) -> bool:
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()


def _name(path: str) -> str:
    return PureWindowsPath(path).name if PureWindowsPath(path).drive else PurePosixPath(path).name
