"""Changes the code in small ways, one at a time, and counts how many changes the tests notice.

    python bench/mutants.py --sample 300 --seed 0

Statistics, quotas, visibility and jobs are changed; each change is tried by the tests that are named for its
module below, in a copy of the checkout. A change that no test notices is printed as a diff.
"""

from __future__ import annotations

import argparse
import ast
import copy
import difflib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 300
#: The tests that speak of a module.
TESTED_BY: dict[str, tuple[str, ...]] = {
    "scoring/stats/jackknife.py": ("tests/scoring/test_jackknife.py",),
    "scoring/stats/significance.py": (
        "tests/scoring/test_significance.py",
        "tests/scoring/test_power.py",
        "tests/scoring/test_separation.py",
        "tests/scoring/test_groups.py",
    ),
    "scoring/stats/resampling.py": ("tests/scoring/test_resampling.py",),
    "scoring/stats/breakdown.py": ("tests/scoring/test_breakdown.py",),
    "scoring/stats/signature.py": ("tests/scoring/test_signature.py", "tests/pages/test_compare_page.py"),
    "scoring/board/visibility.py": ("tests/scoring/test_standings.py", "tests/access/test_hidden_numbers.py"),
    "tasks/submissions/submit.py": ("tests/tasks/test_quotas.py", "tests/tasks/test_submit.py"),
    "tasks/registration/entries.py": (
        "tests/tasks/test_submit.py",
        "tests/tasks/test_joining.py",
        "tests/pages/test_entering.py",
        "tests/pages/test_terms.py",
        "tests/pages/test_asking_to_join.py",
    ),
    "tasks/jobs/queue_choice.py": (
        "tests/tasks/test_queues.py",
        "tests/pages/test_submission_page.py",
        "tests/api/test_own_runs.py",
    ),
    "tasks/jobs/groups.py": ("tests/tasks/test_queues.py", "tests/tasks/test_sweeper.py"),
    "tasks/jobs/leases.py": (
        "tests/tasks/test_jobs.py",
        "tests/tasks/test_sweeper.py",
        "tests/tasks/test_submit.py",
        "tests/scoring/test_rescoring.py",
        "tests/tasks/test_gold.py",
    ),
    **dict.fromkeys(
        ("tasks/jobs/engine.py", "tasks/jobs/sweeper.py"),
        (
            "tests/tasks/test_engine.py",
            "tests/tasks/test_jobs.py",
            "tests/tasks/test_sweeper.py",
            "tests/tasks/test_submit.py",
        ),
    ),
}
OTHERS = (
    (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn),
)  # fmt: skip
COMPARISONS = {**dict(OTHERS), **{other: one for one, other in OTHERS}}
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any", "filter": "exclude"}


def mutants(tree: ast.Module) -> Iterator[ast.Module]:
    """Each a copy with one change; annotations, docstrings and messages stay."""
    for number, node in enumerate(ast.walk(tree)):
        for change in changes(node):
            other = copy.deepcopy(tree)
            target = next(found for place, found in enumerate(ast.walk(other)) if place == number)
            change(target)
            yield other


def changes(node: ast.AST) -> Iterator[Callable[[Any], object]]:
    """What can be changed about a node, each as a function that does so."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        yield lambda found: found.ops.__setitem__(0, COMPARISONS[type(found.ops[0])]())
    if isinstance(node, (ast.BoolOp, ast.BinOp)) and type(node.op) in OPERATORS:
        yield lambda found: setattr(found, "op", OPERATORS[type(found.op)]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield lambda found: setattr(found, "operand", ast.UnaryOp(node.op, found.operand))
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield lambda found: setattr(
            found, "value", not found.value if found.value in (True, False) else found.value + 1
        )
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        for place in range(len(node.keywords)):
            yield lambda found, place=place: found.keywords.pop(place)
    for attribute in ("id", "attr"):
        if getattr(node, attribute, None) in SWAPPED:
            yield lambda found, name=attribute: setattr(found, name, SWAPPED[getattr(found, name)])


def everything() -> list[tuple[Path, tuple[str, ...], str, str]]:
    """Per change: file, tests, the code as it is and as it is changed, both written alike."""
    found = []
    for pattern, tests in TESTED_BY.items():
        for path in sorted(ROOT.glob(pattern)):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            now = ast.unparse(tree)
            own = {ast.unparse(other) for other in mutants(tree)} - {now}
            found += [(path.relative_to(ROOT), tests, now, other) for other in sorted(own)]
    return found


def is_noticed(checkout: Path, path: Path, tests: tuple[str, ...], code: str) -> bool:
    target = checkout / path
    before = target.read_text(encoding="utf-8")
    target.write_text(code, encoding="utf-8")
    try:
        done = subprocess.run(
            [ROOT / ".venv/bin/python", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests],
            cwd=checkout, capture_output=True, timeout=SECONDS, check=False,
            # No change is one of the database.
            env={**os.environ, "MIGRATED": str(checkout.parent / "migrated.sqlite3")},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True
    else:
        return done.returncode != 0
    finally:
        target.write_text(before, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    known = everything()
    sample = random.Random(given.seed).sample(known, min(given.sample, len(known)))
    print(f"{len(known)} changes are known, {len(sample)} are tried")
    counts: Counter[tuple[str, bool]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        checkouts = [Path(folder) / str(number) for number in range(2)]
        for checkout in checkouts:
            shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns(".git", ".venv", "data", ".cache"))

        def work(number: int) -> None:
            for path, tests, now, code in sample[number :: len(checkouts)]:
                noticed = is_noticed(checkouts[number], path, tests, code)
                counts[str(path), noticed] += 1
                if not noticed:
                    lines = difflib.unified_diff(
                        now.splitlines(), code.splitlines(), str(path), lineterm="", n=1
                    )
                    print("\n".join(list(lines)[2:]), path, "", sep="\n", flush=True)

        with ThreadPoolExecutor(len(checkouts)) as pool:
            list(pool.map(work, range(len(checkouts))))
    for path in sorted({path for path, _ in counts}):
        print(f"{path}: {counts[path, True]} of {counts[path, True] + counts[path, False]} noticed")
    noticed = sum(count for (_, is_one), count in counts.items() if is_one)
    print(f"{noticed} of {sum(counts.values())} noticed")


if __name__ == "__main__":
    sys.exit(main())
