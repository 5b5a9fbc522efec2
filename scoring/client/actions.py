"""Implement the client's commands. Each function returns the exit code of a command."""

import argparse
import getpass
import shutil
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scoring.client import connection
from scoring.client.refusals import Refused, SiteRefused
from scoring.offline.arguments import say
from scoring.offline.scoring import as_json
from scoring.offline.terminal import (
    BOLD,
    GREEN,
    RED,
    painted,
    printable,
    problem_lines,
    score_lines,
)
from tasks.types import Problem

#: A phase that hides its results reports “received” for every run that has not failed.
SCORED, RECEIVED = "scored", "received"
ENDED = (SCORED, RECEIVED, "failed", "cancelled", "withdrawn")
NOT_SCORED = 1
#: Texts that describe which runs of a team a board shows, by counting rule.
#: The API of sites before version 0.4.0 does not report the rule that selects the runs.
ON_BOARDS = {
    "best": "the best run of each team",
    "last": "the last run of each team",
    "selected": "the run that each team selects",
    "priority": "the first runs by each team's priority",
}
#: The HTTP status of a missing resource.
ABSENT = 404
#: Seconds between two requests for the state of a run, if the site specifies no number.
MIN_PAUSE, MAX_PAUSE = 1.0, 15.0


def login(args: argparse.Namespace) -> int:
    address = args.url.rstrip("/")
    token = (
        getpass.getpass("Token: ") if sys.stdin.isatty() else sys.stdin.readline()
    ).strip()
    if not token:
        raise Refused(f"no token was given; make one at {address}/account/tokens/")
    connection.Connection(address, token).get("submissions/", {"page_size": 1})
    path = connection.tokens_path()
    connection.write_tokens(
        path, address, {**connection.read_tokens(path)[1], address: token}
    )
    return say(
        args, {"site": address, "file": str(path)}, f"signed in to {address}; {path}"
    )


def seasons(args: argparse.Namespace) -> int:
    site = _connect_to_site(args)
    if args.season:
        answer: Any = site.get(f"seasons/{args.season}/")
        heads: tuple[str, ...] = ("phase", "task", "type", "name", "closes", "open")
        rows: list[tuple[object, ...]] = [
            (
                phase["id"],
                task["slug"],
                task["type"],
                f"{answer['slug']}/{task['slug']}/{phase['slug']}",
                phase["closes"] or "no end",
                "yes" if phase["is_open"] else "no",
            )
            for task in answer["tasks"]
            for phase in task["phases"]
        ]
    else:
        answer = list(site.pages("seasons/"))
        heads, rows = (
            ("season", "title"),
            [(season["slug"], season["title"]) for season in answer],
        )
    return say(args, answer, *table_lines(heads, rows))


def enter(args: argparse.Namespace) -> int:
    site = _connect_to_site(args, needs_token=True)
    season = f"seasons/{args.season}/"
    if args.accept_terms:
        names = ("affiliation", "country", "legal_name")
        given = {name: text for name in names if (text := getattr(args, name))}
        site.post(f"{season}terms/", {"version": args.accept_terms, **given})
    refuse_unread_terms(site, args.season)
    founded = (
        site.post("teams/", {"name": args.found}) if args.found else {"slug": args.team}
    )
    team = founded["slug"] or only_team(site)
    entry = site.post(
        f"{season}registrations/", {"team": team, "message": args.message}
    )
    waits = "" if entry["state"] == "approved" else f", and is {entry['state']}"
    return say(
        args,
        entry,
        f"{entry['name']} ({entry['team']}) has entered {args.season}{waits}",
    )


def data(args: argparse.Namespace) -> int:
    site = _connect_to_site(args)
    phase = phase_detail(site, args.phase)
    path = args.out or Path(
        f"{phase['season']}-{phase['task']}-{phase['slug']}-inputs.zip"
    )
    size = site.download(inputs_address(phase), path)
    return say(args, {"file": str(path), "bytes": size}, f"{path}: {size:,} bytes")


def submit(args: argparse.Namespace) -> int:
    site = _connect_to_site(args, needs_token=True)
    phase = phase_id(site, args.phase)
    named = {
        name: getattr(args, name) for name in ("system", "description", "team", "kind")
    }
    fields = {**named, **dict(args.card)}
    if args.repair:
        fields["repair"] = "true"
    if args.encoding:
        fields["encoding"] = args.encoding
    if args.priority is not None:
        require_priorities(site, phase, args.kind)
        fields["priority"] = str(args.priority)
    if args.seeds_of:
        fields["seeds_of"] = args.seeds_of
    more = {"metadata": args.metadata} if args.metadata else {}
    for path in more.values():
        if not path.is_file():
            raise Refused(f"{path}: there is no such file")
    with sent_as_file(args.run) as run:
        if args.dry_run:
            checked = site.post_file(f"phases/{phase}/check/", fields, run, more)
            say(args, checked, f"{args.run} would be taken")
            _print_warnings(checked["warnings"])
            return 0
        taken = site.post_file(f"phases/{phase}/submissions/", fields, run, more)
    if not args.follow or not args.json:
        # Sites before version 0.4.0 do not return the address of a run's page.
        where = taken.get("page") or taken["url"]
        say(
            args,
            taken,
            f"run {taken['id']} ({args.system}) is {taken['status']}: {where}",
        )
        _print_warnings(taken["warnings"])
    return _wait_for_runs(site, [taken["id"]], args) if args.follow else 0


def follow(args: argparse.Namespace) -> int:
    return _wait_for_runs(_connect_to_site(args, needs_token=True), args.runs, args)


def scores(args: argparse.Namespace) -> int:
    site = _connect_to_site(args, needs_token=True)
    return _print_scores(site, site.get(f"submissions/{args.run}/"), args)


def board(args: argparse.Namespace) -> int:
    site = _connect_to_site(args)
    table = site.get(
        f"phases/{phase_id(site, args.phase)}/leaderboard/", {"rules": args.rules}
    )
    return say(args, table, *board_lines(table))


def _wait_for_runs(
    site: connection.Connection, numbers: list[int], args: argparse.Namespace
) -> int:
    ended: dict[int, dict[str, Any]] = {}
    seen: dict[int, str] = {}
    while len(ended) < len(set(numbers)):
        pause = MAX_PAUSE
        for number in dict.fromkeys(numbers):
            if number in ended:
                continue
            answer = site.answer(f"submissions/{number}/")
            run = answer.body
            if seen.get(number) != run["status"]:
                seen[number] = run["status"]
                colour = {SCORED: GREEN, "failed": RED}.get(run["status"], BOLD)
                place = f", place {run['place']} in the queue" if run["place"] else ""
                message = f"{painted(run['status'], colour, sys.stderr)}{place} {printable(run['reason'])}"
                print(
                    f"run {run['id']} ({printable(run['system'])}): {message}".rstrip(),
                    file=sys.stderr,
                )
            if run["status"] in ENDED:
                ended[number] = run
            pause = min(pause, pause_after(answer))
        if len(ended) < len(set(numbers)):
            time.sleep(pause)
    if args.json:
        print(as_json(list(ended.values()) if len(numbers) > 1 else ended[numbers[0]]))
        return (
            0
            if all(run["status"] in (SCORED, RECEIVED) for run in ended.values())
            else NOT_SCORED
        )
    return max(
        _print_scores(site, ended[number], args) for number in dict.fromkeys(numbers)
    )


def pause_after(answer: connection.Answer) -> float:
    after = answer.headers.get("Retry-After", "")
    seconds = (
        float(after)
        if after.isdecimal()
        else (answer.body["expected_seconds"] or MIN_PAUSE) / 4
    )
    return min(max(seconds, MIN_PAUSE), MAX_PAUSE)


@contextmanager
def sent_as_file(run: Path) -> Iterator[Path]:
    """Yield the path of a file to upload. A folder is first packed into a zip archive.

    Raises Refused if the path does not exist.
    """
    if not run.exists():
        raise Refused(f"{run}: there is no such file")
    with tempfile.TemporaryDirectory() as folder:
        if run.is_dir():
            run = Path(
                shutil.make_archive(
                    str(Path(folder) / (run.resolve().name or "run")), "zip", run
                )
            )
        yield run


def _print_scores(
    site: connection.Connection, run: Mapping[str, Any], args: argparse.Namespace
) -> int:
    if run["scores"] is None:
        is_hidden = run["status"] == SCORED and run["scores_hidden"]
        why = (
            "its phase shows no scores now"
            if is_hidden
            else f"it is {run['status']}. {run['reason']}"
        )
        print(
            printable(f"run {run['id']} has no scores to show: {why}".rstrip()),
            file=sys.stderr,
        )
        _print_warnings(run["problems"])
        return 0 if is_hidden else NOT_SCORED
    lines = []
    if not args.json:
        lines.append(
            painted(printable(f"{run['system']} (run {run['id']})"), BOLD, sys.stdout)
        )
        board = site.get(f"phases/{run['phase']}/leaderboard/")
        own = next(
            (row for row in board["rows"] if row["submission"] == run["id"]), None
        )
        counting = ON_BOARDS.get(board.get("counting", ""), "")
        may_stand = (
            run["kind"] == "primary"
            and not run["exclusion"]
            and board["shows"] != "nothing"
        )
        if own is None and counting and may_stand:
            lines.append(f"not on the board, which has {counting}")
        elif own is not None and own["rank"] is not None:
            ranked = sum(row["rank"] is not None for row in board["rows"])
            lines.append(
                f"rank {rank_of(own)} among {ranked} on the board, {run['page']}"
            )
        lines += score_lines(run["scores"]["metrics"])
    return say(args, as_json(run["scores"]), *lines)


def _connect_to_site(
    args: argparse.Namespace, *, needs_token: bool = False
) -> connection.Connection:
    address, token = connection.chosen_site(args.site)
    if needs_token and not token:
        ways = f"give it in {connection.TOKEN}, or sign in: citeboard login {address}"
        raise Refused(f"no token for {address}; {ways}")
    return connection.Connection(address, token)


def _print_warnings(problems: Iterable[Mapping[str, Any]]) -> None:
    for line in problem_lines([Problem(**problem) for problem in problems], sys.stderr):
        print(line, file=sys.stderr)


def table_lines(
    heads: Sequence[str], rows: Iterable[Sequence[object]]
) -> Iterator[str]:
    cells = [list(heads), *([printable(str(cell)) for cell in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for number, row in enumerate(cells):
        line = "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        yield painted(line, BOLD, sys.stdout) if number == 0 else line


def board_lines(board: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of text that show a board, with rank, team, system, and the
    ranking metric with its interval.

    `--json` prints all columns.
    """
    if board["shows"] == "nothing":
        yield "this board is not shown to you now"
        return
    first = board["columns"][0]["name"] if board["columns"] else ""
    heads = ("rank", "team", "system", "run", *([first, "from", "to"] if first else []))
    rows: list[tuple[object, ...]] = []
    for row in board["rows"]:
        score = row["scores"].get(first, {})
        numbers = (
            [score.get(part) for part in ("value", "low", "high")] if first else []
        )
        written = ["" if number is None else f"{number:.6f}" for number in numbers]
        rows.append(
            (
                rank_of(row),
                row["team"] or row["kind"],
                row["system"],
                row["submission"],
                *written,
            )
        )
    yield from table_lines(heads, rows)
    if counting := ON_BOARDS.get(board.get("counting", "")):
        yield f"The board has {counting}."


def rank_of(row: Mapping[str, Any]) -> str:
    """Return the rank of a row as shown on boards. Sites before version 0.4.0 return a
    rank as a plain number.
    """
    return str(row.get("ranks", "" if row["rank"] is None else row["rank"]))


def phase_id(site: connection.Connection, named: str) -> int:
    """Return the number of a phase, which the user names by number or path. If no phase
    has the path, raise Refused with the paths of existing phases.
    """
    if named.isdecimal():
        return int(named)
    season, _, rest = named.partition("/")
    task_slug, _, phase_slug = rest.partition("/")
    if not (season and task_slug):
        raise Refused(
            f"“{named}” names no phase; expected its number or SEASON/TASK/PHASE"
        )
    tasks = {task["slug"]: task for task in site.get(f"seasons/{season}/")["tasks"]}
    if task_slug not in tasks:
        raise Refused(
            f"season {season} has no task “{task_slug}”; it has {', '.join(tasks)}"
        )
    phases = tasks[task_slug]["phases"]
    fitting = [phase for phase in phases if phase["slug"] == phase_slug]
    if not phase_slug:
        fitting = [phase for phase in phases if phase["is_open"] or len(phases) == 1]
    if len(fitting) != 1:
        has = ", ".join(phase["slug"] for phase in phases)
        raise Refused(
            f"“{named}” names {len(fitting)} phases; {season}/{task_slug} has {has}"
        )
    return int(fitting[0]["id"])


def phase_detail(site: connection.Connection, named: str) -> dict[str, Any]:
    phase = site.get(f"phases/{phase_id(site, named)}/")
    task = site.get(f"tasks/{phase['task']}/")
    return {**phase, "task": task["slug"], "type": task["type"]}


def inputs_address(phase: Mapping[str, Any]) -> str:
    """Return the URL of a phase's inputs, as a package with the organisers' files if
    the phase has any.
    """
    return str(phase.get("starting_kit") or phase["inputs"])


def refuse_unread_terms(site: connection.Connection, season: str) -> None:
    """Raise Refused with the season's terms if the user must first accept the terms."""
    try:
        terms = site.get(f"seasons/{season}/terms/")
    except SiteRefused as none:
        if none.status == ABSENT:
            return
        raise
    if terms["accepted_at"] is None:
        options = [f"--{name.replace('_', '-')}" for name in terms.get("asks", ())]
        asks = (
            f"; they ask for {', '.join(options)}, where your account does not say it"
            if options
            else ""
        )
        accepts = f"whoever accepts them adds --accept-terms {terms['version']}{asks}"
        unread = Refused(f"{season} has terms, which follow; {accepts}")
        unread.details = [printable(line) for line in terms["text"].splitlines()]
        raise unread


def only_team(site: connection.Connection) -> str:
    """Return the user's only team. Raises Refused if the user must choose a team."""
    teams = [team["slug"] for team in site.pages("teams/")]
    if len(teams) != 1:
        has = (
            f"you are in {', '.join(teams)}; say which: --team SLUG"
            if teams
            else "you are in none"
        )
        raise Refused(f"{has}; or found one: --found NAME")
    return str(teams[0])


def require_priorities(site: connection.Connection, phase: int, kind: str) -> None:
    """Raise Refused unless runs of the given kind can have a priority in the phase."""
    if kind != "primary":
        raise Refused(f"--priority is for primary runs; a {kind} run has no priority")
    facts = phase_detail(site, str(phase))
    if facts.get("counting") != "priority":
        raise Refused(
            f"runs have no priority in {facts['season']}/{facts['task']}/{facts['slug']}, whose counting is "
            f"“{facts.get('counting')}”; leave --priority out"
        )
