"""Declared tasks: the folders that seasons brought, by what they hold."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache

from django.db import models

from tasks.types import TaskType
from tasks.types.declared.folder import read_declaration


class Declaration(models.Model):
    """A folder as it was read. A row never changes: another folder is another row."""

    #: SHA-256 of its files.
    digest = models.CharField(max_length=64, primary_key=True)
    #: `declared:NAME@` and the beginning of the digest of what numbers rest on.
    slug = models.CharField(max_length=120, db_index=True)
    files: models.JSONField[dict[str, str]] = models.JSONField()
    kept_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.slug


def keep(task_type: TaskType) -> Declaration:
    """The row of a declared task, made where there is none yet."""
    assert task_type.declared is not None, "a built-in type is no row"
    files = dict(task_type.declared.files)
    text = json.dumps(files, ensure_ascii=False, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    row, _ = Declaration.objects.get_or_create(
        digest=digest, defaults={"slug": task_type.slug, "files": files}
    )
    return row


@lru_cache(maxsize=256)
def declared_type(digest: str) -> TaskType:
    return read_declaration(Declaration.objects.get(digest=digest).files)


def newest(slug: str) -> TaskType | None:
    """By the slug alone, under which several rows may differ in what people read."""
    row = Declaration.objects.filter(slug=slug).order_by("-kept_at", "digest").only("digest").first()
    return declared_type(row.digest) if row else None
