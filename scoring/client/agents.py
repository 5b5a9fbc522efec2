"""`citeboard mcp`: a site's boards and the sending of runs as tools for agents, by the user's own token."""

import argparse
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scoring.client.actions import sent_as_file
from scoring.client.connection import chosen_site
from scoring.client.library import Phase, Site
from scoring.client.refusals import Refused, SiteRefused

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

INSTRUCTIONS = (
    "Boards of shared tasks in citation research. A phase is named SEASON/TASK/PHASE, as search_boards gives "
    "it. A run is sent in two steps: submit_run tells what it would send with a code; once the user agrees, "
    "call it again with the code."
)
MOST = 50


def mcp(args: argparse.Namespace) -> int:
    server(Site(*chosen_site(args.site))).run("stdio")
    return 0


def server(site: Site) -> "MCPServer[Any]":
    from mcp.server.mcpserver import MCPServer

    made: MCPServer[Any] = MCPServer("citeboard", instructions=INSTRUCTIONS)
    tools = Tools(site)
    reading = (tools.search_boards, tools.read_board, tools.explain_number)
    for tool in (*reading, tools.check_run, tools.submit_run):
        made.tool()(tool)
    return made


class Tools:
    def __init__(self, site: Site) -> None:
        self._site = site

    def search_boards(self, words: str = "") -> dict[str, Any]:
        """Boards whose season, task or phase has all of these words; without words the newest."""
        wanted = words.casefold().split()
        boards = []
        for season in self._site.seasons():
            for phase in season.phases():
                name = f"{season.slug}/{phase.task}/{phase.slug}"
                text = f"{name} {season.title} {phase.title} {phase.type}".casefold()
                if all(word in text for word in wanted):
                    facts = {
                        key: phase.facts[key]
                        for key in ("title", "type", "opens", "closes", "is_open")
                    }
                    boards.append(
                        {
                            "phase": name,
                            "season": season.title,
                            "page": phase.page,
                            **facts,
                        }
                    )
            if len(boards) > MOST:
                break
        return {"boards": boards[:MOST], "more": len(boards) > MOST}

    def read_board(
        self, phase: str, rules: str | None = None, rows: int = MOST
    ) -> dict[str, Any]:
        """The rows of a board, best first, with values and intervals."""
        board = self._site.phase(phase).board(rules)
        facts = ("phase", "rules", "shows", "frozen_at", "compared", "columns")
        table = board.table()
        return {
            **{name: board.facts[name] for name in facts},
            "rows": table[:rows],
            "of": len(table),
        }

    def explain_number(
        self, phase: str, submission: int, column: str
    ) -> dict[str, Any]:
        """What a number on a board is: its column, its interval, its signature where the run is one's own."""
        board = self._site.phase(phase).board()
        rows = [row for row in board.rows if row["submission"] == submission]
        columns = [known for known in board.columns if known["name"] == column]
        if not rows or not columns:
            names = ", ".join(known["name"] for known in board.columns) or "none"
            runs = ", ".join(str(row["submission"]) for row in board.rows) or "none"
            raise Refused(
                f"the board has the columns {names} and the submissions {runs}"
            )
        explained = {
            "score": rows[0]["scores"].get(column),
            "ranks": rows[0]["ranks"],
            "column": columns[0],
            "intervals": "`low` and `high` hold the population's value in 95 % of test sets such as this one",
        }
        try:
            scores = self._site.run(submission).scores or {}
        except SiteRefused:
            return explained | {
                "signature": None,
                "note": "only its team is told its signature",
            }
        known = scores.get("metrics", {}).get(columns[0]["metric"], {})
        return explained | {"signature": known.get("signature"), "n": known.get("n")}

    def check_run(self, phase: str, path: str) -> dict[str, Any]:
        """Whether the site would take a run, and everything that is wrong with it; nothing is stored."""
        return _checked(self._site.phase(phase), path)

    def submit_run(
        self,
        phase: str,
        path: str,
        system: str,
        description: str = "",
        team: str = "",
        code: str = "",
    ) -> dict[str, Any]:
        """Send a run: first without a code; once the user has agreed, with the code that was given."""
        chosen = self._site.phase(phase)
        sent = {"system": system, "description": description, "team": team}
        with sent_as_file(Path(path)) as file:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
        wanted = hashlib.sha256(
            "\0".join([str(chosen.id), *sent.values(), digest]).encode()
        ).hexdigest()[:12]
        if code != wanted:
            return {
                "sent": False,
                "would_send": {**sent, "phase": phase, "path": path},
                **_checked(chosen, path),
                "quotas": chosen.facts.get("quotas", []),
                "code": wanted,
            }
        return {"sent": True, **chosen.submit(path, **sent).facts}


def _checked(phase: Phase, path: str) -> dict[str, Any]:
    try:
        return {"would_be_taken": True, **phase.check(path)}
    except SiteRefused as refused:
        return {
            "would_be_taken": False,
            "detail": str(refused),
            "problems": list(refused.details),
        }
