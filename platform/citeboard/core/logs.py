"""Log formats for people (text) and programs (JSON), with the id of the request."""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from citeboard.core.words import join_lines

request_id: ContextVar[str] = ContextVar("request_id", default="-")

_STANDARD_RECORD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {
    "message",
    "asctime",
    "request_id",
}


class RequestIdFilter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        name = request_id.get()
        if name == "-":
            name = (
                getattr(getattr(record, "request", None), "id", "")
                or getattr(record, "trace", "")
                or "-"
            )
        record.request_id = name
        return True


class RefusedRequestFilter(logging.Filter):
    """A logging filter that replaces the traceback of a refused request with the
    exception's message.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if not 400 <= getattr(record, "status_code", 0) < 500:
            return True
        refused = record.exc_info[1] if record.exc_info else None
        if refused is not None:
            words = join_lines(refused)
            text = record.getMessage()
            record.msg, record.args = (
                "%s",
                (text if not words or words in text else f"{text} ({words})",),
            )
            record.exc_info = record.exc_text = None
        return True


class TextLineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return (
            super()
            .format(record)
            .replace("\n", f"\n    [{getattr(record, 'request_id', '-')}] ")
        )


class JsonLineFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(
                timespec="milliseconds"
            ),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
            "request_id": getattr(record, "request_id", "-"),
        }
        line |= {
            name: value
            for name, value in vars(record).items()
            if name not in _STANDARD_RECORD_FIELDS
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def build_logging_config(*, form: str, level: str) -> dict[str, Any]:
    text = {
        "()": TextLineFormatter,
        "format": "{asctime} {levelname} {name} [{request_id}] {message}",
        "style": "{",
    }
    stderr = {
        "class": "logging.StreamHandler",
        "formatter": form,
        "filters": ["request_id", "refusals"],
    }
    # The log omits Django Q's messages about steps, because the site logs jobs itself.
    level_of_queue = "DEBUG" if level == "DEBUG" else "WARNING"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {
            "request_id": {"()": RequestIdFilter},
            "refusals": {"()": RefusedRequestFilter},
        },
        "formatters": {"text": text, "json": {"()": JsonLineFormatter}},
        "handlers": {"stderr": stderr},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django": {"handlers": [], "level": level, "propagate": True},
            # Django's templates log each missing variable with a traceback at DEBUG.
            "django.template": {"level": "INFO"},
            # psycopg logs each failed connection, but the site logs each outage once.
            "psycopg.pool": {"level": "DEBUG" if level == "DEBUG" else "ERROR"},
            "django-q": {
                "handlers": ["stderr"],
                "level": level_of_queue,
                "propagate": False,
            },
        },
    }
