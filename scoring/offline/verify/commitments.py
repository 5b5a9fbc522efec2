"""Check the archived digests of released gold, and the commitments to random samples of
public parts.
"""

from collections.abc import Mapping
from typing import Any

from scoring.offline.verify.report import VerificationReport
from tasks.types.digests import (
    PLAIN_DIGEST_ALGORITHM,
    SALTED_DIGEST_ALGORITHM,
    compute_draw_commitment,
)

ArchivedGold = Mapping[str, Any]
ArchivedSeason = Mapping[str, Any]
TaskAndPhase = tuple[str, str]


def check_gold_digest(
    gold: ArchivedGold, read: Mapping[str, Any], verified: VerificationReport
) -> None:
    """Compare the digest and the HMAC of the gold files with the archived values."""
    archived = gold.get("plain_sha256", gold["sha256"])
    place = f"gold {gold['sha256'][:12]}"
    digests = {
        PLAIN_DIGEST_ALGORITHM: (archived, read["sha256"]),
        SALTED_DIGEST_ALGORITHM: (
            gold["sha256"],
            read.get("hmac_sha256", gold["sha256"]),
        ),
    }
    for name, (one, other) in digests.items():
        if one != other:
            verified.differs(
                f"{place}: the archive has the {name} {one}, computed again it is {other}"
            )
        elif name == PLAIN_DIGEST_ALGORITHM or "hmac_sha256" in read:
            verified.digests.add(f"{name} {one}")


def check_draw_commitments(
    season: ArchivedSeason, verified: VerificationReport
) -> dict[TaskAndPhase, str]:
    """Check the commitments to random samples of public parts whose nonces the archive
    contains. Return the nonces of the random samples, keyed by task and phase.
    """
    nonces = {}
    for task in season["tasks"]:
        for phase in task["phases"]:
            draw = phase.get("draw") or {}
            if "nonce" not in draw:
                continue
            if compute_draw_commitment(draw["nonce"]) != draw["commitment"]:
                verified.differs(
                    f"{task['slug']}/{phase['slug']}: the nonce of the draw is not the one that the board "
                    "committed to"
                )
                continue
            verified.draws += 1
            nonces[task["slug"], phase["slug"]] = draw["nonce"]
    return nonces
