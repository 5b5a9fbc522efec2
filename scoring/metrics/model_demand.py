"""Whether a task's scores need a model, from its rule sets and options; nothing is loaded to find out."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from scoring.metrics import metrics_of
from tasks.types import OptionRefused, task_type


def needs_models(slug: str, rules: Sequence[str], options: Mapping[str, str]) -> bool:
    return _needs_models(slug, tuple(rules), tuple(sorted(options.items())))


@lru_cache(maxsize=256)
def _needs_models(slug: str, rules: tuple[str, ...], values: tuple[tuple[str, str], ...]) -> bool:
    kind = task_type(slug)
    try:
        options = kind.checked_options(dict(values))
    except OptionRefused:
        # Its jobs fail with these words, on any worker.
        return False
    return any(metric.needs_model for name in rules for metric in metrics_of(kind, name, options))
