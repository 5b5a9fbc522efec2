"""The German catalogue: whole, compiled, and saying what the pages ask for."""

import re
import shutil
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.conf import settings

PO = Path(settings.LOCALE_PATHS[0], "de", "LC_MESSAGES", "django.po")
PLACE = re.compile(r"%\(\w+\)[sd]|%%|%[sd]")
#: An English word that stands in German as it is has no umlaut to tell it by; these tell English prose.
ENGLISH = re.compile(
    r"\b(the|of|with|your|are|not|which|runs? (is|was|were)|cannot|has been)\b"
)


@cache
def entries() -> list:
    import polib

    return list(polib.pofile(str(PO)))


def forms(entry) -> list[tuple[str, str]]:
    """Each German form with the English one that it stands for."""
    if not entry.msgid_plural:
        return [(entry.msgid, entry.msgstr)]
    return [
        (entry.msgid, entry.msgstr_plural[0]),
        (entry.msgid_plural, entry.msgstr_plural[1]),
    ]


def test_everything_that_is_said_is_said_in_german():
    assert len(entries()) > 1000
    assert [
        entry.msgid
        for entry in entries()
        if not all(german for _, german in forms(entry))
    ] == []


def test_german_names_the_same_things():
    """A singular may leave its number out."""
    wrong = []
    for entry in entries():
        for number, (english, german) in enumerate(forms(entry)):
            has, wanted = (
                sorted(set(PLACE.findall(text))) for text in (german, english)
            )
            leaves_out = (
                entry.msgid_plural
                and number == 0
                and set(has) <= set(PLACE.findall(entry.msgid_plural))
            )
            if has != wanted and not leaves_out:
                wrong.append((english, german))
    assert wrong == []


class Marks(HTMLParser):
    """The elements of a piece of text, each with its attributes but those that hold words."""

    WORDS = ("title", "aria-label", "alt", "placeholder", "content")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append(
            f"{tag} {sorted((name, value) for name, value in attrs if name not in self.WORDS)}"
        )

    def handle_endtag(self, tag):
        self.found.append(f"/{tag}")


def test_german_has_the_same_markup():
    """In whatever order: a sentence may be built another way."""
    wrong = [
        (english, german)
        for entry in entries()
        for english, german in forms(entry)
        if "<" in english
        and sorted(Marks(english).found) != sorted(Marks(german).found)
    ]
    assert wrong == []


def test_german_is_german():
    said = [
        german.replace("Papers with Code", "")
        for entry in entries()
        for _, german in forms(entry)
    ]
    assert [german for german in said if ENGLISH.search(german)] == []


def test_quotation_marks_are_german_ones():
    wrong = [
        german
        for entry in entries()
        for _, german in forms(entry)
        if "”" in german or german.count("„") != german.count("“")
    ]
    assert wrong == []


def test_space_around_a_text_stays():
    """Pages glue nothing together, but for what begins or ends with a space on purpose."""
    wrong = [
        (english, german)
        for entry in entries()
        for english, german in forms(entry)
        if (english[:1].isspace(), english[-1:].isspace())
        != (german[:1].isspace(), german[-1:].isspace())
    ]
    assert wrong == []


def test_the_compiled_catalogue_is_that_of_the_written_one():
    import polib

    assert (
        PO.with_suffix(".mo").read_bytes()
        == polib.pofile(str(PO), wrapwidth=0).to_binary()
    )


@pytest.mark.skipif(
    not shutil.which("xgettext"), reason="xgettext is not installed (package gettext)"
)
def test_the_catalogue_has_what_pages_say_and_nothing_else():
    script = Path(settings.BASE_DIR, "scripts", "messages.py")
    done = subprocess.run(
        [sys.executable, script, "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
