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
from scoring.client.refusals import ClientCommandRefused
from scoring.offline import commands as offline, scoring as scorer, terminal
from scoring.offline.arguments import add_declared_commands, print_output
from scoring.offline.gold_key import build_gold_key
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
from tasks.types.base import parse_option_arguments
from tasks.types.files import open_input_files
from tasks.types.guarded.encodings import NOT_UTF8_MESSAGE, PYTHON_CODECS_BY_ENCODING
from tasks.types.problems import (
    JudgementsPending,
    SoftwareUnavailable,
    counted,
    make_pip_install_message,
    select_problems_to_list,
)
from tasks.types.references import import_referenced_object
from tasks.types.registry import TaskTypeNotLoadable

if TYPE_CHECKING:
    from scoring.offline.parts import SplitPart
    from tasks.types.repairs import RepairedRun

#: The commands in COMMANDS_MOVED_TO_PAPERS were top-level commands and are now subcommands of `papers`.
#: The old names of these commands still work until the next release.
COMMANDS_MOVED_TO_PAPERS = (
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
TRUST_MEASURES_OPTION = "--trust-measures"
REFUSED_EXIT_CODE = 2
#: The exit code UNAVAILABLE_EXIT_CODE means that a metric needs a missing model or program.
UNAVAILABLE_EXIT_CODE = 6
#: Every scoring command imports the packages in PACKAGES_OF_SCORING_COMMANDS.
PACKAGES_OF_SCORING_COMMANDS = ("numpy", "scipy")
#: After a signal, the exit code is 128 plus the number of the signal, as in shells.
INTERRUPTED_EXIT_CODE, CLOSED_PIPE_EXIT_CODE = 128 + signal.SIGINT, 128 + signal.SIGPIPE
#: UNUSABLE_PATH_ERRORS are the exceptions for an unusable file path in a command's arguments.
UNUSABLE_PATH_ERRORS = (
    FileExistsError,
    FileNotFoundError,
    IsADirectoryError,
    NotADirectoryError,
    PermissionError,
)
EXIT_CODES_HELP_TEXT = """exit codes:
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
    if words and words[0] in COMMANDS_MOVED_TO_PAPERS:
        if "--progress" not in words:
            print(
                f"python -m scoring: “{words[0]}” is called “papers {words[0]}” now",
                file=sys.stderr,
            )
        words.insert(0, "papers")
    if TRUST_MEASURES_OPTION in words:
        from scoring.metrics.own import trust_measures_code

        words.remove(TRUST_MEASURES_OPTION)
        with trust_measures_code():
            return main(words, next_step=next_step)
    if words[:1] == ["papers"] and not is_papers_package_installed():
        print(f"python -m scoring: {PAPERS_MISSING_ADVICE}", file=sys.stderr)
        return UNAVAILABLE_EXIT_CODE
    if words[:1] == ["score"]:
        # NumPy uses one thread, because starting others takes longer than a small run.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    given = build_argument_parser().parse_args(words)
    given.next_step = next_step
    return _run_command_and_get_exit_code(given)


def _run_command_and_get_exit_code(namespace: argparse.Namespace) -> int:
    """Run the command, report the command's errors, and return the exit code."""
    as_objects = getattr(namespace, "progress", False)
    if getattr(namespace, "needs_scorer", False) and (
        absent := find_missing_package(PACKAGES_OF_SCORING_COMMANDS)
    ):
        # Fail before the command reads large files, if a package is missing.
        return print_refusal_and_get_exit_code(
            make_pip_install_message(absent), code=UNAVAILABLE_EXIT_CODE
        )
    try:
        return int(namespace.command(namespace))
    except ClientCommandRefused as refused:
        return print_refusal_and_get_exit_code(
            str(refused), *refused.details, code=refused.exit_code
        )
    except (TaskTypeNotLoadable, OptionRefused, UnknownTaskType) as refused:
        return print_refusal_and_get_exit_code(str(refused))
    except InputRefused as refused:
        print_problems(refused.problems, as_objects=as_objects)
    except SoftwareUnavailable as missing:
        return report_missing_requirement(missing, as_objects=as_objects)
    except UNUSABLE_PATH_ERRORS as fault:
        if as_objects or fault.filename is None:
            # The paths in a worker's command are valid, so this error is temporary.
            raise
        print_problems(
            [Problem(file=str(fault.filename), message=str(fault.strerror).lower())],
            as_objects=False,
        )
    except ModuleNotFoundError as missing:
        return print_refusal_and_get_exit_code(
            make_pip_install_message(missing.name or ""), code=UNAVAILABLE_EXIT_CODE
        )
    return REFUSED_EXIT_CODE


def find_missing_package(packages: Sequence[str]) -> str:
    """Return the name of the first package that is not installed, or an empty text if
    all packages are installed.
    """
    return next((name for name in packages if find_spec(name) is None), "")


def report_missing_requirement(
    missing: SoftwareUnavailable, *, as_objects: bool, **facts: str
) -> int:
    if as_objects and isinstance(missing, JudgementsPending):
        print(
            scorer.format_json(
                {"pending": missing.pending, "pairs": missing.pairs, **facts}
            ),
            file=sys.stderr,
        )
        return UNAVAILABLE_EXIT_CODE
    return print_refusal_and_get_exit_code(
        ": ".join([*facts.values(), str(missing)]), code=UNAVAILABLE_EXIT_CODE
    )


def print_refusal_and_get_exit_code(
    reason: str, *details: str, code: int = REFUSED_EXIT_CODE
) -> int:
    print(f"python -m scoring: {reason}", *details, sep="\n", file=sys.stderr)
    return code


def build_argument_parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python -m scoring",
        description=__doc__,
        epilog=EXIT_CODES_HELP_TEXT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    version = f"citeboard {terminal.find_installed_version()}"
    top.add_argument(
        "--version", action="version", version=version, help="print the version"
    )
    trusting = "run the measures.py and the official program of a task, with all that you may do"
    top.add_argument(TRUST_MEASURES_OPTION, action="store_true", help=trusting)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    names = {
        **vars(offline),
        **globals(),
        "METHODS": METHODS,
        "ENCODINGS": ["", *PYTHON_CODECS_BY_ENCODING],
    }
    add_declared_commands(
        commands,
        Path(__file__).parent / "offline" / "commands.toml",
        names,
        options_of=parse_task_options,
    )
    add_tools(commands, parse_task_options)
    reproducing = "reproduce the five papers; `papers --help` lists the commands"
    papers = commands.add_parser("papers", help=reproducing)
    if is_papers_package_installed():
        of_papers = papers.add_subparsers(required=True, metavar="COMMAND")
        import_referenced_object(f"{PAPERS_PACKAGE}.commands:add_commands")(
            of_papers, parse_task_options
        )
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
    return print_output(
        given,
        scorer.format_json([scorer.describe_task_type(kind) for kind in kinds]),
        *lines,
    )


def parse_task_options(chosen: TaskType, pairs: Sequence[str]) -> dict[str, str]:
    return chosen.validate_options(parse_option_arguments(pairs))


def read_split_part(given: argparse.Namespace) -> "SplitPart | None":
    if not given.part:
        return None
    from scoring.offline.parts import parse_part

    return parse_part(given.part)


def check_run(given: argparse.Namespace) -> int:
    """Check a run.

    The option `--json` prints the problems of a run on standard output, even if the run
    is invalid. A worker calls the command with `--progress` and reads the problems from
    standard error.
    """
    try:
        return _check_run_and_print_problems(given)
    except InputRefused as refused:
        _print_problems_as_json(given, refused.problems)
        raise
    except (TaskTypeNotLoadable, OptionRefused, UnknownTaskType) as refused:
        _print_problems_as_json(given, [Problem(message=str(refused))])
        raise
    except UNUSABLE_PATH_ERRORS as fault:
        message = str(fault.strerror).lower()
        _print_problems_as_json(
            given, [Problem(file=str(fault.filename), message=message)]
        )
        raise


def _print_problems_as_json(
    namespace: argparse.Namespace, problems: Sequence[Problem]
) -> None:
    if namespace.json and not namespace.progress:
        found = [problem.as_check_command_json() for problem in problems]
        print(scorer.format_json({"task_type": namespace.type, "problems": found}))


def _check_run_and_print_problems(namespace: argparse.Namespace) -> int:
    chosen = task_type(namespace.type)
    # The task type checks its options without importing the packages of metrics.
    options = chosen.validate_options(
        parse_option_arguments(namespace.option), builds=bool(namespace.option)
    )
    asked = {name: getattr(namespace, name) for name in ("gold", "inputs", "run_name")}
    asked["key"] = build_gold_key(namespace)
    asked |= {"encoding": namespace.encoding, "repairs": not namespace.progress}
    try:
        with open_progress_reporter(namespace) as progress:
            result = scorer.check(
                chosen, namespace.run, options, **asked, progress=progress
            )
    except scorer.RunRefused as refused:
        print_problems(refused.problems, as_objects=False)
        _print_problems_as_json(namespace, refused.problems)
        if refused.repair is not None:
            write_or_announce_repair(refused.repair, namespace.repair)
        elif any(
            problem.message.startswith(NOT_UTF8_MESSAGE) for problem in refused.problems
        ):
            print("--encoding NAME reads the run in one of these", file=sys.stderr)
        return REFUSED_EXIT_CODE
    if namespace.encoding and namespace.repair:
        for file in open_input_files(namespace.run, encoding=namespace.encoding)[:1]:
            namespace.repair.write_bytes(file.read())
    warnings = [Problem(**problem) for problem in result["warnings"]]
    first, more = select_problems_to_list(warnings)
    lines = [
        *terminal.format_problem_lines(first, sys.stdout),
        *([f"and {more} more warnings"] if more else []),
    ]
    found = counted(warnings)
    count = f"; {found} warning{'s' if found > 1 else ''}" if found else ""
    return print_output(
        namespace,
        scorer.format_json(result),
        *lines,
        f"{namespace.run} can be scored{count}",
    )


def write_or_announce_repair(repair: "RepairedRun", path: Path | None) -> None:
    """Write the repaired run file to ``path``, or print that the run can be repaired."""
    for change in repair.changes:
        print(f"repair: {terminal.replace_control_characters(change)}", file=sys.stderr)
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
    options = parse_task_options(chosen, given.option)
    named = given.rules or [None]
    written = (
        _match_paths_to_runs(option, getattr(given, option), len(named))
        for option in ("statistics", "pending")
    )
    scorings = [
        scorer.ScoringRequest(
            task_type=chosen,
            rules=chosen.validate_rule_set_name(name),
            options=options,
            resamples=given.intervals,
            statistics=statistics,
            pending=pending,
            part=read_split_part(given),
            key=build_gold_key(given),
            **{
                name: getattr(given, name)
                for name in ("gold", "run", "run_name", "seed", "method")
            },
        )
        for name, statistics, pending in zip(named, *written, strict=True)
    ]
    if len(scorings) > 1:
        return score_run_under_each_rule_set(scorings, given)
    with open_progress_reporter(given) as progress:
        scores = scorer.score_parsed_run(
            scorings[0], scorer.read_gold_and_run(scorings[0], progress), progress
        )
    print_scores_and_warnings(scores, given)
    return 0


def _match_paths_to_runs(
    option: str, paths: Sequence[Path] | None, count: int
) -> Sequence[Path | None]:
    if paths and len(paths) != count:
        raise OptionRefused(
            f"--{option} is given {len(paths)} times and --rules {count} times"
        )
    return paths or [None] * count


def score_run_under_each_rule_set(
    scorings: Sequence[scorer.ScoringRequest], given: argparse.Namespace
) -> int:
    """Score a run under each rule set, and print a list with one line per rule set.

    Score a run under each rule set, and print the scores of each rule set on one line
    as JSON.
    """
    code, is_first = 0, True
    with open_progress_reporter(given) as progress:
        read = scorer.read_gold_and_run(scorings[0], progress)
        shares = [
            0.4 + 0.6 * place / len(scorings) for place in range(len(scorings) + 1)
        ]
        if given.json:
            print("[")
        for scoring, share in zip(scorings, pairwise(shares), strict=True):
            if scoring is not scorings[0]:
                given.next_step()
            try:
                scores = scorer.score_parsed_run(scoring, read, progress, share)
            except SoftwareUnavailable as missing:
                code = report_missing_requirement(
                    missing, as_objects=given.progress, rules=scoring.rules
                )
                continue
            print("" if is_first else "," if given.json else "\n", end="")
            is_first = False
            if not given.json:
                print(f"{scoring.rules}:")
            print_scores_and_warnings(scores, given)
            sys.stdout.flush()
    if given.json:
        print("]")
    return code


def print_scores_and_warnings(
    scores: Mapping[str, Any], given: argparse.Namespace
) -> None:
    print_output(
        given,
        scorer.format_json(scores),
        *terminal.format_score_lines(scores["metrics"]),
    )
    problems = (
        [] if given.json else [Problem(**problem) for problem in scores["warnings"]]
    )
    if not given.json and (ties := scores["notes"].get("tied_scores")):
        message = f"{ties} scores equal the one before: these keep the order of the gold's file"
        problems.append(Problem(message=message, fatal=False))
    for line in terminal.format_problem_lines(problems, sys.stderr):
        print(line, file=sys.stderr)


def compare_runs(given: argparse.Namespace) -> int:
    if len(given.run) != 2:
        raise OptionRefused(
            f"two runs are compared, {len(given.run)} given: --run A --run B"
        )
    from scoring.offline.compare import compare, read_runs

    chosen = task_type(given.type)
    rules, options = (
        chosen.validate_rule_set_name(given.rules),
        parse_task_options(chosen, given.option),
    )
    key, part = build_gold_key(given), read_split_part(given)
    read = read_runs(
        chosen, given.gold, given.run, rules=rules, options=options, part=part, key=key
    )
    result = compare(read, trials=given.tests, seed=given.seed)
    lines = []
    for name, metric in result["metrics"].items():
        parts = (
            terminal.format_score_value(metric[part], infinite=False)
            for part in ("a", "b", "difference", "p")
        )
        a, b, difference, p = parts
        lines.append(
            f"{name:<40} {a} - {b} = {difference}  {terminal.format_interval_or_reason(metric)}"
        )
        lines.append(f"{'':<40} p {p} ({metric['test']} over {metric['units']} units)")
    return print_output(given, scorer.format_json(result), *lines)


@contextmanager
def open_progress_reporter(
    given: argparse.Namespace,
) -> Iterator[scorer.ProgressFunction]:
    """Yield a function that reports progress as JSON objects if requested, as a bar on
    a terminal, and otherwise not at all.
    """
    if given.progress:
        as_json = scorer.format_json
        yield lambda step, done: print(
            as_json({"step": step, "done": done}), file=sys.stderr, flush=True
        )
    elif terminal.is_terminal(sys.stderr):
        with terminal.show_progress_bar(given.type, 1.0) as at:
            yield lambda step, done: at(done)
    else:
        yield scorer.ignore_progress


def print_problems(problems: Sequence[Problem], *, as_objects: bool) -> None:
    first, more = select_problems_to_list(problems)
    objects = (json.dumps({"problem": problem.as_dict()}) for problem in first)
    for line in (
        objects if as_objects else terminal.format_problem_lines(first, sys.stderr)
    ):
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
        code = INTERRUPTED_EXIT_CODE
    except BrokenPipeError:
        # The interpreter flushes output at exit, which fails with a closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = CLOSED_PIPE_EXIT_CODE
    sys.exit(code)


if __name__ == "__main__":
    run()
