"""Colours of series, each with a second channel for readers who see colours differently."""

from typing import NamedTuple


class Look(NamedTuple):
    """``pattern``, ``symbol`` and ``dash`` bear Plotly's names."""

    color: str
    pattern: str
    symbol: str
    dash: str


#: Okabe and Ito 2008; black is left to text, yellow comes last.
LOOKS = (
    Look("#0072B2", "", "circle", "solid"),
    Look("#E69F00", "/", "square", "dash"),
    Look("#009E73", "x", "diamond", "dot"),
    Look("#D55E00", "-", "triangle-up", "dashdot"),
    Look("#CC79A7", "\\", "cross", "longdash"),
    Look("#56B4E9", "|", "x", "longdashdot"),
    Look("#F0E442", ".", "star", "12px 3px"),
)
#: More series than this no figure draws; the table beside it has them all.
MAX_SERIES = len(LOOKS)
