"""BM25 against the package bm25s.

The scores are those of bm25s 0.3.16: BM25(method="lucene", dtype="float64") with its defaults k1 1.5 and
b 0.75, on the tokens of its own `tokenize` with the English stop words.
"""

import pytest

from tasks.types.bm25 import LuceneBm25, tokenise_without_stop_words

DOCUMENTS = (
    "String kernels compare texts by their substrings.",
    "Trees grow slowly, and old trees grow more slowly.",
    "A kernel of truth in the forest of kernels",
    "",
    "Forests were measured with a measure of trees; the measure was wrong.",
    "The and of it",
)
SCORES = {
    "kernels of strings": [0.3702002398853602, 0, 0.4118477668724633, 0, 0, 0],
    "how do old trees grow grow?": [0, 2.2024679773451705, 0, 0, 0.30792356401679494, 0],
    "measure measure the forest": [0, 0, 0.6161780163788596, 0, 1.4185393182822665, 0],
    "unheard": [0, 0, 0, 0, 0, 0],
}  # fmt: skip


@pytest.mark.parametrize("query", SCORES)
def test_scores_are_those_of_bm25s(query):
    collection = LuceneBm25(tokenise_without_stop_words(text) for text in DOCUMENTS)
    found = collection.scores(tokenise_without_stop_words(query)).tolist()
    assert found == pytest.approx(SCORES[query], abs=1e-9)


@pytest.mark.parametrize("documents", [[], [[]], [[], []]])
def test_a_collection_without_words_scores_zero(documents):
    assert LuceneBm25(documents).scores(["word"]).tolist() == [0.0] * len(documents)


def test_tokens_are_lower_case_words_of_two_letters_or_more_without_stop_words():
    assert tokenise_without_stop_words("The Tree's a  LEAF, x-ray of 42 Bäume!") == [
        "tree", "leaf", "ray", "42", "bäume"
    ]  # fmt: skip
