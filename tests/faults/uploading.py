"""Uploads to a site that may be gone at any moment."""

from __future__ import annotations

import httpx


def upload(
    port: int, phase: int, token: str, content: bytes, *, key: str = ""
) -> int | None:
    """The number of the submission if the site has said 201, and None whatever else it did.

    A ``key`` makes what is sent again the same run.
    """
    try:
        answer = httpx.post(
            f"http://127.0.0.1:{port}/api/v1/phases/{phase}/submissions/",
            headers={
                "Authorization": f"Token {token}",
                **({"Idempotency-Key": key} if key else {}),
            },
            data={"system": "A system"},
            files={"run": ("run.jsonl", content)},
            timeout=60,
        )
    except httpx.HTTPError:
        return None
    return answer.json()["id"] if answer.status_code == 201 else None


def answers(port: int) -> bool:
    try:
        return (
            httpx.get(f"http://127.0.0.1:{port}/health/live", timeout=5).status_code
            == 200
        )
    except httpx.HTTPError:
        return False
