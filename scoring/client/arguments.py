"""Arguments of the commands that connect to a site, such as `login`, `submit` and
`receipt`.
"""

import argparse
from pathlib import Path
from typing import Any

from scoring.offline.arguments import add_declared_commands
from tasks.types.references import make_lazy_function

#: The largest number that a site accepts as the priority of a run.
MAX_RUN_PRIORITY = 1000
#: Names of the fields of a run card, including costs, that the option `--card` accepts.
RUN_CARD_FIELD_NAMES = (
    "code",
    "paper",
    "training_data",
    "trained_on",
    "trained_on_test_year",
    "knowledge_cutoff",
    "model",
    "external_resources",
    "human_in_the_loop",
    "seed",
    "wall_seconds",
    "cpu_seconds",
    "memory_mib",
    "gpu_seconds",
    "tokens",
    "cost_usd",
)


def add_commands(commands: Any) -> None:
    # Import the actions only when a command runs, because HTTP modules load slowly.
    actions = (
        "login",
        "seasons",
        "enter",
        "data",
        "submit",
        "follow",
        "scores",
        "board",
    )
    does = {
        name: make_lazy_function("scoring.client.actions", name) for name in actions
    }
    does["mcp"] = make_lazy_function("scoring.client.agents", "mcp")
    does["verify_receipts"] = make_lazy_function("scoring.client.receipts", "verify")
    add_declared_commands(
        commands, Path(__file__).with_name("commands.toml"), {**globals(), **does}
    )


def _card_entry(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or name not in RUN_CARD_FIELD_NAMES:
        raise argparse.ArgumentTypeError(
            f"“{text}” does not begin with one of {', '.join(RUN_CARD_FIELD_NAMES)} and ="
        )
    return name, value


def _place(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= MAX_RUN_PRIORITY:
        raise argparse.ArgumentTypeError(
            f"“{text}” is no place from 1, the first, to {MAX_RUN_PRIORITY}"
        )
    return int(text)
