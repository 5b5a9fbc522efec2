"""Compare all figures that the five papers print with figures that programs compute.
For each paper, a file lists sets of cells of the paper's tables.

A set of cells selects printed figures of a `table`, either all figures or those of the
rows that match `where`. The set has the command line of the `program` that computes the
figures, and the path `ours` of the figures in the program's JSON output. If no program
can compute the figures, the field `cannot` has the reason. A computed figure is

- *equal* if it equals the printed one at the printed precision,
- *compatible* if the printed one is in the interval of the computed one, or within a
  `tolerance`,
- *differs* otherwise, which requires a reason.

The expected difference of a figure is the computed value minus the printed value. For
each paper, a file in `bounds/` lists the expected differences that are not 0. A figure
fails if its difference deviates from the expected difference by more than half a unit
of the last printed decimal. A figure in the state *differs* also fails if its set of
cells has no reason for the difference.

If several sets of cells select a figure, the first set decides the figure's state.
Further sets that select the same figure are alternative interpretations of the paper's
text. If a conclusion of the paper does not follow from the figures of a table, the set
of cells may have `findings`. The program of a finding returns the finding, or two runs
at the path `ours`. With two runs, the finding is the paired difference between the
runs.
"""

import contextlib
import io
import json
import math
import shlex
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from scoring.stats.finding import DifferenceFinding, PaperConclusion, TableFigure
from tasks.types.problems import InputRefused, Problem

CELL_DECLARATIONS_FOLDER = Path(__file__).resolve().parent
REPOSITORY_ROOT = CELL_DECLARATIONS_FOLDER.parents[2]
#: The default tolerance is half a unit of the last decimal that the paper prints.
PRINTED_TOLERANCE, INTERVAL_TOLERANCE = "printed", "interval"
EQUAL, COMPATIBLE, DIFFERS = "equal", "compatible", "differs"
NOT_COMPUTABLE, FAILS = "cannot", "fails"
CELL_STATES = (EQUAL, COMPATIBLE, DIFFERS, NOT_COMPUTABLE, FAILS)
RECORDED_VALUE_TOLERANCE = 1e-6
#: Reasons for which the figures of a paper cannot be computed.
DATA_DO_NOT_EXIST, DATA_ON_REQUEST, DATA_FORM_UNSEEN, DATA_READABLE = (
    MISSING_DATA_KINDS
) = (
    "does not exist",
    "must be asked for",
    "is there, form not seen",
    "is there, and read",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class CellSet:
    """A set of cells.

    For each field of a row, ``names`` maps the names in the paper to the names that the
    program uses. If ``names`` has no entry for the field `metric`, the set of cells
    contains all metrics. ``scale`` is the factor by which computed values are
    multiplied. If the figures cannot be computed, ``kind`` is one of the reasons in
    MISSING_DATA_KINDS. ``address`` is the URL of public data that the figures need, and ``reader``
    is the command that can read these data.
    """

    table: str
    where: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    reading: str = ""
    program: str = ""
    ours: str = ""
    scale: float = 1.0
    tolerance: str | float = PRINTED_TOLERANCE
    reason: str = ""
    differs: str = ""
    cannot: str = ""
    kind: str = ""
    address: str = ""
    reader: str = ""
    quick: bool = False

    def name(self, name: str, value: object) -> str:
        return self.names.get(name, {}).get(str(value), str(value))

    @property
    def missing_data_text(self) -> str:
        words = {
            DATA_DO_NOT_EXIST: "it does not exist",
            DATA_ON_REQUEST: "it must be asked for",
            DATA_FORM_UNSEEN: f"it is at {self.address}, its form was not seen here",
            DATA_READABLE: f"it is at {self.address}, read by `{self.reader}`",
        }[self.kind]
        return f"*{words}*; {self.cannot}"


@dataclass(frozen=True, kw_only=True)
class RecomputedFinding:
    conclusion: str
    program: str
    reading: str
    ours: str = ""
    runs: Mapping[str, str] = field(default_factory=dict)
    quick: bool = False

    @property
    def key(self) -> str:
        return f"{self.conclusion} | {self.reading}"

    def of(self, told: Any) -> DifferenceFinding:
        if not self.ours:
            return DifferenceFinding(**told)
        difference, low, high = map(
            float,
            map(_resolve_pointer(told, self.ours).get, ("difference", "low", "high")),
        )
        return DifferenceFinding(1, int(difference > 0), difference, low, high)


@dataclass(frozen=True, kw_only=True)
class TableCell:
    cells: CellSet
    row: Mapping[str, Any]
    metric: str
    key: str
    label: tuple[str, ...]
    #: The expected difference from the file in `bounds/`, as text.
    #: The text is empty if the computed value should equal the printed value.
    stated: str = ""

    @property
    def printed(self) -> float | None:
        value = self.row["values"][self.metric]
        return None if value is None else float(value)

    @property
    def text(self) -> str:
        return str(self.row["printed"][self.metric])

    def filled(self, words: str, **more: str) -> str:
        fields = {
            name: value
            for name, value in self.row.items()
            if isinstance(value, str | int | float)
        }
        fields["metric"] = self.metric
        named = {name: self.cells.name(name, value) for name, value in fields.items()}
        return words.format(**named, **more)

    @property
    def digits(self) -> int:
        """Return the number of decimals of the printed figure."""
        return len(self.text.rstrip("*%").partition(".")[2])

    def difference(self, ours: Sequence[float]) -> float:
        """Return the computed value minus the printed value, or NaN if the paper prints
        no value.
        """
        return math.nan if self.printed is None else ours[0] - self.printed

    def is_near_expected_difference(self, ours: Sequence[float]) -> bool:
        return self._is_near(self.difference(ours), float(self.stated or 0))

    def format_difference(self, ours: Sequence[float]) -> str:
        """Return the computed value minus the printed value, with as many decimals as
        the printed value.
        """
        return f"{self.difference(ours):+.{self.digits}f}"

    def state(self, ours: Sequence[float] | None) -> str:
        if self.cells.cannot or ours is None:
            return NOT_COMPUTABLE
        difference = self.difference(ours)
        if not self.is_near_expected_difference(ours):
            return FAILS
        if self._is_near(difference, 0):
            return EQUAL
        if self._is_compatible(ours):
            return COMPATIBLE
        return DIFFERS if self.cells.differs else FAILS

    def _is_near(self, difference: float, expected: float) -> bool:
        return bool(abs(difference - expected) <= 0.5 * 10**-self.digits + 1e-9)

    def _is_compatible(self, ours: Sequence[float]) -> bool:
        if self.printed is None or self.cells.tolerance == PRINTED_TOLERANCE:
            return False
        if self.cells.tolerance == INTERVAL_TOLERANCE:
            return min(ours) <= self.printed <= max(ours)
        return abs(self.difference(ours)) <= float(self.cells.tolerance)


class ReproducedPaper:
    def __init__(self, path: Path) -> None:
        facts = tomllib.loads(path.read_text(encoding="utf-8"))
        self.name, self.title, self.rows = (
            path.stem,
            facts["title"],
            facts.get("rows", []),
        )
        self._published = REPOSITORY_ROOT / facts["printed"]
        self._recorded = path.parent / "ours" / f"{path.stem}.json"
        self._bounds = path.parent / "bounds" / path.name
        self.programs: Mapping[str, Sequence[str]] = facts.get("programs", {})
        self.sets = [CellSet(**each) for each in facts["cells"]]
        self.findings = [
            RecomputedFinding(**each) for each in facts.get("findings", ())
        ]

    @cached_property
    def tables(self) -> Mapping[str, Any]:
        if not self._published.is_file():
            expected = "a checkout, which has examples/"
            raise InputRefused(
                [
                    Problem(
                        file=str(self._published),
                        message="is not here",
                        expected=expected,
                    )
                ]
            )
        return {
            table["id"]: table
            for table in json.loads(self._published.read_bytes())["tables"]
        }

    @property
    def conclusions(self) -> Iterator[tuple[str, PaperConclusion]]:
        for name, table in self.tables.items():
            yield from (
                (name, PaperConclusion(**facts))
                for facts in table.get("conclusions", [])
            )

    def cells(self) -> Iterator[TableCell]:
        for one in self.sets:
            table = self.tables[one.table]
            for row in table["rows"]:
                wanted = (
                    (name, of if isinstance(of, list) else [of])
                    for name, of in one.where.items()
                )
                if any(row.get(name) not in values for name, values in wanted):
                    continue
                label = tuple(str(row[name]) for name in table["row_key"])
                for metric in row["values"]:
                    if metric in one.names.get("metric", {metric: ""}):
                        key = " | ".join(
                            [one.table, ", ".join(label), metric, one.reading]
                        )
                        yield TableCell(
                            cells=one,
                            row=row,
                            metric=metric,
                            key=key,
                            label=label,
                            stated=self.bounds.get(key, ""),
                        )

    def printed(self, table: str, conclusion: PaperConclusion) -> list[TableFigure]:
        """Return the printed figures that support a conclusion of the paper, with the
        fields of their rows.
        """
        return [
            ({**row, "metric": name}, float(value))
            for own in (table, *conclusion.also)
            for row in self.tables[own]["rows"]
            for name, value in row["values"].items()
            if value is not None
        ]

    def figures(
        self, table: str, conclusion: PaperConclusion
    ) -> dict[str, list[TableFigure]]:
        """For each interpretation of the paper, return the figures that support a
        conclusion. The key `printed`, which has the printed figures, comes first.
        """
        figures = {"printed": self.printed(table, conclusion)}
        for cell in self.cells():
            if cell.cells.table in (table, *conclusion.also) and (
                ours := self.recorded_values.get(cell.key)
            ):
                own = figures.setdefault(cell.cells.reading, [])
                own.append(({**cell.row, "metric": cell.metric}, ours[0]))
        return figures

    @cached_property
    def bounds(self) -> Mapping[str, str]:
        """For each figure whose computed value should differ from the printed value,
        return the expected difference.
        """
        if not self._bounds.is_file():
            return {}
        return tomllib.loads(self._bounds.read_text(encoding="utf-8"))

    @cached_property
    def recorded_values(self) -> dict[str, list[float]]:
        return (
            dict(json.loads(self._recorded.read_bytes()))
            if self._recorded.is_file()
            else {}
        )

    def record(self) -> None:
        if not self.recorded_values:
            return
        lines = (
            f"{json.dumps(key)}: {json.dumps(value)}"
            for key, value in sorted(self.recorded_values.items())
        )
        self._recorded.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def papers(names: Sequence[str] = ()) -> list[ReproducedPaper]:
    found = [
        ReproducedPaper(path)
        for path in CELL_DECLARATIONS_FOLDER.glob("*.toml")
        if not names or path.stem in names
    ]
    return sorted(found, key=lambda paper: (paper.rows[:1], paper.name))


@dataclass
class ComputedFigures:
    """The figures of a paper that programs have computed.

    ``values`` maps the key of a figure to a list of the value and, if available, the
    ends of its interval. ``skipped`` counts the programs that did not run, by reason.
    """

    values: dict[str, list[float]] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def compute_figures(  # noqa: C901  (two loops over one cache)
    paper: ReproducedPaper,
    data: Path,
    *,
    quick: bool = False,
    progress: Callable[[str], None] = lambda step: None,
) -> ComputedFigures:
    """Compute the figures that a paper prints from the corpora in a folder.

    ``progress`` is called before each program starts.
    """
    told = ComputedFigures()
    known: dict[str, Any] = {}

    def compute_output_once(commands: Sequence[str]) -> Any:
        if (words := "\n".join(commands)) not in known:
            progress(f"{paper.name}: scoring {commands[0]}")
            known[words] = _run_commands(commands, data)
        if isinstance(known[words], str):
            told.skipped[known[words]] += 1
            return None
        return known[words]

    with tempfile.TemporaryDirectory() as work:
        folders = {"data": str(data), "work": work}
        for one in (
            finding for finding in paper.findings if finding.quick or not quick
        ):
            commands = [
                words.format(**folders, **one.runs)
                for words in paper.programs[one.program]
            ]
            if found := compute_output_once(commands):
                try:
                    told.values[one.key] = list(astuple(one.of(found)))
                except (LookupError, TypeError) as fault:
                    told.faults.append(
                        f"{one.key}: the program gives no interval ({fault!r})"
                    )
        for cell in paper.cells():
            if cell.cells.cannot or (quick and not cell.cells.quick):
                continue
            computed = compute_output_once(
                [
                    cell.filled(words, **folders)
                    for words in paper.programs[cell.cells.program]
                ]
            )
            if computed is None:
                continue
            try:
                pointers = cell.filled(cell.cells.ours).split(";")
                told.values[cell.key] = [
                    float(_resolve_pointer(computed, pointer)) * cell.cells.scale
                    for pointer in pointers
                ]
            except (LookupError, TypeError, ValueError) as fault:
                told.faults.append(
                    f"{cell.key}: the program gives no number ({fault!r})"
                )
    return told


def _run_commands(commands: Sequence[str], data: Path) -> Any:
    from scoring.__main__ import main

    given = [
        Path(word)
        for words in commands
        for word in shlex.split(words)
        if word.startswith(f"{data}/")
    ]
    if missing := [path for path in given if not path.exists()]:
        return f"{missing[0].relative_to(data)} is not in the folder of corpora"
    said = io.StringIO()
    for words in commands:
        said, told = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
            code = main(shlex.split(words))
        if code:
            return f"`scoring {words}` ends with {code}: {told.getvalue().strip()}"
    return json.loads(said.getvalue())


def _resolve_pointer(value: Any, pointer: str) -> Any:
    for part in pointer.split("|"):
        if isinstance(value, list):
            wanted = [pair.partition("=")[::2] for pair in part.split("&")]
            fits = [
                item
                for item in value
                if all(str(item[name]) == text for name, text in wanted)
            ]
            value = fits[0]
        else:
            value = value[part]
    return value


def describe_changed_values(
    paper: ReproducedPaper, values: Mapping[str, Sequence[float]]
) -> list[str]:
    """Describe each computed value that differs from the stored value."""
    return [
        f"{key}: {new[0]:.6g}, recorded {old[0]:.6g}"
        for key, new in values.items()
        if (old := paper.recorded_values.get(key)) is not None
        and any(
            abs(a - b) > RECORDED_VALUE_TOLERANCE * max(1.0, abs(b))
            for a, b in zip(new, old, strict=True)
        )
    ]


def describe_unrecorded_values(
    paper: ReproducedPaper, values: Mapping[str, Sequence[float]]
) -> list[str]:
    return [
        f"{key}: {new[0]:.6g}, and nothing is recorded"
        for key, new in values.items()
        if key not in paper.recorded_values
    ]


def describe_deviating_figures(
    paper: ReproducedPaper, values: Mapping[str, Sequence[float]]
) -> list[str]:
    """Describe each figure of the paper that deviates too much from its expected
    difference.
    """
    lines = []
    for cell in paper.cells():
        if (ours := values.get(cell.key)) is None or cell.state(ours) != FAILS:
            continue
        message = f"{cell.key}: printed {cell.text}, ours {ours[0]:.6g}"
        if cell.is_near_expected_difference(ours):
            lines.append(f"{message}, and no reason is given")
        else:
            expected = cell.stated or "an equal figure"
            own = cell.format_difference(ours)
            lines.append(f"{message}; the difference is {own}, expected is {expected}")
    return lines


def determine_cell_states(
    paper: ReproducedPaper,
) -> dict[str, list[tuple[TableCell, str]]]:
    """Return the cells of each table with their states, without alternative
    interpretations.
    """
    seen: dict[tuple[str, int, str], None] = {}
    tables: dict[str, list[tuple[TableCell, str]]] = {}
    for cell in paper.cells():
        if (figure := (cell.cells.table, id(cell.row), cell.metric)) not in seen:
            seen[figure] = None
            tables.setdefault(cell.cells.table, []).append(
                (cell, cell.state(paper.recorded_values.get(cell.key)))
            )
    return tables


def count_missing_data_kinds(paper: ReproducedPaper) -> Counter[str]:
    """Count the figures of the paper that cannot be computed, by kind of reason."""
    return Counter(
        cell.cells.kind
        for cells in determine_cell_states(paper).values()
        for cell, state in cells
        if state == NOT_COMPUTABLE
    )


def count_cell_states(paper: ReproducedPaper) -> Counter[str]:
    return Counter(
        state for cells in determine_cell_states(paper).values() for _, state in cells
    )
