"""Who labels the sentences of a text: the labels that it brings along, or else a tagger."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol

from scoring.metrics.discourse.counting import Labelled, Source
from scoring.metrics.discourse.sentences import counted_sentences, splitter_name
from scoring.metrics.discourse.tagger import Tagger
from tasks.types.base import Option, Options
from tasks.types.citation_text.discourse import (
    AUTO,
    LABELS,
    ORIGINAL,
    SENTENCES,
    SUPPLIED,
    TAGGERS,
    TREATMENT,
    label_set,
)
from tasks.types.citation_text.labels import CORWA
from tasks.types.unavailable import Unavailable


class Text(Protocol):
    """A target or a prediction: its text, and by scheme the labels of its sentences as far as it has some."""

    @property
    def text(self) -> str: ...

    @property
    def labels(self) -> Mapping[str, Sequence[str]]: ...


def _digest(labels: Sequence[str]) -> str:
    return hashlib.sha256(",".join(labels).encode()).hexdigest()[:8]


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
        return {
            "labels": f"{len(self.labels)}-{_digest(self.labels)}",
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
