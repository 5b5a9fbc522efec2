"""The problems that are found in a file of a run or of gold (reference answers). The
message of a problem states the line, and the value that was expected.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from itertools import islice
from typing import Any, Self

#: `MAX_QUOTE_CHARACTERS` is the maximum length of a line that an error message quotes.
MAX_QUOTE_CHARACTERS = 160
MAX_STORED_PROBLEMS = 1_000
#: `MAX_LISTED_PROBLEMS` is the maximum number of problems that a web page or command lists.
MAX_LISTED_PROBLEMS = 200
#: Texts of problems have at most `MAX_PROBLEM_CHARACTERS` characters, as they may quote long names.
MAX_PROBLEM_CHARACTERS = 2_000

_FIELDS_OMITTED_IF_EMPTY = ("topic", "category")


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A problem in a file of a run or of gold, with the line and a description of the
    expected value.

    A problem with ``fatal`` prevents scoring, and any other problem is a warning.
    ``quote`` is the line of the author's file that has the problem, but never a line of
    the gold (reference answers). If one problem stands for several equal problems,
    ``count`` is their number, and ``lines`` contains line numbers of some of them. If
    ``is_rest`` is True, the problem is a summary that only states the number
    (``count``) of further problems.
    """

    file: str = ""
    line: int | None = None
    message: str
    expected: str = ""
    quote: str = ""
    fatal: bool = True
    count: int = 1
    #: `topic` and `category` classify problems of a few task types only.
    topic: str = ""
    category: str = ""
    lines: tuple[int, ...] = ()
    is_rest: bool = False

    def __post_init__(self) -> None:
        """Replace null characters and unpaired surrogates in the texts of the problem,
        because databases cannot store them. Shorten each text of the problem to at most
        `MAX_PROBLEM_CHARACTERS` characters.
        """
        for name in ("message", "file", "expected", "quote", "topic"):
            text = getattr(self, name)
            if len(text) > MAX_PROBLEM_CHARACTERS:
                text = f"{text[: MAX_PROBLEM_CHARACTERS - 1]}…"
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
        left_out.update(
            name for name in _FIELDS_OMITTED_IF_EMPTY if not getattr(self, name)
        )
        if self.count == 1:
            left_out.add("count")
        return {
            name: value for name, value in asdict(self).items() if name not in left_out
        }

    def as_check_command_json(self) -> dict[str, str | int | None]:
        """Return the problem as a dictionary, in the format of the command `check
        --json`. If the problem has a category, the dictionary also contains the
        category, and the topic or null.
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
    """The error for files that cannot be read, or that are not a valid run or valid
    gold. ``problems`` contains all problems that were found in the files.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems[:3]))


class TooManyProblems(InputRefused):
    """The error for files with so many problems that they were not read to the end."""


class ProblemList(list[Problem]):
    """A list that stores at most ``MAX_STORED_PROBLEMS`` errors and at most as many warnings.

    Further errors and warnings are only counted, and at most ``counts`` further errors
    are permitted. An error that exceeds this limit raises TooManyProblems with all
    stored problems.
    """

    def __init__(self, problems: Iterable[Problem] = (), *, counts: int = 0) -> None:
        super().__init__()
        self._max = {True: MAX_STORED_PROBLEMS + counts, False: None}
        self._found = {True: 0, False: 0}
        self.extend(problems)

    @property
    def found(self) -> int:
        """Return the number of problems that were added to the list, including those
        that were counted but not stored.
        """
        return sum(self._found.values())

    @property
    def has_errors(self) -> bool:
        return self._found[True] > 0

    def note(self, make: Callable[[], Problem], *, fatal: bool = True) -> None:
        """Add a problem to the list, or only count the problem if the list is full. The
        function ``make`` creates the problem, and is not called if the problem is only
        counted. Raises TooManyProblems.
        """
        if self._found[fatal] == self._max[fatal]:
            last, message = (
                make(),
                f"stopped after {self._max[fatal]:,} errors",
            )
            last_words = Problem(file=last.file, line=last.line, message=message)
            raise TooManyProblems([*self, *self.rest(), last_words])
        self._found[fatal] += 1
        if self._found[fatal] <= MAX_STORED_PROBLEMS:
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
        """Return a problem that summarises the errors that were counted but not stored,
        and another one for the warnings.
        """
        rest = []
        for word, is_fatal in (("error", True), ("warning", False)):
            if (more := self._found[is_fatal] - MAX_STORED_PROBLEMS) > 0:
                message = (
                    f"{more:,} more {word}{'s are' if more > 1 else ' is'} not listed"
                )
                rest.append(
                    Problem(message=message, fatal=is_fatal, count=more, is_rest=True)
                )
        return rest


def make_stopped_reading_problem(file: str, line: int) -> Problem:
    message = f"not read from here on, after {MAX_STORED_PROBLEMS:,} problems before it"
    return Problem(file=file, line=line, message=message)


def sort_problems(problems: Iterable[Problem]) -> list[Problem]:
    """Sort the problems by file and line. In each file, problems without a line number
    come first, and the last problems of the result are summaries of unlisted problems.
    """
    return sorted(
        problems,
        key=lambda problem: (problem.is_rest, problem.file, problem.line or 0),
    )


def select_problems_to_list(
    problems: Sequence[Problem], most: int = MAX_LISTED_PROBLEMS
) -> tuple[list[Problem], int]:
    """Return the first ``most`` problems, for display on a page or by a command, and
    the number of all further problems. Equal problems count as one, and errors are
    chosen before warnings.
    """
    single = merge_equal_problems(
        problem for problem in problems if not problem.is_rest
    )
    places = sorted(range(len(single)), key=lambda place: not single[place].fatal)
    chosen = [single[place] for place in sorted(places[:most])]
    return chosen, counted(problems) - counted(chosen)


#: A merged problem lists at most `MAX_FURTHER_LINES_LISTED` further line numbers.
MAX_FURTHER_LINES_LISTED = 5
#: `_ITEM_NUMBER_PATTERN` matches the number that begins a message about an item of a JSON list.
_ITEM_NUMBER_PATTERN = re.compile(r"\Aitem ([0-9]+): ")


@dataclass(frozen=True)
class FurtherLines:
    """The number of further lines that have the same problem, and the numbers of some
    of these lines.
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
        """Return a text that lists further lines with the problem, or an empty text if
        no further line has the problem.
        """
        if not self.count:
            return ""
        if not self.some:
            return f" (and {self.count} more of these)"
        return f" (and {self.count} more line{'s' if self.count > 1 else ''}: {self})"


def merge_equal_problems(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems with all equal problems of a file merged to one problem. A
    merged problem has the line number of the first of the equal problems.
    """
    groups: dict[object, list[Problem]] = {}
    for problem in problems:
        message = _ITEM_NUMBER_PATTERN.sub("", problem.message, count=1)
        said = (problem.file, message, problem.expected, problem.fatal, problem.is_rest)
        sorted_by = (problem.topic, problem.category, problem.line is None)
        groups.setdefault((*said, *sorted_by), []).append(problem)
    return [_merge_problems(same) for same in groups.values()]


def _merge_problems(same: Sequence[Problem]) -> Problem:
    first = same[0]
    if len(same) == 1:
        return first
    places = (
        line
        for problem in same
        for line in (_line_or_item_number(problem), *problem.lines)
    )
    lines = tuple(
        islice(
            (line for line in places if line is not None),
            1,
            MAX_FURTHER_LINES_LISTED + 1,
        )
    )
    return replace(first, count=counted(same), lines=lines)


def _line_or_item_number(problem: Problem) -> int | None:
    item = _ITEM_NUMBER_PATTERN.match(problem.message)
    return int(item[1]) if problem.line is None and item else problem.line


def merge_with_further_lines(
    problems: Iterable[Problem],
) -> list[tuple[Problem, FurtherLines]]:
    """Return the distinct problems, each with the numbers of further lines that have
    the same problem.
    """
    return [
        (one, FurtherLines() if one.is_rest else FurtherLines(one.count - 1, one.lines))
        for one in merge_equal_problems(problems)
    ]


def select_fatal_problems(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.fatal]


def raise_if_any_problem_is_fatal(problems: Sequence[Problem]) -> None:
    """Raise InputRefused with all ``problems`` if at least one of them is fatal."""
    if select_fatal_problems(problems):
        raise InputRefused(
            [*problems, *(problems.rest() if isinstance(problems, ProblemList) else ())]
        )


def counted(problems: Iterable[Problem]) -> int:
    return sum(problem.count for problem in problems)


def convert_problems_to_dicts(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """Return the problems as dictionaries, which can be sent to another process as
    JSON.
    """
    return [asdict(problem) for problem in problems]


def convert_dicts_to_problems(values: Iterable[Mapping[str, Any]]) -> list[Problem]:
    return [
        Problem(**{**value, "lines": tuple(value.get("lines", ()))}) for value in values
    ]


def shorten_quoted_line(text: str) -> str:
    """Return a line of a file without surrounding white space, shortened to
    `MAX_QUOTE_CHARACTERS` characters for an error message.
    """
    text = text.strip()
    return (
        text
        if len(text) <= MAX_QUOTE_CHARACTERS
        else f"{text[: MAX_QUOTE_CHARACTERS - 1]}…"
    )


#: `_PACKAGES_OF_MODELS_EXTRA` lists packages in the extra `models` of the Python package citeboard.
#: Packages that `PIP_EXTRAS_BY_PACKAGE` does not contain are installed with the extra `score`.
_PACKAGES_OF_MODELS_EXTRA = (
    "bert_score",
    "huggingface_hub",
    "lexrank",
    "spacy",
    "summa",
    "torch",
    "transformers",
)
PIP_EXTRAS_BY_PACKAGE = {
    **dict.fromkeys(_PACKAGES_OF_MODELS_EXTRA, "models"),
    **dict.fromkeys(("ir_datasets", "ir_measures"), "ir"),
    "distributed": "cluster",
    "urllib3": "judges",
    **dict.fromkeys(("mcp", "pydantic"), "mcp"),
    **dict.fromkeys(("pandas", "polars"), "pandas"),
}


def make_pip_install_message(name: str) -> str:
    """Return an error message that names the missing Python package and the `pip`
    command to install it.
    """
    package = name.partition(".")[0]
    brings = f"`pip install 'citeboard[{PIP_EXTRAS_BY_PACKAGE.get(package, 'score')}]'` brings it"
    return f"this needs a package that is not installed: {package}; {brings}"


def make_message_if_package_missing(name: str, command: str = "make models") -> str:
    """Return an error message that names the missing Python package and the command
    with which the site's staff install it. Return an empty message if the Python
    package is installed.
    """
    return (
        ""
        if find_spec(name) is not None
        else make_missing_package_message(name, command)
    )


def make_missing_package_message(name: str, command: str = "make models") -> str:
    return f"the package {name} is not installed here; the site's staff install it with `{command}`"


#: `MISSING_JUDGEMENTS_MESSAGE` is the message for a run without published judgements.
#: The organisers of a task publish the judgements of the run together with the gold.
MISSING_JUDGEMENTS_MESSAGE = "judgements of this run are not among the gold yet"


class SoftwareUnavailable(Exception):
    """The error for a run that cannot be scored now, because software or a model is not
    installed. The run is valid, and can be scored after the missing software or model
    is installed.
    """


@contextmanager
def convert_to_unavailable(words: str, *faults: type[Exception]) -> Iterator[None]:
    """Convert an exception of the types ``faults`` (by default an ImportError) in a
    `with` block to Unavailable with the message ``words``.
    """
    kinds = faults or (ImportError,)
    try:
        yield
    except kinds as missing:
        raise SoftwareUnavailable(words.replace("{}", str(missing))) from missing


class JudgementsPending(SoftwareUnavailable):
    """The error for a run that cannot be scored now, because a judge has not yet judged
    ``pending`` of the run's ``pairs`` of texts.
    """

    def __init__(self, pending: int, pairs: int) -> None:
        self.pending, self.pairs = pending, pairs
        super().__init__(f"{pending} of {pairs} pairs pending")
