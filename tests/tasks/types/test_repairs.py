"""A run that is refused is repaired where its content is certain, and only then."""

import json
import zipfile
from dataclasses import replace

import pytest

from scoring.__main__ import main
from tasks.types import task_type
from tasks.types.files import open_input_files
from tasks.types.repairs import find_possible_encodings, repair_run_if_unambiguous
from tests.tasks.types.test_files_of_people import (
    LABELS,
    NUMBERS,
    RANKINGS,
    TEXTS,
    YES_NO,
    declared,
    lines,
    sent,
    split_of,
)


def repaired(kind, split, content, name="run.jsonl", encoding=""):
    file = replace(sent(content, name), encoding=encoding)
    return repair_run_if_unambiguous(kind, [file], split.index, {})


def rows(*names, **values):
    """Two lines with the answers yes and no, or others, under these names of id and answer."""
    key, field = names
    return [
        {**values, key: name, field: answer}
        for name, answer in (("a", "yes"), ("b", "no"))
    ]


@pytest.fixture(scope="module")
def labels():
    kind = declared(*LABELS)
    return kind, split_of(kind, *YES_NO)


@pytest.mark.parametrize(("name", "delimiter"), [("r.csv", ","), ("r.tsv", "\t")])
def test_a_table_without_a_header_keeps_its_first_answer(labels, name, delimiter):
    kind, split = labels
    content = f"a{delimiter}yes\nb{delimiter}no\n"
    found = repaired(kind, split, content, name)
    assert found.changes[:2] == (
        "“column 1” is called “id”",
        "“column 2” is called “label”",
    )
    answers, problems = kind.read_run(
        [sent(found.content, found.name)], split.index, {}
    )
    assert (dict(answers), list(problems)) == ({"a": "yes", "b": "no"}, [])


@pytest.mark.parametrize(
    ("name", "content", "change"),
    [
        ("r.jsonl", lines(*rows("id", "prediction")), "“prediction” is called “label”"),
        ("r.jsonl", lines(*rows("ID", "Label")), "“ID” is called “id”"),
        ("r.jsonl", lines(*rows("id", "out", model="m")), "“out” is called “label”"),
        ("r.csv", "id,pred\na,YES\nb, no\n", "“YES” becomes “yes” (1 ×)"),
        ("r.tsv", "id\tlabel\na \tyes\nb\tno\n", "an id has no space around it (1 ×)"),
        (
            "r.json",
            json.dumps(rows("id", "pred"), indent=1),
            "“pred” is called “label”",
        ),
        ("r.jsonl", lines({"id": "a", "label": "Yes"}), "“Yes” becomes “yes” (1 ×)"),
    ],
)
def test_fields_labels_and_ids_are_repaired_in_each_format(
    labels, name, content, change
):
    kind, split = labels
    found = repaired(kind, split, content, name)
    assert change in found.changes
    assert found.name == f"r-repaired.{'jsonl' if 'json' in name else name[2:]}"
    answers, problems = kind.read_run(
        [sent(found.content, found.name)], split.index, {}
    )
    assert not problems or "have no answer" in problems[0].message
    assert set(answers.items()) <= {("a", "yes"), ("b", "no")}


@pytest.mark.parametrize(
    "content",
    [
        lines(*({**row, "gold": row["pred"]} for row in rows("id", "pred"))),
        lines(*rows("id", "label"), {"id": "c", "label": "yes"}),
        lines({"id": "a", "label": "perhaps"}, {"id": "b", "label": "no"}),
        lines({"id": "a", "pred": "perhaps"}, {"id": "b", "pred": "no"}),
        lines({"id": "a", "label": "yes"}, {"id": "b", "pred": "no"}),
        lines(*rows("name", "pred")).replace('"a"', '"x"'),
        "id,label\na,yes\nb,no,yes\n",
        '{"id": "a"',
        "",
    ],
)
def test_nothing_is_repaired_where_several_things_can_be_meant_or_none(labels, content):
    assert repaired(*labels, content) is None


def test_a_field_that_participants_see_is_no_answer_and_numbers_and_tables_are_mended():
    kind = declared(*TEXTS, gold='shown = ["source"]')
    split = split_of(kind, {"id": "a", "references": ["x"], "source": "s"})
    found = repaired(kind, split, lines({"id": "a", "source": "s", "output": "x"}))
    assert found.changes == ("“output” is called “text”",)
    kind = declared(*NUMBERS)
    split = split_of(kind, {"id": "a", "score": 1}, {"id": "b", "score": 2})
    found = repaired(kind, split, "key,value,note\na,1,x\nb,2.5,y\n", "r.csv")
    assert found.content == b"id,score,note\r\na,1,x\r\nb,2.5,y\r\n"
    kind = declared(*RANKINGS)
    split = split_of(kind, {"id": "q", "pool": ["d1", "d2"], "answers": ["d2"]})
    found = repaired(kind, split, "id,abstract,rank\nq,d1,2\nq,d2,1\n", "r.csv")
    assert found.changes == ("“abstract” is called “document”",)
    found = repaired(kind, split, lines({"id": "q", "predicted": ["d2", "d1"]}))
    assert found.changes == ("“predicted” is called “ranking”",)


def test_an_encoding_that_the_person_names_is_applied_and_further_repairs_follow():
    kind = declared("labels", "label", 'labels = ["是", "否"]', "accuracy")
    gold = [{"id": "a", "label": "是"}, {"id": "b", "label": "否"}]
    split = split_of(kind, *gold)
    content = lines(*gold).encode("gb18030")
    assert "GB18030" in find_possible_encodings([sent(content)])
    assert find_possible_encodings([sent(lines(*gold))]) == ()
    assert repaired(kind, split, content) is None
    found = repaired(kind, split, content, encoding="GB18030")
    assert found.content.decode() == lines(*gold)
    assert found.changes == ("read as GB18030, and saved in UTF-8",)
    content = lines(*({"id": r["id"], "pred": r["label"]} for r in gold))
    found = repaired(kind, split, content.encode("gb18030"), encoding="GB18030")
    assert found.changes[1:] == ("“pred” is called “label”",)
    assert repaired(kind, split, content.encode("gb18030"), encoding="UTF-16") is None


def test_a_label_within_the_evidence_is_spelled_as_the_task_spells_it():
    answer = 'labels = ["SUPPORT"]\nshape = "sets"\n[task.pool]\nfile = "pool.jsonl"'
    kind = declared("evidence", "evidence", answer, "sentence_label_f1")
    gold = {"id": "a", "evidence": {"7": [{"sentences": [0], "label": "SUPPORT"}]}}
    pool = sent(lines({"doc_id": "7", "abstract": ["One."]}), "pool.jsonl")
    split = kind.gold_of([sent(lines(gold), "gold.jsonl"), pool], {})
    run = lines({"id": "a", "evidence": {"7": {"sentences": [0], "label": "support"}}})
    found = repaired(kind, split, run)
    assert found.changes == ("“support” becomes “SUPPORT” (1 ×)",)
    assert found.content.decode() == run.replace("support", "SUPPORT")


def test_a_run_of_a_built_in_type_has_its_field_renamed(root):
    sample = root / "tasks" / "types" / "citation_text" / "sample"
    kind = task_type("citation-text")
    options = kind.validate_options({})
    split = kind.gold_of(open_input_files(sample / "gold"), options)
    run = (sample / "run.jsonl").read_text().replace('"prediction"', '"generated"')
    found = repair_run_if_unambiguous(kind, [sent(run)], split.index, options)
    assert found.changes == ("“generated” is called “prediction”",)


def test_check_offers_the_repaired_file_and_writes_it(labels, tmp_path, capsys):
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "task.toml").write_text(labels[0].declared.files["task.toml"])
    (tmp_path / "gold.jsonl").write_text(lines(*YES_NO))
    run, repaired_run = tmp_path / "run.jsonl", tmp_path / "repaired.jsonl"
    run.write_bytes(lines(*rows("id", "pred", note="é")).encode("cp1252"))
    words = ["check", str(tmp_path / "inputs.zip"), "--run", str(run)]
    with zipfile.ZipFile(tmp_path / "inputs.zip", "w") as archive:
        archive.write(folder / "task.toml", "task.toml")
        archive.writestr("inputs.jsonl", lines(*({"id": one} for one in "ab")))
    words += ["--inputs", str(tmp_path / "inputs.zip")]
    assert main(words) == 2
    assert "--encoding NAME reads the run" in capsys.readouterr().err
    words += ["--encoding", "Windows-1252"]
    assert main(words) == 2
    said = capsys.readouterr().err
    assert "repair: “pred” is called “label”" in said
    assert "--repair FILE writes the repaired file" in said
    assert main([*words, "--repair", str(repaired_run)]) == 2
    assert repaired_run.read_text() == lines(*rows("id", "label", note="é"))
    words[3] = str(repaired_run)
    assert main(words[:6]) == 0
    run.write_bytes(lines(*rows("id", "label", note="é")).encode("cp1252"))
    words[3] = str(run)
    assert main([*words, "--repair", str(repaired_run)]) == 0
    assert repaired_run.read_text() == lines(*rows("id", "label", note="é"))


def archive_of(tmp_path, **files):
    """Return an opened zip with runs and a file that is no run."""
    with zipfile.ZipFile(tmp_path / "runs.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(f"ours/{name}.jsonl", content)
    return open_input_files(tmp_path / "runs.zip", shown="runs.zip")


def test_each_wrong_file_of_an_archive_is_repaired_and_others_stay(labels, tmp_path):
    kind, split = labels
    first, _second = rows("id", "pred")
    wrong = lines(first), lines({"id": "b", "label": "NO"})
    found = repair_run_if_unambiguous(
        kind, archive_of(tmp_path, one=wrong[0], two=wrong[1]), split.index, {}
    )
    assert found.name == "runs-repaired.zip"
    assert found.changes == (
        "ours/one.jsonl: “pred” is called “label”",
        "ours/two.jsonl: “NO” becomes “no” (1 ×)",
    )
    (tmp_path / "again.zip").write_bytes(found.content)
    again = open_input_files(tmp_path / "again.zip")
    answers, problems = kind.read_run(again, split.index, {})
    assert (dict(answers), problems) == ({"a": "yes", "b": "no"}, [])
    sound = lines({"id": "b", "label": "no"})
    files = archive_of(tmp_path, one=wrong[0], two=sound)
    [change] = repair_run_if_unambiguous(kind, files, split.index, {}).changes
    assert change.startswith("ours/one.jsonl")


def test_an_archive_with_a_file_that_nothing_can_be_done_about_is_not_repaired(
    labels, tmp_path
):
    kind, split = labels
    first, _second = rows("id", "pred")
    files = archive_of(
        tmp_path, one=lines(first), two=lines({"id": "b", "label": "perhaps"})
    )
    assert repair_run_if_unambiguous(kind, files, split.index, {}) is None


def test_a_file_named_by_its_packing_alone_is_repaired_too(labels):
    kind, split = labels
    found = repaired(kind, split, lines(*rows("id", "pred")), ".gz")
    assert found.name.startswith("run-repaired")


def test_an_empty_id_beside_the_renamed_one_changes_nothing(labels):
    kind, split = labels
    for order in (("name", "id"), ("id", "name")):
        content = lines(
            *(
                {**dict.fromkeys(order), "name": name, "label": answer}
                for name, answer in (("a", "yes"), ("b", "no"))
            )
        )
        assert "“name” is called “id”" in repaired(kind, split, content).changes


def test_of_many_spellings_twenty_are_listed(labels):
    kind, split = labels
    found = repaired(
        kind,
        replace(split, index={**split.index, "instances": [str(n) for n in range(60)]}),
        lines(*({"id": str(n), "label": " " * n + "YES"} for n in range(60))),
    )
    assert len(found.changes) == 21
    assert found.changes[-1] == "21 more spellings, changed likewise"
