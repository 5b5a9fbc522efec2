"""Define the errors of the client's commands, each with an exit code."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scoring.offline.terminal import format_problem_lines, replace_control_characters
from tasks.types import Problem

RUN_REFUSED_STATUS = 422


class ClientCommandRefused(Exception):
    """The client cannot execute a command with the given arguments."""

    exit_code = 2
    #: Lines of an error that are printed after the message.
    details: Sequence[str] = ()


class SiteRefused(ClientCommandRefused):
    """The site refused a request."""

    exit_code = 4

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        self.status, self.body = status, body
        if status == RUN_REFUSED_STATUS:
            self.exit_code = ClientCommandRefused.exit_code
        by_field = [
            f"{name}: {' '.join(words)}"
            for name, words in (body.get("errors") or {}).items()
        ]
        problems = format_problem_lines(
            [Problem(**problem) for problem in body.get("problems") or ()], sys.stderr
        )
        more = [f"and {body['more']} more problems"] if body.get("more") else []
        repair = format_repair_lines(body.get("repair") or {})
        self.details = [*by_field, *problems, *more, *repair]
        super().__init__(
            str(body.get("detail") or f"the site answered with status {status}")
        )

    @property
    def retry_after(self) -> float | None:
        seconds = self.body.get("retry_after")
        return float(seconds) if isinstance(seconds, int | float) else None


def format_repair_lines(repair: Mapping[str, Any]) -> Iterator[str]:
    for change in repair.get("changes", ()):
        yield f"repair: {replace_control_characters(change)}"
    if repair.get("filename"):
        yield "with --repair the site takes the repaired file"
    if repair.get("encodings"):
        yield f"name the encoding: --encoding {' or '.join(repair['encodings'])}"
    if repair.get("name"):
        yield f"the file is one for {replace_control_characters(repair['name'])}: {repair['page']}"


class NoConnection(ClientCommandRefused):
    """No response arrived from the site, or the response was not from Citeboard.

    ``is_final`` is True if a repeated request cannot succeed.
    """

    exit_code = 5

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        self.is_final = is_final
        super().__init__(message)
