"""ROUGE-1.5.5 held to what the Perl program printed for real and awkward texts under ten sets of options."""

import itertools
import json
import random
from pathlib import Path

import pytest

from scoring.metrics.porter import stem_as_rouge155
from scoring.metrics.rouge155 import (
    BEST_REFERENCE,
    SUM_OVER_REFERENCES,
    UNLIMITED_SKIP_DISTANCE,
    ZERO_COUNTS,
    RougeCounts,
    RougeMeasure,
    WordSplitting,
    count_as_rouge155,
    count_as_rouge_score,
    read_stop_words,
)
from tests.scoring.texts import odd_texts, related_pairs

#: Of the options in the file those that say how texts are read; all others are the measures' own.
OPTIONS = ("stem", "nostem", "stem_nostop", "nostem_nostop", "stem_unlimited_skip", "stem_best_reference",
           "stem_100_words", "stem_665_bytes", "clscisumm_counts", "stem_exceptions")  # fmt: skip


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "scisumm"


@pytest.fixture(scope="module")
def readings(folder: Path) -> dict[str, WordSplitting]:
    stop_words = read_stop_words(folder / "rouge" / "smart_common_words.txt")
    lines = (folder / "rouge" / "wordnet20_exceptions.tsv").read_text().splitlines()
    return {
        **dict.fromkeys(OPTIONS, WordSplitting()),
        "nostem": WordSplitting(is_stemmed=False),
        "stem_nostop": WordSplitting(stop_words=stop_words),
        "nostem_nostop": WordSplitting(is_stemmed=False, stop_words=stop_words),
        "clscisumm_counts": WordSplitting(stop_words=stop_words),
        "stem_100_words": WordSplitting(most_words=100),
        "stem_665_bytes": WordSplitting(most_bytes=665),
        "stem_exceptions": WordSplitting(
            exceptions=dict(line.split("\t") for line in lines)
        ),
    }


def measure(name: str) -> RougeMeasure:
    """`ROUGE-2`, `ROUGE-L`, `ROUGE-S4`, `ROUGE-SU*`."""
    kind = name.removeprefix("ROUGE-")
    gap = kind.lstrip("SU")
    if kind.startswith("S"):
        return RougeMeasure(
            "s",
            UNLIMITED_SKIP_DISTANCE if gap == "*" else int(gap),
            with_words=kind.startswith("SU"),
        )
    return RougeMeasure("l") if kind == "L" else RougeMeasure("n", int(kind))


@pytest.mark.shared
@pytest.mark.parametrize("options", OPTIONS)
def test_every_value_is_the_one_that_the_program_printed(folder, readings, options):
    pairs = json.loads((folder / "golden" / "rouge" / "conformance.json").read_text())[
        "pairs"
    ]
    compared = 0
    for pair in pairs:
        expected = pair["scores"][options]
        references = (
            BEST_REFERENCE if options == "stem_best_reference" else SUM_OVER_REFERENCES
        )
        measures = [measure(name) for name in expected]
        found = count_as_rouge155(
            pair["models"],
            pair["peer"],
            measures,
            reading=readings[options],
            references=references,
        )
        for name, printed in expected.items():
            counts = found[measure(name)]
            ours = (
                counts if options == "clscisumm_counts" else counts.round_as_printed()
            )
            assert list(ours) == printed, (pair["id"], name)
            compared += 1
    assert compared >= 2 * len(pairs)


@pytest.mark.shared
def test_every_word_has_the_stem_that_the_program_gives_it(folder):
    lines = (folder / "golden" / "rouge" / "stems.tsv").read_text().splitlines()
    wrong = [
        line
        for line in lines
        if WordSplitting()._stem_word(line.split("\t")[0]) != line.split("\t")[1]
    ]
    assert len(lines) > 6000
    assert wrong == []


def test_step_4_takes_off_a_second_suffix():
    assert stem_as_rouge155("experimental") == "experi"
    assert stem_as_rouge155("traditionally") == "tradit"


def test_stop_words_go_before_anything_is_stemmed_and_hyphens_split_words():
    reading = WordSplitting(stop_words=frozenset({"being", "the"}))
    assert reading.sentences(["The state-of-the-art beings, being_said"]) == [
        ["state", "of", "art", "be", "said"]
    ]


def test_a_byte_that_is_no_text_spoils_one_stop_word_alone(tmp_path):
    (file := tmp_path / "stop").write_bytes(b"the\n\xffand\nof\n")
    assert read_stop_words(file) == {"the", "\ufffdand", "of"}


def test_an_irregular_form_becomes_its_base_form_and_is_stemmed_no_further():
    assert WordSplitting(exceptions={"abscissae": "abscissa"}).sentences(
        ["abscissae nation"]
    ) == [["abscissa", "nation"]]


def test_limits_cut_before_words_are_read():
    assert WordSplitting(most_words=3).sentences(["one two", "three four"]) == [
        ["one", "two"],
        ["three"],
    ]
    assert WordSplitting(most_bytes=9).sentences(["one two", "three four"]) == [
        ["one", "two"],
        ["th"],
    ]
    assert WordSplitting(most_words=2).sentences(["one two", "three four"]) == [
        ["one", "two"]
    ]
    assert WordSplitting(most_bytes=7).sentences(["one two", "three four"]) == [
        ["one", "two"]
    ]


def test_bytes_that_are_no_ascii_separate():
    assert WordSplitting().sentences(["naïve café", "caf\xe9".encode("latin-1")]) == [
        ["na", "ve", "caf"],
        ["caf"],
    ]


def test_skip_bigrams_reach_over_the_gap_and_leave_the_last_word_out():
    counts = count_as_rouge155(
        [["a b c d"]],
        ["a b c d"],
        [*map(measure, ("ROUGE-S1", "ROUGE-SU1", "ROUGE-S*"))],
        reading=WordSplitting(),
    )
    assert list(counts.values()) == [(5, 5, 5), (8, 8, 8), (6, 6, 6)]


def test_all_references_count_together_or_the_best_one_alone():
    models = [["a b c d"], ["x y"], ["a b"]]
    together = count_as_rouge155(
        models, ["a b"], [RougeMeasure("n", 1)], reading=WordSplitting()
    )[RougeMeasure("n", 1)]
    best = count_as_rouge155(
        models,
        ["a b"],
        [RougeMeasure("n", 1)],
        reading=WordSplitting(),
        references=BEST_REFERENCE,
    )[RougeMeasure("n", 1)]
    assert together == RougeCounts(model=8, peer=6, hits=4)
    assert best == RougeCounts(model=2, peer=2, hits=2)


def test_nothing_against_nothing_is_nought():
    for models, peer in (([], ["a"]), ([[]], []), ([[""]], ["", ""])):
        found = count_as_rouge155(
            models,
            peer,
            [RougeMeasure("n", 2), RougeMeasure("l"), measure("ROUGE-SU*")],
            reading=WordSplitting(),
        )
        assert [counts.round_as_printed() for counts in found.values()] == [
            (0, 0, 0)
        ] * 3
    assert ZERO_COUNTS.f1 == 0


def test_f1_is_printed_from_rounded_precision_and_recall():
    counts = RougeCounts(model=7, peer=3, hits=1)
    assert counts.round_as_printed() == (0.14286, 0.33333, 0.2)
    assert counts.f1 == pytest.approx(0.2, rel=1e-12)
    assert RougeCounts(model=131, peer=62, hits=32).round_as_printed() == (
        0.24427,
        0.51613,
        0.3316,
    )


@pytest.mark.parametrize("words", [8, 120])
def test_the_package_counts_the_same_of_words_that_are_read_as_by_the_program(words):
    """Stems, hyphens, other alphabets, empty lines and empty texts among them."""
    texts = [
        *related_pairs(random.Random(words), 12, words),
        *itertools.product(odd_texts(), repeat=2),
    ]
    reading = WordSplitting(stop_words=frozenset({"the", "of"}))
    for model, peer in texts:
        lines = [text.split("\n") for text in (model, peer)]
        read = [reading.sentences(text) for text in lines]
        for counted in (RougeMeasure("n", 1), RougeMeasure("n", 2), RougeMeasure("l")):
            ours = count_as_rouge155(lines[:1], lines[1], [counted], reading=reading)[
                counted
            ]
            assert count_as_rouge_score(*read, counted) == ours, (counted, model, peer)
