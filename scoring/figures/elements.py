"""Elements of a drawing as SVG text: nothing of a name is markup, and no style is inline."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from html import escape

from scoring.figures.description import Look

#: By class the light colours of a file by itself; in a page the style sheet sets them for its theme.
PAINT = {
    "paper": {"fill": "#ffffff"},
    "ink": {"fill": "#1e1c19"},
    "soft": {"fill": "#5c574f"},
    "grid": {"stroke": "#e6e0d3", "fill": "none"},
    "axis": {"stroke": "#5c574f", "fill": "none"},
    "interval": {"stroke": "#1e1c19", "fill": "none"},
    "low": {"fill": "#f6f2e8"},
    "high": {"fill": "#6ba3d0"},
}
FONT = "Liberation Sans, Arial, Helvetica, DejaVu Sans, sans-serif"
SIZE = 12
DASHES = {
    "solid": None, "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3",
    "longdash": "11 4", "longdashdot": "11 4 2 4", "12px 3px": "12 3",
}  # fmt: skip
#: By so much other fonts that a page may be read in are wider than Arial.
WIDEST = 1.12
#: Of an em, how wide the characters of Arial are.
_WIDTHS = {
    char: width
    for width, chars in (
        (0.22, "ijl'|"), (0.28, "ftI.,/:;[]!\\ "), (0.34, "r-()*\u2009"), (0.5, "cksvxyzJ"),
        (0.61, "FTZ"), (0.67, "ABEKPSVXY&"), (0.72, "CDHNRUw"), (0.78, "GOQ"), (0.84, "mM%"), (0.95, "W@"),
    )
    for char in chars
}  # fmt: skip
#: What XML cannot hold, not even written as a reference.
_NO_XML = re.compile(r"[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


def tag(name: str, content: str = "", /, **attributes: object) -> str:
    """An element; an attribute that is None is left out; ``text_anchor`` is `text-anchor`."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>" if content else f"<{name}{written}/>"


def group(kind: str, parts: Iterable[str], **attributes: object) -> str:
    content = "".join(parts)
    return tag("g", content, class_=kind, **PAINT[kind], **attributes) if content else ""


def words(x: float, y: float, text: str, *, width: float | None = None, **attributes: object) -> str:
    """A line of text, cut where it is wider than ``width``; the whole of it is then its title."""
    shown = text if width is None else fitting(text, width)
    title = "" if shown == text else tag("title", plain(text))
    return tag("text", title + plain(shown), x=x, y=y, **attributes)


def plain(text: str) -> str:
    """Any text as text of an element or of an attribute."""
    return escape(_NO_XML.sub("\ufffd", text))


def width_of(text: str, size: float = SIZE) -> float:
    """About so many pixels; no font is read for it."""
    return (
        WIDEST
        * size
        * sum(
            _WIDTHS.get(char) or (1.0 if unicodedata.east_asian_width(char) in "WF" else 0.56)
            for char in text
        )
    )


def fitting(text: str, width: float) -> str:
    if width_of(text) <= width:
        return text
    end = len(text)
    while end > 1 and width_of(text[:end]) + width_of("…") > width:
        end -= 1
    return f"{text[:end].rstrip()}…"


def interval(at: float, low: float, high: float, *, is_across: bool) -> str:
    if is_across:
        path = f"M{_value(low)} {_value(at)}H{_value(high)}" + "".join(
            f"M{_value(end)} {_value(at - 3)}v6" for end in (low, high)
        )
    else:
        path = f"M{_value(at)} {_value(low)}V{_value(high)}" + "".join(
            f"M{_value(at - 3)} {_value(end)}h6" for end in (low, high)
        )
    return tag("path", d=path)


def mark(look: Look, x: float, y: float, *, is_open: bool = False) -> str:
    return tag(
        "path",
        d=f"M{_value(x)} {_value(y)}{_SYMBOLS[look.symbol]}",
        fill="none" if is_open else look.color,
        stroke=look.color,
        stroke_width=1.5 if is_open else 1,
        stroke_linejoin="round",
    )


#: Each from the middle of the symbol.
_SYMBOLS = {
    "circle": "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
    "square": "m-4-4h8v8h-8z",
    "diamond": "m0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z",
    "triangle-up": "m0-5.2l5 8.6h-10z",
    "cross": "m-1.6-5h3.2v3.4h3.4v3.2h-3.4v3.4h-3.2v-3.4h-3.4v-3.2h3.4z",
    "x": "m-2.5-4.6l2.5 2.5 2.5-2.5 2.1 2.1-2.5 2.5 2.5 2.5-2.1 2.1-2.5-2.5-2.5 2.5-2.1-2.1 2.5-2.5-2.5-2.5z",
    "star": "m0-6l1.5 4.2l4.4.1l-3.5 2.7l1.3 4.3l-3.7-2.5l-3.7 2.5l1.3-4.3l-3.5-2.7l4.4-.1z",
}
#: What lies over the colour of a bar, in a field of 8 by 8.
_HATCHES = {
    "/": "M-1 1l2-2M0 8l8-8M7 9l2-2",
    "\\": "M-1 7l2 2M0 0l8 8M7-1l2 2",
    "x": "M0 8l8-8M0 0l8 8",
    "-": "M0 4h8",
    "|": "M4 0v8",
    ".": "M4 3v2",
}


def bar(look: Look, x: float, y: float, width: float, height: float, hatch_id: str | None = None) -> str:
    """A bar of a series; one of no height is still seen to be there."""
    size = {"x": x, "y": y, "width": width, "height": max(height, 0.5)}
    over = tag("rect", **size, fill=f"url(#{hatch_id})") if hatch_id else ""
    return tag("rect", **size, fill=look.color) + over


def hatch(look: Look, name: str) -> str:
    line = tag("path", d=_HATCHES[look.pattern], stroke="#ffffff", stroke_width=1.6, stroke_opacity=0.6)
    return tag("pattern", line, id=name, width=8, height=8, patternUnits="userSpaceOnUse")


def drawing(width: float, height: float, title: str, description: str, parts: Iterable[str]) -> str:
    body = [
        tag("title", plain(title)),
        tag("desc", plain(description)) if description else "",
        tag("rect", class_="paper", **PAINT["paper"], width=width, height=height),
        *parts,
    ]
    return tag(
        "svg",
        "".join(body),
        xmlns="http://www.w3.org/2000/svg",
        class_="drawing",
        role="img",
        viewBox=f"0 0 {_value(width)} {_value(height)}",
        width=width,
        height=height,
        font_family=FONT,
        font_size=SIZE,
    )


def _value(value: object) -> str:
    """A number with at most one decimal where it is a length, and two where it is a share."""
    if isinstance(value, float):
        return f"{value:.{2 if abs(value) < 1 else 1}f}".rstrip("0").rstrip(".") or "0"
    return str(value)
