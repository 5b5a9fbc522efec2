"""The digest that identifies gold in scores, and the data that a site stores to compute
the digest.

A plain SHA-256 would reveal a small set of answers: a reader who knows the texts can
compute the digest of each possible gold. A site therefore publishes the HMAC-SHA-256 of
the digest. The HMAC key, called the nonce, stays secret until the gold is released.
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
    """The nonce, digest rule and reading version of gold. Without a nonce, the plain
    digest identifies the gold.
    """

    nonce: str = ""
    rule: int = DIGEST_RULE
    reading: int = READING_VERSION

    def __post_init__(self) -> None:
        """Validate the versions of the digest rule and of the reading rules. Raises
        OptionRefused for versions of later releases.
        """
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
        """Return the split with ranking candidates in the order of the published
        inputs.
        """
        if not self.nonce or not (task_type.declared or task_type.candidate_order):
            return split
        # Import here, because rankings need numpy and few commands read rankings.
        from tasks.types.given_order import has_given_order, ordered_split

        if not has_given_order(task_type, self.nonce, self.reading):
            return split
        return ordered_split(task_type, split, self.nonce)

    def digest_of(self, split: Split) -> str:
        """Return the digest of the gold that column keys contain."""
        digest = split.digest_by(self.rule)
        return salted_digest(digest, self.nonce) if self.nonce else digest

    def printed(self, split: Split) -> dict[str, Any]:
        """Return the plain digest of the gold and, if a nonce exists, the HMAC for
        command output.
        """
        facts: dict[str, Any] = {
            "sha256": split.digest_by(self.rule),
            "rule": self.rule,
            "instances": split.instances,
            **({} if split.rows is None else {"rows": split.rows}),
        }
        return facts | ({"hmac_sha256": self.digest_of(split)} if self.nonce else {})

    @property
    def arguments(self) -> dict[str, str]:
        """Return the command options that reproduce this digest. Default values are
        omitted.
        """
        return {
            **({"--nonce": self.nonce} if self.nonce else {}),
            **({} if self.rule == DIGEST_RULE else {"--digest-rule": str(self.rule)}),
            **(
                {}
                if self.reading == READING_VERSION
                else {"--reading": str(self.reading)}
            ),
        }


#: Gold that is not stored on a site has this key.
PLAIN_KEY = GoldKey()


def read_nonce(text: str) -> str:
    """Return the hexadecimal digits of a nonce, given directly or as a file name.
    Raises OptionRefused.
    """
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
    """Return the gold key from command arguments. Some commands have only the reading
    version. Raises OptionRefused.
    """
    nonce, rule = getattr(given, "nonce", None), getattr(given, "digest_rule", None)
    return GoldKey(
        nonce=read_nonce(nonce) if nonce else "",
        rule=DIGEST_RULE if rule is None else rule,
        reading=READING_VERSION if given.reading is None else given.reading,
    )


def archived_gold_key(gold: Mapping[str, Any]) -> GoldKey:
    """Return the gold key from an archive's description. Older archives contain no rule
    or reading version.
    """
    is_salted = gold.get("plain_sha256", gold["sha256"]) != gold["sha256"]
    return GoldKey(
        nonce=gold["nonce"] if is_salted else "",
        rule=gold.get("digest_rule", 1),
        reading=gold.get("reading_version", 1),
    )
