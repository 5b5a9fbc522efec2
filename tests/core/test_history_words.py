"""The history is kept in English and read in the language of who reads it."""

import pytest
from django.utils import translation

from citeboard.core import history_words
from citeboard.core.history_words import SENTENCES, WITH_REASON, actor, is_known, translated


@pytest.fixture
def marked(monkeypatch) -> None:
    """A language in which every sentence stands between angle brackets."""
    monkeypatch.setattr(history_words, "gettext", lambda sentence: f"<{sentence}>")
    with translation.override("de"):
        yield


@pytest.mark.parametrize(
    ("kept", "read"),
    [
        ("joined", "<joined>"),
        ("removed Ada", "<removed Ada>"),
        ("removed Ada as a helper", "<removed Ada as a helper>"),
        ("approved Owls", "<approved Owls>"),
        ("approved Owls: welcome: at last", "<approved Owls>: welcome: at last"),
        (
            "withdrawn run 3 (BM25 (tuned)) of Owls in Final: asked to",
            "<withdrawn run 3 (BM25 (tuned)) of Owls in Final>: asked to",
        ),
        (
            "changed who sees the board of 1A, A: organisers only, from 2026-05-10 12:00 UTC nobody",
            "<changed who sees the board of 1A, A: <organisers only>, from 2026-05-10 12:00 UTC <nobody>>",
        ),
        ("removed the annotator Ada with 3 ratings", "<removed the annotator Ada with 3 Bewertungen>"),
        (
            "removed the annotator Ada with 5 cats with 3 ratings",
            "<removed the annotator Ada with 5 cats with 3 ratings>",
        ),
        (
            "merged Owls into Larks, with 9 lives, with 2 runs: %(team)s at 100 %",
            "<merged Owls into Larks, with 9 lives, with 2 runs>: %(team)s at 100 %",
        ),
        ("announced: the\nend", "<announced: the\nend>"),
        (
            "did something that this release knows nothing of",
            "did something that this release knows nothing of",
        ),
    ],
)
def test_an_entry_is_read_in_another_language_with_what_people_wrote_as_it_is(marked, kept, read):
    assert translated(kept) == read


@pytest.mark.parametrize(
    ("kept", "read"),
    [
        ("The site's operator", "<The site's operator>"),
        ("deleted account 7", "<deleted account 7>"),
        ("Ada Lovelace", "Ada Lovelace"),
    ],
)
def test_who_acted_is_a_name_or_what_stands_for_one(marked, kept, read):
    assert actor(kept) == read


@pytest.mark.parametrize("kept", ["removed Ada", "approved Owls: welcome", "no sentence of ours"])
def test_in_english_an_entry_is_read_as_it_is_kept(kept):
    assert translated(kept) == kept


@pytest.mark.parametrize("sentence", [*SENTENCES, *WITH_REASON])
def test_each_sentence_is_recognised_and_no_other_takes_its_place(monkeypatch, sentence):
    taken = []
    monkeypatch.setattr(history_words, "gettext", lambda found: taken.append(found) or found)
    kept = history_words._PART.sub("x", sentence)
    with translation.override("de"):
        assert is_known(kept)
        assert translated(kept) == kept
    assert sentence in taken
