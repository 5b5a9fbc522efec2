"""Who labels the sentences of a text: the labels that it brings along, or else a tagger."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np

from scoring.metrics.base import Floats
from scoring.metrics.discourse.sentences import counted_sentences, splitter_name
from scoring.metrics.discourse.tagger import Tagger
from tasks.types.base import Option, Options
from tasks.types.citation_text.instances import CORWA
from tasks.types.citation_text.metrics import (
    AUTO,
    LABELS,
    ORIGINAL,
    SENTENCES,
    SUPPLIED,
    TAGGERS,
    TREATMENT,
    label_set,
)
from tasks.types.unavailable import Unavailable


class Text(Protocol):
    """A target or a prediction: its text, and by scheme the labels of its sentences as far as it has some."""

    @property
    def text(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, Sequence[str]]: ...


@dataclass(frozen=True)
class Labelling:
    """One scheme under options. Nothing is read before the first text is labelled.

    ``is_official`` treats the sentences as the original does. Raises OptionRefused for what is no set of
    labels.
    """

    scheme: str
    options: Options
    is_official: bool = False

    def __post_init__(self) -> None:
        label_set(self.scheme, self.options)

    def _option(self, option: Option) -> str:
        return self.options.get(option.name, option.default)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return label_set(self.scheme, self.options)

    @property
    def treatment(self) -> str:
        """The official treatment is that of the original, whatever the option says."""
        return ORIGINAL if self.is_official else self._option(TREATMENT)

    @property
    def splitter(self) -> str:
        chosen = self._option(SENTENCES)
        if chosen != AUTO:
            return chosen
        return "punkt" if self.is_official and self.scheme == CORWA else "rules"

    @property
    def folder(self) -> str:
        """Where the tagger lies; empty where none is named."""
        return self._option(TAGGERS[self.scheme])

    @cached_property
    def tagger(self) -> Tagger | None:
        """None where no folder is named. Raises Unavailable."""
        if not self.folder:
            return None
        found = Tagger.load(Path(self.folder))
        if further := sorted(set(found.labels) - set(self.labels)):
            raise Unavailable(
                f"the {self.scheme} tagger gives {', '.join(further)}, "
                f"which {self.scheme}_labels does not list"
            )
        return found

    @property
    def parameters(self) -> Mapping[str, str]:
        """What of it is part of a signature. Raises Unavailable."""
        tagger = self.tagger
        digest = hashlib.sha256(",".join(self.labels).encode()).hexdigest()[:8]
        return {
            "labels": f"{len(self.labels)}-{digest}",
            "labelled": self._option(LABELS),
            "sentences": splitter_name(self.splitter),
            "short": "dropped",
            "tagger": tagger.digest[:12] if tagger else "none",
            "treatment": self.treatment,
        }

    @property
    def packages(self) -> tuple[str, ...]:
        return ("nltk", "scikit-learn") if self._option(TAGGERS[self.scheme]) else ()

    def of_run(self, texts: Sequence[Text | None]) -> list[Labelled | None]:
        return self._labelled(texts, marked_only=False)

    def of_gold(self, texts: Sequence[Text | None]) -> list[Labelled | None]:
        return self._labelled(texts, marked_only=self.treatment == ORIGINAL)

    def _labelled(self, texts: Sequence[Text | None], *, marked_only: bool) -> list[Labelled | None]:
        """Labels that a text brings along count as they are; the tagger is asked about all others at once."""
        found: list[Labelled | None] = [None] * len(texts)
        to_tag: dict[int, list[str]] = {}
        for place, text in enumerate(texts):
            if text is None:
                continue
            if self._option(LABELS) == SUPPLIED and self.scheme in text.labels:
                found[place] = Labelled(text.labels[self.scheme], Source.SUPPLIED)
            elif self.tagger is None:
                found[place] = Labelled((), Source.NOBODY)
            else:
                to_tag[place] = counted_sentences(text.text, self.splitter, marked_only=marked_only)
        if self.tagger is not None and to_tag:
            tags = iter(self.tagger.tag([sentence for own in to_tag.values() for sentence in own]))
            for place, sentences in to_tag.items():
                found[place] = Labelled([next(tags) for _ in sentences], Source.TAGGED)
        return found


class Source(IntEnum):
    """Who labelled the sentences of a text."""

    SUPPLIED = 0
    TAGGED = 1
    NOBODY = 2


SIDES = ("run", "gold")
RUN, GOLD = range(2)
#: The last columns: for each side how many texts each source labelled.
TAIL = len(SIDES) * len(Source)


@dataclass(frozen=True)
class Labelled:
    """The labels of one text's sentences, in any order, and who gave them."""

    labels: Sequence[str]
    source: Source


def count_matrix(
    labels: Sequence[str], datasets: Sequence[str], sides: Sequence[tuple[Labelled | None, Labelled | None]]
) -> Floats:
    """The (n, D·2·(L+1) + 6) matrix of n instances, each with its data set and what run and gold have there.

    None is a text that is not there, which is nobody's omission.
    """
    known = list(dict.fromkeys(datasets))
    column = {label: place for place, label in enumerate(labels)}
    width = len(labels) + 1
    counts = np.zeros((len(datasets), max(1, len(known)), len(SIDES), width))
    tail = np.zeros((len(datasets), len(SIDES), len(Source)))
    for row, (dataset, texts) in enumerate(zip(datasets, sides, strict=True)):
        for side, text in enumerate(texts):
            if text is None:
                continue
            tail[row, side, text.source] = 1
            for label in text.labels:
                counts[row, known.index(dataset), side, column.get(label, width - 1)] += 1
    return np.hstack([counts.reshape(len(datasets), -1), tail.reshape(len(datasets), -1)])


def label_counts(sums: Floats, labels: int) -> Floats:
    """From (…, k) sums of rows to (…, D, 2, L+1) counts: data set, side, label."""
    return sums[..., :-TAIL].reshape(*sums.shape[:-1], -1, len(SIDES), labels + 1)


def text_counts(stats: Floats) -> Mapping[tuple[str, Source], int]:
    """How many texts of each side were labelled by whom, from an (n, k) matrix."""
    tail = stats[:, -TAIL:].sum(axis=0).reshape(len(SIDES), len(Source))
    return {(side, source): int(tail[place, source]) for place, side in enumerate(SIDES) for source in Source}
