"""Sentences that a spaCy package splits, as scispaCy's do; the package here is a small one for tests."""

import json
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.metrics.discourse import SPLITTING_RULES_VERSION
from scoring.tools.builders import corpus as splitting
from scoring.tools.builders.corpus import MARK_CHARACTER, choose_splitter
from tests.scoring.builders.corpora import (
    s2orc_metadata,
    s2orc_parse,
    write_corpus,
    write_lines,
)

TEXT = "Bells ring [1]. We follow the work of Yoke (2016). It was done by others [2] in Rome."


@pytest.fixture
def package(shared) -> str:
    pytest.importorskip("spacy")
    return str(shared / "spacy" / "en_test_sm")


@pytest.fixture
def corpus(tmp_path) -> Path:
    folder = tmp_path / "corpus"
    write_lines(folder / "metadata.jsonl", s2orc_metadata())
    write_lines(
        folder / "parses.jsonl",
        [s2orc_parse() | {"paper_id": str(name)} for name in (77, 78, 79)],
    )
    return folder


def command(corpus: Path, out: Path, *more: str) -> list[str]:
    return [
        "build-diagnostic",
        str(corpus),
        "--out",
        str(out),
        "--tagger",
        "none",
        "--no-baselines",
        *more,
    ]


def build(corpus: Path, out: Path, *more: str) -> dict[str, bytes]:
    assert main(command(corpus, out, "--every-context", *more)) == 0
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file()
    }


def masked(text: str, *marks: str) -> str:
    for mark in marks:
        text = text.replace(mark, MARK_CHARACTER)
    return text


def test_a_package_sees_the_printed_marks_and_its_sentences_lie_in_the_text_without_them(
    package,
):
    marks = ("[1]", "Yoke (2016)", "[2]")
    text = masked(TEXT, *marks)
    found = [
        text[start:end]
        for start, end in choose_splitter(package).iterate_sentence_spans(text, marks)
    ]
    assert found == [
        f"Bells ring {MARK_CHARACTER}.",
        f"We follow the work of {MARK_CHARACTER}.",
        f"It was done by others {MARK_CHARACTER} in Rome.",
    ]


def test_a_sentence_may_begin_with_a_mark_and_never_inside_of_one(package):
    marks = ("Yoke (2016)", "A. It rains. It is wet. B")
    text = masked(
        "Bells ring. Yoke (2016) disagrees. A. It rains. It is wet. B was late.", *marks
    )
    found = [
        text[start:end]
        for start, end in choose_splitter(package).iterate_sentence_spans(text, marks)
    ]
    assert found[:2] == ["Bells ring.", f"{MARK_CHARACTER} disagrees."]
    assert "".join(found).count(MARK_CHARACTER) == 2
    assert (
        list(choose_splitter(package).iterate_sentence_spans("", ()))
        == list(choose_splitter(package).iterate_sentence_spans("  ", ()))
        == []
    )


def test_a_long_paragraph_is_cut_at_blanks(package, monkeypatch):
    monkeypatch.setattr(splitting, "MAX_CHARACTERS_PER_PARSE", 40)
    text = " ".join(f"Bells rang in the year {year}." for year in range(1990, 2000))
    found = [
        text[start:end]
        for start, end in choose_splitter(package).iterate_sentence_spans(text, ())
    ]
    assert " ".join(found) == text


def test_what_splits_the_sentences_stands_on_the_data_sheet(package, corpus, tmp_path):
    build(corpus, tmp_path / "package", "--sentences", package)
    build(corpus, tmp_path / "rules")
    meta = json.loads(Path(package, "meta.json").read_text())
    for out, name in (
        ("package", f"en_{meta['name']}-{meta['version']}"),
        ("rules", SPLITTING_RULES_VERSION),
    ):
        facts = json.loads((tmp_path / out / "datasheet.json").read_text())
        assert facts["programs"]["sentences"] == name
        assert (
            f"| sentences | {name} |" in (tmp_path / out / "datasheet.md").read_text()
        )


def test_two_processes_split_alike(package, corpus, tmp_path):
    alone, two = (
        build(
            corpus, tmp_path / jobs / "season", "--sentences", package, "--jobs", jobs
        )
        for jobs in ("1", "2")
    )
    assert alone == two
    assert len(alone["gold/diagnostic.jsonl"].splitlines()) >= 3


def test_a_work_folder_of_other_sentences_is_refused(package, corpus, tmp_path, capsys):
    work = ("--work", str(tmp_path / "work"))
    build(corpus, tmp_path / "rules", *work)
    assert (
        main(command(corpus, tmp_path / "package", *work, "--sentences", package)) == 2
    )
    assert "were read otherwise: sentences differ" in capsys.readouterr().err


def test_a_corpus_that_has_sentences_already_is_not_split(tmp_path, capsys):
    corpus = write_corpus(tmp_path / "corpus", papers=2)
    assert (
        main(command(corpus, tmp_path / "season", "--sentences", "en_core_sci_sm")) == 2
    )
    told = capsys.readouterr().err
    assert (
        "a corpus of the form lines has sentences already, which “en_core_sci_sm” cannot split"
        in told
    )


def test_a_package_that_is_not_there_is_told_by_its_name(corpus, tmp_path, capsys):
    pytest.importorskip("spacy")
    assert (
        main(command(corpus, tmp_path / "season", "--sentences", "no-such-package"))
        == 6
    )
    assert (
        "the spaCy package “no-such-package” cannot be loaded"
        in capsys.readouterr().err
    )


def test_a_package_that_finds_no_sentences_is_refused(corpus, tmp_path, capsys):
    spacy = pytest.importorskip("spacy")
    spacy.blank("en").to_disk(tmp_path / "blank")
    assert (
        main(
            command(corpus, tmp_path / "season", "--sentences", str(tmp_path / "blank"))
        )
        == 6
    )
    assert (
        "finds no sentences: it has neither a parser nor a senter"
        in capsys.readouterr().err
    )
