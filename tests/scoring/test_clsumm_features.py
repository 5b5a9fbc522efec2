"""The features of clair_umich's supervised system that rest on data of others: WordNet, and a parser."""

from pathlib import Path

import pytest

from scoring.__main__ import UNAVAILABLE_EXIT_CODE, main
from scoring.tools.baselines import clsumm_supervised
from scoring.tools.baselines.clsumm_supervised import (
    compute_features,
    describe_used_features,
    list_dependencies,
)
from tasks.types.clsumm.topics import read_input_topics
from tasks.types.files import open_files_of_all_inputs
from tasks.types.positional_citations.claims import Parse
from tasks.types.problems import SoftwareUnavailable
from tests.tasks.types.corpus import write_csv_topic, write_topic

SUPERVISED = "clsumm-umich-supervised"
PLAIN = {"annotation": "auto", "wordnet": "no", "parser": "none"}
#: Nouns, each with the one above it.
ABOVE = {
    "thing": "",
    "animal": "thing",
    "dog": "animal",
    "cat": "animal",
    "tool": "thing",
    "hammer": "tool",
}
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
        data.append(
            f"{places[word]} 03 n 01 {word} 0 {pointers} | made up".ljust(long - 1)
            + "\n"
        )
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
        found = reader.WordNetCorpusReader(
            str(write_wordnet(tmp_path / "corpora" / "wordnet")), None
        )
    yield found
    # NLTK keeps the files open for as long as the process lives.
    for file in found._data_file_map.values():
        file.close()


@pytest.fixture
def topic(tmp_path):
    write_topic(tmp_path / "corpus", "D01-0001")
    return read_input_topics(
        open_files_of_all_inputs([tmp_path / "corpus"]), {"annotation": "auto"}
    )[0]


def test_citing_papers_are_the_xml_files_beside_the_annotation(tmp_path, topic):
    papers = tmp_path / "corpus" / "D01-0001" / "Citance_XML"
    papers.mkdir(exist_ok=True)
    for name in ("D05-0009.xml", "notes.txt"):
        (papers / name).write_text('<PAPER><S sid="0">We count.</S></PAPER>')
    [read] = read_input_topics(
        open_files_of_all_inputs([tmp_path / "corpus"]), {"annotation": "auto"}
    )
    assert read.papers.keys() - topic.papers.keys() == {"D05-0009"}


def test_of_a_row_the_clean_text_is_asked_and_the_other_where_there_is_none(tmp_path):
    quoted = '"\'1\'","<S sid=""1"">We count.</S>",Method_Citation'
    rows = [
        f"1,D01-0001,D05-0001,0,(Us &amp; them),0,They count [1].,They &amp; we count.,{quoted}",
        f"2,D01-0001,D05-0002,0, Us ,0,They count [2].,,{quoted}",
    ]
    write_csv_topic(tmp_path / "corpus", "D01-0001", {"a": rows})
    [read] = read_input_topics(
        open_files_of_all_inputs([tmp_path / "corpus"]), {"annotation": "auto"}
    )
    told = [(citance.text, citance.marker) for citance in read.citances]
    assert told == [("They & we count.", "(Us & them)"), ("They count [2].", "Us")]


class TestWordNet:
    def test_where_it_is_not_installed_the_system_does_without_and_says_so(
        self, topic, monkeypatch
    ):
        monkeypatch.setattr(clsumm_supervised, "load_installed_wordnet", lambda: None)
        options = {**PLAIN, "wordnet": "auto"}
        assert (
            compute_features(topic, options) == compute_features(topic, PLAIN)
        ).all()
        assert (
            describe_used_features(options)
            == "Its features: TF-IDF, common subsequences, common words, place."
        )

    def test_where_it_is_installed_it_counts_and_is_named(
        self, topic, monkeypatch, wordnet
    ):
        monkeypatch.setattr(
            clsumm_supervised, "load_installed_wordnet", lambda: wordnet
        )
        options = {**PLAIN, "wordnet": "auto"}
        plain = compute_features(topic, PLAIN)
        both = compute_features(topic, options)
        assert both.shape == (*plain.shape[:2], plain.shape[2] + 6)
        assert (both[..., : plain.shape[2]] == plain).all()
        assert describe_used_features(options).endswith(
            "place, six measures over WordNet 3.0."
        )

    def test_wanted_and_missing_the_run_is_not_written(
        self, capsys, root, monkeypatch, tmp_path
    ):
        monkeypatch.setattr(clsumm_supervised, "load_installed_wordnet", lambda: None)
        out = tmp_path / "run.jsonl"
        command = [
            "baseline",
            SUPERVISED,
            "--gold",
            str(root / "examples" / "demo-season"),
            "--out",
            str(out),
        ]
        assert main([*command, "--option", "wordnet=yes"]) == UNAVAILABLE_EXIT_CODE
        assert "NLTK's data of WordNet are not installed" in capsys.readouterr().err
        assert not out.exists()

    def test_another_word_than_auto_yes_and_no_is_a_folder(self, topic):
        with pytest.raises(SoftwareUnavailable, match=r"maybe has no data\.noun"):
            compute_features(topic, {**PLAIN, "wordnet": "maybe"})


class TestDependencies:
    def test_head_relation_and_dependent_count_without_case_and_without_punctuation(
        self,
    ):
        parse = Parse(
            ("We", "Count", "words", "."),
            (1, 1, 1, 1),
            ("nsubj", "ROOT", "dobj", "punct"),
        )
        assert list_dependencies(parse) == {
            ("count", "nsubj", "we"),
            ("count", "dobj", "words"),
        }

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
        assert (
            main([*command, "--option", "parser=en_core_web_none"])
            == UNAVAILABLE_EXIT_CODE
        )
        assert (
            "the spaCy pipeline en_core_web_none is not installed"
            in capsys.readouterr().err
        )
        assert not out.exists()

    @pytest.mark.shared
    def test_a_named_pipeline_counts_and_is_named_with_its_version(
        self, capsys, shared, topic, tmp_path
    ):
        pytest.importorskip("spacy")
        options = {**PLAIN, "parser": str(shared / "spacy" / "en_test_sm")}
        plain = compute_features(topic, PLAIN)
        found = compute_features(topic, options)
        assert found.shape == (*plain.shape[:2], plain.shape[2] + 1)
        # “They count words” of the citance and “We count words” of the paper share the object.
        assert found[0, 1, -1] > 0 == found[0, 0, -1]
        command = [
            "baseline",
            SUPERVISED,
            "--gold",
            str(tmp_path / "corpus"),
            "--out",
            str(tmp_path / "run"),
        ]
        given = [f"--option={name}={value}" for name, value in options.items()]
        assert main([*command, *given]) == 0
        told = capsys.readouterr().out
        assert "place, dependencies by en_core_web_test-0.1.0-" in told
        assert str(shared) not in told
