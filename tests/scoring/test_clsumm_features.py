"""The features of clair_umich's supervised system that rest on data of others: WordNet, and a parser."""

from pathlib import Path

import numpy as np
import pytest

from scoring.__main__ import UNAVAILABLE, main
from scoring.tools.baselines import baseline, clsumm_supervised
from scoring.tools.baselines.clsumm_supervised import (
    common_dependencies,
    dependencies,
    features,
    features_missing,
    features_used,
    text_likeness,
    word_likeness,
)
from scoring.tools.baselines.tfidf import TfIdf
from tasks.types.base import OptionRefused
from tasks.types.clsumm.topics import read_input_topics
from tasks.types.files import open_inputs
from tasks.types.positional_citations.claims import Parse
from tests.tasks.types.corpus import write_topic

SUPERVISED = "clsumm-umich-supervised"
PLAIN = {"annotation": "auto", "wordnet": "no", "parser": "none"}
#: Nouns, each with the one above it.
ABOVE = {"thing": "", "animal": "thing", "dog": "animal", "cat": "animal", "tool": "thing", "hammer": "tool"}
LEXNAMES = "00\tadj.all\t3\n01\tadj.pert\t3\n02\tadv.all\t4\n03\tnoun.Tops\t1\n"
EMPTY = ("adj.exc", "adv.exc", "verb.exc", "noun.exc", "cntlist.rev", "index.sense",
         "index.adj", "index.adv", "index.verb", "data.adj", "data.adv", "data.verb")  # fmt: skip


def write_wordnet(folder: Path) -> Path:
    """A WordNet of six nouns in the files of the real one."""
    folder.mkdir(parents=True)
    for name in EMPTY:
        (folder / name).write_text("")
    (folder / "lexnames").write_text(LEXNAMES)
    (folder / "data.adj").write_text("  1 WordNet 3.0 Copyright is nobody's.\n")
    # Every line has the same length, so that each place in the file is known beforehand.
    long = 80
    places = {word: f"{number * long:08d}" for number, word in enumerate(ABOVE)}
    data, index = [], []
    for word, above in ABOVE.items():
        pointers = f"001 @ {places[above]} n 0000" if above else "000"
        data.append(f"{places[word]} 03 n 01 {word} 0 {pointers} | made up".ljust(long - 1) + "\n")
        index.append(f"{word} n 1 1 @ 1 0 {places[word]}  \n")
    (folder / "data.noun").write_text("".join(data))
    (folder / "index.noun").write_text("".join(index))
    return folder


@pytest.fixture
def wordnet(tmp_path, monkeypatch):
    """NLTK's own reader of made-up data."""
    reader = pytest.importorskip("nltk.corpus.reader.wordnet")
    monkeypatch.setattr("nltk.data.path", [str(tmp_path)])
    with pytest.warns(UserWarning, match="multilingual"):
        found = reader.WordNetCorpusReader(str(write_wordnet(tmp_path / "corpora" / "wordnet")), None)
    yield found
    # NLTK keeps the files open for as long as the process lives.
    for file in found._data_file_map.values():
        file.close()


@pytest.fixture
def topic(tmp_path):
    write_topic(tmp_path / "corpus", "D01-0001")
    return read_input_topics(open_inputs([tmp_path / "corpus"]), {"annotation": "auto"})[0]


class TestWordNet:
    def test_words_are_alike_by_the_way_between_them_and_by_how_deep_they_meet(self, wordnet):
        """Worked out by hand; the first table is NLTK's own path similarity."""
        first, second = ["dog", "unheard"], ["dog", "cats", "hammer", "unheard"]
        by_way, by_depth = word_likeness(first, second, wordnet)
        assert by_way.tolist() == [[1, 1 / 3, 1 / 5, 0], [0, 0, 0, 1]]
        assert by_depth.tolist() == [[1, 4 / 6, 2 / 6, 0], [0, 0, 0, 1]]
        dog, cat, hammer = (wordnet.synsets(word)[0] for word in ("dog", "cat", "hammer"))
        assert [dog.path_similarity(cat), dog.path_similarity(hammer)] == by_way[0, 1:3].tolist()
        assert [dog.wup_similarity(cat), dog.wup_similarity(hammer)] == by_depth[0, 1:3].tolist()

    def test_a_text_is_alike_as_far_as_its_weighted_words_have_a_like_in_the_other(self, wordnet):
        vocabulary = ["dog", "cat", "hammer"]
        citances = np.array([[1.0, 0, 3]])
        sentences = np.array([[0, 2.0, 0], [0, 0, 0]])
        found = text_likeness(citances, sentences, vocabulary, wordnet)
        assert found.shape == (1, 2, 4)
        forth = (1 * (1 / 3) + 3 * (1 / 5)) / 4
        assert found[0, 0, :2] == pytest.approx([forth, 1 / 3])
        assert found[0, 1].tolist() == [0, 0, 0, 0]

    def test_texts_without_a_word_are_like_none(self, wordnet):
        weights = TfIdf(["", "dog"], is_plain=True)
        nothing = weights.vectors([""])
        assert not text_likeness(nothing, nothing, weights.vocabulary, wordnet).any()

    def test_where_it_is_not_installed_the_system_does_without_and_says_so(self, topic, monkeypatch):
        monkeypatch.setattr(clsumm_supervised, "installed", lambda: None)
        options = {**PLAIN, "wordnet": "auto"}
        assert (features(topic, options) == features(topic, PLAIN)).all()
        assert features_used(options) == "Its features: TF-IDF, common subsequences, common words, place."
        assert features_missing(options) == "without the features that need WordNet or a parser"

    def test_where_it_is_installed_it_counts_and_is_named(self, topic, monkeypatch, wordnet):
        monkeypatch.setattr(clsumm_supervised, "installed", lambda: wordnet)
        options = {**PLAIN, "wordnet": "auto"}
        plain = features(topic, PLAIN)
        both = features(topic, options)
        assert both.shape == (*plain.shape[:2], plain.shape[2] + 4)
        assert (both[..., : plain.shape[2]] == plain).all()
        assert features_used(options).endswith("place, WordNet 3.0.")
        assert features_missing(options) == "without the features that need a parser"

    def test_wanted_and_missing_the_run_is_not_written(self, capsys, root, monkeypatch, tmp_path):
        monkeypatch.setattr(clsumm_supervised, "installed", lambda: None)
        out = tmp_path / "run.jsonl"
        command = [
            "baseline",
            SUPERVISED,
            "--gold",
            str(root / "examples" / "demo-season"),
            "--out",
            str(out),
        ]
        assert main([*command, "--option", "wordnet=yes"]) == UNAVAILABLE
        assert "NLTK's data of WordNet are not installed" in capsys.readouterr().err
        assert not out.exists()

    def test_another_word_than_auto_yes_and_no_is_refused(self):
        with pytest.raises(OptionRefused, match="wordnet=maybe: expected one of auto, yes, no"):
            baseline(SUPERVISED).with_options({"wordnet": "maybe"})


class TestDependencies:
    def test_head_relation_and_dependent_count_without_case_and_without_punctuation(self):
        parse = Parse(("We", "Count", "words", "."), (1, 1, 1, 1), ("nsubj", "ROOT", "dobj", "punct"))
        assert dependencies(parse) == {("count", "nsubj", "we"), ("count", "dobj", "words")}

    def test_the_common_ones_are_a_share_of_each_sides(self, monkeypatch):
        parses = {
            "we count words": Parse(("we", "count", "words"), (1, 1, 1), ("nsubj", "ROOT", "dobj")),
            "they count words": Parse(("they", "count", "words"), (1, 1, 1), ("nsubj", "ROOT", "dobj")),
            "count words": Parse(("count", "words"), (0, 0), ("ROOT", "dobj")),
            "count": Parse(("count",), (0,), ("ROOT",)),
        }
        monkeypatch.setattr(
            "scoring.tools.baselines.clsumm_supervised.pipeline_parses",
            lambda texts, pipeline: [parses[text] for text in texts],
        )
        found = common_dependencies(["we count words"], ["they count words", "count words", "count"], "any")
        assert found.tolist() == [[[0.5, 0.5], [0.5, 1.0], [0.0, 0.0]]]

    def test_a_pipeline_that_is_missing_is_named(self, capsys, root, tmp_path):
        out = tmp_path / "run.jsonl"
        command = [
            "baseline",
            SUPERVISED,
            "--gold",
            str(root / "examples" / "demo-season"),
            "--out",
            str(out),
        ]
        assert main([*command, "--option", "parser=en_core_web_none"]) == UNAVAILABLE
        assert "the spaCy pipeline en_core_web_none is not installed" in capsys.readouterr().err
        assert not out.exists()

    @pytest.mark.shared
    def test_a_named_pipeline_counts_and_is_named_with_its_version(self, capsys, shared, topic, tmp_path):
        pytest.importorskip("spacy")
        options = {**PLAIN, "parser": str(shared / "spacy" / "en_test_sm")}
        plain = features(topic, PLAIN)
        found = features(topic, options)
        assert found.shape == (*plain.shape[:2], plain.shape[2] + 2)
        # “They count words” of the citance and “We count words” of the paper share the object.
        assert found[0, 1, -1] > 0 == found[0, 0, -1]
        command = ["baseline", SUPERVISED, "--gold", str(tmp_path / "corpus"), "--out", str(tmp_path / "run")]
        given = [f"--option={name}={value}" for name, value in options.items()]
        assert main([*command, *given]) == 0
        told = capsys.readouterr().out
        assert "place, dependencies by en_core_web_test-0.1.0-" in told
        assert str(shared) not in told
