"""What came of building a diagnostic split, for its data sheet."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from scoring.tools.builders.distributions import Tables
from scoring.tools.builders.rules import LengthThresholds, Rules


@dataclass(frozen=True, kw_only=True)
class Built:
    """What a split was built from and by which rules, and what came of it."""

    form: str
    corpus: dict[str, int]
    licences: dict[str, int]
    digest: str
    rules: Rules
    thresholds: LengthThresholds
    refused: Counter[str]
    tables: Tables
    tagger: str
    sentences: str
