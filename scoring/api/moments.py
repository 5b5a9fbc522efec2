"""An instant as a program may write it."""

from __future__ import annotations

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from citeboard.core.instants import MAX_LENGTH, NoInstant, read_instant
from citeboard.core.words import sentence

HELP = "With an offset or a zone behind it, such as `2026-05-01 23:59 AoE`; UTC where it names none."


@extend_schema_field({"type": "string", "maxLength": MAX_LENGTH, "description": HELP})
class MomentField(serializers.DateTimeField):
    """As the forms and the season file take it."""

    def to_internal_value(self, value: Any) -> dt.datetime:
        if not isinstance(value, str) or len(value) > MAX_LENGTH:
            raise serializers.ValidationError(f"Not a text of at most {MAX_LENGTH} characters. {HELP}")
        try:
            return read_instant(value, ZoneInfo("UTC"))
        except NoInstant as refused:
            raise serializers.ValidationError(sentence(refused)) from refused
