"""Hostile texts of about so many characters: delimiters and beginnings of tags repeated, nested, unended."""

import string
from collections.abc import Callable, Iterator

#: Whatever some reader, tokenizer, splitter or Markdown looks for.
PIECES = (
    *string.punctuation,
    *" \t\n\r\f\0aA1é’“—\u2028\u3000\U0001f600",
    *("<S ", "<S", "<S>", "</S>", "<s", '<S sid="1">', "<S sid=", "sid=", "sid ", 'a="', "a ='"),
    *("<SECTION ", '<SECTION title="', "< ", "</", "/>", "<!--", "-->", "<![CDATA[", "<?", "<a href="),
    "&amp;",
    *("&", "&#", "&#0", "&#9", "&#x", "&a;", " | ", "Name: ", ": ", "Reference Text: "),
    "Citing Article: X | ",
    *("[1]", "[1", "[1] ", "[12]3", "[1, 2]", "[[", "]]", "[0] [1]", " [1].", "\\u0041", "\\"),
    *('\\"', '",', '""'),
    *(". ", ".)", '." ', "...", "?!", "e.g. ", "et al. ", "Fig. 1 ", "J. ", "A.B.", "a-", "a'", "1."),
    *("1.1", "-1"),
    *("{}", "[]", "{}\n", "[", "{", '{"a":', '{"a":[', "[1,", "NaN", "1e999 ", "-", "null,"),
    *('"a":1,', '""\n'),
    *("a,b\n", ",,,\n", '"a\n', "a b c d e f\n", "a Q0 b 1 0.5 t\n", "a Q0 b nan inf t\n", "\n\n", "a\n\n"),
    *("- ", "* ", "+ ", "1. ", "> ", "# ", "#", "    ", "\n    ", "\n- ", "\n> ", "- - ", "> > "),
    *("    - a\n", "***"),
    *("**", "__", "_a", "*a", "**a ", "*a_ ", "`", "``", "` ", "```\n", "~~~\n"),
    *("![", "](", "[a](", "![a](b)", "[a]: b\n"),
    *("[a][", "[a]\n", "<a@b.c>", "<http://", "http://a.b ", "|", "|-", "a|b\n-|-\n"),
    *("|a|\n|-|\n", "--\n", "==\n", "\n: a", "  \n"),
    *("ing", "ational", "y", "oed", "sses", "aa", "aaaa bbbb "),
)  # fmt: skip

Made = Callable[[int], str]


def shapes() -> Iterator[tuple[str, Made]]:
    """Each with the name that a failure says."""
    for piece in dict.fromkeys(PIECES):
        yield (
            f"{piece!r} repeated",
            lambda size, piece=piece: piece * (size // len(piece)),
        )
        yield (
            f"{piece!r} repeated, then x",
            lambda size, piece=piece: f"a{piece * (size // len(piece))}x",
        )
    for opening, closing in (
        ("[", "]"),
        ("(", ")"),
        ("<S>", "</S>"),
        ("<b>", "</b>"),
        ("*", "*"),
        ("[a](", ")"),
    ):
        yield (
            f"{opening!r} nested",
            lambda size, pair=(opening, closing): _nested(*pair, size),
        )
    yield "one word", lambda size: "a" * size
    yield "words of one letter", lambda size: "a " * (size // 2)
    yield "other words", lambda size: " ".join(map(str, range(size // 6)))
    yield "other lines", lambda size: "\n".join(map(str, range(size // 6)))
    yield "other paragraphs", lambda size: "\n\n".join(map(str, range(size // 7)))
    yield (
        "indented deeper and deeper",
        lambda size: "\n".join(" " * depth + "- a" for depth in range(_side(size))),
    )
    yield (
        "quoted deeper and deeper",
        lambda size: "\n".join(">" * depth + " a" for depth in range(_side(size))),
    )
    yield (
        "lines longer and longer",
        lambda size: "\n".join("a" * depth for depth in range(_side(size))),
    )


def _nested(opening: str, closing: str, size: int) -> str:
    depth = size // (len(opening) + len(closing))
    return opening * depth + closing * depth


def _side(size: int) -> int:
    """Of a triangle of so many characters."""
    return int((2 * size) ** 0.5)
