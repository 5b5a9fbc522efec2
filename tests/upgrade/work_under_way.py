"""What a site of 0.3.0 had to do when it was upgraded, and which jobs that is since."""

import sqlite3
from contextlib import closing
from pathlib import Path

PAST, FUTURE = "2026-11-20 10:00:00", "2030-01-01 10:00:00"
#: State, attempts, owner, end of the lease, when it is due, and the last error.
MAILS = {
    "queued": ("queued", 3, "", None, FUTURE, "no answer"),
    "sending": ("sending", 1, "a-sender", FUTURE, PAST, ""),
    "sent": ("sent", 2, "", None, PAST, ""),
    "none": ("none", 0, "", None, None, ""),
}
EVENTS = {
    "queued": ("queued", 4, "", None, FUTURE, "500"),
    "delivered": ("delivered", 1, "", None, PAST, ""),
}
WORK = {
    "running": ("running", 2, "host:1:2", FUTURE, ""),
    "failed": ("failed", 3, "", None, "It failed."),
}
#: When it was asked for, who is at it, and until when.
BOARDS = {
    "asked": (PAST, "", None),
    "leased": (None, "host:1:3", FUTURE),
    "idle": (None, "", None),
}
MAIL = "mail, mail_attempts, mail_owner, mail_lease_expires_at, mail_due_at, mail_error"
EVENT = "state, attempts, owner, lease_expires_at, due_at, error"
LEASE = "state, attempt, lease_owner, lease_expires_at, reason"
ASKED = "given, filename, file, progress, doing, problems, more, result"
JOBS = """
SELECT kind, COALESCE(
    (SELECT event FROM tasks_notification WHERE job_id = tasks_job.id),
    (SELECT address FROM teams_mailedinvitation WHERE job = tasks_job.id),
    (SELECT event FROM tasks_delivery WHERE job_id = tasks_job.id),
    (SELECT digest FROM scoring_backgroundjob WHERE job_id = tasks_job.id),
    (SELECT rules FROM scoring_boardorder WHERE job_id = tasks_job.id)
) AS name, state, attempt, lease_owner, reason, lease_expires_at FROM tasks_job WHERE submission_id IS NULL
"""


def add_work(site, mark: str = "?") -> None:
    def insert(table: str, columns: str, *values: object) -> None:
        marks = ", ".join([mark] * len(values))
        site.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", values)  # noqa: S608

    ids = "SELECT u.id, s.id, t.id, p.id FROM teams_user u, tasks_season s, teams_team t, tasks_phase p LIMIT 1"  # noqa: E501
    [(user, season, team, phase)] = site.execute(ids)
    hook = (77, "https://example.org/", "n", True, PAST, season)
    insert("tasks_webhook", "id, url, nonce, is_active, created_at, season_id", *hook)
    for name, facts in MAILS.items():
        told = ("announced", name, "{}", PAST, user)
        insert(
            "tasks_notification",
            f"kind, event, facts, created_at, user_id, {MAIL}",
            *told,
            *facts,
        )
        invited = (name, name, "waiting", PAST, FUTURE, team)
        names = "address, nonce, state, created_at, expires_at, team_id"
        insert("teams_mailedinvitation", f"{names}, {MAIL}", *invited, *facts)
    for name, facts in EVENTS.items():
        posted = (name, "announced", "{}", PAST, 77)
        insert(
            "tasks_delivery",
            f"event, kind, payload, created_at, webhook_id, {EVENT}",
            *posted,
            *facts,
        )
    for name, facts in WORK.items():
        asked = ("labels", name, PAST, season, "{}", "", "", 0.5, "", "[]", 0, "{}")
        columns = f"kind, digest, created_at, season_id, {ASKED}, {LEASE}"
        insert("scoring_backgroundjob", columns, *asked, *facts)
    for name, facts in BOARDS.items():
        columns = "phase_id, rules, version, asked_at, lease_owner, lease_expires_at"
        insert("scoring_boardorder", columns, phase, name, 5, *facts)


def jobs_of(site) -> dict[tuple[str, str], tuple]:
    return {
        (kind, name): (*facts, lease is not None)
        for kind, name, *facts, lease in site.execute(JOBS)
        if kind != "compare" or name in BOARDS
    }


def expected() -> dict[tuple[str, str], tuple]:
    since = {"sending": "running", "sent": "done", "delivered": "done"}
    jobs = {
        ("compare", "asked"): ("queued", 0, "", "", False),
        ("compare", "idle"): ("done", 0, "", "", False),
    }
    jobs["compare", "leased"] = ("running", 1, "host:1:3", "", True)
    for name, (state, attempt, owner, lease, _, error) in list(MAILS.items())[:-1]:
        for kind in ("mail", "invitation"):
            jobs[kind, name] = (
                since.get(state, state),
                attempt,
                owner,
                error,
                lease is not None,
            )
    for name, (state, attempt, owner, lease, *_) in EVENTS.items():
        jobs["webhook", name] = (
            since.get(state, state),
            attempt,
            owner,
            "",
            lease is not None,
        )
    for name, (state, attempt, owner, lease, reason) in WORK.items():
        jobs["background", name] = (state, attempt, owner, reason, lease is not None)
    return jobs


def in_site(folder: Path, action):
    with closing(sqlite3.connect(folder / "citeboard.sqlite3")) as site, site:
        return action(site)
