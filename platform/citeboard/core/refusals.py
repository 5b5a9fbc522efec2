"""What services refuse, for pages and the API alike."""

from __future__ import annotations

from citeboard.core.words import sentence


class Refused(Exception):
    """As things stand it cannot be done; the message says why, as a clause.

    The API answers with ``status`` and ``answer``; a subclass says where it is another status, and what more
    a program may want to know.
    """

    status = 409

    def answer(self) -> dict[str, object]:
        return {"detail": sentence(self)}
