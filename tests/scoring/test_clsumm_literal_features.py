"""clair_umich's nine features to the letter: six measures over WordNet, subsequences, dependencies."""

from math import log

import numpy as np
import pytest

from scoring.__main__ import UNAVAILABLE_EXIT_CODE, main
from scoring.metrics.meteor import open_wordnet_reader
from scoring.papers.clsumm_literal import (
    compute_literal_features,
    describe_literal_features,
)
from scoring.tools.baselines.clsumm_senses import (
    WORDNET_MEASURES,
    WordSenses,
    compute_sentence_similarities,
    find_greatest_depth,
)
from scoring.tools.baselines.clsumm_supervised import (
    compute_common_subsequence_lengths,
    compute_dependency_overlap,
)
from scoring.tools.baselines.tfidf import split_into_ascii_words
from tasks.types.clsumm.topics import read_input_topics
from tasks.types.files import open_files_of_all_inputs
from tasks.types.positional_citations.claims import Parse
from tests.scoring.test_clsumm_features import write_wordnet
from tests.tasks.types.corpus import write_topic

LITERAL = "clsumm-umich-supervised-literal"
TEXT = ["dog", "cat", "hammer"]


@pytest.fixture
def wordnet(tmp_path):
    """thing > animal > dog, cat; thing > tool > hammer."""
    pytest.importorskip("nltk")
    return open_wordnet_reader(write_wordnet(tmp_path / "wordnet"))


@pytest.fixture
def topic(tmp_path):
    write_topic(tmp_path / "corpus", "D01-0001")
    return read_input_topics(
        open_files_of_all_inputs([tmp_path / "corpus"]), {"annotation": "auto"}
    )[0]


class TestWords:
    def test_each_measure_is_what_its_formula_gives_by_hand(self, wordnet):
        """Three words count: all of them below `thing`, two below `animal`, one each."""
        table = WordSenses([TEXT], wordnet).compute_word_similarities(
            ["dog"], ["cat", "hammer"]
        )
        found = dict(zip(WORDNET_MEASURES, table[:, 0].tolist(), strict=True))
        animal, word = -log(2 / 3), -log(1 / 3)
        assert found["path"] == pytest.approx([1 / 3, 1 / 5])
        assert found["wup"] == pytest.approx([4 / 6, 2 / 6])
        assert found["lch"] == pytest.approx([-log(3 / 4), max(0, -log(5 / 4))])
        assert found["resnik"] == pytest.approx([animal, 0])
        assert found["jcn"] == pytest.approx(
            [1 / (2 * word - 2 * animal), 1 / (2 * word)]
        )
        assert found["lin"] == pytest.approx([animal / word, 0])

    def test_nltk_gives_the_same_where_it_needs_no_counts(self, wordnet):
        dog, cat = (wordnet.synsets(word)[0] for word in ("dog", "cat"))
        own = WordSenses([TEXT], wordnet).compute_word_similarities(["dog"], ["cat"])[
            :3, 0, 0
        ]
        theirs = [
            dog.path_similarity(cat),
            dog.wup_similarity(cat),
            dog.lch_similarity(cat),
        ]
        assert own.tolist() == pytest.approx(theirs)
        assert find_greatest_depth(wordnet, "n") == 2

    def test_a_word_that_wordnet_does_not_have_is_like_nothing_and_no_likeness_is_infinite(
        self, wordnet
    ):
        table = WordSenses([[*TEXT, "unheard"]], wordnet).compute_word_similarities(
            ["dog", "unheard"], ["dog", "unheard"]
        )
        assert np.isfinite(table).all()
        assert not table[:, 1].any()
        assert not table[:, :, 1].any()


class TestSentences:
    def test_shared_senses_and_the_likest_of_the_others_count_by_the_printed_formula(
        self, wordnet
    ):
        first, second = ["dog", "hammer"], ["dog", "cat", "cat"]
        found = compute_sentence_similarities([first], [second], wordnet)[
            0, 0, WORDNET_MEASURES.index("path")
        ]
        # One sense is shared; of the shorter text `hammer` is left, likest to `dog` or `cat`.
        assert found == pytest.approx((1 + 1 / 5) * (2 * 2 * 3) / (2 + 3))

    def test_it_is_the_same_from_either_side(self, wordnet):
        texts = [["dog", "hammer"], ["cat"], ["animal", "tool", "dog"]]
        there = compute_sentence_similarities(texts[:1], texts[1:], wordnet)[0]
        back = compute_sentence_similarities(texts[1:], texts[:1], wordnet)[:, 0]
        assert there == pytest.approx(back)

    def test_an_empty_text_is_like_none(self, wordnet):
        assert not compute_sentence_similarities([[]], [["dog"], []], wordnet).any()

    def test_a_subsequence_counts_by_the_shorter_text(self, topic):
        sentences = [["we", "words"], ["nothing"], []]
        assert compute_common_subsequence_lengths(
            [["we", "count", "words"]], sentences
        ).tolist() == [[2, 0, 0]]
        citance, others = (
            split_into_ascii_words(topic.citances[0].text),
            [split_into_ascii_words(one.text) for one in topic.sentences],
        )
        common = compute_common_subsequence_lengths([citance], others)[0]
        wanted = common / [min(len(citance), len(other)) for other in others]
        assert compute_literal_features(topic, TestSystem.PLAIN)[
            0, :, 1
        ] == pytest.approx(wanted)

    def test_dependencies_count_by_the_printed_formula_and_by_their_lemmas(
        self, wordnet
    ):
        one = Parse(("dogs", "count", "cats"), (1, 1, 1), ("nsubj", "ROOT", "dobj"))
        other = Parse(("dog", "count", "hammers"), (1, 1, 1), ("nsubj", "ROOT", "dobj"))
        assert compute_dependency_overlap([one], [other], wordnet).tolist() == [
            [[2 * 1 * (2 * 2) / (2 + 2)]]
        ]
        assert compute_dependency_overlap([one], [other], None).tolist() == [[[0]]]


class TestSystem:
    PLAIN = {"annotation": "auto", "wordnet": "no", "parser": "none"}

    def test_without_wordnet_and_parser_two_features_are_left_and_it_says_so(
        self, topic
    ):
        assert compute_literal_features(topic, self.PLAIN).shape == (2, 5, 2)
        assert (
            describe_literal_features(self.PLAIN)
            == "Its features: TF-IDF, longest common subsequence."
        )

    def test_a_folder_of_wordnet_adds_six(self, topic, wordnet, tmp_path):
        options = {**self.PLAIN, "wordnet": str(tmp_path / "wordnet")}
        assert compute_literal_features(topic, options).shape == (2, 5, 8)
        assert describe_literal_features(options).endswith(
            "subsequence, six measures over WordNet 3.0."
        )

    def test_a_run_of_every_citance_is_written(self, capsys, tmp_path, wordnet):
        for name in ("D01-0001", "D01-0002"):
            write_topic(tmp_path / "gold", name)
        command = [
            "baseline",
            LITERAL,
            "--gold",
            str(tmp_path / "gold"),
            "--out",
            str(tmp_path / "run.jsonl"),
        ]
        assert main([*command, "--option", f"wordnet={tmp_path / 'wordnet'}"]) == 0
        assert len((tmp_path / "run.jsonl").read_text().splitlines()) == 4

    def test_a_folder_that_is_none_of_wordnets_is_named(self, capsys, root, tmp_path):
        out = tmp_path / "run.jsonl"
        command = [
            "baseline",
            LITERAL,
            "--gold",
            str(root / "examples" / "demo-season"),
            "--out",
            str(out),
        ]
        assert (
            main([*command, "--option", f"wordnet={tmp_path}"]) == UNAVAILABLE_EXIT_CODE
        )
        assert f"{tmp_path} has no data.noun" in capsys.readouterr().err
        assert not out.exists()
