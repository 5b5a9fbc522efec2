"""Connect to a site's HTTP API.

Each request contains the user's token, each response is parsed as JSON, and an HTTP
error raises an exception.
"""

import http.client
import io
import json
import os
import socket
import stat
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlencode, urljoin, urlsplit

from scoring.client.refusals import ClientCommandRefused, NoConnection, SiteRefused
from scoring.offline.terminal import UpdateProgress, show_progress_bar
from tasks.types.guarded.json_reader import JSON, read_json

API = "/api/v1/"
#: HTTP statuses after which the client repeats the request.
BUSY_STATUS_CODES = (429, 503)
#: Maximum number of attempts for each request, and longest pause in seconds.
MAX_REQUEST_ATTEMPTS, MAX_RETRY_PAUSE_SECONDS = 4, 60.0
REQUEST_TIMEOUT_SECONDS = 120.0
_DOWNLOAD_BLOCK_BYTES = 1 << 16
_SERVER_NOT_FOUND_ERRORS = (ConnectionRefusedError, socket.gaierror)


class _RedirectRefusingHandler(urllib.request.HTTPRedirectHandler):
    """The connection follows no redirects, so that the token is sent only to the given
    site.
    """

    def redirect_request(self, *arguments: Any) -> None:
        return None


@dataclass(frozen=True)
class ApiResponse:
    body: Any
    headers: Mapping[str, str]


class SiteConnection:
    """A connection to a site. ``address`` is the URL of the site's home page.

    Raises Refused if a token would be sent without encryption.
    """

    def __init__(self, address: str, token: str = "") -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ClientCommandRefused(
                f"“{address}” is not an address such as https://board.example.org"
            )
        if (
            token
            and parts.scheme == "http"
            and parts.hostname not in ("127.0.0.1", "localhost", "::1")
        ):
            raise ClientCommandRefused(
                f"{address} is not https; a token is not sent in the clear"
            )
        self.address, self._token = address.rstrip("/"), token
        self._opener = urllib.request.build_opener(_RedirectRefusingHandler())

    def get(self, path: str, query: Mapping[str, object] | None = None) -> Any:
        return self.answer(path, query).body

    def answer(
        self, path: str, query: Mapping[str, object] | None = None
    ) -> ApiResponse:
        parameters = {
            name: value for name, value in (query or {}).items() if value is not None
        }
        return self._get_with_retries(
            self._build_api_address(path)
            + (f"?{urlencode(parameters)}" if parameters else "")
        )

    def pages(
        self, path: str, query: Mapping[str, object] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield the entries of a paginated list in the site's API, from all pages."""
        page = self.get(path, {**(query or {}), "page_size": 100})
        yield from page["results"]
        while page["next"]:
            page = self._get_with_retries(
                self._build_address_on_this_site(page["next"])
            ).body
            yield from page["results"]

    def post(self, path: str, fields: Mapping[str, object]) -> Any:
        """Send a POST request with the fields to the site, and do not repeat the
        request. If no response arrives, the caller does not know if the site has
        processed the request.
        """
        headers = {"Content-Type": "application/json"}
        return self._send_request_and_parse_json(
            self._build_api_address(path), headers, json.dumps(fields).encode()
        ).body

    def post_file(
        self,
        path: str,
        fields: Mapping[str, str],
        run: Path,
        more: Mapping[str, Path] | None = None,
        field: str = "run",
    ) -> Any:
        """Send a file. If no response arrives, send the file again with the same
        idempotency key.

        The site stores only one run for each idempotency key. ``more`` maps field names
        to small files that are uploaded with the run.
        """
        key = uuid.uuid4().hex

        def send() -> ApiResponse:
            with (
                show_progress_bar("sending", run.stat().st_size, "B") as moved,
                closing(
                    MultipartUploadBody(fields, field, run, moved, more or {})
                ) as form,
            ):
                headers = {
                    "Content-Type": form.content_type,
                    "Content-Length": str(form.length),
                }
                return self._send_request_and_parse_json(
                    self._build_api_address(path),
                    headers | {"Idempotency-Key": key},
                    form,
                )

        return _send_with_retries(send).body

    def download(self, address: str, path: Path) -> int:
        """Download a URL of the site to a file, and return the file's size. The file
        appears at its path only when the download is complete.
        """
        part = path.with_name(f"{path.name}.part")
        try:
            with (
                self._open_request(
                    self._build_address_on_this_site(address), {}
                ) as answer,
                part.open("wb") as file,
            ):
                total = int(answer.headers.get("Content-Length") or 0)
                with show_progress_bar("receiving", total, "B") as moved:
                    while block := answer.read(_DOWNLOAD_BLOCK_BYTES):
                        file.write(block)
                        moved(file.tell())
                size = file.tell()
            if total and size != total:
                raise NoConnection(f"{address} broke off after {size} of {total} bytes")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return size

    def _build_api_address(self, path: str) -> str:
        return f"{self.address}{API}{path}"

    def _build_address_on_this_site(self, address: str) -> str:
        path = (
            urlsplit(urljoin(f"{self.address}/", address))
            ._replace(scheme="", netloc="")
            .geturl()
        )
        return (
            urlsplit(self.address)._replace(path="", query="", fragment="").geturl()
            + path
        )

    def _get_with_retries(self, address: str) -> ApiResponse:
        return _send_with_retries(
            lambda: self._send_request_and_parse_json(address, {}, None)
        )

    def _send_request_and_parse_json(
        self,
        address: str,
        headers: Mapping[str, str],
        body: "MultipartUploadBody | bytes | None",
    ) -> ApiResponse:
        with self._open_request(address, headers, body) as answer:
            try:
                content = answer.read(JSON.size + 1)
                return ApiResponse(read_json(content), dict(answer.headers))
            except ValueError as fault:
                message = (
                    f"{address} answered with what is not JSON; is it a Citeboard site?"
                )
                raise NoConnection(message) from fault

    def _open_request(
        self,
        address: str,
        headers: Mapping[str, str],
        body: "MultipartUploadBody | bytes | None" = None,
    ) -> http.client.HTTPResponse:
        fixed_headers = {"Accept": "application/json, */*", "User-Agent": "citeboard"}
        if self._token:
            fixed_headers["Authorization"] = f"Token {self._token}"
        request = urllib.request.Request(  # noqa: S310
            address, data=body, headers=fixed_headers | dict(headers)
        )
        try:
            opened: http.client.HTTPResponse = self._opener.open(
                request, timeout=REQUEST_TIMEOUT_SECONDS
            )
        except urllib.error.HTTPError as answer:
            with answer:
                raise SiteRefused(
                    answer.code, _read_problem_members(answer, address)
                ) from None
        except (OSError, http.client.HTTPException) as fault:
            reason = getattr(fault, "reason", fault)
            words, is_final = (
                f"{self.address} cannot be reached: {reason}",
                isinstance(reason, _SERVER_NOT_FOUND_ERRORS),
            )
            raise NoConnection(words, is_final=is_final) from fault
        return opened


def _send_with_retries(send: Callable[[], ApiResponse]) -> ApiResponse:
    for attempt in range(1, MAX_REQUEST_ATTEMPTS):
        try:
            return send()
        except SiteRefused as fault:
            # If the user's quota is exhausted, status 429 has no `retry_after`.
            # Exhausted quotas last over a minute, so the client does not try again.
            if fault.status not in BUSY_STATUS_CODES or fault.retry_after is None:
                raise
            time.sleep(min(fault.retry_after, MAX_RETRY_PAUSE_SECONDS))
        except NoConnection as fault:
            if fault.is_final:
                raise
            time.sleep(min(2.0**attempt, MAX_RETRY_PAUSE_SECONDS))
    return send()


def _read_problem_members(
    answer: urllib.error.HTTPError, address: str
) -> dict[str, Any]:
    if answer.code in range(300, 400):
        return {
            "detail": f"{address} leads to {answer.headers.get('Location')}; use that site's address"
        }
    try:
        body = read_json(answer.read(JSON.size + 1))
    except ValueError:
        body = None
    facts: dict[str, Any] = body if isinstance(body, dict) else {}
    after = answer.headers.get("Retry-After", "")
    return {"retry_after": int(after), **facts} if after.isdecimal() else facts


class MultipartUploadBody:
    """The body of an HTTP upload, which is read from a file while a progress bar
    advances.

    ``length`` is the length of the whole body in bytes.
    """

    def __init__(
        self,
        fields: Mapping[str, str],
        name: str,
        path: Path,
        moved: UpdateProgress,
        small: Mapping[str, Path],
    ) -> None:
        """Prepare the request body. ``small`` maps field names to small files, which
        are read when the body is created and sent before the large file.
        """
        boundary = uuid.uuid4().hex
        self.content_type = f"multipart/form-data; boundary={boundary}"
        before = f"--{boundary}\r\nContent-Disposition: form-data; name="
        head = "".join(
            f'{before}"{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()
        )
        tail = f"\r\n--{boundary}--\r\n".encode()
        begin = head.encode()
        for field, file in small.items():
            begin += (
                _build_file_part_head(boundary, field, file)
                + file.read_bytes()
                + b"\r\n"
            )
        begin += _build_file_part_head(boundary, name, path)
        self._parts: list[IO[bytes]] = [
            io.BytesIO(begin),
            path.open("rb"),
            io.BytesIO(tail),
        ]
        self.length = len(begin) + path.stat().st_size + len(tail)
        self._moved, self._sent = moved, 0

    def read(self, size: int = -1) -> bytes:
        for part in self._parts:
            if content := part.read(size):
                self._sent += len(content)
                self._moved(self._sent)
                return content
        return b""

    def close(self) -> None:
        self._parts[1].close()


def _build_file_part_head(boundary: str, name: str, path: Path) -> bytes:
    quoted = (
        path.name.replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("\r", " ")
        .replace("\n", " ")
    )
    return (
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{quoted}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    ).encode()


SITE_VARIABLE, TOKEN_VARIABLE = "CITEBOARD_SITE", "CITEBOARD_TOKEN"
_GROUP_AND_OTHERS_PERMISSIONS = stat.S_IRWXG | stat.S_IRWXO


def find_tokens_path() -> Path:
    return (
        Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        / "citeboard"
        / "tokens.json"
    )


def read_stored_tokens(path: Path) -> tuple[str, dict[str, str]]:
    """Return the address of the site of the last login, and a mapping from site
    addresses to tokens. Without a file of tokens, the address and the mapping are
    empty.

    Raises Refused if other users can read the file of tokens.
    """
    try:
        mode = path.stat().st_mode
        content: Any = read_json(path.read_bytes())
    except FileNotFoundError:
        return "", {}
    except (OSError, ValueError) as fault:
        raise ClientCommandRefused(
            f"{path} cannot be read as tokens: {fault}"
        ) from fault
    if mode & _GROUP_AND_OTHERS_PERMISSIONS:
        found = f"{path} has mode {mode & 0o777:03o}, others may read it"
        raise ClientCommandRefused(f"{found}; expected 600: chmod 600 {path}")
    if not isinstance(content, dict) or not isinstance(content.get("tokens"), dict):
        raise ClientCommandRefused(
            f"{path} holds no tokens; sign in again: citeboard login URL"
        )
    return str(content.get("site", "")), {
        str(k): str(v) for k, v in content["tokens"].items()
    }


def write_stored_tokens(path: Path, site: str, tokens: Mapping[str, str]) -> None:
    """Replace the client's file of tokens. The file of tokens always has the mode 600."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(
        os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8"
    ) as file:
        json.dump({"site": site, "tokens": tokens}, file, indent=1)
    new.replace(path)


def choose_site_and_token(address: str | None) -> tuple[str, str]:
    """Return the address of the site and the user's token. Arguments take precedence
    over environment variables, and environment variables over the stored file.
    """
    site = address or os.environ.get(SITE_VARIABLE, "")
    token = os.environ.get(TOKEN_VARIABLE, "")
    if not (site and token):
        last, tokens = read_stored_tokens(find_tokens_path())
        site = site or last
        token = token or tokens.get(site.rstrip("/"), "")
    if not site:
        raise ClientCommandRefused(
            f"which site? Name it with --site URL or {SITE_VARIABLE}, or sign in: citeboard login URL"
        )
    return site.rstrip("/"), token
