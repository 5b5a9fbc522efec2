"""Where runs, gold and statistics are kept: the only way to a file that the site stores."""

from citeboard.core.storage.errors import FileMissing, StorageAway, StorageFull, words_of
from citeboard.core.storage.folders import FOLDERS, FolderStorage, gold, local_copy, runs, statistics

__all__ = [
    "FOLDERS",
    "FileMissing",
    "FolderStorage",
    "StorageAway",
    "StorageFull",
    "gold",
    "local_copy",
    "runs",
    "statistics",
    "words_of",
]
