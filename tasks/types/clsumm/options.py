"""The options that the CL-Summ task types share."""

from __future__ import annotations

from tasks.types.base import Option, Options
from tasks.types.clsumm.layout import CSV, VERSIONS
from tasks.types.clsumm.rules import OFFICIAL_2017, OFFICIAL_2018

ANNOTATION = Option(
    name="annotation",
    default="auto",
    summary="Which version of a topic's annotation is gold; `auto` takes annv3, ann, annv2, then CSV.",
    choices=("auto", *VERSIONS, CSV),
)
CALIBRATION = Option(
    name="calibration",
    default="no",
    summary="Whether the probabilities of facets are read from JSON lines, and Brier score and expected "
    "calibration error computed of them.",
    choices=("no", "yes"),
)
OVER_LIMIT = Option(
    name="over_limit",
    default="warn",
    summary="What happens to a run with more than five sentences or three spans for a citance.",
    choices=("warn", "refuse"),
)
STOPWORDS = Option(
    name="stopwords",
    default="",
    summary="Path of the stop words of ROUGE-1.5.5, one a line, which the official ROUGE drops.",
    is_needed=True,
)
PROGRAM = Option(
    name="program",
    default="python2",
    summary="The program of 2018 as released, on Python 2, or as scores of 2020 show it on Python 3: cited "
    "sentences in listed order, gold summaries without tags, the last annotator's by name.",
    choices=("python2", "python3"),
)


def stopword_notes(rules: str, options: Options) -> dict[str, int]:
    """A note where the official ROUGE is undefined since its list of stop words was not given."""
    is_needed = rules in (OFFICIAL_2017, OFFICIAL_2018) and not options.get(STOPWORDS.name)
    return {"stopwords_not_given": 1} if is_needed else {}
