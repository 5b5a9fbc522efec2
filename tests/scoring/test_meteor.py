"""METEOR, held to NLTK's own function and to the value that its documentation gives."""

import random
from pathlib import Path

import numpy as np
import pytest

from scoring.metrics.base import compute_metric_value
from scoring.metrics.meteor import (
    NltkMeteor,
    describe_missing_file,
    open_wordnet_reader,
)
from tasks.types.problems import SoftwareUnavailable
from tests.scoring.texts import related_pairs

FOLDER = Path("/usr/share/wordnet")
REFERENCE = "It is a guide to action that ensures that the military will forever heed Party commands"
ANSWER = "It is a guide to action which ensures that the military always obeys the commands of the party"

needs_wordnet = pytest.mark.skipif(
    bool(describe_missing_file(FOLDER)), reason="Debian's wordnet-base is not installed"
)


def small_wordnet(folder: Path) -> Path:
    """A database of one noun with a synonym: `car` and `auto`."""
    folder.mkdir()
    head = "  1 A made-up database\n  2 WordNet 3.0 Copyright of nobody\n"
    line = "{offset:08d} 06 n 02 car 0 auto 0 000 | a thing on wheels\n"
    (folder / "data.noun").write_text(head + line.format(offset=len(head)))
    (folder / "index.noun").write_text(
        "".join(f"{word} n 1 0 1 0 {len(head):08d}  \n" for word in ("auto", "car"))
    )
    for kind in ("verb", "adj", "adv"):
        (folder / f"data.{kind}").write_text(head)
        (folder / f"index.{kind}").write_text("")
    for kind in ("noun", "verb", "adj", "adv"):
        (folder / f"{kind}.exc").write_text("")
    return folder


def meteor(folder: Path | str):
    return NltkMeteor("meteor_nltk", "corrected", options={"wordnet": str(folder)})


def test_every_pair_has_the_score_of_nltk_and_the_value_is_their_mean(tmp_path):
    from nltk.tokenize.destructive import NLTKWordTokenizer
    from nltk.translate.meteor_score import single_meteor_score

    folder = small_wordnet(tmp_path / "wordnet")
    own = [
        *related_pairs(random.Random(5), 40, 15),
        ("the car waits", "an auto waits"),
        ("", "a"),
        ("a", ""),
    ]
    gold, answers = map(list, zip(*own, strict=True))
    stats = meteor(folder).instance_stats(gold, answers)
    words = NLTKWordTokenizer().tokenize
    expected = [
        single_meteor_score(words(g), words(a), wordnet=open_wordnet_reader(folder))
        for g, a in own
    ]
    assert stats[:, 0].tolist() == expected
    assert compute_metric_value(
        meteor(folder), stats, np.arange(len(own))
    ) == pytest.approx(100 * np.mean(expected))


def test_synonyms_match_and_the_signature_says_by_which_wordnet(tmp_path):
    metric = meteor(small_wordnet(tmp_path / "wordnet"))
    like, other = metric.instance_stats(
        ["the car waits"] * 2, ["the auto waits", "the boat waits"]
    )[:, 0]
    assert like > other
    assert metric.parameters["wordnet"] == "3.0"


@needs_wordnet
def test_the_documented_pair_has_the_documented_value():
    [[score, _]] = meteor(FOLDER).instance_stats([REFERENCE], [ANSWER])
    assert round(score, 4) == 0.6944


def test_an_answer_without_gold_counts_nothing_and_a_missing_one_0(tmp_path):
    metric = meteor(small_wordnet(tmp_path / "wordnet"))
    stats = metric.instance_stats(
        ["one two three", "four", None], ["one two three", None, "five"]
    )
    assert stats[1:].tolist() == [[0, 1], [0, 0]]


def test_a_folder_that_is_not_wordnets_is_told_by_name(tmp_path):
    assert "data.noun" in meteor(tmp_path).requirements()[0].missing
    with pytest.raises(SoftwareUnavailable, match=r"data\.noun"):
        meteor(tmp_path).instance_stats(["a"], ["a"])


def test_without_a_folder_the_value_is_undefined():
    metric = meteor("")
    assert np.isnan(
        compute_metric_value(metric, metric.instance_stats(["a"], ["a"]), np.arange(1))
    )
    assert metric.parameters["wordnet"] == "not given"
