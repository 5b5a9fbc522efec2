"""Changes the code in small ways, one at a time, and counts how many changes the tests notice.

    python bench/mutants.py [--sample 300] [--seed 0] [--only scoring/metrics/] [--records FILE] [--nearest 1]

Metrics, statistics, task types, quotas, visibility and jobs are changed; each change is tried by those of
the tests named for its module below that enter the changed function, the quickest first, until one fails.
One process imports the tests once; each change is tried in a fork of it in which the function has other
code, and what is computed on import, where no test notices it so, in a fork that imports everything anew.
What these do not notice is looked at a second time, once all have been looked at, by more of these tests, of
builders and of fuzzing that enter the function, within a larger sum. A test that fails without the change too
notices nothing. Only then has it survived: it is printed as a diff, with the reason where one is known why no
test can notice it. Pages and other tests with a database are not tried.

``--nearest N`` records only the N test files that are nearest to each changed module, which takes seconds.
What survives these has to be tried by more tests. A smaller sample of a seed begins a larger one.

Some kinds of changes are not made at all, since wherever they stand nobody can notice them: of annotations,
docstrings and messages; of keywords that guard against what cannot happen or say how something is kept, such
as `strict`, `copy` and `dtype` (``GUARDS``); of how much is worked on at once (``PORTIONS``); of the
negative number by which NumPy is told of a shape's rest; and whether a bound that allows for rounding
(``ROUNDINGS``) lies within what it bounds.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import contextlib
import difflib
import gc
import hashlib
import importlib
import importlib.machinery
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROCESSES = 2
#: Seconds are those of computing. A change is noticed where a test takes so many times as long as without it
#: and so many seconds more, or where all of them wait for something many times longer.
TIMES, SECONDS, WAITING = 6, 5, 20
#: Tests that take so many seconds together are tried at most, the quickest of those there are.
MAX_SECONDS = 10
#: And at the second look.
MAX_SECONDS_AGAIN = 60
#: So many tests that noticed changes of the same module are tried before others.
FIRST = 6
#: What takes long to import and is none of the project.
HEAVY = ("pytest", "numpy", "scipy.stats", "scipy.special", "django.test", "lxml.etree")
#: What reads gold and runs and computes numbers.
PLAIN = (
    "tests/tasks/types",
    "tests/tasks/test_every_type.py",
    "tests/core/test_dependencies.py",
    "tests/core/test_reference.py",
    "tests/core/test_standing_limits.py",
    "tests/tasks/test_empty_runs.py",
    "tests/tasks/test_gold_findings.py",
    "tests/tasks/test_new_task_type.py",
    "tests/declared",
    "tests/adapters/test_adapters.py",
    "tests/scoring/test_[a-e]*.py",
    "tests/scoring/test_[f-o]*.py",
    "tests/scoring/test_[p-z]*.py",
)
#: Of them what needs a database, a browser, a server or the wheel.
NEVER = (
    "test_archive", "test_background", "test_backup", "test_board_page", "test_checking", "test_comparing",
    "test_demo", "test_differences", "test_doctor", "test_documented", "test_ed25519_and_merkle",
    "test_figure_texts", "test_figures", "test_human_line", "test_insist", "test_kept_boards", "test_leaders",
    "test_local_copies", "test_mounted", "test_page_cache", "test_pruning",
    "test_receipts", "test_reported_csv", "test_reported_results", "test_rescoring", "test_rights_of_papers",
    "test_rule_sets", "test_scorer_folder", "test_small_classes", "test_standings", "test_stored_form",
    "test_stored_labels", "test_sweeping", "test_what_is_told", "test_wheel_golden", "test_worker",
)  # fmt: skip
#: What comes to metrics, statistics and types from further away and needs no database, for the second look.
FURTHER = ("tests/scoring/builders", "tests/fuzz", "tests/growth")
#: The tests that speak of a module.
TESTED_BY: dict[str, tuple[str, ...]] = {
    "scoring/metrics/**/*.py": PLAIN,
    "scoring/stats/**/*.py": PLAIN,
    "tasks/types/**/*.py": PLAIN,
    "scoring/results/board/visibility.py": (
        "tests/scoring/results/test_standings.py",
        "tests/access/test_hidden_numbers.py",
    ),
    "tasks/submissions/submit.py": (
        "tests/tasks/test_quotas.py",
        "tests/tasks/test_submit.py",
    ),
    "tasks/registration/entries.py": (
        "tests/tasks/test_submit.py",
        "tests/tasks/test_joining.py",
        "tests/web/test_entering.py",
        "tests/web/test_terms.py",
        "tests/web/test_asking_to_join.py",
    ),
    "tasks/jobs/queue_choice.py": (
        "tests/tasks/test_queues.py",
        "tests/web/test_submission_page.py",
        "tests/api/test_own_runs.py",
        "tests/tasks/test_sweeper.py",
    ),
    "tasks/jobs/leases.py": (
        "tests/tasks/test_jobs.py",
        "tests/tasks/test_sweeper.py",
        "tests/tasks/test_submit.py",
        "tests/scoring/test_rescoring.py",
        "tests/tasks/test_gold.py",
    ),
    **dict.fromkeys(
        ("tasks/jobs/engine.py", "tasks/jobs/sweeper.py"),
        (
            "tests/tasks/test_engine.py",
            "tests/tasks/test_jobs.py",
            "tests/tasks/test_sweeper.py",
            "tests/tasks/test_submit.py",
        ),
    ),
}
#: By this name the recorder is told of functions.
TOLD = "_entered_by_a_test"
OTHERS = (
    (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn),
)  # fmt: skip
COMPARISONS = {**dict(OTHERS), **{other: one for one, other in OTHERS}}
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any", "filter": "exclude"}
#: Keywords that guard against what cannot happen, or say how something is kept.
GUARDS = frozenset(
    (
        *(
            "strict",
            "encoding",
            "frozen",
            "kw_only",
            "slots",
            "stacklevel",
            "maxsize",
            "copy",
            "repr",
        ),
        *("dtype", "local_files_only", "usedforsecurity", "assume_unique"),
    )
)
#: Of how much is worked on at once: the same numbers come in portions of another size.
PORTIONS = frozenset(
    (
        "BLOCK_BYTES",
        "CONTEXTS_PER_BLOCK",
        "ITEMS_PER_BLOCK",
        "MAX_BATCH_TOKENS",
        "MAX_BLOCK_TOKENS",
        "MAX_CACHED_STEMS",
        "MAX_CPU_BATCH_TOKENS",
        "MAX_GPU_BATCH_TOKENS",
        "MAX_SAMPLED_UNITS_IN_MEMORY",
        "MAX_SENTENCE_PAIRS_AT_ONCE",
        "MAX_WEIGHTS_IN_MEMORY",
        "MAX_WIN_CELLS_IN_MEMORY",
        "MIN_CACHED_CHARACTERS",
        "PAIRS_PER_BATCH",
        "PARSING_BATCH_SIZE",
        "PERMUTATIONS_PER_BLOCK",
        "SENTENCES_PER_BATCH",
        "SYMBOLS_PER_BLOCK",
        "_READ_BLOCK_BYTES",
        "at_once",
    )
)
#: What numbers may be apart that are equal but for rounding.
ROUNDINGS = frozenset(
    (
        "ROUNDING_TOLERANCE",
        "STEP_TOLERANCE",
        "_RELATIVE_ROUNDING_ERROR",
        "MIN_STANDARD_ERROR",
        "slack",
        "nearly",
    )
)
#: Part of a changed line's diff and why no test can tell it from the code as it is.
EXPLAINED = {
    "np.where(whole >= 0, 2 * shared / whole": "nothing over nothing is undefined too",
    "+        blocks = np.zeros((len(gold), len(FACETS) + 2, 3))": "three more columns of zeros",
    "+        return word if word[-2] in 'lsz'": "the last two letters are the same there",
    "+    if place >= 1 and tail.startswith(_END_RECORD_SIGNATURE, place)": (
        "the same record is found by its mark"
    ),
    "MAX_DRAWN_UNITS // max(2, units)": "so few units leave the trials as they are",
    "+    if len(word) > 2 and word[-1] == word[-2]": "a stem of two equal letters has no vowel",
    "+    is_empty = np.asarray(np.isnan(share).all(": "of a row all shares are defined or none",
    "+    blocks[places, files, width] = 2": "it is asked whether there is anything",
    "+        is_behind_comma = place > 1 and": "a conjunction is behind no comma there",
    "+        is_behind_comma = place >= 0 and": "a sentence that begins with a conjunction has no verb yet",
    "for member in members)) >= size:": "an archive holds more than its packed bytes",
    "+            models[default] = (file.shown, 2)": "of the first model nobody is told where it stands",
    "randint(0, 2 ** 32, size=1025": "the same numbers in portions of another size",
    "+        lines = [json.dumps(answer) +": "escaped JSON is the same JSON",
    "+        stats = np.ones((len(gold), 4))": "one more column of ones; the last says which rows count",
    "+        keys = (self.block.tokens << 2 |": "symbols further apart are in the same order",
    "codes.max(initial=NO_CLASS) <= len(labels)": "no caller gives a code without a label",
    "left, sizes, _ = np.linalg.svd(vectors - vectors.mean(axis=0))": "what is more is not looked at",
    "block.tokens << 2 |": "symbols further apart are in the same order",
    "max(size or 1, 1)": "one at least is divided by",
    "max_trials: int=1": "one is no more than the trials that there are",
    "def choose_number_of_exchanges(units: int, comparisons: int=2)": (
        "the least trials are enough for two comparisons"
    ),
    "MAX_PERMUTED_VALUES = 200000001": "one exchange more is no permutation more",
    "refused: jackknife.NoIntervalReason | None = field(default=None, init=True)": "no caller gives it",
    "nthreads=1": "one process more counts words, and counts the same",
    "if paper is not None or reference is not None:": "gold with a line that lacks either is refused",
    "self._is_passive = True": "it is asked of a verb alone, which has set it by then",
    "return base.ratio(sums[..., :4], count)": "the count over itself is the 1 that follows",
    "NUMBER_OF_LEXICOGRAPHER_FILES = 46": "nothing asks for the names of these files",
    "+    return sum((place + 1 not in places": "as many spans end as begin",
    "for rank in range(1, last + 2)": "the table is longer than any rank that is looked up",
    "math.sqrt(at_units / units), 36.0)": "nothing is missed so many errors away",
    "or _ESCAPED_SURROGATE_PATTERN.search(text)": (
        "without an escape there is no half, and what has none stays as it is; it takes "
        "longer"
    ),
    "+MAX_WORD_NUMBER_BITS = 32": "no vocabulary has so many words",
    "end = -2": "no text ends there either",
    "np.where(left >= MIN_REMAINING_PROBABILITY": (
        "1 minus a sum above 0.5 is a multiple of 2 ** -53, which 1e-9 is not"
    ),
    "max_iter=1001": "it has converged by then",
    "if text.count(':') >= written": "then each colon follows a quote, and the members are counted alike",
    "self._text.read(CHUNK_BYTES >> 5)": "the same text in portions of another size",
    "of_run = Evaluation.objects.filter(submission=submission)\n": "others have the embargo of the newest",
    "options_digest=job.options_digest, queue=job.queue)": "a job that is not queued is not claimed",
    "if topic in own.topics else 1.0": "nothing is read of a topic that lacks the system",
    "while len(drawn) <= count": "what is drawn beyond the count is cut off",
    "gzip.GzipFile(fileobj=source)": "what is read is open for reading alone",
    "kendalltau(x, y).statistic) if len(x) >= 1": "SciPy has no coefficient of one pair either",
    "np.arange(self.number_of_topics + 2)": "no topic is asked for an end behind the last",
    "[len(own) <= len(other) for own, other": "columns with as many values are not told apart",
    "math.isfinite(of_seeds - of_units)": (
        "both are finite, or neither is; each lies so far below the largest number that "
        "their sum is finite"
    ),
    "found.is_significant and found.coefficient >= 0": "the p-value of a coefficient of 0 is 1",
    "parse_json_objects(f'{text}\\n', is_unique=file.reading >= 1)": (
        "what is not read by blocks is read line by line, with the same result"
    ),
    "np.ones(len(np.unique(runs[1][:, 0])))": "all runs of a system have the same units",
    "+    first = MAX_PERMUTED_VALUES // max(2, ": (
        "with one system no correlation is negative, and without a place the trials are "
        "999 either way"
    ),
    "if abs(coefficient) > MAX_FISHER_CORRELATION": (
        "of nine pairs or more, that very coefficient has a p-value below 1e-41 instead of "
        "0; p-values are compared with 0.05 and shown with three decimals"
    ),
    "np.linalg.solve(played - 1 / size": (
        "the gradient sums to 0, so the step sums to 0 with either sign, and is the same "
        "but for rounding, which the ranks allow for"
    ),
    "+        return 151": "no other rank of a column lies between 105 and 199",
    "2 << place": "all bits move up by one, and no token has the bit that `whole` gains",
    "np.linalg.solve(played + 2 / size": (
        "the gradient sums to 0, so each multiple of 1 / size gives the same step, but for "
        "rounding, which the ranks allow for"
    ),
}


@dataclass(frozen=True)
class Mutant:
    """One change: the node in the order of `ast.walk`, which of its changes, and the function it lies in."""

    path: str
    node: int
    change: int
    #: The outermost function whose body has it; empty for what is computed on import.
    function: str

    def written(self) -> tuple[str, str]:
        """The module as it is and as it is changed, both written alike."""
        tree = ast.parse((ROOT / self.path).read_text(encoding="utf-8"))
        now = ast.unparse(tree)
        target = next(
            found for place, found in enumerate(ast.walk(tree)) if place == self.node
        )
        list(changes(target))[self.change](target)
        return now, ast.unparse(tree)

    def difference(self) -> str:
        now, code = (text.splitlines() for text in self.written())
        return "\n".join(
            list(difflib.unified_diff(now, code, self.path, lineterm="", n=1))[2:]
        )


def changes(node: ast.AST) -> Iterator[Callable[[Any], object]]:
    """What can be changed about a node, each as a function that does so."""
    if (
        isinstance(node, ast.Compare)
        and type(node.ops[0]) in COMPARISONS
        and not is_of_rounding(node)
    ):
        yield lambda found: found.ops.__setitem__(0, COMPARISONS[type(found.ops[0])]())
    if isinstance(node, (ast.BoolOp, ast.BinOp)) and type(node.op) in OPERATORS:
        yield lambda found: setattr(found, "op", OPERATORS[type(found.op)]())
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield lambda found: setattr(
            found, "operand", ast.UnaryOp(node.op, found.operand)
        )
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        yield lambda found: setattr(
            found,
            "value",
            not found.value if isinstance(found.value, bool) else found.value + 1,
        )
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        for place, keyword in enumerate(node.keywords):
            if keyword.arg not in GUARDS:
                yield lambda found, place=place: found.keywords.pop(place)
    for attribute in ("id", "attr"):
        if getattr(node, attribute, None) in SWAPPED:
            yield lambda found, name=attribute: setattr(
                found, name, SWAPPED[getattr(found, name)]
            )


def is_of_rounding(node: ast.Compare) -> bool:
    """Whether one of what is compared is, adds or multiplies an allowance for rounding."""
    sides: list[ast.expr] = [node.left, *node.comparators]
    for side in sides:
        sides += [side.left, side.right] if isinstance(side, ast.BinOp) else []
    return not ROUNDINGS.isdisjoint(
        getattr(side, "id", getattr(side, "attr", "")) for side in sides
    )


def mutants(path: str) -> Iterator[Mutant]:
    """Annotations, docstrings, messages and guards stay, and what no test can notice wherever it stands."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    within: dict[int, str] = {}
    passed_over = passed_over_in(tree)
    for function, name in within_functions(tree):
        for statement in function.body:
            within |= {id(below): name for below in ast.walk(statement)}
    for number, node in enumerate(ast.walk(tree)):
        if id(node) not in passed_over:
            for change, _ in enumerate(changes(node)):
                yield Mutant(path, number, change, within.get(id(node), ""))


def passed_over_in(tree: ast.AST) -> set[int]:
    """Return the ids of the nodes that stay as they are."""
    passed_over: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg in GUARDS:
            passed_over |= {id(below) for below in ast.walk(node)}
        for annotation in (
            getattr(node, "annotation", None),
            getattr(node, "returns", None),
        ):
            passed_over |= (
                {id(below) for below in ast.walk(annotation)} if annotation else set()
            )
        if is_passed_over(node):
            passed_over |= {id(below) for below in ast.walk(node)}
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "reshape"
        ):
            passed_over |= {
                id(one.operand) for one in node.args if isinstance(one, ast.UnaryOp)
            }
    return passed_over


def is_passed_over(node: ast.AST) -> bool:
    """Of a module's size of portions the line that sets it and `max(1, …)` of a size that follows from it."""
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    names = {below.id for below in ast.walk(node) if isinstance(below, ast.Name)}
    if isinstance(node, ast.Assign):
        return bool(names) and names <= PORTIONS
    is_size = isinstance(node, ast.Call) and ast.unparse(node).startswith("max(1, ")
    return is_size and not names.isdisjoint(PORTIONS)


def within_functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, str]]:
    """The outermost functions and methods with their names."""
    for holder in (
        tree,
        *(node for node in tree.body if isinstance(node, ast.ClassDef)),
    ):
        before = f"{holder.name}." if isinstance(holder, ast.ClassDef) else ""
        for function in holder.body:
            if isinstance(function, ast.FunctionDef):
                yield function, before + function.name


def tests_of(path: str) -> tuple[str, ...]:
    patterns = next(
        tests
        for pattern, tests in TESTED_BY.items()
        if ROOT / path in frozenset(ROOT.glob(pattern))
    )
    return files_of(patterns)


@cache
def files_of(patterns: tuple[str, ...]) -> tuple[str, ...]:
    found = {
        file.relative_to(ROOT).as_posix()
        for pattern in patterns
        for place in ROOT.glob(pattern)
        for file in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])
        if patterns is not PLAIN or file.stem not in NEVER
    }
    return tuple(sorted(found))


def nearest(path: str, most: int) -> list[str]:
    """Return the test files of a module that import the module, or share most words with its path."""
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    package, _, name = module.rpartition(".")
    words = set(re.split(r"[._]", module)) - {"scoring", "tasks", "types", "metrics"}
    imports = re.compile(
        rf"{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{name}\b"
    )

    def order(file: str) -> tuple[int, int]:
        text = (ROOT / file).read_text(encoding="utf-8")
        shared = words.intersection(re.split(r"[/._]", file))
        likeness = len(shared) + (name in shared) + 2 * bool(imports.search(text))
        return likeness, -len(text)

    return sorted(tests_of(path), key=order, reverse=True)[:most]


def run_pytest(folder: Path, tests: list[str], plugin: object) -> None:
    """The tests in this process, for what the plugin does with them."""
    os.environ["CITEBOARD_TEST_ROOT"] = str(folder)
    sys.path[:0] = [str(ROOT), str(ROOT / "platform")]
    os.chdir(ROOT)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    import pytest

    pytest.main(
        ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist", "-p", "no:faulthandler",
         "--basetemp", str(folder / "temporary"), "-o", "tmp_path_retention_policy=failed", *tests],
        plugins=[plugin],
    )  # fmt: skip


class Plugin:
    """Golden numbers are asked of the modules that are changed, not of the wheel that has copies of them."""

    def pytest_runtest_setup(self, item: Any) -> None:
        while "_golden_numbers_by_the_wheel" in item.fixturenames:
            item.fixturenames.remove("_golden_numbers_by_the_wheel")

    pytest_runtest_setup.pytest_impl = {"tryfirst": True}  # type: ignore[attr-defined]


class Recorder(Plugin):
    """Which functions of the changed modules each test enters, and how long it takes."""

    def __init__(self, paths: set[str]) -> None:
        self.entered: set[str] = set()
        self.on_import: list[str] = []
        self.unusable: set[str] = set()
        self.by_test: dict[str, tuple[float, list[str]]] = {}
        vars(builtins)[TOLD] = self.entered.add
        compiled({str(ROOT / path): lambda path=path: telling(path) for path in paths})

    def pytest_collection_finish(self) -> None:
        self.on_import = sorted(self.entered)
        self.entered.clear()

    def pytest_runtest_protocol(self, item: Any, nextitem: Any) -> None:
        self.began = computing()

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A test that fails without a change, or is skipped, notices none."""
        if report.outcome != "passed":
            self.unusable.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        if nodeid not in self.unusable:
            self.by_test[nodeid] = computing() - self.began, sorted(self.entered)
        self.entered.clear()


def computing() -> float:
    """Seconds of this process and of those it has waited for; however many others want the processor."""
    return sum(os.times()[:4])


def telling(path: str) -> ast.Module:
    """The module with a call at the beginning of each function that says by which name it was entered."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for function, name in within_functions(tree):
        for inner in ast.walk(function):
            if isinstance(inner, ast.FunctionDef):
                call = ast.parse(f"{TOLD}({f'{path}:{name}'!r})").body[0]
                place = 0 if ast.get_docstring(inner) is None else 1
                ast.copy_location(call, inner.body[min(place, len(inner.body) - 1)])
                inner.body.insert(place, ast.fix_missing_locations(call))
    return tree


def compiled(trees: dict[str, Callable[[], ast.Module | str]]) -> None:
    """From now on the modules in these files are imported as these trees or texts have them."""
    loader: Any = importlib.machinery.SourceFileLoader
    get_code = loader.get_code
    loader.get_code = lambda self, name: (
        compile(trees[self.path](), self.path, "exec")
        if self.path in trees
        else get_code(self, name)
    )


class Trial(Plugin):
    """Tries changes of functions, each in a fork."""

    def __init__(
        self,
        given: list[tuple[Mutant, Looks]],
        seconds: dict[str, float],
        told: Any,
        deadline: float,
    ) -> None:
        self.given, self.seconds, self.told, self.deadline = (
            given,
            seconds,
            told,
            deadline,
        )
        self.noticed: dict[str, Counter[str]] = defaultdict(Counter)
        self.sound: set[str] = set()

    def pytest_runtestloop(self, session: Any) -> bool:  # noqa: C901  (trials share what is compiled and found)
        session.config._tmp_path_factory.getbasetemp()  # noqa: SLF001  (made once, for all forks)
        items = {item.nodeid: item for item in session.items}
        for path in {mutant.path for mutant, _ in self.given}:
            # What is imported late would be as it is.
            importlib.import_module(
                path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            )
        gc.unfreeze()
        functions: dict[tuple[str, str], list[FunctionType]] = defaultdict(list)
        for found in gc.get_objects():
            if type(found) is FunctionType and found.__code__.co_filename.startswith(
                str(ROOT)
            ):
                code = found.__code__
                functions[code.co_filename, code.co_qualname].append(found)
        gc.freeze()
        failed = Path(os.environ["CITEBOARD_TEST_ROOT"]) / "failed"
        again: list[tuple[Mutant, Any, Looks]] = []
        for mutant, looks in self.given:
            if time.monotonic() > self.deadline:
                break
            changed = compile(mutant.written()[1], str(ROOT / mutant.path), "exec")
            codes = {code.co_qualname: code for code in codes_within(changed)}
            own, code = (
                functions[str(ROOT / mutant.path), mutant.function],
                codes.get(mutant.function),
            )
            first = {test for test, _ in self.noticed[mutant.path].most_common(FIRST)}

            def run(tests: list[str], is_changed: bool, own=own, code=code) -> int:  # noqa: ANN001
                for function in own if is_changed else ():
                    function.__code__ = code
                for file in failed.parent.rglob("test.sqlite3*"):
                    file.unlink()
                return run_items(
                    session,
                    [items[test] for test in tests if test in items],
                    self.seconds,
                )

            if not own:
                sys.stderr.write(
                    f"{mutant.function} of {mutant.path} is not found and not tried\n"
                )
                continue
            in_order = sorted(looks[0], key=lambda test: test not in first)
            is_told = is_noticed(run, [in_order], self.seconds, failed, self.sound)
            if is_told and failed.exists():
                self.noticed[mutant.path][failed.read_text()] += 1
            if is_told or not looks[1]:
                self.told(mutant, is_told, sum(map(len, looks)))
            else:
                again.append((mutant, run, looks))
        for mutant, run, looks in again:
            # What there is no time to look at again has survived.
            is_in_time = time.monotonic() < self.deadline
            is_told = is_in_time and is_noticed(
                run, looks[1:], self.seconds, failed, self.sound
            )
            self.told(mutant, is_told, sum(map(len, looks)))
        return True

    pytest_runtestloop.pytest_impl = {"tryfirst": True}  # type: ignore[attr-defined]


def codes_within(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes_within(constant)


def run_items(session: Any, items: list[Any], seconds: dict[str, float]) -> int:
    """1 at the first failure; a test that takes too long ends the process. A file names the test."""
    failed = Path(os.environ["CITEBOARD_TEST_ROOT"], "failed")
    for place, item in enumerate(items):
        failed.write_text(item.nodeid)
        most = int(time.process_time() + TIMES * seconds[item.nodeid] + SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        following = items[place + 1] if place + 1 < len(items) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
    failed.unlink(missing_ok=True)
    return 0


class Reimported(Plugin):
    """Runs the tests in the given order over modules that were imported with the change."""

    def __init__(self, tests: list[str], seconds: dict[str, float]) -> None:
        self.tests, self.seconds = tests, seconds

    def pytest_runtestloop(self, session: Any) -> bool:
        items = {item.nodeid: item for item in session.items}
        missing = session.testsfailed or any(test not in items for test in self.tests)
        os._exit(
            1
            if missing
            else run_items(session, [items[test] for test in self.tests], self.seconds)
        )

    pytest_runtestloop.pytest_impl = {"tryfirst": True}  # type: ignore[attr-defined]


def reimported(
    mutant: Mutant,
    seconds: dict[str, float],
    folder: Path,
    tests: list[str],
    is_changed: bool,
) -> int:
    """1 where a test over everything imported anew fails."""
    for file in folder.rglob("test.sqlite3*"):
        file.unlink()
    if is_changed:
        compiled({str(ROOT / mutant.path): lambda: mutant.written()[1]})
    run_pytest(
        folder,
        sorted({test.split("::")[0] for test in tests}),
        Reimported(tests, seconds),
    )
    return 1


def is_noticed(
    run: Callable[[list[str], bool], int],
    looks: Sequence[list[str]],
    seconds: dict[str, float],
    failed: Path,
    sound: set[str],
    more: int = 0,
) -> bool:
    """Whether one of the looks, each the tests of a fork, notices something.

    A test that fails in a fork without the change too is passed over; ``sound`` gets those that do not.
    """

    def fail(tests: list[str], *, is_changed: bool) -> bool:
        failed.unlink(missing_ok=True)
        return fails(
            partial(run, tests, is_changed), more + sum(seconds[test] for test in tests)
        )

    for tests in looks:
        left = tests
        while left and fail(left, is_changed=True):
            name = failed.read_text() if failed.exists() else ""
            if name in sound:
                return True
            if not fail(
                left[: left.index(name) + 1] if name else left, is_changed=False
            ):
                sound.add(name or left[-1])
                failed.write_text(name or left[-1])
                return True
            if not failed.exists():
                break
            left = [test for test in left if test != failed.read_text()]
    return False


def fails(run: Callable[[], int], expected: float) -> bool:
    """Whether a fork in which this runs does not end well, or not in time."""
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        status = 1
        with contextlib.suppress(BaseException):
            status = run()
        os._exit(status)
    deadline = time.monotonic() + WAITING * (TIMES * expected + SECONDS)
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status != 0
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def recorded(
    paths: set[str],
    test_files: set[str],
    folder: Path,
    kept: dict[str, Any],
    processes: int,
) -> dict[str, Any]:
    """Per test its seconds and what it enters, and what is entered on import; recorded by the processes.

    Of files of tests that are as they were when ``kept`` was recorded what it says stands.
    """
    digests = {
        file: hashlib.sha256((ROOT / file).read_bytes()).hexdigest()
        for file in sorted(test_files)
    }
    files = [
        file
        for file, digest in digests.items()
        if kept.get("files", {}).get(file) != digest
    ]
    stands = {
        test: own
        for test, own in kept.get("tests", {}).items()
        if test.split("::")[0] not in files
    }

    def record(number: int) -> None:
        recorder = Recorder(paths)
        own = folder / f"record-{number}"
        own.mkdir()
        if files[number::processes]:
            run_pytest(own, files[number::processes], recorder)
        result = {"tests": recorder.by_test, "import": recorder.on_import}
        (folder / f"record-{number}.json").write_text(json.dumps(result))

    in_processes(record, processes)
    parts = [
        json.loads((folder / f"record-{number}.json").read_text())
        for number in range(processes)
    ]
    return {
        "tests": stands
        | {test: own for part in parts for test, own in part["tests"].items()},
        "import": sorted(
            {
                *kept.get("import", ()),
                *(name for part in parts for name in part["import"]),
            }
        ),
        "files": kept.get("files", {}) | digests,
    }


def in_processes(work: Callable[[int], None], processes: int) -> None:
    children = []
    for number in range(processes):
        child = os.fork()
        if not child:
            try:
                work(number)
            finally:
                sys.stderr.flush()
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def importers(path: str) -> set[str]:
    """The changed modules that import this one."""
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return {
        file.relative_to(ROOT).as_posix()
        for room in ("scoring", "tasks/types")
        for file in (ROOT / room).rglob("*.py")
        if f"{name} import" in (text := file.read_text(encoding="utf-8"))
        or f"from {name.rpartition('.')[0]} import {name.rpartition('.')[2]}" in text
    }


#: The tests of the first look and those of the second.
Looks = tuple[list[str], list[str]]


def looks_at(mutant: Mutant, records: dict[str, Any]) -> Looks:
    """Tests that enter the function; of what is computed on import a function that the change takes or gives
    the module, the module, or what imports it, and tests of the module by its name; the quickest first.
    """

    def entering(is_meant: Callable[[str], bool]) -> list[tuple[float, str]]:
        return sorted(
            (seconds, test)
            for test, (seconds, entered) in records["tests"].items()
            if any(map(is_meant, entered))
        )

    found = (
        entering(f"{mutant.path}:{mutant.function}".__eq__) if mutant.function else []
    )
    if not found:
        found = entering(lambda name: name.startswith(f"{mutant.path}:"))
        # Types are imported by their names.
        paths = () if found else importers(mutant.path) or {"tasks/types/registry.py"}
        found = found or entering(lambda name: name.split(":")[0] in paths)
    if not mutant.function:
        lines = [
            set(re.findall(r"\w+", line))
            for line in mutant.difference().splitlines()
            if line[0] in "-+"
        ]
        words = set.symmetric_difference(*lines) if len(lines) == 2 else set[str]()
        module = (
            mutant.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        )
        named = [
            (own, test)
            for test, (own, _) in records["tests"].items()
            if test.endswith(f"[{module}]")
        ]
        named += entering(
            lambda name: name.rpartition(":")[2].rpartition(".")[2] in words
        )
        found = [*named, *(one for one in found if one not in named)]
    own, further = set(tests_of(mutant.path)), set(files_of(FURTHER))
    first = within([one for one in found if one[1].split("::")[0] in own], MAX_SECONDS)
    if explanation(mutant):
        return first, []
    return first, within(
        [
            one
            for one in found
            if one[1] not in first and one[1].split("::")[0] in own | further
        ],
        MAX_SECONDS_AGAIN,
    )


def within(tests: list[tuple[float, str]], most: float) -> list[str]:
    together = accumulate(seconds for seconds, _ in tests)
    return [
        test
        for (_, test), seconds in zip(tests, together, strict=True)
        if seconds < most
    ] or [test for _, test in tests[:1]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", default=("",), nargs="+", help="beginnings of modules' paths"
    )
    parser.add_argument(
        "--minutes", type=float, default=600.0, help="after which none is begun"
    )
    parser.add_argument(
        "--records",
        type=Path,
        help="keeps which test enters which function, for next time",
    )
    parser.add_argument(
        "--survivors",
        type=Path,
        help="keeps, or has, what was not noticed, to be tried again",
    )
    parser.add_argument(
        "--out",
        type=Path,
        help="JSON of the counts and of every change that is not noticed",
    )
    parser.add_argument(
        "--nearest",
        type=int,
        help="records only so many test files per changed module",
    )
    parser.add_argument("--processes", type=int, default=PROCESSES)
    given = parser.parse_args()
    paths = {
        file.relative_to(ROOT).as_posix()
        for pattern in TESTED_BY
        for file in ROOT.glob(pattern)
        if file.relative_to(ROOT).as_posix().startswith(tuple(given.only))
    }
    known = [mutant for path in sorted(paths) for mutant in mutants(path)]
    sample = random.Random(given.seed).sample(known, min(given.sample, len(known)))
    if given.survivors and given.survivors.exists():
        sample = [Mutant(*one) for one in json.loads(given.survivors.read_text())]
    print(f"{len(known)} changes are known, {len(sample)} are tried", flush=True)
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    began = time.monotonic()
    try:
        kept = (
            json.loads(given.records.read_text())
            if given.records and given.records.exists()
            else {}
        )
        changed = {mutant.path for mutant in sample}
        recorded_paths = paths if given.records else changed
        test_files = (
            {file for path in changed for file in nearest(path, given.nearest)}
            if given.nearest
            else {
                *files_of(FURTHER),
                *(file for path in recorded_paths for file in tests_of(path)),
            }
        )
        records = recorded(recorded_paths, test_files, folder, kept, given.processes)
        if given.records:
            given.records.write_text(json.dumps(records))
        print(
            f"{len(records['tests'])} tests, recorded in {time.monotonic() - began:.0f} s",
            flush=True,
        )
        deadline = time.monotonic() + 60 * given.minutes
        in_processes(
            lambda number: work(
                number, sample[number :: given.processes], records, folder, deadline
            ),
            given.processes,
        )
        results = [
            json.loads(line)
            for number in range(given.processes)
            for line in (folder / f"results-{number}").read_text().splitlines()
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report(results, given.survivors, given.out)
    print(f"{time.monotonic() - began:.0f} s")


def work(  # noqa: C901  (its three rounds share what was noticed)
    number: int,
    sample: list[Mutant],
    records: dict[str, Any],
    folder: Path,
    deadline: float,
) -> None:
    output = (folder / f"results-{number}").open("w")
    seconds = {test: own for test, (own, _) in records["tests"].items()}

    def told(mutant: Mutant, noticed: bool, tests: int) -> None:
        output.write(json.dumps([list(vars(mutant).values()), noticed, tests]) + "\n")
        output.flush()
        if not noticed:
            sys.stderr.write(f"{mutant.difference()}\n{mutant.path}, {tests} tests\n\n")

    on_import, again = frozenset(records["import"]), folder / f"again-{number}"
    with_tests = [(mutant, looks_at(mutant, records)) for mutant in sample]
    swapped = [
        (
            mutant,
            (first, [] if f"{mutant.path}:{mutant.function}" in on_import else second),
        )
        for mutant, (first, second) in with_tests
        if mutant.function
    ]
    again.touch()

    def told_of_swapped(mutant: Mutant, noticed: bool, tests: int) -> None:
        """What an import has computed is as it was: tests may notice where that is computed anew."""
        if noticed or f"{mutant.path}:{mutant.function}" not in on_import:
            told(mutant, noticed, tests)
        else:
            with again.open("a") as places:
                places.write(f"{sample.index(mutant)}\n")

    for module in HEAVY:
        importlib.import_module(module)
    sound: set[str] = set()

    def try_anew(tried: list[tuple[Mutant, Looks]], *, has_survived: bool) -> None:
        for mutant, looks in tried:
            if time.monotonic() > deadline:
                if has_survived:
                    told(mutant, False, sum(map(len, looks)))
                continue
            own = Path(tempfile.mkdtemp(dir=folder))
            run = partial(reimported, mutant, seconds, own)
            noticed = is_noticed(run, looks, seconds, own / "failed", sound, more=10)
            told(mutant, noticed, sum(map(len, looks)))
            shutil.rmtree(own)

    # First, so that none of them is left out where time ends.
    try_anew([own for own in with_tests if not own[0].function], has_survived=False)
    files = sorted(
        {
            test.split("::")[0]
            for _, looks in swapped
            for tests in looks
            for test in tests
        }
    )
    own = folder / f"trial-{number}"
    own.mkdir()
    # A process of its own: from this one everything is imported anew.
    child = os.fork()
    if not child:
        try:
            run_pytest(
                own,
                files or ["tests/__init__.py"],
                Trial(swapped, seconds, told_of_swapped, deadline),
            )
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    try_anew(
        [with_tests[int(place)] for place in again.read_text().split()],
        has_survived=True,
    )


def report(results: list[Any], survivors: Path | None, out: Path | None = None) -> None:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    left, told = [], []
    for values, noticed, _ in results:
        mutant = Mutant(*values)
        reason = None if noticed else explanation(mutant)
        outcome = "noticed" if noticed else "explained" if reason else "survived"
        for room in ("/".join(mutant.path.split("/")[:2]), "all"):
            counts[room][outcome] += 1
        if not noticed:
            told.append(
                {
                    "change": mutant.difference().splitlines()[1:],
                    "in": mutant.path,
                    "reason": reason,
                }
            )
        if not noticed and not reason:
            left.append(values)
        if reason:
            print(mutant.difference(), reason, "", sep="\n")
    for room, own in sorted(counts.items()):
        print(f"{room}: {own['noticed']} of {own.total()} noticed, {own['explained']} explained,"
              f" {own['survived']} ({100 * own['survived'] / own.total():.1f} %) survived")  # fmt: skip
    if survivors:
        survivors.write_text(json.dumps(left))
    if out:
        rooms = {room: dict(own) for room, own in sorted(counts.items())}
        out.write_text(
            json.dumps(
                {"rooms": rooms, "not noticed": told}, indent=1, ensure_ascii=False
            )
            + "\n"
        )


def explanation(mutant: Mutant) -> str | None:
    difference = mutant.difference()
    return next(
        (reason for part, reason in EXPLAINED.items() if part in difference), None
    )


if __name__ == "__main__":
    sys.exit(main())
