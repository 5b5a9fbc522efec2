"""A task's released data in the layout of data sets on the Hugging Face Hub, with its card.

https://huggingface.co/docs/hub/datasets-cards. Each file of JSON lines is a configuration with the
splits of the task; gold that is given out has configurations of its own. Nothing has to be run to load it.
"""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Mapping, Sequence
from typing import IO, Any

import yaml

from scoring.exchange.citations import of_task
from scoring.exchange.given_out import GivenSplit
from scoring.exchange.licences import licence_address, spdx
from scoring.exchange.results import site_address
from tasks.gold.archive_writing import NO_TIME
from tasks.models import Task
from tasks.seasons.cards import card
from tasks.types.files import InputFile

LINES = ".jsonl"
GOLD = "gold"
#: The Hub takes a split's name as a word.
_NO_WORD = re.compile(r"\W+", re.ASCII)


class NoLines(Exception):
    """None of the task's files are JSON lines, which is what the Hub's loaders read."""


def write_data_set(out: IO[bytes], task: Task, splits: Sequence[GivenSplit]) -> None:
    """Raises NoLines."""
    configurations: dict[str, dict[str, str]] = {}
    with zipfile.ZipFile(out, "w") as archive:
        for own in splits:
            with own.inputs() as inputs, own.answers() as answers:
                for kind, files in (("", inputs), (GOLD, answers)):
                    for file in files:
                        if file.suffix == LINES:
                            path = f"{kind or 'data'}/{own.name}/{file.name}"
                            _put(archive, path, file)
                            name = _word("-".join(part for part in (kind, file.stem) if part))
                            configurations.setdefault(name, {})[_word(own.name)] = path
        if not configurations:
            raise NoLines
        front = yaml.safe_dump(_front_matter(task, configurations), sort_keys=False, allow_unicode=True)
        archive.writestr(_entry("README.md"), f"---\n{front}---\n\n{_text(task)}")


def _front_matter(task: Task, configurations: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    season = task.season
    return {
        **_licence(season.licence),
        "language": ["en"],
        "pretty_name": f"{season}: {task}",
        "tags": ["citation-research", task.type],
        "configs": [
            {
                "config_name": name,
                "data_files": [{"split": split, "path": path} for split, path in own.items()],
                **({"default": True} if number == 0 else {}),
            }
            for number, (name, own) in enumerate(configurations.items())
        ],
    }


def _licence(stated: str) -> dict[str, str]:
    """What the Hub has no name for is `other`, with its own name."""
    address = licence_address(stated)
    if address:
        return {"license": str(spdx(stated)).lower()}
    return {"license": "other", "license_name": _word(stated or "not-stated").lower()}


def _text(task: Task) -> str:
    address = site_address("task", task.season.slug, task.slug)
    return (
        f"# {task.season}: {task}\n\n{task.summary}\n\nRuns are scored at {address}\n\n"
        f"{card(task.type).text}\n\n## Citation\n\n```bibtex\n{of_task(task).bibtex}```\n"
    )


def _put(archive: zipfile.ZipFile, path: str, file: InputFile) -> None:
    with archive.open(_entry(path), "w") as target, file.open() as source:
        shutil.copyfileobj(source, target)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, NO_TIME)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _word(text: str) -> str:
    return _NO_WORD.sub("_", text).strip("_") or "data"
