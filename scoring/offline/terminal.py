"""Write coloured text and progress bars if the output is a terminal."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

from tasks.types import Problem
from tasks.types.problems import merge_with_further_lines

RED_CODE, YELLOW_CODE, GREEN_CODE, BOLD_CODE = "31", "33", "32", "1"
#: A progress bar appears after _REDRAW_INTERVAL_SECONDS seconds, and changes at this interval.
_REDRAW_INTERVAL_SECONDS = 0.1
_BAR_WIDTH_CHARS = 24
_CLEAR_LINE_SEQUENCE = "\r\x1b[K"

UpdateProgress = Callable[[float], None]


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def colour_text(text: str, colour: str, stream: TextIO) -> str:
    """Return the text in a colour if the stream is a terminal and the environment
    variable NO_COLOR (no-color.org) is not set.
    """
    return (
        text
        if os.environ.get("NO_COLOR") or not is_terminal(stream)
        else f"\x1b[{colour}m{text}\x1b[0m"
    )


def replace_control_characters(text: str) -> str:
    """Replace control characters in untrusted text, which a terminal could interpret as
    commands.
    """
    return "".join(
        character if character.isprintable() else "\ufffd" for character in text
    )


@contextmanager
def show_progress_bar(
    label: str, total: float, unit: str = "", stream: TextIO | None = None
) -> Iterator[UpdateProgress]:
    """Yield a function that updates a progress bar on a terminal.

    The argument of the yielded function is the completed part of ``total``. The
    progress bar displays amounts of the unit `B` in kB and MB. The progress bar is not
    written if standard error is not a terminal.
    """
    out = stream or sys.stderr
    if not is_terminal(out):
        yield lambda done: None
        return
    started = time.monotonic()
    drawn = started

    def redraw_bar(done: float) -> None:
        nonlocal drawn
        if (now := time.monotonic()) - drawn >= _REDRAW_INTERVAL_SECONDS:
            drawn = now
            out.write(
                _CLEAR_LINE_SEQUENCE
                + format_progress_bar(label, done, total, unit, now - started)
            )
            out.flush()

    try:
        yield redraw_bar
    finally:
        out.write(_CLEAR_LINE_SEQUENCE)
        out.flush()


def format_progress_bar(
    label: str, done: float, total: float, unit: str, seconds: float
) -> str:
    share = min(done / total, 1.0) if total else 1.0
    filled = round(share * _BAR_WIDTH_CHARS)
    left = ""
    if 0 < share < 1:
        minutes, rest = divmod(round(seconds / share - seconds), 60)
        left = f", {minutes} min {rest} s left" if minutes else f", {rest} s left"
    amounts = (
        f" {_format_amount(done, unit)} of {_format_amount(total, unit)}"
        if unit
        else ""
    )
    return f"{label} [{'#' * filled}{'.' * (_BAR_WIDTH_CHARS - filled)}] {share:4.0%}{amounts}{left}"


def _format_amount(number: float, unit: str) -> str:
    if unit == "B":
        for size, name in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
            if number >= size:
                return f"{number / size:.1f} {name}"
    return f"{number:,.0f} {unit}"


def format_score_lines(metrics: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield two lines for each metric, one with the value and its interval, and one
    with the signature.
    """
    for name, value in metrics.items():
        score = format_score_value(
            value["value"], infinite=value.get("infinite", False)
        )
        yield f"{name:<40} {score}  {format_interval_or_reason(value)}"
        yield f"{'':<40} {value['signature']}"


def format_score_value(value: float | None, *, infinite: bool) -> str:
    return (
        f"{value:z.6f}"
        if value is not None
        else "infinite"
        if infinite
        else "undefined"
    )


def format_interval_or_reason(value: Mapping[str, Any]) -> str:
    """Return the interval of a score as text, or the reason for a missing interval or
    value.
    """
    if off := value.get("off"):
        return f"switched off: {off}"
    if value["low"] is not None:
        return f"[{value['low']:z.6f}, {value['high']:z.6f}]"
    # Import here, because `scoring.stats.signature` loads slowly.
    from scoring.stats.signature import NO_INTERVAL_KEY, parse_signature

    reason = value.get("no_interval") or parse_signature(
        value.get("signature", "")
    ).get(NO_INTERVAL_KEY)
    return f"no interval: {reason}" if reason else ""


def format_problem_lines(problems: Iterable[Problem], stream: TextIO) -> Iterator[str]:
    """Yield the problems as lines, with errors in red and warnings in yellow if the
    stream shows colours.
    """
    for problem, others in merge_with_further_lines(problems):
        also = others.words
        if problem.fatal:
            yield colour_text(f"{problem}{also}", RED_CODE, stream)
        else:
            yield f"{colour_text('warning:', YELLOW_CODE, stream)} {problem}{also}"


def find_installed_version() -> str:
    """Return the version of the installed package, or "unreleased" in a source
    checkout.
    """
    return str(
        getattr(sys.modules[__name__.partition(".")[0]], "__version__", "unreleased")
    )
