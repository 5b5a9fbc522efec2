"""All that pages say came through gettext: read in the templates, and on every page in a pseudo-locale."""

import re
from functools import cache
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import caches
from django.db import transaction

from tests.access.table import OUR_ROUTES, address, row, sign_in
from tests.languages.marking import Prose, pseudo_locale, sentences_in_code, unmarked

TEMPLATES = Path(settings.BASE_DIR, "templates")
#: A season's archive is a file, written in English; the page of an error of ours needs no catalogue.
ENGLISH = ("archive/", "500.html")
#: Names, which are the same in every language.
NAMES = re.compile(
    r"HMAC|SHA|doi|Every Eval Ever|ir_metadata|"
    r"Citeboard|BibTeX|LaTeX|CSV|XLSX|JSON|ORCID|BM25|UTC|AoE|arXiv|DOI|RSS|Atom|API|ZIP|PDF|SVG|PNG|URL|Markdown|kB|MB"
)


def test_templates_say_nothing_past_gettext():
    left = {}
    for template in sorted(TEMPLATES.rglob("*.*")):
        name = template.relative_to(TEMPLATES).as_posix()
        if not name.startswith(ENGLISH):
            texts = [
                text
                for text in unmarked(template)
                if re.search(r"[^\W\d_]{2,}", NAMES.sub("", text))
            ]
            if texts:
                left[name] = texts
    assert left == {}


@cache
def code_sentences() -> frozenset[str]:
    return frozenset(text for text in sentences_in_code() if not NAMES.fullmatch(text))


@cache
def has_a_sentence_of_the_code(text: str) -> bool:
    """Kept, since most of a page stands on other pages as well."""
    return any(sentence in text for sentence in code_sentences())


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("role", ["visitor", "member", "organiser", "staff"])
def test_no_page_shows_a_sentence_of_the_code_that_was_not_translated(
    client, scene, role
):
    """A text on a page outside of any message, which stands in the code of the site as well."""
    left = set()
    caches["pages"].clear()
    sign_in(client, scene, role)
    signed_in = client.cookies.copy()
    for name in OUR_ROUTES:
        if 200 not in row(name).GET or name.startswith("api:") or name == "guide":
            continue
        client.cookies = signed_in.copy()
        with transaction.atomic(), pseudo_locale():
            response = client.get(
                address(name, scene), headers={"Accept-Language": "de"}
            )
            said = response.getvalue()
            transaction.set_rollback(True)
        if (
            not response.get("Content-Type", "").startswith("text/html")
            or "Content-Language" not in response
        ):
            continue
        left.update(
            (text, name)
            for text in Prose(said.decode()).texts
            if has_a_sentence_of_the_code(text)
        )
    caches["pages"].clear()
    assert not left, "\n".join(map(str, sorted(left)))
