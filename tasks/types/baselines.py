"""Built-in baseline systems of task types. Built-in baselines are deterministic and
create runs from the public inputs.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tasks.types.base import Option, Options, validate_option_values
from tasks.types.files import Files

Answer = Mapping[str, Any]
AnswerIteratorFunction = Callable[[Files], Iterator[Answer]]


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """A built-in baseline system. ``answers`` computes the lines of a run from the
    public inputs.

    If ``answers`` receives gold, ``answers`` reads only the public part of the gold. If
    ``learns_from_gold`` is True, the gold is divided into parts, and each part is
    answered with the gold of the other parts. ``source`` names the paper that describes
    the system. Baselines with the same ``sweep`` are one system with different values
    of one parameter. ``swept`` is the name of the parameter, and ``at`` is the
    parameter's value for this baseline.
    """

    name: str
    summary: str
    source: str
    answers: AnswerIteratorFunction
    learns_from_gold: bool = False
    sweep: str = ""
    at: float | None = None
    swept: str = "threshold"
    #: `options` lists the options of the baseline.
    #: `configured` returns the function ``answers`` for given options.
    #: The attribute ``answers`` uses the default values of the options.
    options: tuple[Option, ...] = ()
    configured: Callable[[Options], AnswerIteratorFunction] | None = None
    #: `rests_on` describes the resources that a run used.
    #: Only a baseline whose resources depend on options or software has `rests_on`.
    rests_on: Callable[[Options], str] | None = None
    #: `lacks` names missing software and the place where users get the software.
    #: `lacks` returns an empty text if all software of the baseline is installed.
    lacks: Callable[[], str] = str
    #: The registry sets `task_types` to the task types that list the baseline.
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
        """Return a baseline system from a function ``answering`` that takes options.
        The default values of options replace options that are not set. The baseline's
        ``answers`` raises OptionRefused for invalid options.
        """

        def make_answering_function(values: Options) -> AnswerIteratorFunction:
            checked = validate_option_values(name, options, values)
            return lambda files: answering(files, checked)

        return cls(
            name=name,
            answers=make_answering_function({}),
            options=options,
            configured=make_answering_function,
            **facts,
        )

    def with_options(self, options: Options) -> "Baseline":
        """Return the baseline system with other values of the options. Raises
        OptionRefused.
        """
        checked = validate_option_values(self.name, self.options, options)
        return (
            replace(self, answers=self.configured(checked)) if self.configured else self
        )

    def words(self, options: Options) -> str:
        """Describe the software and models that a run of the baseline uses under the
        given options. Raises OptionRefused or Unavailable.
        """
        return (
            self.rests_on(validate_option_values(self.name, self.options, options))
            if self.rests_on
            else ""
        )

    @property
    def sees(self) -> str:
        """Return a description of the data that the baseline reads."""
        if self.learns_from_gold:
            return "inputs and gold of the split itself; each part is answered from what other parts hold"
        return "the public inputs alone"

    def write(self, files: Files, path: Path) -> int:
        """Write the run as JSON lines and return the number of lines."""
        lines = [
            json.dumps(answer, ensure_ascii=False) + "\n"
            for answer in self.answers(files)
        ]
        path.write_text("".join(lines), encoding="utf-8")
        return len(lines)
