"""Storage in an S3 bucket, which downloads ranges and uploads parts."""

from __future__ import annotations

import errno
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from boto3.exceptions import Boto3Error
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import File
from storages.backends.s3 import S3Storage

from citeboard.core.confined.limits import MEGABYTE
from citeboard.core.storage import StoredFile

#: A downloaded range has DOWNLOAD_RANGE_BYTES bytes, and an uploaded part has UPLOAD_PART_BYTES bytes.
DOWNLOAD_RANGE_BYTES, UPLOAD_PART_BYTES = MEGABYTE, 8 * MEGABYTE
#: CONNECT_TIMEOUT_SECONDS and READ_TIMEOUT_SECONDS are timeouts of requests to the bucket, in seconds.
#: A bucket counts as unavailable after MAX_REQUEST_ATTEMPTS failed requests.
CONNECT_TIMEOUT_SECONDS, READ_TIMEOUT_SECONDS, MAX_REQUEST_ATTEMPTS = 3, 10, 2
_MISSING_STATUS, _CHANGED_STATUS, _FULL_STATUS = 404, 412, 507


@contextmanager
def convert_bucket_errors() -> Iterator[None]:
    try:
        yield
    except ClientError as reason:
        status = reason.response["ResponseMetadata"].get("HTTPStatusCode")
        number = {
            _MISSING_STATUS: errno.ENOENT,
            _CHANGED_STATUS: errno.ESTALE,
            _FULL_STATUS: errno.ENOSPC,
        }.get(status, errno.EIO)
        # A missing bucket counts as an input/output error, not as a missing file.
        if reason.response["Error"].get("Code") == "NoSuchBucket":
            number = errno.EIO
        raise OSError(number, str(reason)) from reason
    except (BotoCoreError, Boto3Error) as reason:
        raise OSError(errno.EIO, f"{type(reason).__name__}: {reason}") from reason


class BucketStorage(S3Storage):
    def __init__(self, *, addressing_style: str, **options: Any) -> None:
        config = Config(
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
            read_timeout=READ_TIMEOUT_SECONDS,
            retries={"mode": "standard", "total_max_attempts": MAX_REQUEST_ATTEMPTS},
            s3={"addressing_style": addressing_style},
            # Some S3 servers may not support the newer checksums of requests.
            # The site stores its own checksums of files in the database.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        # A file is uploaded in parts, of which only one is in memory at a time.
        transfer = TransferConfig(
            multipart_threshold=UPLOAD_PART_BYTES,
            multipart_chunksize=UPLOAD_PART_BYTES,
            use_threads=False,
        )
        super().__init__(client_config=config, transfer_config=transfer, **options)

    @property
    def client(self) -> Any:
        return self.connection.meta.client

    def _open(self, name: str, mode: str = "rb") -> File[Any]:
        if mode != "rb":
            raise ValueError(
                f"files of a bucket are opened to be read as bytes, not as {mode!r}"
            )
        with convert_bucket_errors():
            content = SeekableBucketFile(
                self.client, self.bucket_name, self._normalize_name(name)
            )
            return File(io.BufferedReader(content, DOWNLOAD_RANGE_BYTES), name)

    _save = convert_bucket_errors()(S3Storage._save)  # noqa: SLF001
    delete = convert_bucket_errors()(S3Storage.delete)
    exists = convert_bucket_errors()(S3Storage.exists)
    size = convert_bucket_errors()(S3Storage.size)
    listdir = convert_bucket_errors()(S3Storage.listdir)

    def entries(self, folder: str) -> Iterator[StoredFile]:
        base = f"{self.location}/" if self.location else ""
        below = f"{base}{folder}/" if folder else base
        pages = self.client.get_paginator("list_objects_v2")
        with convert_bucket_errors():
            for page in pages.paginate(Bucket=self.bucket_name, Prefix=below):
                for entry in page.get("Contents", ()):
                    yield StoredFile(
                        entry["Key"].removeprefix(base),
                        entry["Size"],
                        entry["LastModified"],
                    )


class SeekableBucketFile(io.RawIOBase):
    """An object of a bucket that can be read like a file.

    Only one range of the object is in memory at a time.
    """

    def __init__(self, client: Any, bucket: str, key: str) -> None:
        super().__init__()
        self._client = client
        self._object = {"Bucket": bucket, "Key": key}
        head = self._client.head_object(**self._object)
        self.length: int = head["ContentLength"]
        # With `IfMatch`, reading a replaced object fails instead of mixing two objects.
        self._object["IfMatch"] = head["ETag"]
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.length}[
            whence
        ]
        self._place = max(0, start + offset)
        return self._place

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), self.length - self._place)
        if wanted <= 0:
            return 0
        span = f"bytes={self._place}-{self._place + wanted - 1}"
        with convert_bucket_errors():
            content = self._client.get_object(**self._object, Range=span)["Body"].read()
        if len(content) != wanted:
            raise OSError(
                errno.EIO,
                f"the bucket gave {len(content)} bytes where {wanted} were asked for",
            )
        buffer[:wanted] = content
        self._place += wanted
        return wanted
