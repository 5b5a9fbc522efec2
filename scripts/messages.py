"""Gather what pages, forms and mails say, bring the catalogues up to date and compile them.

It needs xgettext (Debian's package `gettext`). With `--check` it writes nothing and fails where a catalogue
is not what it would write.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import polib
from django.conf import settings
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tasks.types import task_types
from tasks.types.columns import TRANSLATABLE_CLASS_NAMES

LOCALE = ROOT / "platform" / "citeboard" / "locale"
PYTHON = ("platform/citeboard", "tasks", "scoring")
FORMS = [
    "_",
    "gettext_noop",
    "gettext_lazy",
    "ngettext_lazy:1,2",
    "pgettext:1c,2",
    "pgettext_lazy:1c,2",
    "npgettext:1c,2,3",
    "npgettext_lazy:1c,2,3",
    "in_context:1c,2",
]
#: What django-allauth says on pages of ours, which its own German catalogue lacks or says otherwise.
OF_ALLAUTH = (
    (
        "An account already exists with this email address. Please sign in to that account first, then "
        "connect your %s account."
    ),
    "Be patient, you are sending too many requests.",
    "Please type your current password.",
    "You cannot add more than %d email addresses.",
    "You cannot remove your primary email address (%(email)s).",
    "You cannot remove your primary email address.",
    "You have confirmed %(email)s.",
    "You have signed out.",
    "You must type the same email each time.",
    "You must type the same password each time.",
    "Your account has no password set up.",
    "Your account has no verified email address.",
    "Your primary email address must be verified.",
)
NOUN = re.compile(r'counted:"([^"]+)"')
HEADER = {
    "Language": "",
    "MIME-Version": "1.0",
    "Content-Type": "text/plain; charset=UTF-8",
    "Content-Transfer-Encoding": "8bit",
    "Plural-Forms": "nplurals=2; plural=(n != 1);",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    checks = parser.parse_args().check
    settings.configure(USE_I18N=True)
    said = messages()
    catalogues = sorted(LOCALE.glob("*/LC_MESSAGES/django.po"))
    late = [
        path for path in catalogues if not _is_up_to_date(path, said, writes=not checks)
    ]
    for path in late:
        print(
            f"{path.relative_to(ROOT)} is not up to date: run make messages",
            file=sys.stderr,
        )
    return 1 if late else 0


def messages() -> polib.POFile:
    """All that is marked in templates and Python, each with the files where it stands."""
    with tempfile.TemporaryDirectory() as folder:
        given = list(_sources(Path(folder)))
        command = [
            "xgettext",
            "--language=Python",
            "--from-code=UTF-8",
            "--add-location=file",
            "--no-wrap",
        ]
        command += [f"--keyword={form}" for form in FORMS]
        gathered = Path(folder, "messages.pot")
        subprocess.run(
            [*command, "-o", str(gathered), *given],
            cwd=folder,
            check=True,
            stderr=subprocess.PIPE,
            text=True,
        )
        return polib.pofile(str(gathered))


def _sources(folder: Path) -> Iterator[str]:
    """Files for xgettext, named as in the repository."""
    nouns: set[tuple[str, str]] = set()
    for path in sorted(path for room in PYTHON for path in (ROOT / room).rglob("*.py")):
        text = path.read_text("utf-8")
        if "gettext" in text or "in_context" in text:
            yield _copied(folder, path, text)
        if "count_with_noun" in text:
            nouns.update(_nouns(ast.parse(text)))
    for path in sorted((ROOT / "templates").rglob("*.*")):
        text = path.read_text("utf-8")
        nouns.update(_with_plural(*found.split(",")) for found in NOUN.findall(text))
        if "i18n" in text:
            yield _copied(folder, path, templatize(text, origin=str(path)))
    forms = [
        f"gettext({f'no {many}'!r})\nngettext({f'%(number)s {one}'!r}, {f'%(number)s {many}'!r}, n)"
        for one, many in sorted(nouns)
    ]
    forms += [f"pgettext('dimension', {name!r})" for name in sorted(_dimensions())]
    forms += [f"pgettext('class', {words!r})" for words in TRANSLATABLE_CLASS_NAMES]
    forms += [f"gettext({words!r})" for words in OF_ALLAUTH]
    yield _copied(
        folder, ROOT / "platform/citeboard/core/words.py.nouns", "\n".join(forms)
    )


def _dimensions() -> set[str]:
    """As `display_name_of_dimension` has them in English."""
    return {
        kind.display_names.get(name, name.replace("_", " "))
        for kind in task_types().values()
        for name in kind.dimensions
    }


def _copied(folder: Path, path: Path, text: str) -> str:
    name = path.relative_to(ROOT)
    Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
    Path(folder, name).write_text(text, "utf-8")
    return str(name)


def _nouns(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """What `count_with_noun` is called with; a noun that is no constant must be so elsewhere."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(
            call.func, ast.Name | ast.Attribute
        ):
            name = call.func.id if isinstance(call.func, ast.Name) else call.func.attr
            given = [
                str(part.value)
                for part in call.args[1:]
                if isinstance(part, ast.Constant)
            ]
            if name == "count_with_noun" and given:
                yield _with_plural(*given)


def _with_plural(one: str, many: str = "") -> tuple[str, str]:
    return one, many or f"{one}s"


def _is_up_to_date(path: Path, said: polib.POFile, *, writes: bool) -> bool:
    """Whether the catalogue says what is said, and is compiled; where it is written, it does afterwards."""
    before = polib.pofile(str(path))
    known = {_key(entry): entry for entry in before}
    after = polib.POFile(wrapwidth=0)
    after.metadata = HEADER | {"Language": path.parent.parent.name}
    for entry in sorted(
        said,
        key=lambda entry: (entry.occurrences[0][0], entry.msgid, entry.msgctxt or ""),
    ):
        found = known.get(_key(entry))
        forms = (
            {"msgstr_plural": found.msgstr_plural if found else {0: "", 1: ""}}
            if entry.msgid_plural
            else {}
        )
        after.append(
            polib.POEntry(
                msgid=entry.msgid,
                msgid_plural=entry.msgid_plural,
                msgctxt=entry.msgctxt,
                msgstr="" if entry.msgid_plural or not found else found.msgstr,
                occurrences=[(entry.occurrences[0][0].removesuffix(".nouns"), "")],
                flags=[flag for flag in entry.flags if flag == "python-format"],
                **forms,
            )
        )
    compiled = path.with_suffix(".mo")
    if writes:
        path.write_text(str(after), "utf-8")
        compiled.write_bytes(after.to_binary())
    is_compiled = compiled.is_file() and compiled.read_bytes() == after.to_binary()
    return is_compiled and str(after) == path.read_text("utf-8")


def _key(entry: polib.POEntry) -> tuple[str | None, str, str]:
    return entry.msgctxt, entry.msgid, entry.msgid_plural


if __name__ == "__main__":
    sys.exit(main())
