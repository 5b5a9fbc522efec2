"""A parse as arcs over the words of a sentence: where each word, arc and label stands in a drawing.

Pure geometry, in pixels; a template draws it. Longer arcs run above the shorter ones that they span.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

CHARACTER, LABEL, PADDING, NARROWEST = 8.2, 6.4, 18.0, 46.0
STEP, TOP, BELOW = 22.0, 20.0, 26.0
ROOT = "ROOT"


@dataclass(frozen=True, kw_only=True)
class Word:
    """``x`` is its middle."""

    text: str
    x: float


@dataclass(frozen=True, kw_only=True)
class Arc:
    """From a head to what depends on it, where the arrow's point is."""

    path: str
    point: str
    label: str
    x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class Drawing:
    """``sentence`` says in words what the arcs show."""

    width: float
    height: float
    baseline: float
    words: list[Word]
    arcs: list[Arc]
    sentence: str


def drawing(tokens: Sequence[str], heads: Sequence[int], relations: Sequence[str]) -> Drawing:
    """The tokens with an arc from each one's head; a token that is its own head is a root."""
    widths = [
        max(NARROWEST, CHARACTER * len(token) + PADDING, LABEL * len(relation) + PADDING)
        for token, relation in zip(tokens, relations, strict=True)
    ]
    middles = [sum(widths[:place]) + width / 2 for place, width in enumerate(widths)]
    levels = _levels(heads)
    baseline = TOP + STEP * (max(levels.values(), default=0) + 1)
    arcs = [
        _root(middles[place], baseline)
        if head == place
        else _arc(
            middles[head], middles[place], baseline, baseline - STEP * (levels[place] + 0.6), relations[place]
        )
        for place, head in enumerate(heads)
    ]
    words = [Word(text=token, x=round(middles[place], 1)) for place, token in enumerate(tokens)]
    return Drawing(
        width=round(sum(widths)),
        height=round(baseline + BELOW),
        baseline=round(baseline + 18),
        words=words,
        arcs=arcs,
        sentence=_in_words(tokens, heads, relations),
    )


def _levels(heads: Sequence[int]) -> dict[int, int]:
    """Each dependent's arc one above the highest arc within its span."""
    spans = sorted(
        ((abs(head - place), min(head, place), max(head, place), place) for place, head in enumerate(heads)),
    )
    levels: dict[int, int] = {}
    within: list[tuple[int, int, int]] = []
    for length, begin, end, place in spans:
        if length == 0:
            continue
        inside = [level for first, last, level in within if begin <= first and last <= end]
        levels[place] = max(inside, default=-1) + 1
        within.append((begin, end, levels[place]))
    return levels


def _arc(head: float, dependent: float, baseline: float, top: float, label: str) -> Arc:
    """Leaves its head a little towards the dependent, so that arcs of one head stand apart."""
    begin = head + (6 if dependent > head else -6)
    bend = min(14.0, abs(dependent - begin) / 2)
    towards = bend if dependent > begin else -bend
    path = (
        f"M {begin:.1f} {baseline:.1f} C {begin:.1f} {top:.1f} {begin:.1f} {top:.1f} "
        f"{begin + towards:.1f} {top:.1f} L {dependent - towards:.1f} {top:.1f} "
        f"C {dependent:.1f} {top:.1f} {dependent:.1f} {top:.1f} {dependent:.1f} {baseline:.1f}"
    )
    return Arc(
        path=path,
        point=_point(dependent, baseline),
        label=label,
        x=round((begin + dependent) / 2, 1),
        y=top - 4,
    )


def _root(x: float, baseline: float) -> Arc:
    return Arc(
        path=f"M {x:.1f} {TOP:.1f} L {x:.1f} {baseline:.1f}",
        point=_point(x, baseline),
        label=ROOT,
        x=round(x, 1),
        y=TOP - 6,
    )


def _point(x: float, y: float) -> str:
    return f"M {x - 4:.1f} {y - 6:.1f} L {x + 4:.1f} {y - 6:.1f} L {x:.1f} {y + 1:.1f} Z"


def _in_words(tokens: Sequence[str], heads: Sequence[int], relations: Sequence[str]) -> str:
    phrases = [
        _("“%(token)s” is the root") % {"token": token}
        if head == place
        else _("“%(token)s” is %(relation)s of “%(head)s”")
        % {"token": token, "relation": relation, "head": tokens[head]}
        for place, (token, head, relation) in enumerate(zip(tokens, heads, relations, strict=True))
    ]
    return f"{'; '.join(phrases)}."
