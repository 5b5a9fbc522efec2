"""Which sentences a diagnostic split may take: one citation, whole, and printed in a style that is known."""

from __future__ import annotations

import sqlite3
from collections import Counter

from scoring.tools.builders.corpus import OTHER, PLACEHOLDER
from scoring.tools.builders.marks import DAMAGED, has_unmarked_citation

#: Why a context is left out, in the order in which it is asked.
REASONS = (
    "several citations in the sentence",
    "the cited paper is not in the reference list",
    "the sentence does not end with . ? or !",
    "the sentence begins with a number, as footnotes do",
    "the mark is damaged",
    "the style of the mark is not known",
    "the sentence prints a citation that is not marked",
)


def reason_against(context: sqlite3.Row, cited: int) -> str | None:
    """Why this context is left out; None where it is taken. ``cited`` counts its references in the list."""
    sentence = context["sentence"]
    checks = (
        context["markers"] == 1 and sentence.count(PLACEHOLDER) == 1 and OTHER not in sentence,
        cited == 1,
        sentence.rstrip().endswith((".", "?", "!")),
        not sentence[:1].isdigit(),
        context["style"] != DAMAGED,
        context["style"] != "",
        not has_unmarked_citation(sentence),
    )
    return next((reason for reason, holds in zip(REASONS, checks, strict=True) if not holds), None)


def counted(reasons: Counter[str]) -> dict[str, int]:
    return {reason: reasons[reason] for reason in REASONS if reasons[reason]}
