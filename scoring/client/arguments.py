"""The commands that talk to a site, such as `login`, `submit` and `receipt`."""

import argparse
from pathlib import Path
from typing import Any

from tasks.types.references import referenced

PHASE = "its number, or SEASON/TASK/PHASE; the last part may be left out where one phase is open"
KINDS = ("primary", "contrastive")
#: The last place that a site takes.
MAX_PLACE = 1000
#: What `--card` may give: the fields of a run card, and costs.
CARD = (
    "code", "paper", "training_data", "trained_on", "trained_on_test_year", "knowledge_cutoff", "model",
    "external_resources", "human_in_the_loop", "wall_seconds", "cpu_seconds", "memory_mib", "gpu_seconds",
)  # fmt: skip


def add_commands(commands: Any) -> None:
    login = _added(commands, "login", "keep a token for a site, in a file that only you may read")
    login.add_argument("url", metavar="URL")
    seasons = _added(commands, "seasons", "list a site's seasons, or the tasks and phases of one")
    seasons.add_argument("season", nargs="?", metavar="SEASON")
    data = _added(commands, "data", "download the public inputs of a phase")
    data.add_argument("phase", metavar="PHASE", help=PHASE)
    data.add_argument("--out", type=Path, metavar="FILE", help="a zip; named after the phase unless given")
    submit = _added(commands, "submit", "submit a run to a phase")
    submit.add_argument("phase", metavar="PHASE", help=PHASE)
    submit.add_argument("--run", type=Path, required=True, metavar="PATH", help="a folder is sent as a zip")
    submit.add_argument("--system", required=True, metavar="NAME", help="what the board calls it")
    submit.add_argument("--description", default="", metavar="TEXT")
    submit.add_argument(
        "--card", action="append", default=[], type=_card_entry, metavar="FIELD=VALUE",
        help=f"how it was made, by one of {', '.join(CARD)}; again for more",
    )  # fmt: skip
    submit.add_argument(
        "--metadata", type=Path, metavar="FILE", help="ir_metadata, which fills what is left out"
    )
    submit.add_argument("--team", default="", metavar="SLUG", help="needed by members of several teams")
    submit.add_argument("--kind", choices=KINDS, default=KINDS[0])
    submit.add_argument(
        "--priority", type=_place, metavar="PLACE",
        help="its place among the runs of the team, where a phase counts by priority: 1 is first",
    )  # fmt: skip
    submit.add_argument("--dry-run", action="store_true", help="let the site check it; nothing is stored")
    submit.add_argument("--follow", action="store_true", help="wait until it is scored, and print the scores")
    follow = _added(commands, "follow", "wait until runs are scored")
    follow.add_argument("runs", type=int, nargs="+", metavar="RUN", help="the number that submit prints")
    scores = _added(commands, "scores", "print the scores of a run of yours")
    scores.add_argument("run", type=int, metavar="RUN", help="the number that submit prints")
    board = _added(commands, "board", "print the board of a phase")
    board.add_argument("phase", metavar="PHASE", help=PHASE)
    board.add_argument("--rules", metavar="NAME")
    for command in (seasons, data, submit, follow, scores, board):
        command.add_argument("--site", metavar="URL", help="instead of CITEBOARD_SITE and of the last login")
    receipt = commands.add_parser("receipt", help="what a site has signed of an evaluation")
    verifying = _added(
        receipt.add_subparsers(required=True, metavar="COMMAND"),
        "verify",
        "say whether the receipts in a file hold",
        module="receipts",
    )
    verifying.add_argument("file", type=Path, metavar="FILE", help="as the site gives it")
    verifying.add_argument("--site", metavar="URL", help="by its keys, and against its log as it is now")
    verifying.add_argument(
        "--key",
        type=Path,
        metavar="FILE",
        help="by this public key; with --site by those too that it has signed",
    )


def _card_entry(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or name not in CARD:
        raise argparse.ArgumentTypeError(f"“{text}” does not begin with one of {', '.join(CARD)} and =")
    return name, value


def _place(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_PLACE:
        raise argparse.ArgumentTypeError(f"“{text}” is no place from 1, the first, to {MAX_PLACE}")
    return int(text)


def _added(commands: Any, name: str, words: str, module: str = "actions") -> argparse.ArgumentParser:
    def call(args: argparse.Namespace) -> int:
        # Imported when it is called, as HTTP takes a while to import.
        status: int = referenced(f"scoring.client.{module}:{name}")(args)
        return status

    command: argparse.ArgumentParser = commands.add_parser(name, help=words, allow_abbrev=False)
    command.add_argument("--json", action="store_true")
    command.set_defaults(command=call)
    return command
