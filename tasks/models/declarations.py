"""A declared task is a task type that a folder with `task.toml` defines. Each version
of a folder is stored under its digest.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache

from django.conf import settings
from django.db import models
from django.db.models import SET_NULL

from citeboard.core.confinement import is_fully_confined
from tasks.types import TaskType
from tasks.types.declared import folder, official_program, own_measures


class Declaration(models.Model):
    """A task folder. A row never changes, because a changed task folder becomes a new
    row.
    """

    digest = models.CharField(max_length=64, primary_key=True)
    #: The slug is `declared:NAME@` and a digest prefix of the files that affect scores.
    slug = models.CharField(max_length=120, db_index=True)
    files: models.JSONField[dict[str, str]] = models.JSONField()
    kept_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.slug


class MeasuresFile(models.Model):
    """The text of a `measures.py` or `program.json` that an organiser has uploaded. The
    site runs the text only after staff have approved it.
    """

    digest = models.CharField(max_length=64, unique=True)
    text = models.TextField()
    season = models.ForeignKey(
        "tasks.Season", on_delete=SET_NULL, null=True, related_name="+"
    )
    brought_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=SET_NULL, null=True, related_name="+"
    )
    brought_at = models.DateTimeField(auto_now_add=True)
    approved_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        name = (
            official_program.PROGRAM_FILE_NAME
            if self.is_official_program
            else own_measures.MEASURES_FILE_NAME
        )
        return f"{name} {self.digest[:12]}"

    @property
    def is_official_program(self) -> bool:
        return official_program.is_program_json(self.text)


def can_run_measures(text: str) -> bool:
    if own_measures.is_trusted_measures_file(text):
        return True
    if settings.OWN_MEASURES == "nobody" or not is_fully_confined():
        return False
    brought = MeasuresFile.objects.filter(
        digest=own_measures.compute_measures_digest(text)
    )
    return (
        brought
        if settings.OWN_MEASURES == "organisers"
        else brought.exclude(approved_at=None)
    ).exists()


def store_declaration(task_type: TaskType) -> Declaration:
    assert task_type.declared is not None, "a built-in type is no row"
    files = dict(task_type.declared.files)
    digest = hashlib.sha256(
        json.dumps(files, ensure_ascii=False, sort_keys=True).encode()
    ).hexdigest()
    facts = {"slug": task_type.slug, "files": files}
    row, _ = Declaration.objects.get_or_create(digest=digest, defaults=facts)
    return row


@lru_cache(maxsize=256)
def load_declared_type(digest: str) -> TaskType:
    files = Declaration.objects.get(digest=digest).files
    return folder.read_declaration(files, parses_program=False)


def load_newest_declared_type(slug: str) -> TaskType | None:
    """Return the newest declared task type with the slug. Folders with the same slug
    may differ in texts that do not change scores.
    """
    row = (
        Declaration.objects.filter(slug=slug)
        .order_by("-kept_at", "digest")
        .only("digest")
        .first()
    )
    return load_declared_type(row.digest) if row else None
