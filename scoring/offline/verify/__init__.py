"""Recompute all numbers in a season's archive from the archived runs and gold, and
compare the results with the archived numbers.

Counts must be equal. Values must agree to 12 significant digits, intervals to 10
significant digits, and values that a model computes to 5 decimals. If an original
package of ROUGE or BERTScore is installed, its values must also agree.
"""

from scoring.offline.verify.archive import verify
from scoring.offline.verify.files import (
    ARCHIVE_FORMAT,
    ARCHIVE_FORMAT_VERSION,
    CHECKSUMS_FILE_NAME,
    LOG_FILE_NAME,
    SEASON_FILE_NAME,
    ArchivedFileMissing,
    PathOutsideArchive,
    build_refusal,
    find_archived_file,
    format_tests_path,
    iterate_changed_files,
    read_json,
    read_season,
)
from scoring.offline.verify.means import MEAN_TEST_RESULT_FIELDS
from scoring.offline.verify.numbers import numbers
from scoring.offline.verify.report import VerificationReport, is_equal_number

__all__ = [
    "ARCHIVE_FORMAT",
    "ARCHIVE_FORMAT_VERSION",
    "CHECKSUMS_FILE_NAME",
    "LOG_FILE_NAME",
    "MEAN_TEST_RESULT_FIELDS",
    "SEASON_FILE_NAME",
    "ArchivedFileMissing",
    "PathOutsideArchive",
    "VerificationReport",
    "build_refusal",
    "find_archived_file",
    "format_tests_path",
    "is_equal_number",
    "iterate_changed_files",
    "numbers",
    "read_json",
    "read_season",
    "verify",
]
