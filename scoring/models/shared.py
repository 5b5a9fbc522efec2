"""Rows that many others name instead of repeating what they hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, ClassVar, Self, TypeVar

from django.db import models

Row = TypeVar("Row", bound="SharedRow")


class SharedManager(models.Manager[Row]):
    def ids_of(self, rows: Sequence[Row]) -> list[int]:
        """The primary keys of rows with this content, in this order; those that are missing are added.

        Two transactions may add the same one: the second waits for the first. Rows are added in the order of
        their digests, so that they never wait for each other.
        """
        wanted = {row.set_digest(): row for row in rows}
        known = self._known(wanted)
        missing = sorted(wanted.keys() - known.keys())
        if missing:
            self.bulk_create([wanted[digest] for digest in missing], ignore_conflicts=True)
            known = self._known(wanted)
        return [known[row.digest] for row in rows]

    def _known(self, digests: dict[str, Row]) -> dict[str, int]:
        found = self.filter(digest__in=list(digests)).order_by()
        return dict(found.values_list("digest", "pk"))


class SharedRow(models.Model):
    """Never changed once it is there; found by the digest of its content."""

    digest = models.CharField(max_length=64, unique=True, help_text="SHA-256 of all else.")

    objects: ClassVar[SharedManager[Self]] = SharedManager()

    class Meta:
        abstract = True

    def set_digest(self) -> str:
        self.digest = hashlib.sha256(json.dumps(self._content()).encode()).hexdigest()
        return self.digest

    def _content(self) -> list[Any]:
        """In the order of the fields."""
        left_out = {"id", "digest"}
        return [
            getattr(self, field.attname) for field in self._meta.concrete_fields if field.name not in left_out
        ]
