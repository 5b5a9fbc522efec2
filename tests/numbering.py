"""Numbers of what tests make, such as names that must be unique."""


class Numbers:
    """Count up from ``next``."""

    def __init__(self, first: int) -> None:
        self.next = first

    def __next__(self) -> int:
        number, self.next = self.next, self.next + 1
        return number


#: Numbers of the rows that `tests.factories` makes.
OF_ROWS = Numbers(1)
#: Numbers of the runs that `tests.scoring.boards` makes; `submit_run` gives others.
OF_RUNS = Numbers(1001)
EVERY = (OF_ROWS, OF_RUNS)


def positions() -> list[int]:
    return [numbers.next for numbers in EVERY]


def continue_after(positions: list[int]) -> None:
    """Give no number that somebody has got who counted as far as this."""
    for numbers, position in zip(EVERY, positions, strict=True):
        numbers.next = max(numbers.next, position)
