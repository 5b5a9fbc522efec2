"""Lines of code by room, held to the budget in `pyproject.toml`: `python scripts/budget.py`.

A room is a folder of `tasks/`, `scoring/` or `platform/citeboard/`. Migrations do not count; tables in the
place of code do. Exit code 1 where a room has more lines than its budget, or none of its own. A commit that
raises one says why.
"""

import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLES = ("commands.toml",)
SOURCES = ("manage.py", "platform", "tasks", "scoring")


def room_of(path: Path) -> str:
    depth = 3 if path.parts[0] == "platform" else 2
    return (
        "/".join(path.parts[:depth])
        if len(path.parts) > depth
        else "/".join(path.parts[: depth - 1]) or "manage.py"
    )


def lines_by_room(root: Path) -> Counter[str]:
    lines: Counter[str] = Counter()
    for source in SOURCES:
        files = [root / source] if source.endswith(".py") else (root / source).rglob("*")
        for file in [file for file in files if file.suffix == ".py" or file.name in TABLES]:
            if "migrations" not in file.parts:
                lines[room_of(file.relative_to(root))] += file.read_bytes().count(b"\n")
    return lines


def excesses(lines: Counter[str], budget: dict[str, int]) -> list[str]:
    return [
        f"{room} has {count:,} lines; its budget is {budget[room]:,}"
        if room in budget
        else f"{room} has no budget in pyproject.toml; it has {count:,} lines"
        for room, count in sorted(lines.items())
        if count > budget.get(room, 0)
    ]


def main() -> int:
    budget: dict[str, int] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["citeboard"][
        "budget"
    ]
    lines = lines_by_room(ROOT)
    for room, count in sorted(lines.items(), key=lambda item: (-item[1], item[0])):
        print(f"{count:7,} of {budget.get(room, 0):7,}  {room}")
    print(f"{lines.total():7,} of {sum(budget.values()):7,}  together")
    over = excesses(lines, budget)
    print("\n".join(over), end="\n" if over else "")
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
