import hashlib
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlsplit

from dj_database_url import DBConfig, parse
from django.core.exceptions import ImproperlyConfigured
from django.core.management.utils import get_random_secret_key

#: A Markdown file that a setting names has at most MAX_MARKDOWN_BYTES bytes.
MAX_MARKDOWN_BYTES = 100_000

TRUE_SPELLINGS = ("1", "true", "yes", "on")
FALSE_SPELLINGS = ("0", "false", "no", "off")

T = TypeVar("T")


@dataclass(frozen=True)
class DocumentedVariable:
    name: str
    kind: str
    default: str
    about: str


class EnvironmentReader:
    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = values
        self.declared: dict[str, DocumentedVariable] = {}

    def text(self, name: str, default: str, about: str, *, shown: str = "") -> str:
        """Read an environment variable as text.

        ``shown`` describes the default value in the documentation of the settings.
        """
        self._document_variable(name, "text", shown or default or "none", about)
        return self._read_raw_value(name) or default

    def read_boolean(self, name: str, default: bool, about: str) -> bool:
        self._document_variable(name, "yes or no", "yes" if default else "no", about)
        return self._convert_value(
            name,
            default,
            _parse_boolean,
            f"one of {', '.join(TRUE_SPELLINGS + FALSE_SPELLINGS)}",
        )

    def choice(
        self,
        name: str,
        default: str,
        choices: Sequence[str],
        about: str,
        *,
        shown: str = "",
    ) -> str:
        self._document_variable(name, " or ".join(choices), shown or default, about)

        def parse_choice(text: str) -> str:
            return choices[[c.lower() for c in choices].index(text.lower())]

        return self._convert_value(
            name, default, parse_choice, f"one of {', '.join(choices)}"
        )

    def read_integer(
        self,
        name: str,
        default: int,
        about: str,
        *,
        low: int = 0,
        high: int | None = None,
        unit: str = "",
    ) -> int:
        kind = f"whole number of {unit}" if unit else "whole number"
        self._document_variable(name, kind, str(default), about)
        bounds = f"from {low} to {high}" if high is not None else f"of at least {low}"

        def parse_bounded_integer(text: str) -> int:
            number = int(text)
            if number < low or (high is not None and number > high):
                raise ValueError
            return number

        return self._convert_value(
            name, default, parse_bounded_integer, f"a {kind} {bounds}"
        )

    def read_proxy_count(self, name: str, about: str) -> int:
        self._document_variable(name, "yes, no or a number", "no", about)

        def parse_proxy_count(text: str) -> int:
            return (
                int(text)
                if text.isdecimal() and int(text) < 10
                else int(_parse_boolean(text))
            )

        return self._convert_value(
            name, 0, parse_proxy_count, "yes, no or a number of proxies below 10"
        )

    def seconds(self, name: str, default: int, about: str, *, low: int = 1) -> int:
        return self.read_integer(name, default, about, low=low, unit="seconds")

    def folder(self, name: str, default: Path, about: str, *, shown: str) -> Path:
        self._document_variable(name, "absolute path", shown, about)

        def parse_absolute_path(text: str) -> Path:
            path = Path(text).expanduser()
            if not path.is_absolute():
                raise ValueError
            return path

        return self._convert_value(
            name, default, parse_absolute_path, "an absolute path"
        )

    def read_markdown_file(self, name: str, about: str) -> str:
        self._document_variable(name, "absolute path", "none", about)

        def load_markdown_file(text: str) -> str:
            path = Path(text).expanduser()
            try:
                content = path.read_bytes() if path.is_absolute() else b""
            except OSError as missing:
                raise ValueError from missing
            decoded = content.decode("utf-8-sig")
            if not decoded.strip() or len(content) > MAX_MARKDOWN_BYTES:
                raise ValueError
            return decoded

        return self._convert_value(
            name,
            "",
            load_markdown_file,
            "the absolute path of a file in UTF-8 that is not empty and has at most 100 kB",
        )

    def names(
        self, name: str, default: Sequence[str], about: str, *, shown: str = "none"
    ) -> list[str]:
        self._document_variable(name, "names, separated by commas", shown, about)
        raw = self._read_raw_value(name)
        return (
            list(default)
            if raw is None
            else [word.strip() for word in raw.split(",") if word.strip()]
        )

    def read_web_address(
        self, name: str, default: str, about: str, *, shown: str
    ) -> str:
        self._document_variable(name, "address", shown, about)

        def parse_web_address(text: str) -> str:
            parts = urlsplit(text)
            if (
                parts.scheme not in ("http", "https")
                or not parts.hostname
                or parts.path.strip("/")
            ):
                raise ValueError
            if parts.port == 0 or parts.query or parts.fragment or parts.username:
                raise ValueError
            return text.rstrip("/")

        return self._convert_value(
            name,
            default,
            parse_web_address,
            "an address such as https://board.example.org",
        )

    def read_hexadecimal(
        self, name: str, digits: int, about: str, *, shown: str
    ) -> str:
        self._document_variable(name, f"{digits} hexadecimal digits", shown, about)

        def parse_hexadecimal(text: str) -> str:
            if len(bytes.fromhex(text)) * 2 != digits or len(text) != digits:
                raise ValueError
            return text

        return self._convert_value(
            name, "", parse_hexadecimal, f"{digits} hexadecimal digits", secret=True
        )

    def read_redis_address(self, name: str, about: str) -> str:
        self._document_variable(name, "address", "none", about)

        def parse_redis_address(text: str) -> str:
            if urlsplit(text).scheme not in ("redis", "rediss", "unix"):
                raise ValueError
            return text

        return self._convert_value(
            name,
            "",
            parse_redis_address,
            "an address such as redis://127.0.0.1:6379/0",
            secret=True,
        )

    def read_bucket_address(
        self, name: str, about: str, *, shown: str
    ) -> "BucketAddress | None":
        self._document_variable(name, "address", shown, about)
        expected = "the address of a bucket such as s3://name?endpoint=https://s3.example.org, without credentials"  # noqa: E501
        return self._convert_value(name, None, parse_bucket_url, expected, secret=True)

    def database(self, name: str, default: str, about: str, *, shown: str) -> DBConfig:
        self._document_variable(name, "address", shown, about)
        expected = "a SQLite or PostgreSQL address such as postgres://user:password@host:5432/name"
        return self._convert_value(
            name, parse(default), _parse_database_url, expected, secret=True
        )

    def _document_variable(
        self, name: str, kind: str, default: str, about: str
    ) -> None:
        if name in self.declared:
            raise ValueError(f"{name} is declared twice")
        self.declared[name] = DocumentedVariable(
            name=name, kind=kind, default=default, about=about
        )

    def _read_raw_value(self, name: str) -> str | None:
        return self.values.get(name, "").strip() or None

    def _convert_value(
        self,
        name: str,
        default: T,
        convert: Callable[[str], T],
        expected: str,
        *,
        secret: bool = False,
    ) -> T:
        raw = self._read_raw_value(name)
        if raw is None:
            return default
        try:
            return convert(raw)
        except (ValueError, KeyError) as reason:
            # The error message is logged, so the message omits the value of a secret.
            shown = "its value" if secret else f'"{raw}"'
            raise ImproperlyConfigured(f"{name}: {shown} is not {expected}") from reason


def _parse_boolean(text: str) -> bool:
    word = text.lower()
    if word not in TRUE_SPELLINGS + FALSE_SPELLINGS:
        raise ValueError
    return word in TRUE_SPELLINGS


def _parse_database_url(text: str) -> DBConfig:
    config = parse(text)
    if config.get("ENGINE") not in (
        "django.db.backends.sqlite3",
        "django.db.backends.postgresql",
    ):
        raise ValueError
    if not config.get("NAME"):
        raise ValueError
    return config


SQLITE_WRITER_WAIT_SECONDS = 20  # seconds that a writer waits for another writer
#: The unit of connect_timeout is a second, and of tcp_user_timeout a millisecond.
#: With SERVER_TIMEOUTS's timeouts, pages report an unavailable database within five seconds.
POSTGRES_CONNECTION_TIMEOUTS = {"connect_timeout": 3, "tcp_user_timeout": 4000}
#: Opening SQLite's file takes four times as long as rendering a cached board.
#: Connections to SQLite stay open, and Django checks each connection before reuse.
PERSISTENT_CONNECTION_SETTINGS = {"CONN_MAX_AGE": 600, "CONN_HEALTH_CHECKS": True}
#: A negative cache_size is in KiB. SQLite's default, 2 MB, is memory of each thread with a connection.
#: The operating system caches the database's file once for all threads and processes.
SQLITE_INIT_COMMAND = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-512;"
)


def configure_for_many_writers(config: DBConfig) -> dict[str, Any]:
    """Return connection settings that let web processes and workers share the database.

    With SQLite's write-ahead log, a transaction that reads first and writes later fails
    at once if another transaction wrote in between, whatever the timeout. A transaction
    that begins as IMMEDIATE waits for the write lock.
    """
    if config["ENGINE"] != "django.db.backends.sqlite3":
        options = {**POSTGRES_CONNECTION_TIMEOUTS, **config.get("OPTIONS", {})}
        return {
            **config,
            **PERSISTENT_CONNECTION_SETTINGS,
            "ENGINE": "citeboard.core.postgres",
            "OPTIONS": options,
        }
    options = {
        **config.get("OPTIONS", {}),
        "transaction_mode": "IMMEDIATE",
        "timeout": SQLITE_WRITER_WAIT_SECONDS,
        "init_command": SQLITE_INIT_COMMAND,
    }
    return {
        **config,
        **PERSISTENT_CONNECTION_SETTINGS,
        "ENGINE": "citeboard.core.sqlite",
        "OPTIONS": options,
    }


def build_database_settings(address: str) -> dict[str, Any]:
    """Return Django's settings for a database URL.

    Raises ValueError, whose message omits the URL, because URLs may contain passwords.
    """
    try:
        return configure_for_many_writers(_parse_database_url(address))
    except (ValueError, KeyError):
        raise ValueError(
            "expected an address such as postgres://user:password@host:5432/name"
        ) from None


@dataclass(frozen=True, kw_only=True)
class BucketAddress:
    name: str
    prefix: str = ""
    endpoint: str | None = None
    region: str | None = None
    addressing: str = "auto"

    def __str__(self) -> str:
        return f"s3://{self.name}{'/' if self.prefix else ''}{self.prefix}"


def parse_bucket_url(address: str) -> BucketAddress:
    """Parse the URL of a bucket for backups or files.

    In ``s3://NAME/PREFIX?endpoint=URL&region=NAME&addressing=path``, all parts except
    NAME are optional.
    """
    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
    prefix = parts.path.strip("/")
    server = urlsplit(options.get("endpoint", "https://amazon"))
    is_sound = (
        parts.scheme == "s3"
        and parts.netloc
        and not {"@", ":"} & set(parts.netloc)
        and not parts.fragment
        and not {"", ".", ".."} & set(prefix.split("/") if prefix else ())
        and set(options) <= {"endpoint", "region", "addressing"}
        and options.get("addressing", "auto") in ("auto", "path", "virtual")
        and server.scheme in ("http", "https")
        and server.hostname
        and not server.username
    )
    if not is_sound:
        raise ValueError
    return BucketAddress(name=parts.netloc, prefix=prefix, **options)


def build_storage_settings(
    bucket: BucketAddress | None, folder: Path
) -> dict[str, Any]:
    options: dict[str, Any]
    if bucket is None:
        options = {"location": folder, "base_url": None}
        options |= {"file_permissions_mode": 0o600, "directory_permissions_mode": 0o700}
        return {"BACKEND": "citeboard.core.storage.DiskStorage", "OPTIONS": options}
    options = {
        "bucket_name": bucket.name,
        "location": bucket.prefix,
        "endpoint_url": bucket.endpoint,
    }
    options |= {"region_name": bucket.region, "addressing_style": bucket.addressing}
    return {
        "BACKEND": "citeboard.core.storage.bucket.BucketStorage",
        "OPTIONS": options,
    }


DATA_SUBFOLDERS = ("files", "incoming", "static")
MIN_SECRET_KEY_LENGTH = 50


def create_data_folder(path: Path) -> Path:
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        for part in DATA_SUBFOLDERS:
            (path / part).mkdir(mode=0o700, exist_ok=True)
    except OSError as reason:
        raise ImproperlyConfigured(
            f"CITEBOARD_DATA_DIR: {path} cannot be made a folder ({reason.strerror})"
        ) from reason
    if not os.access(path, os.W_OK | os.X_OK):
        raise ImproperlyConfigured(f"CITEBOARD_DATA_DIR: {path} cannot be written to")
    return path


def choose_work_folder(data: Path) -> Path:
    digest = hashlib.sha256(str(data).encode()).hexdigest()
    return Path("/var/tmp") / f"citeboard-{os.geteuid()}-{digest[:8]}"  # noqa: S108  (checked when it is used)


def create_private_folder(path: Path) -> Path:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    state = path.lstat()
    is_ours = (
        stat.S_ISDIR(state.st_mode)
        and state.st_uid == os.geteuid()
        and not state.st_mode & 0o077
    )
    if path.parent.stat().st_mode & stat.S_IWOTH and not is_ours:
        raise ImproperlyConfigured(
            f"{path} is not a folder of this user alone, and anybody can make one there; remove it, or name "
            "another folder of this machine in CITEBOARD_WORK_DIR"
        )
    return path


def load_or_create_secret_key(path: Path) -> str:
    """Return the site's secret key, which the file ``path`` contains.

    At the first start, each process writes a draft file with a key. The key of the
    first draft that is linked to ``path`` becomes the secret key.
    """
    if not path.exists():
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(get_random_secret_key())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    key = path.read_text(encoding="ascii").strip()
    if len(key) < MIN_SECRET_KEY_LENGTH:
        raise ImproperlyConfigured(
            f"{path} holds no usable secret key; remove it and a new key is made (everyone signs in anew)"
        )
    return key
