"""Systems that come with a task type: deterministic, from the public inputs, in the form of a run."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tasks.types.base import Option, Options, checked_options
from tasks.types.files import Files

Answer = Mapping[str, Any]
Answering = Callable[[Files], Iterator[Answer]]


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """A system of ours: ``answers`` turns public inputs into the lines of a run. It may be given gold, of
    which it reads no more than participants have, unless ``learns_from_gold``: then it needs gold and answers
    each part of it by what the others say. ``source`` names the paper that tells of the system. Baselines of
    one ``sweep`` are one system at several values, ``at``, of what is ``swept``.
    """

    name: str
    summary: str
    source: str
    answers: Answering
    learns_from_gold: bool = False
    sweep: str = ""
    at: float | None = None
    swept: str = "threshold"
    #: What may be set, and what then answers; ``answers`` is that of the defaults.
    options: tuple[Option, ...] = ()
    configured: Callable[[Options], Answering] | None = None
    #: Where options or what is installed decide what the run rests on: that, in words.
    rests_on: Callable[[Options], str] | None = None
    #: What it lacks on this machine and who supplies it, in words; empty if it can run.
    lacks: Callable[[], str] = str
    #: What its answers are a run for; filled in from the task types that name it.
    task_types: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        answering: Callable[[Files, Options], Iterator[Answer]],
        *,
        name: str,
        options: tuple[Option, ...],
        **facts: Any,
    ) -> "Baseline":
        """One that answers under its options, the defaults filled in. Its answers raise OptionRefused."""

        def configured(values: Options) -> Answering:
            checked = checked_options(name, options, values)
            return lambda files: answering(files, checked)

        return cls(
            name=name,
            answers=configured({}),
            options=options,
            configured=configured,
            **facts,
        )

    def with_options(self, options: Options) -> "Baseline":
        """The same system under other options. Raises OptionRefused."""
        checked = checked_options(self.name, self.options, options)
        return (
            replace(self, answers=self.configured(checked)) if self.configured else self
        )

    def words(self, options: Options) -> str:
        """What a run under these options rests on here. Raises OptionRefused or Unavailable."""
        return (
            self.rests_on(checked_options(self.name, self.options, options))
            if self.rests_on
            else ""
        )

    @property
    def sees(self) -> str:
        """In words, what of a split it is given."""
        if self.learns_from_gold:
            return "inputs and gold of the split itself; each part is answered from what other parts hold"
        return "the public inputs alone"

    def write(self, files: Files, path: Path) -> int:
        """Write the run as JSON lines and say how many lines it has."""
        lines = [
            json.dumps(answer, ensure_ascii=False) + "\n"
            for answer in self.answers(files)
        ]
        path.write_text("".join(lines), encoding="utf-8")
        return len(lines)
