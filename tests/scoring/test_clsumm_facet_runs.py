"""Facet classifiers as runs of task 1B: what they see, and that a topic's own gold teaches them nothing."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.tools.baselines.clsumm_facets import (
    LEMMA_NGRAMS,
    LEMMA_UNIGRAMS,
    WORD_AND_LEMMA_NGRAMS,
    CitedText,
    list_ngrams,
    predict_facets,
)
from tests.scoring.offline import score

TEXT = CitedText(("bells", "rang"), ("bell", "rang"))
BY_LEMMAS = [("lemmas", "bell"), ("lemmas", "rang"), ("lemmas", "bell", "rang")]


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (LEMMA_UNIGRAMS, BY_LEMMAS[:2]),
        (LEMMA_NGRAMS, BY_LEMMAS),
        (
            WORD_AND_LEMMA_NGRAMS,
            [
                *BY_LEMMAS,
                ("words", "bells"),
                ("words", "rang"),
                ("words", "bells", "rang"),
            ],
        ),
    ],
)
def test_a_classifier_sees_the_grams_that_its_reading_names(of, expected):
    assert list_ngrams(TEXT, of) == expected


@pytest.mark.parametrize("classifier", ["NB", "SVM", "LR"])
def test_balanced_a_rare_facet_weighs_as_much_as_a_frequent_one(classifier):
    texts = [CitedText((word,), (word,)) for word in ["ships"] * 8 + ["bells"]]
    facets = ["Method"] * 8 + ["Aim"]
    asked = [CitedText(("bells",), ("bells",)), CitedText(("ships",), ("ships",))]
    found = predict_facets(
        classifier, texts, facets, asked, LEMMA_NGRAMS, is_balanced=True
    )
    assert found == ["Aim", "Method"]


def facets_of(name: str, gold: list[Path], folder: Path) -> dict[str, list[str]]:
    run = folder / "run.jsonl"
    command = ["baseline", name, "--gold", *map(str, gold), "--out", str(run)]
    assert main([*command, "--option", "annotation=annv2"]) == 0
    found: dict[str, list[str]] = {}
    for line in map(json.loads, run.read_text().splitlines()):
        found.setdefault(line["topic"], []).extend(line["facets"])
    return found


@pytest.mark.shared
def test_a_topic_s_own_facets_change_nothing_and_those_of_the_others_do(
    shared, tmp_path
):
    topics = sorted((shared / "scisumm" / "pilot").glob("*_TRAIN"))[:3]
    copies = [Path(shutil.copytree(topic, tmp_path / topic.name)) for topic in topics]
    first = copies[0].name.removesuffix("_TRAIN")
    before = facets_of("clsumm-facets-nb", copies, tmp_path)[first]
    _all_results(copies[0])
    assert facets_of("clsumm-facets-nb", copies, tmp_path)[first] == before
    for copy in copies[1:]:
        _all_results(copy)
    # All that it learns from is of one facet now.
    assert set(facets_of("clsumm-facets-nb", copies, tmp_path)[first]) == {"Results"}


def _all_results(topic: Path) -> None:
    file = next((topic / "annotation").glob("*.annv2.txt"))
    text = file.read_bytes().decode()
    file.write_bytes(
        re.sub(
            r"Discourse Facet:[^|]*", "Discourse Facet: Results_Citation ", text
        ).encode()
    )


@pytest.mark.shared
@pytest.mark.slow
def test_balanced_runs_do_not_all_answer_method(capsys, shared, tmp_path):
    gold = shared / "scisumm" / "pilot"
    by_topic = facets_of("clsumm-facets-lr", [gold], tmp_path)
    facets = Counter(facet for own in by_topic.values() for facet in own)
    assert set(facets) == {"Aim", "Implication", "Method", "Results"}
    capsys.readouterr()
    options = [
        "--rules",
        "official-2014",
        "--option",
        "annotation=annv2",
        "--intervals",
        "0",
    ]
    metrics = score(capsys, "clsumm-1b", [gold], tmp_path / "run.jsonl", *options)[
        "metrics"
    ]
    assert metrics["facet_f1_weighted_unconditional"]["value"] == pytest.approx(
        0.379, abs=0.02
    )
