"""BLEU and chrF, held to sacreBLEU itself."""

import random

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF

from scoring.metrics.base import compute_metric_value
from scoring.metrics.sacrebleu import MAX_KEY_BITS, Bleu, Chrf, SacreBleuMetric
from tests.scoring.texts import related_pairs

LIBRARY = {"bleu": BLEU(), "chrf": CHRF(), "chrf_pp": CHRF(word_order=2)}
ODD = [
    ("", "a b"),
    ("a b c d e", ""),
    ("Naïve [0], (see [1])!", "naïve [0] see"),
    ("x", "x"),
    ("a", "b"),
]
# What follows a short text is the next one, which has the same words.
ODD += [
    ("x", "x"),
    ("x", "x"),
    ("x y", "x y"),
    ("x y", "x y"),
    ("x y z", "x y z"),
    ("x y z", "x y z"),
]
EVERY = pytest.mark.parametrize("name", LIBRARY)


def metric_of(name: str) -> SacreBleuMetric:
    if name == "bleu":
        return Bleu(name, "official")
    return Chrf(name, "official", words=2 if name == "chrf_pp" else 0)


def pairs(seed: int, count: int = 60) -> list[tuple[str, str]]:
    rng = random.Random(seed)
    return [*related_pairs(rng, count, 20), *ODD]


def corpus(name: str, own: list[tuple[str, str]]) -> float:
    return (
        LIBRARY[name]
        .corpus_score([answer for _, answer in own], [[gold for gold, _ in own]])
        .score
    )


def rows(name: str, own: list[tuple[str, str]]) -> np.ndarray:
    return metric_of(name).instance_stats(
        [gold for gold, _ in own], [answer for _, answer in own]
    )


@EVERY
@pytest.mark.parametrize("seed", range(4))
def test_the_value_of_any_set_of_instances_is_that_of_sacrebleu(name, seed):
    own = pairs(seed)
    stats = rows(name, own)
    metric = metric_of(name)
    rng = random.Random(seed)
    for size in (1, 2, 5, len(own)):
        chosen = sorted(rng.sample(range(len(own)), size))
        expected = corpus(name, [own[place] for place in chosen])
        value = compute_metric_value(metric, stats[chosen], np.arange(size))
        assert value == pytest.approx(expected, rel=1e-13, abs=1e-13)


#: What the tokenizer 13a, entities, line ends and blanks of all kinds turn on.
PIECES = [
    *(
        "a",
        "ab",
        "A",
        "é",
        "e\u0301",
        "漢",
        "字",
        "😀",
        "_",
        "0",
        "9",
        "1.5",
        "1,",
        "3-4",
        "٣",
        "²",
        "\ud800",
    ),
    *(
        ".",
        ",",
        "..",
        "-",
        "'",
        '"',
        "(",
        ")",
        "/",
        "\\",
        "$",
        "&",
        "&am",
        "p;",
        "\u200b",
        "\ufeff",
    ),
    *("&amp;", "&quot;", "&lt;", "&gt;", "&amp;lt;", "<skipped>", "<skip", "ped>"),
    *(
        " ",
        "  ",
        "\n",
        "-\n",
        "\t",
        "\r",
        "\r\n",
        "\x0b",
        "\x1c",
        "\x85",
        "\u2028",
        "\u3000",
        "\xa0",
        "\u2009",
    ),
]
IDEOGRAPHS = [chr(0x4E00 + place) for place in range(6000)]


def expected_counts(name: str, own: list[tuple[str, str]]) -> list[list[int]]:
    gold, answers = ([pair[side] for pair in own] for side in range(2))
    return LIBRARY[name]._extract_corpus_statistics(answers, [gold])


@EVERY
@pytest.mark.parametrize(
    "pieces", [["a", "b", " "], IDEOGRAPHS, PIECES], ids=["few", "many", "odd"]
)
@pytest.mark.parametrize("chunk", [1, 200, 32_768])
def test_every_count_is_sacrebleus_own(name, pieces, chunk, monkeypatch):
    monkeypatch.setattr("scoring.metrics.sacrebleu.SYMBOLS_PER_BLOCK", chunk)
    rng = random.Random(len(pieces) + chunk)
    texts = ["".join(rng.choices(pieces, k=rng.randrange(30))) for _ in range(160)]
    own = list(zip(texts[:80], texts[80:], strict=True)) + list(
        zip(texts[:20], texts[:20], strict=True)
    )
    assert rows(name, own)[:, :-1].tolist() == expected_counts(name, own)


def test_counts_are_sacrebleus_own_where_keys_fill_all_their_bits():
    """Three pairs in two bits, six of 600 characters in ten bits each, and one bit."""
    rng = random.Random(2)
    texts = [
        "".join(rng.choices(IDEOGRAPHS[:600], k=40)) + IDEOGRAPHS[place] * 4
        for place in (0, 0, 1, 2, 3, 3)
    ]
    own = list(zip(texts[::2], texts[1::2], strict=True))
    own[0] = ("".join(rng.sample(IDEOGRAPHS[:600], 600)), own[0][1])
    assert (600).bit_length() * 6 + (3).bit_length() + 1 == MAX_KEY_BITS
    assert rows("chrf", own)[:, :-1].tolist() == expected_counts("chrf", own)


def test_counts_are_sacrebleus_own_where_no_key_holds_so_many_symbols():
    rng = random.Random(1)
    few, many = IDEOGRAPHS[:1500], [f"w{number}" for number in range(33_000)]
    for name, symbols, between in (("chrf", few, ""), ("bleu", many, " ")):
        shuffled = rng.sample(symbols, len(symbols))
        wide = (
            between.join(symbols + symbols[5:50]),
            between.join(symbols[20:70] + shuffled),
        )
        own = [("a b", "a c"), wide, ("", ""), wide[::-1], ("d e", "e d")]
        assert rows(name, own)[:, :-1].tolist() == expected_counts(name, own)


@EVERY
def test_short_empty_and_odd_texts_score_as_in_sacrebleu(name):
    metric = metric_of(name)
    for pair in ODD:
        value = compute_metric_value(metric, rows(name, [pair]), np.arange(1))
        assert value == pytest.approx(corpus(name, [pair]), rel=1e-13, abs=1e-13), pair


@EVERY
def test_a_missing_answer_is_an_empty_text_and_an_answer_without_gold_counts_nothing(
    name,
):
    metric = metric_of(name)
    gold, answers = (
        ["one two three four five", "six seven eight nine"],
        ["one two three four five", ""],
    )
    stats = metric.instance_stats([*gold, None], [answers[0], None, "six seven"])
    assert compute_metric_value(metric, stats, np.arange(3)) == pytest.approx(
        corpus(name, list(zip(gold, answers, strict=True)))
    )
    assert metric.instances(stats, np.array([True, True, False])) == 2
    assert np.isnan(compute_metric_value(metric, stats[:0], np.arange(0)))
    assert np.isnan(
        compute_metric_value(metric, metric.instance_stats([], []), np.arange(0))
    )


@EVERY
def test_its_signature_stands_inside_ours(name):
    own = pairs(1)
    corpus(name, own)
    theirs = LIBRARY[name].get_signature().format()
    assert metric_of(name).parameters["sacrebleu"] == theirs.replace("|", ",")
    assert "version:2.6" in theirs
