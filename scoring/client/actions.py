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
from scoring.client.refusals import ClientCommandRefused, SiteRefused
from scoring.offline.arguments import print_output
from scoring.offline.scoring import format_json
from scoring.offline.terminal import (
    BOLD_CODE,
    GREEN_CODE,
    RED_CODE,
    colour_text,
    format_problem_lines,
    format_score_lines,
    replace_control_characters,
)
from tasks.types import Problem

#: A phase that hides its results reports “received” for every run that has not failed.
SCORED_STATUS, RECEIVED_STATUS = "scored", "received"
FINAL_RUN_STATUSES = (
    SCORED_STATUS,
    RECEIVED_STATUS,
    "failed",
    "cancelled",
    "withdrawn",
)
NO_SCORES_EXIT_CODE = 1
#: Texts that describe which runs of a team a board shows, by counting rule.
#: The API of sites before version 0.4.0 does not report the rule that selects the runs.
COUNTED_RUNS_TEXT_BY_RULE = {
    "best": "the best run of each team",
    "last": "the last run of each team",
    "selected": "the run that each team selects",
    "priority": "the first runs by each team's priority",
}
#: The HTTP status of a missing resource.
NOT_FOUND_STATUS = 404
#: Seconds between two requests for the state of a run, if the site specifies no number.
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 1.0, 15.0


def login(args: argparse.Namespace) -> int:
    address = args.url.rstrip("/")
    token = (
        getpass.getpass("Token: ") if sys.stdin.isatty() else sys.stdin.readline()
    ).strip()
    if not token:
        raise ClientCommandRefused(
            f"no token was given; make one at {address}/account/tokens/"
        )
    connection.SiteConnection(address, token).get("submissions/", {"page_size": 1})
    path = connection.find_tokens_path()
    connection.write_stored_tokens(
        path, address, {**connection.read_stored_tokens(path)[1], address: token}
    )
    return print_output(
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
    return print_output(args, answer, *format_table_lines(heads, rows))


def enter(args: argparse.Namespace) -> int:
    site = _connect_to_site(args, needs_token=True)
    season = f"seasons/{args.season}/"
    if args.accept_terms:
        names = ("affiliation", "country", "legal_name")
        given = {name: text for name in names if (text := getattr(args, name))}
        site.post(f"{season}terms/", {"version": args.accept_terms, **given})
    require_accepted_terms(site, args.season)
    founded = (
        site.post("teams/", {"name": args.found}) if args.found else {"slug": args.team}
    )
    team = founded["slug"] or find_only_team(site)
    entry = site.post(
        f"{season}registrations/", {"team": team, "message": args.message}
    )
    waits = "" if entry["state"] == "approved" else f", and is {entry['state']}"
    return print_output(
        args,
        entry,
        f"{entry['name']} ({entry['team']}) has entered {args.season}{waits}",
    )


def data(args: argparse.Namespace) -> int:
    site = _connect_to_site(args)
    phase = fetch_phase_detail(site, args.phase)
    path = args.out or Path(
        f"{phase['season']}-{phase['task']}-{phase['slug']}-inputs.zip"
    )
    size = site.download(find_inputs_address(phase), path)
    return print_output(
        args, {"file": str(path), "bytes": size}, f"{path}: {size:,} bytes"
    )


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
        require_phase_with_priorities(site, phase, args.kind)
        fields["priority"] = str(args.priority)
    if args.seeds_of:
        fields["seeds_of"] = args.seeds_of
    more = {"metadata": args.metadata} if args.metadata else {}
    for path in more.values():
        if not path.is_file():
            raise ClientCommandRefused(f"{path}: there is no such file")
    with pack_folder_for_upload(args.run) as run:
        if args.dry_run:
            checked = site.post_file(f"phases/{phase}/check/", fields, run, more)
            print_output(args, checked, f"{args.run} would be taken")
            _print_warnings(checked["warnings"])
            return 0
        taken = site.post_file(f"phases/{phase}/submissions/", fields, run, more)
    if not args.follow or not args.json:
        # Sites before version 0.4.0 do not return the address of a run's page.
        where = taken.get("page") or taken["url"]
        print_output(
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
    return print_output(args, table, *format_board_lines(table))


def _wait_for_runs(
    site: connection.SiteConnection, numbers: list[int], args: argparse.Namespace
) -> int:
    ended: dict[int, dict[str, Any]] = {}
    seen: dict[int, str] = {}
    while len(ended) < len(set(numbers)):
        pause = MAX_POLL_SECONDS
        for number in dict.fromkeys(numbers):
            if number in ended:
                continue
            answer = site.answer(f"submissions/{number}/")
            run = answer.body
            if seen.get(number) != run["status"]:
                seen[number] = run["status"]
                colour = {SCORED_STATUS: GREEN_CODE, "failed": RED_CODE}.get(
                    run["status"], BOLD_CODE
                )
                place = f", place {run['place']} in the queue" if run["place"] else ""
                message = (
                    f"{colour_text(run['status'], colour, sys.stderr)}{place} "
                    f"{replace_control_characters(run['reason'])}"
                )
                print(
                    f"run {run['id']} ({replace_control_characters(run['system'])}): {message}".rstrip(),
                    file=sys.stderr,
                )
            if run["status"] in FINAL_RUN_STATUSES:
                ended[number] = run
            pause = min(pause, choose_poll_pause(answer))
        if len(ended) < len(set(numbers)):
            time.sleep(pause)
    if args.json:
        print(
            format_json(list(ended.values()) if len(numbers) > 1 else ended[numbers[0]])
        )
        return (
            0
            if all(
                run["status"] in (SCORED_STATUS, RECEIVED_STATUS)
                for run in ended.values()
            )
            else NO_SCORES_EXIT_CODE
        )
    return max(
        _print_scores(site, ended[number], args) for number in dict.fromkeys(numbers)
    )


def choose_poll_pause(answer: connection.ApiResponse) -> float:
    after = answer.headers.get("Retry-After", "")
    seconds = (
        float(after)
        if after.isdecimal()
        else (answer.body["expected_seconds"] or MIN_POLL_SECONDS) / 4
    )
    return min(max(seconds, MIN_POLL_SECONDS), MAX_POLL_SECONDS)


@contextmanager
def pack_folder_for_upload(run: Path) -> Iterator[Path]:
    """Yield the path of a file to upload. A folder is first packed into a zip archive.

    Raises Refused if the path does not exist.
    """
    if not run.exists():
        raise ClientCommandRefused(f"{run}: there is no such file")
    with tempfile.TemporaryDirectory() as folder:
        if run.is_dir():
            run = Path(
                shutil.make_archive(
                    str(Path(folder) / (run.resolve().name or "run")), "zip", run
                )
            )
        yield run


def _print_scores(
    site: connection.SiteConnection, run: Mapping[str, Any], args: argparse.Namespace
) -> int:
    if run["scores"] is None:
        is_hidden = run["status"] == SCORED_STATUS and run["scores_hidden"]
        why = (
            "its phase shows no scores now"
            if is_hidden
            else f"it is {run['status']}. {run['reason']}"
        )
        print(
            replace_control_characters(
                f"run {run['id']} has no scores to show: {why}".rstrip()
            ),
            file=sys.stderr,
        )
        _print_warnings(run["problems"])
        return 0 if is_hidden else NO_SCORES_EXIT_CODE
    lines = []
    if not args.json:
        lines.append(
            colour_text(
                replace_control_characters(f"{run['system']} (run {run['id']})"),
                BOLD_CODE,
                sys.stdout,
            )
        )
        board = site.get(f"phases/{run['phase']}/leaderboard/")
        own = next(
            (row for row in board["rows"] if row["submission"] == run["id"]), None
        )
        counting = COUNTED_RUNS_TEXT_BY_RULE.get(board.get("counting", ""), "")
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
                f"rank {format_rank_of_row(own)} among {ranked} on the board, {run['page']}"
            )
        lines += format_score_lines(run["scores"]["metrics"])
    return print_output(args, format_json(run["scores"]), *lines)


def _connect_to_site(
    args: argparse.Namespace, *, needs_token: bool = False
) -> connection.SiteConnection:
    address, token = connection.choose_site_and_token(args.site)
    if needs_token and not token:
        ways = f"give it in {connection.TOKEN_VARIABLE}, or sign in: citeboard login {address}"
        raise ClientCommandRefused(f"no token for {address}; {ways}")
    return connection.SiteConnection(address, token)


def _print_warnings(problems: Iterable[Mapping[str, Any]]) -> None:
    for line in format_problem_lines(
        [Problem(**problem) for problem in problems], sys.stderr
    ):
        print(line, file=sys.stderr)


def format_table_lines(
    heads: Sequence[str], rows: Iterable[Sequence[object]]
) -> Iterator[str]:
    cells = [
        list(heads),
        *([replace_control_characters(str(cell)) for cell in row] for row in rows),
    ]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for number, row in enumerate(cells):
        line = "  ".join(
            cell.ljust(width) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        yield colour_text(line, BOLD_CODE, sys.stdout) if number == 0 else line


def format_board_lines(board: Mapping[str, Any]) -> Iterator[str]:
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
                format_rank_of_row(row),
                row["team"] or row["kind"],
                row["system"],
                row["submission"],
                *written,
            )
        )
    yield from format_table_lines(heads, rows)
    if counting := COUNTED_RUNS_TEXT_BY_RULE.get(board.get("counting", "")):
        yield f"The board has {counting}."


def format_rank_of_row(row: Mapping[str, Any]) -> str:
    """Return the rank of a row as shown on boards. Sites before version 0.4.0 return a
    rank as a plain number.
    """
    return str(row.get("ranks", "" if row["rank"] is None else row["rank"]))


def phase_id(site: connection.SiteConnection, named: str) -> int:
    """Return the number of a phase, which the user names by number or path. If no phase
    has the path, raise Refused with the paths of existing phases.
    """
    if named.isdecimal():
        return int(named)
    season, _, rest = named.partition("/")
    task_slug, _, phase_slug = rest.partition("/")
    if not (season and task_slug):
        raise ClientCommandRefused(
            f"“{named}” names no phase; expected its number or SEASON/TASK/PHASE"
        )
    tasks = {task["slug"]: task for task in site.get(f"seasons/{season}/")["tasks"]}
    if task_slug not in tasks:
        raise ClientCommandRefused(
            f"season {season} has no task “{task_slug}”; it has {', '.join(tasks)}"
        )
    phases = tasks[task_slug]["phases"]
    fitting = [phase for phase in phases if phase["slug"] == phase_slug]
    if not phase_slug:
        fitting = [phase for phase in phases if phase["is_open"] or len(phases) == 1]
    if len(fitting) != 1:
        has = ", ".join(phase["slug"] for phase in phases)
        raise ClientCommandRefused(
            f"“{named}” names {len(fitting)} phases; {season}/{task_slug} has {has}"
        )
    return int(fitting[0]["id"])


def fetch_phase_detail(site: connection.SiteConnection, named: str) -> dict[str, Any]:
    phase = site.get(f"phases/{phase_id(site, named)}/")
    task = site.get(f"tasks/{phase['task']}/")
    return {**phase, "task": task["slug"], "type": task["type"]}


def find_inputs_address(phase: Mapping[str, Any]) -> str:
    """Return the URL of a phase's inputs, as a package with the organisers' files if
    the phase has any.
    """
    return str(phase.get("starting_kit") or phase["inputs"])


def require_accepted_terms(site: connection.SiteConnection, season: str) -> None:
    """Raise Refused with the season's terms if the user must first accept the terms."""
    try:
        terms = site.get(f"seasons/{season}/terms/")
    except SiteRefused as none:
        if none.status == NOT_FOUND_STATUS:
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
        unread = ClientCommandRefused(f"{season} has terms, which follow; {accepts}")
        unread.details = [
            replace_control_characters(line) for line in terms["text"].splitlines()
        ]
        raise unread


def find_only_team(site: connection.SiteConnection) -> str:
    """Return the user's only team. Raises Refused if the user must choose a team."""
    teams = [team["slug"] for team in site.pages("teams/")]
    if len(teams) != 1:
        has = (
            f"you are in {', '.join(teams)}; say which: --team SLUG"
            if teams
            else "you are in none"
        )
        raise ClientCommandRefused(f"{has}; or found one: --found NAME")
    return str(teams[0])


def require_phase_with_priorities(
    site: connection.SiteConnection, phase: int, kind: str
) -> None:
    """Raise Refused unless runs of the given kind can have a priority in the phase."""
    if kind != "primary":
        raise ClientCommandRefused(
            f"--priority is for primary runs; a {kind} run has no priority"
        )
    facts = fetch_phase_detail(site, str(phase))
    if facts.get("counting") != "priority":
        raise ClientCommandRefused(
            f"runs have no priority in {facts['season']}/{facts['task']}/{facts['slug']}, whose counting is "
            f"“{facts.get('counting')}”; leave --priority out"
        )
