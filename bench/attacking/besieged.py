"""The site under attack, and the seasons, people and runs that attacks make on it."""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from clients import Answer, Client

API = "/api/v1"
WAIT_SECONDS = 120


class Row(NamedTuple):
    """What an attack was, what it got, and whether the defence held."""

    attack: str
    result: str
    held: bool


class Besieged:
    """Ask the site over HTTP; make what an attack needs in its database."""

    def __init__(self, port: int) -> None:
        self.port, self.client = port, Client(port)
        self._tokens: dict[int, str] = {}

    def headers_of(self, user: Any) -> dict[str, str]:
        """Return the headers of an API client; those of a visitor are empty."""
        if user is None:
            return {}
        if user.pk not in self._tokens:
            from citeboard.teams.models import Token

            self._tokens[user.pk] = Token.objects.create_token(
                user=user, name="attack"
            )[1]
        return {"Authorization": f"Token {self._tokens[user.pk]}"}

    def get(self, path: str, user: Any = None, **headers: str) -> Answer:
        return self.client.ask("GET", path, headers=self.headers_of(user) | headers)

    def post(
        self,
        path: str,
        user: Any,
        fields: Mapping[str, str],
        files: Mapping[str, tuple[str, bytes]] | None = None,
        **more: str,
    ) -> Answer:
        body, kind = multipart(fields, files or {})
        headers = self.headers_of(user) | {"Content-Type": kind} | more
        return self.client.ask("POST", path, body, headers)

    def get_signed_in(self, path: str, user: Any, language: str = "en") -> Answer:
        """Open a page as a browser of the user does."""
        from clients import signed_in

        session, _ = signed_in(user)
        headers = {"Cookie": f"sessionid={session}", "Accept-Language": language}
        return self.client.ask("GET", path, headers=headers)

    def submit(self, phase: Any, user: Any, run: bytes, system: str = "") -> Answer:
        return self.post(
            f"{API}/phases/{phase.pk}/submissions/",
            user,
            {"system": system or f"System {time.monotonic_ns()}"},
            {"run": ("run.jsonl", run)},
        )

    def wait_for_score(self, phase: Any, count: int = 1) -> None:
        """Wait until workers have scored so many runs of the phase."""
        from tasks.models import Submission

        until = time.monotonic() + WAIT_SECONDS
        scored = Submission.objects.filter(phase=phase, status="scored")
        while scored.count() < count:
            if time.monotonic() > until:
                raise SystemExit(f"{count} runs were not scored in {WAIT_SECONDS} s")
            time.sleep(0.3)


def multipart(
    fields: Mapping[str, str], files: Mapping[str, tuple[str, bytes]]
) -> tuple[bytes, str]:
    """Return the body of a form with files, and its content type."""
    boundary = secrets.token_hex(16)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    for name, (filename, content) in files.items():
        head = f'Content-Disposition: form-data; name="{name}"; filename="{filename}"'
        parts.append(f"--{boundary}\r\n{head}\r\n\r\n".encode() + content + b"\r\n")
    parts.append(f"--{boundary}--\r\n".encode())
    return b"".join(parts), f"multipart/form-data; boundary={boundary}"


def make_season(slug: str, **fields: Any) -> Any:
    """Make a season with an organiser of its own, who is `season.organisers.get().user`."""
    from tests import factories

    unique = f"{slug}-{time.monotonic_ns()}"
    organiser = factories.make_user(email=f"{unique}@example.org")
    return factories.make_season(slug=unique, organiser=organiser, **fields)


def make_team(season: Any) -> Any:
    """Make a registered team; its lead is `team.memberships.get().user`."""
    from tests import factories

    unique = f"team-{time.monotonic_ns()}"
    lead = factories.make_user(email=f"{unique}@example.org")
    return factories.make_team(season=season, lead=lead, slug=unique, name=unique)


def make_phase(season: Any, small: Any, files: Mapping[str, str], **fields: Any) -> Any:
    """Make a task of the form with a phase, and publish its gold."""
    from tests import factories
    from tests.declared.small_tasks import declare

    task = declare(small, season, slug=f"task-{time.monotonic_ns()}")
    phase = factories.make_phase(task=task, with_gold=False, **named(fields))
    publish(phase, files)
    return phase


def named(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"slug": f"phase-{time.monotonic_ns()}", **fields}


def publish(phase: Any, files: Mapping[str, str]) -> None:
    from tests.declared.small_tasks import publish_gold

    with tempfile.TemporaryDirectory() as folder:
        publish_gold(phase, files, Path(folder) / "gold")


def organiser_of(season: Any) -> Any:
    return season.organisers.get().user


def lead_of(team: Any) -> Any:
    return team.memberships.get(role="lead").user
