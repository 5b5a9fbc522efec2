"""Markdown that people wrote, as HTML that can do no harm."""

import re
from functools import lru_cache

import nh3
from django.utils.html import format_html
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt

TAGS = {
    "a", "blockquote", "br", "code", "dd", "dl", "dt", "em", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol",
    "p", "pre", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"a": {"href", "title"}}
#: CommonMark in time that grows with the text, whoever wrote it, and tables.
MAX_TEXT = 50_000
_WRITER = MarkdownIt("commonmark").enable("table")


@lru_cache(maxsize=256)
def rendered(text: str, top: int = 2) -> SafeString:
    """The text as HTML. ``top`` is the level of its highest heading, whichever that is, as pages have an h1.

    A text of more than ``MAX_TEXT`` characters is shown as it is.

    Images are left out, since no page asks another host for anything; so are styles and scripts.
    """
    if len(text) > MAX_TEXT:
        return format_html('<pre tabindex="0">{}</pre>', text)
    clean = nh3.clean(
        _with_headings_from(top, _WRITER.render(text)),
        tags=TAGS,
        attributes=ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer",
    )
    return SafeString(with_scrolling(clean))


def with_scrolling(html: str) -> str:
    """A wide table or a long line scrolls by itself, also by keyboard, instead of widening the page."""
    html = html.replace("<table>", '<div class="scroll" tabindex="0" role="group"><table>')
    html = html.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')
    # A head without words is none to a screen reader.
    html = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", html)
    return html.replace("<th>", '<th scope="col">')


def _with_headings_from(top: int, html: str) -> str:
    """The same HTML with its headings moved together, so that the highest of them has the level ``top``."""
    levels = [int(level) for level in re.findall(r"<h([1-6])>", html)]
    shift = top - min(levels, default=top)
    return re.sub(r"<(/?)h([1-6])>", lambda found: f"<{found[1]}h{min(6, int(found[2]) + shift)}>", html)
