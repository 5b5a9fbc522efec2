"""The digest by which numbers name their gold, and what a site stores with a version of gold to compute it.

The SHA-256 of a small set of answers can be guessed: who knows the texts computes the digest of each possible
gold. A site therefore publishes the HMAC-SHA-256 of that digest. Its key, the nonce, stays secret until the
gold is released.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.types import OptionRefused, Split, TaskType
from tasks.types.base import DIGEST_RULE
from tasks.types.digests import NONCE_BYTES, is_nonce, salted_digest
from tasks.types.files import READING_VERSION


@dataclass(frozen=True, kw_only=True)
class GoldKey:
    """The nonce, digest rule and reading version of gold. Without a nonce the plain digest is the key."""

    nonce: str = ""
    rule: int = DIGEST_RULE
    reading: int = READING_VERSION

    def __post_init__(self) -> None:
        """Raise OptionRefused for numbers of a later release."""
        known = (
            ("--digest-rule", self.rule, DIGEST_RULE),
            ("--reading", self.reading, READING_VERSION),
        )
        for option, number, newest in known:
            if not 1 <= number <= newest:
                raise OptionRefused(
                    f"{option} {number}: this release knows 1 to {newest}"
                )

    def ordered(self, task_type: TaskType, split: Split) -> Split:
        """Return the split with the candidates of rankings in the order in which they are given out."""
        if not self.nonce or task_type.declared is None:
            return split
        # Few commands meet a declared task, and its forms need numpy.
        from tasks.types.given_order import has_given_order, ordered_split

        if not has_given_order(self.nonce, self.reading):
            return split
        return ordered_split(task_type, split, self.nonce)

    def digest_of(self, split: Split) -> str:
        """Return the digest that stands in column keys."""
        digest = split.digest_by(self.rule)
        return salted_digest(digest, self.nonce) if self.nonce else digest

    def printed(self, split: Split) -> dict[str, Any]:
        """Return what commands print: the plain digest, and with a nonce the HMAC."""
        facts: dict[str, Any] = {
            "sha256": split.digest_by(self.rule),
            "rule": self.rule,
            "instances": split.instances,
            **({} if split.rows is None else {"rows": split.rows}),
        }
        return facts | ({"hmac_sha256": self.digest_of(split)} if self.nonce else {})

    @property
    def arguments(self) -> dict[str, str]:
        """Return the options of a command that computes the same; those at their defaults are left out."""
        return {
            **({"--nonce": self.nonce} if self.nonce else {}),
            **({} if self.rule == DIGEST_RULE else {"--digest-rule": str(self.rule)}),
            **(
                {}
                if self.reading == READING_VERSION
                else {"--reading": str(self.reading)}
            ),
        }


#: The key of gold that belongs to no site.
PLAIN_KEY = GoldKey()


def read_nonce(text: str) -> str:
    """Return the digits of a nonce, or those in the file of that name. Raise OptionRefused."""
    path, digits = Path(text), text
    if not is_nonce(text) and path.is_file():
        content = path.read_text("ascii", "replace")
        digits = content.partition("\n")[0].strip()
    if not is_nonce(digits):
        raise OptionRefused(
            f"--nonce {text}: expected {2 * NONCE_BYTES} hexadecimal digits, or the file nonce.txt of the "
            "gold's archive"
        )
    return digits


def gold_key_of(given: argparse.Namespace) -> GoldKey:
    """Raise OptionRefused. A command that prints no key of the gold has the reading version alone."""
    nonce, rule = getattr(given, "nonce", None), getattr(given, "digest_rule", None)
    return GoldKey(
        nonce=read_nonce(nonce) if nonce else "",
        rule=DIGEST_RULE if rule is None else rule,
        reading=READING_VERSION if given.reading is None else given.reading,
    )


def archived_gold_key(gold: Mapping[str, Any]) -> GoldKey:
    """Return the key of a version of gold as an archive describes it; older archives name no rule."""
    is_salted = gold.get("plain_sha256", gold["sha256"]) != gold["sha256"]
    return GoldKey(
        nonce=gold["nonce"] if is_salted else "",
        rule=gold.get("digest_rule", 1),
        reading=gold.get("reading_version", 1),
    )
