"""A season's archive: every number in it computed again from the runs and the gold that it holds.

Equality is that of published numbers: counts exactly, values to 12 significant digits, intervals to 10, and
values that rest on a model to 5 decimals. Values of ROUGE and BERTScore have a witness besides, the package
that computes the same (``Metric.engine``), where it is installed.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from scoring.metrics import Metric, metrics_of
from scoring.metrics.base import package_version, value_of
from scoring.offline.evaluate import matrices, numbered_units
from scoring.offline.scoring import Scoring, read_pairs, score
from scoring.stats.interval_methods import METHODS
from scoring.stats.signature import provenance_of
from tasks.types import InputRefused, OptionRefused, Problem, UnknownTaskType, task_type
from tasks.types.base import ENGINE, PACKAGE
from tasks.types.positional_citations.options import ENTAILMENT, LABELS
from tasks.types.unavailable import Unavailable

VALUE_DIGITS, INTERVAL_DIGITS, MODEL_DECIMALS = 12, 10, 5
#: Packages whose arithmetic differs in the last digits from machine to machine.
MODELS = {"torch", "transformers"}
NO_GOLD = "the gold is not in the archive"
NO_RUN = "the run is not in the archive"
NO_SCORER = "no metric of the scorer has them (human evaluation)"
OTHER_GOLD = "the board stands on another version of the gold than the scores"
RANKS = "ranks and groups rest on paired tests, which are not repeated"
RANKED = ("rank", "rank_low", "rank_high", "group")

Evaluation = Mapping[str, Any]
Numbers = dict[str, Any]


@dataclass
class Verified:
    """``differing`` has a line for each number; ``unchecked`` counts others by why they are not checked."""

    equal: int = 0
    unequal: int = 0
    differing: list[str] = field(default_factory=list)
    unchecked: Counter[str] = field(default_factory=Counter)
    #: By package how many values it gives too; and how many it would, were it installed.
    witnessed: Counter[str] = field(default_factory=Counter)
    unwitnessed: Counter[str] = field(default_factory=Counter)

    @property
    def checked(self) -> int:
        return self.equal + self.unequal

    def differs(self, line: str) -> None:
        """What is no number and yet not as it should be."""
        if line not in self.differing:
            self.differing.append(line)

    def compare(
        self, place: str, archived: Mapping[str, Any], expected: Mapping[str, Any], *, is_model: bool = False
    ) -> None:
        """Number by number; one that only one of the two has differs."""
        for name in dict.fromkeys([*archived, *expected]):
            one, other = archived.get(name), expected.get(name)
            if is_same(name, one, other, is_model=is_model):
                self.equal += 1
            else:
                self.unequal += 1
                self.differing.append(f"{place} {name}: the archive has {one}, computed again it is {other}")

    def summary(self) -> list[str]:
        """What differs, what was not checked and why, and at last how many numbers are equal."""
        return [
            *self.differing,
            *(f"not checked, {why}: {count} numbers" for why, count in self.unchecked.items() if count),
            *(
                f"the package {name} gives the same: {count} numbers"
                for name, count in self.witnessed.items()
            ),
            *(
                f"the package {name} is not installed and witnesses nothing: {count} numbers"
                for name, count in self.unwitnessed.items()
            ),
            f"{self.equal} of {self.checked} numbers equal",
        ]

    def as_dict(self) -> dict[str, Any]:
        return {
            "numbers": self.checked,
            "equal": self.equal,
            "differing": self.differing,
            "unchecked": dict(self.unchecked),
            "witnessed": dict(self.witnessed),
            "unwitnessed": dict(self.unwitnessed),
        }


def verify(archive: Path, progress: Callable[[float], None] = lambda done: None) -> Verified:
    """Raises InputRefused where the folder is no archive, or names files outside it."""
    season = read_season(archive)
    verified = Verified()
    for line in changed_files(archive):
        verified.differs(line)
    printed: dict[tuple[int, str], Evaluation] = {}
    try:
        gold = {
            (task["slug"], row["sha256"]): row["file"] for task in season["tasks"] for row in task["gold"]
        }
        for done, run in enumerate(season["runs"]):
            progress(done / len(season["runs"]))
            try:
                evaluations = read_json(archive, run["scores"])
            except FileMissing as missing:
                verified.differs(str(missing))
                continue
            for evaluation in evaluations:
                printed[run["id"], evaluation["rules"]] = evaluation
                gold_file = gold.get((run["task"], evaluation["gold"]["sha256"]))
                _check_evaluation(archive, run, evaluation, gold_file, verified)
        boards = [path for task in season["tasks"] for phase in task["phases"] for path in phase["boards"]]
        for path in boards:
            try:
                _check_board(path, read_json(archive, path), printed, verified)
            except FileMissing as missing:
                verified.differs(str(missing))
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise refused(archive, f"not as an archive is written: {type(fault).__name__} {fault}") from fault
    return verified


def _check_evaluation(
    archive: Path, run: Mapping[str, Any], evaluation: Evaluation, gold: str | None, verified: Verified
) -> None:
    printed = dict(numbers(evaluation))
    count = sum(len(parts) for parts, _ in printed.values())
    if not run["file"] or not gold:
        verified.unchecked[NO_GOLD if run["file"] else NO_RUN] += count
        return
    try:
        kind = task_type(evaluation["task_type"])
        options = _options(archive, evaluation)
        # As the signatures of its numbers say.
        drawn: dict[str, str] = {}
        for metric in evaluation["metrics"].values():
            drawn |= provenance_of(metric["signature"])
        scoring = Scoring(
            task_type=kind,
            gold=[existing(archive, gold)],
            run=existing(archive, run["file"]),
            rules=kind.checked_rules(evaluation["rules"]),
            options=kind.checked_options(options),
            resamples=int(drawn.get("resamples", 1000)),
            seed=int(drawn.get("seed", 0)),
            method=drawn.get("interval", METHODS[0]),
        )
        again = score(scoring)
    except (Unavailable, OptionRefused, UnknownTaskType) as missing:
        verified.unchecked[str(missing)] += count
        return
    except FileMissing as missing:
        verified.differs(str(missing))
        return
    except OutsideArchive:
        raise
    except InputRefused as fault:
        verified.differs(f"run {run['id']}: {fault}")
        return
    head = f"run {run['id']} {evaluation['rules']}"
    for name, metric in evaluation["metrics"].items():
        column = again["metrics"].get(name, {}).get("column")
        if metric["column"] != column:
            verified.differs(f"{head} {name}: a number of {metric['column']}; computed again of {column}")
    expected = dict(numbers(again))
    for place in dict.fromkeys([*printed, *expected]):
        parts, is_model = printed.get(place, ({}, False))
        # Classes of few instances are not shown to everybody.
        if parts or not place.startswith("breakdowns"):
            others = expected.get(place, ({}, False))[0]
            verified.compare(f"{head} {place}", parts, others, is_model=is_model)
    _hear_packages(head, scoring, printed, verified)


def _hear_packages(
    head: str, scoring: Scoring, printed: Mapping[str, tuple[Numbers, bool]], verified: Verified
) -> None:
    """Hold each value that a package computes too against what it gives, unless it gave it."""
    if scoring.options.get(ENGINE.name, PACKAGE) == PACKAGE:
        return
    metrics: dict[str, list[Metric]] = {}
    for metric in metrics_of(scoring.task_type, scoring.rules, {**scoring.options, ENGINE.name: PACKAGE}):
        if (
            metric.is_by_package
            and printed.get(f"metrics {metric.name}", ({}, False))[0].get("value") is not None
        ):
            metrics.setdefault(metric.engine, []).append(metric)
    for package, witnessed in metrics.items():
        try:
            name = f"{package} {package_version(package)}"
        except Unavailable:
            verified.unwitnessed[package] += len(witnessed)
            continue
        pairs = read_pairs(scoring)[2]
        statistics, units = matrices(witnessed, pairs), numbered_units(pairs)[1]
        for metric in witnessed:
            parts, is_model = printed[f"metrics {metric.name}"]
            value = value_of(metric, statistics[metric.statistic], units)
            if is_same("value", parts["value"], value, is_model=is_model):
                verified.witnessed[name] += 1
            else:
                has = f"the archive has {parts['value']}, the package {name} gives {value}"
                verified.differs(f"{head} metrics {metric.name} value: {has}")


def _options(archive: Path, evaluation: Evaluation) -> dict[str, str]:
    """With the archive's own files. Raises Unavailable where an option names a file elsewhere."""
    options = dict(evaluation["options"])
    for name, path in evaluation["files"].items():
        place = existing(archive, path)
        options[name] = f"{LABELS}:{place}" if name == ENTAILMENT.name else str(place)
    for name in options.keys() - evaluation["files"].keys():
        # A path of this machine is what an archive from elsewhere may not have read here.
        head, _, rest = options[name].partition(":")
        path = PurePosixPath(rest or head)
        is_absolute = path.is_absolute() or PureWindowsPath(options[name]).is_absolute()
        if is_absolute or head == LABELS or ".." in path.parts or (rest or head).startswith("~"):
            raise Unavailable(f"the file that the option {name} names is not in the archive")
    return options


def _check_board(
    path: str, board: Mapping[str, Any], printed: Mapping[tuple[int, str], Evaluation], verified: Verified
) -> None:
    metrics = {column["name"]: column["metric"] for column in board["columns"]}
    for row in board["rows"]:
        verified.unchecked[RANKS] += sum(row[name] is not None for name in RANKED)
        verified.unchecked["teams report them"] += len(row["team_reported"])
        evaluation = printed.get((row["submission"], board["rules"]))
        for name, cell in row["scores"].items():
            metric = evaluation["metrics"].get(metrics[name]) if evaluation else None
            if evaluation is None or metric is None:
                verified.unchecked[NO_SCORER if evaluation else NO_RUN] += len(cell)
            elif evaluation["gold"]["sha256"] != board["gold"]["sha256"]:
                verified.unchecked[OTHER_GOLD] += len(cell)
            else:
                place = f"{path} {row['system']} {name}"
                verified.compare(place, _parts(cell, "low", "high"), _parts(metric, "low", "high"))


def numbers(evaluation: Evaluation) -> Iterator[tuple[str, tuple[Numbers, bool]]]:
    """By place what is to be equal, and whether it rests on a model."""
    models = {}
    for name, metric in evaluation["metrics"].items():
        models[name] = bool(MODELS & provenance_of(metric["signature"]).keys())
        yield f"metrics {name}", (_parts(metric, "low", "high", "n"), models[name])
    for dimension, classes in evaluation["breakdowns"].items():
        for label, cells in classes.items():
            for name, cell in cells.items():
                yield f"breakdowns {dimension} {label} {name}", (_parts(cell, "n"), models.get(name, False))


def _parts(cell: Mapping[str, Any], *more: str) -> Numbers:
    value = math.inf if cell.get("infinite") else cell["value"]
    return {"value": value, **{part: cell[part] for part in more}}


def is_same(part: str, one: object, other: object, *, is_model: bool = False) -> bool:
    if not isinstance(one, int | float) or not isinstance(other, int | float):
        return one is None and other is None
    if part == "n":
        return one == other
    if is_model:
        return one == other or abs(one - other) < 10.0**-MODEL_DECIMALS
    digits = INTERVAL_DIGITS if part in ("low", "high") else VALUE_DIGITS
    return math.isclose(one, other, rel_tol=10.0**-digits, abs_tol=10.0**-digits)


SEASON, CHECKSUMS = "season.json", "SHA256SUMS"
FORMAT, FORMAT_VERSION = "citeboard-season-archive", 1


class FileMissing(Exception):
    """The archive names a file that it does not have."""


class OutsideArchive(InputRefused):
    """The archive names a file that is not its own."""


def read_season(archive: Path) -> dict[str, Any]:
    """Raises InputRefused where the folder is no archive that is understood here."""
    try:
        season = read_json(archive, SEASON)
    except FileMissing as missing:
        raise refused(archive, f"{missing}; expected the folder of an archive") from missing
    if not isinstance(season, dict) or season.get("format") != FORMAT:
        raise refused(archive / SEASON, f"not an archive of a season; expected the format {FORMAT}")
    if season.get("format_version") != FORMAT_VERSION:
        version = season.get("format_version")
        raise refused(archive / SEASON, f"format version {version}; expected {FORMAT_VERSION}")
    return season


def read_json(archive: Path, name: str) -> Any:
    """Raises FileMissing, or InputRefused where it leads elsewhere or is no JSON."""
    path = existing(archive, name)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as fault:
        raise refused(path, f"cannot be read as JSON: {fault}") from fault


def existing(archive: Path, name: str) -> Path:
    """The path of a file. Raises FileMissing or OutsideArchive."""
    path = archive / name
    if "\0" in name or not path.resolve().is_relative_to(archive.resolve()):
        fault = f"{name!r} leads out of the archive"
        raise OutsideArchive([Problem(file=str(archive), message=fault)])
    if not path.is_file():
        raise FileMissing(f"{name}: there is no such file")
    return path


def changed_files(archive: Path) -> Iterator[str]:
    """A line for each file that is missing or is not the one whose checksum the archive has."""
    try:
        lines = existing(archive, CHECKSUMS).read_text(encoding="utf-8").splitlines()
    except FileMissing as missing:
        yield str(missing)
        return
    for line in lines:
        digest, _, name = line.partition("  ")
        try:
            with existing(archive, name).open("rb") as file:
                actual = hashlib.file_digest(file, "sha256").hexdigest()
        except FileMissing as missing:
            yield str(missing)
            continue
        if actual != digest:
            yield f"{name}: not the file whose checksum {CHECKSUMS} has"


def refused(path: Path, message: str) -> InputRefused:
    return InputRefused([Problem(file=str(path), message=message)])
