"""Django system checks of the environment variables and the settings."""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from importlib.util import find_spec
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning as Caution, register

# Only the tests read the environment variables in _TEST_VARIABLE_SUFFIXES.
_TEST_VARIABLE_SUFFIXES = (
    "AXE SHARED TEST_CHANGED TEST_DATABASE_URL TEST_ONLY TEST_PROOFS TEST_REDIS_URL "
    "TEST_ROOT TEST_SINCE"
)
#: Environment variables with the prefix JUDGE_KEY_PREFIX contain API keys of LLM judges.
#: The file of judges, not the settings, names the variables that contain API keys.
JUDGE_KEY_PREFIX = "CITEBOARD_JUDGE_KEY_"
TEST_ENVIRONMENT_VARIABLES = tuple(
    f"CITEBOARD_{name}" for name in _TEST_VARIABLE_SUFFIXES.split()
)


@register("environment")
def check_plain_http_is_loopback(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Report plain HTTP except at a loopback address, as cookies would be unencrypted."""
    if settings.INSECURE_HTTP and not is_loopback(
        urlsplit(settings.BASE_URL).hostname or ""
    ):
        return [
            Error(
                f"CITEBOARD_INSECURE_HTTP is set although the site is reached as {settings.BASE_URL}",
                hint="Unset it and serve over HTTPS, or let CITEBOARD_BASE_URL be a loopback address.",
                id="citeboard.E001",
            )
        ]
    return []


@register("environment")
def check_environment_variable_names(
    app_configs: Any, **kwargs: Any
) -> list[CheckMessage]:
    return warn_about_unknown_variables(os.environ, list(settings.ENVIRONMENT.declared))


SETTING_VARIABLE_PREFIX = "CITEBOARD_"


def warn_about_unknown_variables(
    names: Iterable[str], declared: list[str]
) -> list[CheckMessage]:
    """Warn about variables that begin with `CITEBOARD_` but are not settings.

    The warning about an unknown variable suggests a setting with a similar name.
    """
    warnings: list[CheckMessage] = []
    own_parts = {name.removeprefix(SETTING_VARIABLE_PREFIX): name for name in declared}
    for name in sorted(names):
        if (
            name.startswith(SETTING_VARIABLE_PREFIX)
            and not name.startswith(JUDGE_KEY_PREFIX)
            and name not in {*declared, *TEST_ENVIRONMENT_VARIABLES}
        ):
            alike = get_close_matches(
                name.removeprefix(SETTING_VARIABLE_PREFIX), own_parts, n=1
            )
            close = [own_parts[part] for part in alike]
            hint = (
                f"Did you mean {close[0]}?"
                if close
                else "docs/settings.md lists the settings there are."
            )
            warnings.append(
                Caution(f"{name} is not a setting", hint=hint, id="citeboard.W001")
            )
    return warnings


@register("environment")
def check_queue_name_spelling(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Warn about queue names that resemble a common queue's name.

    Other names of queues are valid, because tasks may name any queue.
    """
    return [
        Caution(
            f"CITEBOARD_QUEUES names the queue {queue}, which no job is in by itself",
            hint=f"Did you mean {close[0]}? Tasks may name other queues.",
            id="citeboard.W003",
        )
        for queue in settings.QUEUES
        if queue not in COMMON_QUEUE_NAMES
        and (close := get_close_matches(queue, COMMON_QUEUE_NAMES, n=1))
    ]


COMMON_QUEUE_NAMES = ("light", "models", "gpu", "judges")


@register("environment")
def check_tracing_package_installed(
    app_configs: Any, **kwargs: Any
) -> list[CheckMessage]:
    if settings.TRACES_TO and find_spec("opentelemetry") is None:
        return [
            Caution(
                "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed: nothing is traced",
                hint="Run `pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http`.",
                id="citeboard.W004",
            )
        ]
    return []


@register("environment")
def check_sweep_interval_below_lease(
    app_configs: Any, **kwargs: Any
) -> list[CheckMessage]:
    if settings.SWEEP_SECONDS > settings.LEASE_SECONDS:
        return [
            Caution(
                f"CITEBOARD_SWEEP_SECONDS={settings.SWEEP_SECONDS} is longer than "
                f"CITEBOARD_LEASE_SECONDS={settings.LEASE_SECONDS}",
                hint="A job whose worker is gone is found only by a sweep; sweep at least once in a lease.",
                id="citeboard.W002",
            )
        ]
    return []


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
