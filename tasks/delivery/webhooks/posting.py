"""Post a signed HTTP request to the IP address that was checked to be public. Redirects
are not followed.
"""

import hashlib
import hmac
import http.client
import ipaddress
import json
import socket
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Queue
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from citeboard.core.refusals import ActionRefused

#: Maximum duration of a request in seconds, however slowly the server responds.
POST_TIMEOUT_SECONDS = 10
SIGNATURE_HEADER, TIMESTAMP_HEADER = "Citeboard-Signature", "Citeboard-Timestamp"


def compute_payload_signature(secret: str, timestamp: int, body: bytes) -> str:
    """Return the signature of a request, which is `sha256=` and the hexadecimal
    HMAC-SHA256 of the timestamp, a full stop and the body.
    """
    signed = f"{timestamp}.".encode() + body
    return f"sha256={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"


def encode_payload(payload: dict[str, Any]) -> bytes:
    return json.dumps(
        payload, ensure_ascii=False, sort_keys=True, separators=(",", ":")
    ).encode()


def post_delivery(
    target: "WebhookTarget", *, body: bytes, secret: str, timestamp: int, delivery: int
) -> int:
    """Post a webhook's delivery and return the HTTP status of the response. The body of
    the response is not read. Raises OSError or HTTPException.
    """
    connection = _CheckedAddressConnection(target)
    limit = threading.Timer(POST_TIMEOUT_SECONDS, connection.shut_down_socket)
    limit.daemon = True
    headers = {
        "Host": target.host
        if target.port in (80, 443)
        else f"{target.host}:{target.port}",
        "Content-Type": "application/json",
        "User-Agent": "Citeboard",
        "Citeboard-Delivery": str(delivery),
        TIMESTAMP_HEADER: str(timestamp),
        SIGNATURE_HEADER: compute_payload_signature(secret, timestamp, body),
    }
    limit.start()
    try:
        connection.request("POST", target.path, body=body, headers=headers)
        return connection.getresponse().status
    finally:
        limit.cancel()
        connection.close()


class _CheckedAddressConnection(http.client.HTTPConnection):
    """An HTTP connection to an IP address that was checked to be public. The connection
    uses the host name only to verify the certificate.
    """

    def __init__(self, target: "WebhookTarget") -> None:
        super().__init__(target.host, target.port, timeout=POST_TIMEOUT_SECONDS)
        self.target = target

    def connect(self) -> None:
        self.sock = socket.create_connection(
            (self.target.number, self.target.port), timeout=POST_TIMEOUT_SECONDS
        )
        if self.target.scheme == "https":
            self.sock = ssl.create_default_context().wrap_socket(
                self.sock, server_hostname=self.target.host
            )

    def shut_down_socket(self) -> None:
        if self.sock is not None:
            with suppress(OSError):
                self.sock.shutdown(socket.SHUT_RDWR)


#: `DNS_LOOKUP_TIMEOUT_SECONDS` is the timeout of a DNS lookup.
DNS_LOOKUP_TIMEOUT_SECONDS = 5
#: Routers translate addresses in `_IPV6_TO_IPV4_NETWORKS` to IPv4 addresses that may be private.
_IPV6_TO_IPV4_NETWORKS = tuple(
    map(
        ipaddress.ip_network,
        ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32"),
    )
)


class WebhookUrlRefused(ActionRefused):
    pass


@dataclass(frozen=True)
class WebhookTarget:
    scheme: str
    host: str
    port: int
    path: str
    number: str


def validate_webhook_url(url: str) -> str:
    url = url.strip()
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as unreadable:
        raise WebhookUrlRefused(_("this is not an address")) from unreadable
    host = parts.hostname
    if (
        parts.scheme not in ("https", "http")
        or not host
        or any(char.isspace() or ord(char) < 33 for char in url)
    ):
        raise WebhookUrlRefused(_("this is not an address that begins with https://"))
    if parts.username is not None or parts.password is not None:
        raise WebhookUrlRefused(
            _("an address has no name and password in it; requests are signed")
        )
    if host in settings.WEBHOOK_HOSTS:
        return url
    if parts.scheme != "https" or port not in (None, 443):
        message = _(
            "an address begins with https:// and has no port, unless the site allows its host"
        )
        raise WebhookUrlRefused(message)
    return url


def resolve_webhook_target(url: str) -> WebhookTarget:
    """Resolve the host name of a webhook once. Raises WebhookUrlRefused if any IP address
    of the host is private.
    """
    parts = urlsplit(validate_webhook_url(url))
    host, scheme = parts.hostname or "", parts.scheme
    port = parts.port or (443 if scheme == "https" else 80)
    try:
        found = _look_up_host_addresses(host, port)
    except (OSError, UnicodeError) as unknown:
        raise WebhookUrlRefused("the host cannot be found") from unknown
    numbers = [str(entry[4][0]) for entry in found]
    if host not in settings.WEBHOOK_HOSTS and not all(
        map(is_public_ip_address, numbers)
    ):
        raise WebhookUrlRefused(
            "the host is on a private network, which the site does not post to"
        )
    path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    return WebhookTarget(scheme, host, port, path, numbers[0])


def _look_up_host_addresses(host: str, port: int) -> list[Any]:
    answers: Queue[list[Any] | Exception] = Queue()

    def look_up_addresses() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as unknown:
            answers.put(unknown)

    threading.Thread(target=look_up_addresses, name="lookup", daemon=True).start()
    try:
        answer = answers.get(timeout=DNS_LOOKUP_TIMEOUT_SECONDS)
    except Empty as late:
        raise TimeoutError("nobody answers for the host's name") from late
    if isinstance(answer, Exception):
        raise answer
    return answer


def is_public_ip_address(number: str) -> bool:
    try:
        address = ipaddress.ip_address(number.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            address = address.ipv4_mapped
        elif any(address in network for network in _IPV6_TO_IPV4_NETWORKS):
            return False
    return address.is_global and not address.is_multicast and not address.is_reserved
