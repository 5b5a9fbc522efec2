"""The view of a declared task determines the roles and labels of fields on pages that
show an instance.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

TABLE, PASSAGE, POST, PAIR, REFERENCE = (
    "table",
    "passage",
    "post",
    "pair",
    "reference",
)
#: `ROLES` lists the roles of fields in each kind of view.
#: Fields outside `ROLES` have no role in the view.
ROLES: Mapping[str, tuple[str, ...]] = {
    TABLE: (),
    PASSAGE: ("text",),
    POST: ("text", "author", "date"),
    PAIR: ("first", "second"),
    REFERENCE: ("author", "title", "venue", "year"),
}
#: In the view of a reference, fields for each role usually have these names.
OF_REFERENCES: Mapping[str, tuple[str, ...]] = {
    "author": ("author", "authors"),
    "title": ("title",),
    "venue": ("venue", "journal", "booktitle", "conference", "publisher"),
    "year": ("year", "date", "publication_date"),
}
_WORDS = re.compile(r"[_\W]+|(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, kw_only=True)
class View:
    """The settings for displaying an instance of a declared task on pages.

    ``kind`` is the name of the kind of view. ``roles`` maps the roles of fields in the
    view to paths of fields. ``fields`` lists additional fields that pages show, or is
    None for all fields. ``labels`` maps fields to display names, and ``translations``
    contains display names for each language. ``shown`` are the public fields of an
    instance. Positions in answers refer to the text in the field ``marked``.
    """

    kind: str = TABLE
    roles: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[str, ...] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    translations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    marked: str = ""

    def label(self, path: str, language: str = "") -> str:
        """Return the display name of a field of an instance. By default, the display
        name consists of the words in the field's key.

        >>> View().label("fields.publication_date")
        'Publication date'
        """
        for names in (self.translations.get(language, {}), self.labels):
            for name in (path, path.rpartition(".")[2]):
                if name in names:
                    return names[name]
        return in_words(path.rpartition(".")[2])


def in_words(name: str) -> str:
    words = " ".join(filter(None, _WORDS.split(name)))
    return f"{words[:1].upper()}{words[1:]}"
