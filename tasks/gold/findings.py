"""What is odd about gold that can be read: told to its organisers, whatever its type."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Finding = dict[str, Any]
#: So much of a text is shown of an instance that something is said of, and so many of each kind are.
MAX_QUOTE, MAX_NAMED = 80, 5
#: What comes behind so many instances is not looked at, for their digests have to be remembered.
MAX_LOOKED_AT = 200_000
#: A label that fewer instances have is told; of so many labels at most, else they are no classes.
FEW, MAX_LABELS = 5, 50
#: The share of instances whose answer stands in a field of what is shown, from which that is told.
MUCH = 0.5
_UNSEEN = re.compile(r"^\s|\s$|[\x00-\x1f\x7f\u00ad\u200b-\u200f\u2028-\u202e\u2060\ufeff]")


class Findings:
    """Looks at instances as they pass: what is shown of each, and what is secret of it."""

    def __init__(self) -> None:
        self._answers: dict[bytes, bytes] = {}
        self._labels: Counter[str] = Counter()
        self._counts: Counter[str] = Counter()
        self._named: dict[str, list[str]] = {}
        self._instances = self._single = 0

    def note(self, shown: Any, secret: Any, of_shown: bytes, of_all: bytes) -> None:
        self._instances += 1
        if self._instances > MAX_LOOKED_AT:
            return
        if (before := self._answers.setdefault(of_shown, of_all)) is not of_all:
            self._count("doubled" if of_all == before else "contradicted", quoted(shown))
        if isinstance(secret, str):
            self._single += 1
            if len(self._labels) <= MAX_LABELS:
                self._labels[secret] += 1
            if len(secret) > 1 and secret in shown_values(shown):
                self._count("shown", quoted(shown))

    def name(self, names: Iterable[str]) -> None:
        for name in names:
            if _UNSEEN.search(name):
                self._count("names", repr(name)[1:-1])

    def units(self, instances: Iterable[tuple[str, str]], *, is_chosen: bool) -> None:
        """By the unit that each stands in. Where all units are single ones the instance may be meant."""
        counts = Counter(unit for unit, _instance in set(instances))
        single = [unit for unit, count in counts.items() if count == 1]
        if is_chosen or len(single) < len(counts):
            for unit in single:
                self._count("single", unit[:MAX_QUOTE])

    def unreachable(self, named: Iterable[str]) -> None:
        for name in named:
            self._count("unreachable", name[:MAX_QUOTE])

    def all(self) -> list[Finding]:
        if self._counts["shown"] < MUCH * self._single:
            del self._counts["shown"]
        found = [
            {"kind": kind, "count": count, "names": self._named[kind]} for kind, count in self._counts.items()
        ]
        few = sorted(label for label, count in self._labels.items() if count < FEW)
        if few and len(self._labels) <= MAX_LABELS and self._instances >= FEW * len(self._labels):
            named = [f"{label[:MAX_QUOTE]} ({self._labels[label]})" for label in few]
            found.append({"kind": "few", "count": len(few), "names": named})
        return found

    def _count(self, kind: str, name: str) -> None:
        self._counts[kind] += 1
        if len(named := self._named.setdefault(kind, [])) < MAX_NAMED:
            named.append(name)


def shown_values(shown: Any) -> Iterator[str]:
    """The texts that are a field's whole value; candidates in a list are no answer."""
    values = shown.values() if isinstance(shown, Mapping) else ()
    return (value for value in values if isinstance(value, str))


def quoted(shown: Any) -> str:
    text = " ".join(" ".join(texts_in(shown)).split())
    return text if len(text) <= MAX_QUOTE else f"{text[: MAX_QUOTE - 1]}…"


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from texts_in(one)
    elif isinstance(value, Sequence):
        for one in value:
            yield from texts_in(one)


def keys_in(value: Any) -> Iterator[str]:
    for key, one in value.items() if isinstance(value, Mapping) else ():
        yield key
        yield from keys_in(one)
