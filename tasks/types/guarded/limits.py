"""Limits on the size and depth of untrusted TOML and JSON, and the error for a text
that exceeds a limit.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class TextLimits:
    #: `size` is the maximum number of bytes of an untrusted text in UTF-8.
    size: int
    #: `depth` is the maximum nesting depth of lists and objects.
    depth: int
    #: `digits` is the maximum number of digits of an integer.
    digits: int


class TextUnreadable(ValueError):
    """The error for a TOML or JSON text that is invalid or exceeds a limit. ``line``
    and ``column`` are the position of the fault in the text, or None if the position is
    unknown.
    """

    def __init__(
        self, message: str, line: int | None = None, column: int | None = None
    ) -> None:
        where = "" if line is None else f" in line {line}"
        where += "" if column is None else f", column {column}"
        super().__init__(f"{message}{where}")
        self.message, self.line, self.column = message, line, column


def decode_within_size_limit(text: str | bytes, limits: TextLimits) -> str:
    """Return an untrusted text as `str`, without a byte order mark. Raises Unreadable
    if the text exceeds the maximum size or is not UTF-8.
    """
    size = len(text)
    if isinstance(text, str) and not text.isascii():
        size = len(text.encode("utf-8", "surrogatepass"))
    if size > limits.size:
        raise TextUnreadable(f"{size:,} bytes (limit: {limits.size:,})")
    try:
        return text if isinstance(text, str) else text.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = fault.object.count(b"\n", 0, fault.start) + 1
        raise TextUnreadable("not UTF-8", line) from fault


def compute_nesting_depth(value: object) -> int:
    """Return the nesting depth of lists and dictionaries in a parsed value."""
    depth, level = 0, [value] if isinstance(value, list | dict) else []
    while level:
        depth += 1
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, list | dict)
        ]
    return depth


def make_too_deep_error(
    depth: int, limits: TextLimits, line: int | None = None
) -> TextUnreadable:
    return TextUnreadable(f"nested {depth:,} deep (limit: {limits.depth})", line)


def make_too_long_number_error(
    digits: int, limits: TextLimits, line: int | None = None
) -> TextUnreadable:
    message = f"a number of {digits:,} digits (limit: {limits.digits:,})"
    return TextUnreadable(message, line)
