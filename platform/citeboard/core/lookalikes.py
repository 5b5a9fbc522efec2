"""Skeletons of names, as defined in Unicode Technical Standard 39.

The repository contains Unicode's table of similar characters, because the skeletons in
the database depend on the version of the table.
"""

import re
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

from django.db import models

#: _INVISIBLE_CHARACTERS matches invisible characters besides those of the category Cf.
_INVISIBLE_CHARACTERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
MAX_NAME_SKELETON_LENGTH = 200


@cache
def _load_prototype_characters() -> dict[int, str]:
    lines = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").split("\n")
    pairs = (line.split("\t") for line in lines if line and not line.startswith("# "))
    return {
        ord(character): prototype
        for prototype, characters in pairs
        for character in characters
    }


def skeleton(name: str) -> str:
    """Return the skeleton of a name, in which similar characters are equal.

    Names that look alike have equal skeletons, also if the names differ in case. A
    skeleton has at most 200 characters.
    """
    seen = "".join(
        each
        for each in _INVISIBLE_CHARACTERS.sub("", name)
        if unicodedata.category(each) != "Cf"
    )
    alike = unicodedata.normalize("NFD", seen).translate(_load_prototype_characters())
    return unicodedata.normalize("NFD", " ".join(alike.split()).casefold())[
        :MAX_NAME_SKELETON_LENGTH
    ]


class Skeleton(models.CharField):  # type: ignore[type-arg]
    """A field that stores the skeleton of the name in another field, so that queries
    can find similar names.
    """

    def __init__(self, of: str, **facts: Any) -> None:
        self.of = of
        bounds = {
            "max_length": MAX_NAME_SKELETON_LENGTH,
            "default": "",
            "db_default": "",
        }
        super().__init__(**{**bounds, "db_index": True, "editable": False, **facts})

    def deconstruct(self) -> Any:
        name, path, arguments, facts = super().deconstruct()
        return name, path, arguments, {**facts, "of": self.of}

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        found = skeleton(getattr(model_instance, self.of))
        setattr(model_instance, self.attname, found)
        return found


def has_lookalike_name(rows: models.QuerySet[Any], field: str, name: str) -> bool:
    """Return True if a row has a name that looks like ``name`` but is spelt
    differently.
    """
    found = rows.filter(**{f"{field}_skeleton": skeleton(name)}).values_list(
        field, flat=True
    )
    return bool(name) and any(
        other.casefold() != name.casefold() for other in found.distinct()
    )
