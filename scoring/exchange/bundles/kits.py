"""Select the files of a competition bundle that participants may download, without
files of reference data.

This module does not import Django.
"""

import csv
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from scoring.exchange.bundles.answers import AnswerLines, read_unsplit_lines
from scoring.exchange.bundles.reading import BundlePhase
from scoring.exchange.bundles.report import ImportReport
from tasks.gold.kits import (
    ArchiveUnreadable,
    KitFileReader,
    compute_normalised_content_digest,
)
from tasks.gold.packing import MAX_KIT_BYTES, MAX_KIT_FILES
from tasks.types import InputRefused
from tasks.types.files import STARTING_KIT_FOLDER, InputFile
from tasks.types.guarded.json_reader import read_json

#: Starting kits contain public data in the folder PUBLIC_DATA_FOLDER.
PUBLIC_DATA_FOLDER = "public_data"
_COLUMN_SEPARATORS = (re.compile(r"[,\t;]"), re.compile(r"\s+"))


@dataclass
class SecretReferenceData:
    """The secret reference data of a competition bundle, as digests of the files and as
    columns of the gold (the reference answers).
    """

    digests: set[bytes] = field(default_factory=set)
    columns: set[tuple[str, ...]] = field(default_factory=set)

    def add_files(self, files: Iterable[InputFile]) -> None:
        kit_files = KitFileReader(Path())
        for file in files:
            self.digests.add(compute_normalised_content_digest(file))
            with suppress(ArchiveUnreadable):
                self.digests |= set(
                    map(
                        compute_normalised_content_digest,
                        kit_files.iterate_nested_files(file),
                    )
                )

    def add_gold(self, gold: AnswerLines) -> None:
        self.columns.add(tuple(" ".join(own) for own in gold.values))

    def add_column(self, table: InputFile, name: str) -> None:
        """Add a column of a table, which contains the gold's answers, to the secret
        columns.
        """
        if lines := read_unsplit_lines(table):
            columns = _iterate_named_columns([row for (row,) in lines.values])
            self.columns |= {column for own, column in columns if own == name}

    def contains_secret_data(self, file: InputFile) -> bool:
        """Return True if the file is part of the reference data or contains the gold as
        a column.
        """
        if compute_normalised_content_digest(file) in self.digests:
            return True
        lines = read_unsplit_lines(file) if self.columns else None
        if lines is None:
            return False
        rows = [row for (row,) in lines.values]
        # A quoted value may span several lines of the table.
        if any(len(gold) <= len(rows) for gold in self.columns) and any(
            column in self.columns for _name, column in _iterate_named_columns(rows)
        ):
            return True
        return any(
            column in self.columns
            for own in (rows, rows[1:])
            if any(len(own) == len(gold) for gold in self.columns)
            for column in _iterate_columns_of_rows(own)
        )


def _iterate_columns_of_rows(rows: Sequence[str]) -> Iterator[tuple[str, ...]]:
    yield tuple(" ".join(re.split(r"[,;\s]+", row)) for row in rows)
    for parted in _COLUMN_SEPARATORS:
        cells = [[cell.strip(" \"'") for cell in parted.split(row)] for row in rows]
        if len({len(own) for own in cells}) == 1:
            yield from zip(*cells, strict=True)


def _iterate_named_columns(
    rows: Sequence[str],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    if rows[0].startswith("{"):
        try:
            records = [read_json(row) for row in rows]
        except (ValueError, RecursionError, InputRefused):
            return
        for name in records[0]:
            if all(isinstance(one, dict) and name in one for one in records):
                yield name, tuple(str(one[name]).strip() for one in records)
        return
    for separator in ",\t;":
        try:
            cells = list(csv.reader(rows, delimiter=separator))
        except csv.Error:
            continue
        if len({len(own) for own in cells}) == 1:
            for name, *values in zip(*cells, strict=True):
                yield name.strip(), tuple(value.strip() for value in values)


def choose_starting_kit_files(
    phases: Sequence[BundlePhase],
    done: Collection[str],
    secrets: SecretReferenceData,
    report: ImportReport,
) -> list[InputFile]:
    """Return the files of a bundle that participants may download with a split of the
    data.

    The site publishes the inputs of a split with the first phase of the split, so the
    result does not contain files of later phases, which would be published too early.
    ``done`` contains the key paths of phases whose files another split already
    publishes.
    """
    first, *later = sorted(phases, key=lambda phase: phase.opens)
    found: dict[str, InputFile] = {}
    size, kit_files = 0, KitFileReader(Path())
    own = [] if first.place in done else list(_iterate_public_files_of_phase(first))
    for given in own:
        file = given.file
        reason = _find_reason_to_withhold(kit_files, file, secrets)
        size += 0 if reason else sum(map(len, file.iterate_raw_chunks()))
        if not reason and (size > MAX_KIT_BYTES or len(found) >= MAX_KIT_FILES):
            reason = (
                f"a kit has at most {MAX_KIT_BYTES >> 20} MB and {MAX_KIT_FILES:,} files; give"
                " it out at an address of your own"
            )
        if reason:
            report.add_needed_decision(
                given.place, f"{file.name} is not given out: {reason}"
            )
        else:
            found[given.name] = replace(
                file, name=f"{STARTING_KIT_FOLDER}/{given.name}"
            )
    if found:
        message = (
            f"{len(found)} files are given out with the inputs of “{first.title}”, in"
            f" the folder `{STARTING_KIT_FOLDER}`"
        )
        report.add_understood_value(first.place, message)
        report.add_needed_decision(
            first.place, "look whether a file to give out has answers in it"
        )
    known = {compute_normalised_content_digest(file) for file in found.values()}
    for phase in (phase for phase in later if phase.place not in done):
        for given in _iterate_public_files_of_phase(phase):
            if compute_normalised_content_digest(given.file) not in known:
                message = (
                    f"{given.file.name} is not given out: the phase opens after"
                    f" “{first.title}”, which has the same gold"
                )
                report.add_needed_decision(given.place, message)
    return list(found.values())


@dataclass(frozen=True)
class _PublicFileOfPhase:
    """A public file of a phase, with its key path in the bundle's description and its
    path in the participants' kit.
    """

    place: str
    name: str
    file: InputFile


def _iterate_public_files_of_phase(phase: BundlePhase) -> Iterator[_PublicFileOfPhase]:
    for file in phase.kit:
        yield _PublicFileOfPhase(f"{phase.place}.starting_kit", file.name, file)
    for file in phase.public:
        name = f"{PUBLIC_DATA_FOLDER}/{file.name}"
        yield _PublicFileOfPhase(f"{phase.place}.public_data", name, file)


def _find_reason_to_withhold(
    kit_files: KitFileReader, file: InputFile, secrets: SecretReferenceData
) -> str:
    try:
        has_gold = any(
            map(secrets.contains_secret_data, kit_files.iterate_nested_files(file))
        )
    except ArchiveUnreadable as reason:
        return f"{reason}; give it out at an address of your own"
    except InputRefused:
        return "it cannot be read"
    return "it has reference data" if has_gold else ""
