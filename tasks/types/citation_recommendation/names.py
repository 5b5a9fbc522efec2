"""What the files and dimensions of a diagnostic split are called."""

from __future__ import annotations

from collections.abc import Mapping

CONTEXTS, CANDIDATES = "diagnostic.jsonl", "references.jsonl"
#: The dimensions of the diagnostic benchmark and that of authors, with the order of their classes where it is
#: not the alphabet's.
DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "field": (),
    "year_group": (),
    "citation_group": tuple(map(str, range(10))),
    "length_class": ("short", "medium", "long"),
    "location_class": ("start", "middle", "end"),
    "context_type": ("background", "method", "result"),
    "pos_before": ("verb", "noun", "adjective", "adverb", "pronoun", "preposition", "others"),
    "pos_after": ("verb", "noun", "adjective", "adverb", "pronoun", "preposition", "others"),
    "low_resource": (),
    "h_index_group": ("0", "1", "2", "3"),
}
#: Dimensions that are part of a gold's digest only where a context has a class of them.
LATER = frozenset({"h_index_group"})
#: Which dimensions a context was sampled for; in others it does not count. Without it, it counts in all.
SAMPLED_FOR = "sampled_for"


def is_gold_file(name: str) -> bool:
    return name.rpartition("/")[2] in (CONTEXTS, CANDIDATES)


def contradiction(recall: float, mrr: float, *, cut: int = 10, rounding: float = 0.0) -> str:
    """What is wrong with a row's Recall@k and MRR@k; empty where both can be true.

    A cited paper among the first k has a reciprocal rank between 1/k and 1, any other has 0, so that
    Recall@k / k <= MRR@k <= Recall@k. ``rounding`` is how far each figure may be off: half a unit of its last
    digit.
    """
    if mrr + rounding < (recall - rounding) / cut:
        return f"MRR@{cut} {mrr:g} is below Recall@{cut} / {cut}, which is {recall / cut:g}"
    if mrr - rounding > recall + rounding:
        return f"MRR@{cut} {mrr:g} is above Recall@{cut}, which is {recall:g}"
    return ""
