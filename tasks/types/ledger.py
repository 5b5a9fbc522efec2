"""Judgements of the ledger (the file of all judgements) with their kinds, their labels,
and the label that is used for scores.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

ENTAILS, SUPPORTS, ASSIGNS, PREFERS = "entails", "supports", "assigns", "prefers"
#: The value `store:JUDGE` of an option names a judge of a site's ledger.
STORE = "store"
#: The first line of a file with labels of a site's ledger has this key.
KEPT = "kept"
#: `NO_LABEL` marks items for which the judge gave no valid answer in two attempts.
NO_LABEL = "no label"
YES, NO = "yes", "no"
#: `MAX_JUDGE`, `MAX_BY` and `MAX_RATIONALE` limit names and rationales.
#: `MAX_REPEAT` is the maximum of the field `repeat`.
MAX_JUDGE, MAX_BY, MAX_RATIONALE, MAX_REPEAT = 200, 100, 2000, 9999


@dataclass(frozen=True)
class Kind:
    """A kind of judgements with the roles of the judged items in order, and the labels,
    the best label first.

    If people's votes tie between the best and the worst label, the label is
    ``divided``. The texts in the roles ``of_run`` are written by systems.
    """

    items: tuple[str, ...]
    labels: tuple[str, ...]
    divided: str
    of_run: tuple[str, ...]


KINDS: Mapping[str, Kind] = {
    ENTAILS: Kind(("premise", "hypothesis"), (YES, NO), NO, ("hypothesis",)),
    SUPPORTS: Kind(
        ("sentence", "document"), ("full", "partial", "none"), "partial", ("sentence",)
    ),
    ASSIGNS: Kind(
        ("topic", "nugget", "report"),
        ("support", "partial_support", "not_support"),
        "partial_support",
        ("report",),
    ),
    PREFERS: Kind(
        ("topic", "left", "right"), ("left", "right", "tie"), "tie", ("left", "right")
    ),
}


class Judgement(NamedTuple):
    """A row of the ledger, which contains one judgement. ``items`` contains hexadecimal
    digests of the judged items, separated by spaces.
    """

    kind: str
    judge: str
    digest: str
    items: str
    by: str
    repeat: int
    label: str
    score: float | None = None
    rationale: str = ""
    at: str | None = None
    cost: float | None = None


class Settled(NamedTuple):
    """The label of judged items that is used for scores. ``is_tie`` is True if the
    votes of people tied.
    """

    label: str
    is_tie: bool = False


class GivenLabel(NamedTuple):
    """One person's label of judged items, or the label from one repetition of a model."""

    by: str
    repeat: int
    label: str


class AskedItem(NamedTuple):
    """The texts of one item that a run asks a judge about, in the order of the kind's
    roles.

    ``others`` are the digests of other forms of the texts, under which the ledger may
    have the item. ``is_open`` is True if the scorer has no label of the item.
    """

    kind: str
    texts: tuple[str, ...]
    others: tuple[str, ...] = ()
    is_open: bool = True

    @property
    def items(self) -> str:
        """Return the digests of the texts, separated by spaces."""
        return " ".join(map(digest_of, self.texts))

    @property
    def by_role(self) -> dict[str, str]:
        return dict(zip(KINDS[self.kind].items, self.texts, strict=True))


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def shown_items(items: str) -> list[str]:
    """Return the digests of judged items in the format of files, with the name of the
    hash algorithm before each digest.
    """
    return [
        f"sha1:{one}" if len(one) == 40 else f"sha256:{one}" for one in items.split()
    ]


def settled(kind: str, given: Iterable[GivenLabel]) -> Settled:
    """Return the label of judged items that is used for scores. The label is the most
    frequent label of people, otherwise the first valid label of a model.

    A single valid judgement determines a label.
    """
    ordered = sorted(given)
    people = [one.label for one in ordered if one.by and one.label != NO_LABEL]
    if people:
        return majority(kind, people)
    labels = (one.label for one in ordered if one.label != NO_LABEL)
    return Settled(next(labels, NO_LABEL))


def majority(kind: str, labels: Iterable[str]) -> Settled:
    """Return the most frequent of several labels. In a tie, return the lowest of the
    tied labels, or ``divided`` if both the best and the worst label are tied.
    """
    counts = Counter(label for label in labels if label != NO_LABEL)
    if not counts:
        return Settled(NO_LABEL)
    most = max(counts.values())
    known = KINDS[kind]
    first = [label for label in known.labels if counts[label] == most]
    if len(first) == 1:
        return Settled(first[0])
    if kind == PREFERS or {known.labels[0], known.labels[-1]} <= set(first):
        return Settled(known.divided, is_tie=True)
    return Settled(first[-1], is_tie=True)
