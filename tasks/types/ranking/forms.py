"""What a run that ranks candidates looks like; a module of its own, as it imports nothing heavy."""

from __future__ import annotations

import math

from tasks.types.run_forms import RunForm

FORMS = "JSON lines or a TREC run file"


def _may_be_trec(line: bytes) -> bool:
    """Whether a number stands where a TREC run has rank or score, be there a field too many or too few."""
    fields = line[:1000].split()
    return 4 <= len(fields) <= 7 and any(map(_is_number, fields[3:5]))


def _is_number(field: bytes) -> bool:
    try:
        return math.isfinite(float(field))
    except ValueError:
        return False


RUN_FORM = RunForm(
    described=FORMS,
    keys=(frozenset({"ranked"}), frozenset({"id", "scores"})),
    is_line=_may_be_trec,
)
