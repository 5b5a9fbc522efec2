"""Recompute all numbers in a season's archive from the archived runs and gold, and
compare the results with the archived numbers.

Counts must be equal. Values must agree to 12 significant digits, intervals to 10
significant digits, and values that a model computes to 5 decimals. If an original
package of ROUGE or BERTScore is installed, its values must also agree.
"""

from scoring.offline.verify.archive import verify
from scoring.offline.verify.files import (
    CHECKSUMS,
    FORMAT,
    FORMAT_VERSION,
    LOG,
    SEASON,
    FileMissing,
    OutsideArchive,
    changed_files,
    existing,
    read_json,
    read_season,
    refused,
    tests_of,
)
from scoring.offline.verify.means import FOUND_OF_MEANS
from scoring.offline.verify.numbers import numbers
from scoring.offline.verify.report import Verified, is_same

__all__ = [
    "CHECKSUMS",
    "FORMAT",
    "FORMAT_VERSION",
    "FOUND_OF_MEANS",
    "LOG",
    "SEASON",
    "FileMissing",
    "OutsideArchive",
    "Verified",
    "changed_files",
    "existing",
    "is_same",
    "numbers",
    "read_json",
    "read_season",
    "refused",
    "tests_of",
    "verify",
]
