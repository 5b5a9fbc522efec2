"""A small publication of our own, as a file of published results."""

import copy
import io
import json
import tempfile
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

PUBLICATION = {
    "schema": "published-results/1",
    "paper": {
        "key": "own-2020",
        "authors": ["Ada Own", "Bob Other"],
        "year": 2020,
        "title": "A paper of our own",
        "venue": "Nowhere",
    },
    "tables": [
        {
            "id": "Table 1",
            "kind": "results",
            "what": "Three systems",
            "row_key": ["system"],
            "metrics": [
                {"name": "P", "scale": "fraction", "higher_is_better": True},
                {"name": "F1", "scale": "fraction", "higher_is_better": True, "what": "own F1"},
                {"name": "low", "scale": "fraction", "higher_is_better": None},
                {"name": "high", "scale": "fraction", "higher_is_better": None},
            ],
            "rows": [
                {
                    "row": 1,
                    "system": "Heron",
                    "values": {"P": 0.1, "F1": 0.25, "low": 0.2, "high": 0.3},
                    "printed": {"P": ".10", "F1": "0.250", "low": "0.2", "high": "0.3"},
                },
                {
                    "row": 2,
                    "system": "Ibis",
                    "values": {"P": 0.3, "F1": 0.5, "low": 0.4, "high": 0.6},
                    "printed": {"P": ".30", "F1": "0.500", "low": "0.4", "high": "0.6"},
                    "suspect": {"F1": "it cannot be so high"},
                },
                {
                    "row": 3,
                    "system": "Jay",
                    "values": {"P": None, "F1": 0.01, "low": 0.0, "high": 0.1},
                    "printed": {"P": "<0.01", "F1": "0.010", "low": "0.0", "high": "0.1"},
                    "less_than": {"P": 0.01},
                    "inconsistent": True,
                },
            ],
        },
        {
            "id": "Table 2",
            "kind": "results",
            "what": "Two systems by topic",
            "row_key": ["system", "topic"],
            "metrics": [
                {"name": "F1", "scale": "percent", "higher_is_better": True, "what": "own F1 in per cent"}
            ],
            "deviation": "the standard deviation",
            "rows": [
                {"row": row, "system": system, "topic": topic, "values": {"F1": value},
                 "printed": {"F1": f"{value:.1f}"}, "deviations": {"F1": 1.5},
                 "printed_deviations": {"F1": "1.5"}}
                for row, topic, system, value in (
                    (1, "T1", "Heron", 20.5), (1, "T1", "Ibis", 30.5), (2, "T2", "Heron", 41.0),
                    (2, "T2", "Ibis", 40.0), (3, "Average", "Heron", 30.8), (3, "Average", "Ibis", 35.3),
                )
            ],
        },
    ],
}  # fmt: skip


def publication() -> dict:
    """A copy that may be changed."""
    return copy.deepcopy(PUBLICATION)


def write(path: Path, content: dict | None = None) -> Path:
    path.write_text(
        json.dumps(PUBLICATION if content is None else content), encoding="utf-8"
    )
    return path


def load(path: Path) -> list[str]:
    """The lines that the command prints."""
    out = io.StringIO()
    call_command("reported_results", str(path), stdout=out)
    return out.getvalue().splitlines()


def keep_publication() -> None:
    """What the command does, without a file of the test's own."""
    with tempfile.TemporaryDirectory() as folder:
        load(write(Path(folder) / "own.json"))


def refusals(*paths: Path) -> list[str]:
    """The lines in which the command says why it refuses."""
    err = io.StringIO()
    with pytest.raises(CommandError) as failed:
        call_command(
            "reported_results", *map(str, paths), stdout=io.StringIO(), stderr=err
        )
    assert failed.value.returncode == 2
    return err.getvalue().splitlines()


#: How a task shows these tables.
PLACEMENTS = [
    {
        "paper": "own-2020",
        "table": "Table 1",
        "metric": "F1",
        "interval": ["low", "high"],
    },
    {
        "paper": "own-2020",
        "table": "Table 2",
        "metric": "F1",
        "by": "topic",
        "overall": "Average",
    },
]
#: The second with a system of a board beside it.
BESIDE = {
    **PLACEMENTS[1],
    "recomputed": {
        "rules": "corrected",
        "metrics": {"F1": "overlap_f1_micro"},
        "systems": {"Heron": "Owl"},
        "dimension": "",
    },
}
