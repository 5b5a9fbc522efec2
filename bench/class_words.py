"""How often a board calls one class easier than another although no classes differ, and how often if they do.

    python bench/class_words.py [--boards N] [--seed S]

Systems answer the same instances, which have an ease of their own, and the shares of right answers have the
intervals of the site. A column is by how much one class is harder on the logit scale; with 0 all classes are
equal. A cell is the share of boards that compare two classes. The limit for equal classes is 5 %.
"""

import argparse
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "platform")]

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "citeboard.settings")

import django  # noqa: E402

from scoring.metrics.classification import Accuracy  # noqa: E402
from scoring.stats.jackknife import intervals  # noqa: E402

CLASSES, UNITS, SYSTEMS, HARDER = (2, 7), (5, 30, 200), (1, 5), (0.0, 1.0, 2.0)


def has_words(
    rng: np.random.Generator, classes: int, units: int, systems: int, harder: float
) -> bool:
    """Draw a board and return whether its page compares two classes."""
    from scoring.results.board.charts import describe_best_and_worst_class
    from scoring.results.board.differences import InstanceClass, ScoresByClassTable

    metric = Accuracy("accuracy", "rules", labels=["wrong", "right"])
    labels = [f"class {place}" for place in range(classes)]
    rows = [SimpleNamespace(evaluation=place) for place in range(systems)]
    values, ends = {}, {}
    for place, label in enumerate(labels):
        ease = rng.normal(0, 1, units) + (1.0 if place else 1.0 - harder)
        for row in rows:
            right = rng.random(units) < 1 / (1 + np.exp(-ease))
            stats = metric.instance_stats(
                ["right"] * units, ["right" if own else "wrong" for own in right]
            )
            [own] = intervals([(metric, stats)])
            values[label, row.evaluation] = float(right.mean())
            if own is not None:
                ends[label, row.evaluation] = own
    table = ScoresByClassTable(
        dimension="class",
        metric="accuracy",
        scale=1.0,
        higher_is_better=True,
        classes=[InstanceClass(label, units) for label in labels],
        systems=rows,
        values=values,
        intervals=ends,
        is_tested=True,
    )
    return bool(describe_best_and_worst_class(table))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--boards", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    given = parser.parse_args()
    django.setup()
    rng = np.random.default_rng(given.seed)
    print("| Classes, units, systems |" + "".join(f" {own:g} |" for own in HARDER))
    print("| --- |" + " ---: |" * len(HARDER))
    for classes in CLASSES:
        for units in UNITS:
            for systems in SYSTEMS:
                cells = []
                for harder in HARDER:
                    drawn = [
                        has_words(rng, classes, units, systems, harder)
                        for _ in range(given.boards)
                    ]
                    cells.append(f" {100 * np.mean(drawn):.1f} % |")
                print(f"| {classes}, {units}, {systems} |" + "".join(cells), flush=True)


if __name__ == "__main__":
    main()
