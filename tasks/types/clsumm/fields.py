"""What stands in one field of an annotation, read as the official programs read it, in either form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

_ELEMENT = re.compile(r"<s\b", re.IGNORECASE)
_NEXT_TAG = re.compile(r"</?s\b", re.IGNORECASE)
#: In a CSV file an element is in capitals, and its text ends at the next angle bracket of any kind.
_CSV_TAG = re.compile(r"<(/?)S\b")
_CSV_NEXT_TAG = re.compile("<")
_TAG = re.compile(r"</?s\b[^>]*>", re.IGNORECASE)
_SID = re.compile(r"\bsid\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)


def article(name: str) -> str:
    """The article's name; `.xml` goes wherever it stands, `.txt` and `.pdf` stay."""
    return name.replace(".xml", "").strip()


def marker_offset(text: str) -> str:
    """One bracket off each end, then one quote; the rest is compared as it stands."""
    text = text.strip().removeprefix("[").removesuffix("]")
    return text.removeprefix("'").removesuffix("'")


def sentence_ids(text: str) -> tuple[str, ...]:
    """Ids are texts (`007` is not `7`); `[]` gives one id, the empty text, as in the official program."""
    inside = text.strip().removeprefix("[").removesuffix("]")
    return tuple(_unquoted(part.strip()) for part in inside.split(","))


def line_facets(text: str | None) -> tuple[str, ...]:
    """The facets as written. No field: `none`. Empty: no facet. In brackets: several. Otherwise one, commas
    and all.
    """
    if text is None:
        return ("none",)
    if not text:
        return ()
    return tuple(_listed(text) if text.startswith("[") else [text])


def csv_facets(text: str) -> tuple[str, ...]:
    """The facets as written. Empty: no facet. Otherwise split at commas, with brackets or without."""
    text = text.strip()
    return tuple(_listed(text)) if text else ()


def _listed(text: str) -> list[str]:
    return text.removeprefix("[").removesuffix("]").split(",")


def compared_facet(text: str) -> str:
    """A facet in the spelling that the official programs compare."""
    return _unquoted(text.strip().lower().replace(" ", "_"))


def _unquoted(text: str) -> str:
    """One quote of either kind off each end."""
    if text[:1] in ("'", '"'):
        text = text[1:]
    return text[:-1] if text[-1:] in ("'", '"') else text


def quoted_elements(text: str) -> Iterator[tuple[str | None, str]]:
    """The sid, where it has one, and the text of every `<S>` element, entities as they stand."""
    for _, attributes, own in _tags(_ELEMENT, _NEXT_TAG, text):
        yield _sid(attributes), own


def csv_elements(text: str) -> Iterator[tuple[str | None, str]]:
    """The same in a CSV file, without elements inside one that was left open, as an XML parser sees it."""
    depth = 0
    for tag, attributes, own in _tags(_CSV_TAG, _CSV_NEXT_TAG, text):
        if tag[1]:
            depth = max(depth - 1, 0)
            continue
        is_empty = attributes.endswith("/")
        if not depth:
            yield _sid(attributes.removesuffix("/")), "" if is_empty else own
        depth += not is_empty


def _tags(
    tag: re.Pattern[str], next_tag: re.Pattern[str], text: str
) -> Iterator[tuple[re.Match[str], str, str]]:
    """Each tag that ends, its attributes, and the text up to the next.

    One pattern for all of it would look for the end of each open tag again, to the end of the text.
    """
    end = 0
    while (found := tag.search(text, end)) and (begin := text.find(">", found.end()) + 1):
        following = next_tag.search(text, begin)
        end = following.start() if following else len(text)
        yield found, text[found.end() : begin - 1], text[begin:end]


def _sid(attributes: str) -> str | None:
    sid = _SID.search(attributes)
    return sid[1] if sid else None


def without_tags(text: str) -> str:
    return " ".join(tags_removed(_TAG, text).split())


def tags_removed(tag: re.Pattern[str], text: str) -> str:
    """A space for each tag. Behind the last bracket none can end, so that none is looked for there."""
    end = text.rfind(">") + 1
    return tag.sub(" ", text[:end]) + text[end:]


def texts_by_id(elements: Sequence[tuple[str | None, str]], sentences: Sequence[str]) -> Mapping[str, str]:
    """The quoted sentences by id; of one id the last counts, one without an id takes its place's id."""
    texts: dict[str, str] = {}
    for place, (sid, text) in enumerate(elements):
        if sid or place < len(sentences):
            texts[sid or sentences[place]] = text
    return texts
