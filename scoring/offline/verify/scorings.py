"""Rebuild the arguments of the scorer that an archived evaluation describes."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from scoring.offline.gold_key import build_archived_gold_key
from scoring.offline.parts import parse_part_with_nonce
from scoring.offline.scoring import ScoringRequest
from scoring.offline.verify.files import (
    ArchivedFileMissing,
    find_archived_file,
    read_season,
)
from scoring.stats.interval_methods import METHODS
from scoring.stats.signature import SPLIT_PART_KEY, parse_signature
from tasks.types import TaskType, UnknownTaskType, task_type
from tasks.types.base import (
    DECLARED_SLUG_PREFIX,
    SCORING_FILE_NAMES,
    remove_judge_from_rule_set,
)
from tasks.types.declared.folder import read_declaration
from tasks.types.positional_citations.options import LABEL_FILE_SOURCE
from tasks.types.problems import SoftwareUnavailable
from tasks.types.stored_judges import make_label_file_option_value

ArchivedEvaluation = Mapping[str, Any]
ArchivedGold = Mapping[str, Any]


def build_scoring_request(
    archive: Path,
    run: str,
    evaluation: ArchivedEvaluation,
    gold: ArchivedGold,
    draw: str,
) -> ScoringRequest:
    """Return the arguments of the scorer that an archived evaluation and its signatures
    describe.

    ``draw`` is the nonce of the public part's random sample. Raises ArchivedFileMissing,
    PathOutsideArchive, OptionRefused, UnknownTaskType or Unavailable.
    """
    task_type = _find_task_type(archive, evaluation["task_type"])
    options = _build_local_options(archive, evaluation)
    provenance: dict[str, str] = {}
    for metric in evaluation["metrics"].values():
        provenance |= parse_signature(metric["signature"])
    return ScoringRequest(
        task_type=task_type,
        gold=[find_archived_file(archive, gold["file"])],
        run=find_archived_file(archive, run),
        rules=task_type.validate_rule_set_name(
            remove_judge_from_rule_set(evaluation["rules"])
        ),
        options=task_type.validate_options(options),
        resamples=int(provenance.get("resamples", 1000)),
        seed=int(provenance.get("seed", 0)),
        method=provenance.get("interval", METHODS[0]),
        part=parse_part_with_nonce(provenance[SPLIT_PART_KEY], draw)
        if SPLIT_PART_KEY in provenance
        else None,
        key=build_archived_gold_key(gold),
    )


def _find_task_type(archive: Path, slug: str) -> TaskType:
    """Return the built-in task type with this slug, or the declared task type whose
    files the archive contains.
    """
    folders = [
        task.get("folder")
        for task in read_season(archive)["tasks"]
        if task["type"] == slug
    ]
    if not slug.startswith(DECLARED_SLUG_PREFIX) or not folders or not folders[0]:
        return task_type(slug)
    files = {}
    for name in SCORING_FILE_NAMES:
        with suppress(ArchivedFileMissing):
            path = find_archived_file(archive, f"{folders[0]}/{name}")
            files[name] = path.read_text(encoding="utf-8")
    declared = read_declaration(files)
    if declared.slug != slug:
        raise UnknownTaskType(
            f"{folders[0]} declares {declared.slug}, which is not {slug}"
        )
    return declared


def _build_local_options(
    archive: Path, evaluation: ArchivedEvaluation
) -> dict[str, str]:
    """Return the options of the task, with paths that point into the archive.

    Raises Unavailable if an option names a file outside of the archive.
    """
    options = dict(evaluation["options"])
    for name, file in evaluation["files"].items():
        path = find_archived_file(archive, file)
        options[name] = make_label_file_option_value(name, path)
    for name in options.keys() - evaluation["files"].keys():
        # An untrusted archive must not make the program read files outside of it.
        if _may_be_local_path(options[name]):
            raise SoftwareUnavailable(
                f"the file that the option {name} names is not in the archive"
            )
    return options


def _may_be_local_path(option: str) -> bool:
    head, _, rest = option.partition(":")
    path = PurePosixPath(rest or head)
    return (
        path.is_absolute()
        or PureWindowsPath(option).is_absolute()
        or head == LABEL_FILE_SOURCE
        or ".." in path.parts
        or (rest or head).startswith("~")
    )
