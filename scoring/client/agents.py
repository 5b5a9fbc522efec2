"""Implement `citeboard mcp`, which offers tools to AI agents over the Model Context
Protocol.

The tools read a site's boards and submit runs with the user's token.
"""

import argparse
import hashlib
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from scoring.client.actions import pack_folder_for_upload
from scoring.client.connection import choose_site_and_token
from scoring.client.library import Phase, Site
from scoring.client.refusals import ClientCommandRefused, SiteRefused
from scoring.offline.terminal import replace_control_characters

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

MCP_SERVER_INSTRUCTIONS = (
    "Boards of shared tasks in citation research. A phase is named SEASON/TASK/PHASE, as search_boards gives "
    "it. submit_run shows the user what it would send, and sends it if the user confirms; no argument "
    "replaces that answer."
)
MAX_LISTED_ROWS = 50
CANNOT_ASK_USER_MESSAGE = (
    "this program cannot ask the user (it has no elicitation), so that nothing is sent; the user can send "
    "the run with `citeboard submit` or on the phase's page"
)
#: The maximum length of an agent's text in the question to the user.
MAX_QUOTED_CHARACTERS = 400


def mcp(args: argparse.Namespace) -> int:
    build_mcp_server(Site(*choose_site_and_token(args.site))).run("stdio")
    return 0


def build_mcp_server(site: Site) -> "MCPServer[Any]":
    """Return a server that requests the user's confirmation before it submits a run."""
    from mcp.server.mcpserver import (
        AcceptedElicitation,
        Context,
        Elicit,
        ElicitationResult,
        MCPServer,
        Resolve,
    )
    from mcp.server.mcpserver.exceptions import ToolError
    from pydantic import BaseModel, Field

    made: MCPServer[Any] = MCPServer("citeboard", instructions=MCP_SERVER_INSTRUCTIONS)
    tools = McpTools(site)
    for tool in (
        tools.search_boards,
        tools.read_board,
        tools.explain_number,
        tools.check_run,
    ):
        made.tool()(tool)

    class Confirmation(BaseModel):
        send: bool = Field(default=False, description="Send this run now")

    def prepare_run(
        phase: str,
        path: str,
        system: str,
        ctx: Context,
        description: str = "",
        team: str = "",
    ) -> PreparedRun:
        capabilities = ctx.client_capabilities
        if capabilities is None or capabilities.elicitation is None:
            raise ToolError(CANNOT_ASK_USER_MESSAGE)
        try:
            return tools.prepare_run(phase, path, system, description, team)
        except (ClientCommandRefused, SiteRefused) as refused:
            raise ToolError(str(refused)) from refused

    def ask_for_confirmation(
        run: Annotated[PreparedRun, Resolve(prepare_run)],
    ) -> Confirmation | Elicit[Confirmation]:
        if not run.check["would_be_taken"]:
            return Confirmation()
        return Elicit(run.question(), Confirmation)

    def submit_run(
        phase: str,
        path: str,
        system: str,
        run: Annotated[PreparedRun, Resolve(prepare_run)],
        answer: Annotated[
            ElicitationResult[Confirmation], Resolve(ask_for_confirmation)
        ],
        description: str = "",
        team: str = "",
    ) -> dict[str, Any]:
        """Show the user the run and the result of its check, and submit the run if the
        user confirms.
        """
        if isinstance(answer, AcceptedElicitation) and answer.data.send:
            return {"sent": True, **run.send()}
        return {"sent": False, **run.check}

    made.tool()(submit_run)
    return made


@dataclass(frozen=True)
class PreparedRun:
    """A run file whose content is read once, so that the user confirms exactly what is
    sent.
    """

    phase: Phase
    name: str
    content: bytes
    #: The system, description and team of the submission.
    fields: dict[str, str]
    #: The site's response after it has checked the run.
    check: dict[str, Any]

    def question(self) -> str:
        """Return the text that asks the user to confirm a submission.

        Each text that the agent supplied is shown on one line, so that the text cannot
        imitate other lines of the question.
        """
        lines = {
            "phase": self.phase.page,
            **{name: text for name, text in self.fields.items() if text},
            "file": f"{self.name}, {len(self.content):,} bytes",
            "SHA-256": hashlib.sha256(self.content).hexdigest(),
        }
        shown = [f"{name}: {_quote_on_one_line(text)}" for name, text in lines.items()]
        return "\n".join(["An agent wants to send this run by your account.", *shown])

    def send(self) -> dict[str, Any]:
        with _write_temporary_file(self.name, self.content) as path:
            return dict(self.phase.submit(path, **self.fields).facts)


@contextmanager
def _write_temporary_file(name: str, content: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        yield path


def _quote_on_one_line(text: str) -> str:
    """Return a text on one line, without control characters that affect the display."""
    rest = (
        f" and {len(text) - MAX_QUOTED_CHARACTERS:,} characters more"
        if len(text) > MAX_QUOTED_CHARACTERS
        else ""
    )
    return (
        json.dumps(
            replace_control_characters(text[:MAX_QUOTED_CHARACTERS]), ensure_ascii=False
        )
        + rest
    )


class McpTools:
    def __init__(self, site: Site) -> None:
        self._site = site

    def search_boards(self, words: str = "") -> dict[str, Any]:
        """Return the boards whose season, task or phase contains all of the words.
        Without words, return the newest boards.
        """
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
            if len(boards) > MAX_LISTED_ROWS:
                break
        return {
            "boards": boards[:MAX_LISTED_ROWS],
            "more": len(boards) > MAX_LISTED_ROWS,
        }

    def read_board(
        self, phase: str, rules: str | None = None, rows: int = MAX_LISTED_ROWS
    ) -> dict[str, Any]:
        """Return the rows of a board, best first, with values and intervals."""
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
        """Explain a score on a board, with its column, its interval and, for a run of
        the user, its signature.
        """
        board = self._site.phase(phase).board()
        rows = [row for row in board.rows if row["submission"] == submission]
        columns = [known for known in board.columns if known["name"] == column]
        if not rows or not columns:
            names = ", ".join(column["name"] for column in board.columns) or "none"
            runs = ", ".join(str(row["submission"]) for row in board.rows) or "none"
            raise ClientCommandRefused(
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
        """Check a run and return all of its problems, without storing the run."""
        return _check_run_on_site(self._site.phase(phase), path)

    def prepare_run(
        self, phase: str, path: str, system: str, description: str, team: str
    ) -> PreparedRun:
        """Read a run file once, and let the site check the file's content."""
        chosen = self._site.phase(phase)
        with pack_folder_for_upload(Path(path)) as file:
            name, content = file.name, file.read_bytes()
        fields = {"system": system, "description": description, "team": team}
        with _write_temporary_file(name, content) as copy:
            checked = _check_run_on_site(chosen, str(copy))
        check = {
            "would_send": {**fields, "phase": phase, "path": path},
            **checked,
            "quotas": chosen.facts.get("quotas", []),
        }
        return PreparedRun(chosen, name, content, fields, check)


def _check_run_on_site(phase: Phase, path: str) -> dict[str, Any]:
    try:
        return {"would_be_taken": True, **phase.check(path)}
    except SiteRefused as refused:
        return {
            "would_be_taken": False,
            "detail": str(refused),
            "problems": list(refused.details),
        }
