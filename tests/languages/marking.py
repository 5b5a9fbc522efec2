"""What of a page's words came through gettext: in the sources of templates, and on pages as they are sent."""

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from unittest.mock import patch

from django.conf import settings
from django.template.base import Lexer, TokenType
from django.utils import translation
from django.utils.translation import trans_real

OPEN, CLOSE = "⟦", "⟧"
BRACKET = re.compile(f"([{OPEN}{CLOSE}])")
#: Attributes that somebody reads or hears.
READ = ("title", "aria-label", "alt", "placeholder", "aria-description", "data-label")
#: What is in them is code, not prose.
CODE = ("script", "style", "code", "pre", "kbd", "samp", "svg")
WORD = re.compile(r"[^\W\d_]{2,}")
#: Elements without an end.
VOID = (
    "area",
    "base",
    "br",
    "col",
    "embed",
    "hr",
    "img",
    "input",
    "link",
    "meta",
    "source",
    "track",
    "wbr",
)


@contextmanager
def pseudo_locale() -> Iterator[None]:
    """Every message in brackets, its placeholders untouched."""

    def one(message: str) -> str:
        return f"{OPEN}{trans_real.gettext(message)}{CLOSE}"

    def of_two(singular: str, plural: str, number: int) -> str:
        return one(singular if number == 1 else plural)

    with patch.multiple(
        translation._trans,
        gettext=one,
        pgettext=lambda context, message: one(message),
        ngettext=of_two,
        npgettext=lambda context, singular, plural, number: of_two(
            singular, plural, number
        ),
        create=True,
    ):
        yield


class Prose(HTMLParser):
    """The texts of a page that somebody reads and no message covers, but for code and English.

    A message may have elements within it, and messages within it.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self._depth = 0
        self.feed(page)

    @property
    def _is_prose(self) -> bool:
        return not any(is_other for _, is_other in self._open)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        is_other = tag in CODE or (tag != "html" and given.get("lang") == "en")
        if not is_other and self._is_prose and not self._depth:
            for name in READ:
                self._keep(given.get(name) or "")
                self._depth = 0
        if tag not in VOID:
            self._open.append((tag, is_other))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        self._keep(data)

    def _keep(self, text: str) -> None:
        piece = ""
        for part in BRACKET.split(f"{text}{OPEN}"):
            if part == OPEN:
                if not self._depth and self._is_prose and WORD.search(piece):
                    self.texts.append(" ".join(piece.split()))
                piece = ""
                self._depth += 1
            elif part == CLOSE:
                self._depth = max(0, self._depth - 1)
            elif not self._depth:
                piece += part
        self._depth -= 1


def unmarked(template: Path) -> list[str]:
    """Texts and read attributes in a template's source that no translation tag covers."""
    kept, within = [], False
    for token in Lexer(template.read_text("utf-8")).tokenize():
        name = token.contents.split(maxsplit=1)[0] if token.contents.strip() else ""
        if token.token_type == TokenType.BLOCK and name in (
            "blocktranslate",
            "comment",
        ):
            within = True
        elif token.token_type == TokenType.BLOCK and name in (
            "endblocktranslate",
            "endcomment",
        ):
            within = False
        elif token.token_type == TokenType.BLOCK and name == "include":
            kept.append(
                " ".join(
                    f"<p>{said}</p>"
                    for said in re.findall(r'\w+="([A-Z][^"]*)"', token.contents)
                )
            )
        elif token.token_type == TokenType.TEXT and not within:
            kept.append(token.contents)
    return Prose("".join(kept)).texts


def sentences_in_code() -> set[str]:
    """What the Django half has as texts of two words or more, but for descriptions of the code."""
    found: set[str] = set()
    plain = [f"scoring/{room}/" for room in ("metrics", "stats", "offline", "tools", "client", "figures",
             "adapters", "distribution", "papers", "api", "demo", "management")]  # fmt: skip
    plain += ["tasks/types/", "tasks/management/"]
    for room in ("platform/citeboard", "scoring", "tasks"):
        for path in Path(settings.BASE_DIR, room).rglob("*.py"):
            name = path.relative_to(settings.BASE_DIR).as_posix()
            if (
                "/migrations/" in name
                or name.endswith("admin.py")
                or name.startswith(tuple(plain))
            ):
                continue
            found.update(_texts(ast.parse(path.read_text("utf-8"))))
    return found


def _texts(tree: ast.AST) -> Iterator[str]:
    descriptions = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        )
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in descriptions
        ):
            text = " ".join(node.value.split()).strip(" .,:;()")
            if len(WORD.findall(text)) > 1 and " " in text:
                yield text
