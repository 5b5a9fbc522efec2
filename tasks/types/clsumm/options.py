"""The options of all CL-Summ task types."""

from typing import Any

from tasks.types.base import ENGINE, Option, Options
from tasks.types.clsumm.topics import ANNOTATION_VERSIONS, CSV
from tasks.types.references import MetricRef, make_metric_refs

ANNOTATION_OPTION = Option(
    name="annotation",
    default="auto",
    summary="Which version of a topic's annotation is gold; `auto` takes annv3, ann, annv2, then CSV.",
    choices=("auto", *ANNOTATION_VERSIONS, CSV),
    is_of_gold=True,
)
CALIBRATION_OPTION = Option.yes_or_no(
    "calibration",
    "Whether the probabilities of facets are read from JSON lines, and Brier score and expected "
    "calibration error computed of them.",
)
OVER_LIMIT_OPTION = Option(
    name="over_limit",
    default="warn",
    summary="What happens to a run with more than five sentences or three spans for a citance.",
    choices=("warn", "refuse"),
)
STOPWORDS_OPTION = Option(
    name="stopwords",
    default="",
    summary="Path of the stop words of ROUGE-1.5.5, one a line, which the official ROUGE drops.",
    is_needed=True,
)
PROGRAM_OPTION = Option(
    name="program",
    default="python2",
    summary="The program of 2018 as released, on Python 2, or as scores of 2020 show it on Python 3: cited "
    "sentences in listed order, gold summaries without tags, the last annotator's by name.",
    choices=("python2", "python3"),
)


def make_missing_stopwords_note(rules: str, options: Options) -> dict[str, int]:
    """Return a note if the official program's ROUGE has no value because the file with
    ROUGE's stop words is missing.
    """
    is_needed = rules in (OFFICIAL_2017, OFFICIAL_2018) and not options.get(
        STOPWORDS_OPTION.name
    )
    return {"stopwords_not_given": 1} if is_needed else {}


OFFICIAL_2014 = "official-2014"
OFFICIAL_2016 = "official-2016"
OFFICIAL_2017 = "official-2017"
OFFICIAL_2018 = "official-2018"
MetricRefs = tuple[MetricRef, ...]


def make_rouge_metrics(
    measure: str,
    *options: str,
    order: str,
    kind: str = "",
    over_units: bool = False,
    **parts: Any,
) -> MetricRefs:
    """Return metrics such as `rouge_l_f1`, `rouge_l_f1_macro` and
    `rouge_2_f1.abstract`.
    """
    names = (
        f"rouge_{measure}_{{}}{'_macro' if over_units else ''}{_make_kind_suffix(kind)}"
    )
    given: dict[str, Any] = {"measure": measure, "order": order}
    given |= {"over_units": over_units, "kind": kind or None}
    return make_metric_refs(
        names, "clsumm:PlainRouge", *options, ENGINE.name, **parts, **given
    )


def make_pooled_rouge_metrics(
    measure: str, kind: str, *, end: str = "", **parts: Any
) -> MetricRefs:
    """Return metrics such as `rouge_2_f1.abstract` and `rouge_su_star_f1.human.least`."""
    names, options = (
        f"rouge_{measure}_{{}}{_make_kind_suffix(kind)}{_make_kind_suffix(end)}",
        (STOPWORDS_OPTION, PROGRAM_OPTION, ENGINE),
    )
    given: dict[str, Any] = {
        "measure": measure,
        "kind": kind or None,
        "end": end or None,
    }
    return make_metric_refs(
        names,
        "clsumm:PooledRouge",
        *(option.name for option in options),
        **parts,
        **given,
    )


def _make_kind_suffix(kind: str) -> str:
    return f".{kind}" if kind else ""
