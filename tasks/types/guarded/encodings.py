"""Detect the format of untrusted files from byte order marks of texts and from
signatures of binary files.
"""

import codecs
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

GZIP_SIGNATURE = b"\x1f\x8b\x08"
#: The byte order mark of UTF-32 is tested first, as it begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
MAX_BYTE_ORDER_MARK_BYTES = 4
#: `PYTHON_CODECS_BY_ENCODING` maps display names of encodings to the names of Python codecs.
#: As in web browsers, codecs decode a superset of the named encoding, such as cp932.
PYTHON_CODECS_BY_ENCODING = {
    "GB18030": "gb18030",
    "Shift-JIS": "cp932",
    "EUC-KR": "cp949",
    "Windows-1252": "cp1252",
    "Windows-1251": "cp1251",
}
#: An error message quotes at most `MAX_QUOTED_CHARACTERS` characters of a line for each encoding.
MAX_QUOTED_CHARACTERS = 60
_CONTROL_CHARACTERS = bytes({*range(32), 127} - set(b"\t\n\f\r\x1a\x1b"))
#: Files with more control characters than `_MAX_CONTROL_SHARE` count as binary.
#: In random bytes, about one eighth of the bytes are control characters.
_MAX_CONTROL_SHARE = 0.02
_ZIP_ARCHIVE_DESCRIPTION, _OLD_OFFICE_FILE_DESCRIPTION = (
    "a zip archive",
    "an Excel workbook or a Word file of before 2007",
)
_BINARY_FILE_SIGNATURES = (
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a rar archive"),
    (b"PK\x03\x04", _ZIP_ARCHIVE_DESCRIPTION),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"%PDF", "a PDF document"),
    (b"{\\rtf", "a document in RTF"),
    (b"\xd0\xcf\x11\xe0", _OLD_OFFICE_FILE_DESCRIPTION),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"GIF8", "a picture"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x80\x04\x95", "a pickle of Python"),
)
#: `_OFFICE_KIND_BY_FOLDER` maps beginnings of member names in zip archives to kinds of office files.
_OFFICE_KIND_BY_FOLDER = {
    "xl/": "an Excel workbook",
    "word/": "a Word file",
    "ppt/": "a PowerPoint file",
    "META-INF/manifest.xml": "an OpenDocument file",
    "Index/Document.iwa": "a file of Numbers or Pages",
}
#: Each zip archive of Excel, Word or PowerPoint contains the member `_OFFICE_CONTENT_TYPES_FILE`.
_OFFICE_CONTENT_TYPES_FILE = "[Content_Types].xml"
_OFFICE_KIND_BY_ENDING = {
    ".xlsx": "an Excel workbook",
    ".xlsm": "an Excel workbook",
    ".xls": "an Excel workbook",
    ".docx": "a Word file",
    ".doc": "a Word file",
    ".pptx": "a PowerPoint file",
    ".ods": "an OpenDocument file",
    ".odt": "an OpenDocument file",
}


def detect_byte_order_mark_encoding(beginning: bytes) -> str:
    """Return `UTF-16` or `UTF-32` if the bytes begin with the byte order mark of this
    encoding, otherwise an empty text.
    """
    return next(
        (name for mark, name in _BYTE_ORDER_MARKS if beginning.startswith(mark)), ""
    )


def detect_kind_by_signature(beginning: bytes, suffix: str = "") -> str | None:
    """Return the kind of a file from its first bytes, or None for texts and unknown
    files.

    Office files such as .xlsx are zip archives with typical members. If the first bytes
    do not determine the kind of an office file, the file extension determines the kind.
    """
    kind = next(
        (
            kind
            for magic, kind in _BINARY_FILE_SIGNATURES
            if beginning.startswith(magic)
        ),
        None,
    )
    if kind == _ZIP_ARCHIVE_DESCRIPTION:
        # Names of office files are searched in the zip archive's first bytes.
        parts = [
            name
            for name in (*_OFFICE_KIND_BY_FOLDER, _OFFICE_CONTENT_TYPES_FILE)
            if name.encode() in beginning
        ]
        kind = (
            detect_kind_of_office_file(parts)
            or _OFFICE_KIND_BY_ENDING.get(suffix)
            or kind
        )
    return (
        _OFFICE_KIND_BY_ENDING.get(suffix, kind)
        if kind == _OLD_OFFICE_FILE_DESCRIPTION
        else kind
    )


def detect_kind_of_binary_file(beginning: bytes, suffix: str = "") -> str | None:
    """Return a description of a binary file from its first bytes, or None for a text."""
    kind = detect_kind_by_signature(beginning, suffix)
    if kind or not beginning:
        return kind
    if kind := _guess_encoding(beginning):
        return kind
    controls = len(beginning) - len(beginning.translate(None, _CONTROL_CHARACTERS))
    return "binary data" if controls > _MAX_CONTROL_SHARE * len(beginning) else None


WITHOUT_BYTE_ORDER_MARK = "without a byte order mark"
#: Texts of fewer than `MIN_BYTES_TESTED_FOR_UTF16` bytes are not tested for UTF-16 and UTF-32.
MIN_BYTES_TESTED_FOR_UTF16 = 8
#: In UTF-16, Latin letters, punctuation and line ends contain a zero byte each.
#: Texts with at least the share `MIN_ZERO_SHARE_OF_UTF16` of zero bytes may therefore be UTF-16.
#: In UTF-32, at least the share `MIN_ZERO_SHARE_OF_UTF32` of bytes at certain positions is zero.
MIN_ZERO_SHARE_OF_UTF16, MIN_ZERO_SHARE_OF_UTF32 = 0.4, 0.9


def _guess_encoding(beginning: bytes) -> str:
    """Return a description if the bytes are text in UTF-16 or UTF-32 without a byte
    order mark, otherwise an empty text.
    """
    if len(beginning) < MIN_BYTES_TESTED_FOR_UTF16:
        return ""
    whole = beginning[: len(beginning) // 4 * 4]
    zeros = [whole[place::4].count(0) / (len(whole) // 4) for place in range(4)]
    if (
        min(zeros[2:]) > MIN_ZERO_SHARE_OF_UTF32 > zeros[0]
        or min(zeros[:2]) > MIN_ZERO_SHARE_OF_UTF32 > zeros[3]
    ):
        return f"a text in UTF-32 {WITHOUT_BYTE_ORDER_MARK}"
    even, odd = (zeros[0] + zeros[2]) / 2, (zeros[1] + zeros[3]) / 2
    is_utf16 = (
        max(even, odd) > MIN_ZERO_SHARE_OF_UTF16
        and min(even, odd) < 1 - MIN_ZERO_SHARE_OF_UTF32
    )
    return f"a text in UTF-16 {WITHOUT_BYTE_ORDER_MARK}" if is_utf16 else ""


def detect_kind_of_office_file(members: Collection[str]) -> str | None:
    """Return the kind of an office file from the names of the members in its zip
    archive, or None for other zip archives.
    """
    if _OFFICE_CONTENT_TYPES_FILE not in members and not {
        "META-INF/manifest.xml",
        "Index/Document.iwa",
    } & {*members}:
        return None
    found = (
        kind
        for begin, kind in _OFFICE_KIND_BY_FOLDER.items()
        if any(name.startswith(begin) for name in members)
    )
    return next(found, None)


def find_first_invalid_utf8_byte(data: bytes) -> int | None:
    """Return the offset of the first byte that is not valid UTF-8, or None for valid
    UTF-8.
    """
    if data.isascii():
        return None
    try:
        data.decode()
    except UnicodeDecodeError as fault:
        return fault.start
    return None


@dataclass(frozen=True)
class NonUtf8Line:
    """The first line of a file that is not UTF-8, and the encodings that can decode the
    whole file.
    """

    line: int
    raw: bytes
    encodings: tuple[str, ...]

    @property
    def iterate_decoding_descriptions(self) -> Iterator[str]:
        """Yield a description for each encoding, with the name of the encoding and the
        line as decoded by the encoding.
        """
        for name in self.encodings:
            text = self.raw.decode(PYTHON_CODECS_BY_ENCODING[name], "replace").strip()
            ellipsis_mark = "…" if len(text) > MAX_QUOTED_CHARACTERS else ""
            yield f"{name} reads “{text[:MAX_QUOTED_CHARACTERS]}{ellipsis_mark}”"

    @property
    def message(self) -> str:
        if not self.encodings:
            names = ", ".join(PYTHON_CODECS_BY_ENCODING)
            return f"not UTF-8; none of {names} decodes the whole file"
        names = ", ".join(self.encodings)
        one = "decodes" if len(self.encodings) == 1 else "decode"
        return f"not UTF-8; {names} {one} the whole file: {'; '.join(self.iterate_decoding_descriptions)}"


NOT_UTF8_MESSAGE = "not UTF-8"
EXPECTED_ENCODING_DESCRIPTION = (
    "a text in UTF-8, or in UTF-16 or UTF-32 with a byte order mark"
)


def find_first_non_utf8_line(
    lines: Callable[[], Iterable[bytes]],
) -> NonUtf8Line | None:
    """Return the first line of a file that is not UTF-8, or None if all lines are
    UTF-8. The function ``lines`` must return the lines of the file from the beginning
    each time it is called.
    """
    first = next(
        (
            (number, raw)
            for number, raw in enumerate(lines(), start=1)
            if find_first_invalid_utf8_byte(raw) is not None
        ),
        None,
    )
    if first is None:
        return None
    decoders = {
        name: codecs.getincrementaldecoder(codec)()
        for name, codec in PYTHON_CODECS_BY_ENCODING.items()
    }
    for raw in lines():
        for name in [name for name in decoders if not _can_decode(decoders[name], raw)]:
            del decoders[name]
    for name in [
        name for name in decoders if not _can_decode(decoders[name], b"", is_last=True)
    ]:
        del decoders[name]
    return NonUtf8Line(first[0], first[1], tuple(decoders))


def _can_decode(
    decoder: codecs.IncrementalDecoder, data: bytes, *, is_last: bool = False
) -> bool:
    try:
        decoder.decode(data, is_last)
    except UnicodeDecodeError:
        return False
    return True
