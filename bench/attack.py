"""Attacks on a running site, which it starts itself, and a table of what held: `make attack`.

Usage: python bench/attack.py [--accounts K] [--uploads N] [--topology sqlite|postgresql] [--only NAME ...]

K hostile accounts, each a team of its own, keep sending and checking files that take long to read, while one
honest team uploads; then files, headers, passwords, names and requests for gold that are meant to break or to
tell something, and the attack by made-up answers. `attacking` has the attacks of rival organisers, of readers
who guess at home, on budgets, by hostile texts and at the same moment. On PostgreSQL the site has four web
processes. docs/security.md has the table of each release.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[1]
BENCH = ROOT / "bench"
sys.path[:0] = map(str, (ROOT / "platform", ROOT, BENCH / "load", BENCH / "faults"))

from attacking import budgets, guesses, inputs, races, rivals  # noqa: E402
from attacking.besieged import Besieged, Row  # noqa: E402
from clients import Answer, Client, form_of  # noqa: E402
from house import GROWN, TOPOLOGIES, own_database  # noqa: E402

START_SECONDS = 300
#: An honest upload may take so many times what it takes on a quiet site.
MAX_RATIO = 3.0
GOOD, REFUSED = {200, 201, 202}, range(400, 500)
#: Uploads before the first that is measured.
WARMING = 4
#: Teams that each besieged site has seen nothing of.
HONEST = 3
#: Of the test set that is guessed at.
INSTANCES = 256


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--accounts", type=int, default=20)
    parser.add_argument("--uploads", type=int, default=15)
    parser.add_argument(
        "--folder", type=Path, help="where the site is kept for the next time"
    )
    parser.add_argument("--topology", choices=TOPOLOGIES, default="sqlite")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS))
    asked = parser.parse_args()
    if asked.topology == GROWN:
        os.environ |= {"DATABASE_URL": own_database(), "CITEBOARD_WEB_WORKERS": "4"}
    kept = (
        nullcontext(asked.folder)
        if asked.folder
        else tempfile.TemporaryDirectory(prefix="citeboard-attack-")
    )
    with kept as folder, site(Path(folder)) as port:
        attack = Attack(port, asked.accounts, asked.uploads)
        rows = []
        print("| attack | what came of it | held |\n| --- | --- | --- |")
        for name in asked.only:
            for attack_name, result, held in GROUPS[name](attack):
                rows.append(Row(attack_name, result, held))
                words = "yes" if held else "no"
                print(f"| {attack_name} | {result} | {words} |", flush=True)
    return int(not all(row.held for row in rows))


def doors(attack: Attack) -> Iterator[tuple[str, str, bool]]:
    alike: Any = {"niceness": 19, "connections": 4, "patience": 180}
    yield from attack.door("that are slow to read", SLOW, honest=0)
    yield from attack.door("that are slow to read", SLOW, honest=1, niceness=19)
    files = attack.alike()
    yield from attack.door("like the team's own", files, honest=2, **alike)
    alike["sends_as_much"] = True
    yield from attack.door("like the team's own", files, honest=2, **alike)


def requests(attack: Attack) -> Iterator[tuple[str, str, bool]]:
    yield from attack.files()
    yield from attack.requests()
    yield from attack.secrets()
    yield from attack.passwords()
    yield from attack.names()
    yield attack.confinement()


#: By the word that `--only` takes.
GROUPS: dict[str, Callable[[Attack], Iterable[tuple[str, str, bool]]]] = {
    "door": doors,
    "requests": requests,
    "rivals": lambda attack: rivals.attacks(attack.besieged),
    "guesses": lambda attack: guesses.attacks(attack.besieged),
    "budgets": lambda attack: budgets.attacks(attack.besieged),
    "inputs": lambda attack: inputs.attacks(attack.besieged),
    "races": lambda attack: races.attacks(attack.besieged),
    "answers": lambda attack: [made_up_answers()],
}


@contextmanager
def site(folder: Path) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    os.environ |= {
        "CITEBOARD_DATA_DIR": str(folder / "data"), "CITEBOARD_WORK_DIR": str(folder / "work"),
        "CITEBOARD_INSECURE_HTTP": "yes", "PORT": str(port), "DJANGO_SETTINGS_MODULE": "citeboard.settings",
        # What is attacked are places and files; the limit of requests has an attack of its own.
        "CITEBOARD_API_UPLOADS_PER_MINUTE": "10000", "CITEBOARD_CONFINEMENT": "required",
        "CITEBOARD_API_ANONYMOUS_REQUESTS_PER_MINUTE": "60",
    }  # fmt: skip
    (folder / "work").mkdir(exist_ok=True)
    if not (folder / "data" / "static" / "staticfiles.json").exists():
        manage("migrate", "--verbosity", "0")
        manage("collectstatic", "--noinput", "--verbosity", "0")
    manage("demo", "--json")
    serving = subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "serve"], cwd=ROOT, stdout=subprocess.DEVNULL,
        stderr=(folder / "log").open("wb"),
    )  # fmt: skip
    try:
        until = time.monotonic() + START_SECONDS
        while Client(port).ask("GET", "/health/ready").status != 200:
            if time.monotonic() > until or serving.poll() is not None:
                raise SystemExit((folder / "log").read_text()[-2000:])
            time.sleep(0.5)
        yield port
    finally:
        serving.terminate()
        serving.wait()


def manage(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and words[0] != "doctor":
        raise SystemExit(done.stderr[-2000:])
    return done.stdout


class Attack:
    def __init__(self, port: int, accounts: int, uploads: int) -> None:
        import django

        django.setup()
        from citeboard.core import storage
        from citeboard.teams.models import Membership, Team, Token, User
        from tasks.models import Phase, Registration, Submission
        from tasks.registration.entries import draw_free_team_alias

        self.client, self.uploads, self.sent = Client(port), uploads, Counter[int]()
        self.besieged = Besieged(port)
        phase = Phase.objects.get(
            task__season__slug="demo", task__slug="1a", slug="evaluation"
        )
        Phase.objects.filter(pk=phase.pk).update(runs_per_day=None, runs_in_total=None)
        self.phase, self.tokens = phase.pk, []
        # One that this phase takes: what is refused says nothing of how long it takes. A new site has none.
        scored = (
            Submission.objects.filter(phase=phase, status="scored")
            .exclude(file="")
            .order_by("pk")
        )
        until = time.monotonic() + START_SECONDS
        while (own := scored.first()) is None:
            if time.monotonic() > until:
                raise SystemExit(
                    f"no run of the demo was scored within {START_SECONDS} s"
                )
            time.sleep(1)
        with storage.run_file_storage.open(own.file) as file:
            self.run = file.read()
        for number in range(accounts + HONEST):
            address, name = f"attack{number}@example.org", f"attack-{number}"
            user = User.objects.filter(
                email=address
            ).first() or User.objects.create_user(address, "attacked 25")
            if not Team.objects.filter(slug=name).exists():
                season, team = (
                    phase.task.season,
                    Team.objects.create(name=name, slug=name),
                )
                Membership.objects.create(
                    team=team, user=user, role=Membership.Role.LEAD
                )
                Registration.objects.create(
                    season=season, team=team, alias=draw_free_team_alias(season)
                )
            self.tokens.append(Token.objects.create_token(user=user, name="attack")[1])

    def send(
        self,
        content: bytes,
        name: str = "run.jsonl",
        *,
        who: int = 0,
        to: str = "submissions",
    ) -> Answer:
        answer = self.client.ask(*self.request(content, name, who=who, to=to))
        self.sent[who] += answer.status in GOOD
        return answer

    def request(
        self,
        content: bytes,
        name: str = "run.jsonl",
        *,
        who: int = 0,
        to: str = "submissions",
    ) -> tuple[str, str, bytes, dict[str, str]]:
        fields = (
            {"system": f"System {time.monotonic_ns()}"} if to == "submissions" else {}
        )
        body, kind = form_of(fields, content, name)
        headers = {"Authorization": f"Token {self.tokens[who]}", "Content-Type": kind}
        return "POST", f"/api/v1/phases/{self.phase}/{to}/", body, headers

    def alike(self) -> list[bytes]:
        return [self.run + b" " * number for number in range(len(SLOW))]

    def door(
        self,
        what: str,
        files: Sequence[bytes],
        *,
        honest: int,
        niceness: int = 0,
        connections: int = 1,
        patience: float = 0.0,
        sends_as_much: bool = False,
    ) -> Iterator[tuple[str, str, bool]]:
        """``niceness`` is that of the attackers' own computing, which is done elsewhere where it counts.

        The team comes 5 s after them, or with ``patience`` when each has had as many answers as it will send.
        With ``sends_as_much`` it has had as many runs taken before as each of them.
        """
        attackers = range(HONEST, len(self.tokens))
        while sends_as_much and self.sent[honest] < max(
            self.sent[who] for who in attackers
        ):
            self.send(self._own(0), who=honest)
        # Nobody is first in a process that has just begun.
        for number in range(WARMING):
            self.send(self._own(2 * self.uploads + number), who=honest)
        quiet = [
            self.send(self._own(number), who=honest) for number in range(self.uploads)
        ]
        idle = os.getloadavg()[0]
        if wrong := next(
            (answer for answer in quiet if answer.status not in GOOD), None
        ):
            raise SystemExit(
                f"an honest upload to the quiet site: {wrong.status} {wrong.body[:300]!r}"
            )
        over, answered, of_each = threading.Event(), Counter[int](), Counter[int]()
        lock = threading.Lock()

        def hostile(who: int) -> None:
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), niceness)
            to = ("check", "submissions")[who % 2]
            while not over.is_set():
                answer = self.send(files[who % len(files)], who=who, to=to)
                with lock:
                    answered[answer.status] += 1
                    of_each[who] += 1

        threads = [
            threading.Thread(target=hostile, args=(who,))
            for who in attackers
            for _ in range(connections)
        ]
        for thread in threads:
            thread.start()
        time.sleep(5)
        until = time.monotonic() + patience
        while (
            time.monotonic() < until
            and min(of_each[who] for who in attackers) < self.uploads
        ):
            time.sleep(1)
        besieged = [
            self.send(self._own(self.uploads + number), who=honest)
            for number in range(self.uploads)
        ]
        over.set()
        for thread in threads:
            thread.join()
        taken = sum(answer.status in GOOD for answer in besieged)
        later = sum(answer.status == 202 for answer in besieged)
        before, during = (
            statistics.median(a.seconds for a in found) for found in (quiet, besieged)
        )
        statuses = ", ".join(
            f"{count} × {status}" for status, count in sorted(answered.items())
        )
        how = ", their own computing given way" if niceness else ""
        how += f", each over {connections} connections" if connections > 1 else ""
        how += (
            ", the team having sent as much as each within the hour"
            if sends_as_much
            else ""
        )
        yield (
            f"{len(attackers)} accounts with files {what}, against one team{how}",
            f"{taken} of {len(besieged)} honest uploads taken, {later} unread; the others: {statuses}",
            taken == len(besieged),
        )
        told = f"median {during:.2f} s, on the quiet site {before:.2f} s: {during / before:.1f} times"
        load = f"{idle:.1f} and then {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors"
        yield (
            f"how long an honest upload takes meanwhile{how}",
            f"{told}; load of the machine {load}",
            during <= MAX_RATIO * before,
        )

    def files(self) -> Iterator[tuple[str, str, bool]]:
        for name, (filename, content) in hostile_files().items():
            answer = self.send(content, filename, to="check")
            yield (
                f"a file: {name}",
                f"{answer.status} after {answer.seconds:.2f} s",
                answer.status in {*GOOD, *REFUSED},
            )

    def requests(self) -> Iterator[tuple[str, str, bool]]:
        asked: list[tuple[str, str, dict[str, str], set[int]]] = [
            ("another host's name", "/", {"Host": "evil.example"}, {400}),
            (
                "a token that is none",
                "/api/v1/submissions/",
                {"Authorization": "Token x"},
                {401},
            ),
            (
                "gold of a phase that keeps it",
                f"/api/v1/phases/{self.phase}/gold/",
                {},
                {401, 403, 404, 405},
            ),
            ("a path out of the site", "/static/../../manage.py", {}, {400, 404}),
        ]
        for name, path, headers, wanted in asked:
            answer = self.client.ask("GET", path, headers=headers)
            yield name, str(answer.status), answer.status in wanted
        answers = Counter(
            self.client.ask(
                "GET",
                "/api/v1/seasons/",
                headers={"X-Forwarded-For": f"203.0.113.{n % 250}"},
            ).status
            for n in range(150)
        )
        yield (
            "150 requests with forged addresses",
            f"{answers[200]} answered, {answers[429]} × 429",
            answers[429] > 0,
        )

    def secrets(self) -> Iterator[tuple[str, str, bool]]:
        """Gold of an evaluation that keeps everything back, asked for where it is held a second time."""
        from citeboard.teams.models import Token
        from tests.factories import (
            make_gold,
            make_phase,
            make_season,
            make_task,
            make_user,
        )

        def own_task(**who: Any) -> Any:
            return make_task(
                season=make_season(slug=f"attack-{time.monotonic_ns()}", **who)
            )

        organiser = make_user(email=f"organiser{time.monotonic_ns()}@example.org")
        task = own_task(organiser=organiser)
        hidden = make_phase(task=task, board="organisers")
        token = Token.objects.create_token(user=organiser, name="attack")[1]
        over = {
            "split": "practice",
            "gold_is_public": True,
            "closes": hidden.opens,
            "shows_instances": True,
        }
        over["opens"] = hidden.opens.replace(year=2020)
        elsewhere, mistaken = (
            make_phase(task=own_task(), **over),
            make_phase(task=own_task(), **over),
        )
        make_gold(phase=mistaken, citances=[["D05-0001", "3", ["4"], "Aim_Citation"]])
        after = make_phase(
            task=task,
            split=hidden.split,
            opens=hidden.closes,
            closes=hidden.closes.replace(year=2099),
        )

        def status(phase: Any, number: int) -> int:
            place = f"/seasons/{phase.task.season.slug}/{phase.task.slug}/{phase.slug}/gold/{number}/"
            headers = {"Authorization": f"Token {self.tokens[0]}"}
            return self.client.ask("GET", place, headers=headers).status

        found = status(elsewhere, 1)
        yield (
            "gold by another task that holds the same and gives its own out",
            str(found),
            found == 404,
        )
        first, second = status(mistaken, 1), status(mistaken, 2)
        told = f"version 1 {first}, version 2, which holds other gold, {second}"
        yield (
            "gold by a version put in by mistake and replaced",
            told,
            (first, second) == (404, 200),
        )
        headers = {"Authorization": f"Token {token}"}
        answer = self.client.ask(
            "POST", f"/api/v1/phases/{after.pk}/open/", b"", headers
        )
        after.refresh_from_db()
        opened = after.opens < hidden.closes
        yield (
            "“Open now” of a phase on gold that is hidden still",
            str(answer.status),
            not opened,
        )

    def names(self) -> Iterator[tuple[str, str, bool]]:
        headers = {
            "Authorization": f"Token {self.tokens[0]}",
            "Content-Type": "application/json",
        }
        # A Cyrillic а in place of the first letter.
        body = json.dumps({"name": "\u0430ttack-1"}).encode()
        answer = self.client.ask("POST", "/api/v1/teams/", body, headers)
        yield (
            "a team called like another in other letters",
            str(answer.status),
            answer.status in REFUSED,
        )

    def passwords(self) -> Iterator[tuple[str, str, bool]]:
        answers = [
            self._sign_in("attack0@example.org", f"wrong {number}")
            for number in range(12)
        ]
        locked = sum(
            b"too many" in answer.body.lower() or answer.status == 429
            for answer in answers
        )
        yield (
            "12 wrong passwords for one account",
            f"{locked} not looked at",
            locked > 0,
        )

    def _sign_in(self, login: str, password: str) -> Answer:
        page = self.client.ask("GET", "/accounts/login/")
        secret = (
            page.headers.get("set-cookie", "")
            .partition("csrftoken=")[2]
            .partition(";")[0]
        )
        fields = {"csrfmiddlewaretoken": secret, "login": login, "password": password}
        headers = {
            "Cookie": f"csrftoken={secret}",
            "Content-Type": "application/x-www-form-urlencoded",
        }
        return self.client.ask(
            "POST", "/accounts/login/", urlencode(fields).encode(), headers
        )

    def confinement(self) -> tuple[str, str, bool]:
        [found] = json.loads(manage("doctor", "--json", "--only", "confinement"))
        return (
            "files, network, processes and shared memory from a reader",
            found["found"],
            found["state"] == "good",
        )

    def _own(self, number: int) -> bytes:
        return self.run + b" " * number + b"\n"


def made_up_answers() -> tuple[str, str, bool]:
    """A year of ranks by the private part, for every task type; `bench/leak.py` alone has more."""
    command = [
        sys.executable,
        str(ROOT / "bench/leak.py"),
        "--presets",
        "--instances",
        str(INSTANCES),
    ]
    path = os.pathsep.join(map(str, (ROOT / "platform", ROOT, ROOT / "bench")))
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(
        r"^  (\S.*?)  .* over chance (\S+), by", done.stdout, re.MULTILINE
    )
    worst = max(found, key=lambda each: float(each[1]), default=("nothing", "none"))
    told = f"of 100 private answers over chance at most {worst[1]} ({worst[0]}), of {len(found)} tested"
    return (
        f"a year of made-up answers, {INSTANCES} instances",
        told,
        bool(found) and done.returncode == 0,
    )


def hostile_files() -> dict[str, tuple[str, bytes]]:
    deep = b"[" * 100_000
    return {
        "nested 100,000 deep": ("run.jsonl", deep + b"\n"),
        "a line of 16 MB": ("run.jsonl", b'{"a": "' + b"x" * (16 << 20)),
        "a bomb in a zip": ("run.zip", zipped({"run.jsonl": bytes(1 << 28)})),
        "a path out of a zip": ("run.zip", zipped({"../../run.jsonl": b"{}"})),
        "a zip in a zip": (
            "run.zip",
            zipped({"run.zip": zipped({"run.jsonl": b"{}"})}),
        ),
        "noise": ("run.jsonl", os.urandom(1 << 20)),
        "UTF-16": ("run.jsonl", '{"topic": "D01"}'.encode("utf-16")),
        "a name of a path": ("../../etc/passwd", b"{"),
    }


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


#: 6 MB each: a line of quotation marks and escapes, many small answers, and many small problems.
SLOW = (
    b'{"id": "' + b'\\"' * (3 << 20) + b'"}\n',
    b'{"topic": "D01-1001", "citing": "x", "marker": "1", "sentences": ["1", "2"]}\n'
    * 78_000,
    b'{"topic": 1}\n' * 480_000,
)


if __name__ == "__main__":
    sys.exit(main())
