"""Runs and gold as people make them: in other encodings, as tables, packed, and with other code points."""

import csv
import gzip
import io
import json
import unicodedata
from functools import partial

import pytest
from hypothesis import given, settings, strategies as st

from tasks.types import InputRefused, task_type
from tasks.types.base import CORRECTED
from tasks.types.declared.folder import read_declaration
from tasks.types.files import (
    CURRENT_PARSING_RULES_VERSION,
    InputFile,
    open_files_of_all_inputs,
    open_input_files,
)
from tasks.types.guarded.json_reader import (
    JsonKeyRepeated,
    read_json_line,
    read_json_list,
)
from tasks.types.problems import ProblemList, select_fatal_problems
from tasks.types.runs import read_run
from tasks.types.tables import (
    TableFormat,
    format_table,
    iterate_table_records,
    iterate_table_rows,
)

TOML = """[task]
slug = "own"
title = "Own"
form = "{form}"

[task.gold]
field = "{field}"
{gold}

[task.answer]
{answer}

[[task.rules]]
name = "corrected"
measures = ["{measure}"]

[[task.rules]]
name = "official"
measures = ["{measure}"]
"""
LABELS = ("labels", "label", 'labels = ["yes", "no", "é"]', "accuracy")
TEXTS = ("text", "references", "", "exact_match")
NUMBERS = ("numbers", "score", "", "mae")
RANKINGS = ("ranking", "answers", 'candidates = "pool"', "mrr@10")


def declared(form, field, answer, measure, gold=""):
    gold = gold + ('\nshown = ["pool"]' if form == "ranking" else "")
    text = TOML.format(
        form=form, field=field, gold=gold, answer=answer, measure=measure
    )
    return read_declaration({"task.toml": text})


def sent(content, name="run.jsonl", reading=CURRENT_PARSING_RULES_VERSION):
    content = content.encode() if isinstance(content, str) else content
    return InputFile(name, name, partial(io.BytesIO, content), reading)


def lines(*records):
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records)


def split_of(kind, *records, reading=CURRENT_PARSING_RULES_VERSION):
    return kind.gold_of([sent(lines(*records), "gold.jsonl", reading)], {})


def read(kind, split, content, name="run.jsonl"):
    run = sent(content, name, split.reading)
    return read_run(kind, [run], split.index, {}, name=name)


def words(problems):
    return " ".join(f"{one}" for one in problems)


YES_NO = ({"id": "a", "label": "yes"}, {"id": "b", "label": "no"})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.csv", "id,label\na,yes\nb,no\n"),
        ("run.csv", "\ufefflabel;id;note\r\nyes;a;x\r\nno;b;\r\n"),
        ("run.tsv", 'label\tid\tnote\nyes\ta\t"open\nno\tb\tx"\n'),
        ("run", "id,label\na,yes\nb,no\n"),
        ("run", lines(*YES_NO)),
        ("run.txt", json.dumps(YES_NO, indent=2)),
        ("run.json", json.dumps(YES_NO)),
        ("run.jsonl", json.dumps(YES_NO, indent=1)),
        ("run.jsonl", lines(*YES_NO).encode("utf-16")),
        ("run.csv", "id,label\na,yes\nb,no\n".encode("utf-32")),
        ("run.csv.gz", gzip.compress(b"id,label\na,yes\nb,no\n", mtime=0)),
        ("run.gz", gzip.compress(lines(*YES_NO).encode("utf-16"), mtime=0)),
    ],
)
@pytest.mark.parametrize("reading", [1, 2])
def test_a_run_of_labels_may_have_any_of_the_forms(name, content, reading):
    kind = declared(*LABELS)
    split = split_of(kind, *YES_NO, reading=reading)
    answers, problems = read(kind, split, content, name)
    assert not select_fatal_problems(problems), words(problems)
    assert answers == {"a": "yes", "b": "no"}


def test_columns_that_are_not_read_are_named_and_so_is_the_encoding():
    kind = declared(*LABELS)
    content = "id,note,label\na,x,yes\nb,y,no\n".encode("utf-16")
    said = words(read(kind, split_of(kind, *YES_NO), content, "run.csv")[1])
    assert "columns that are not read: “note”" in said
    assert "UTF-16" in said


def test_numbers_and_texts_come_as_tables():
    kind = declared(*NUMBERS)
    split = split_of(kind, {"id": "a", "score": 1}, {"id": "b", "score": 2})
    assert read(kind, split, "id,score\na,1.5\nb,-2e0\n", "r.csv")[0] == {
        "a": 1.5,
        "b": -2,
    }
    said = words(read(kind, split, "id;score\na;1,5\nb;nan\n", "r.csv")[1])
    assert "r.csv:2" in said
    assert "r.csv:3" in said
    kind = declared(*TEXTS)
    split = split_of(kind, *({"id": i, "references": ["x"]} for i in "ab"))
    content = 'id,text\na,"two\nlines, and ""marks"""\nb,\n'
    assert read(kind, split, content, "r.csv")[0] == {
        "a": 'two\nlines, and "marks"',
        "b": "",
    }


@pytest.mark.parametrize(
    "rows",
    [
        "id,document,rank\nq,d2,1\nq,d1,2\n",
        "document,score,id\nd1,0.5,q\nd2,0.9,q\n",
        "id\tdocument\trank\tscore\nq\td1\t2\t1\nq\td2\t1\t1\n",
    ],
)
def test_a_ranking_may_be_a_table_of_documents(rows):
    kind = declared(*RANKINGS)
    split = split_of(kind, {"id": "q", "pool": ["d1", "d2"], "answers": ["d2"]})
    run, problems = read(kind, split, rows, "r.csv" if "," in rows else "r.tsv")
    assert not select_fatal_problems(problems), words(problems)
    assert [*run.lists] == [(1, 0)]


@pytest.mark.parametrize(
    ("rows", "scores"),
    [
        ("id,document,rank\nq,d1,2\nq,d2,1\n", {}),
        ("id,document,score\nq,d1,0.5\nq,d2,0.9\n", {0: [0.9, 0.5]}),
        ("id,document,rank,score\nq,d1,2,0.5\nq,d2,1,0.9\n", {0: [0.9, 0.5]}),
    ],
)
def test_a_ranking_has_the_scores_of_its_table_and_none_without_their_column(
    rows, scores
):
    kind = declared(*RANKINGS)
    split = split_of(kind, {"id": "q", "pool": ["d1", "d2"], "answers": ["d2"]})
    run, _problems = read(kind, split, rows, "r.csv")
    assert run.scores == scores


def test_what_is_wrong_with_a_table_of_documents_is_told_by_line():
    kind = declared(*RANKINGS)
    split = split_of(kind, {"id": "q", "pool": ["d1", "d2"], "answers": ["d2"]})
    said = words(
        read(kind, split, "id,document,rank\nq,d1,1\nq,d1,2\nq,d2,x\n", "r.csv")[1]
    )
    assert "r.csv:3: “d1” stands in this ranking a second time" in said
    assert "r.csv:4: “rank” is “x”" in said
    said = words(read(kind, split, "id,document\nq,d1\n", "r.csv")[1])
    assert "there is no column “rank”; found “id”, “document”" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            "id,prediction\na,yes\n",
            "there is no column “label”; found “id”, “prediction”",
        ),
        ("a,yes\nb,no\n", "there is no column “id” and “label”; found “a”, “yes”"),
        ("id,label\na,yes,x\nb,no\n", "run.csv:2: 3 cells under 2 columns"),
        ('id,label\na,"yes\nb,no\n', "run.csv:2: a quotation mark opens in this row"),
        ("id;x,label\na;yes,no\n", "parted by comma or semicolon"),
        ("id,label,id\na,yes,b\n", "the column “id” is there twice"),
        ("", "the table is empty"),
        ("id,label\na,Yes\n", "run.csv:2: “Yes” is no label; did you mean “yes”?"),
        ("id,label\na, no \n", "did you mean “no”?"),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused_by_line(content, said):
    kind = declared(*LABELS)
    problems = read(kind, split_of(kind, *YES_NO), content, "run.csv")[1]
    assert said in words(select_fatal_problems(problems))


def test_a_table_beside_json_lines_is_no_part_of_the_run():
    kind = declared(*LABELS)
    split = split_of(kind, *YES_NO, reading=1)
    files = [sent(lines(*YES_NO)), sent("id,label\na,no\n", "old.csv")]
    answers, problems = read_run(kind, files, split.index, {})
    assert answers == {"a": "yes", "b": "no"}
    assert not select_fatal_problems(problems)


@pytest.mark.parametrize(
    ("text", "codec", "names"),
    [
        ("引用很重要。", "gb18030", ["GB18030"]),
        ("引用は重要です。", "cp932", ["Shift-JIS"]),
        ("인용은 중요하다", "euc_kr", ["EUC-KR"]),
        ("Wörter zählen", "cp1252", ["Windows-1252", "Windows-1251"]),
        ("Цитаты важны", "cp1251", ["Windows-1251"]),
    ],
)
def test_bytes_that_are_not_utf_8_are_refused_by_line_with_their_likely_encodings(
    text, codec, names
):
    kind = declared(*TEXTS)
    split = split_of(kind, {"id": "a", "references": ["x"]})
    content = b'{"id": "a", "text": "x"}\n' + lines({"id": "b", "text": text}).encode(
        codec
    )
    [problem] = select_fatal_problems(read(kind, split, content)[1])
    assert problem.line == 2
    assert problem.message.startswith("not UTF-8")
    assert all(name in problem.message for name in names)
    assert text in problem.message
    version_1 = split_of(kind, {"id": "a", "references": ["x"]}, reading=1)
    assert not any("UTF-8" in one.message for one in read(kind, version_1, content)[1])


@pytest.mark.parametrize(
    ("name", "content", "kind_of_file"),
    [
        (
            "run.xls",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(80),
            "an Excel workbook",
        ),
        ("run.pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a PDF document"),
        ("run.docx", b"PK\x03\x04" + bytes(30) + b"word/document.xml", "a Word file"),
    ],
)
def test_files_of_office_programs_are_called_by_their_names(
    name, content, kind_of_file
):
    kind = declared(*LABELS)
    said = words(read(kind, split_of(kind, *YES_NO), content, name)[1])
    assert kind_of_file in said


def test_a_gzip_file_that_unpacks_to_far_too_much_is_refused():
    kind = declared(*LABELS)
    content = gzip.compress(b" " * (40 << 20))
    said = words(read(kind, split_of(kind, *YES_NO), content, "run.jsonl.gz")[1])
    assert "too good to be a text" in said


def test_forty_characters_of_a_fields_name_are_told():
    kind = declared(*LABELS)
    content = lines(*({"id": i, "p" * 41: "yes"} for i in "ab"))
    said = words(read(kind, split_of(kind, *YES_NO), content)[1])
    assert f"found “id”, “{'p' * 40}”" in said


def test_a_renamed_field_is_named_and_no_other_task_is_proposed():
    kind = declared(*LABELS)
    content = lines(*({"id": i, "prediction": "yes"} for i in "ab"))
    said = words(read(kind, split_of(kind, *YES_NO), content)[1])
    assert "“label” is missing; found “id”, “prediction”" in said
    assert "right task" not in said


@pytest.mark.parametrize("reading", [1, 2])
def test_a_key_that_occurs_twice_is_refused_from_version_2_on(reading):
    kind = declared(*LABELS)
    split = split_of(kind, *YES_NO, reading=reading)
    content = '{"id": "a", "label": "no", "label": "yes"}\n{"id": "b", "label": "no"}\n'
    for text in (content, f"[{content.replace(chr(10), ',', 1)}]"):
        answers, problems = read(kind, split, text, "run.json")
        if reading == 1:
            assert answers["a"] == "yes"
        else:
            assert "the key “label” occurs twice in one object" in words(
                select_fatal_problems(problems)
            )
    if reading == 2:
        with pytest.raises(InputRefused, match="occurs twice"):
            kind.gold_of([sent(content, "gold.jsonl")], {})


@pytest.mark.parametrize("reading", [1, 2, 3])
def test_an_instance_under_its_id_occurs_once_from_version_2_on(reading):
    kind = declared(*LABELS, gold='files = "json"\nkeyed = true')
    content = '{"a": {"label": "no"}, "a": {"label": "yes"}}'
    gold = [sent(content, "gold.json", reading)]
    if reading == 1:
        assert kind.gold_of(gold, {}).instances == 1
    else:
        with pytest.raises(InputRefused, match="occurs twice"):
            kind.gold_of(gold, {})


@pytest.mark.parametrize("reading", [1, 2, 3])
def test_bytes_that_are_not_utf_8_are_refused_from_version_2_on(reading):
    kind = declared(*TEXTS)
    split = split_of(kind, {"id": "a", "references": ["x"]}, reading=reading)
    content = lines({"id": "a", "text": "Wörter"}).encode("cp1252")
    said = words(read(kind, split, content)[1])
    assert ("not UTF-8" in said) is (reading > 1)


@pytest.mark.parametrize("reading", [1, 2, 3])
def test_texts_are_compared_in_nfc_from_version_2_on(reading):
    kind = declared(*TEXTS)
    split = split_of(kind, {"id": "a", "references": ["é"]}, reading=reading)
    answer = lines({"id": "a", "text": unicodedata.normalize("NFD", "é")})
    pairs = kind.pair(split, read(kind, split, answer)[0], "corrected", {})
    assert (pairs.answers[0] in pairs.gold[0]) is (reading > 1)


def test_ids_are_equal_in_nfc_and_shown_as_the_gold_has_them():
    composed, decomposed = "Müller", unicodedata.normalize("NFD", "Müller")
    kind = declared(*LABELS)
    for own, other in ((composed, decomposed), (decomposed, composed)):
        split = split_of(kind, {"id": own, "label": "yes"})
        answers, problems = read(kind, split, lines({"id": other, "label": "yes"}))
        assert not select_fatal_problems(problems)
        assert answers == {own: "yes"}
        version_1 = split_of(kind, {"id": own, "label": "yes"}, reading=1)
        assert select_fatal_problems(
            read(kind, version_1, lines({"id": other, "label": "yes"}))[1]
        )
    both = ({"id": own, "label": "yes"} for own in (composed, decomposed))
    with pytest.raises(InputRefused, match="equal in NFC"):
        split_of(kind, *both)


@pytest.mark.parametrize(
    ("content", "encoding", "read"),
    [
        ("é\n".encode("utf-16-le"), "utf-16-le", "é\n".encode()),
        (b"\xff\xfea\0", "", b"\xff\xfea\0"),
    ],
)
def test_version_1_keeps_the_bytes_of_clsumm_files_that_declare_no_encoding(
    content, encoding, read
):
    file = InputFile(
        "a.txt",
        shown="a.txt",
        open=partial(io.BytesIO, content),
        reading=1,
        encoding=encoding,
        has_fallback=True,
    )
    assert list(file.lines()) == [read]


def test_candidates_and_labels_are_equal_in_nfc():
    name = unicodedata.normalize("NFD", "é")
    kind = declared(*RANKINGS)
    split = split_of(kind, {"id": "q", "pool": ["é", "d"], "answers": [name]})
    for answer in (["d", name], ["d", "é"]):
        run, problems = read(kind, split, lines({"id": "q", "ranking": answer}))
        assert not select_fatal_problems(problems)
        assert [*run.lists] == [(1, 0)]
    assert [*kind.pair(split, run, "corrected", {}).gold] == [(0,)]
    # Both spellings are one candidate, which a run names once.
    for field, both in (("ranking", ["é", name]), ("scores", {"é": 2, name: 1})):
        problems = read(kind, split, lines({"id": "q", field: both}))[1]
        [problem] = select_fatal_problems(problems)
        assert "again at place 2" in str(problem)
    trec = f"q Q0 d 1 2 t\nq Q0 {name} 2 1 t\n"
    assert [*read(kind, split, trec, "run.txt")[0].lists] == [(1, 0)]
    kind = declared(*LABELS)
    split = split_of(kind, {"id": "a", "label": "é"})
    assert read(kind, split, lines({"id": "a", "label": name}))[0] == {"a": "é"}


def test_texts_are_compared_in_nfc_outside_official_rules_from_version_2_on():
    kind = declared(*TEXTS)
    text = unicodedata.normalize("NFD", "Café déjà vu")
    for reading, rules, is_equal in (
        (2, "corrected", True),
        (2, "official", False),
        (1, "corrected", False),
    ):
        split = split_of(
            kind, {"id": "a", "references": ["Café déjà vu"]}, reading=reading
        )
        run, _problems = read(kind, split, lines({"id": "a", "text": text}))
        pairs = kind.pair(split, run, rules, {})
        assert (pairs.answers[0] in pairs.gold[0]) is is_equal


def records(content, name, form, reading=CURRENT_PARSING_RULES_VERSION):
    problems = ProblemList()
    found = [
        one.value
        for one in iterate_table_records(sent(content, name, reading), form, problems)
    ]
    return found, words(problems)


TSV = 'id\ttext\tlabel\nr1\t"open\tyes\nr2\tclosed"\tno\n'


def test_tsv_has_no_quotes_unless_the_task_says_so():
    assert [one["label"] for one in records(TSV, "g.tsv", TableFormat("tsv"))[0]] == [
        "yes",
        "no",
    ]
    assert len(records(TSV, "g.tsv", TableFormat("tsv"), reading=1)[0]) == 1
    found, said = records(TSV, "g.tsv", TableFormat("tsv", quotes=True))
    assert not found
    assert "g.tsv:2: the field “text” has a line break" in said
    gold = 'files = "tsv"\nquotes = true'
    kind = declared(*LABELS, gold=gold)
    split = kind.gold_of([sent('id\tlabel\n"a"\t"yes"\n', "gold.tsv")], {})
    assert (split.instances, split.rows, split.index["instances"]) == (1, 1, ["a"])


def test_the_delimiter_is_the_one_under_which_all_rows_are_equally_long():
    assert records("id;text\na;x, y\nb;z\n", "g.csv", TableFormat())[0][0] == {
        "id": "a",
        "text": "x, y",
    }
    assert records("id\ttext\na\tx;y\n", "g.csv", TableFormat())[0] == [
        {"id": "a", "text": "x;y"}
    ]
    assert records("id|text\na|x\n", "g.csv", TableFormat(delimiter="|"))[0] == [
        {"id": "a", "text": "x"}
    ]
    found, said = records("id,a;b\n1,2;3\n", "g.csv", TableFormat())
    assert not found
    assert "expected the delimiter" in said
    assert records("id,a;b\n1,2;3\n", "g.csv", TableFormat(delimiter=";"))[0] == [
        {"id,a": "1,2", "b": "3"}
    ]


def test_line_ends_of_a_text_in_another_encoding_stay_as_they_are():
    text = 'id,text\r\na,"one\rtwo\r\nthree"\n'
    assert sent(text.encode("utf-16"), "gold.csv").read() == text.encode()


def test_gold_in_another_encoding_is_read_once_somebody_names_it(tmp_path):
    path = tmp_path / "gold.csv"
    path.write_bytes("id,label\nä,yes\n".encode("gb18030"))
    kind = declared(*LABELS, gold='files = "csv"')
    with pytest.raises(InputRefused, match="not UTF-8"):
        kind.gold_of(open_input_files(path), {})
    split = kind.gold_of(open_input_files(path, encoding="GB18030"), {})
    assert split.index["instances"] == ["ä"]


CELLS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"))
TSV_CELLS = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\0\t\r\n")
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=5))
def test_a_csv_file_is_read_back_as_it_was_written(rows):
    form = TableFormat(delimiter=",")
    text = format_table([{"a": a, "b": b} for a, b in rows], ["a", "b"], form)
    read_back = [
        tuple(row.cells)
        for row in iterate_table_rows(sent(text, "t.csv"), form, ProblemList())
    ]
    assert read_back == [("a", "b"), *rows]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TSV_CELLS, TSV_CELLS), min_size=1, max_size=5))
def test_a_tsv_file_is_read_back_as_it_was_written(rows):
    form = TableFormat("tsv")
    text = format_table([{"a": a, "b": b} for a, b in rows], ["a", "b"], form)
    read_back = [
        tuple(row.cells)
        for row in iterate_table_rows(sent(text, "t.tsv"), form, ProblemList())
    ]
    assert read_back == [("a", "b"), *rows]


JSON = st.recursive(
    st.none() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(JSON, max_size=4), st.sampled_from([None, 0, 2]))
def test_a_list_in_any_layout_is_read_item_by_item(values, indent):
    text = json.dumps(values, ensure_ascii=False, indent=indent)
    items = read_json_list(text, is_unique=True)
    assert [item.value for item in items] == values
    assert all(text.split("\n")[item.line - 1].strip() for item in items)


@pytest.mark.parametrize("text", ["[1 2 3]", "[1; 2]", "[1,]", "[1", "[1,", "[1] 2"])
def test_a_list_whose_items_no_comma_parts_or_that_does_not_end_is_refused(text):
    with pytest.raises(json.JSONDecodeError):
        read_json_list(text)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(), JSON, min_size=1, max_size=3), st.booleans())
def test_a_key_is_found_twice_exactly_if_it_is_there_twice(value, is_repeated):
    text = json.dumps(value, ensure_ascii=False)
    if is_repeated:
        key = json.dumps(next(iter(value)), ensure_ascii=False)
        text = f"{text[:-1]}, {key} : 1}}"
        with pytest.raises(JsonKeyRepeated):
            read_json_line(text, is_unique=True)
    else:
        assert read_json_line(text, is_unique=True) == value


def rankings_as_table(run):
    rows = ["id,document,rank"]
    for line in map(json.loads, run.splitlines()):
        ranked = line.get("ranked") or sorted(
            line["scores"], key=line["scores"].get, reverse=True
        )
        rows += (f"{line['id']},{one},{place}" for place, one in enumerate(ranked, 1))
    return "\n".join(rows)


def texts_as_table(run):
    rows = io.StringIO()
    table = csv.writer(rows, delimiter=";")
    table.writerow(["id", "prediction", "labels"])
    for line in map(json.loads, run.splitlines()):
        labels = json.dumps(line["labels"]) if "labels" in line else ""
        table.writerow([line["id"], line["prediction"], labels])
    return rows.getvalue()


@pytest.mark.parametrize(
    ("slug", "as_table"),
    [
        ("citation-recommendation", rankings_as_table),
        ("citation-resolution", rankings_as_table),
        ("citation-text", texts_as_table),
    ],
)
def test_runs_of_built_in_rankings_and_texts_may_be_tables(root, slug, as_table):
    sample = root / "tasks" / "types" / slug.replace("-", "_") / "sample"
    kind = task_type(slug)
    options = kind.validate_options({})
    split = kind.gold_of(open_input_files(sample / "gold"), options)
    run = (sample / "run.jsonl").read_text()
    found = []
    for name, content in (
        ("r.jsonl", run),
        ("r.csv", as_table(run)),
        ("r", as_table(run)),
    ):
        answers, problems = read_run(kind, [sent(content, name)], split.index, options)
        assert not select_fatal_problems(problems), words(problems)
        pairs = kind.pairs_of(split, answers, kind.default_rule_set, options)
        found.append([str(answer) for answer in pairs.answers])
    assert found[0] == found[1] == found[2]
    wrong = words(
        read_run(kind, [sent("id,x\na,b\n", "r.csv")], split.index, options)[1]
    )
    assert "there is no column “" in wrong


BUILT_IN = (
    "citation-recommendation",
    "citation-resolution",
    "citation-text",
    "cited-reports",
    "clsumm-1a",
    "clsumm-1b",
    "clsumm-2",
    "judge-leaderboards",
    "positional-citations",
)


@pytest.mark.parametrize("slug", BUILT_IN)
def test_each_built_in_type_reads_a_packed_list_without_an_ending(slug, root, tmp_path):
    folder = root / "tasks" / "types" / slug.replace("-", "_") / "sample"
    kind = task_type(slug)
    options = kind.validate_options({})
    split = kind.gold_of(open_files_of_all_inputs(folder.glob("gold*")), options)
    lines_of_run = (folder / "run.jsonl").read_text(encoding="utf-8").splitlines()
    packed = tmp_path / "run"
    listed = json.dumps([json.loads(line) for line in lines_of_run], indent=1)
    packed.write_bytes(gzip.compress(listed.encode("utf-16")))
    run, problems = read_run(kind, open_input_files(packed), split.index, options)
    assert not select_fatal_problems(problems)
    before, _ = read_run(
        kind, open_input_files(folder / "run.jsonl"), split.index, options
    )
    pairs = [kind.pairs_of(split, own, CORRECTED, options) for own in (run, before)]
    assert pairs[0].answered == pairs[1].answered
    assert len(pairs[0].answers) == len(pairs[1].answers)
    assert sum(one is not None for one in pairs[0].answers) == sum(
        one is not None for one in pairs[1].answers
    )
