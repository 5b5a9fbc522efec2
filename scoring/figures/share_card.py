"""Draw the image that previews a link to a leaderboard, with 1,200 by 630 pixels in
light colours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scoring.figures.frame import (
    escape_xml_text,
    estimate_text_width,
    format_xml_element,
    truncate_to_width,
)

CARD_WIDTH, CARD_HEIGHT = 1200, 630
BACKGROUND_COLOUR, TEXT_COLOUR, SOFT_TEXT_COLOUR, ACCENT_COLOUR = (
    "#fbfaf6",
    "#1e1c19",
    "#5c574f",
    "#17496e",
)
#: The site's fonts, with fallbacks.
SERIF_FONT_FAMILIES, SANS_FONT_FAMILIES = (
    "Citeboard Serif, Charter, serif",
    "Citeboard Sans, Arial, sans-serif",
)
LEFT_EDGE_X, RIGHT_EDGE_X, FIRST_ROW_Y, ROW_DISTANCE = 70.0, 1130.0, 290.0, 57.0
#: Intervals are drawn between these two horizontal positions, in pixels.
PLOT_LEFT_X, PLOT_RIGHT_X = 640.0, 960.0
MAX_CARD_ROWS = 5
#: Rows of a preview image have this smaller distance above a sentence of three lines.
ROW_DISTANCE_ABOVE_SENTENCE = 51.0
#: A preview image with a sentence has at most this many rows and lines of the sentence.
MAX_ROWS_ABOVE_SENTENCE, MAX_SENTENCE_LINES = 4, 3
#: `truncate_to_width` and `estimate_text_width` compute widths for this font size.
WIDTH_ESTIMATE_FONT_SIZE = 13.0


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
    shown = rows[: MAX_ROWS_ABOVE_SENTENCE if sentence else MAX_CARD_ROWS]
    ends = [
        end
        for row in shown
        for end in (row.value, row.low, row.high)
        if end is not None
    ]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    width = (high - low) or 1.0

    def compute_score_x(value: float) -> float:
        return PLOT_LEFT_X + (PLOT_RIGHT_X - PLOT_LEFT_X) * (value - low) / width

    parts = [
        format_xml_element(
            "rect", width=CARD_WIDTH, height=CARD_HEIGHT, fill=BACKGROUND_COLOUR
        ),
        format_xml_element("rect", width=CARD_WIDTH, height=10, fill=ACCENT_COLOUR),
        _format_text_element(
            LEFT_EDGE_X,
            118,
            title,
            54,
            RIGHT_EDGE_X - LEFT_EDGE_X,
            font_family=SERIF_FONT_FAMILIES,
            font_weight="600",
        ),
        _format_text_element(
            LEFT_EDGE_X,
            176,
            facts,
            28,
            RIGHT_EDGE_X - LEFT_EDGE_X,
            fill=SOFT_TEXT_COLOUR,
        ),
        _format_text_element(
            LEFT_EDGE_X,
            236,
            heading,
            24,
            RIGHT_EDGE_X - LEFT_EDGE_X,
            fill=SOFT_TEXT_COLOUR,
            font_weight="600",
        ),
        format_xml_element(
            "path",
            d=f"M{LEFT_EDGE_X} 252H{RIGHT_EDGE_X}",
            stroke=TEXT_COLOUR,
            stroke_width=2,
        ),
        _format_text_element(LEFT_EDGE_X, 596, foot, 24, 700.0, fill=SOFT_TEXT_COLOUR),
        _format_text_element(
            RIGHT_EDGE_X,
            596,
            "Citeboard",
            30,
            300.0,
            font_family=SERIF_FONT_FAMILIES,
            font_weight="600",
            text_anchor="end",
        ),
    ]
    lines = _wrap_text(sentence, 20, RIGHT_EDGE_X - LEFT_EDGE_X) if sentence else []
    for index, line in enumerate(lines):
        height = 548.0 - 26 * (len(lines) - 1 - index)
        parts.append(
            _format_text_element(
                LEFT_EDGE_X, height, line, 20, RIGHT_EDGE_X - LEFT_EDGE_X
            )
        )
    step = (
        ROW_DISTANCE_ABOVE_SENTENCE
        if len(lines) == MAX_SENTENCE_LINES
        else ROW_DISTANCE
    )
    for index, row in enumerate(shown):
        y = FIRST_ROW_Y + step * index
        name_to = PLOT_LEFT_X - 30 if row.value is not None else RIGHT_EDGE_X - 180
        parts += [
            _format_text_element(
                LEFT_EDGE_X, y, row.rank, 26, 80.0, fill=SOFT_TEXT_COLOUR
            ),
            _format_text_element(
                150,
                y,
                row.name,
                30,
                name_to - 150,
                font_family=SERIF_FONT_FAMILIES,
                **_choose_row_style(row),
            ),
            _format_text_element(
                150, y + 24, row.beside, 20, name_to - 150, fill=SOFT_TEXT_COLOUR
            ),
            _format_text_element(
                RIGHT_EDGE_X,
                y,
                row.text,
                32,
                160.0,
                font_weight="600",
                text_anchor="end",
            ),
        ]
        if row.value is None:
            continue
        middle = y - 9
        if row.low is not None and row.high is not None:
            start, end = (
                f"{compute_score_x(row.low):.1f}",
                f"{compute_score_x(row.high):.1f}",
            )
            path = (
                f"M{start} {middle}H{end}M{start} {middle - 8}v16M{end} {middle - 8}v16"
            )
            parts.append(
                format_xml_element("path", d=path, stroke=TEXT_COLOUR, stroke_width=2.5)
            )
        parts.append(
            _draw_score_mark(
                compute_score_x(row.value), middle, is_open=row.is_baseline
            )
        )
    return format_xml_element(
        "svg",
        "".join(parts),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {CARD_WIDTH} {CARD_HEIGHT}",
        width=CARD_WIDTH,
        height=CARD_HEIGHT,
    )


def _choose_row_style(row: CardRow) -> dict[str, str]:
    return {"font_style": "italic"} if row.is_baseline else {}


def _draw_score_mark(x: float, y: float, *, is_open: bool) -> str:
    looks = {"stroke": ACCENT_COLOUR, "stroke_width": 3} if is_open else {}
    return format_xml_element(
        "circle",
        cx=x,
        cy=y,
        r=8,
        fill=BACKGROUND_COLOUR if is_open else ACCENT_COLOUR,
        **looks,
    )


def _wrap_text(text: str, size: int, width: float) -> list[str]:
    lines, words = [""], text.split()
    for index, word in enumerate(words):
        longer = f"{lines[-1]} {word}".strip()
        if estimate_text_width(longer) * size / WIDTH_ESTIMATE_FONT_SIZE <= width:
            lines[-1] = longer
        elif len(lines) == MAX_SENTENCE_LINES:
            lines[-1] = " ".join([lines[-1], *words[index:]])
            break
        else:
            lines.append(word)
    return lines


def _format_text_element(
    x: float, y: float, text: str, size: int, width: float, **looks: object
) -> str:
    fitted = escape_xml_text(
        truncate_to_width(text, width * WIDTH_ESTIMATE_FONT_SIZE / size)
    )
    return format_xml_element(
        "text",
        fitted,
        x=x,
        y=y,
        font_size=size,
        **{"font_family": SANS_FONT_FAMILIES, "fill": TEXT_COLOUR, **looks},
    )
