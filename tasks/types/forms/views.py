"""Define the layout of an instance on web pages, which assigns fields to roles such as
title or passage.

The layout affects only web pages, not scores. A layout contains values without markup,
which templates render.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tasks.types.forms.instances import (
    InstanceTask,
    are_paths_nested,
    get_value_at_path,
)
from tasks.types.views import (
    PAIR_LAYOUT,
    PASSAGE_LAYOUT,
    POST_LAYOUT,
    REFERENCE_FIELD_NAMES_BY_ROLE,
    REFERENCE_LAYOUT,
    ROLES_BY_LAYOUT,
    InstanceViewSettings,
)

_TEXT_FIELD_PATTERN = re.compile(
    r"(^|_)(text|sentence|passage|context|claim|query|question|content|body|abstract|snippet)$"
)
_POST_FIELD_PATTERN = re.compile(r"(^|_)(tweet|post|message)(_|$)")
_BIBLIOGRAPHIC_ENTRY_FIELD_PATTERN = re.compile(
    r"(^|_)(bibtex|fields|entry|reference|bib)$"
)


class ValueAtPath(NamedTuple):
    """A single value of an instance, which is not an object, and the dotted path of the
    value.
    """

    path: str
    value: Any


@dataclass(frozen=True)
class InstanceLayout:
    """The values of an instance, ordered for display on a web page. ``main`` maps each
    role, such as title or passage, to a value, and ``rest`` contains all other values.
    """

    kind: str
    main: Mapping[str, ValueAtPath]
    rest: Sequence[ValueAtPath]


#: `_TEXT_FIELD_OF_FORM` maps forms of task to the setting that names the field with the text.
_TEXT_FIELD_OF_FORM = {"spans": "text", "tags": "tokens", "ranking": "query"}


def choose_default_view(form: str, task: InstanceTask) -> InstanceViewSettings:
    """Return the layout of instances for a task whose `task.toml` has no table
    [task.view].
    """
    text = (
        str(getattr(task, _TEXT_FIELD_OF_FORM[form], ""))
        if form in _TEXT_FIELD_OF_FORM
        else ""
    )
    marked = text if form in ("spans", "tags") else ""
    return replace(
        _choose_default_view_kind(form, task.shown, text),
        shown=task.shown,
        marked=marked,
    )


def _choose_default_view_kind(
    form: str, shown: Sequence[str], text: str
) -> InstanceViewSettings:
    if form == "numbers" and len(shown) == 2:
        return InstanceViewSettings(
            kind=PAIR_LAYOUT,
            roles=dict(zip(ROLES_BY_LAYOUT[PAIR_LAYOUT], shown, strict=True)),
        )
    if _has_reference_fields(shown):
        return InstanceViewSettings(kind=REFERENCE_LAYOUT)
    if text not in shown:
        fits = (
            one
            for one in shown
            if _TEXT_FIELD_PATTERN.search(one) or _POST_FIELD_PATTERN.search(one)
        )
        text = shown[0] if len(shown) == 1 else next(fits, "")
    if not text:
        return InstanceViewSettings()
    kind = POST_LAYOUT if _POST_FIELD_PATTERN.search(text) else PASSAGE_LAYOUT
    return InstanceViewSettings(kind=kind, roles={"text": text})


def _has_reference_fields(shown: Sequence[str]) -> bool:
    has = [
        any(name in shown for name in REFERENCE_FIELD_NAMES_BY_ROLE[own])
        for own in ("author", "title")
    ]
    return all(has) or any(map(_BIBLIOGRAPHIC_ENTRY_FIELD_PATTERN.search, shown))


def lay_out_instance(
    view: InstanceViewSettings, fields: Mapping[str, Any]
) -> InstanceLayout:
    """Return the values of an instance, ordered for display on a web page."""
    leaves = list(_iterate_leaf_values(fields))
    roles = dict(view.roles)
    if view.kind == REFERENCE_LAYOUT:
        roles = {**_assign_reference_roles(leaves), **roles}
    main = {
        role: ValueAtPath(path, value)
        for role in ROLES_BY_LAYOUT[view.kind]
        if (path := roles.get(role, ""))
        and (value := get_value_at_path(fields, path)) not in (None, "", [], {})
    }
    used = [leaf.path for leaf in main.values()]
    rest = [
        leaf
        for leaf in leaves
        if not any(are_paths_nested(leaf.path, own) for own in used)
    ]
    if view.fields is not None:
        rest = [
            leaf
            for path in view.fields
            for leaf in rest
            if f"{leaf.path}.".startswith(f"{path}.")
        ]
    return InstanceLayout(view.kind, main, rest)


def _iterate_leaf_values(
    values: Mapping[str, Any], before: str = ""
) -> Iterator[ValueAtPath]:
    for name, value in values.items():
        path = f"{before}{name}"
        if isinstance(value, Mapping):
            yield from _iterate_leaf_values(value, f"{path}.")
        elif value not in (None, "", []):
            yield ValueAtPath(path, value)


def _assign_reference_roles(leaves: Sequence[ValueAtPath]) -> dict[str, str]:
    by_name = {leaf.path.rpartition(".")[2].lower(): leaf.path for leaf in leaves}
    return {
        role: next(by_name[name] for name in names if name in by_name)
        for role, names in REFERENCE_FIELD_NAMES_BY_ROLE.items()
        if any(name in by_name for name in names)
    }
