"""What the limits of gold and runs allow is read; one more of anything is refused in words that name the
limit, or looked at no further.
"""

# Tables of cases are read across.
# ruff: noqa: E501

import json

import pytest

from tasks.types import InputRefused, task_types
from tasks.types.clsumm.summaries import compute_word_sequence_checksums
from tasks.types.declared.proposals import propose_declaration
from tasks.types.problems import select_fatal_problems
from tasks.types.runs import read_run
from tests.growth.readers import first_record, gold_files, index_and_options
from tests.tasks.types.corpus import HEADER, answer_line, csv_row
from tests.tasks.types.standing_reading import file, lines

TYPES = task_types()
CITANCE = {
    "topic": "A",
    "citing": "B",
    "marker": "1",
    "sentences": ["1"],
    "facets": ["Method"],
}


def problems_of_run(slug, *files, index=None, **given):
    """Of a split of the sample, or of the given index."""
    known, options = index_and_options(TYPES[slug])
    return read_run(TYPES[slug], files, index or known, {**options, **given})[1]


def refusals(slug, *files, **given):
    return [
        problem.message
        for problem in select_fatal_problems(problems_of_run(slug, *files, **given))
    ]


# CL-Summ.


@pytest.mark.parametrize("form", ["txt", "jsonl"])
@pytest.mark.parametrize(
    ("size", "expected"), [(65_535, []), (65_536, ["more than 65,536 bytes"])]
)
def test_a_summary_has_fewer_than_65_536_bytes_in_either_form(form, size, expected):
    topic = next(iter(index_and_options(TYPES["clsumm-2"])[0]["topics"]))
    text = "œ" + "x" * (size - 2)
    text = text if form == "txt" else lines([{"topic": topic, "summary": text}])
    said = refusals("clsumm-2", file(f"{topic}.system.{form}", text))
    assert [one.removeprefix("a summary of ") for one in said] == expected


@pytest.mark.parametrize(
    ("words", "expected"), [(250, []), (251, ["251 words for {}"])]
)
def test_a_summary_has_250_words_at_most_where_longer_ones_are_refused(words, expected):
    topic = next(iter(index_and_options(TYPES["clsumm-2"])[0]["topics"]))
    own = file(
        "run.jsonl", lines([{"topic": topic, "summary": " ".join(["a"] * words)}])
    )
    assert refusals("clsumm-2", own, over_limit="flag") == []
    assert refusals("clsumm-2", own, over_limit="refuse") == [
        one.format(topic) for one in expected
    ]


@pytest.mark.parametrize(
    ("sentences", "expected"),
    [
        ("12345", []),
        ("123456", ["6 sentences"]),
        ("135", []),
        ("1357", ["4 separate spans"]),
        ("1133", []),
    ],
)
def test_a_citance_has_five_sentences_and_three_spans_at_most_where_more_are_refused(
    sentences, expected
):
    index = {
        "topics": {
            "A": {"citances": [["A", "B", "1", "1"]], "sentences": list("123456789")}
        }
    }
    own = file("run.jsonl", lines([{**CITANCE, "sentences": list(sentences)}]))
    for slug in ("clsumm-1a", "clsumm-1b"):
        assert refusals(slug, own, index=index, over_limit="flag") == []
        assert refusals(slug, own, index=index, over_limit="refuse") == expected


@pytest.mark.parametrize("form", ["jsonl", "csv", "txt"])
@pytest.mark.parametrize("more", [0, 1])
def test_a_run_has_10_000_answers_beyond_ten_for_each_citance_in_all_its_files(
    form, more
):
    index = {"topics": {"A": {"citances": [["A", "B", "1", "1"]], "sentences": ["1"]}}}
    count = 10_009 + more
    content = {
        "jsonl": lines([{**CITANCE, "topic": "B"}]) * count,
        "csv": f"{HEADER}\n" + (csv_row("B", 1, "B", ["1"], "Method") + "\n") * count,
        "txt": answer_line("B", "B", "1", ["1"]) * count,
    }[form]
    own = [file("a.jsonl", lines([CITANCE])), file(f"b.{form}", content)]
    found = select_fatal_problems(problems_of_run("clsumm-1a", *own, index=index))
    message = "the run has more answers than the split has citances, many times over"
    assert [problem.message for problem in found] == [message] * more
    assert [problem.line for problem in found] == [count + (form == "csv")] * more


@pytest.mark.parametrize(
    ("slug", "key"),
    [("clsumm-1a", "sentences"), ("clsumm-1b", "sentences"), ("clsumm-2", "summary")],
)
@pytest.mark.parametrize(("before", "is_taken"), [(99, True), (100, False)])
def test_of_json_lines_a_hundred_are_looked_at_for_one_of_the_task(
    slug, key, before, is_taken
):
    line = {"topic": "A", key: [], "facets": []}
    for name in ("run.jsonl", "run.ndjson", "run.json", "more/Run.JSONL"):
        assert (
            TYPES[slug].accepts([file(name, "{}\n" * before + lines([line]))])
            is is_taken
        ), name


@pytest.mark.parametrize(
    ("size", "is_taken"), [(1 << 20, True), ((1 << 20) + 1, False)]
)
def test_lines_of_more_than_a_mebibyte_are_not_looked_at(size, is_taken):
    line = b'{"sentences": []}'
    assert (
        TYPES["clsumm-1a"].accepts(
            [file("run.jsonl", line + b" " * (size - len(line) - 1) + b"\n")]
        )
        is is_taken
    )


@pytest.mark.parametrize("slug", ["clsumm-1a", "clsumm-1b", "clsumm-2"])
@pytest.mark.parametrize(
    ("files", "are_taken"),
    [
        ({"Task1/A.csv": "Facet"}, {"clsumm-1a": True, "clsumm-1b": True}),
        ({"Task1/A.csv": "none"}, {"clsumm-1a": True}),
        ({"Task1/A.pdf": "Facet"}, {}),
        ({"A.txt": "Citing Article: B | Discourse Facet: C"}, {"clsumm-1a": True, "clsumm-1b": True}),
        ({"A.txt": "\n\nCiting Article: B"}, {"clsumm-1a": True}),
        ({"A.txt": "Facet"}, {}),
        ({"A.md": "Citing Article: B"}, {}),
        ({"Task2/A.txt": "Citing Article: facet"}, {"clsumm-2": True}),
        ({"A.system.txt": "Citing Article: facet"}, {"clsumm-2": True}),
        ({"A.system.pdf": "Citing Article: facet"}, {}),
        ({"Task2.txt": "x"}, {}),
        ({"Task2/run.jsonl": '{"sentences": [], "facets": []}'}, {}),
        ({"Task1/run.jsonl": '{"summary": ""}'}, {}),
        ({"run.json": '{"summary": ""}'}, {"clsumm-2": True}),
        ({"run.json": '{"summary": ""}', "b.md": ""}, {}),
        ({"run.json": '{"sentences": 1}', "b.md": ""}, {}),
        ({"run.jsonl": '{"summary": ""}', "b.md": ""}, {"clsumm-2": True}),
        ({"run.jsonl": "[" * 100_000 + '\nx\n3\n["sentences"]\n{"a": {"sentences": 1}}'}, {}),
        ({"b.md": "", "A.txt": "x", "run.jsonl": '[]\n{"sentences": 1}\n{"facets": 1}'}, {"clsumm-1a": True, "clsumm-1b": True}),
        ({}, {}),
    ],
)  # fmt: skip
def test_a_run_is_taken_for_one_of_a_task_by_its_names_and_by_any_line(
    slug, files, are_taken
):
    own = [file(name, content) for name, content in files.items()]
    assert TYPES[slug].accepts(own) is are_taken.get(slug, False)


@pytest.mark.parametrize(
    ("summary", "is_told"),
    [("a b c d e f g h i j k l", True), ("a b c d e f g h i j k l m n", True), ("a b c d e f g h i j k X", True),
     ("a b c d e f g h X", True), ("a b c d e f g X", False), ("a b c d e f g h i j X Y", False), ("a b c d e", True), ("a b c d", False), ("A-B c. D e!", True), ("x y z a b c d e", False)],
)  # fmt: skip
def test_a_summary_is_told_to_copy_the_abstract_from_four_fifths_of_its_runs_of_five_words(
    summary, is_told
):
    """Of the shorter of the two, in whose runs a line has no end."""
    index = {
        "topics": {
            "A": {
                "abstract": compute_word_sequence_checksums(
                    ["a b c d e f", "g h i j k l"]
                )
            },
            "B": {"abstract": []},
        }
    }
    own = file(
        "run.jsonl", lines([{"topic": topic, "summary": summary} for topic in "AB"])
    )
    said = [
        problem.message for problem in problems_of_run("clsumm-2", own, index=index)
    ]
    assert any("copies the abstract" in message for message in said) is is_told
    assert len(said) == is_told


# Citation texts.


def texts(**changed):
    return file(
        "run.jsonl", lines([{**first_record(TYPES["citation-text"]), **changed}])
    )


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["x" * 100] * 10_000, []),
        (["x" * 101], ["a corwa label of more than 100 characters"]),
        (["x"] * 10_001, ["10,001 corwa labels"]),
        (["x", 1], ["the corwa labels are a list, not all of it texts"]),
        ("x", ["the corwa labels are a text, not all of it texts"]),
    ],
)
def test_a_text_has_10_000_labels_of_100_characters_at_most(labels, expected):
    assert refusals("citation-text", texts(labels={"corwa": labels})) == expected


def test_of_a_kind_of_labels_that_there_is_not_a_hundred_characters_are_told():
    assert refusals("citation-text", texts(labels={"x" * 101: []})) == [
        f"“labels” has “{'x' * 100}”"
    ]


@pytest.mark.parametrize(
    ("length", "expected"),
    [(100_000, []), (100_001, ["“prediction” has 100,001 characters"])],
)
def test_an_answer_has_100_000_characters_at_most(length, expected):
    assert refusals("citation-text", texts(prediction="x" * length)) == expected


@pytest.mark.parametrize("count", [1, 2, 100, 101])
def test_of_more_than_a_hundred_data_sets_all_are_counted_as_one(count):
    kind = TYPES["citation-text"]
    gold = [
        file(f"d{n}.json", json.dumps([{"input": ["a b"], "target": "c"}]))
        for n in range(count)
    ]
    found = kind.statistics(kind.read_gold(gold, kind.validate_options({})))
    assert len(found) == {1: 1, 2: 3, 100: 101, 101: 1}[count]
    assert found[-1]["name"] == ("d0" if count == 1 else None)
    assert found[-1]["inputs"]["instances"] == count


@pytest.mark.parametrize(("words", "is_long"), [(4096, 0), (4097, 1)])
def test_inputs_and_texts_are_long_from_one_word_beyond_what_models_read_and_write(
    words, is_long
):
    kind = TYPES["citation-text"]
    record = {
        "input": ["<abs> a </abs>", " ".join(["b"] * (words - 1))],
        "target": " ".join(["c"] * (words // 4 + is_long)),
    }
    (found,) = kind.statistics(
        kind.read_gold(
            [file("d.json", json.dumps([record]))], kind.validate_options({})
        )
    )
    assert [found["inputs"]["long_inputs"], found["inputs"]["input_words"]] == [
        is_long,
        words,
    ]
    assert [found["gold"]["long_outputs"], found["gold"]["output_words"]] == [
        is_long,
        1024 + is_long,
    ]


# Rankings.


@pytest.mark.parametrize(
    ("grade", "is_read"),
    [
        (0, True),
        (100, True),
        (101, False),
        (-1, False),
        (True, False),
        (1.0, False),
        ("1", False),
    ],
)
def test_a_grade_is_a_whole_number_up_to_a_hundred(grade, is_read):
    kind, content = (
        TYPES["citation-recommendation"],
        {own.name: own.read() for own in gold_files(TYPES["citation-recommendation"])},
    )
    name = next(name for name in content if name.endswith("diagnostic.jsonl"))
    first, *others = content[name].splitlines(keepends=True)
    record = json.loads(first)
    content[name] = lines(
        [{**record, "grades": {record["cited_id"]: grade}}]
    ).encode() + b"".join(others)
    gold = [file(own, text) for own, text in content.items()]
    try:
        found = (
            next(iter(kind.trec.qrels(gold)))[2]
            if kind.read_gold(gold, kind.validate_options({}))
            else None
        )
    except InputRefused as refused:
        found = [problem.message for problem in refused.problems]
    assert found == (grade if is_read else ["“grades” is no object of grades"])


# Proposals.


@pytest.mark.parametrize(
    ("values", "size", "is_told"),
    [(20, 80, True), (21, 84, False), (8, 32, True), (8, 31, False)],
)
def test_a_field_gives_the_answer_away_by_up_to_twenty_values_and_one_for_four_instances(
    values, size, is_told
):
    rows = [
        {
            "id": f"i{n}",
            "text": f"w{n} a b c d",
            # Fewer words would be a class, which is never shown.
            "code": f"c{n % values} a b c d e f g",
            "label": "ab"[n % values % 2],
        }
        for n in range(size)
    ]
    found = propose_declaration("labels", "t", "T", [file("gold.jsonl", lines(rows))])
    assert found.task["gold"]["shown"] == (["text"] if is_told else ["text", "code"])


# What a file that is no run is taken for.


@pytest.mark.parametrize(("count", "is_told"), [(10, True), (11, False)])
def test_a_tenth_of_empty_answers_is_warned_of(count, is_told):
    index = {"datasets": {"d": {f"d-{n}": 1 for n in range(count)}}}
    own = file(
        "run.jsonl",
        lines(
            [{"id": f"d-{n}", "prediction": "x" if n else " "} for n in range(count)]
        ),
    )
    said = [
        problem.message
        for problem in problems_of_run("citation-text", own, index=index)
    ]
    assert ("1 of 10 answers are empty or not allowed" in said) is is_told
    assert len(said) == 1 + is_told


@pytest.mark.parametrize(("count", "is_one"), [(2, False), (3, True)])
def test_three_lines_that_are_none_of_a_run_are_told_as_plain_text(count, is_one):
    said = refusals("citation-text", file("run.jsonl", "Dear all\n" * count))
    assert (said == ["this looks like plain text"]) is is_one
    assert len(said) == (1 if is_one else count)


def test_twenty_files_are_told_as_what_they_are_and_of_more_each_line():
    said = refusals(
        "citation-text", *(file(f"{n:02}.jsonl", "Dear all\n" * 3) for n in range(21))
    )
    assert said[:20] == ["this looks like plain text"] * 20
    assert len(said) == 23


@pytest.mark.parametrize(
    ("name", "content", "other"),
    [
        ("run.jsonl", "x\n" * 99 + '{"output": ""}\n', "positional-citations"),
        ("run.jsonl", "x\n" * 100 + '{"output": ""}\n', ""),
        (
            "run.jsonl",
            "\ufeff{" + '"x": "' + "y" * 5000 + '", "output" : ""}\n',
            "positional-citations",
        ),
        ("run.jsonl", '{"outputs": "output"}\n', ""),
        ("run.txt", " " * 3986 + "Citing Article\n", "clsumm-1a or clsumm-1b"),
        ("run.txt", " " * 3987 + "Citing Article\n", ""),
        ("run.txt", "a b c\n", ""),
        ("run.txt", "a b c 1\n", "citation-recommendation or citation-resolution"),
        ("run.txt", "a b c x 0.5\n", "citation-recommendation or citation-resolution"),
        ("run.txt", "a b c x y 0.5\n", ""),
        ("run.txt", "a b 1 x y z\n", ""),
        ("run.txt", "a b c nan inf z\n", ""),
        (
            "run.txt",
            "a b c 1 e f g\n",
            "citation-recommendation or citation-resolution",
        ),
        ("run.txt", "a b c 1 e f g h\n", ""),
        (
            "run.txt",
            "a" * 993 + " b c 1\n",
            "citation-recommendation or citation-resolution",
        ),
        ("run.txt", "a" * 995 + " b c 1\n", ""),
    ],
)
def test_a_run_of_another_task_is_known_by_a_line_of_the_first_hundred_and_by_a_number_where_ranks_stand(
    name, content, other
):
    said = refusals("citation-text", file(name, content))
    found = [one for one in said if "looks like a run" in one]
    assert found == [
        f"this looks like a run for {other}; is this the right task?"
    ] * bool(other)


@pytest.mark.parametrize(("controls", "is_binary"), [(2, False), (3, True)])
def test_a_text_is_binary_where_more_than_two_in_a_hundred_bytes_are_control_characters(
    controls, is_binary
):
    said = refusals(
        "citation-text",
        file("run.jsonl", b"\1" * controls + b"\x1b\t" + b"x" * (98 - controls)),
    )
    assert ("this is binary data, not a run file" in said) is is_binary


@pytest.mark.parametrize(("words", "field"), [(4, "text"), (3, "id")])
def test_the_text_of_a_pool_is_a_field_of_four_words_on_average(words, field):
    pool = [
        {"id": f"d{n}", "year": "a b", "text": " ".join("abcd"[:words])}
        for n in range(6)
    ]
    rows = [{"id": f"i{n}", "gold": [f"d{n}"]} for n in range(6)]
    found = propose_declaration(
        "ranking",
        "t",
        "T",
        [file("gold.jsonl", lines(rows)), file("pool.jsonl", lines(pool))],
    )
    assert found.task["pool"]["text"] == field
