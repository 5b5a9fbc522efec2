"""Prints the address of a PostgreSQL server the tests may use, or says on standard error why there is none.

A server that was named must answer (exit 2 where it does not); without a name the usual local port is tried.
"""

import getpass
import os
import sys

import psycopg

NAMED = "CITEBOARD_TEST_DATABASE_URL"
LOCAL = "127.0.0.1:5432"


def refusal(address: str) -> str | None:
    """Why the tests cannot use this server, or None."""
    try:
        with psycopg.connect(address, connect_timeout=3) as connection:
            row = connection.execute(
                "SELECT rolcreatedb OR rolsuper FROM pg_roles WHERE rolname = current_user"
            ).fetchone()
    except psycopg.Error as reason:
        return " ".join(str(reason).split())
    return None if row and row[0] else "this user may not create databases"


def main() -> int:
    named = os.environ.get(NAMED)
    if named:
        reason = refusal(named)
        if reason:
            print(
                f"The server that {NAMED} names cannot be used: {reason}",
                file=sys.stderr,
            )
            return 2
        print(named)
        return 0
    users = dict.fromkeys((getpass.getuser(), "postgres"))
    reasons = []
    for user in users:
        address = f"postgres://{user}@{LOCAL}/postgres"
        reason = refusal(address)
        if reason is None:
            print(address)
            return 0
        reasons.append(f"{user}: {reason}")
    print(
        f"no PostgreSQL on {LOCAL} for the tests ({'; '.join(reasons)})",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
