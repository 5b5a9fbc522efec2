"""The labels that decide a season's runs as a file on this machine, written once for each state of them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from scoring.metrics.entailment.labels import stored_model, with_labels
from scoring.models import EntailmentModel
from scoring.worker.entailment_labels import label_lines
from scoring.worker.local_copies import storage_in_use, work_folder
from tasks.models import Job

NAME = "labels.jsonl"


def local_options(job: Job, folder: Path) -> dict[str, str]:
    """The job's options as a scorer takes them, with the labels that they ask for in its folder.

    Raises ScorerWaits where the file cannot be written.
    """
    deciding = _deciding(job)
    if not deciding:
        return dict(job.options)
    with storage_in_use():
        # A second name of the same file: it stays, whatever becomes of the first.
        os.link(_copy(deciding), folder / NAME)
    return with_labels(job.options, folder / NAME)


def is_outdated(job: Job, folder: Path) -> bool:
    """Whether labels have come since the scorer's folder was given those there were."""
    deciding = _deciding(job)
    if not deciding:
        return False
    path = _path(deciding)
    return not path.exists() or not path.samefile(folder / NAME)


def _deciding(job: Job) -> list[EntailmentModel]:
    """Those that have labels, the season's own before the shared ones; its own alone where there are none.

    So seasons without labels of their own have one copy of the shared ones. Empty where the job asks for no
    kept labels.
    """
    name = stored_model(job.options)
    if name is None:
        return []
    season = job.submission.phase.task.season
    own, _ = EntailmentModel.objects.get_or_create(name=name, season=season)
    return list(EntailmentModel.objects.deciding(name, season).filter(decided__gt=0)) or [own]


def _path(deciding: Sequence[EntailmentModel]) -> Path:
    state = "_".join(f"{model.pk}-{model.decided}" for model in deciding)
    return work_folder() / "entailment_labels" / f"{state}.jsonl"


def _copy(deciding: Sequence[EntailmentModel]) -> Path:
    path = _path(deciding)
    place = path.parent
    place.mkdir(mode=0o700, exist_ok=True)
    if not path.exists():
        handle, draft = tempfile.mkstemp(dir=place)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.writelines(label_lines(deciding))
            Path(draft).replace(path)
        finally:
            Path(draft).unlink(missing_ok=True)
        state = _state(path)
        for other in place.glob(f"{deciding[0].pk}-*.jsonl"):
            if other != path and _is_older(_state(other), state):
                other.unlink(missing_ok=True)
    return path


def _state(path: Path) -> dict[int, int]:
    """By model how many labels a copy holds, as its name says."""
    return {int(model): int(count) for model, count in (part.split("-") for part in path.stem.split("_"))}


def _is_older(state: dict[int, int], now: dict[int, int]) -> bool:
    return all(count <= now.get(model, -1) for model, count in state.items())
