"""Names of metrics, dimensions and notes, and numbers, as people read them."""

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from functools import cache, lru_cache

from django.utils.translation import get_language, gettext, pgettext

from citeboard.core.words import in_decimals, thousands
from scoring.models import Score
from scoring.stats.significance import ALPHA
from tasks.models import Task
from tasks.types import columns, task_types

#: Parts of metric names that are not plain words.
PARTS = {
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
}
#: Parts that say how the values were put together; they stand behind a comma.
AVERAGES = ("micro", "macro", "weighted", "unconditional", "stemmed")


@cache
def display_names() -> dict[str, str]:
    names: dict[str, set[str]] = defaultdict(set)
    for kind in task_types().values():
        for name in {*kind.metrics, *kind.dimensions, *kind.display_names}:
            names[name].add(kind.display_names.get(name, ""))
    return {
        name: words for name, [words, *others] in names.items() if words and not others
    }


#: What the declared task that an answer is about calls metrics and dimensions; a request begins without.
_names_of_task: ContextVar[Mapping[str, str]] = ContextVar("names of the task")


def name_as(task: Task | None) -> None:
    """From now on in this request labels are as the task's folder has them, in the language of the reader."""
    declared = task.task_type.declared if task and task.declaration_id else None
    translated = (
        declared.translations.get((get_language() or "").partition("-")[0], {})
        if declared
        else {}
    )
    own = task.task_type.display_names if task and declared else {}
    _names_of_task.set({**own, **translated})


def metric_label(name: str) -> str:
    return _names_of_task.get({}).get(name) or _in_words(name)


@lru_cache(maxsize=1024)
def _in_words(name: str) -> str:
    """`overlap_f1_micro` is read as `Overlap F1, micro`, `macro_f1` as `Macro F1`."""
    if name in display_names():
        return display_names()[name]
    stem, _, variant = name.partition(".")
    words: list[str] = []
    averages = [variant] if variant else []
    for part in stem.split("_"):
        measure, at, depth = part.partition("@")
        plain = PARTS.get(measure, measure if words else measure.capitalize())
        (averages if part in AVERAGES and words else words).append(plain + at + depth)
    # ROUGE takes its variant with a hyphen, a star nothing at all: `ROUGE-L F1`, `ROUGE-S* F1`.
    label = ""
    for before, word in zip(["", *words], words, strict=False):
        label += (
            "" if not label or word == "*" else "-" if before == "ROUGE" else " "
        ) + word
    return ", ".join([label, *averages])


def dimension_label(name: str) -> str:
    """In the language of the reader: `scripts/messages.py` has the dimensions of all types translated."""
    named = _names_of_task.get({}).get(name)
    return named or pgettext(
        "dimension", display_names().get(name, name.replace("_", " "))
    )


#: A date is one.
_NUMBER = re.compile(r"\d+(?:[.-]\d+)*")


def class_label(label: str) -> str:
    """A class in the language of the reader; data and addresses have it as it is."""
    words = _NUMBER.sub("%s", label)
    if words not in columns.CLASS_WORDS:
        return label
    return pgettext("class", words) % tuple(_NUMBER.findall(label))


def note_label(name: str, count: int) -> str:
    """`missing_topics` of 2 is read as `2 missing topics`; what is not so is said and not counted."""
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
    return f"{thousands(count)} {' '.join(words)}"


MINUS = "\u2212"
DASH = "\u2013"
#: Of counts, shares, ratings up to 5 and percentages: enough to tell runs apart, no more than they carry.
DECIMALS = {0.0: 2, 1.0: 4, 5.0: 2, 100.0: 2}


def decimals(scale: float) -> int:
    return DECIMALS.get(scale, 3)


def shown(
    value: float | None,
    scale: float = 1.0,
    *,
    is_infinite: bool = False,
    withheld: object = "",
) -> str:
    """`0.3125`, `−0.2000`, `∞`, a dash where undefined, a word where not told; zero has no sign."""
    if withheld:
        return gettext("withheld")
    if value is None:
        return "∞" if is_infinite else DASH
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    return in_decimals(f"{value:z.{decimals(scale)}f}".replace("-", MINUS))


def p_text(p: float) -> str:
    """Return a p-value with two significant digits, and with more where these would read as 0.050."""
    for digits in range(1, 6):
        rounded = float(f"{p:.{digits}e}")
        if rounded != ALPHA or p == ALPHA:
            break
    decimals = digits - math.floor(math.log10(rounded)) if rounded else digits
    return f"{rounded:.{decimals}f}"


def score_text(score: Score | None) -> str:
    if score is None:
        return ""
    return shown(
        score.value, score.scale, is_infinite=score.is_infinite, withheld=score.withheld
    )


def interval(low: float | None, high: float | None, scale: float = 1.0) -> str:
    if low is None or high is None:
        return ""
    return gettext("%(low)s to %(high)s") % {
        "low": shown(low, scale),
        "high": shown(high, scale),
    }


def with_interval(
    value: float | None, found: Sequence[float] | str | None, scale: float = 1.0
) -> str:
    """`0.62 (0.40 to 0.78)`, or in the brackets why there is none; neither was stored by earlier versions."""
    if value is None or math.isnan(value):
        return DASH
    low, high = found if found and not isinstance(found, str) else (None, None)
    ends = (
        reason_in_words(found) if isinstance(found, str) else interval(low, high, scale)
    )
    return shown(value, scale) + (f" ({ends})" if ends else "")


def reason_in_words(reason: str) -> str:
    words = {
        "words-not-seen": gettext(
            "switched off: it cannot see the words of the gold, and the task names no tokenizer"
        ),
        "few-units": gettext("no interval: fewer than three units carry this number"),
        "few-carriers": gettext("no interval: fewer than five units carry this number"),
        "too-far": gettext(
            "not compared: answers are over a thousand standard deviations from the gold"
        ),
        "few-of-a-class": gettext(
            "no interval: a class is there in fewer than five units"
        ),
        "undefined": gettext("no interval: without some unit the number is undefined"),
        "all-equal": gettext("no interval: all units are equal"),
        "not-honest": gettext(
            "no interval: none of this number holds as often as it says"
        ),
    }
    return words.get(reason, "")


@lru_cache(maxsize=4096)
def rank_text(
    rank: int | None, low: int | None, high: int | None, *, is_compared: bool
) -> str:
    """`2–4` once all rows of the board are compared, `2` until then; nothing of what is not ranked."""
    if rank is None:
        return ""
    return ranks(low, high) if is_compared else str(rank)


def ranks(low: int | None, high: int | None) -> str:
    """`3`, or `2–4` where a rank is shared or uncertain."""
    if low is None or high is None:
        return ""
    return str(low) if low == high else f"{low}{DASH}{high}"
