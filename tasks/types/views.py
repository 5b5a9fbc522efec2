"""Define how web pages display an instance, namely which field has which role (such as
title) and which label.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

TABLE_LAYOUT, PASSAGE_LAYOUT, POST_LAYOUT, PAIR_LAYOUT, REFERENCE_LAYOUT = (
    "table",
    "passage",
    "post",
    "pair",
    "reference",
)
#: `ROLES_BY_LAYOUT` lists, for each layout of an instance, the roles that fields can have.
ROLES_BY_LAYOUT: Mapping[str, tuple[str, ...]] = {
    TABLE_LAYOUT: (),
    PASSAGE_LAYOUT: ("text",),
    POST_LAYOUT: ("text", "author", "date"),
    PAIR_LAYOUT: ("first", "second"),
    REFERENCE_LAYOUT: ("author", "title", "venue", "year"),
}
#: `REFERENCE_FIELD_NAMES_BY_ROLE` lists typical field names for each role in bibliographic records.
REFERENCE_FIELD_NAMES_BY_ROLE: Mapping[str, tuple[str, ...]] = {
    "author": ("author", "authors"),
    "title": ("title",),
    "venue": ("venue", "journal", "booktitle", "conference", "publisher"),
    "year": ("year", "date", "publication_date"),
}
_WORD_BOUNDARY_PATTERN = re.compile(r"[_\W]+|(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, kw_only=True)
class InstanceViewSettings:
    """The settings that determine how web pages display the instances of a task.

    ``kind`` names the layout of an instance, such as `table` or `passage`. ``roles``
    maps each role in the layout, such as `title`, to the dotted path of a field.
    ``fields`` lists the further fields that web pages display, or is None if all fields
    are displayed. ``labels`` maps fields to display names in the default language, and
    ``translations`` maps other languages to such mappings. ``shown`` lists the public
    fields of an instance. ``marked`` names the field with the text or tokens to which
    the positions in answers refer.
    """

    kind: str = TABLE_LAYOUT
    roles: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[str, ...] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    translations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    marked: str = ""

    def label(self, path: str, language: str = "") -> str:
        """Return the display name of an instance's field. If no display name is
        defined, the words in the field's key are returned.

        >>> View().label("fields.publication_date")
        'Publication date'
        """
        for names in (self.translations.get(language, {}), self.labels):
            for name in (path, path.rpartition(".")[2]):
                if name in names:
                    return names[name]
        return convert_key_to_words(path.rpartition(".")[2])


def convert_key_to_words(name: str) -> str:
    words = " ".join(filter(None, _WORD_BOUNDARY_PATTERN.split(name)))
    return f"{words[:1].upper()}{words[1:]}"
