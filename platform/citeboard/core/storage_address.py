"""Where the site keeps its files: a folder of this machine, or a bucket behind the S3 protocol."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

ADDRESSING = ("auto", "path", "virtual")


@dataclass(frozen=True, kw_only=True)
class Bucket:
    """A bucket, and the beginning of the names in it that are the site's own."""

    name: str
    prefix: str = ""
    endpoint: str | None = None
    region: str | None = None
    addressing: str = "auto"

    def __str__(self) -> str:
        return f"s3://{self.name}{'/' if self.prefix else ''}{self.prefix}"


def bucket_at(address: str) -> Bucket:
    """``s3://NAME/PREFIX?endpoint=URL&region=NAME&addressing=path``, of which the name alone is needed.

    Raises ValueError. Credentials have no place in it: they come by AWS's own variables or files.
    """
    parts = urlsplit(address)
    given = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
    prefix = parts.path.strip("/")
    is_sound = (
        parts.scheme == "s3"
        and parts.netloc
        and not {"@", ":"} & set(parts.netloc)
        and not parts.fragment
        and not {"", ".", ".."} & set(prefix.split("/") if prefix else ())
        and set(given) <= {"endpoint", "region", "addressing"}
        and given.get("addressing", "auto") in ADDRESSING
        and _is_server(given.get("endpoint"))
    )
    if not is_sound:
        raise ValueError
    return Bucket(name=parts.netloc, prefix=prefix, **given)


def _is_server(address: str | None) -> bool:
    if address is None:
        return True
    parts = urlsplit(address)
    return parts.scheme in ("http", "https") and bool(parts.hostname) and not parts.username


def backend(bucket: Bucket | None, folder: Path) -> dict[str, Any]:
    """The entry of STORAGES for runs, gold and statistics, which are for the site's own user alone."""
    if bucket is None:
        return {
            "BACKEND": "citeboard.core.storage.disk.Disk",
            "OPTIONS": {
                "location": folder,
                "base_url": None,
                "file_permissions_mode": 0o600,
                "directory_permissions_mode": 0o700,
            },
        }
    return {
        "BACKEND": "citeboard.core.storage.bucket.BucketStorage",
        "OPTIONS": {
            "bucket_name": bucket.name,
            "location": bucket.prefix,
            "endpoint_url": bucket.endpoint,
            "region_name": bucket.region,
            "addressing_style": bucket.addressing,
        },
    }
