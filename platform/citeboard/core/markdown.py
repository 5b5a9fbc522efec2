"""Rendering of users' Markdown as safe HTML, and of the site's guides."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from html import escape
from pathlib import Path

import nh3
from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, gettext_noop as _
from markdown_it import MarkdownIt
from markdown_it.token import Token

ALLOWED_TAGS = {
    "a",
    "blockquote",
    "br",
    "code",
    "dd",
    "dl",
    "dt",
    "em",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
}
#: Pages show texts of more than MAX_RENDERED_LENGTH characters as plain text, not as Markdown.
MAX_RENDERED_LENGTH = 50_000
_MARKDOWN_PARSER = MarkdownIt("commonmark").enable("table")


@lru_cache(maxsize=256)
def render_markdown(text: str, top: int = 2) -> SafeString:
    """Render Markdown as HTML without images, styles and scripts.

    ``top`` is the level (1 to 6) of the highest heading in the HTML.
    """
    if len(text) > MAX_RENDERED_LENGTH:
        return format_html('<pre tabindex="0">{}</pre>', text)
    html = _MARKDOWN_PARSER.render(text)
    shift = top - min(
        (int(level) for level in re.findall(r"<h([1-6])>", html)), default=top
    )
    html = re.sub(
        r"<(/?)h([1-6])>",
        lambda match: f"<{match[1]}h{min(6, int(match[2]) + shift)}>",
        html,
    )
    links, schemes = {"a": {"href", "title"}}, {"http", "https", "mailto"}
    clean = nh3.clean(
        html,
        tags=ALLOWED_TAGS,
        attributes=links,
        url_schemes=schemes,
        link_rel="noopener noreferrer",
    )
    return SafeString(make_wide_parts_scrollable(clean))


def make_wide_parts_scrollable(html: str) -> str:
    """Make wide tables and long lines of code scroll inside the page.

    Readers can also scroll the tables and lines by keyboard, and the page does not
    become wider than the screen.
    """
    html = html.replace(
        "<table>", '<div class="scroll" tabindex="0" role="group"><table>'
    )
    html = html.replace("</table>", "</table></div>").replace(
        "<pre>", '<pre tabindex="0">'
    )
    # Screen readers must not announce an empty cell of a table as a header.
    html = re.sub(r"<th([^>]*)></th>", r"<td\1></td>", html)
    return html.replace("<th>", '<th scope="col">')


GUIDES_FOLDER = "docs"
#: The files in the folder DOWNLOADABLE_FILES_FOLDER of ``docs`` are also static files of the site.
DOWNLOADABLE_FILES_FOLDER = "receipts/"
#: The page of guides shows guides without a group in the last group of GUIDE_GROUPS.
GUIDE_GROUPS = {
    _("Reading and citing"): (
        "readers",
        "scores",
        "uncertainty",
        "published-results",
        "receipts",
    ),
    _("Taking part"): ("participants", "client", "api", "api-stability"),
    _("Organising"): (
        "organisers",
        "your-own-task",
        "season-file",
        "bundles",
        "judges",
        "judges-and-battles",
        "builders",
    ),
    _("Tasks and metrics"): (
        "clsumm",
        "citation-text",
        "discourse",
        "positional-citations",
        "reports",
        "measures",
    ),
    _("What was measured"): ("papers", "benchmarks"),
    _("Running a site"): (
        "operating",
        "security",
        "capacity",
        "settings",
        "upgrading",
        "releases",
    ),
    _("Developing"): ("developers", "new-task-type", "reference"),
}
MAX_GUIDE_MATCHES_SHOWN = 30
SEARCH_EXCERPT_LENGTH = 220


@dataclass(frozen=True)
class GuideSection:
    title: str
    anchor: str
    text: str


@dataclass(frozen=True)
class Guide:
    slug: str
    title: str
    html: SafeString
    sections: tuple[GuideSection, ...]

    @property
    def contents(self) -> list[GuideSection]:
        return [section for section in self.sections[1:] if section.anchor]


@dataclass(frozen=True)
class GuideMatch:
    guide: Guide
    section: GuideSection
    excerpt: str


@cache
def load_guides() -> dict[str, Guide]:
    folder = Path(settings.BASE_DIR) / GUIDES_FOLDER
    names = {path.stem for path in folder.glob("*.md")}
    ordered = [
        slug for group in GUIDE_GROUPS.values() for slug in group if slug in names
    ]
    return {
        slug: _build_guide(
            slug, (folder / f"{slug}.md").read_text(encoding="utf-8"), names
        )
        for slug in [*ordered, *sorted(names.difference(ordered))]
    }


def group_guides() -> list[tuple[str, list[Guide]]]:
    by_slug = load_guides()
    placed = {slug for group in GUIDE_GROUPS.values() for slug in group}
    grouped = {
        title: [by_slug[slug] for slug in group if slug in by_slug]
        for title, group in GUIDE_GROUPS.items()
    }
    grouped[list(GUIDE_GROUPS)[-1]] += [
        guide for slug, guide in by_slug.items() if slug not in placed
    ]
    return [(gettext(title), group) for title, group in grouped.items() if group]


def search_guides(text: str) -> list[GuideMatch]:
    words = text.casefold().split()
    if not words:
        return []
    hits: list[tuple[int, int, Guide, GuideSection]] = []
    for guide in load_guides().values():
        for section in guide.sections:
            title, body = section.title.casefold(), section.text.casefold()
            if all(word in f"{title} {body}" for word in words):
                weight = sum(
                    10 * (word in title) + min(5, body.count(word)) for word in words
                )
                hits.append((-weight, len(hits), guide, section))
    hits.sort(key=lambda hit: hit[:2])
    return [
        GuideMatch(guide, section, _build_excerpt_with_matches(section.text, words))
        for _, _, guide, section in hits[:MAX_GUIDE_MATCHES_SHOWN]
    ]


def _build_excerpt_with_matches(text: str, words: Sequence[str]) -> str:
    places = [place for word in words if (place := text.casefold().find(word)) >= 0]
    start = max(0, min(places, default=0) - SEARCH_EXCERPT_LENGTH // 3)
    part = text[start : start + SEARCH_EXCERPT_LENGTH]
    return f"{'…' if start else ''}{part.strip()}{'…' if start + SEARCH_EXCERPT_LENGTH < len(text) else ''}"


def _build_guide(slug: str, text: str, slugs: set[str]) -> Guide:
    tokens = _MARKDOWN_PARSER.parse(text)
    sections = tuple(_split_sections_by_heading(tokens))
    for token in tokens:
        for child in token.children or ():
            _adapt_link_address(child, slugs)
        if token.children:
            token.children = list(_link_images(token.children))
    body = tokens[3:] if tokens and tokens[0].tag == "h1" else tokens
    html = make_wide_parts_scrollable(
        _MARKDOWN_PARSER.renderer.render(body, _MARKDOWN_PARSER.options, {})
    )
    # The HTML of guides is trusted, because guides are part of the program.
    return Guide(slug, sections[0].title, mark_safe(html), sections)  # noqa: S308


def _split_sections_by_heading(tokens: Sequence[Token]) -> Iterator[GuideSection]:
    seen: Counter[str] = Counter()
    title, anchor, text = "", "", list[str]()
    is_begun = False
    for index, token in enumerate(tokens):
        if token.type == "heading_open":
            if is_begun:
                yield GuideSection(title, anchor, " ".join(text))
            is_begun, text = True, []
            title = _extract_token_text(tokens[index + 1])
            name = re.sub(r"[^\w\- ]", "", title.casefold()).replace(" ", "-")
            anchor = f"{name}-{seen[name]}" if seen[name] else name
            seen[name] += 1
            token.attrSet("id", anchor)
        elif token.type == "inline" and tokens[index - 1].type != "heading_open":
            text.append(_extract_token_text(token))
        elif token.type in ("fence", "code_block"):
            text.append(" ".join(token.content.split()))
    yield GuideSection(title, anchor, " ".join(text))


def _extract_token_text(token: Token) -> str:
    return "".join(
        child.content
        if child.type in ("text", "code_inline")
        else " "
        if child.type == "softbreak"
        else ""
        for child in token.children or ()
    )


def _link_images(tokens: Iterable[Token]) -> Iterator[Token]:
    """Link each image to its file, so that readers on narrow screens can open the image
    at full size.
    """
    for token in tokens:
        if token.type != "image":
            yield token
            continue
        source = str(token.attrGet("src"))
        yield Token("link_open", "a", 1, attrs={"href": source, "class": "picture"})
        yield token
        yield Token("link_close", "a", -1)


def _adapt_link_address(token: Token, slugs: set[str]) -> None:
    if token.type == "image":
        name = str(token.attrGet("src")).removeprefix("img/")
        token.attrSet("src", static(f"guides/{name}"))
        token.attrSet("loading", "lazy")
        return
    if token.type != "link_open":
        return
    path, _, anchor = str(token.attrGet("href")).partition("#")
    slug = path.removesuffix(".md")
    if slug in slugs and path.endswith(".md"):
        token.attrSet(
            "href", reverse("guide", args=[slug]) + (f"#{anchor}" if anchor else "")
        )
    elif path.startswith(DOWNLOADABLE_FILES_FOLDER):
        token.attrs = {
            "href": static(path),
            "download": path.removeprefix(DOWNLOADABLE_FILES_FOLDER),
        }
    elif path.startswith("../"):
        token.attrs = {
            "title": escape(f"In the program's folder: {path.removeprefix('../')}")
        }
