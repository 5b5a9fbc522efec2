"""A season's archive: every number in it computed again from the runs and the gold that it holds.

Equality is that of published numbers: counts exactly, values to 12 significant digits, intervals to 10, and
values that rest on a model to 5 decimals. Values of ROUGE and BERTScore have a witness besides, the package
that computes the same (``Metric.engine``), where it is installed.
"""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from scoring.metrics import Metric, metrics_of
from scoring.metrics.base import package_version, value_of
from scoring.offline.compare import FOUND, ranks_again, tests_again
from scoring.offline.evaluate import Measurements, measured
from scoring.offline.parts import read_part
from scoring.offline.receipts import check_receipt, committed_scores
from scoring.offline.scoring import Scoring, read_scored, score
from scoring.stats.interval_methods import METHODS, VERSION, WILSON_JACKKNIFE
from scoring.stats.signature import INTERVAL_VERSION, LADDER, PART, provenance_of
from scoring.stats.significance import APPROXIMATE, MAX_EXACT_UNITS, SEED, trials_for
from tasks.types import (
    InputRefused,
    OptionRefused,
    Problem,
    TaskType,
    UnknownTaskType,
    task_type,
)
from tasks.types.base import DECLARED, ENGINE, PACKAGE, REFERENCED
from tasks.types.declared.folder import read_declaration
from tasks.types.declared.own_measures import MeasureFailed
from tasks.types.positional_citations.options import ENTAILMENT, LABELS
from tasks.types.problems import Unavailable

VALUE_DIGITS, INTERVAL_DIGITS, MODEL_DECIMALS = 12, 10, 5
#: Packages whose arithmetic differs in the last digits from machine to machine.
MODELS = {"torch", "transformers"}
OLD_INTERVALS = "intervals of another version, which is not computed here"
NO_GOLD = "the gold is not in the archive"
NOT_TOLD = "withheld, or rounded by the Ladder"
NO_RUN = "the run is not in the archive"
NO_SCORER = "no metric of the scorer has them (human evaluation)"
OTHER_GOLD = "the board stands on another version of the gold than the scores"
NO_TESTS = "the archive does not hold the paired tests that ranks and groups rest on"
WITHDRAWN = "withdrawn: such a metric means little on the instances of one gold label"
NOT_REPEATED = "not all paired tests behind them can be repeated"
MODEL_TESTS = "they rest on a model, whose last digits differ from machine to machine"
ENDS = ("low", "high")
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
    receipts: int = 0
    without_receipt: int = 0
    keys: set[str] = field(default_factory=set)

    @property
    def checked(self) -> int:
        return self.equal + self.unequal

    def differs(self, line: str) -> None:
        """What is no number and yet not as it should be."""
        if line not in self.differing:
            self.differing.append(line)

    def compare(
        self,
        place: str,
        archived: Mapping[str, Any],
        expected: Mapping[str, Any],
        *,
        is_model: bool = False,
    ) -> None:
        """Number by number; one that only one of the two has differs."""
        for name in dict.fromkeys([*archived, *expected]):
            one, other = archived.get(name), expected.get(name)
            if is_same(name, one, other, is_model=is_model):
                self.equal += 1
            else:
                self.unequal += 1
                self.differing.append(
                    f"{place} {name}: the archive has {one}, computed again it is {other}"
                )

    def summary(self) -> list[str]:
        """What differs, what was not checked and why, and at last how many numbers are equal."""
        counted = {
            **{f"not checked, {why}": count for why, count in self.unchecked.items()},
            **{
                f"the package {name} gives the same": count
                for name, count in self.witnessed.items()
            },
            **{
                f"the package {name} is not installed and witnesses nothing": count
                for name, count in self.unwitnessed.items()
            },
        }
        lines = [
            *self.differing,
            *(f"{words}: {count} numbers" for words, count in counted.items() if count),
        ]
        lines += [f"receipts are signed by {key}" for key in sorted(self.keys)]
        if self.receipts:
            lines.append(
                f"the site has signed these numbers: {self.receipts} receipts hold"
            )
        if self.without_receipt:
            lines.append(f"no receipt: {self.without_receipt} scorings")
        return [
            *lines,
            f"{self.equal} of {self.checked} numbers equal, {self.unchecked.total()} not checked",
        ]

    def as_dict(self) -> dict[str, Any]:
        return {
            "numbers": self.checked,
            "equal": self.equal,
            "differing": self.differing,
            "unchecked": dict(+self.unchecked),
            "witnessed": dict(self.witnessed),
            "unwitnessed": dict(self.unwitnessed),
            "receipts": self.receipts,
            "without_receipt": self.without_receipt,
            "keys": sorted(self.keys),
        }


def verify(
    archive: Path,
    progress: Callable[[float], None] = lambda done: None,
    keys: Collection[str] = (),
) -> Verified:
    """Receipts by these keys, or else by those that the archive names. Raises InputRefused where the folder
    is no archive, or names files outside it.
    """
    season = read_season(archive)
    verified = Verified()
    for line in changed_files(archive):
        verified.differs(line)
    printed: dict[tuple[int, str], Evaluation] = {}
    scorings: dict[tuple[int, str], Scoring] = {}
    try:
        golds = (
            (task["slug"], row) for task in season["tasks"] for row in task["gold"]
        )
        gold = {(slug, row["sha256"]): row["file"] for slug, row in golds}
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
                if scoring := _check_evaluation(
                    archive, run, evaluation, gold_file, verified
                ):
                    scorings[run["id"], evaluation["rules"]] = scoring
            _check_receipts(archive, season, run, evaluations, keys, verified)
        boards = [
            path
            for task in season["tasks"]
            for phase in task["phases"]
            for path in phase["boards"]
        ]
        for path in boards:
            try:
                board = read_json(archive, path)
                _check_board(path, board, printed, verified)
                _check_ranks(archive, path, board, printed, scorings, verified)
            except FileMissing as missing:
                verified.differs(str(missing))
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise refused(
            archive, f"not as an archive is written: {type(fault).__name__} {fault}"
        ) from fault
    return verified


def _check_evaluation(
    archive: Path,
    run: Mapping[str, Any],
    evaluation: Evaluation,
    gold: str | None,
    verified: Verified,
) -> Scoring | None:
    """What was done, where it could be done again."""
    printed = dict(numbers(evaluation))
    count = sum(len(parts) for parts, _ in printed.values())
    if not run["file"] or not gold:
        verified.unchecked[NO_GOLD if run["file"] else NO_RUN] += count
        return None
    try:
        scoring = _scoring_of(archive, run["file"], evaluation, gold)
        again = score(scoring)
    except (MeasureFailed, Unavailable, OptionRefused, UnknownTaskType) as missing:
        verified.unchecked[str(missing)] += count
        return None
    except FileMissing as missing:
        verified.differs(str(missing))
        return None
    except OutsideArchive:
        raise
    except InputRefused as fault:
        verified.differs(f"run {run['id']}: {fault}")
        return None
    head = f"run {run['id']} {evaluation['rules']}"
    if evaluation["run"]["sha256"] != again["run"]["sha256"]:
        verified.differs(f"{head}: not the file that was scored")
    for name, metric in evaluation["metrics"].items():
        column = again["metrics"].get(name, {}).get("column")
        if metric["column"] != column:
            verified.differs(
                f"{head} {name}: a number of {metric['column']}; computed again of {column}"
            )
    expected = dict(numbers(again))
    for place, reason in _set_aside(
        evaluation, scoring.task_type, printed, expected
    ).items():
        verified.unchecked[reason] += len(printed.pop(place)[0])
        expected.pop(place, None)
    _compare_numbers(head, evaluation, printed, expected, verified)
    _hear_packages(head, scoring, printed, verified)
    return scoring


def _scoring_of(archive: Path, run: str, evaluation: Evaluation, gold: str) -> Scoring:
    """Return the scoring that the evaluation and the signatures of its numbers describe."""
    task_type = _type_of(archive, evaluation["task_type"])
    options = _options(archive, evaluation)
    provenance: dict[str, str] = {}
    for metric in evaluation["metrics"].values():
        provenance |= provenance_of(metric["signature"])
    return Scoring(
        task_type=task_type,
        gold=[existing(archive, gold)],
        run=existing(archive, run),
        rules=task_type.checked_rules(evaluation["rules"]),
        options=task_type.checked_options(options),
        resamples=int(provenance.get("resamples", 1000)),
        seed=int(provenance.get("seed", 0)),
        method=provenance.get("interval", METHODS[0]),
        part=read_part(provenance[PART]) if PART in provenance else None,
    )


def _compare_numbers(
    head: str,
    evaluation: Evaluation,
    printed: Mapping[str, tuple[Numbers, bool]],
    expected: Mapping[str, tuple[Numbers, bool]],
    verified: Verified,
) -> None:
    for place in dict.fromkeys([*printed, *expected]):
        parts, is_model = printed.get(place, ({}, False))
        others = expected.get(place, ({}, False))[0]
        metric = evaluation["metrics"].get(place.removeprefix("metrics "))
        if metric and not has_intervals_of_today(metric):
            verified.unchecked[OLD_INTERVALS] += len(ENDS)
            parts = {name: number for name, number in parts.items() if name not in ENDS}
            others = {
                name: number for name, number in others.items() if name not in ENDS
            }
        # Classes of few instances are not shown to everybody.
        if parts or not place.startswith("breakdowns"):
            verified.compare(f"{head} {place}", parts, others, is_model=is_model)


def _set_aside(
    evaluation: Evaluation,
    kind: TaskType,
    printed: Mapping[str, Any],
    expected: Mapping[str, Any],
) -> dict[str, str]:
    """The places of numbers that are not computed again, and why: withheld, rounded, or withdrawn since."""
    by_label = tuple(f"breakdowns {dimension} " for dimension in kind.label_dimensions)
    withdrawn = (
        place
        for place in printed
        if place.startswith(by_label) and place not in expected
    )
    withheld = (
        f"breakdowns {dimension} {label} {name}"
        for dimension, classes in evaluation["breakdowns"].items()
        for label, cells in classes.items()
        for name, cell in cells.items()
        if cell.get("withheld")
    )
    return (
        dict.fromkeys(withdrawn, WITHDRAWN)
        | dict.fromkeys(withheld, NOT_TOLD)
        | {
            f"metrics {name}": NOT_TOLD
            for name, metric in evaluation["metrics"].items()
            if metric.get("withheld") or LADDER in provenance_of(metric["signature"])
        }
    )


def _hear_packages(
    head: str,
    scoring: Scoring,
    printed: Mapping[str, tuple[Numbers, bool]],
    verified: Verified,
) -> None:
    """Hold each value that a package computes too against what it gives, unless it gave it."""
    if scoring.options.get(ENGINE.name, PACKAGE) == PACKAGE:
        return
    metrics: dict[str, list[Metric]] = {}
    for metric in metrics_of(
        scoring.task_type, scoring.rules, {**scoring.options, ENGINE.name: PACKAGE}
    ):
        if (
            metric.is_by_package
            and printed.get(f"metrics {metric.name}", ({}, False))[0].get("value")
            is not None
        ):
            metrics.setdefault(metric.engine, []).append(metric)
    for package, witnessed in metrics.items():
        try:
            name = f"{package} {package_version(package)}"
        except Unavailable:
            verified.unwitnessed[package] += len(witnessed)
            continue
        again = measured(witnessed, *read_scored(scoring).rows(scoring))
        statistics, units = again.matrices, again.units
        for metric in witnessed:
            parts, is_model = printed[f"metrics {metric.name}"]
            value = value_of(metric, statistics[metric.statistic], units)
            if is_same("value", parts["value"], value, is_model=is_model):
                verified.witnessed[name] += 1
            else:
                has = f"the archive has {parts['value']}, the package {name} gives {value}"
                verified.differs(f"{head} metrics {metric.name} value: {has}")


def _type_of(archive: Path, slug: str) -> TaskType:
    """A built-in type, or the declared one whose files the archive has. Raises UnknownTaskType."""
    folders = [
        task.get("folder")
        for task in read_season(archive)["tasks"]
        if task["type"] == slug
    ]
    if not slug.startswith(DECLARED) or not folders or not folders[0]:
        return task_type(slug)
    files = {}
    for name in REFERENCED:
        with suppress(FileMissing):
            files[name] = existing(archive, f"{folders[0]}/{name}").read_text(
                encoding="utf-8"
            )
    found = read_declaration(files)
    if found.slug != slug:
        raise UnknownTaskType(
            f"{folders[0]} declares {found.slug}, which is not {slug}"
        )
    return found


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
        if (
            is_absolute
            or head == LABELS
            or ".." in path.parts
            or (rest or head).startswith("~")
        ):
            raise Unavailable(
                f"the file that the option {name} names is not in the archive"
            )
    return options


def _check_board(
    path: str,
    board: Mapping[str, Any],
    printed: Mapping[tuple[int, str], Evaluation],
    verified: Verified,
) -> None:
    metrics = {column["name"]: column["metric"] for column in board["columns"]}
    for row in board["rows"]:
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
                verified.compare(
                    place, _parts(cell, "low", "high"), _parts(metric, "low", "high")
                )


def _check_receipts(
    archive: Path,
    season: Mapping[str, Any],
    run: Mapping[str, Any],
    evaluations: Sequence[Evaluation],
    pinned: Collection[str],
    verified: Verified,
) -> None:
    """Each by itself, and the newest of each rule set against the numbers in the archive."""
    if "receipts" not in run:
        verified.without_receipt += len(evaluations)
        return
    keys = set(pinned) or {key["public"] for key in read_json(archive, LOG)["keys"]}
    newest: dict[str, Mapping[str, Any]] = {}
    for receipt in read_json(archive, run["receipts"]):
        checked = check_receipt(receipt, keys)
        for fault in checked.faults:
            verified.differs(f"run {run['id']}, a receipt: {fault}")
        if not checked.faults:
            verified.receipts += 1
            verified.keys.add(checked.key)
            newest[checked.opened["task"]["rules"]] = checked.opened
    for evaluation in evaluations:
        if (opened := newest.get(evaluation["rules"])) is None:
            verified.without_receipt += 1
            continue
        where = (season["season"]["slug"], run["task"], run["phase"])
        agrees = {
            "task": tuple(opened["task"][name] for name in ("season", "task", "phase"))
            == where,
            "run": opened.get("run", {}).get("sha256", evaluation["run"]["sha256"])
            == evaluation["run"]["sha256"],
            "gold": opened["gold"]["sha256"] == evaluation["gold"]["sha256"],
            "scores": opened["scores"] == committed_scores(evaluation["metrics"]),
        }
        for name in (name for name, is_same_one in agrees.items() if not is_same_one):
            verified.differs(
                f"run {run['id']} {evaluation['rules']}: its receipt is of another {name}"
            )


def _check_ranks(
    archive: Path,
    path: str,
    board: Mapping[str, Any],
    printed: Mapping[tuple[int, str], Evaluation],
    scorings: Mapping[tuple[int, str], Scoring],
    verified: Verified,
) -> None:
    if not (
        rows := {
            row["submission"]: row for row in board["rows"] if row["rank"] is not None
        }
    ):
        return
    try:
        found = read_json(archive, tests_of(path))
    except FileMissing:
        verified.unchecked[NO_TESTS] += sum(
            row[name] is not None for row in rows.values() for name in RANKED
        )
        return
    tests, rules = found["tests"], board["rules"]
    if not _has_sound_tests(path, board, rows, tests, verified):
        return
    done = (run for run in rows if (run, rules) in scorings)
    of_gold = {
        run
        for run in done
        if printed[run, rules]["gold"]["sha256"] == board["gold"]["sha256"]
    }
    tested = (printed[run, rules]["metrics"][found["metric"]] for run in of_gold)
    is_model = any(
        MODELS & provenance_of(metric["signature"]).keys() for metric in tested
    )
    repeatable = [
        test
        for test in tests
        if not is_model and {test["first"], test["second"]} <= of_gold
    ]
    why = MODEL_TESTS if is_model else NOT_REPEATED
    verified.unchecked[why] += len(FOUND) * (len(tests) - len(repeatable))
    if repeatable:
        first = scorings[repeatable[0]["first"], rules]
        known = metrics_of(first.task_type, first.rules, first.options)
        by = board.get("rank_by", known[0].name)
        metric = next((metric for metric in known if metric.name == by), None)
        if metric is None or by != found["metric"]:
            verified.differs(f"{path}: ranked by {by}, and tested by {found['metric']}")
            return

        @cache
        def measured_run(run: int) -> Measurements:
            scoring = scorings[run, rules]
            return measured([metric], *read_scored(scoring).rows(scoring))

        for test, again in zip(
            repeatable, tests_again(metric, repeatable, measured_run), strict=True
        ):
            place = f"{path} runs {test['first']} and {test['second']}"
            verified.compare(place, {name: test[name] for name in FOUND}, again)
    [column] = [
        column for column in board["columns"] if column["name"] == found["metric"]
    ]
    sign = -1 if column["higher_is_better"] is False else 1
    cells = {
        run: row["scores"].get(column["name"], {}).get("value")
        for run, row in rows.items()
    }
    form = f".{VALUE_DIGITS}g"
    values = {
        run: None if n is None else float(format(sign * n, form))
        for run, n in cells.items()
    }
    for run, standing in ranks_again(values, tests).items():
        expected = dict(
            zip(
                RANKED,
                (standing.rank, standing.low, standing.high, standing.low),
                strict=True,
            )
        )
        # The rank follows from the value; the others from tests, which are checked or are not.
        names = RANKED if len(repeatable) == len(tests) else RANKED[:1]
        verified.unchecked[why] += len(RANKED) - len(names)
        chosen = {name: expected[name] for name in names}
        verified.compare(
            f"{path} {rows[run]['system']}",
            {name: rows[run][name] for name in names},
            chosen,
        )


def _has_sound_tests(
    path: str,
    board: Mapping[str, Any],
    rows: Mapping[int, Any],
    tests: Sequence[Mapping[str, Any]],
    verified: Verified,
) -> bool:
    """Return False if ranks cannot rest on the paired tests; report what is wrong with the tests."""
    compared = {frozenset((test["first"], test["second"])) for test in tests}
    pairs = math.comb(len(rows), 2)
    if len(compared) < len(tests) or not all(
        pair <= rows.keys() and len(pair) == 2 for pair in compared
    ):
        verified.differs(f"{path}: its paired tests are not each of two rows")
        return False
    if board["compared"] and len(tests) < pairs:
        lacking = pairs - len(tests)
        verified.differs(
            f"{path}: it is said to be compared, and {lacking} paired tests are missing"
        )
    most = max(trials_for(1, 2 * len(rows)), 1 << MAX_EXACT_UNITS)
    for test in tests:
        fewest = trials_for(test["units"]) if test["test"] == APPROXIMATE else 1
        if test["seed"] != SEED or not fewest <= test["trials"] <= most:
            verified.differs(
                f"{path}: a paired test is not made as those of boards are"
            )
            return False
    return True


def numbers(evaluation: Evaluation) -> Iterator[tuple[str, tuple[Numbers, bool]]]:
    """By place what is to be equal, and whether it rests on a model."""
    models = {}
    for name, metric in evaluation["metrics"].items():
        models[name] = bool(MODELS & provenance_of(metric["signature"]).keys())
        yield f"metrics {name}", (_parts(metric, "low", "high", "n"), models[name])
    for dimension, classes in evaluation["breakdowns"].items():
        for label, cells in classes.items():
            for name, cell in cells.items():
                yield (
                    f"breakdowns {dimension} {label} {name}",
                    (_parts(cell, "n"), models.get(name, False)),
                )


def has_intervals_of_today(metric: Mapping[str, Any]) -> bool:
    provenance = provenance_of(metric["signature"])
    return provenance.get("interval") != WILSON_JACKKNIFE or provenance.get(
        INTERVAL_VERSION
    ) == str(VERSION)


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
LOG = "log.json"
FORMAT, FORMAT_VERSION = "citeboard-season-archive", 1


def tests_of(board: str) -> str:
    """Where the paired tests of a board are."""
    return board.replace("boards/", "tests/", 1)


class FileMissing(Exception):
    """The archive names a file that it does not have."""


class OutsideArchive(InputRefused):
    """The archive names a file that is not its own."""


def read_season(archive: Path) -> dict[str, Any]:
    """Raises InputRefused where the folder is no archive that is understood here."""
    try:
        season = read_json(archive, SEASON)
    except FileMissing as missing:
        raise refused(
            archive, f"{missing}; expected the folder of an archive"
        ) from missing
    if not isinstance(season, dict) or season.get("format") != FORMAT:
        raise refused(
            archive / SEASON,
            f"not an archive of a season; expected the format {FORMAT}",
        )
    if season.get("format_version") != FORMAT_VERSION:
        version = season.get("format_version")
        raise refused(
            archive / SEASON, f"format version {version}; expected {FORMAT_VERSION}"
        )
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
        raise OutsideArchive(
            [Problem(file=str(archive), message=f"{name!r} leads out of the archive")]
        )
    if not path.is_file():
        raise FileMissing(f"{name}: there is no such file")
    return path


def changed_files(archive: Path) -> Iterator[str]:
    """A line for each file that is missing or is not the one whose checksum the archive has."""
    try:
        # A name that is no text is told as one that is missing.
        lines = (
            existing(archive, CHECKSUMS)
            .read_text(encoding="utf-8", errors="replace")
            .splitlines()
        )
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
