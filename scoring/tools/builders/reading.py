"""Read corpora from files: Read the files of corpora, which are JSON Lines or JSON, and
the values of their fields. Files may be compressed with gzip.
"""

import gzip
import hashlib
import importlib
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import IO, Any, cast

from scoring.tools.builders.store import CorpusStore
from tasks.types.base import CURRENT_DIGEST_RULE
from tasks.types.guarded.json_reader import read_json
from tasks.types.problems import InputRefused, Problem, shorten_quoted_line
from tasks.types.text import replace_surrogates_in_json

_JSON_FILE_ENDINGS = (".jsonl", ".json", ".ndjson")
_JSON_LINES_ENDINGS = (".jsonl", ".ndjson")
#: First lines of a JSON file with one indented value, as doc2json writes the file.
_OPENING_BRACKETS = (b"{", b"[")
_CHUNK_BYTES = 1 << 20
_DOUBLE_BRACE_TOKEN = re.compile(r"\{\{[^{}]*\}\}")
#: Matches one half of a surrogate pair that is escaped in JSON.
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
#: The maximum number of digits of an integer that the database can store.
_MAX_INTEGER_DIGITS = 18

CorpusRecord = Mapping[str, Any]
#: A function that adds a record from a file of a corpus to the store.
AddRecord = Callable[[CorpusRecord, Path, CorpusStore], None]


def make_refusal(
    message: str, file: Path | None = None, expected: str = ""
) -> InputRefused:
    return InputRefused(
        [Problem(message=message, file=str(file) if file else "", expected=expected)]
    )


def list_corpus_files(path: Path) -> list[Path]:
    """Return the JSON files of a corpus, sorted by their paths. Raises InputRefused if
    the corpus has no JSON files.
    """
    files = sorted(file for file in path.rglob("*") if file.is_file())
    named = [
        file
        for file in files
        if file.name.removesuffix(".gz").endswith(_JSON_FILE_ENDINGS)
    ]
    if not (files := [path] if path.is_file() else named):
        expected = f"files that end in {', '.join(_JSON_FILE_ENDINGS)}, packed with gzip or not"
        raise make_refusal("no corpus was found", path, expected)
    return files


def iterate_records(
    path: Path, start: int = 0, end: int | None = None
) -> Iterator[CorpusRecord]:
    return (
        record
        for record, _number, _place in _iterate_records_with_offsets(path, start, end)
    )


def add_records(
    path: Path,
    add: AddRecord,
    store: CorpusStore,
    start: int = 0,
    end: int | None = None,
) -> None:
    for record, number, place in _iterate_records_with_offsets(path, start, end):
        try:
            add(record, path, store)
        except InputRefused as refused:
            line = _find_line_number(path, number, place)
            problems = [
                replace(problem, file=str(path), line=line)
                for problem in refused.problems
            ]
            raise InputRefused(problems) from refused


def _iterate_records_with_offsets(
    path: Path, start: int = 0, end: int | None = None
) -> Iterator[tuple[CorpusRecord, int, int | None]]:
    stream: IO[bytes]
    with (
        cast("IO[bytes]", gzip.open(path))
        if path.suffix == ".gz"
        else path.open("rb") as stream
    ):
        place = 0
        if start:
            stream.seek(start - 1)
            place = start - 1 + len(stream.readline())
        lines = _iterate_decompressed_lines(stream, path)
        values = lines if start else _join_single_json_value(lines)
        for number, line in enumerate(values, start=1):
            if end is not None and place >= end:
                return
            before, place = place if start else None, place + len(line)
            if not line.strip():
                continue
            try:
                value = read_json(line, constant=float)
                if _ESCAPED_SURROGATE.search(line):
                    value = replace_surrogates_in_json(value)
                items = value if isinstance(value, list) else [value]
            except ValueError as fault:
                raise _make_line_error(
                    path, _find_line_number(path, number, before), line, str(fault)
                ) from fault
            for item in items:
                if not isinstance(item, dict):
                    raise _make_line_error(
                        path,
                        _find_line_number(path, number, before),
                        line,
                        "not a JSON object",
                    )
                yield item, number, before


def _join_single_json_value(lines: Iterator[bytes]) -> Iterator[bytes]:
    first = next(lines, b"")
    yield b"".join([first, *lines]) if first.strip() in _OPENING_BRACKETS else first
    yield from lines


def _iterate_decompressed_lines(lines: Iterable[bytes], path: Path) -> Iterator[bytes]:
    try:
        yield from lines
    except (EOFError, gzip.BadGzipFile, zlib.error) as fault:
        raise make_refusal(
            f"it cannot be unpacked: {fault}", path, "a whole gzip file"
        ) from fault


def _find_line_number(path: Path, number: int, place: int | None) -> int:
    if place is None:
        return number
    with path.open("rb") as stream:
        chunks = iter(
            lambda: stream.read(min(_CHUNK_BYTES, place - stream.tell())), b""
        )
        return 1 + sum(chunk.count(b"\n") for chunk in chunks)


def _make_line_error(
    path: Path, number: int, line: bytes, message: str
) -> InputRefused:
    quote = shorten_quoted_line(line[:1000].decode(errors="replace"))
    return InputRefused(
        [Problem(file=str(path), line=number, message=message, quote=quote)]
    )


def compute_corpus_digest(corpus: Path) -> dict[str, str | int]:
    """Return the SHA-256 digest of a corpus and the version of the rule by which the
    digest is computed.

    The digest covers the names and contents of the files, sorted by path. In version 2,
    the digest does not depend on the order and the line endings of lines in JSON Lines
    files.
    """
    digest = hashlib.sha256()
    for path in (
        [corpus]
        if corpus.is_file()
        else sorted(filter(Path.is_file, corpus.rglob("*")))
    ):
        digest.update(f"{path.name}\n".encode())
        if path.name.removesuffix(".gz").endswith(_JSON_LINES_ENDINGS):
            digest.update(_compute_lines_digest(path))
        else:
            with path.open("rb") as stream:
                hashlib.file_digest(stream, lambda: digest)
    return {"sha256": digest.hexdigest(), "rule": CURRENT_DIGEST_RULE}


def _compute_lines_digest(path: Path) -> bytes:
    lines = total = 0
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        for line in _iterate_decompressed_lines(stream, path):
            if content := line.strip():
                lines += 1
                total += int.from_bytes(hashlib.sha256(content).digest())
    return f"{lines} {total % (1 << 256):064x}\n".encode()


def get_text(record: CorpusRecord, *keys: str) -> str:
    """Return the value of the first of the keys whose value is a text, a number or a
    list of texts. If no key has such a value, return an empty text.
    """
    for key in keys:
        value = record.get(key)
        if isinstance(value, list):
            value = "; ".join(
                str(part) for part in value if isinstance(part, str | int)
            )
        if (
            isinstance(value, str | int | float)
            and not isinstance(value, bool)
            and str(value).strip()
        ):
            return " ".join(str(value).split())
    return ""


def keep_letters_and_digits(content: str) -> str:
    return "".join(character for character in content.lower() if character.isalnum())


def remove_reference_tokens(content: str) -> str:
    """Remove tokens in double braces, which name a cited reference, from a heading."""
    return " ".join(_DOUBLE_BRACE_TOKEN.sub(" ", content).split())


def whole(record: CorpusRecord, *keys: str) -> int | None:
    """Return the value of the first of the keys whose value is an integer, or a text
    with an integer.

    Integers with more than 18 digits are ignored.
    """
    for key in keys:
        value = record.get(key)
        if (
            isinstance(value, str)
            and value.strip().isdecimal()
            and len(value) <= _MAX_INTEGER_DIGITS
        ):
            return int(value)
        if (
            isinstance(value, int)
            and not isinstance(value, bool)
            and abs(value) < 10**_MAX_INTEGER_DIGITS
        ):
            return value
    return None


def list_or_empty(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def mapping_or_empty(value: object) -> CorpusRecord:
    return value if isinstance(value, dict) else {}


#: Formats of corpora.
#: Each format is read by a module `load_…` of this package.
CORPUS_FORMS = ("lines", "clsumm", "unarxive", "s2orc", "scixml", "tei")
#: Formats of corpora in which texts are already split into sentences.
FORMS_WITH_SENTENCES = ("lines", "scixml", "clsumm")


class CorpusLoader:
    """Reads corpora in one format.

    ``as_a_whole`` reads a whole corpus at once, while ``files`` and ``add`` read files
    whose lines are independent of each other. A format has either ``as_a_whole``, or
    both ``files`` and ``add``. ``has_paragraphs`` is True if the format stores texts as
    paragraphs, and False if it stores texts as sentences.
    """

    def __init__(self, name: str) -> None:
        module, self.name, self.has_paragraphs = (
            _import_loader_module(name),
            name,
            name not in FORMS_WITH_SENTENCES,
        )
        self.as_a_whole: Callable[[Path, CorpusStore], None] | None = getattr(
            module, "load", None
        )
        self.files: Callable[[Path], Sequence[Path]] | None = getattr(
            module, "files", None
        )
        self.add: AddRecord | None = getattr(module, "add", None)

    def load(self, path: Path, store: CorpusStore) -> None:
        """Read a corpus into the store. The lines of the corpus may be in any order."""
        if self.as_a_whole is not None:
            self.as_a_whole(path, store)
        elif self.files is not None and self.add is not None:
            for file in self.files(path):
                add_records(file, self.add, store)


def choose_loader(form: str, path: Path) -> CorpusLoader:
    """Return the loader of the format of a corpus. `auto` detects the format. Raises
    InputRefused if the corpus is in none of the formats.
    """
    if not path.exists():
        raise make_refusal("there is no such file or folder", path)
    return CorpusLoader(form if form != "auto" else _detect_corpus_form(path))


def _import_loader_module(form: str) -> ModuleType:
    return importlib.import_module(f"scoring.tools.builders.load_{form}")


def _detect_corpus_form(path: Path) -> str:
    modules = {name: _import_loader_module(name) for name in CORPUS_FORMS}
    for name, module in modules.items():
        if hasattr(module, "fits") and module.fits(path):
            return name
    first = next(
        (
            record
            for file in list_corpus_files(path)
            for record in iterate_records(file)
        ),
        None,
    )
    for name, module in modules.items():
        if (
            first is not None
            and hasattr(module, "fits_record")
            and module.fits_record(first)
        ):
            return name
    raise make_refusal(
        "the form of this corpus is not known",
        path,
        f"one of {', '.join(CORPUS_FORMS)}",
    )
