"""Create the command-line options of the scorer that identify a version of gold."""

from dataclasses import replace

from scoring.offline.gold_key import GoldKey
from tasks.models import Gold

#: NONCE_PLACEHOLDER and DRAW_SEED_PLACEHOLDER replace the nonces of gold and of public parts.
NONCE_PLACEHOLDER, DRAW_SEED_PLACEHOLDER = "NONCE", "DRAW"


def build_gold_key(gold: Gold) -> GoldKey:
    return GoldKey(
        nonce=gold.nonce if gold.is_salted else "",
        rule=gold.digest_rule,
        reading=gold.reading_version,
    )


def build_gold_key_options(gold: Gold) -> list[str]:
    """Return the command-line options with which the offline scorer reads and
    identifies the gold.
    """
    options = build_gold_key(gold).command_line_options.items()
    return [f"{option}={value}" for option, value in options]


def build_gold_key_options_for_display(gold: Gold) -> dict[str, str]:
    """Return the command-line options for display, in which a placeholder replaces the
    secret nonce.
    """
    key = build_gold_key(gold)
    return replace(
        key, nonce=NONCE_PLACEHOLDER if key.nonce else ""
    ).command_line_options
