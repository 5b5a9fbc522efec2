from typing import ClassVar

from django.db import models
from django.utils import timezone

from scoring.models.evaluations import Evaluation
from scoring.offline.merkle import compute_leaf_hash


class SigningKey(models.Model):
    """A key with which the site signs receipts. The private key is not stored, because
    it is derived from ``nonce`` and the site's secret key or read from the environment.
    """

    public = models.CharField(
        max_length=64, unique=True, help_text="Ed25519, as hexadecimal digits."
    )
    nonce = models.CharField(
        max_length=64,
        blank=True,
        help_text="Empty for a key that the environment gives.",
    )
    since = models.DateTimeField(default=timezone.now)
    retired_at = models.DateTimeField(null=True)
    signed_by = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        help_text="The key before this one.",
    )
    endorsement = models.CharField(
        max_length=128, blank=True, help_text="The signature of that key."
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["id"]

    def __str__(self) -> str:
        return self.public


class LogEntry(models.Model):
    """An entry of the append-only log of receipts. An entry has commitments that reveal
    nothing about the run, and entries are never deleted.
    """

    index = models.BigIntegerField(
        null=True, unique=True, help_text="Null until it has its place."
    )
    content = models.TextField(
        help_text="The commitments, byte by byte what is signed."
    )
    key = models.ForeignKey(
        SigningKey, on_delete=models.PROTECT, null=True, related_name="+"
    )
    signature = models.CharField(max_length=128, blank=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["index"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=models.Q(index=None, key=None, signature="")
                | models.Q(index__gte=0, key__isnull=False) & ~models.Q(signature=""),
                name="log_entry_in_its_place_is_signed",
            )
        ]

    def __str__(self) -> str:
        return f"entry {self.index}"

    @property
    def hash(self) -> str:
        return compute_leaf_hash(self.content.encode()).hex()


class LogNode(models.Model):
    """The hash of a complete subtree of the Merkle tree over the receipt log. The
    primary key is computed from the level and the index of the subtree.
    """

    place = models.BigIntegerField(primary_key=True)
    hash = models.BinaryField()

    def __str__(self) -> str:
        return str(self.place)


class LogHead(models.Model):
    """The size and the root hash of the receipt log, in a table with a single row. A
    process locks the row before it appends an entry to the receipt log.
    """

    size = models.BigIntegerField(default=0)
    root = models.CharField(max_length=64, blank=True)
    at = models.CharField(max_length=40, blank=True, help_text="As it is signed.")
    key = models.ForeignKey(
        SigningKey, on_delete=models.PROTECT, null=True, related_name="+"
    )
    signature = models.CharField(max_length=128, blank=True)

    def __str__(self) -> str:
        return f"{self.size} entries"


class Receipt(models.Model):
    """The nonces that open the commitments of an entry of the receipt log. Deleting a
    run deletes the run's nonces, so that nobody can link the log entry to the run.
    """

    entry = models.OneToOneField(
        LogEntry, on_delete=models.PROTECT, related_name="receipt"
    )
    evaluation = models.ForeignKey(
        Evaluation, on_delete=models.CASCADE, related_name="receipts"
    )
    openings = models.BinaryField(
        help_text="By field nonce and text, as JSON, compressed by zlib."
    )
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar[list[str]] = ["id"]

    def __str__(self) -> str:
        return f"receipt of {self.evaluation_id}"
