"""API operations for signed receipts of evaluations, and for the log of receipts."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from citeboard.api.operations import get
from citeboard.api.own_runs import serialize_evaluations
from citeboard.api.serializers import build_model_serializer, build_serializer
from scoring.models import LogEntry, Receipt
from scoring.offline.receipts import COMMITTED_FIELDS, RECEIPT_FORMAT, RECEIPT_VERSION
from scoring.receipts import log
from scoring.results.board import visibility
from scoring.results.board.standings import find_board_and_row_of_run
from tasks.models import Season, Submission

RECEIPT_KEYS_WITHOUT_SCORES = ("task", "run", "scorer", "time")
#: Two scores count as equal if their value, interval and number of units are equal.
_COMPARED_NUMBER_FIELDS = ("value", "low", "high", "n")


def serialize_receipts(
    submission: Submission,
    audience: visibility.Audience,
    *,
    has_scores: bool,
    is_own: bool,
) -> list[dict[str, Any]]:
    """Return the receipts of a run, with the parts that the audience may see.

    If the board hides team names, only the run's own team sees the digest of the file.
    """
    phase = submission.phase
    told = serialize_evaluations(submission, audience) if has_scores else []
    numbers = {
        evaluation.pk: _extract_compared_numbers(said["metrics"])
        for evaluation, said in told
    }
    rows = (
        Receipt.objects.filter(evaluation__submission=submission)
        .select_related("entry__key")
        .prefetch_related("used_judgements__imports")
    )
    if at := visibility.find_freeze_time_for_audience(phase, audience):
        rows = rows.filter(created_at__lte=at)
    opened = [(row, log.read_openings(row)) for row in rows]
    # Receipts show scores only if the newest receipt has the scores the audience sees.
    newest = {row.evaluation_id: openings["scores"]["text"] for row, openings in opened}
    seen = {
        pk
        for pk, number in numbers.items()
        if pk in newest and _extract_compared_numbers(json.loads(newest[pk])) == number
    }
    head, receipts = log.read_signed_log_head(), []
    for row, openings in opened:
        fields: Sequence[str] = (
            COMMITTED_FIELDS
            if row.evaluation_id in seen
            else RECEIPT_KEYS_WITHOUT_SCORES
            if is_own
            else ()
        )
        if not is_own and not visibility.shows_teams(phase, audience):
            # The file's digest could reveal to other teams which team sent the run.
            fields = [name for name in fields if name != "run"]
        if fields:
            receipts.append(
                _serialize_receipt(row, {name: openings[name] for name in fields}, head)
            )
    return receipts


def _serialize_receipt(
    row: Receipt, openings: Mapping[str, Any], head: Mapping[str, Any] | None
) -> dict[str, Any]:
    entry, place = row.entry, None
    if entry.index is not None and head is not None:
        place = {
            "index": entry.index,
            "path": log.compute_inclusion_proof(entry.index, head["size"]),
            "head": head,
        }
    return {
        "format": RECEIPT_FORMAT,
        "version": RECEIPT_VERSION,
        "entry": entry.content,
        "key": entry.key.public if entry.key else "",
        "signature": entry.signature,
        "openings": openings,
        "log": place,
        **_serialize_withdrawn_judgements(row),
    }


def _serialize_withdrawn_judgements(row: Receipt) -> dict[str, Any]:
    """Return the withdrawn judgements on which the scores in a receipt depend.

    The signature of the receipt does not cover this list of judgements.
    """
    facts = [
        {"import": one.pk, "at": one.withdrawn_at.isoformat(), "reason": one.reason}
        for used in row.used_judgements.all()
        for one in used.imports.all()
        if one.withdrawn_at
    ]
    return {"withdrawn_judgements": facts} if facts else {}


def _extract_compared_numbers(
    metrics: Mapping[str, Mapping[str, Any]],
) -> dict[str, tuple[Any, ...]]:
    return {
        name: tuple(metric.get(part) for part in _COMPARED_NUMBER_FIELDS)
        for name, metric in metrics.items()
    }


def run_with_receipts_or_404(user: object, pk: int) -> tuple[Submission, bool]:
    """Return the run, and a boolean that is True for the user's own run.

    Raises Http404 if the user cannot see the run on any page.
    """
    runs = Submission.objects.filter(
        phase__task__season__in=Season.objects.visible_to(user).values("pk")
    )
    run = get_object_or_404(runs.select_related("phase__task__season"), pk=pk)
    is_own = visibility.may_see_outcome(run, user)
    if not is_own and find_board_and_row_of_run(run.phase, user, run.pk) is None:
        raise Http404
    return run, is_own


LogHeadSerializer = build_serializer(
    "Head",
    "The log with so many entries, as the site has signed it.",
    size=int,
    root=(str, "Of the Merkle tree, as RFC 9162 has it."),
    at=(str, "When it was signed, as it is signed."),
    key=str,
    signature=str,
)
SigningKeySerializer = build_serializer(
    "Key",
    "An Ed25519 key of the site.",
    public=str,
    since=dt.datetime,
    retired_at=dt.datetime | None,
    signed_by=serializers.CharField(
        allow_blank=True,
        help_text="The key before it; empty for the first, and where that was lost.",
    ),
    endorsement=serializers.CharField(
        allow_blank=True, help_text="Its signature by the key before it."
    ),
)
ReceiptLogSerializer = build_serializer(
    "Log",
    "The log of receipts as it stands, and every key that has signed in it.",
    head=LogHeadSerializer(
        allow_null=True, help_text="Null before the site has a key."
    ),
    keys=SigningKeySerializer(many=True),
)


LogEntrySerializer = build_model_serializer(
    LogEntry,
    "Commitments and their signature; they tell nothing without what opens them.",
    "index content key signature",
    "Entry",
    key=serializers.CharField(source="key.public"),
)
MerkleProofSerializer = build_serializer("Path", "A proof of RFC 9162.", path=list[str])
LogInclusionSerializer = build_serializer(
    "LogPlace",
    "Where an entry stands in the log.",
    index=int,
    path=(list[str], "Proves it, as RFC 9162 has it."),
    head=LogHeadSerializer(),
)
CommitmentOpeningSerializer = build_serializer(
    "Opening",
    "The commitment is the SHA-256 of the nonce's bytes and the text.",
    nonce=str,
    text=(str, "JSON, byte by byte as it was committed to."),
)
ReceiptSerializer = build_serializer(
    "Receipt",
    "What the site has signed of an evaluation.",
    format=str,
    version=int,
    entry=(str, "What is signed: commitments by field."),
    key=serializers.CharField(
        allow_blank=True, help_text="Empty until the receipt is in the log."
    ),
    signature=serializers.CharField(allow_blank=True),
    openings=serializers.DictField(
        child=CommitmentOpeningSerializer(),
        help_text="By field, of those that you may know; the others are sealed.",
    ),
    log=LogInclusionSerializer(
        allow_null=True, help_text="Null until it is in the log."
    ),
    withdrawn_judgements=serializers.ListField(
        child=serializers.DictField(),
        required=False,
        help_text="Not signed: imports of judgements behind the scores that were withdrawn since, with "
        "their number, time and reason; left out where there are none.",
    ),
)
InclusionQuery = build_serializer(
    "InclusionQuery",
    "Which entry, in the log of how many.",
    index=serializers.IntegerField(min_value=0, max_value=2**55),
    size=serializers.IntegerField(min_value=1, max_value=2**55),
)
ConsistencyQuery = build_serializer(
    "ConsistencyQuery",
    "Two sizes of the log.",
    first=serializers.IntegerField(min_value=1, max_value=2**55),
    second=serializers.IntegerField(min_value=1, max_value=2**55),
)


@get("log/", answers=ReceiptLogSerializer, is_open=True)
def receipt_log(request: Request) -> dict[str, Any]:
    """Return the signed head of the log of receipts, and the keys."""
    return {"head": log.read_signed_log_head(), "keys": log.describe_signing_keys()}


@get("log/entries/", pages=LogEntrySerializer, is_open=True)
def log_entries(request: Request) -> QuerySet[LogEntry]:
    """List the entries of the log of receipts, in order."""
    return LogEntry.objects.exclude(index=None).select_related("key")


@get(
    "log/inclusion/", query=InclusionQuery, answers=MerkleProofSerializer, is_open=True
)
def log_inclusion(request: Request, query: dict[str, int]) -> dict[str, list[str]]:
    """Return the proof that the log of receipts contains an entry."""
    _check_log_sizes(query["index"] + 1, query["size"])
    return {"path": log.compute_inclusion_proof(query["index"], query["size"])}


@get(
    "log/consistency/",
    query=ConsistencyQuery,
    answers=MerkleProofSerializer,
    is_open=True,
)
def log_consistency(request: Request, query: dict[str, int]) -> dict[str, list[str]]:
    """Return the proof that the log of receipts changed only by appending entries
    between two sizes.
    """
    _check_log_sizes(query["first"], query["second"])
    return {"path": log.compute_consistency_proof(query["first"], query["second"])}


def _check_log_sizes(smaller: int, larger: int) -> None:
    size = (log.read_signed_log_head() or {"size": 0})["size"]
    if not smaller <= larger <= size:
        raise serializers.ValidationError({"size": [f"the log has {size} entries"]})


@get(
    "submissions/<int:pk>/receipts/",
    role=run_with_receipts_or_404,
    answers=[ReceiptSerializer],
    is_open=True,
)
def receipts(request: Request, found: tuple[Submission, bool]) -> list[dict[str, Any]]:
    """List the receipts of a run, oldest first, with the content that you may see."""
    run, is_own = found
    has_scores = visibility.may_see_scores(run, request.user) if is_own else True
    return serialize_receipts(
        run,
        visibility.determine_audience(run.phase, request.user),
        has_scores=has_scores,
        is_own=is_own,
    )
