"""The problems of an input, which is a run or gold. Messages contain line numbers and
tell the author how to correct each problem.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from itertools import islice
from typing import Any, Self

#: `QUOTE_LENGTH` is the maximum length of a quoted line.
QUOTE_LENGTH = 160
MAX_PROBLEMS = 1_000
#: `MAX_LISTED` is the maximum number of problems that pages and commands list.
MAX_LISTED = 200
#: `MAX_TOLD` limits a message, since messages contain names from the author's file.
MAX_TOLD = 2_000

#: Most task types do not set the topic and the category of a problem.
_SORTED_BY = ("topic", "category")


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One problem of an input, with the expected form and the position.

    ``fatal`` problems prevent scoring, while other problems are warnings. ``quote`` is
    the author's line, never gold (reference answers). A problem may represent ``count``
    equal problems, and ``lines`` contains line numbers of some equal problems. If
    ``is_rest`` is True, ``count`` is the number of unlisted problems.
    """

    file: str = ""
    line: int | None = None
    message: str
    expected: str = ""
    quote: str = ""
    fatal: bool = True
    count: int = 1
    #: `topic` and `category` describe a finding, and most task types do not set them.
    topic: str = ""
    category: str = ""
    lines: tuple[int, ...] = ()
    is_rest: bool = False

    def __post_init__(self) -> None:
        """Replace characters of the message that databases cannot store, such as null
        characters and unpaired surrogates. Shorten long texts of the problem.
        """
        for name in ("message", "file", "expected", "quote", "topic"):
            text = getattr(self, name)
            if len(text) > MAX_TOLD:
                text = f"{text[: MAX_TOLD - 1]}…"
            text = text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
            object.__setattr__(self, name, text)

    def __str__(self) -> str:
        where = (
            f"{self.file}:{self.line}: "
            if self.line is not None
            else self.file and f"{self.file}: "
        )
        return f"{where}{self.message}{f'; expected {self.expected}' if self.expected else ''}"

    def as_dict(self) -> dict[str, str | int | bool | None]:
        left_out = {"lines", "is_rest"}
        left_out.update(name for name in _SORTED_BY if not getattr(self, name))
        if self.count == 1:
            left_out.add("count")
        return {
            name: value for name, value in asdict(self).items() if name not in left_out
        }

    def as_finding(self) -> dict[str, str | int | None]:
        """Return the problem in the form that `check --json` prints, including the
        severity. Problems with a category also include the topic, which may be null.
        """
        sorted_by: dict[str, str | int | None] = {}
        if self.category:
            sorted_by = {"topic": self.topic or None, "category": self.category}
        return {
            "severity": "error" if self.fatal else "warning",
            "file": self.file,
            "line": self.line,
            "message": self.message,
            "expected": self.expected,
            "quote": self.quote,
            "count": self.count,
            **sorted_by,
        }


class InputRefused(Exception):
    """The input cannot be read or is not a run of a task. ``problems`` contains all
    problems of the input.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems[:3]))


class TooManyProblems(InputRefused):
    """Reading stopped before the end of the input, because the input has too many
    problems.
    """


class Problems(list[Problem]):
    """A list of problems with at most ``MAX_PROBLEMS`` errors and as many warnings.

    Further problems are only counted, without a limit for warnings, and with the limit
    ``counts`` for errors. One more error than ``counts`` raises TooManyProblems with
    all problems.
    """

    def __init__(self, problems: Iterable[Problem] = (), *, counts: int = 0) -> None:
        super().__init__()
        self._max = {True: MAX_PROBLEMS + counts, False: None}
        self._found = {True: 0, False: 0}
        self.extend(problems)

    @property
    def found(self) -> int:
        """Return the number of problems, including problems that are not stored."""
        return sum(self._found.values())

    @property
    def has_errors(self) -> bool:
        return self._found[True] > 0

    def note(self, make: Callable[[], Problem], *, fatal: bool = True) -> None:
        """Add a problem to the list. The function ``make`` is called only if the
        problem is stored. Raises TooManyProblems.
        """
        if self._found[fatal] == self._max[fatal]:
            last, message = (
                make(),
                f"stopped after {self._max[fatal]:,} errors",
            )
            last_words = Problem(file=last.file, line=last.line, message=message)
            raise TooManyProblems([*self, *self.rest(), last_words])
        self._found[fatal] += 1
        if self._found[fatal] <= MAX_PROBLEMS:
            super().append(make())

    def append(self, problem: Problem) -> None:
        self.note(lambda: problem, fatal=problem.fatal)

    def extend(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self.append(problem)

    def __iadd__(self, problems: Iterable[Problem]) -> Self:  # type: ignore[override,misc]
        self.extend(problems)
        return self

    def rest(self) -> list[Problem]:
        """Return one summary of the unstored errors, and one summary of the unstored
        warnings.
        """
        rest = []
        for word, is_fatal in (("error", True), ("warning", False)):
            if (more := self._found[is_fatal] - MAX_PROBLEMS) > 0:
                message = (
                    f"{more:,} more {word}{'s are' if more > 1 else ' is'} not listed"
                )
                rest.append(
                    Problem(message=message, fatal=is_fatal, count=more, is_rest=True)
                )
        return rest


def given_up(file: str, line: int) -> Problem:
    message = f"not read from here on, after {MAX_PROBLEMS:,} problems before it"
    return Problem(file=file, line=line, message=message)


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Sort the problems by file and line. Problems without a line precede problems with
    a line, and summaries of unlisted problems are last.
    """
    return sorted(
        problems,
        key=lambda problem: (problem.is_rest, problem.file, problem.line or 0),
    )


def capped(
    problems: Sequence[Problem], most: int = MAX_LISTED
) -> tuple[list[Problem], int]:
    """Return the problems that a page or command lists, and the number of all other
    problems. Equal problems are merged, and errors take precedence over warnings.
    """
    single = merged(problem for problem in problems if not problem.is_rest)
    places = sorted(range(len(single)), key=lambda place: not single[place].fatal)
    chosen = [single[place] for place in sorted(places[:most])]
    return chosen, counted(problems) - counted(chosen)


#: `MAX_ALIKE` is the maximum number of further line numbers of a merged problem.
MAX_ALIKE = 5
#: `_ITEM` matches the prefix of a message about a list item, which has no line number.
_ITEM = re.compile(r"\Aitem ([0-9]+): ")


@dataclass(frozen=True)
class Lines:
    """The number of further lines with the same problem, and the line numbers of some
    of the lines.
    """

    count: int = 0
    some: tuple[int, ...] = ()

    def __len__(self) -> int:
        return self.count

    def __str__(self) -> str:
        more = ", …" if self.some and self.count > len(self.some) else ""
        return f"{', '.join(map(str, self.some))}{more}"

    @property
    def words(self) -> str:
        """Return the text about further lines that follows the message about the first
        line, or an empty text if no other line has the problem.
        """
        if not self.count:
            return ""
        if not self.some:
            return f" (and {self.count} more of these)"
        return f" (and {self.count} more line{'s' if self.count > 1 else ''}: {self})"


def merged(problems: Iterable[Problem]) -> list[Problem]:
    """Merge equal problems of a file. The merged problem has the position of the first
    equal problem.
    """
    groups: dict[object, list[Problem]] = {}
    for problem in problems:
        message = _ITEM.sub("", problem.message, count=1)
        said = (problem.file, message, problem.expected, problem.fatal, problem.is_rest)
        sorted_by = (problem.topic, problem.category, problem.line is None)
        groups.setdefault((*said, *sorted_by), []).append(problem)
    return [_merged_problem(same) for same in groups.values()]


def _merged_problem(same: Sequence[Problem]) -> Problem:
    first = same[0]
    if len(same) == 1:
        return first
    places = (line for problem in same for line in (_place(problem), *problem.lines))
    lines = tuple(
        islice((line for line in places if line is not None), 1, MAX_ALIKE + 1)
    )
    return replace(first, count=counted(same), lines=lines)


def _place(problem: Problem) -> int | None:
    item = _ITEM.match(problem.message)
    return int(item[1]) if problem.line is None and item else problem.line


def alike(problems: Iterable[Problem]) -> list[tuple[Problem, Lines]]:
    """Return the distinct problems, each with the other lines that have the same
    problem.
    """
    return [
        (one, Lines() if one.is_rest else Lines(one.count - 1, one.lines))
        for one in merged(problems)
    ]


def fatal(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.fatal]


def refuse(problems: Sequence[Problem]) -> None:
    """Raise InputRefused with all problems if any problem is fatal."""
    if fatal(problems):
        raise InputRefused(
            [*problems, *(problems.rest() if isinstance(problems, Problems) else ())]
        )


def counted(problems: Iterable[Problem]) -> int:
    return sum(problem.count for problem in problems)


def as_values(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Return the problems as JSON values that another process can read."""
    return [asdict(problem) for problem in problems]


def from_values(values: Iterable[Mapping[str, Any]]) -> list[Problem]:
    return [
        Problem(**{**value, "lines": tuple(value.get("lines", ()))}) for value in values
    ]


def quoted(text: str) -> str:
    """Return the beginning of a line, shortened for a message."""
    text = text.strip()
    return text if len(text) <= QUOTE_LENGTH else f"{text[: QUOTE_LENGTH - 1]}…"


#: `_OF_MODELS` lists the modules that the wheel's extra `models` installs.
#: The extra `score` of the wheel installs modules that no other extra installs.
_OF_MODELS = (
    "bert_score",
    "huggingface_hub",
    "lexrank",
    "spacy",
    "summa",
    "torch",
    "transformers",
)
EXTRAS = {
    **dict.fromkeys(_OF_MODELS, "models"),
    **dict.fromkeys(("ir_datasets", "ir_measures"), "ir"),
    "distributed": "cluster",
    "urllib3": "judges",
    **dict.fromkeys(("mcp", "pydantic"), "mcp"),
    **dict.fromkeys(("pandas", "polars"), "pandas"),
}


def lacking_package(name: str) -> str:
    """Return a message that names the package of a missing module and the command that
    installs the package.
    """
    package = name.partition(".")[0]
    brings = f"`pip install 'citeboard[{EXTRAS.get(package, 'score')}]'` brings it"
    return f"this needs a package that is not installed: {package}; {brings}"


def missing_package(name: str, command: str = "make models") -> str:
    """Return a message that a package is missing and who can install the package.
    Return an empty text if the package is installed.
    """
    return "" if find_spec(name) is not None else package_needed(name, command)


def package_needed(name: str, command: str = "make models") -> str:
    return f"the package {name} is not installed here; the site's staff install it with `{command}`"


#: `JUDGEMENTS_LACKING` is the message for a run that waits for judgements.
#: The organisers publish judgements together with the gold.
JUDGEMENTS_LACKING = "judgements of this run are not among the gold yet"


class Unavailable(Exception):
    """Scoring needs software or a model that is not available. The run is valid and may
    be scored when the software is available.
    """


@contextmanager
def needed(words: str, *faults: type[Exception]) -> Iterator[None]:
    """Raise Unavailable with the message ``words`` if the code in the block raises
    ImportError or one of ``faults``.
    """
    kinds = faults or (ImportError,)
    try:
        yield
    except kinds as missing:
        raise Unavailable(words.replace("{}", str(missing))) from missing


class Pending(Unavailable):
    """Judgements are missing for ``pending`` of the ``pairs`` that a run needs."""

    def __init__(self, pending: int, pairs: int) -> None:
        self.pending, self.pairs = pending, pairs
        super().__init__(f"{pending} of {pairs} pairs pending")
