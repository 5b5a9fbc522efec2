"""ROUGE held to the package rouge-score, bit for bit, on thousands of pairs."""

import itertools
import random
import re

import numpy as np
import pytest
from django.conf import settings

from scoring.metrics import porter, rouge as rouge_module
from scoring.metrics.porter import stem_as_rouge_score
from scoring.metrics.rouge import (
    MAX_CHARACTER_CODES,
    EncodedTexts,
    Rouge,
    compute_lcs_lengths,
    compute_rouge,
    forget_all_words,
)
from tests.resting import rests_on_scorer
from tests.scoring.texts import (
    likely_words,
    odd_texts,
    related_pairs,
    small_alphabet_pairs,
)

pytestmark = rests_on_scorer

KINDS = {"1": "rouge1", "2": "rouge2", "l": "rougeL", "lsum": "rougeLsum"}
PARTS = ("precision", "recall", "f1")


def assert_equal_to_the_package(
    pairs: list[tuple[str, str]], *, is_stemmed: bool
) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    package = RougeScorer(list(KINDS.values()), use_stemmer=is_stemmed)
    references, predictions = zip(*pairs, strict=True)
    ours = compute_rouge(references, predictions, tuple(KINDS), is_stemmed=is_stemmed)
    for place, (reference, prediction) in enumerate(pairs):
        theirs = package.score(reference, prediction)
        for kind, name in KINDS.items():
            assert tuple(ours[kind][place]) == tuple(theirs[name]), (
                name,
                reference,
                prediction,
            )


@pytest.mark.parametrize("is_stemmed", [False, True])
@pytest.mark.parametrize(
    ("seed", "count", "words", "letters", "break_share"),
    [
        (1, 1000, 14, "abcd", 0.2),
        (2, 300, 50, "abcdefgh", 0.08),
        (3, 60, 120, "ab", 0.1),
        (4, 50, 90, "a", 0.1),
        (5, 20, 250, "abcdefghijklmnopqrst", 0.01),
        (6, 20, 200, "abcdefghijkl", 0.003),
    ],
)
def test_short_long_and_repetitive_texts_score_as_in_the_package(
    seed, count, words, letters, break_share, is_stemmed
):
    """From many short lines to a few of more than 64 words, over alphabets so small that ties abound."""
    pairs = small_alphabet_pairs(
        random.Random(seed), count, words, letters, break_share
    )
    assert_equal_to_the_package(pairs, is_stemmed=is_stemmed)


@pytest.mark.parametrize("is_stemmed", [False, True])
@pytest.mark.parametrize(("count", "words"), [(120, 50), (10, 250)])
def test_texts_like_abstracts_score_as_in_the_package(count, words, is_stemmed):
    pairs = related_pairs(random.Random(words), count, words)
    assert_equal_to_the_package(pairs, is_stemmed=is_stemmed)


@pytest.mark.parametrize("is_stemmed", [False, True])
def test_empty_one_word_and_unicode_texts_score_as_in_the_package(is_stemmed):
    texts = odd_texts()
    assert_equal_to_the_package(
        [(a, b) for a in texts for b in texts], is_stemmed=is_stemmed
    )


@pytest.mark.parametrize("is_stemmed", [False, True])
def test_every_length_of_a_sentence_that_fills_a_machine_word_scores_as_in_the_package(
    is_stemmed,
):
    rng = random.Random(7)
    pairs = []
    for length in (1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 66, 127, 129):
        for _ in range(6):
            sentence = " ".join(rng.choices("abcdefg", k=length))
            others = [
                " ".join(rng.choices("abcdefg", k=rng.randint(1, length)))
                for _ in range(3)
            ]
            pairs.append((sentence + "\n" + others[0], "\n".join(others[1:])))
    assert_equal_to_the_package(pairs, is_stemmed=is_stemmed)


def test_the_score_of_a_pair_does_not_depend_on_the_others():
    pairs = small_alphabet_pairs(random.Random(8), 300, 30, "abcde", 0.1)
    together = compute_rouge(*zip(*pairs, strict=True), tuple(KINDS), is_stemmed=True)
    for place in range(0, 300, 17):
        reference, prediction = pairs[place]
        alone = compute_rouge([reference], [prediction], tuple(KINDS), is_stemmed=True)
        assert all((together[kind][place] == alone[kind][0]).all() for kind in KINDS)


def test_large_gold_is_read_once_and_found_again_by_another_process(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("CITEBOARD_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(rouge_module, "MIN_CACHED_CHARACTERS", 1000)
    pairs = related_pairs(random.Random(10), 40, 50)
    texts = list(zip(*pairs, strict=True))
    first = [
        compute_rouge(*texts, tuple(KINDS), is_stemmed=is_stemmed)
        for is_stemmed in (False, True)
    ]
    assert len(list(tmp_path.rglob("*.npz"))) == 1
    # As in a new process, in which other words come first.
    forget_all_words()
    rouge_module.encode_gold_texts.cache_clear()
    compute_rouge(["other words first"], ["words"], is_stemmed=True)
    encoded = rouge_module.encode_texts
    monkeypatch.setattr(
        rouge_module,
        "encode_texts",
        lambda read: encoded(read) if read != texts[0] else None,
    )
    again = [
        compute_rouge(*texts, tuple(KINDS), is_stemmed=is_stemmed)
        for is_stemmed in (False, True)
    ]
    for own, other in zip(first, again, strict=True):
        assert all((own[kind] == other[kind]).all() for kind in KINDS)


def test_no_pairs_have_no_scores():
    assert {
        kind: own.shape
        for kind, own in compute_rouge([], [], tuple(KINDS), is_stemmed=True).items()
    } == dict.fromkeys(KINDS, (0, 3))


def test_as_many_references_as_predictions_are_needed():
    with pytest.raises(ValueError, match="1 references and 2 predictions"):
        compute_rouge(["a"], ["a", "b"], is_stemmed=False)


def test_words_are_stemmed_as_the_package_stems_them():
    from nltk.stem.porter import PorterStemmer

    stemmer = PorterStemmer()
    words = {
        *likely_words(random.Random(9), 20_000),
        *words_of_the_docs(),
        *all_forms(),
    }
    assert len(words) > 90_000
    assert [
        word for word in words if stem_as_rouge_score(word) != stemmer.stem(word)
    ] == []


def words_of_the_docs() -> set[str]:
    texts = [
        path.read_text(encoding="utf-8")
        for path in (settings.BASE_DIR / "docs").glob("*.md")
    ]
    return set(re.findall("[a-z0-9]+", " ".join(texts).lower()))


def all_forms() -> set[str]:
    """Each stem of up to four letters of six that stand for all, with each suffix of a rule."""
    stems = [
        "".join(letters)
        for length in range(5)
        for letters in itertools.product("aybtls", repeat=length)
    ]
    suffixes = {suffix for suffix, _ in porter.STEP_2_RULES}
    suffixes |= {
        "logi", "fulli", "icate", "ative", "alize", "iciti", "ical", "ful", "ness",
        "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment",
        "ent", "ou", "ism", "ate", "iti", "ous", "ive", "ize", "sion", "tion", "ion",
        "s", "ss", "ies", "sses", "ied", "y", "ed", "eed", "ing", "e", "ll", "at",
        "bl", "iz", "ings", "eds",
    }  # fmt: skip
    return {stem + suffix for stem in stems for suffix in suffixes}


def metric(kind: str, part: str, *, is_stemmed: bool = False) -> Rouge:
    return Rouge(
        f"rouge_{kind}_{part}", "corrected", kind=kind, part=part, is_stemmed=is_stemmed
    )


def test_the_metric_is_the_mean_over_gold_instances_in_percent():
    gold = ["the cat sat", "a dog ran", None]
    answers = ["the cat", None, "nothing asked"]
    own = metric("1", "recall")
    stats = own.instance_stats(gold, answers)
    assert own.aggregate(stats.sum(axis=0)) == pytest.approx(100 * (2 / 3 + 0) / 2)
    assert own.instances(stats, np.array([True, True, False])) == 2


def test_over_no_instances_it_is_undefined():
    own = metric("l", "f1")
    assert np.isnan(own.aggregate(own.instance_stats([None], ["text"]).sum(axis=0)))


def test_stemmed_and_unstemmed_never_share_a_matrix_or_parameters():
    plain, stemmed = metric("2", "f1"), metric("2", "f1", is_stemmed=True)
    assert plain.statistic == metric("l", "recall").statistic != stemmed.statistic
    assert plain.parameters["stemmer"] == "none"
    assert (
        stemmed.parameters["stemmer"]
        == metric("lsum", "f1", is_stemmed=True).parameters["stemmer"]
        == "porter"
    )


@pytest.mark.parametrize("kind", ["1", "2", "l", "lsum"])
@pytest.mark.parametrize("is_stemmed", [False, True])
def test_the_package_may_score_instead_and_gives_the_same_in_every_bit(
    kind, is_stemmed
):
    gold, answers = map(
        list,
        zip(
            *related_pairs(random.Random(11), 20, 30),
            ("", "a"),
            ("a b", ""),
            strict=True,
        ),
    )
    own, package = (
        Rouge(
            f"rouge_{kind}_f1",
            "corrected",
            kind=kind,
            part="f1",
            is_stemmed=is_stemmed,
            options={"engine": engine},
        )
        for engine in ("own", "package")
    )
    assert (
        own.instance_stats(gold, answers) == package.instance_stats(gold, answers)
    ).all()
    assert package.parameters["engine"] == "rouge-score-0.1.2"
    assert "engine" not in own.parameters


def test_more_words_than_characters_below_the_surrogates_are_told_apart():
    words = [f"w{number}" for number in range(56_000)]
    both = [" ".join(words), " ".join(words[:-1])]
    found = compute_rouge([both[0]] * 2, both, ("l",), is_stemmed=False)["l"]
    assert found[:, 1].tolist() == [1.0, 55_999 / 56_000]


@pytest.mark.parametrize("word", [MAX_CHARACTER_CODES - 1, MAX_CHARACTER_CODES])
def test_the_last_word_with_a_character_and_the_first_without_are_compared(word):
    gold, answer = (
        EncodedTexts(np.array([word, other]), *map(np.array, ([0, 2], [0, 1], [0, 2])))
        for other in (1, 2)
    )
    assert compute_lcs_lengths(gold, answer).tolist() == [1]
