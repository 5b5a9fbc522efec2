"""Draw the packages of the code and their imports; `make plan` calls it.

Each row rests on the rows below it. An arrow that follows from others is left out (transitive reduction).
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.imports import Graph, depths, module_imports

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "img" / "plan.svg"
#: What Django itself looks for in an app; it imports everything and tells nothing of the plan.
LEFT_OUT = {"admin", "apps", "management", "templatetags"}
PLAIN_PACKAGES = (
    "__main__",
    "papers",
    "tools",
    "offline",
    "stats",
    "metrics",
    "figures",
)
PLAIN = {"tasks.types", *(f"scoring.{package}" for package in PLAIN_PACKAGES)}
WIDTH, BOX, HEIGHT, GAP = 1000, (130, 30), 62, 18
SHARED = {"citeboard.core", "citeboard.teams"}
#: The share of the width from left to right: scoring and the site above it, tasks, what both share.
COLUMNS = {"scoring": (-0.06, 0.65), "tasks": (0.53, 0.94), "shared": (0.81, 1.04)}
STYLE = """
text { font: 12px system-ui, sans-serif; text-anchor: middle; fill: #1b1b18; }
rect { fill: #f4f1ea; stroke: #6b675e; }
.plain { fill: #dcebf5; stroke-dasharray: 4 2; }
path { fill: none; stroke: #6b675e; stroke-width: 1; marker-end: url(#tip); }
.note { text-anchor: start; font-size: 12px; }
@media (prefers-color-scheme: dark) {
  text { fill: #ece9e2; } rect { fill: #2b2a27; } .plain { fill: #1f3442; }
}
"""


TIP = (
    '<defs><marker id="tip" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="6" markerHeight="6"'
    ' orient="auto">'
    '<path d="M0 0 6 3 0 6" fill="none" stroke="#6b675e"/></marker></defs>'
)


def package_of(module: str) -> str | None:
    parts = module.split(".")
    return None if len(parts) == 1 or parts[1] in LEFT_OUT else ".".join(parts[:2])


def column_of(package: str) -> str:
    if package in SHARED:
        return "shared"
    return "tasks" if package.startswith("tasks.") else "scoring"


def packages(root: Path) -> Graph:
    graph: Graph = {}
    for module, others in module_imports(root).items():
        package = package_of(module)
        if package is None or (
            module.startswith("citeboard.") and module.count(".") == 1
        ):
            continue
        found = {other for name in others if (other := package_of(name)) is not None}
        graph.setdefault(package, set()).update(found - {package})
    return {
        package: {other for other in others if other in graph}
        for package, others in graph.items()
    }


def reduced(graph: Graph) -> Graph:
    """Without the edges that a longer way gives as well."""
    reach: dict[str, set[str]] = {}

    def reached(package: str) -> set[str]:
        if package not in reach:
            reach[package] = graph[package].union(
                *(reached(other) for other in graph[package])
            )
        return reach[package]

    return {
        package: {
            other
            for other in others
            if not any(other in reached(via) for via in others - {other})
        }
        for package, others in graph.items()
    }


def draw(graph: Graph) -> str:
    levels = depths(graph)
    rows: dict[int, list[str]] = {}
    for package in sorted(levels):
        rows.setdefault(levels[package], []).append(package)
    top = max(rows)
    places: dict[str, tuple[float, float]] = {}
    for level, row in rows.items():
        for column, (left, right) in COLUMNS.items():
            members = [package for package in row if column_of(package) == column]
            for number, package in enumerate(members):
                x = WIDTH * (left + (right - left) * (number + 1) / (len(members) + 1))
                places[package] = (x, GAP + (top - level) * HEIGHT)
    height = GAP + (top + 1) * HEIGHT + 10
    arrows = [
        _arrow(places[package], places[other])
        for package, others in sorted(reduced(graph).items())
        for other in sorted(others)
    ]
    boxes = [_box(package, *place) for package, place in sorted(places.items())]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            "<title>The packages of the code; each rests on those below it</title>",
            f"<style>{STYLE}</style>",
            TIP,
            *arrows,
            *boxes,
            f'<text class="note" x="8" y="{height - 8}">dashed: plain Python, no Django</text>',
            "</svg>\n",
        ]
    )


def _box(package: str, x: float, y: float) -> str:
    width, height = BOX
    kind = ' class="plain"' if package in PLAIN else ""
    return (
        f'<rect{kind} x="{x - width / 2:.0f}" y="{y:.0f}" width="{width}" height="{height}" rx="4"/>'
        f'<text x="{x:.0f}" y="{y + 20:.0f}">{escape(package.removeprefix("citeboard."))}</text>'
    )


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x, y), (to_x, to_y) = start, end
    y += BOX[1]
    bend = (to_y - y) / 2
    bends = f"{x:.0f} {y + bend:.0f} {to_x:.0f} {to_y - bend:.0f}"
    return f'<path d="M{x:.0f} {y:.0f}C{bends} {to_x:.0f} {to_y:.0f}"/>'


if __name__ == "__main__":
    PICTURE.write_text(draw(packages(ROOT)), encoding="utf-8")
