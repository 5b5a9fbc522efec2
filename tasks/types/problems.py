"""What is wrong with a file: all of it, by line, in words its author can act on."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from itertools import islice
from typing import Any, Self

#: So much of an offending line is quoted back.
QUOTE_LENGTH = 160
#: So many errors and so many warnings of one input are kept. Reading ends at the last of these errors, as the
#: file is of another kind or meant to fill the memory; warnings beyond are counted.
MAX_PROBLEMS = 1_000
#: So many of them are told at once.
MAX_LISTED = 200
#: So much of anything else is told, since messages name things by what their author called them.
MAX_TOLD = 2_000

#: The fields of a problem that most task types leave empty.
_SORTED_BY = ("topic", "category")


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One finding: what was found, what was expected, and where. ``fatal`` is what cannot be read or cannot
    be meant; everything else is a warning. ``quote`` repeats the author's own line, never gold. ``count`` is
    how many problems it stands for: equal ones, of which ``lines`` names some other lines, or, if it
    ``is_rest``, those that are not listed.
    """

    file: str = ""
    line: int | None = None
    message: str
    expected: str = ""
    quote: str = ""
    fatal: bool = True
    count: int = 1
    #: Where a task type sorts what it finds: the category, and the topic on which it was found.
    topic: str = ""
    category: str = ""
    lines: tuple[int, ...] = ()
    is_rest: bool = False

    def __post_init__(self) -> None:
        """Keep what pages show and databases keep: no NUL, no half of a character that takes two."""
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
        """As `check --json` prints it: with its severity, and with a topic, or null, if it has a category."""
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
    """The input cannot be read or cannot be meant; ``problems`` says all that was found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems[:3]))


class TooManyProblems(InputRefused):
    """Reading ended before the end of the input."""


class Problems(list[Problem]):
    """Problems as they are found, never more than ``MAX_PROBLEMS`` errors and as many warnings. What is not
    kept is counted: any number of warnings, and ``counts`` errors. The next error raises TooManyProblems with
    all that was found.
    """

    def __init__(self, problems: Iterable[Problem] = (), *, counts: int = 0) -> None:
        super().__init__()
        self._max = {True: MAX_PROBLEMS + counts, False: None}
        self._found = {True: 0, False: 0}
        self.extend(problems)

    @property
    def found(self) -> int:
        """How many there are, kept or not."""
        return sum(self._found.values())

    @property
    def has_errors(self) -> bool:
        return self._found[True] > 0

    def note(self, make: Callable[[], Problem], *, fatal: bool = True) -> None:
        """Take a problem that is only made if it is kept. Raises TooManyProblems."""
        if self._found[fatal] == self._max[fatal]:
            last, message = (
                make(),
                f"not read any further, after {self._max[fatal]:,} errors",
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
        """What stands for those that were not kept."""
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
    """By file and line; what is said of a whole file comes first, what stands for several at the end."""
    return sorted(
        problems,
        key=lambda problem: (problem.is_rest, problem.file, problem.line or 0),
    )


def capped(
    problems: Sequence[Problem], most: int = MAX_LISTED
) -> tuple[list[Problem], int]:
    """As many as are told, equal ones as one, errors rather than warnings, in their order; and how many more
    there are.
    """
    single = merged(problem for problem in problems if not problem.is_rest)
    places = sorted(range(len(single)), key=lambda place: not single[place].fatal)
    chosen = [single[place] for place in sorted(places[:most])]
    return chosen, counted(problems) - counted(chosen)


#: Of equal problems one is told, which names so many of the other lines.
MAX_ALIKE = 5
#: How a message about an item of a list begins, which has no line of its own.
_ITEM = re.compile(r"\Aitem ([0-9]+): ")


@dataclass(frozen=True)
class Lines:
    """In how many other lines the same was found, and some of them, as they are written."""

    count: int = 0
    some: tuple[int, ...] = ()

    def __len__(self) -> int:
        return self.count

    def __str__(self) -> str:
        more = ", …" if self.some and self.count > len(self.some) else ""
        return f"{', '.join(map(str, self.some))}{more}"

    @property
    def words(self) -> str:
        """Return what follows the message about the first line; empty if there is no other."""
        if not self.count:
            return ""
        if not self.some:
            return f" (and {self.count} more of these)"
        return f" (and {self.count} more line{'s' if self.count > 1 else ''}: {self})"


def merged(problems: Iterable[Problem]) -> list[Problem]:
    """Return equal problems of a file as one, in the place of the first."""
    groups: dict[object, list[Problem]] = {}
    for problem in problems:
        message = _ITEM.sub("", problem.message, count=1)
        said = (problem.file, message, problem.expected, problem.fatal, problem.is_rest)
        sorted_by = (problem.topic, problem.category, problem.line is None)
        groups.setdefault((*said, *sorted_by), []).append(problem)
    return [_as_one(same) for same in groups.values()]


def _as_one(same: Sequence[Problem]) -> Problem:
    first = same[0]
    if len(same) == 1:
        return first
    places = (line for problem in same for line in (_place(problem), *problem.lines))
    lines = tuple(
        islice((line for line in places if line is not None), 1, MAX_ALIKE + 1)
    )
    return replace(first, count=counted(same), lines=lines)


def _place(problem: Problem) -> int | None:
    """Return the line of a problem, or the number of its item."""
    item = _ITEM.match(problem.message)
    return int(item[1]) if problem.line is None and item else problem.line


def alike(problems: Iterable[Problem]) -> list[tuple[Problem, Lines]]:
    """Each problem once, with the other lines that it stands for."""
    return [
        (one, Lines() if one.is_rest else Lines(one.count - 1, one.lines))
        for one in merged(problems)
    ]


def fatal(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.fatal]


def refuse(problems: Sequence[Problem]) -> None:
    """Raises InputRefused with all of them where one is fatal."""
    if fatal(problems):
        raise InputRefused(
            [*problems, *(problems.rest() if isinstance(problems, Problems) else ())]
        )


def counted(problems: Iterable[Problem]) -> int:
    return sum(problem.count for problem in problems)


def as_values(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    """As JSON can carry them from one process to another."""
    return [asdict(problem) for problem in problems]


def from_values(values: Iterable[Mapping[str, Any]]) -> list[Problem]:
    return [
        Problem(**{**value, "lines": tuple(value.get("lines", ()))}) for value in values
    ]


def quoted(text: str) -> str:
    """The beginning of an offending line, as a message can carry it."""
    text = text.strip()
    return text if len(text) <= QUOTE_LENGTH else f"{text[: QUOTE_LENGTH - 1]}…"


#: Which extra of the wheel brings what is imported under these names; `score` brings all else.
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
    **dict.fromkeys(("mcp", "pydantic"), "mcp"),
    **dict.fromkeys(("pandas", "polars"), "pandas"),
}


def lacking_package(name: str) -> str:
    """Of a module that cannot be imported: what is missing, and how to get it."""
    package = name.partition(".")[0]
    brings = f"`pip install 'citeboard[{EXTRAS.get(package, 'score')}]'` brings it"
    return f"this needs a package that is not installed: {package}; {brings}"


def missing_package(name: str, command: str = "make models") -> str:
    """Return which package this machine lacks and who installs it; empty if it is installed."""
    if find_spec(name) is not None:
        return ""
    return f"the package {name} is not installed here; those who run the site install it with `{command}`"


#: Why a run is Unavailable that waits for judgements. Organisers publish them with the gold.
JUDGEMENTS_LACKING = "judgements of this run are not among the gold yet"


class Unavailable(Exception):
    """A scoring needs what is not installed or not at hand, such as a model; the run is not at fault and may
    wait.
    """


@contextmanager
def needed(words: str, *faults: type[Exception]) -> Iterator[None]:
    """Around imports, or by its ``faults`` around what else may not be at hand. Raises Unavailable with these
    words, in which `{}` stands for those of the fault.
    """
    kinds = faults or (ImportError,)
    try:
        yield
    except kinds as missing:
        raise Unavailable(words.replace("{}", str(missing))) from missing


class Pending(Unavailable):
    """``pending`` of the ``pairs`` that a run asks about are not decided yet."""

    def __init__(self, pending: int, pairs: int) -> None:
        self.pending, self.pairs = pending, pairs
        super().__init__(f"{pending} of {pairs} pairs pending")
