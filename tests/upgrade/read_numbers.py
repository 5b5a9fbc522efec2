"""Upgrade the site of a data folder and print every number that it shows, as JSON.

Usage: python tests/upgrade/read_numbers.py FOLDER

Names of rule sets and what a signature says of them are left out, since a release may rename them.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent


def main() -> None:
    [folder] = sys.argv[1:]
    set_up(Path(folder))
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    json.dump(numbers_of_site(), sys.stdout, ensure_ascii=False)


def set_up(folder: Path) -> None:
    """A process on the data folder, whatever the environment says of other databases and caches."""
    for name in [name for name in os.environ if name.startswith("CITEBOARD_")]:
        del os.environ[name]
    for name in ("DATABASE_URL", "REDIS_URL", "PORT"):
        os.environ.pop(name, None)
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "citeboard.settings",
        "CITEBOARD_DATA_DIR": str(folder),
        "CITEBOARD_INSECURE_HTTP": "yes",
        "CITEBOARD_LOG_LEVEL": "ERROR",
        "CITEBOARD_ALLOWED_HOSTS": "testserver",
    }
    sys.path[:0] = [str(ROOT / "platform"), str(ROOT)]
    import django

    django.setup()


def numbers_of_site() -> dict[str, Any]:
    from tasks.models import Phase, Submission

    return {
        "boards": [
            board_of(phase, rules)
            for phase in Phase.objects.select_related("task__season").order_by("pk")
            for rules in phase.task.rules
        ],
        "runs": {
            str(run.pk): run_of(run)
            for run in Submission.objects.select_related(
                "phase__task__season"
            ).order_by("pk")
        },
        "published": published_results(),
    }


def board_of(phase: Any, rules: str) -> dict[str, Any]:
    """What an organiser is shown of a board: the rows in its order; intervals and leaders by class."""
    from scoring.results.board.differences import (
        build_scores_by_class_table,
        list_classes_by_dimension,
        list_metrics_with_class_values,
    )
    from scoring.results.board.leaders import load_class_leaders
    from scoring.results.board.standings import compute_board
    from scoring.results.board.visibility import Audience

    board = compute_board(phase, None, rules, audience=Audience.ORGANISER)
    classes = {}
    for dimension in list_classes_by_dimension(board):
        for metric in list_metrics_with_class_values(board, dimension):
            table = build_scores_by_class_table(board, board.systems, dimension, metric)
            classes[f"{dimension}, {metric}"] = {
                "supports": {each.label: each.support for each in table.classes},
                "values": {
                    f"{label}, {run}": value
                    for (label, run), value in table.values.items()
                },
                "intervals": {
                    f"{label}, {run}": list(ends)
                    for (label, run), ends in table.intervals.items()
                },
                "leaders": dict(
                    load_class_leaders(board, dimension, metric).significant
                ),
            }
    return {
        "phase": f"{phase.task.season.slug}/{phase.task.slug}/{phase.slug}",
        "columns": [
            [column.metric, column.scale, column.higher_is_better]
            for column in board.columns
        ],
        "rows": [
            {
                "run": row.submission,
                "evaluation": row.evaluation,
                "system": row.system,
                "team": row.team,
                "kind": row.kind,
                "ranks": [row.rank, row.rank_low, row.rank_high],
                "scores": {
                    column.metric: number(row.scores.get(column.name))
                    for column in board.columns
                },
            }
            for row in board.rows
        ],
        "classes": classes,
    }


def number(cell: Any) -> list[Any] | None:
    return cell and [cell.score, cell.value, cell.low, cell.high, cell.is_infinite]


def run_of(run: Any) -> dict[str, Any]:
    """A run as its team sees it: its state, and all that the scorer has said of it."""
    from citeboard.api.own_runs import serialize_newest_scores
    from citeboard.core import storage
    from scoring.results.board.visibility import Audience

    with storage.run_file_storage.open(run.file) as content:
        size = len(content.read())
    found = serialize_newest_scores(run, Audience.ORGANISER)
    for evaluation in found:
        for name in ("rules", "options"):
            del evaluation[name]
        for said in evaluation["metrics"].values():
            for name in ("column", "signature"):
                said[name] = [
                    part
                    for part in said[name].split("|")
                    if not part.startswith("rules:")
                ]
    return {
        "status": run.status,
        "sha256": run.sha256,
        "size": size,
        "evaluations": found,
    }


def published_results() -> list[list[Any]]:
    from scoring.models import Reported

    rows = Reported.objects.select_related("table__paper").order_by("pk")
    return [
        [row.table.paper.key, row.table.name, row.system, row.metric, row.printed]
        for row in rows
    ]


if __name__ == "__main__":
    main()
