"""Whether the site answers, asked as a load balancer would."""

from __future__ import annotations

import threading
import time
import urllib.request
from collections import deque
from collections.abc import Callable

#: Of so many looks, so many unanswered: the site hangs. One slow answer says nothing.
LOOKS, MAX_UNANSWERED = 6, 3


class Probe:
    """Asks the site on this machine whether it lives, and remembers what it found."""

    pause = 2.0  # seconds between two looks
    patience = 5.0  # seconds that an answer may take

    def __init__(self, address: str, port: int, answered_so_far: Callable[[], int]) -> None:
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(address, address)  # noqa: S104
        self._url = f"http://{host}:{port}/health/live"
        # A proxy of the environment is for the world outside.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self._looks: deque[bool] = deque(maxlen=LOOKS)
        self._answered_so_far = answered_so_far
        self._answered: int | None = None

    def answers(self) -> bool:
        # The site answers to loopback names whatever it is called outside.
        request = urllib.request.Request(self._url, headers={"Host": "localhost"})  # noqa: S310
        try:
            with self._opener.open(request, timeout=self.patience) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def wait_for_answer(self, seconds: float, ending: threading.Event) -> bool:
        """For a site that has just started; what was found before says nothing any more."""
        self._looks.clear()
        until = time.monotonic() + seconds
        while time.monotonic() < until and not ending.wait(0.1):
            if self.answers():
                return True
        return False

    def finds_it_hanging(self) -> bool:
        """A site that answers others while this waits its turn has much to do, as before a deadline."""
        self._looks.append(self.answers() or self._answers_others())
        return self._looks.count(False) >= MAX_UNANSWERED

    def _answers_others(self) -> bool:
        """Since this was last asked; the first time nothing is known."""
        before, self._answered = self._answered, self._answered_so_far()
        return before is not None and self._answered > before
