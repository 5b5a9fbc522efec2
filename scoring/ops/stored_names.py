"""Every file that a row of the database names."""

from __future__ import annotations

from collections.abc import Iterator

from django.db.models import Model

from citeboard.core import storage
from scoring.models import BackgroundJob, Evaluation, JudgedRun, PendingLabels
from tasks.models import Gold, Submission

NAMED: dict[storage.FolderStorage, dict[type[Model], tuple[str, ...]]] = {
    storage.runs: {Submission: ("file",)},
    storage.gold: {Gold: ("file", "index", "public")},
    storage.statistics: {
        Evaluation: ("statistics",),
        PendingLabels: ("file",),
        JudgedRun: ("file",),
        BackgroundJob: ("file",),
    },
}


def stored_names() -> Iterator[str]:
    """As the storage of the site has them, its folders before them."""
    for place, models in NAMED.items():
        for model, fields in models.items():
            for row in model._default_manager.values_list(*fields).iterator():  # noqa: SLF001
                yield from (f"{place.folder}/{name}" for name in row if name)
