"""Rebuild the arguments of the scorer that an archived evaluation describes."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from scoring.offline.gold_key import archived_gold_key
from scoring.offline.parts import opened_part
from scoring.offline.scoring import Scoring
from scoring.offline.verify.files import FileMissing, existing, read_season
from scoring.stats.interval_methods import METHODS
from scoring.stats.signature import PART, provenance_of
from tasks.types import TaskType, UnknownTaskType, task_type
from tasks.types.base import DECLARED, REFERENCED, base_rules
from tasks.types.declared.folder import read_declaration
from tasks.types.positional_citations.options import LABELS
from tasks.types.problems import Unavailable
from tasks.types.stored_judges import option_of_file

Evaluation = Mapping[str, Any]
Gold = Mapping[str, Any]


def scoring_of(
    archive: Path, run: str, evaluation: Evaluation, gold: Gold, draw: str
) -> Scoring:
    """Return the arguments of the scorer that an archived evaluation and its signatures
    describe.

    ``draw`` is the nonce of the public part's random sample. Raises FileMissing,
    OutsideArchive, OptionRefused, UnknownTaskType or Unavailable.
    """
    task_type = _task_type_of(archive, evaluation["task_type"])
    options = _local_options(archive, evaluation)
    provenance: dict[str, str] = {}
    for metric in evaluation["metrics"].values():
        provenance |= provenance_of(metric["signature"])
    return Scoring(
        task_type=task_type,
        gold=[existing(archive, gold["file"])],
        run=existing(archive, run),
        rules=task_type.checked_rules(base_rules(evaluation["rules"])),
        options=task_type.checked_options(options),
        resamples=int(provenance.get("resamples", 1000)),
        seed=int(provenance.get("seed", 0)),
        method=provenance.get("interval", METHODS[0]),
        part=opened_part(provenance[PART], draw) if PART in provenance else None,
        key=archived_gold_key(gold),
    )


def _task_type_of(archive: Path, slug: str) -> TaskType:
    """Return the built-in task type with this slug, or the declared task type whose
    files the archive contains.
    """
    folders = [
        task.get("folder")
        for task in read_season(archive)["tasks"]
        if task["type"] == slug
    ]
    if not slug.startswith(DECLARED) or not folders or not folders[0]:
        return task_type(slug)
    files = {}
    for name in REFERENCED:
        with suppress(FileMissing):
            path = existing(archive, f"{folders[0]}/{name}")
            files[name] = path.read_text(encoding="utf-8")
    declared = read_declaration(files)
    if declared.slug != slug:
        raise UnknownTaskType(
            f"{folders[0]} declares {declared.slug}, which is not {slug}"
        )
    return declared


def _local_options(archive: Path, evaluation: Evaluation) -> dict[str, str]:
    """Return the options of the task, with paths that point into the archive.

    Raises Unavailable if an option names a file outside of the archive.
    """
    options = dict(evaluation["options"])
    for name, file in evaluation["files"].items():
        path = existing(archive, file)
        options[name] = option_of_file(name, path)
    for name in options.keys() - evaluation["files"].keys():
        # An untrusted archive must not make the program read files outside of it.
        if _may_be_local_path(options[name]):
            raise Unavailable(
                f"the file that the option {name} names is not in the archive"
            )
    return options


def _may_be_local_path(option: str) -> bool:
    head, _, rest = option.partition(":")
    path = PurePosixPath(rest or head)
    return (
        path.is_absolute()
        or PureWindowsPath(option).is_absolute()
        or head == LABELS
        or ".." in path.parts
        or (rest or head).startswith("~")
    )
