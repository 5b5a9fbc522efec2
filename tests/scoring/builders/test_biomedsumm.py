"""BiomedSumm's form, with files of our own: papers as text, ranges of characters, several annotators."""

import json
import shutil

import pytest

from scoring.__main__ import main

PAPER = (
    "A study of cells\n\nWe grow cells in milk. The cells divide quickly, i.e. twice.\n\n"
    "Others grow them slowly.\n"
)
CITING = "We cite\r\n\r\nCells divide quickly in milk (Us, 2001). More is known.\r\n"
FIRST, SECOND = "We grow cells in milk.", "The cells divide quickly, i.e. twice."


def annotation(
    number=1,
    *,
    offset=None,
    words=SECOND,
    article="Us,2001.txt",
    facet="Method_Citation",
    annotator="A",
):
    start = PAPER.index(SECOND)
    ranges = offset or f"['{start}-{start + len(SECOND)}']"
    return (
        f"Topic ID: D1401_TRAIN | Citance Number: {number} | Reference Article: {article} | "
        f"Citing Article: them.TXT | Citation Marker Offset: 38-46 | Citation Marker: Us, 2001 | "
        f"Citation Offset: 9-48 | Citation Text: Cells divide quickly in milk (Us, 2001). | "
        f"Reference Offset: {ranges} | Reference Text: {words} | Discourse Facet: {facet} | "
        f"Annotator: {annotator} |\n"
    )


@pytest.fixture
def data(tmp_path):
    """One topic as the release has it, a name with a comma among its papers."""
    folder = tmp_path / "data" / "D1401_TRAIN"
    for part in ("Annotation", "Documents_Text", "Summary"):
        (folder / part).mkdir(parents=True)
    (folder / "Documents_Text" / "us,2001.txt").write_bytes(PAPER.encode())
    (folder / "Documents_Text" / "them.txt").write_bytes(CITING.encode())
    (folder / "Annotation" / "D1401_TRAIN.A.ann.txt").write_text(annotation() + "\n")
    (folder / "Annotation" / "D1401_TRAIN.B.ann.txt").write_text(
        annotation(
            offset="['18-40']", words=FIRST, facet="Discussion_Citation", annotator="B"
        )
        + "\n"
    )
    (folder / "Summary" / "D1401_TRAIN.A.summary.txt").write_text("Cells grow in milk.")
    return folder


def rewrite(data, text, annotator="A"):
    (data / "Annotation" / f"D1401_TRAIN.{annotator}.ann.txt").write_text(text)


@pytest.fixture
def convert(capsys, data, tmp_path):
    def converted():
        code = main(
            [
                "papers",
                "convert-biomedsumm",
                str(tmp_path / "data"),
                "--out",
                str(tmp_path / "out"),
                "--json",
            ]
        )
        told = capsys.readouterr()
        return json.loads(told.out)["references"] if code == 0 else told.err

    return converted


def rows(tmp_path, annotator="A"):
    return (
        tmp_path / "out" / "us-2001" / "gold" / "Task1" / f"us-2001_{annotator}.csv"
    ).read_text()


def test_ranges_become_the_sentences_that_they_touch(convert, tmp_path):
    assert convert() == {"as given": 2}
    assert f'"<S sid=""2"" ssid=""2"">{SECOND}</S>"' in rows(tmp_path)
    assert FIRST in rows(tmp_path, "B")
    assert "Discussion_Citation" in rows(tmp_path, "B")


def test_check_and_score_take_the_topics_and_tell_annotators_apart(
    convert, capsys, tmp_path
):
    convert()
    gold, run = str(tmp_path / "out"), tmp_path / "run.jsonl"
    run.write_text(
        json.dumps(
            {
                "topic": "us-2001",
                "citing": "them",
                "marker": "38",
                "citance": "1",
                "sentences": ["2"],
            }
        )
    )
    assert main(["check", "clsumm-1a", "--gold", gold, "--run", str(run)]) == 0
    capsys.readouterr()
    assert (
        main(
            [
                "score",
                "clsumm-1a",
                "--gold",
                gold,
                "--run",
                str(run),
                "--intervals",
                "0",
                "--json",
            ]
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    by_annotator = {
        name: one["overlap_f1_micro"]["value"]
        for name, one in found["breakdowns"]["annotator"].items()
    }
    assert by_annotator == {"A": 1, "B": 0}


def test_summaries_are_gold_of_task_2(convert, capsys, tmp_path):
    convert()
    assert (
        main(
            [
                "baseline",
                "clsumm-lead",
                "--gold",
                str(tmp_path / "out"),
                "--out",
                str(tmp_path / "run.jsonl"),
            ]
        )
        == 0
    )
    assert (
        main(
            [
                "check",
                "clsumm-2",
                "--gold",
                str(tmp_path / "out"),
                "--run",
                str(tmp_path / "run.jsonl"),
            ]
        )
        == 0
    )


def test_words_that_stand_elsewhere_are_found_there(convert, data, tmp_path):
    rewrite(data, annotation(offset="['0-10']"))
    assert convert() == {"as given": 1, "by their words": 1}
    assert SECOND in rows(tmp_path)


def test_words_that_stand_nowhere_are_counted_and_no_reference(convert, data, tmp_path):
    rewrite(data, annotation(words="Nobody says this."))
    assert convert() == {"as given": 1, "without a place": 1}
    assert ",NA,NA,NA" in rows(tmp_path)


def test_several_ranges_and_a_record_over_two_lines_are_read(convert, data, tmp_path):
    ranges = "['18-40', '41-78']"
    rewrite(
        data,
        annotation(offset=ranges, words=f"{FIRST} ... {SECOND}").replace(
            "| Discourse", "\n| Discourse"
        ),
    )
    assert convert()["as given"] == 3
    assert "\"'1','2'\"" in rows(tmp_path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            annotation().replace("Reference Offset", "Offset"),
            "the line has no field “Reference Offset”",
        ),
        (
            annotation(article="nobody.txt"),
            "the paper “nobody” is not among the topic's Documents_Text",
        ),
        (
            annotation() + "\n" + annotation(article="them.txt"),
            "several reference papers: them, us2001",
        ),
        ("nothing | at all |\n", "“nothing” has no name before it"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(
    convert, data, tmp_path, text, told
):
    rewrite(data, text)
    assert told in convert()
    assert not (tmp_path / "out").exists()


def test_a_folder_without_topics_and_one_that_has_files_are_refused(capsys, tmp_path):
    (tmp_path / "empty").mkdir()
    assert (
        main(
            [
                "papers",
                "convert-biomedsumm",
                str(tmp_path / "empty"),
                "--out",
                str(tmp_path / "out"),
            ]
        )
        == 2
    )
    assert (
        "no topic was found; expected topic folders with `Annotation/"
        in capsys.readouterr().err
    )
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    assert (
        main(
            [
                "papers",
                "convert-biomedsumm",
                str(tmp_path / "empty"),
                "--out",
                str(tmp_path / "out"),
            ]
        )
        == 2
    )
    assert "the folder has files; expected a new folder" in capsys.readouterr().err


def test_two_topics_of_one_reference_paper_are_refused_and_neither_takes_the_others_place(
    convert, data
):
    shutil.copytree(data, data.parent / "D1402_TRAIN")
    told = convert()
    assert told.startswith("D1402_TRAIN: an earlier topic would be written as us-2001/")
    assert "expected one topic of each reference paper" in told


def test_a_place_of_very_many_digits_is_none(convert, data, tmp_path):
    rewrite(data, annotation(offset=f"['{'9' * 5000}-10']"))
    assert convert() == {"as given": 1}
    assert ",NA,NA,NA" in rows(tmp_path)


@pytest.mark.parametrize("below", ["", "topics"])
def test_a_file_where_a_folder_is_to_be_made_is_refused_by_its_path(
    data, capsys, tmp_path, below
):
    (tmp_path / "file").write_text("no folder")
    assert (
        main(
            [
                "papers",
                "convert-biomedsumm",
                str(data),
                "--out",
                str(tmp_path / "file" / below),
            ]
        )
        == 2
    )
    assert capsys.readouterr().err.startswith(f"{tmp_path / 'file'}")
