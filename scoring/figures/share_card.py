"""Draw the image that previews a link to a leaderboard, with 1,200 by 630 pixels in
light colours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scoring.figures.frame import (
    escape_xml_text,
    estimate_text_width,
    truncate_to_width,
    xml_element,
)

WIDTH, HEIGHT = 1200, 630
PAPER, INK, SOFT, ACCENT = "#fbfaf6", "#1e1c19", "#5c574f", "#17496e"
#: The site's fonts, with fallbacks.
SERIF, SANS = "Citeboard Serif, Charter, serif", "Citeboard Sans, Arial, sans-serif"
LEFT, RIGHT, FIRST, STEP = 70.0, 1130.0, 290.0, 57.0
#: Intervals are drawn between these two horizontal positions, in pixels.
DRAWN_FROM, DRAWN_TO = 640.0, 960.0
MAX_ROWS = 5
#: Rows of a preview image have this smaller distance above a sentence of three lines.
STEP_ABOVE_SENTENCE = 51.0
#: A preview image with a sentence has at most this many rows and lines of the sentence.
MAX_ROWS_ABOVE_SENTENCE, SENTENCE_LINES = 4, 3
#: `truncate_to_width` and `estimate_text_width` compute widths for this font size.
MEASURED_FONT_SIZE = 13.0


@dataclass(frozen=True, kw_only=True)
class CardRow:
    """A leaderboard row in the preview image of a link. ``text`` is the formatted
    score.

    ``rank``, ``text`` and ``value`` are empty if the leaderboard hides the row's rank
    and score. The names of baselines are in italics and the symbols of baselines are
    not filled, as on leaderboards.
    """

    rank: str
    name: str
    beside: str
    text: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    is_baseline: bool = False


def draw_share_card(
    title: str,
    facts: str,
    heading: str,
    rows: Sequence[CardRow],
    foot: str,
    sentence: str = "",
) -> str:
    shown = rows[: MAX_ROWS_ABOVE_SENTENCE if sentence else MAX_ROWS]
    ends = [
        end
        for row in shown
        for end in (row.value, row.low, row.high)
        if end is not None
    ]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    width = (high - low) or 1.0

    def score_position(value: float) -> float:
        return DRAWN_FROM + (DRAWN_TO - DRAWN_FROM) * (value - low) / width

    parts = [
        xml_element("rect", width=WIDTH, height=HEIGHT, fill=PAPER),
        xml_element("rect", width=WIDTH, height=10, fill=ACCENT),
        _text_element(
            LEFT, 118, title, 54, RIGHT - LEFT, font_family=SERIF, font_weight="600"
        ),
        _text_element(LEFT, 176, facts, 28, RIGHT - LEFT, fill=SOFT),
        _text_element(
            LEFT, 236, heading, 24, RIGHT - LEFT, fill=SOFT, font_weight="600"
        ),
        xml_element("path", d=f"M{LEFT} 252H{RIGHT}", stroke=INK, stroke_width=2),
        _text_element(LEFT, 596, foot, 24, 700.0, fill=SOFT),
        _text_element(
            RIGHT,
            596,
            "Citeboard",
            30,
            300.0,
            font_family=SERIF,
            font_weight="600",
            text_anchor="end",
        ),
    ]
    lines = _wrap_text(sentence, 20, RIGHT - LEFT) if sentence else []
    for index, line in enumerate(lines):
        height = 548.0 - 26 * (len(lines) - 1 - index)
        parts.append(_text_element(LEFT, height, line, 20, RIGHT - LEFT))
    step = STEP_ABOVE_SENTENCE if len(lines) == SENTENCE_LINES else STEP
    for index, row in enumerate(shown):
        y = FIRST + step * index
        name_to = DRAWN_FROM - 30 if row.value is not None else RIGHT - 180
        parts += [
            _text_element(LEFT, y, row.rank, 26, 80.0, fill=SOFT),
            _text_element(
                150,
                y,
                row.name,
                30,
                name_to - 150,
                font_family=SERIF,
                **_row_style(row),
            ),
            _text_element(150, y + 24, row.beside, 20, name_to - 150, fill=SOFT),
            _text_element(
                RIGHT, y, row.text, 32, 160.0, font_weight="600", text_anchor="end"
            ),
        ]
        if row.value is None:
            continue
        middle = y - 9
        if row.low is not None and row.high is not None:
            start, end = (
                f"{score_position(row.low):.1f}",
                f"{score_position(row.high):.1f}",
            )
            path = (
                f"M{start} {middle}H{end}M{start} {middle - 8}v16M{end} {middle - 8}v16"
            )
            parts.append(xml_element("path", d=path, stroke=INK, stroke_width=2.5))
        parts.append(
            _draw_score_mark(score_position(row.value), middle, is_open=row.is_baseline)
        )
    return xml_element(
        "svg",
        "".join(parts),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        width=WIDTH,
        height=HEIGHT,
    )


def _row_style(row: CardRow) -> dict[str, str]:
    return {"font_style": "italic"} if row.is_baseline else {}


def _draw_score_mark(x: float, y: float, *, is_open: bool) -> str:
    looks = {"stroke": ACCENT, "stroke_width": 3} if is_open else {}
    return xml_element(
        "circle", cx=x, cy=y, r=8, fill=PAPER if is_open else ACCENT, **looks
    )


def _wrap_text(text: str, size: int, width: float) -> list[str]:
    lines, words = [""], text.split()
    for index, word in enumerate(words):
        longer = f"{lines[-1]} {word}".strip()
        if estimate_text_width(longer) * size / MEASURED_FONT_SIZE <= width:
            lines[-1] = longer
        elif len(lines) == SENTENCE_LINES:
            lines[-1] = " ".join([lines[-1], *words[index:]])
            break
        else:
            lines.append(word)
    return lines


def _text_element(
    x: float, y: float, text: str, size: int, width: float, **looks: object
) -> str:
    fitted = escape_xml_text(truncate_to_width(text, width * MEASURED_FONT_SIZE / size))
    return xml_element(
        "text",
        fitted,
        x=x,
        y=y,
        font_size=size,
        **{"font_family": SANS, "fill": INK, **looks},
    )
