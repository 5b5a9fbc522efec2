"""What a scoring may lack; a module of its own, so that a command line names it without importing anything
heavy.
"""


class Unavailable(Exception):
    """A scoring needs what is not installed or not at hand, such as a model; the run is not at fault and may
    wait.
    """


class Pending(Unavailable):
    """``pending`` of the ``pairs`` that a run asks about are not decided yet."""

    def __init__(self, pending: int, pairs: int) -> None:
        self.pending, self.pairs = pending, pairs
        super().__init__(f"{pending} of {pairs} pairs pending")
