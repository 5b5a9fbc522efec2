"""The history is kept as actions with their facts and read in the language of who reads it."""

import importlib

import pytest
from django.utils import translation

from citeboard.core import actions
from citeboard.core.actions import (
    ACTION_SENTENCES,
    render_action_sentence,
    translate_actor_name,
)
from citeboard.core.models import AuditEntry

migration = importlib.import_module("citeboard.core.migrations.0007_history_as_facts")


@pytest.fixture
def marked(monkeypatch) -> None:
    """A language in which every sentence stands between angle brackets."""
    monkeypatch.setattr(actions, "gettext", lambda sentence: f"<{sentence}>")
    with translation.override("de"):
        yield


def entry(action: str, text: str) -> AuditEntry:
    """As the migration makes it of what releases before kept."""
    facts = migration.facts_of(text, migration.patterns_by_action().get(action, []))
    return AuditEntry(action=action, text=text, facts=facts)


@pytest.mark.parametrize(
    ("action", "kept", "read"),
    [
        ("member-joined", "joined", "<joined>"),
        ("member-removed", "removed Ada", "<removed Ada>"),
        ("helper-removed", "removed Ada as a helper", "<removed Ada as a helper>"),
        ("team-approved", "approved Owls", "<approved Owls>"),
        (
            "team-approved",
            "approved Owls: welcome: at last",
            "<approved Owls>: welcome: at last",
        ),
        (
            "run-withdrawn",
            "withdrawn run 3 (BM25 (tuned)) of Owls in Final: asked to",
            "<withdrawn run 3 (BM25 (tuned)) of Owls in Final>: asked to",
        ),
        (
            "board-changed",
            "changed who sees the board of 1A, A: organisers only, from 2026-05-10 12:00 UTC nobody",
            "<changed who sees the board of 1A, A: <organisers only>, from 10. Mai 2026, 12:00 UTC <nobody>>",
        ),
        (
            "annotator-removed",
            "removed the annotator Ada with 3 ratings",
            "<removed the annotator Ada with 3 Bewertungen>",
        ),
        (
            "annotator-removed",
            "removed the annotator Ada with 5 cats with 3 ratings",
            "<removed the annotator Ada with 5 cats with 3 Bewertungen>",
        ),
        (
            "teams-merged",
            "merged Owls into Larks, with 9 lives, with 2 runs: %(team)s at 100 %",
            "<merged Owls into Larks, with 9 lives, with 2 Runs>: %(team)s at 100 %",
        ),
        ("deleted", "deleted the phase Final", "<deleted the phase Final>"),
        ("deleted", "deleted the gold v2", "<deleted the gold v2>"),
        ("announced", "announced: the\nend", "<announced: the\nend>"),
        (
            "outside-scores",
            "entered 1\u2009234 scores by hand as “A” of B",
            "<entered 1\u2009234 Werte by hand as “A” of B>",
        ),
        ("announced", "did something that this release knows nothing of", None),
        ("sung", "joined", None),
    ],
)
def test_what_was_kept_in_words_is_read_in_another_language(
    request, action, kept, read
):
    old = entry(action, kept)
    assert old.words == kept.replace("2026-05-10 12:00", "10 May 2026, 12:00")
    request.getfixturevalue("marked")
    assert old.words == (read or kept)
    assert (old.facts is None) == (read is None)


@pytest.mark.parametrize(
    ("kept", "read"),
    [
        ("The site's operator", "<The site's operator>"),
        ("Somebody invited", "<Somebody invited>"),
        ("deleted account 7", "<deleted account 7>"),
        ("Ada Lovelace", "Ada Lovelace"),
    ],
)
def test_who_acted_is_a_name_or_what_stands_for_one(marked, kept, read):
    assert translate_actor_name(kept) == read


@pytest.mark.parametrize("key", migration.SENTENCES)
def test_each_sentence_is_carried_with_its_facts_and_no_other_takes_its_place(key):
    action, _, variant = key.partition("/")
    facts = {
        name: 2 if name in migration.NOUNS else "x"
        for name in migration.PART.findall(ACTION_SENTENCES[key])
    }
    facts |= {"variant": variant} if variant else {}
    words = render_action_sentence(action, facts)
    assert "%" not in words
    assert entry(action, words).facts == facts
    assert migration.SENTENCES[key] == ACTION_SENTENCES[key]


def test_an_action_of_a_later_release_says_what_that_release_wrote():
    assert (
        AuditEntry(action="sung", text="sang a song", facts={"song": "x"}).words
        == "sang a song"
    )


@pytest.mark.parametrize(
    ("action", "facts", "english", "german"),
    [
        (
            "sheet-of-pairs",
            {"pairs": 15, "runs": 3},
            "made a sheet of 15 pairs of 3 runs",
            "hat einen Bogen erstellt: 15 Paare, 3 Runs",
        ),
        (
            "battles-brought",
            {"judgements": 1, "sheet": 2},
            "brought 1 judgement of pairs as sheet 2",
            "hat 1 Urteil über Paare als Bogen 2 hochgeladen",
        ),
        (
            "estimate-sheet",
            {"judgements": 60, "runs": 4},
            "made a sheet of 60 judgements for estimates of 4 runs",
            "hat einen Schätzbogen erstellt: 60 Urteile, 4 Runs",
        ),
    ],
)
def test_counts_of_pairs_and_judgements_have_their_noun(action, facts, english, german):
    assert render_action_sentence(action, facts) == english
    with translation.override("de"):
        assert render_action_sentence(action, facts) == german
