"""How much a test tries: the suite's short form, or all of it in `make proofs`."""

import os

IS_FULL = bool(os.environ.get("CITEBOARD_TEST_PROOFS"))


def mass(short, full):
    return full if IS_FULL else short
