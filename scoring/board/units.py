"""Units of a task type in words, each spelt out: the catalogues of languages are gathered from constants."""

from citeboard.core.words import counted


def counted_units(number: int, unit: str) -> str:
    """`48 topics`."""
    known = {
        "instance": counted(number, "instance"),
        "paper": counted(number, "paper"),
        "question": counted(number, "question"),
        "text": counted(number, "text"),
        "topic": counted(number, "topic"),
    }
    return known.get(unit) or counted(number, unit)


def counted_more(number: int, unit: str) -> str:
    """`48 more topics`."""
    known = {
        "instance": counted(number, "more instance"),
        "paper": counted(number, "more paper"),
        "question": counted(number, "more question"),
        "text": counted(number, "more text"),
        "topic": counted(number, "more topic"),
    }
    return known.get(unit) or counted(number, f"more {unit}")
