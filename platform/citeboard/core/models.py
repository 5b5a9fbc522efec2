from __future__ import annotations

import datetime as dt
from typing import Any

from django.conf import settings
from django.db import models
from django.utils import timezone

from citeboard.core import actions
from citeboard.core.instants import convert_setting_for_api

MAX_ACTOR_NAME_LENGTH, MAX_SUBJECT_LENGTH = 120, 200


def build_text_field_with_default(
    max_length: int, words: Any = None, **options: Any
) -> models.CharField[str, str]:
    """Return a text field whose default is an empty text, also for rows that exist
    before the field is added.
    """
    return models.CharField(
        words, max_length=max_length, blank=True, default="", db_default="", **options
    )


def build_json_field_with_default(
    kind: type[Any], help_text: Any, words: Any = None, **options: Any
) -> Any:
    empty = models.Value(kind(), models.JSONField())
    return models.JSONField(
        words, default=kind, db_default=empty, help_text=help_text, **options
    )


class AuditEntry(models.Model):
    """An entry of the history about a user action. A service writes the history entry
    in the same database transaction as the action.
    """

    at = models.DateTimeField(default=timezone.now)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
    )
    actor_name = models.CharField(
        max_length=MAX_ACTOR_NAME_LENGTH, help_text="What the person was called then."
    )
    action = models.CharField(
        max_length=60, help_text="What was done, for programs: `team-approved`."
    )
    facts: models.JSONField[dict[str, Any] | None] = models.JSONField(
        null=True,
        blank=True,
        help_text="What its sentence names; null where only the text was kept.",
    )
    text = models.CharField(
        max_length=actions.MAX_SENTENCE_LENGTH,
        db_column="words",
        help_text="What was done, in English, as it was written.",
    )
    subject_type = models.CharField(max_length=60)
    subject_id = models.BigIntegerField()
    subject = models.CharField(max_length=MAX_SUBJECT_LENGTH)
    place_type = models.CharField(max_length=60)
    place_id = models.BigIntegerField()
    changes: models.JSONField[list[dict[str, Any]]] = build_json_field_with_default(
        list, "What it turned into what: key, before and after."
    )

    class Meta:
        verbose_name_plural = "audit entries"
        ordering = ["-at", "-id"]
        indexes = [
            models.Index(
                fields=["place_type", "place_id", "-at"], name="audit_of_a_place"
            )
        ]

    def __str__(self) -> str:
        return f"{self.actor_name} {self.words}"

    @property
    def who(self) -> str:
        return actions.translate_actor_name(self.actor_name)

    @property
    def words(self) -> str:
        try:
            return (
                self.text
                if self.facts is None
                else actions.render_action_sentence(self.action, self.facts)
            )
        except KeyError:
            return self.text

    @property
    def told_changes(self) -> list[dict[str, Any]]:
        parts = ("before", "after")
        return [
            change
            | {
                part: convert_setting_for_api(change["key"], change[part])
                for part in parts
            }
            for change in self.changes
        ]


class Limit(models.Model):
    """A counter of attempts or requests that all processes share.

    The cache backend `RateLimitCache` reads and writes the rows of this model.
    """

    key = models.CharField(max_length=300, primary_key=True)
    value = models.TextField()
    expires_at = models.FloatField("expires at, in seconds since 1970", db_index=True)

    class Meta:
        db_table = "core_limit"

    def __str__(self) -> str:
        return self.key


class SchemaEpoch(models.Model):
    """The schema epoch of the database. A migration raises the schema epoch if it
    removes a table or column that earlier releases use. The module
    `citeboard.core.database` compares the schema epoch with the release.
    """

    number = models.PositiveIntegerField(primary_key=True)
    since = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"epoch {self.number}"


class LastDone(models.Model):
    name = models.CharField(max_length=60, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name


class Heartbeat(models.Model):
    """The time at which a machine last wrote to the database. The module
    `citeboard.core.writability` writes the rows of this model.
    """

    machine = models.CharField(max_length=60, primary_key=True)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.machine


def save_time_of_last_run(name: str, at: dt.datetime) -> None:
    LastDone.objects.update_or_create(name=name, defaults={"at": at})


def find_time_of_last_run(name: str) -> dt.datetime | None:
    return LastDone.objects.filter(name=name).values_list("at", flat=True).first()
