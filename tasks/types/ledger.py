"""Kinds and labels of judgements, and the rule that combines several judgements of the
same items to one label.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

ENTAILS_KIND, SUPPORTS_KIND, ASSIGNS_KIND, PREFERS_KIND = (
    "entails",
    "supports",
    "assigns",
    "prefers",
)
#: The value `store:JUDGE` of an option names a judge of a site's ledger.
LEDGER_JUDGE_PREFIX = "store"
#: The first line of a file with labels of a site's ledger has this key.
LEDGER_FILE_KEY = "kept"
#: `NO_VALID_LABEL` is recorded if a model gave no valid answer in two attempts.
NO_VALID_LABEL = "no label"
ENTAILED_LABEL, NOT_ENTAILED_LABEL = "yes", "no"
#: `MAX_JUDGE_NAME_CHARACTERS` and the next two constants limit the lengths of names and rationales.
#: `MAX_REPETITION_NUMBER` is the highest permitted number of repetitions of a judgement.
(
    MAX_JUDGE_NAME_CHARACTERS,
    MAX_PERSON_NAME_CHARACTERS,
    MAX_RATIONALE_CHARACTERS,
    MAX_REPETITION_NUMBER,
) = 200, 100, 2000, 9999


@dataclass(frozen=True)
class JudgementKind:
    """A kind of judgement, such as “a document supports a sentence”, with the roles of
    the judged texts and the possible labels from best to worst.

    If the best and the worst label have equally many votes of people, the label
    ``divided`` is used. The texts in the roles ``of_run`` are written by systems.
    """

    items: tuple[str, ...]
    labels: tuple[str, ...]
    divided: str
    of_run: tuple[str, ...]


JUDGEMENT_KINDS_BY_NAME: Mapping[str, JudgementKind] = {
    ENTAILS_KIND: JudgementKind(
        ("premise", "hypothesis"),
        (ENTAILED_LABEL, NOT_ENTAILED_LABEL),
        NOT_ENTAILED_LABEL,
        ("hypothesis",),
    ),
    SUPPORTS_KIND: JudgementKind(
        ("sentence", "document"), ("full", "partial", "none"), "partial", ("sentence",)
    ),
    ASSIGNS_KIND: JudgementKind(
        ("topic", "nugget", "report"),
        ("support", "partial_support", "not_support"),
        "partial_support",
        ("report",),
    ),
    PREFERS_KIND: JudgementKind(
        ("topic", "left", "right"), ("left", "right", "tie"), "tie", ("left", "right")
    ),
}


#: Items of these kinds may count neither way, as in files with “no label”.
KINDS_THAT_ALLOW_NO_LABEL = (SUPPORTS_KIND, ASSIGNS_KIND)
#: A judgement by ORGANISERS_PSEUDONYM with NO_VALID_LABEL leaves items out that have no other label.
#: No person has this pseudonym, and rows with it have no label.
ORGANISERS_PSEUDONYM = "left out by organisers"


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


class DecidedLabel(NamedTuple):
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
        return self.label != NO_VALID_LABEL or (
            self.is_left_out and kind in KINDS_THAT_ALLOW_NO_LABEL
        )


class RecordedLabel(NamedTuple):
    """The label that a person, or a repetition of a model, gave to the judged items."""

    by: str
    repeat: int
    label: str


class ItemToJudge(NamedTuple):
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
        return " ".join(map(compute_text_digest, self.texts))

    @property
    def texts_by_role(self) -> dict[str, str]:
        return dict(
            zip(JUDGEMENT_KINDS_BY_NAME[self.kind].items, self.texts, strict=True)
        )


def compute_text_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def format_item_digests(items: str) -> list[str]:
    """Return the digests of judged texts with the name of the hash algorithm before
    each digest, such as `sha256:…`.
    """
    return [
        f"sha1:{one}" if len(one) == 40 else f"sha256:{one}" for one in items.split()
    ]


def decide_label(kind: str, given: Iterable[RecordedLabel]) -> DecidedLabel:
    """Return the label that follows from several judgements of the same items, and that
    metrics use. If people judged the items, the most frequent label of people is used,
    otherwise the first valid label of a model.

    A single valid judgement of the items is sufficient for a label. Without one, the
    items are left out if organisers gave them NO_VALID_LABEL.
    """
    ordered = sorted(given)
    people = [one.label for one in ordered if one.by and one.label != NO_VALID_LABEL]
    if people:
        return decide_label_by_majority(kind, people)
    labels = (one.label for one in ordered if one.label != NO_VALID_LABEL)
    label = next(labels, NO_VALID_LABEL)
    is_left_out = label == NO_VALID_LABEL and any(
        one.by == ORGANISERS_PSEUDONYM for one in ordered
    )
    return DecidedLabel(label, is_left_out=is_left_out)


def decide_label_by_majority(kind: str, labels: Iterable[str]) -> DecidedLabel:
    """Return the label with the most votes. If several labels have the most votes,
    return the lowest of them, or ``divided`` if both the best and the worst label are
    among them.
    """
    counts = Counter(label for label in labels if label != NO_VALID_LABEL)
    if not counts:
        return DecidedLabel(NO_VALID_LABEL)
    most = max(counts.values())
    known = JUDGEMENT_KINDS_BY_NAME[kind]
    first = [label for label in known.labels if counts[label] == most]
    if len(first) == 1:
        return DecidedLabel(first[0])
    if kind == PREFERS_KIND or {known.labels[0], known.labels[-1]} <= set(first):
        return DecidedLabel(known.divided, is_tie=True)
    return DecidedLabel(first[-1], is_tie=True)
