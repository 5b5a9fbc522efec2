"""Bar charts as SVG: two series, before and after selection, readable without colour."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from scoring.tools.builders.distributions import Distribution

WIDTH, LABELS, NUMBERS, ROW = 720, 210, 80, 34
_BEFORE, _AFTER = "#9db4c8", "#1f4e79"


def bar_chart(distribution: Distribution) -> str:
    """Shares of each class before and after, or the means where the numbers are means."""
    labels = list(distribution.before)
    sides = (_shown(distribution, distribution.before), _shown(distribution, distribution.after))
    longest = max([*sides[0].values(), *sides[1].values(), 1e-12])
    height = ROW * len(labels) + 60
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        "<style>text { font: 13px sans-serif }</style>",
        f"<title>{escape(distribution.name)}, before and after selection</title>",
        f'<text x="0" y="16">{escape(distribution.name)}</text>',
        f'<rect x="{LABELS}" y="26" width="12" height="10" fill="{_BEFORE}"/>',
        f'<text x="{LABELS + 18}" y="36">before</text>',
        f'<rect x="{LABELS + 90}" y="26" width="12" height="10" fill="{_AFTER}"/>',
        f'<text x="{LABELS + 108}" y="36">after</text>',
    ]
    for place, label in enumerate(labels):
        top = 48 + place * ROW
        parts.append(f'<text x="{LABELS - 8}" y="{top + 18}" text-anchor="end">{escape(label)}</text>')
        for row, (side, colour) in enumerate(zip(sides, (_BEFORE, _AFTER), strict=True)):
            value = side.get(label, 0.0)
            length = value / longest * (WIDTH - LABELS - NUMBERS)
            y = top + row * 13
            parts.append(
                f'<rect x="{LABELS}" y="{y}" width="{length:.1f}" height="11" fill="{colour}"/>'
                f'<text x="{LABELS + length + 6:.1f}" y="{y + 10}" font-size="11">'
                f"{number(value, is_mean=distribution.is_mean)}</text>"
            )
    return "\n".join([*parts, "</svg>", ""])


def number(value: float, *, is_mean: bool) -> str:
    return f"{value:,.1f}" if is_mean else f"{value:.1%}"


def _shown(distribution: Distribution, counts: Mapping[str, float]) -> dict[str, float]:
    values = dict(counts)
    if distribution.is_mean:
        return values
    total = sum(values.values())
    return {label: value / total if total else 0.0 for label, value in values.items()}
