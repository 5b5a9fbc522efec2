"""Write estimated scores and people's labels to a season's archive."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from citeboard.core import storage
from scoring.results.board.estimates import list_newest_published_estimate_sheets
from tasks.models import Phase

#: ESTIMATES_FOLDER is the archive's folder of the labels that people assigned to samples.
ESTIMATES_FOLDER = "estimates"


def write_estimates(
    archive: Path, phases: Sequence[Phase], runs: Collection[int]
) -> dict[str, Any]:
    """Write people's labels and the published estimates of the phases, for each kind of
    labels.

    Callers must omit phases whose gold is not in the archive, because the labels reveal
    gold.
    """
    entries = []
    sheets = [
        (phase, sheet)
        for phase in phases
        for sheet in list_newest_published_estimate_sheets(phase)
    ]
    for phase, sheet in sheets:
        path = archive / ESTIMATES_FOLDER / f"{sheet.pk}.jsonl"
        path.parent.mkdir(exist_ok=True)
        with storage.statistics_file_storage.open(sheet.people) as kept:
            path.write_bytes(kept.read())
        names = {str(run) for run in sheet.runs if run in runs}
        entries.append(
            {
                "task": phase.task.slug,
                "phase": phase.slug,
                "of": sheet.of,
                "labels": sheet.labels,
                "seed": sheet.seed,
                "rules": sheet.rules,
                "gold": sheet.gold.digest,
                "people": f"{ESTIMATES_FOLDER}/{path.name}",
                "measures": {
                    name: {
                        "systems": [
                            line for line in facts["systems"] if line["run"] in names
                        ],
                        "differences": [
                            line
                            for line in facts["differences"]
                            if {line["first"], line["second"]} <= names
                        ],
                    }
                    for name, facts in sheet.result["measures"].items()
                },
            }
        )
    return {"estimates": entries} if entries else {}
