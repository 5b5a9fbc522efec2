"""Create the command-line options of the scorer that identify a version of gold."""

from dataclasses import replace

from scoring.offline.gold_key import GoldKey
from tasks.models import Gold

#: The placeholders NONCE and DRAW replace the nonces of gold and of public parts.
NONCE, DRAW = "NONCE", "DRAW"


def gold_key_of(gold: Gold) -> GoldKey:
    return GoldKey(
        nonce=gold.nonce if gold.is_salted else "",
        rule=gold.digest_rule,
        reading=gold.reading_version,
    )


def gold_key_options(gold: Gold) -> list[str]:
    """Return the command-line options with which the offline scorer reads and
    identifies the gold.
    """
    options = gold_key_of(gold).arguments.items()
    return [f"{option}={value}" for option, value in options]


def gold_key_without_nonce(gold: Gold) -> dict[str, str]:
    """Return the command-line options for display, in which a placeholder replaces the
    secret nonce.
    """
    key = gold_key_of(gold)
    return replace(key, nonce=NONCE if key.nonce else "").arguments
