"""Kinds and labels of judgements, and the rule that combines several judgements of the
same items to one label.
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
#: `NO_LABEL` is recorded if a model gave no valid answer in two attempts.
NO_LABEL = "no label"
YES, NO = "yes", "no"
#: `MAX_JUDGE`, `MAX_BY` and `MAX_RATIONALE` limit the lengths of names and rationales.
#: `MAX_REPEAT` is the highest permitted number of repetitions of a judgement.
MAX_JUDGE, MAX_BY, MAX_RATIONALE, MAX_REPEAT = 200, 100, 2000, 9999


@dataclass(frozen=True)
class Kind:
    """A kind of judgement, such as “a document supports a sentence”, with the roles of
    the judged texts and the possible labels from best to worst.

    If the best and the worst label have equally many votes of people, the label
    ``divided`` is used. The texts in the roles ``of_run`` are written by systems.
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


#: Items of these kinds may count neither way, as in files with “no label”.
LEAVING_OUT = (SUPPORTS, ASSIGNS)
#: A judgement by ORGANISERS with NO_LABEL leaves items out that have no other label.
#: No person has this pseudonym, and rows with it have no label.
ORGANISERS = "left out by organisers"


class Judgement(NamedTuple):
    """A judgement, which is a row in the ledger (the file of all judgements). ``items``
    contains the hexadecimal digests of the judged texts, separated by spaces.
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
    """The label that several judgements of the same items lead to.

    ``is_tie`` is True if two labels have equally many votes of people. ``is_left_out``
    is True if organisers decided that items without a label count neither way.
    """

    label: str
    is_tie: bool = False
    is_left_out: bool = False

    def is_final(self, kind: str) -> bool:
        """Return True if a scorer can use the decision. Metrics of entailment need a
        label of each pair.
        """
        return self.label != NO_LABEL or (self.is_left_out and kind in LEAVING_OUT)


class GivenLabel(NamedTuple):
    """The label that a person, or a repetition of a model, gave to the judged items."""

    by: str
    repeat: int
    label: str


class AskedItem(NamedTuple):
    """The texts of one item that a run asks a judge about, in the order of the kind's
    roles.

    ``others`` are the digests of other forms of the texts, under which the ledger may
    have the item. ``is_open`` is True if the scorer has no label of the item. ``unit``
    is the resampling unit of the item, such as its topic.
    """

    kind: str
    texts: tuple[str, ...]
    others: tuple[str, ...] = ()
    is_open: bool = True
    unit: str = ""

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
    """Return the digests of judged texts with the name of the hash algorithm before
    each digest, such as `sha256:…`.
    """
    return [
        f"sha1:{one}" if len(one) == 40 else f"sha256:{one}" for one in items.split()
    ]


def settled(kind: str, given: Iterable[GivenLabel]) -> Settled:
    """Return the label that follows from several judgements of the same items, and that
    metrics use. If people judged the items, the most frequent label of people is used,
    otherwise the first valid label of a model.

    A single valid judgement of the items is sufficient for a label. Without one, the
    items are left out if organisers gave them NO_LABEL.
    """
    ordered = sorted(given)
    people = [one.label for one in ordered if one.by and one.label != NO_LABEL]
    if people:
        return majority(kind, people)
    labels = (one.label for one in ordered if one.label != NO_LABEL)
    label = next(labels, NO_LABEL)
    is_left_out = label == NO_LABEL and any(one.by == ORGANISERS for one in ordered)
    return Settled(label, is_left_out=is_left_out)


def majority(kind: str, labels: Iterable[str]) -> Settled:
    """Return the label with the most votes. If several labels have the most votes,
    return the lowest of them, or ``divided`` if both the best and the worst label are
    among them.
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
