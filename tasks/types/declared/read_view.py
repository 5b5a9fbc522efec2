"""Read the table [task.view] of a `task.toml`, which defines how web pages show an
instance.
"""

from collections.abc import Mapping
from dataclasses import replace

from tasks.types.declared.keys import Keys, kind, near
from tasks.types.forms.instances import InstanceTask
from tasks.types.forms.views import default_view
from tasks.types.views import ROLES, View

VIEW = "view"


def read_view(task_keys: Keys, form: str, task: InstanceTask) -> View:
    """Return the layout of instances on web pages that [task.view] defines, or the
    default layout for the form of task.

    The layout may show only public fields of the instance.
    """
    view = default_view(form, task)
    if VIEW not in task_keys:
        task_keys.value(VIEW, None)
        return view
    keys = task_keys.table(VIEW)
    chosen = keys.choice("as", ROLES, view.kind)
    roles = dict(view.roles) if chosen == view.kind else {}
    for role in ROLES.get(chosen, ()):
        if path := keys.text(role, ""):
            roles[role] = path
            _require_public_field(keys, role, path, task)
    for role in ("first", "second") if chosen == "pair" else ():
        if role not in roles:
            keys.refuse("as", f"a pair needs “{role}”", "the field of each text")
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


def _require_public_field(keys: Keys, name: str, path: str, task: InstanceTask) -> None:
    if task.is_shown(path):
        return
    message = f"“{path}” is no field that is shown{near(path, task.shown)}"
    keys.refuse(name, message, f"one of {', '.join(task.shown) or '`shown`'}")


def _read_field_display_names(
    keys: Keys, task: InstanceTask
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
            found = "empty" if value == "" else kind(value)
            expected = "a name in quotes, or a table of names for a language"
            table.refuse(name, f"“{name}” is {found}", expected)
    return labels, translations
