"""Compute the digest that identifies gold in the signatures of scores, and define the
key for this digest.

If a site published the SHA-256 of gold with few possible answers, a reader of the texts
could try all answers. A site therefore publishes an HMAC-SHA-256 of the gold's digest.
The HMAC key, called the nonce, stays secret until the gold is released.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.types import OptionRefused, Split, TaskType
from tasks.types.base import CURRENT_DIGEST_RULE
from tasks.types.digests import NONCE_BYTES, compute_salted_digest, is_valid_nonce
from tasks.types.files import CURRENT_PARSING_RULES_VERSION


@dataclass(frozen=True, kw_only=True)
class GoldKey:
    """The HMAC key (nonce), the version of the digest rule and the version of the file
    reader that determine the digest of gold. Without a nonce, the plain SHA-256 digest
    identifies the gold.
    """

    nonce: str = ""
    rule: int = CURRENT_DIGEST_RULE
    reading: int = CURRENT_PARSING_RULES_VERSION

    def __post_init__(self) -> None:
        """Validate the versions of the digest rule and of the file reader. Raises
        OptionRefused if a version belongs to a later release.
        """
        known = (
            ("--digest-rule", self.rule, CURRENT_DIGEST_RULE),
            ("--reading", self.reading, CURRENT_PARSING_RULES_VERSION),
        )
        for option, number, newest in known:
            if not 1 <= number <= newest:
                raise OptionRefused(
                    f"{option} {number}: this release knows 1 to {newest}"
                )

    def restore_candidate_order(self, task_type: TaskType, split: Split) -> Split:
        """Return the split whose ranking candidates have the order of the published
        inputs.
        """
        if not self.nonce or not (task_type.declared or task_type.candidate_order):
            return split
        # Import numpy here, because only rankings need numpy.
        from tasks.types.given_order import (
            has_secret_candidate_order,
            reorder_candidates_of_gold,
        )

        if not has_secret_candidate_order(task_type, self.nonce, self.reading):
            return split
        return reorder_candidates_of_gold(task_type, split, self.nonce)

    def compute_gold_digest(self, split: Split) -> str:
        """Return the digest that identifies the gold in the column keys of a board."""
        digest = split.get_digest_under_rule(self.rule)
        return compute_salted_digest(digest, self.nonce) if self.nonce else digest

    def printed(self, split: Split) -> dict[str, Any]:
        """Return the plain digest of the gold and, if a nonce exists, its HMAC, for the
        output of a command.
        """
        facts: dict[str, Any] = {
            "sha256": split.get_digest_under_rule(self.rule),
            "rule": self.rule,
            "instances": split.instances,
            **({} if split.rows is None else {"rows": split.rows}),
        }
        return facts | (
            {"hmac_sha256": self.compute_gold_digest(split)} if self.nonce else {}
        )

    @property
    def command_line_options(self) -> dict[str, str]:
        """Return the command-line options that reproduce the digest of the gold.
        Default values are omitted.
        """
        return {
            **({"--nonce": self.nonce} if self.nonce else {}),
            **(
                {}
                if self.rule == CURRENT_DIGEST_RULE
                else {"--digest-rule": str(self.rule)}
            ),
            **(
                {}
                if self.reading == CURRENT_PARSING_RULES_VERSION
                else {"--reading": str(self.reading)}
            ),
        }


#: DEFAULT_GOLD_KEY is the key of gold that is not stored on a site.
DEFAULT_GOLD_KEY = GoldKey()


def read_nonce(text: str) -> str:
    """Return the hexadecimal digits of a nonce, which the argument contains or names a
    file with. Raises OptionRefused.
    """
    path, digits = Path(text), text
    if not is_valid_nonce(text) and path.is_file():
        content = path.read_text("ascii", "replace")
        digits = content.partition("\n")[0].strip()
    if not is_valid_nonce(digits):
        raise OptionRefused(
            f"--nonce {text}: expected {2 * NONCE_BYTES} hexadecimal digits, or the file nonce.txt of the "
            "gold's archive"
        )
    return digits


def build_gold_key(given: argparse.Namespace) -> GoldKey:
    """Return the key for the gold's digest from command-line arguments, some of which a
    command may lack. Raises OptionRefused.
    """
    nonce, rule = getattr(given, "nonce", None), getattr(given, "digest_rule", None)
    return GoldKey(
        nonce=read_nonce(nonce) if nonce else "",
        rule=CURRENT_DIGEST_RULE if rule is None else rule,
        reading=CURRENT_PARSING_RULES_VERSION
        if given.reading is None
        else given.reading,
    )


def build_archived_gold_key(gold: Mapping[str, Any]) -> GoldKey:
    """Return the key for the gold's digest from the description in an archive, where
    older archives have no versions.
    """
    is_salted = gold.get("plain_sha256", gold["sha256"]) != gold["sha256"]
    return GoldKey(
        nonce=gold["nonce"] if is_salted else "",
        rule=gold.get("digest_rule", 1),
        reading=gold.get("reading_version", 1),
    )
