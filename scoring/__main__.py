"""Check, score and compare runs without a database, or send commands to a site. The
command `python -m scoring --help` lists all commands.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from scoring.client.arguments import add_commands as add_client
from scoring.client.refusals import Refused
from scoring.offline import commands as offline, scoring as scorer, terminal
from scoring.offline.arguments import add_declared, say
from scoring.offline.gold_key import gold_key_of
from scoring.stats.interval_methods import METHODS
from scoring.tools.baselines import (
    PAPERS_MISSING_ADVICE,
    PAPERS_PACKAGE,
    is_papers_package_installed,
)
from scoring.tools.commands import add_commands as add_tools
from tasks.types import (
    InputRefused,
    OptionRefused,
    Problem,
    TaskType,
    UnknownTaskType,
    task_type,
    task_types,
)
from tasks.types.base import given_options
from tasks.types.files import open_input
from tasks.types.guarded.encodings import ENCODINGS, NOT_UTF8
from tasks.types.problems import Pending, Unavailable, capped, counted, lacking_package
from tasks.types.references import referenced
from tasks.types.registry import BrokenTaskType

if TYPE_CHECKING:
    from scoring.offline.parts import Part
    from tasks.types.repairs import Repair

#: The commands in MOVED were top-level commands and are now subcommands of `papers`.
#: The old names of these commands still work until the next release.
MOVED = (
    "claim-check",
    "claim-sheet",
    "context-check",
    "context-sheet",
    "convert-biomedsumm",
    "describe-citation-text",
    "describe-topics",
    "human",
    "human-line",
    "mix-positions",
    "pilot",
    "place-marks",
    "sweep-resolution",
    "tagger-overlap",
)
TRUST = "--trust-measures"
USAGE_FAULT = 2
#: The exit code UNAVAILABLE means that a metric needs a missing model or program.
UNAVAILABLE = 6
#: Every scoring command imports the packages in SCORER.
SCORER = ("numpy", "scipy")
#: After a signal, the exit code is 128 plus the number of the signal, as in shells.
INTERRUPTED, PIPE_CLOSED = 128 + signal.SIGINT, 128 + signal.SIGPIPE
#: PATH_FAULTS are the exceptions for an unusable file path in a command's arguments.
PATH_FAULTS = (
    FileExistsError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
EXIT_CODES = """exit codes:
  0    done
  1    a run has no scores (follow, scores); something in an archive differs (verify);
       a receipt does not hold (receipt verify); no rule set has the official number (task official)
  2    the command or a file is refused; every reason is on standard error
  3    an archive has no number that can be checked (verify)
  4    the site refuses the request
  5    the site cannot be reached
  6    a model or package is missing that the command needs
  130  interrupted
  141  nobody reads the output any more
"""


def main(
    arguments: Sequence[str] | None = None,
    *,
    next_step: Callable[[], object] = lambda: None,
) -> int:
    """Run a command.

    If a run is scored under several rule sets, ``next_step`` is called before each rule
    set after the first.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in MOVED:
        if "--progress" not in words:
            print(
                f"python -m scoring: “{words[0]}” is called “papers {words[0]}” now",
                file=sys.stderr,
            )
        words.insert(0, "papers")
    if TRUST in words:
        from scoring.metrics.own import trusted

        words.remove(TRUST)
        with trusted():
            return main(words, next_step=next_step)
    if words[:1] == ["papers"] and not is_papers_package_installed():
        print(f"python -m scoring: {PAPERS_MISSING_ADVICE}", file=sys.stderr)
        return UNAVAILABLE
    if words[:1] == ["score"]:
        # NumPy uses one thread, because starting others takes longer than a small run.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    given = parser().parse_args(words)
    given.next_step = next_step
    return _exit_code(given)


def _exit_code(namespace: argparse.Namespace) -> int:
    """Run the command, report the command's errors, and return the exit code."""
    as_objects = getattr(namespace, "progress", False)
    if getattr(namespace, "needs_scorer", False) and (absent := missing_of(SCORER)):
        # Fail before the command reads large files, if a package is missing.
        return stopped(lacking_package(absent), code=UNAVAILABLE)
    try:
        return int(namespace.command(namespace))
    except Refused as refused:
        return stopped(str(refused), *refused.details, code=refused.exit_code)
    except (BrokenTaskType, OptionRefused, UnknownTaskType) as refused:
        return stopped(str(refused))
    except InputRefused as refused:
        report(refused.problems, as_objects=as_objects)
    except Unavailable as missing:
        return lacking(missing, as_objects=as_objects)
    except PATH_FAULTS as fault:
        if as_objects or fault.filename is None:
            # The paths in a worker's command are valid, so this error is temporary.
            raise
        report(
            [Problem(file=str(fault.filename), message=str(fault.strerror).lower())],
            as_objects=False,
        )
    except ModuleNotFoundError as missing:
        return stopped(lacking_package(missing.name or ""), code=UNAVAILABLE)
    return USAGE_FAULT


def missing_of(packages: Sequence[str]) -> str:
    """Return the name of the first package that is not installed, or an empty text if
    all packages are installed.
    """
    return next((name for name in packages if find_spec(name) is None), "")


def lacking(missing: Unavailable, *, as_objects: bool, **facts: str) -> int:
    if as_objects and isinstance(missing, Pending):
        print(
            scorer.as_json(
                {"pending": missing.pending, "pairs": missing.pairs, **facts}
            ),
            file=sys.stderr,
        )
        return UNAVAILABLE
    return stopped(": ".join([*facts.values(), str(missing)]), code=UNAVAILABLE)


def stopped(reason: str, *details: str, code: int = USAGE_FAULT) -> int:
    print(f"python -m scoring: {reason}", *details, sep="\n", file=sys.stderr)
    return code


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python -m scoring",
        description=__doc__,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    version = f"citeboard {terminal.installed_version()}"
    top.add_argument(
        "--version", action="version", version=version, help="print the version"
    )
    trusting = "run the measures.py and the official program of a task, with all that you may do"
    top.add_argument(TRUST, action="store_true", help=trusting)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    names = {
        **vars(offline),
        **globals(),
        "METHODS": METHODS,
        "ENCODINGS": ["", *ENCODINGS],
    }
    add_declared(
        commands,
        Path(__file__).parent / "offline" / "commands.toml",
        names,
        options_of=options_of,
    )
    add_tools(commands, options_of)
    reproducing = "reproduce the five papers; `papers --help` lists the commands"
    papers = commands.add_parser("papers", help=reproducing)
    if is_papers_package_installed():
        of_papers = papers.add_subparsers(required=True, metavar="COMMAND")
        referenced(f"{PAPERS_PACKAGE}.commands:add_commands")(of_papers, options_of)
    add_client(commands)
    return top


def whole_number(text: str) -> int:
    count = int(text)
    if count < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return count


def list_types(given: argparse.Namespace) -> int:
    kinds = task_types().values()
    lines = (
        f"{kind.slug:<24} {kind.title}\n{'':<24} rules: {', '.join(kind.rules)}"
        for kind in kinds
    )
    return say(
        given, scorer.as_json([scorer.described(kind) for kind in kinds]), *lines
    )


def options_of(chosen: TaskType, pairs: Sequence[str]) -> dict[str, str]:
    return chosen.checked_options(given_options(pairs))


def part_of(given: argparse.Namespace) -> "Part | None":
    if not given.part:
        return None
    from scoring.offline.parts import read_part

    return read_part(given.part)


def check_run(given: argparse.Namespace) -> int:
    """Check a run.

    The option `--json` prints the problems of a run on standard output, even if the run
    is invalid. A worker calls the command with `--progress` and reads the problems from
    standard error.
    """
    try:
        return _checked_run(given)
    except InputRefused as refused:
        _print_refused(given, refused.problems)
        raise
    except (BrokenTaskType, OptionRefused, UnknownTaskType) as refused:
        _print_refused(given, [Problem(message=str(refused))])
        raise
    except PATH_FAULTS as fault:
        message = str(fault.strerror).lower()
        _print_refused(given, [Problem(file=str(fault.filename), message=message)])
        raise


def _print_refused(namespace: argparse.Namespace, problems: Sequence[Problem]) -> None:
    if namespace.json and not namespace.progress:
        found = [problem.as_finding() for problem in problems]
        print(scorer.as_json({"task_type": namespace.type, "problems": found}))


def _checked_run(namespace: argparse.Namespace) -> int:
    chosen = task_type(namespace.type)
    # The task type checks its options without importing the packages of metrics.
    options = chosen.checked_options(
        given_options(namespace.option), builds=bool(namespace.option)
    )
    asked = {name: getattr(namespace, name) for name in ("gold", "inputs", "run_name")}
    asked["key"] = gold_key_of(namespace)
    asked |= {"encoding": namespace.encoding, "repairs": not namespace.progress}
    try:
        with progress_of(namespace) as progress:
            result = scorer.check(
                chosen, namespace.run, options, **asked, progress=progress
            )
    except scorer.RunRefused as refused:
        report(refused.problems, as_objects=False)
        _print_refused(namespace, refused.problems)
        if refused.repair is not None:
            offer(refused.repair, namespace.repair)
        elif any(problem.message.startswith(NOT_UTF8) for problem in refused.problems):
            print("--encoding NAME reads the run in one of these", file=sys.stderr)
        return USAGE_FAULT
    if namespace.encoding and namespace.repair:
        for file in open_input(namespace.run, encoding=namespace.encoding)[:1]:
            namespace.repair.write_bytes(file.read())
    warnings = [Problem(**problem) for problem in result["warnings"]]
    first, more = capped(warnings)
    lines = [
        *terminal.problem_lines(first, sys.stdout),
        *([f"and {more} more warnings"] if more else []),
    ]
    found = counted(warnings)
    count = f"; {found} warning{'s' if found > 1 else ''}" if found else ""
    return say(
        namespace,
        scorer.as_json(result),
        *lines,
        f"{namespace.run} can be scored{count}",
    )


def offer(repair: "Repair", path: Path | None) -> None:
    """Write the repaired run file to ``path``, or print that the run can be repaired."""
    for change in repair.changes:
        print(f"repair: {terminal.printable(change)}", file=sys.stderr)
    if path is None:
        print(
            "--repair FILE writes the repaired file, which can be scored",
            file=sys.stderr,
        )
        return
    path.write_bytes(repair.content)
    print(f"{path}: the repaired file, which can be scored", file=sys.stderr)


def score_run(given: argparse.Namespace) -> int:
    chosen = task_type(given.type)
    options = options_of(chosen, given.option)
    named = given.rules or [None]
    written = (
        _paths_per_run(option, getattr(given, option), len(named))
        for option in ("statistics", "pending")
    )
    scorings = [
        scorer.Scoring(
            task_type=chosen,
            rules=chosen.checked_rules(name),
            options=options,
            resamples=given.intervals,
            statistics=statistics,
            pending=pending,
            part=part_of(given),
            key=gold_key_of(given),
            **{
                name: getattr(given, name)
                for name in ("gold", "run", "run_name", "seed", "method")
            },
        )
        for name, statistics, pending in zip(named, *written, strict=True)
    ]
    if len(scorings) > 1:
        return score_under_each(scorings, given)
    with progress_of(given) as progress:
        scores = scorer.score_read(
            scorings[0], scorer.read_scored(scorings[0], progress), progress
        )
    print_scores(scores, given)
    return 0


def _paths_per_run(
    option: str, paths: Sequence[Path] | None, count: int
) -> Sequence[Path | None]:
    if paths and len(paths) != count:
        raise OptionRefused(
            f"--{option} is given {len(paths)} times and --rules {count} times"
        )
    return paths or [None] * count


def score_under_each(
    scorings: Sequence[scorer.Scoring], given: argparse.Namespace
) -> int:
    """Score a run under each rule set, and print a list with one line per rule set.

    Score a run under each rule set, and print the scores of each rule set on one line
    as JSON.
    """
    code, is_first = 0, True
    with progress_of(given) as progress:
        read = scorer.read_scored(scorings[0], progress)
        shares = [
            0.4 + 0.6 * place / len(scorings) for place in range(len(scorings) + 1)
        ]
        if given.json:
            print("[")
        for scoring, share in zip(scorings, pairwise(shares), strict=True):
            if scoring is not scorings[0]:
                given.next_step()
            try:
                scores = scorer.score_read(scoring, read, progress, share)
            except Unavailable as missing:
                code = lacking(missing, as_objects=given.progress, rules=scoring.rules)
                continue
            print("" if is_first else "," if given.json else "\n", end="")
            is_first = False
            if not given.json:
                print(f"{scoring.rules}:")
            print_scores(scores, given)
            sys.stdout.flush()
    if given.json:
        print("]")
    return code


def print_scores(scores: Mapping[str, Any], given: argparse.Namespace) -> None:
    say(given, scorer.as_json(scores), *terminal.score_lines(scores["metrics"]))
    problems = (
        [] if given.json else [Problem(**problem) for problem in scores["warnings"]]
    )
    if not given.json and (ties := scores["notes"].get("tied_scores")):
        message = f"{ties} scores equal the one before: these keep the order of the gold's file"
        problems.append(Problem(message=message, fatal=False))
    for line in terminal.problem_lines(problems, sys.stderr):
        print(line, file=sys.stderr)


def compare_runs(given: argparse.Namespace) -> int:
    if len(given.run) != 2:
        raise OptionRefused(
            f"two runs are compared, {len(given.run)} given: --run A --run B"
        )
    from scoring.offline.compare import compare, read_runs

    chosen = task_type(given.type)
    rules, options = chosen.checked_rules(given.rules), options_of(chosen, given.option)
    key, part = gold_key_of(given), part_of(given)
    read = read_runs(
        chosen, given.gold, given.run, rules=rules, options=options, part=part, key=key
    )
    result = compare(read, trials=given.tests, seed=given.seed)
    lines = []
    for name, metric in result["metrics"].items():
        parts = (
            terminal.shown(metric[part], infinite=False)
            for part in ("a", "b", "difference", "p")
        )
        a, b, difference, p = parts
        lines.append(f"{name:<40} {a} - {b} = {difference}  {terminal.between(metric)}")
        lines.append(f"{'':<40} p {p} ({metric['test']} over {metric['units']} units)")
    return say(given, scorer.as_json(result), *lines)


@contextmanager
def progress_of(given: argparse.Namespace) -> Iterator[scorer.Progress]:
    """Yield a function that reports progress as JSON objects if requested, as a bar on
    a terminal, and otherwise not at all.
    """
    if given.progress:
        as_json = scorer.as_json
        yield lambda step, done: print(
            as_json({"step": step, "done": done}), file=sys.stderr, flush=True
        )
    elif terminal.is_terminal(sys.stderr):
        with terminal.bar(given.type, 1.0) as at:
            yield lambda step, done: at(done)
    else:
        yield scorer.no_progress


def report(problems: Sequence[Problem], *, as_objects: bool) -> None:
    first, more = capped(problems)
    objects = (json.dumps({"problem": problem.as_dict()}) for problem in first)
    for line in objects if as_objects else terminal.problem_lines(first, sys.stderr):
        print(line, file=sys.stderr)
    if more:
        print(
            json.dumps({"more": more}) if as_objects else f"and {more} more problems",
            file=sys.stderr,
        )


def run() -> NoReturn:
    """Run the program, and exit without a traceback if the user interrupts the program
    or closes its output.
    """
    try:
        try:
            code = main()
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        # The interpreter flushes output at exit, which fails with a closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = PIPE_CLOSED
    sys.exit(code)


if __name__ == "__main__":
    run()
