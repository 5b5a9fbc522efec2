"""Format numbers and the names of metrics, dimensions and notes for display."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from functools import cache, lru_cache

from django.utils.translation import get_language, gettext, pgettext

from citeboard.core.words import format_thousands, localize_separators
from scoring.models import Score
from scoring.stats.significance import FAMILYWISE_ERROR_RATE
from tasks.models import Task
from tasks.types import TaskType, columns, task_types

#: METRIC_KEY_PART_LABELS contains parts of metric keys that are not displayed as plain words.
METRIC_KEY_PART_LABELS = {
    "f1": "F1",
    "rouge": "ROUGE",
    "l": "L",
    "lsum": "Lsum",
    "s": "S",
    "su": "SU",
    "su4": "SU4",
    "star": "*",
    "mrr": "MRR",
    "ndcg": "nDCG",
    "map": "MAP",
    "em": "EM",
    "kl": "KL",
    "bertscore": "BERTScore",
    "corwa": "CORWA",
    "aliice": "ALiiCE",
    "alce": "ALCE",
    "cvcp": "CVCP",
    "rbp": "RBP",
    "ece": "ECE",
    "bleu": "BLEU",
    "chrf": "chrF",
    "pp": "++",
    "meteor": "METEOR",
    "nltk": "(NLTK)",
    "qampari": "QAMPARI",
    "mauve": "MAUVE",
    "mcc": "MCC",
    "auroc": "AUROC",
    "auprc": "AUPRC",
    "mae": "MAE",
    "rmse": "RMSE",
    "r2": "R²",
    "iou": "IoU",
}
#: In the displayed name of a metric, a comma precedes these parts of the metric's key.
METRIC_KEY_VARIANT_PARTS = ("micro", "macro", "weighted", "unconditional", "stemmed")


@cache
def collect_unambiguous_display_names() -> dict[str, str]:
    names: dict[str, set[str]] = defaultdict(set)
    for kind in task_types().values():
        for name in {*kind.metrics, *kind.dimensions, *kind.display_names}:
            names[name].add(kind.display_names.get(name, ""))
    return {
        name: words for name, [words, *others] in names.items() if words and not others
    }


#: ``_metric_names_of_current_task`` has the names of metrics that the current task declares.
_metric_names_of_current_task: ContextVar[Mapping[str, str]] = ContextVar(
    "names of the task"
)


#: ``_class_names_of_current_task`` has the names of classes that the current task declares.
_class_names_of_current_task: ContextVar[Mapping[str, str]] = ContextVar(
    "classes of the task"
)


def set_display_names_of_task(task: Task | None) -> None:
    """Use the task's names of metrics, in the reader's language, for the rest of the
    current request.
    """
    is_declared = task is not None and task.declaration_id is not None
    _metric_names_of_current_task.set(
        _translate_declared_display_names(task.task_type)
        if task and is_declared
        else {}
    )
    _class_names_of_current_task.set(
        task.task_type.class_names if task and is_declared else {}
    )


def _translate_declared_display_names(kind: TaskType) -> Mapping[str, str]:
    """Return the names of metrics and dimensions that a declared task defines, in the
    reader's language.
    """
    if kind.declared is None:
        return {}
    language = (get_language() or "").partition("-")[0]
    translated = kind.declared.translations.get(language, {})
    return {**kind.display_names, **translated}


def list_declared_names_by_language(name: str, kind: TaskType) -> dict[str, str]:
    """Return the names that a declared task gives to a metric, keyed by language. The
    key "" stands for the default language of the task.
    """
    if kind.declared is None:
        return {}
    by_language = {"": kind.display_names, **kind.declared.translations}
    return {
        language: names[name]
        for language, names in by_language.items()
        if name in names
    }


def display_name_of_metric(name: str, kind: TaskType | None = None) -> str:
    """Return the displayed name of a metric, as defined by the type ``kind`` or by the
    task of the current request.
    """
    names = (
        _metric_names_of_current_task.get({})
        if kind is None
        else _translate_declared_display_names(kind)
    )
    return names.get(name) or _derive_name_from_metric_key(name)


@lru_cache(maxsize=1024)
def _derive_name_from_metric_key(name: str) -> str:
    """Return a displayed name derived from a metric's key, for example `Overlap F1,
    micro` for `overlap_f1_micro`.
    """
    if name in collect_unambiguous_display_names():
        return collect_unambiguous_display_names()[name]
    stem, _, variant = name.partition(".")
    words: list[str] = []
    averages = [variant] if variant else []
    for part in stem.split("_"):
        measure, at, depth = part.partition("@")
        plain = METRIC_KEY_PART_LABELS.get(
            measure, measure if words else measure.capitalize()
        )
        (averages if part in METRIC_KEY_VARIANT_PARTS and words else words).append(
            plain + at + depth
        )
    # In `ROUGE-L F1`, a hyphen follows ROUGE, and a space precedes F1.
    label = ""
    for before, word in zip(["", *words], words, strict=False):
        label += (
            "" if not label or word == "*" else "-" if before == "ROUGE" else " "
        ) + word
    return ", ".join([label, *averages])


def display_name_of_dimension(name: str) -> str:
    """Return the displayed name of a dimension in the reader's language. The program
    `scripts/messages.py` collects the names of dimensions for translation.
    """
    named = _metric_names_of_current_task.get({}).get(name)
    return named or pgettext(
        "dimension",
        collect_unambiguous_display_names().get(name, name.replace("_", " ")),
    )


#: The expression _NUMBER_PATTERN matches a number or a date.
_NUMBER_PATTERN = re.compile(r"\d+(?:[.-]\d+)*")


def display_name_of_class(label: str) -> str:
    """Return the displayed name of a class in the reader's language. Data files and
    URLs contain the stored name of a class instead.
    """
    label = _class_names_of_current_task.get({}).get(label, label)
    words = _NUMBER_PATTERN.sub("%s", label)
    if words not in columns.TRANSLATABLE_CLASS_NAMES:
        return label
    return pgettext("class", words) % tuple(_NUMBER_PATTERN.findall(label))


def format_score_note(name: str, count: int) -> str:
    """Return the text of a note about a score, such as `2 missing topics` for the key
    `missing_topics` and the count 2. Notes whose key contains “not” have no count.
    """
    words = name.split("_")
    if "not" in words:
        return " ".join(words)
    if count == 1:
        place = next(
            (
                i
                for i, word in enumerate(words)
                if word in ("to", "of", "in", "without")
            ),
            len(words),
        )
        head = words[place - 1]
        words[place - 1] = (
            head[:-1] if head.endswith("s") and not head.endswith("ss") else head
        )
    return f"{format_thousands(count)} {' '.join(words)}"


MINUS_SIGN = "\u2212"
EN_DASH = "\u2013"
#: DECIMAL_PLACES_BY_SCALE maps a scale (0 for counts) to the displayed number of decimals.
DECIMAL_PLACES_BY_SCALE = {0.0: 2, 1.0: 4, 5.0: 2, 100.0: 2}


def decimal_places_for_scale(scale: float) -> int:
    return DECIMAL_PLACES_BY_SCALE.get(scale, 3)


def format_score(
    value: float | None,
    scale: float = 1.0,
    *,
    is_infinite: bool = False,
    withheld: object = "",
) -> str:
    """Return a score as text, such as `0.3125`, `−0.2000` or `∞`, or a dash for an
    undefined score, or a word for a withheld score. Zero has no sign.
    """
    if withheld:
        return gettext("withheld")
    if value is None:
        return "∞" if is_infinite else EN_DASH
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS_SIGN}∞"
    return localize_separators(
        f"{value:z.{decimal_places_for_scale(scale)}f}".replace("-", MINUS_SIGN)
    )


def format_p_value(p: float) -> str:
    """Return a p-value as text with two significant digits. If the rounded p-value is
    the significance level 0.050, the text has more digits.
    """
    for digits in range(1, 6):
        rounded = float(f"{p:.{digits}e}")
        if rounded != FAMILYWISE_ERROR_RATE or p == FAMILYWISE_ERROR_RATE:
            break
    decimals = digits - math.floor(math.log10(rounded)) if rounded else digits
    return f"{rounded:.{decimals}f}"


def format_stored_score(score: Score | None) -> str:
    if score is None:
        return ""
    return format_score(
        score.value, score.scale, is_infinite=score.is_infinite, withheld=score.withheld
    )


def format_interval(low: float | None, high: float | None, scale: float = 1.0) -> str:
    if low is None or high is None:
        return ""
    return gettext("%(low)s to %(high)s") % {
        "low": format_score(low, scale),
        "high": format_score(high, scale),
    }


def format_score_with_interval(
    value: float | None, found: Sequence[float] | str | None, scale: float = 1.0
) -> str:
    """Return a value with its interval, such as `0.62 (0.40 to 0.78)`, or with the
    reason for a missing interval. Earlier versions stored no reason for a missing
    interval.
    """
    if value is None or math.isnan(value):
        return EN_DASH
    low, high = found if found and not isinstance(found, str) else (None, None)
    ends = (
        describe_missing_interval(found)
        if isinstance(found, str)
        else format_interval(low, high, scale)
    )
    return format_score(value, scale) + (f" ({ends})" if ends else "")


def describe_missing_interval(reason: str) -> str:
    words = {
        "words-not-seen": gettext(
            "switched off: it cannot see the words of the gold, and the task names no tokenizer"
        ),
        "few-units": gettext(
            "no interval: fewer than three units contribute to this number"
        ),
        "few-carriers": gettext(
            "no interval: fewer than five units contribute to this number"
        ),
        "too-far": gettext(
            "not compared: answers are over a thousand standard deviations from the gold"
        ),
        "few-of-a-class": gettext(
            "no interval: a class occurs in fewer than five units"
        ),
        "undefined": gettext(
            "no interval: leaving out one of the units makes the number undefined"
        ),
        "all-equal": gettext("no interval: all units are equal"),
        "not-honest": gettext(
            "no interval: no known interval of this number holds as often as it claims"
        ),
        "no-topics": gettext(
            "no interval: runs of an earlier release were scored without their topics"
        ),
    }
    return words.get(reason, "")


@lru_cache(maxsize=4096)
def format_rank(
    rank: int | None, low: int | None, high: int | None, *, is_compared: bool
) -> str:
    """Return a rank as text, which is `2–4` if all rows of the board have been
    compared, `2` before the comparison, and empty for an unranked row.
    """
    if rank is None:
        return ""
    return format_rank_range(low, high) if is_compared else str(rank)


def format_rank_range(low: int | None, high: int | None) -> str:
    """Return a range of ranks as text, such as `3`, or `2–4` if the rank is shared or
    uncertain.
    """
    if low is None or high is None:
        return ""
    return str(low) if low == high else f"{low}{EN_DASH}{high}"
