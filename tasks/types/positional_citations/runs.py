"""Runs: an answer with its marks for each question, and nothing else of what a line may say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tasks.types.base import Index, Options
from tasks.types.files import InputFile
from tasks.types.jsonlines import AnswerForm, Line, by_id, read_answers
from tasks.types.positional_citations.marks import is_in_range, marks
from tasks.types.problems import Problem, Problems
from tasks.types.records import Record
from tasks.types.run_forms import RunForm

EXAMPLE = '{"id": "q1", "output": "It rains most in Mawsynram [2]."}'
FORM = AnswerForm(example=EXAMPLE, later_counts=True)
RUN_FORM = RunForm(described=FORM.files, keys=(frozenset({"output"}),))


@dataclass(frozen=True)
class Run:
    """A team's answers by instance; an instance that the run does not mention is not among them."""

    outputs: dict[str, str]


def read_run(files: Sequence[InputFile], index: Index, options: Options) -> tuple[Run, list[Problem]]:
    """The answers, and everything that is wrong with the files.

    The run is only meant where nothing is fatal.
    """
    passages: dict[str, int] = index["passages"]

    def read(name: str, line: Line) -> str | None:
        output = line.text("output", example=EXAMPLE)
        if output is not None and line.is_sound:
            _note_doubts(line, output, passages[name])
        return output

    def by_id_or_place(file: InputFile, problems: Problems) -> Iterator[tuple[str | None, Record]]:
        """Without an id, the place in the file is the name of an instance."""
        for name, record in by_id(file, problems):
            by_place = str(record.item)
            yield name or (by_place if by_place in passages else None), record

    outputs, problems = read_answers(files, passages, read, FORM, named=by_id_or_place)
    return Run(outputs), problems


def _note_doubts(line: Line, output: str, passages: int) -> None:
    if not output.strip():
        line.doubt("the answer is empty")
    beyond = sorted({mark for mark in marks(output) if not is_in_range(mark, passages)})
    if beyond:
        shown = ", ".join(f"[{mark}]" for mark in beyond[:5]) + (" and others" if len(beyond) > 5 else "")
        line.doubt(f"{shown} stand for no passage", f"marks from [1] to [{passages}]")
