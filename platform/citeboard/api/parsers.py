"""Parse JSON in the body of API requests."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser

from tasks.types.guarded.json_reader import JSON, read_json


class JsonObjectParser(JSONParser):
    """Parse a JSON object whose keys are form fields. The size limit of the body equals
    that of HTML forms.
    """

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        limits = replace(JSON, size=settings.DATA_UPLOAD_MAX_MEMORY_SIZE)
        encoding = (parser_context or {}).get("encoding", settings.DEFAULT_CHARSET)
        content = stream.read(limits.size + 1)
        try:
            sent = read_json(content.decode(encoding), limits)
        except ValueError as fault:
            raise ParseError(f"JSON parse error - {fault}") from fault
        if not isinstance(sent, dict):
            raise ParseError("Send a JSON object whose members are the fields.")
        return sent
