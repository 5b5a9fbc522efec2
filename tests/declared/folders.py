"""Folders of declared tasks as tests write them."""

import json
import math
from pathlib import Path

import pytest

from tests.conftest import SHARED

EXAMPLES = Path(__file__).parents[2] / "examples" / "tasks"
CARD = (
    "# A task\n\n## Format\n\n## Data\n\n## Rules\n\n### `corrected`\n\n## Citation\n"
)


def shared(name: str) -> Path:
    """A folder of data that is not part of the project; the test is skipped where it is not there."""
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(
            f"the data {name} are not here; CITEBOARD_SHARED names the folder that has them"
        )
    return folder


def write(folder: Path, toml: str, gold, run, scores=None, **files: str) -> Path:
    """A folder; without scores, those that the sample has."""
    from scoring.offline.sample import compute_sample_scores
    from tasks.types.declared.folder import read_declaration

    content = {
        "task.toml": toml, "card.md": CARD, "sample/gold.jsonl": lines(gold), "sample/run.jsonl": lines(run),
        **files,
    }  # fmt: skip
    if scores is None:
        found = compute_sample_scores(read_declaration(content), content)
        scores = {
            rules: {name: None if math.isnan(v) else v for name, v in own.items()}
            for rules, own in found.items()
        }
        content["card.md"] += "".join(
            f"\n### `{rules}`\n" for rules in scores if rules != "corrected"
        )
    content["sample/scores.json"] = json.dumps(scores)
    for name, text in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def lines(rows) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
