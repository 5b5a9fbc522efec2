"""Convert HTML pages of a competition bundle to Markdown, without scripts, styles,
images and forms. This module does not import Django.
"""

import re
from html.parser import HTMLParser

#: Elements in _REMOVED_HTML_ELEMENTS are removed, and elements in _BLOCK_HTML_ELEMENTS start a paragraph.
_REMOVED_HTML_ELEMENTS = frozenset(
    {"script", "style", "head", "template", "noscript", "svg", "form"}
)
_BLOCK_HTML_ELEMENTS = frozenset(
    {"p", "div", "section", "article", "ul", "ol", "table", "blockquote", "pre", "dl"}
)
_HEADING_PREFIXES = {f"h{level}": "#" * level for level in range(1, 7)}
_ELEMENT_SEPARATORS = {"br": "\n", "tr": "\n", "td": " | ", "th": " | "}
_EMPHASIS_MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}
_LINK_ADDRESS_PATTERN = re.compile(r"(?:https?://|mailto:)[^\s<>()]+", re.IGNORECASE)


def convert_html_to_markdown(html: str) -> str:
    """Return an HTML page as Markdown with headings, lists, links and emphasis."""
    writer = _MarkdownWriter()
    writer.feed(html)
    writer.close()
    lines = "".join(writer.parts).split("\n")
    text = "\n".join(line.rstrip(" \t") for line in lines)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


class _MarkdownWriter(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._ignored = 0
        self._is_preformatted = False
        self._lists: list[int | None] = []
        self._address = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self._enters_visible_text(tag):
            return
        if tag in _HEADING_PREFIXES:
            self.parts.append(f"\n\n{_HEADING_PREFIXES[tag]} ")
        elif tag in _BLOCK_HTML_ELEMENTS:
            self._begin_block_element(tag)
        elif tag == "li":
            self.parts.append(f"\n{self._build_list_item_prefix()} ")
        elif tag in _ELEMENT_SEPARATORS:
            self.parts.append(_ELEMENT_SEPARATORS[tag])
        elif tag == "a":
            self._begin_link(dict(attrs).get("href") or "")
        elif tag in _EMPHASIS_MARKS and not self._is_preformatted:
            self.parts.append(_EMPHASIS_MARKS[tag])

    def _enters_visible_text(self, tag: str) -> bool:
        if tag in _REMOVED_HTML_ELEMENTS:
            self._ignored += 1
        elif tag == "body":
            # An HTML page may lack the end tag of the element `head`.
            self._ignored = 0
        return not self._ignored

    def handle_endtag(self, tag: str) -> None:
        if tag in _REMOVED_HTML_ELEMENTS:
            self._ignored = max(0, self._ignored - 1)
        elif self._ignored:
            return
        elif tag in _HEADING_PREFIXES:
            self.parts.append("\n\n")
        elif tag in _BLOCK_HTML_ELEMENTS:
            self._end_block_element(tag)
        elif tag == "a" and self._address:
            self.parts.append(f"]({self._address})")
            self._address = ""
        elif tag in _EMPHASIS_MARKS and not self._is_preformatted:
            self.parts.append(_EMPHASIS_MARKS[tag])

    def handle_data(self, data: str) -> None:
        if self._ignored:
            return
        self.parts.append(data if self._is_preformatted else re.sub(r"\s+", " ", data))

    def _begin_block_element(self, tag: str) -> None:
        if tag in ("ul", "ol"):
            self._lists.append(0 if tag == "ol" else None)
        self._is_preformatted = self._is_preformatted or tag == "pre"
        self.parts.append("\n\n```\n" if tag == "pre" else "\n\n")

    def _end_block_element(self, tag: str) -> None:
        if tag in ("ul", "ol") and self._lists:
            self._lists.pop()
        if tag == "pre":
            self._is_preformatted = False
        self.parts.append("\n```\n\n" if tag == "pre" else "\n\n")

    def _build_list_item_prefix(self) -> str:
        indent = "  " * max(0, len(self._lists) - 1)
        if not self._lists or self._lists[-1] is None:
            return f"{indent}-"
        self._lists[-1] += 1
        return f"{indent}{self._lists[-1]}."

    def _begin_link(self, address: str) -> None:
        # Links whose URL has another scheme become plain text.
        if _LINK_ADDRESS_PATTERN.fullmatch(address) and not self._address:
            self._address = address
            self.parts.append("[")
