"""The entailment labels that decide a phase's runs, once nothing that they decide is anybody's secret."""

from __future__ import annotations

import hashlib
import json
import zipfile
from typing import IO

from scoring.board.open_gold import may_have_gold
from scoring.metrics.entailment.stored import stored_model
from scoring.models import EntailmentModel
from scoring.worker.entailment_labels import label_lines
from tasks.models import Phase
from tasks.types.positional_citations.options import ENTAILMENT

LABELS, CARD = "labels.jsonl", "labels.json"


def open_labels(phase: Phase, viewer: object) -> list[EntailmentModel]:
    """The label sets that decide together, the season's own first; none where they are not given out.

    Labels are of pairs, not of phases. So every phase whose runs they decide must give the viewer its gold:
    those of the season, and those of all seasons for labels that all share.
    """
    model = stored_model(phase.task.options)
    if model is None or not may_have_gold(phase, viewer):
        return []
    asking = Phase.objects.filter(
        task__options__entailment=phase.task.options[ENTAILMENT.name]
    ).select_related("task__season")
    closed = {
        own.task.season_id
        for own in asking
        if not own.task.season.is_public or not may_have_gold(own, viewer)
    }
    if phase.task.season_id in closed:
        return []
    deciding = EntailmentModel.objects.deciding(model, phase.task.season)
    return [own for own in deciding if own.season_id is not None or not closed]


def write_labels(out: IO[bytes], phase: Phase, deciding: list[EntailmentModel]) -> None:
    """A zip of the labels, as scorer and `import_labels` read them, and of what they are called."""
    digest, number = hashlib.sha256(), -1  # the first line names the model
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open(LABELS, "w", force_zip64=True) as file:
            for line in label_lines(deciding):
                digest.update(line.encode())
                file.write(line.encode())
                number += 1
        task = phase.task
        card = {
            "name": f"{task.season.slug}/{task.slug}/{phase.slug}",
            "model": deciding[0].name,
            "labels": number,
            "sha256": digest.hexdigest(),
        }
        archive.writestr(zipfile.ZipInfo(CARD), f"{json.dumps(card, ensure_ascii=False, indent=2)}\n")
