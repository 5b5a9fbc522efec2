"""Read the table [task.view] of a `task.toml`, which defines how web pages show an
instance.
"""

from collections.abc import Mapping
from dataclasses import replace

from tasks.types.declared.keys import (
    TomlTable,
    describe_kind_of_toml_value,
    format_similar_name_hint,
)
from tasks.types.forms.instances import InstanceTask
from tasks.types.forms.views import choose_default_view
from tasks.types.views import ROLES_BY_LAYOUT, InstanceViewSettings

VIEW_TABLE_KEY = "view"


def read_instance_view(
    task_keys: TomlTable, form: str, task: InstanceTask
) -> InstanceViewSettings:
    """Return the layout of instances on web pages that [task.view] defines, or the
    default layout for the form of task.

    The layout may show only public fields of the instance.
    """
    view = choose_default_view(form, task)
    if VIEW_TABLE_KEY not in task_keys:
        task_keys.value(VIEW_TABLE_KEY, None)
        return view
    keys = task_keys.table(VIEW_TABLE_KEY)
    chosen = keys.choice("as", ROLES_BY_LAYOUT, view.kind)
    roles = dict(view.roles) if chosen == view.kind else {}
    for role in ROLES_BY_LAYOUT.get(chosen, ()):
        if path := keys.text(role, ""):
            roles[role] = path
            _require_public_field(keys, role, path, task)
    for role in ("first", "second") if chosen == "pair" else ():
        if role not in roles:
            keys.add_problem_at_key(
                "as", f"a pair needs “{role}”", "the field of each text"
            )
    fields = keys.texts("fields", ()) if "fields" in keys else None
    for path in fields or ():
        _require_public_field(keys, "fields", path, task)
    labels, translations = _read_field_display_names(keys, task)
    keys.value("fields", None)
    keys.close()
    return replace(
        view,
        kind=chosen,
        roles=roles,
        fields=fields,
        labels=labels,
        translations=translations,
    )


def _require_public_field(
    keys: TomlTable, name: str, path: str, task: InstanceTask
) -> None:
    if task.is_public_path(path):
        return
    message = f"“{path}” is no field that is shown{format_similar_name_hint(path, task.shown)}"
    keys.add_problem_at_key(
        name, message, f"one of {', '.join(task.shown) or '`shown`'}"
    )


def _read_field_display_names(
    keys: TomlTable, task: InstanceTask
) -> tuple[dict[str, str], dict[str, Mapping[str, str]]]:
    """Return the display names of instance fields, separately for the default language
    and for each other language.
    """
    table = keys.table("labels", {})
    labels: dict[str, str] = {}
    translations: dict[str, Mapping[str, str]] = {}
    for name, value in table.values.items():
        if isinstance(value, str) and value:
            _require_public_field(table, name, name, task)
            labels[name] = value
        elif isinstance(value, dict) and len(name) == 2:
            own = table.table(name)
            translations[name] = {path: own.text(path) for path in own.values}
            for path in own.values:
                _require_public_field(own, path, path, task)
        else:
            found = "empty" if value == "" else describe_kind_of_toml_value(value)
            expected = "a name in quotes, or a table of names for a language"
            table.add_problem_at_key(name, f"“{name}” is {found}", expected)
    return labels, translations
