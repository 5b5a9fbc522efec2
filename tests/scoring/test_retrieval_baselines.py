"""Lexical baselines: two variants of BM25 worked out by hand, and the order of equal scores."""

import json
import math

import numpy as np
import pytest

from scoring.__main__ import main
from scoring.tools.baselines import baselines, retrieval
from scoring.tools.baselines.retrieval import (
    Lucene,
    OkapiBm25,
    build_query,
    find_best_positions,
    split_words,
)
from scoring.tools.baselines.tfidf import TfIdfRetriever
from tasks.types.problems import SoftwareUnavailable
from tests.scoring.builders.corpora import write_lines

DOCUMENTS = (
    "bells of bronze",
    "Bells and towers, bells!",
    "towers sway",
    "",
    "moon and tides and the moon",
)


def test_okapi_is_the_formula_of_its_name():
    """A word's weight is ln((N - n + .5) / (n + .5)); here no word is in more than half of the documents."""
    lengths = [len(split_words(text)) for text in DOCUMENTS]
    mean = sum(lengths) / 5

    def weight(frequency: int, length: int, having: int) -> float:
        idf = math.log(5 - having + 0.5) - math.log(having + 0.5)
        return idf * frequency * 2.5 / (frequency + 1.5 * (0.25 + 0.75 * length / mean))

    expected = [
        weight(1, 3, 2),
        weight(2, 4, 2) + weight(1, 4, 2),
        weight(1, 2, 2),
        0,
        0,
    ]
    assert OkapiBm25(DOCUMENTS).scores(
        "Bells, towers: unheard"
    ).tolist() == pytest.approx(expected, rel=1e-12)


def test_a_word_that_most_documents_have_counts_a_quarter_of_the_mean():
    documents = ["a b", "a c", "a d"]
    rare = math.log(2.5) - math.log(1.5)
    common = math.log(0.5) - math.log(3.5)
    floor = 0.25 * (common + 3 * rare) / 4
    found = OkapiBm25(documents).scores("a")
    # Every document has two words, so that only the weight of the word is left.
    assert found.tolist() == pytest.approx([floor] * 3, rel=1e-12)


def test_a_word_counts_as_often_as_the_query_has_it():
    okapi = OkapiBm25(DOCUMENTS)
    assert okapi.scores("bells bells").tolist() == pytest.approx(
        (2 * okapi.scores("bells")).tolist()
    )


def test_lucene_is_the_formula_of_its_name():
    lengths = [len(split_words(text)) for text in DOCUMENTS]
    mean = sum(lengths) / 5
    idf = math.log(1 + (5 - 2 + 0.5) / 2.5)
    expected = [
        idf * frequency / (frequency + 1.5 * (0.25 + 0.75 * length / mean))
        if frequency
        else 0
        for frequency, length in zip((1, 2, 0, 0, 0), lengths, strict=True)
    ]
    lucene = Lucene(DOCUMENTS)
    assert lucene.scores("bells nobody").tolist() == pytest.approx(expected, rel=1e-5)
    assert lucene.scores("nobody at all").tolist() == [0] * 5


def test_the_cosine_of_a_document_with_itself_is_one_and_without_words_all_are_zero():
    tfidf = TfIdfRetriever(DOCUMENTS)
    assert tfidf.scores("towers sway")[2] == pytest.approx(1)
    assert tfidf.scores("unheard").tolist() == [0] * 5
    assert TfIdfRetriever(["", "..."]).scores("anything").tolist() == [0, 0]


def test_dense_vectors_are_those_of_the_package_and_refuse_a_folder_that_is_none(
    tmp_path,
):
    models = pytest.importorskip("sentence_transformers")
    pytest.importorskip(retrieval.MODEL_PACKAGE)
    folder = retrieval.find_model_folder({"model": retrieval.PACKAGED_MODEL})
    texts = [*DOCUMENTS, "bells " * 400]
    own = retrieval.SentenceModel(folder).encode_texts(texts)
    theirs = models.SentenceTransformer(str(folder), device="cpu").encode(
        texts, normalize_embeddings=True
    )
    assert np.abs(own - theirs).max() < 1e-5
    with pytest.raises(SoftwareUnavailable, match="is neither a folder here nor"):
        retrieval.find_model_folder({"model": str(tmp_path)})


def test_the_dense_baseline_ranks_the_paper_that_the_sentence_speaks_of(
    tmp_path, capsys
):
    pytest.importorskip(retrieval.MODEL_PACKAGE)
    pytest.importorskip("transformers")
    names = (
        "Bells of bronze in church towers",
        "Tides and the moon",
        "Chess endings with two rooks",
    )
    write_lines(
        tmp_path / "references.jsonl",
        [{"ref_id": f"c{n}", "title": title} for n, title in enumerate(names)],
    )
    write_lines(
        tmp_path / "diagnostic.jsonl",
        [{"id": "d1", "sentence": "High water follows the lunar orbit <REF>.", "cited_id": "c1",
          "citing_id": "p"}],
    )  # fmt: skip
    assert (
        main(
            [
                "baseline",
                "dense",
                "--gold",
                str(tmp_path),
                "--out",
                str(tmp_path / "run.jsonl"),
            ]
        )
        == 0
    )
    assert "Its model: " in capsys.readouterr().out
    answer = json.loads((tmp_path / "run.jsonl").read_text())
    assert answer["ranked"][0] == "c1"


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
def test_equal_scores_stand_in_their_own_order(count):
    scores = np.array([0.5, 0.9, 0.5, 0.9, 0.5])
    assert find_best_positions(scores, count).tolist() == [1, 3, 0, 2, 4][:count]


def test_the_query_is_the_sentence_without_marks_and_with_neighbours_where_asked_for():
    record = {
        "before": "Before <OTHERREF>.",
        "sentence": "We cite<REF>.",
        "after": None,
    }
    assert split_words(build_query(record, with_neighbours=False)) == ["we", "cite"]
    assert split_words(build_query(record, with_neighbours=True)) == [
        "before",
        "we",
        "cite",
    ]


def test_every_baseline_of_the_ranking_tasks_says_what_it_does():
    own = [
        baseline
        for baseline in baselines().values()
        if set(baseline.task_types) & {"citation-recommendation", "citation-resolution"}
    ]
    assert len(own) >= 6
    assert all(each.summary.endswith(".") and each.source for each in own)
