"""The options that the CL-Summ task types share."""

from collections.abc import Sequence
from typing import Any

from tasks.types.base import ENGINE, Option, Options
from tasks.types.clsumm.citances import FACETS
from tasks.types.clsumm.topics import CSV, VERSIONS
from tasks.types.references import MetricRef

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


OFFICIAL_2014 = "official-2014"
OFFICIAL_2016 = "official-2016"
OFFICIAL_2017 = "official-2017"
OFFICIAL_2018 = "official-2018"
COUNTS = "scoring.metrics.clsumm"
PARTS = ("f1", "precision", "recall")

MetricRefs = tuple[MetricRef, ...]


def overlap(average: str) -> MetricRefs:
    """`overlap_f1_micro` and so on: sentences of the gold that were found."""
    return tuple(
        MetricRef(f"overlap_{part}_{average}", f"{COUNTS}:Overlap", {"part": part, "average": average})
        for part in PARTS
    )


def facets(average: str, *, is_conditional: bool = True) -> MetricRefs:
    """`facet_f1_micro` and so on: facets that were named; unconditional, whatever task 1A found."""
    return tuple(
        MetricRef(
            f"facet_{part}_{average}{_condition(is_conditional)}",
            f"{COUNTS}:Facet",
            {"part": part, "average": average, "is_conditional": is_conditional},
        )
        for part in PARTS
    )


def weighted_facet(*, is_conditional: bool = True) -> MetricRef:
    name = f"facet_f1_weighted{_condition(is_conditional)}"
    return MetricRef(name, f"{COUNTS}:WeightedFacet", {"is_conditional": is_conditional})


def calibration() -> MetricRefs:
    return tuple(
        MetricRef(name, f"scoring.metrics.calibration:{metric}", {"labels": FACETS})
        for name, metric in (
            ("brier_score", "Brier"),
            ("ece", "CalibrationError"),
            ("ece_debiased", "DebiasedCalibrationError"),
        )
    )


def _condition(is_conditional: bool) -> str:
    return "" if is_conditional else "_unconditional"


def plain_rouge(
    measure: str,
    *,
    order: str,
    parts: Sequence[str] = PARTS,
    kind: str = "",
    over_units: bool = False,
    options: tuple[str, ...] = (),
) -> MetricRefs:
    """`rouge_l_f1`, `rouge_l_f1_macro`, `rouge_2_f1.abstract` and so on."""
    arguments: dict[str, Any] = {"measure": measure, "order": order, "over_units": over_units}
    return tuple(
        MetricRef(
            f"rouge_{measure}_{part}{'_macro' if over_units else ''}{_of_kind(kind)}",
            f"{COUNTS}:PlainRouge",
            {**arguments, "part": part, "kind": kind or None},
            (*options, ENGINE.name),
        )
        for part in parts
    )


def rouge_s(*, counts_missing: bool, over_citances: bool = False) -> MetricRefs:
    """`rouge_s_star_f1` and so on, with `_micro` over all citances at once."""
    return tuple(
        MetricRef(
            f"rouge_s_star_{part}{'_micro' if over_citances else ''}",
            f"{COUNTS}:SpanRougeS",
            {"part": part, "counts_missing": counts_missing, "over_citances": over_citances},
            ("stopwords", "program"),
        )
        for part in PARTS
    )


def pooled_rouge(measure: str, kind: str, *, parts: Sequence[str] = PARTS, end: str = "") -> MetricRefs:
    """`rouge_2_f1.abstract`, `rouge_su_star_f1.human.least` and so on."""
    return tuple(
        MetricRef(
            f"rouge_{measure}_{part}{_of_kind(kind)}{_of_kind(end)}",
            f"{COUNTS}:PooledRouge",
            {"measure": measure, "part": part, "kind": kind or None, "end": end or None},
            ("stopwords", "program", ENGINE.name),
        )
        for part in parts
    )


def _of_kind(kind: str) -> str:
    return f".{kind}" if kind else ""
