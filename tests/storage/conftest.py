"""A bucket on a server of this process, and what may stand in its place."""

import secrets
from collections.abc import Iterator

import httpx
import pytest
from django.core.files.storage import storages

from citeboard.core.env import build_storage_settings, parse_bucket_url


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3_server, monkeypatch) -> str:
    """The address of an empty bucket of its own."""
    import boto3

    for name, value in {"ACCESS_KEY_ID": "ours", "SECRET_ACCESS_KEY": "secret"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    name = f"citeboard-{secrets.token_hex(4)}"
    boto3.client("s3", endpoint_url=s3_server, region_name="us-east-1").create_bucket(
        Bucket=name
    )
    return f"s3://{name}/site?endpoint={s3_server}&region=us-east-1"


@pytest.fixture
def refused(s3_server) -> Iterator:
    """Makes the server refuse every request."""

    def refuse() -> None:
        httpx.post(
            f"{s3_server}/moto-api/reset-auth",
            content="0",
            headers={"Content-Type": "text/plain"},
        )

    yield refuse
    httpx.post(
        f"{s3_server}/moto-api/reset-auth",
        content="inf",
        headers={"Content-Type": "text/plain"},
    )


@pytest.fixture(params=["folder", "bucket"])
def kept_in(request, settings, tmp_path) -> str:
    """The test runs with the site's files in a folder, and once more with them in a bucket."""
    place = (
        None
        if request.param == "folder"
        else parse_bucket_url(request.getfixturevalue("bucket"))
    )
    settings.STORAGES = {
        **settings.STORAGES,
        "default": build_storage_settings(place, tmp_path / "files"),
    }
    return request.param


@pytest.fixture
def in_bucket(settings, bucket, tmp_path):
    settings.STORAGES = {
        **settings.STORAGES,
        "default": build_storage_settings(parse_bucket_url(bucket), tmp_path / "files"),
    }
    return storages["default"]
