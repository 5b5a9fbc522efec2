"""Read the operator's file `judges.toml`, which declares the judges that a site or a
command line may ask, and their keys.

For each key, the file names an environment variable or another file that contains the
key. The classes of this module do not store keys, so that no log, error or page can
show a key.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tasks.types.guarded.toml_reader import read_toml
from tasks.types.ledger import MAX_JUDGE_NAME_CHARACTERS
from tasks.types.problems import (
    Problem,
    SoftwareUnavailable,
    raise_if_any_problem_is_fatal,
)

CHAT_JUDGE_KIND, ENTAILMENT_JUDGE_KIND = "chat", "entailment"
#: Names of environment variables with judges' keys must have this prefix.
KEY_VARIABLE_PREFIX = "CITEBOARD_JUDGE_KEY_"
MAX_CONCURRENT_REQUESTS, MAX_TIMEOUT_SECONDS, MAX_REPLY_TOKENS = 256, 3600, 32_768
MAX_KEY_CHARACTERS = 4096
_KEY_VARIABLE_PATTERN = re.compile(f"env:({KEY_VARIABLE_PREFIX}[A-Z0-9_]+)")
_CURRENCY_PATTERN = re.compile("[A-Z]{3}")


@dataclass(frozen=True)
class TokenPrice:
    """Price per million tokens."""

    input: Decimal
    output: Decimal
    currency: str

    def of(self, input_tokens: int, output_tokens: int) -> Decimal:
        return (input_tokens * self.input + output_tokens * self.output) / 1_000_000


@dataclass(frozen=True, kw_only=True)
class ChatJudge:
    """An endpoint with OpenAI's chat API.

    ``key`` names the environment variable or file with the key, and is empty for
    endpoints without a key.
    """

    name: str
    address: str
    model: str
    key: str = ""
    temperature: float = 0.0
    max_tokens: int = 200
    timeout: float = 60.0
    at_once: int = 16
    price: TokenPrice | None = None
    kind = CHAT_JUDGE_KIND

    @property
    def model_name(self) -> str:
        """Return the name of the endpoint's model, as pages show it."""
        return self.model

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc

    def secret(self) -> str:
        """Read the endpoint's key. Raises Unavailable, with the name of the variable or
        file in the message but without the key.
        """
        source, _, name = self.key.partition(":")
        if not source:
            return ""
        if source == "env":
            secret, place = os.environ.get(name, ""), f"the variable {name}"
        else:
            place = f"the file {name}"
            try:
                with Path(name).open(encoding="utf-8") as file:
                    secret = file.read(MAX_KEY_CHARACTERS + 1)
            except (OSError, UnicodeError) as fault:
                raise SoftwareUnavailable(
                    f"{place} with the key of {self.name} cannot be read"
                ) from fault
        secret = secret.strip()
        if not secret:
            raise SoftwareUnavailable(f"{place} with the key of {self.name} is empty")
        if len(secret) > MAX_KEY_CHARACTERS or not (
            secret.isascii() and secret.isprintable()
        ):
            raise SoftwareUnavailable(f"{place} does not hold a key that can be sent")
        return secret


@dataclass(frozen=True, kw_only=True)
class LocalJudge:
    """A local entailment model, which is a sequence-to-sequence model or a
    cross-encoder.
    """

    name: str
    model: str
    device: str = "auto"
    batch: int = 8
    kind = ENTAILMENT_JUDGE_KIND
    price: TokenPrice | None = None

    @property
    def model_name(self) -> str:
        """Return the name of the model without its parent folders, as pages show it."""
        return Path(self.model).name if Path(self.model).is_absolute() else self.model


DeclaredJudge = ChatJudge | LocalJudge
FIELDS_BY_JUDGE_KIND: Mapping[str, frozenset[str]] = {
    CHAT_JUDGE_KIND: frozenset(
        {
            "name",
            "kind",
            "address",
            "model",
            "key",
            "temperature",
            "max_tokens",
            "timeout",
            "at_once",
            "price",
        }
    ),
    ENTAILMENT_JUDGE_KIND: frozenset(("name", "kind", "model", "device", "batch")),
}


class _InvalidJudgeDeclaration(Exception):
    def __init__(self, message: str, expected: str) -> None:
        self.message, self.expected = message, expected
        super().__init__(message)


def read_judges_file(path: Path) -> dict[str, DeclaredJudge]:
    """Read the file in which the operator declares judges. Raises InputRefused with all
    faults. The messages of InputRefused contain no keys.
    """
    try:
        said = read_toml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as fault:
        raise SoftwareUnavailable(
            f"the file of judges {path} cannot be read"
        ) from fault
    except ValueError as fault:
        problem = Problem(file=path.name, message=str(fault), expected="TOML")
        raise_if_any_problem_is_fatal([problem])
        raise AssertionError from fault
    judges: dict[str, DeclaredJudge] = {}
    problems: list[Problem] = []
    tables = said.get("judge", [])
    if said.keys() - {"judge"} or not isinstance(tables, list):
        problems.append(
            Problem(
                file=path.name,
                message="there is more in it than tables “[[judge]]”",
                expected="a table “[[judge]]” for each judge",
            )
        )
        tables = []
    for number, table in enumerate(tables, 1):
        try:
            judge = _parse_judge(table, judges)
        except _InvalidJudgeDeclaration as fault:
            problems.append(
                Problem(
                    file=path.name,
                    message=f"judge {number}: {fault.message}",
                    expected=fault.expected,
                )
            )
            continue
        judges[judge.name] = judge
    raise_if_any_problem_is_fatal(problems)
    return judges


def _parse_judge(table: Any, earlier: Mapping[str, object]) -> DeclaredJudge:
    if not isinstance(table, dict):
        raise _InvalidJudgeDeclaration("it is no table", "a table “[[judge]]”")
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in FIELDS_BY_JUDGE_KIND:
        raise _InvalidJudgeDeclaration(
            "“kind” is missing or unknown", " or ".join(FIELDS_BY_JUDGE_KIND)
        )
    if unknown := sorted(table.keys() - FIELDS_BY_JUDGE_KIND[kind]):
        raise _InvalidJudgeDeclaration(
            f"“{unknown[0]}” is no field of it",
            ", ".join(sorted(FIELDS_BY_JUDGE_KIND[kind])),
        )
    name = _parse_text_setting(table, "name")
    if name in earlier:
        raise _InvalidJudgeDeclaration(
            f"a second judge is called “{name}”", "a name for each judge"
        )
    if len(name) > MAX_JUDGE_NAME_CHARACTERS:
        raise _InvalidJudgeDeclaration(
            "“name” is too long", f"at most {MAX_JUDGE_NAME_CHARACTERS} characters"
        )
    if kind == ENTAILMENT_JUDGE_KIND:
        return LocalJudge(
            name=name,
            model=_parse_text_setting(table, "model"),
            device=_parse_text_setting(table, "device", "auto"),
            batch=_parse_number_setting(table, "batch", 8, 1, 1024, whole=True),
        )
    return ChatJudge(
        name=name,
        address=_parse_endpoint_address(_parse_text_setting(table, "address")),
        model=_parse_text_setting(table, "model"),
        key=_parse_key_source(table.get("key", "")),
        temperature=_parse_number_setting(table, "temperature", 0.0, 0, 2),
        max_tokens=_parse_number_setting(
            table, "max_tokens", 200, 1, MAX_REPLY_TOKENS, whole=True
        ),
        timeout=_parse_number_setting(table, "timeout", 60.0, 0.1, MAX_TIMEOUT_SECONDS),
        at_once=_parse_number_setting(
            table, "at_once", 16, 1, MAX_CONCURRENT_REQUESTS, whole=True
        ),
        price=_parse_token_price(table.get("price")),
    )


def _parse_text_setting(table: Mapping[str, Any], name: str, default: str = "") -> str:
    value = table.get(name, default)
    is_fine = isinstance(value, str) and value.isprintable() and value == value.strip()
    if not is_fine or not value:
        raise _InvalidJudgeDeclaration(
            f"“{name}” is missing or no such text", "printable characters"
        )
    return str(value)


def _parse_number_setting(
    table: Mapping[str, Any],
    name: str,
    default: Any,
    low: float,
    high: float,
    *,
    whole: bool = False,
) -> Any:
    value = table.get(name, default)
    kinds: Any = int if whole else (int, float)
    if (
        isinstance(value, bool)
        or not isinstance(value, kinds)
        or not (math.isfinite(value) and low <= value <= high)
    ):
        number = "a whole number" if whole else "a number"
        raise _InvalidJudgeDeclaration(
            f"“{name}” is no such number", f"{number} from {low} to {high}"
        )
    return value if whole else float(value)


def _parse_endpoint_address(text: str) -> str:
    expected = "https://HOST/PATH, without user, query or fragment"
    try:
        parts = urlsplit(text)
        has_port = parts.port != 0
    except ValueError as fault:
        raise _InvalidJudgeDeclaration("“address” is no address", expected) from fault
    if parts.username is not None or parts.password is not None:
        # Organisers and teams see addresses, so an address must not contain a password.
        raise _InvalidJudgeDeclaration("“address” contains a user", expected)
    if (
        parts.scheme not in ("https", "http")
        or not (parts.hostname and has_port)
        or parts.query
        or parts.fragment
        or not text.isascii()
    ):
        raise _InvalidJudgeDeclaration("“address” is no such address", expected)
    return text.rstrip("/")


def _parse_key_source(value: Any) -> str:
    if value == "":
        return ""
    expected = f"“env:{KEY_VARIABLE_PREFIX}…” or “file:/PATH”"
    # The message must not contain the value of “key”, which may be a key.
    if not isinstance(value, str):
        raise _InvalidJudgeDeclaration("“key” is no text", expected)
    if _KEY_VARIABLE_PATTERN.fullmatch(value) or (
        value.startswith("file:/") and value.isprintable()
    ):
        return value
    raise _InvalidJudgeDeclaration("“key” does not name the place of a key", expected)


def _parse_token_price(value: Any) -> TokenPrice | None:
    if value is None:
        return None
    if not isinstance(value, dict) or value.keys() != {"input", "output", "currency"}:
        raise _InvalidJudgeDeclaration(
            "“price” is incomplete", "input, output and currency"
        )
    currency = value["currency"]
    if not isinstance(currency, str) or not _CURRENCY_PATTERN.fullmatch(currency):
        raise _InvalidJudgeDeclaration(
            "“currency” is no such text", "three capital letters"
        )
    per_million = {
        name: Decimal(str(_parse_number_setting(value, name, None, 0, 100_000)))
        for name in ("input", "output")
    }
    return TokenPrice(**per_million, currency=currency)
