"""Recognise the bytes of a text from outside: its byte order mark, and what other files begin with."""

import codecs
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

GZIP = b"\x1f\x8b\x08"
#: UTF-32 comes first, since its mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
LONGEST_MARK = 4
#: Encodings by name, with their codecs: of two the larger sets, as browsers read them.
ENCODINGS = {
    "GB18030": "gb18030",
    "Shift-JIS": "cp932",
    "EUC-KR": "cp949",
    "Windows-1252": "cp1252",
    "Windows-1251": "cp1251",
}
#: Characters of a line that a message shows under each encoding.
SHOWN = 60
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\f\r\x1a\x1b"))
#: A text in some encoding has few of them; noise has an eighth.
_MAX_CONTROL_SHARE = 0.02
_ZIP, _OLD_OFFICE = "a zip archive", "an Excel workbook or a Word file of before 2007"
_MAGIC = (
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a rar archive"),
    (b"PK\x03\x04", _ZIP),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"%PDF", "a PDF document"),
    (b"{\\rtf", "a document in RTF"),
    (b"\xd0\xcf\x11\xe0", _OLD_OFFICE),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x80\x04\x95", "a pickle of Python"),
)
#: How a member of a zip archive begins by which the file of an office program is known.
_OFFICE = {
    "xl/": "an Excel workbook",
    "word/": "a Word file",
    "ppt/": "a PowerPoint file",
    "META-INF/manifest.xml": "an OpenDocument file",
    "Index/Document.iwa": "a file of Numbers or Pages",
}
#: The list of parts that every file of Excel, Word and PowerPoint has.
_PARTS = "[Content_Types].xml"
_OFFICE_NAMES = {
    ".xlsx": "an Excel workbook",
    ".xlsm": "an Excel workbook",
    ".xls": "an Excel workbook",
    ".docx": "a Word file",
    ".doc": "a Word file",
    ".pptx": "a PowerPoint file",
    ".ods": "an OpenDocument file",
    ".odt": "an OpenDocument file",
}


def marked_encoding(beginning: bytes) -> str:
    """Return `UTF-16` or `UTF-32` if a text begins with a byte order mark of it, else an empty text."""
    return next((name for mark, name in _MARKS if beginning.startswith(mark)), "")


def magic_kind(beginning: bytes, suffix: str = "") -> str | None:
    """Return what a file is by its first bytes; None of a text and of other files.

    Files of office programs are archives: their ending says which they are.
    """
    kind = next((kind for magic, kind in _MAGIC if beginning.startswith(magic)), None)
    if kind == _ZIP:
        # An archive that is damaged has no list of its members.
        parts = [name for name in (*_OFFICE, _PARTS) if name.encode() in beginning]
        kind = office_kind(parts) or _OFFICE_NAMES.get(suffix) or kind
    return _OFFICE_NAMES.get(suffix, kind) if kind == _OLD_OFFICE else kind


def binary_kind(beginning: bytes, suffix: str = "") -> str | None:
    """What it is if it is no text; None of a text."""
    kind = magic_kind(beginning, suffix)
    if kind or not beginning:
        return kind
    controls = len(beginning) - len(beginning.translate(None, _CONTROLS))
    return "binary data" if controls > _MAX_CONTROL_SHARE * len(beginning) else None


def office_kind(members: Collection[str]) -> str | None:
    """Return what a zip archive with these members is if it is the file of an office program."""
    if _PARTS not in members and not {"META-INF/manifest.xml", "Index/Document.iwa"} & {
        *members
    }:
        return None
    found = (
        kind
        for begin, kind in _OFFICE.items()
        if any(name.startswith(begin) for name in members)
    )
    return next(found, None)


def fault_place(data: bytes) -> int | None:
    """Return the offset of the first byte that is not UTF-8, None if all of them are."""
    if data.isascii():
        return None
    try:
        data.decode()
    except UnicodeDecodeError as fault:
        return fault.start
    return None


@dataclass(frozen=True)
class Misfit:
    """The first line that is not UTF-8, and the encodings that decode the whole file."""

    line: int
    raw: bytes
    encodings: tuple[str, ...]

    @property
    def readings(self) -> Iterator[str]:
        """Yield each encoding with the line as it reads it."""
        for name in self.encodings:
            text = self.raw.decode(ENCODINGS[name], "replace").strip()
            yield f"{name} reads “{text[:SHOWN]}{'…' if len(text) > SHOWN else ''}”"

    @property
    def message(self) -> str:
        if not self.encodings:
            names = ", ".join(ENCODINGS)
            return f"not UTF-8; none of {names} decodes the whole file"
        names = ", ".join(self.encodings)
        one = "decodes" if len(self.encodings) == 1 else "decode"
        return f"not UTF-8; {names} {one} the whole file: {'; '.join(self.readings)}"


NOT_UTF8 = "not UTF-8"
SAVED = "a text in UTF-8, or in UTF-16 or UTF-32 with a byte order mark"


def find_misfit(lines: Callable[[], Iterable[bytes]]) -> Misfit | None:
    """Return what is wrong with the lines of a file, which are read twice; None if all are UTF-8."""
    first = next(
        (
            (number, raw)
            for number, raw in enumerate(lines(), start=1)
            if fault_place(raw) is not None
        ),
        None,
    )
    if first is None:
        return None
    decoders = {
        name: codecs.getincrementaldecoder(codec)() for name, codec in ENCODINGS.items()
    }
    for raw in lines():
        for name in [name for name in decoders if not _decodes(decoders[name], raw)]:
            del decoders[name]
    for name in [
        name for name in decoders if not _decodes(decoders[name], b"", is_last=True)
    ]:
        del decoders[name]
    return Misfit(first[0], first[1], tuple(decoders))


def _decodes(
    decoder: codecs.IncrementalDecoder, data: bytes, *, is_last: bool = False
) -> bool:
    try:
        decoder.decode(data, is_last)
    except UnicodeDecodeError:
        return False
    return True
