"""`python -m scoring verify`: computes the numbers of a season's archive again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from scoring.offline.scoring import as_json
from scoring.offline.terminal import GREEN, RED, bar, painted, printable

DIFFERS, NOTHING = 1, 3


def add_command(commands: Any) -> None:
    command = commands.add_parser(
        "verify", help="compute the numbers of a season's archive again", allow_abbrev=False
    )
    command.add_argument("archive", type=Path, metavar="DIR", help="what `export_season --archive` wrote")
    command.add_argument("--json", action="store_true", help="print the result as JSON")
    command.set_defaults(command=verify_archive)


def verify_archive(given: argparse.Namespace) -> int:
    from scoring.offline.verify import verify

    with bar("verifying", 1.0) as at:
        verified = verify(given.archive, at)
    if given.json:
        print(as_json(verified.as_dict()))
    else:
        *details, last = verified.summary()
        for line in details:
            print(printable(line))
        print(painted(last, RED if verified.differing else GREEN, sys.stdout))
    if verified.differing:
        return DIFFERS
    return 0 if verified.checked else NOTHING
