"""The smallest archive of a season that can be mounted: one board of one row, no run to compute again."""

import hashlib
import json
from pathlib import Path

SLUG, BOARD = "elsewhere-2020", "1a-test-corrected"


def write_small_archive(
    folder: Path, *, system: str = "Their system", **changes
) -> Path:
    board = {
        "rules": "corrected",
        "gold": {"number": 1, "sha256": "0" * 64},
        "columns": [{"name": "f1", "metric": "f1"}],
        "rows": [
            {
                **dict.fromkeys(("rank", "rank_low", "rank_high", "group"), 1),
                "team": "Theirs",
                "system": system,
                "kind": "primary",
                "submission": 1,
                "scores": {"f1": {"value": 0.25, "low": 0.125, "high": 0.5}},
                "team_reported": {},
            }
        ],
    }
    phase = {"slug": "test", "title": "Test", "boards": [f"boards/{BOARD}.json"]}
    season = {
        "format": "citeboard-season-archive",
        "format_version": 1,
        "season": {"slug": SLUG, "title": "Elsewhere 2020", "licence": "CC BY 4.0"},
        "tasks": [{"slug": "1a", "title": "Task 1A", "phases": [phase], "gold": []}],
        "runs": [],
        **changes,
    }
    (folder / "boards").mkdir(parents=True)
    (folder / f"boards/{BOARD}.json").write_text(json.dumps(board))
    (folder / "season.json").write_text(json.dumps(season))
    (folder / "index.html").write_text("<script>theirs()</script>")
    names = ["season.json", f"boards/{BOARD}.json", "index.html"]
    digests = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names
    }
    (folder / "SHA256SUMS").write_text(
        "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    )
    return folder
