"""What each form of declared tasks takes as gold and as an answer, and by line what it refuses and expected."""

# Tables of cases are read across.
# ruff: noqa: E501

import json

import pytest

from tasks.types import InputRefused
from tasks.types.files import CURRENT_PARSING_RULES_VERSION, open_input_files
from tasks.types.forms.evidence import (
    EvidenceSetsTask,
    SingleVerdictTask,
    VerdictWithEvidence,
)
from tasks.types.forms.instances import (
    Dimension,
    InstancesAndPool,
    remove_value_at_path,
)
from tasks.types.forms.labels import LabelTask
from tasks.types.forms.numbers import NumberTask
from tasks.types.forms.rankings import RankingTask
from tasks.types.forms.spans import SpanTask
from tasks.types.forms.texts import TextTask

LEFT_OUT = ...
EVIDENCE = {
    "labels": ("YES", "NO"),
    "abstain": "OPEN",
    "field": "gold",
    "pool_file": "pool.jsonl",
}
DOCUMENTS = [
    {"doc_id": "d1", "abstract": ["a", "b", "c"]},
    {"doc_id": "d2", "abstract": ["d"]},
]
CANDIDATES = [{"id": f"d{number}", "text": "t"} for number in range(1, 4)]
RANKED = RankingTask(field="gold", pool_file="pool.jsonl")
SETS, ONE = EvidenceSetsTask(**EVIDENCE), SingleVerdictTask(**EVIDENCE)
YES = {"label": "YES"}


@pytest.fixture
def read(tmp_path):
    """Gold files by their names; those of a run by which its answers are told."""

    def content(rows) -> str:
        return (
            rows
            if isinstance(rows, str)
            else "".join(json.dumps(row) + "\n" for row in rows)
        )

    def gold(form, **files):
        folder = tmp_path / "gold"
        folder.mkdir(exist_ok=True)
        for name, rows in files.items():
            (folder / name.replace("_", ".")).write_text(content(rows))
        return form.read_gold(open_input_files(folder), {})

    def read(form, run=None, **files):
        """The gold or the answers in their order, or what is wrong with either."""
        try:
            split = gold(form, **files)
        except InputRefused as refused:
            return [
                str(problem).removeprefix(f"{tmp_path}/gold/")
                for problem in refused.problems
            ]
        if run is None:
            return [instance.gold for instance in split.content.instances]
        (tmp_path / "run.jsonl").write_text(content(run))
        answers, problems = form.read_run(
            open_input_files(tmp_path / "run.jsonl"), split.index, {}
        )
        return [
            str(problem).removeprefix(f"{tmp_path}/") for problem in problems
        ] or list(answers.values())

    read.gold = gold
    return read


def instances(*values, key="gold", **more):
    """A line for each value, without the key where it is left out."""
    return [
        {"id": f"q{place}", **more, **({} if value is LEFT_OUT else {key: value})}
        for place, value in enumerate(values, start=1)
    ]


def places(told: list[str]) -> list[str]:
    """Each problem without the name of its file."""
    return [line.partition(".jsonl:")[2] or line for line in told]


def numbers(**more):
    return NumberTask(field="gold", answer_field="score", **more)


def test_gold_numbers_are_alone_or_of_several_annotators(read):
    form = {"least": 1, "most": 5, "step": 0.5}
    assert read(
        numbers(**form), gold_jsonl=instances(1, 5, 2.5, [2, 3.5], [1, 1, 5])
    ) == [
        1,
        5,
        2.5,
        2.75,
        pytest.approx(7 / 3),
    ]
    assert read(numbers(**form, reduce="median"), gold_jsonl=instances([1, 1, 5])) == [
        1
    ]
    assert read(numbers(step=2, least=1), gold_jsonl=instances(1, 3, 4)) == [
        "gold.jsonl:3: “gold” is 4; expected a number in steps of 2"
    ]


def test_numbers_that_are_none_or_beyond_an_end_are_refused(read):
    given = instances(LEFT_OUT, 0.5, 5.5, True, "3", [], [1, None], 2.25, {"a": 1})
    assert places(read(numbers(least=1, most=5, step=0.5), gold_jsonl=given)) == [
        "1: “gold” is missing; expected a number",
        "2: “gold” is 0.5; expected a number from 1 to 5",
        "3: “gold” is 5.5; expected a number from 1 to 5",
        "4: “gold” is true or false; expected a number",
        "5: “gold” is a text; expected a number",
        "6: “gold” is empty; expected a number, or a list of numbers",
        "7: “gold” is missing; expected a number",
        "8: “gold” is 2.25; expected a number in steps of 0.5",
        "9: “gold” is an object; expected a number",
    ]
    assert places(read(numbers(least=1), gold_jsonl=instances(0, 3))) == [
        "1: “gold” is 0; expected a number from 1"
    ]
    assert places(read(numbers(most=1), gold_jsonl=instances(0, 3))) == [
        "2: “gold” is 3; expected a number to 1"
    ]
    assert places(read(numbers(step=2), gold_jsonl=instances(0, 3))) == [
        "2: “gold” is 3; expected a number in steps of 2"
    ]


def test_a_run_of_numbers_needs_all_of_them_and_may_say_more_than_the_steps(read):
    form, gold = numbers(least=1, most=5, step=0.5), instances(1, 2)
    assert read(form, instances(2.25, 5, key="score"), gold_jsonl=gold) == [2.25, 5]
    assert places(read(form, instances(5.1, "a", key="score"), gold_jsonl=gold)) == [
        "1: “score” is 5.1; expected a number from 1 to 5",
        "2: “score” is a text; expected a number",
    ]
    assert read(form, instances(1, key="score"), gold_jsonl=gold) == [
        "1 of 2 instances have no answer, the first is “q2”"
    ]
    assert form.form.needs_all


def test_the_levels_of_numbers_are_their_steps_between_two_ends():
    assert numbers(least=1, most=2, step=0.5).levels == (1, 1.5, 2)
    assert [
        numbers(least=1, most=2).levels,
        numbers(most=2, step=1).levels,
        numbers(least=1, step=1).levels,
    ] == [()] * 3
    assert (numbers().example, numbers(least=2).example) == (0.5, 2)


def test_gold_of_a_ranking_is_a_candidate_a_list_of_them_or_grades_from_nought(read):
    given = instances("d1", ["d1", "d2"], {"d1": 0, "d2": 2, "d3": 100}, [], {})
    assert read(RANKED, gold_jsonl=given, pool_jsonl=CANDIDATES) == [
        {"d1": 1}, {"d1": 1, "d2": 1}, {"d1": 0, "d2": 2, "d3": 100}, {}, {},
    ]  # fmt: skip
    expected = 'expected an id, a list of ids, or grades such as {"d3": 2}'
    wrong = instances(
        LEFT_OUT,
        True,
        1.5,
        ["d1", None],
        {"d1": -1},
        {"d1": 101},
        {"d1": "2"},
        {"d1": True},
        {"d1": 1, "d2": -1},
    )
    assert places(read(RANKED, gold_jsonl=wrong, pool_jsonl=CANDIDATES)) == [
        f"1: “gold” is missing; {expected}",
        f"2: “gold” is true or false; {expected}",
        f"3: “gold” is a number; {expected}",
        f"4: “gold” is a list; {expected}",
        *(f"{line}: “gold” is an object; {expected}" for line in range(5, 10)),
    ]


def test_candidates_are_there_once_and_gold_is_among_them(read, tmp_path):
    gold = instances("d1")
    assert read(RANKED, gold_jsonl=gold, pool_jsonl=[]) == [
        "there is no pool.jsonl, or nothing in it; expected candidates"
    ]
    twice = [CANDIDATES[0], CANDIDATES[0], {"text": "x"}]
    assert read(RANKED, gold_jsonl=gold, pool_jsonl=twice) == [
        "pool.jsonl:2: candidate “d1” is there twice; expected an id for each candidate",
        "pool.jsonl:3: “id” is missing; expected an id for each candidate",
    ]
    assert read(
        RANKED, gold_jsonl=instances(["d1", "d8"], "d9"), pool_jsonl=CANDIDATES
    ) == [
        "the gold of instance “q1” is no candidate: “d8”; expected an id of the pool",
        "the gold of instance “q2” is no candidate: “d9”; expected an id of the pool",
    ]
    own = [
        {"id": "a", "gold": "x"},
        {"id": "b", "gold": ["x", "y"], "c": ["y"]},
        {"id": "c", "gold": [], "c": "x"},
    ]
    (tmp_path / "gold" / "pool.jsonl").unlink()
    assert read(RankingTask(field="gold", candidates="c"), gold_jsonl=own) == [
        "instance “a” has no “c”",
        "the gold of instance “a” is no candidate: “x”; expected an id of the pool",
        "the gold of instance “b” is no candidate: “x”; expected an id of the pool",
        "instance “c” has no “c”",
    ]


def test_a_long_name_that_is_no_candidate_is_told_by_its_first_hundred_characters(read):
    assert read(RANKED, gold_jsonl=instances("x" * 101), pool_jsonl=CANDIDATES) == [
        f"the gold of instance “q1” is no candidate: “{'x' * 100}”; expected an id of the pool"
    ]


def test_instances_with_candidates_of_their_own_are_ranked_among_them(read, tmp_path):
    form = RankingTask(field="gold", candidates="c.d")
    split = read.gold(form, gold_jsonl=[
        {"id": "a", "gold": ["1"], "c": {"d": [1, "x", 1]}}, {"id": "b", "gold": {"q": 2, "r": 0}, "c": {"d": ["q", "r"]}},
    ])  # fmt: skip
    assert split.index == {
        "instances": ["a", "b"],
        "pools": [["1", "x"], ["q", "r"]],
        "pool_of": [0, 1],
    }
    (tmp_path / "run.jsonl").write_text('{"id": "a", "ranking": ["x", "1"]}\n')
    run, problems = form.read_run(
        open_input_files(tmp_path / "run.jsonl"), split.index, {}
    )
    assert [str(problem) for problem in problems] == [
        "1 of 2 instances have no answer and score 0, the first is “b”"
    ]
    pairs = form.pair(split, run, "corrected", {})
    assert (pairs.names, pairs.units) == (["a", "b"], ["a", "b"])
    assert pairs.notes == {"missing_answers": 1, "empty_rankings": 0, "tied_scores": 0}
    assert [own and list(own) for own in pairs.answers] == [[1, 0], None]
    first, second = form.show_instances([], split, pairs, {})
    assert (first.gold, first.answer, second.gold, second.answer) == (
        "1",
        "x\n1",
        "q (2)\nr (0)",
        "",
    )


def test_a_pool_is_given_out_in_the_form_that_it_has_with_what_is_shown(read, tmp_path):
    form = RankingTask(field="gold", pool_file="pool.csv", pool_shown=("e",))
    split = read.gold(
        form,
        gold_jsonl=instances("d1"),
        pool_csv='id,text,e,s\nd1,"a, b",1,2\nd2,c,,3\n',
    )
    public = dict(form.public_files(open_input_files(tmp_path / "gold"), {}))
    assert public == {
        "inputs.jsonl": b'{"id": "q1"}\n',
        "pool.csv": b'id,text,e\r\nd1,"a, b",1\r\nd2,c,\r\n',
    }
    assert split.index == {
        "instances": ["q1"],
        "pools": [["d1", "d2"]],
        "pool_of": None,
    }
    records = {
        row["doc_id"]: {**row, "year": 1999, "secret": 1} for row in DOCUMENTS[1:]
    }
    pool = EvidenceSetsTask(
        **EVIDENCE, pool_shown=("year", "none")
    ).iterate_public_pool_file(InstancesAndPool((), records))
    assert list(pool) == [
        ("pool.jsonl", b'{"doc_id": "d2", "abstract": ["d"], "year": 1999}\n')
    ]


@pytest.mark.parametrize(
    ("reading", "shown"), [(1, b'"""a"" b"'), (CURRENT_PARSING_RULES_VERSION, b'"a" b')]
)
def test_quotes_in_a_pool_of_tsv_are_given_out_by_the_version_of_reading(
    reading, shown
):
    form = RankingTask(field="gold", pool_file="pool.tsv", pool_shown=("e",))
    records = {"d1": {"id": "d1", "text": "t", "e": '"a" b'}}
    [(name, content)] = form.iterate_public_pool_file(
        InstancesAndPool((), records, reading)
    )
    assert (name, content.split(b"\t")[-1].strip()) == ("pool.tsv", shown)


@pytest.mark.parametrize("files", [1, 2])
def test_a_file_is_named_for_ids_equal_in_nfc_if_it_is_the_only_one(tmp_path, files):
    rows = [f'{{"id": "{name}", "gold": 1}}\n' for name in ("\u00e9", "e\u0301")]
    (tmp_path / "gold.jsonl").write_text("".join(rows))
    if files == 2:
        (tmp_path / "pool.jsonl").write_text('{"id": "d", "text": "t"}\n')
    with pytest.raises(InputRefused, match="equal in NFC") as refused:
        numbers().content(open_input_files(tmp_path), with_gold=True)
    [problem] = [one for one in refused.value.problems if "NFC" in one.message]
    assert problem.file == (f"{tmp_path}/gold.jsonl" if files == 1 else "")


def test_nothing_is_given_out_of_gold_that_cannot_be_read(tmp_path):
    (tmp_path / "gold.jsonl").write_text('{"id": "a", "gold": 1}\n{"id": "b"}\n')
    with pytest.raises(InputRefused, match="“gold” is missing"):
        list(numbers().public_files(open_input_files(tmp_path), {}))


def test_gold_evidence_is_sets_of_sentences_of_each_document_under_one_label(read):
    given = {
        "d1": [{"sentences": [0, 2], **YES}, {"sentences": [1], **YES}],
        "d2": [{"sentences": [0], "label": "NO"}],
    }
    assert read(SETS, gold_jsonl=instances(given, {}), pool_jsonl=DOCUMENTS) == [
        {"d1": ("YES", (frozenset({0, 2}), frozenset({1}))), "d2": ("NO", (frozenset({0}),))}, {},
    ]  # fmt: skip
    of_one = [
        LEFT_OUT, [], *({"d1": own} for own in (
            [], {"sentences": [0], **YES}, [{"sentences": [0], **YES}, 3], [{"sentences": [0], "label": "OPEN"}],
            [{"sentences": [0]}], [{"sentences": "0", **YES}], [{"sentences": [0.5], **YES}], [{"sentences": [-1], **YES}],
            [{"sentences": [0], **YES}, {"sentences": [1], "label": "NO"}],
            [{"sentences": [0, 1], **YES}, {"sentences": [1], **YES}], [{"sentences": [], **YES}, {"sentences": [1], **YES}],
        )),
    ]  # fmt: skip
    no_list = 'document “d1” has no list of evidence sets; expected [{"sentences": [0], "label": …}]'
    two_sets = "a sentence of “d1” is in two sets, or a set is empty; expected each sentence in one set"
    whole = "“sentences” of “d1” is no list of whole numbers; expected such as [0, 2]"
    assert places(read(SETS, gold_jsonl=instances(*of_one), pool_jsonl=DOCUMENTS)) == [
        "1: “gold” is missing; expected an object of documents",
        "2: “gold” is a list; expected an object of documents",
        *(f"{line}: {no_list}" for line in (3, 4, 5)),
        "6: “OPEN” is no label; expected one of YES, NO",
        "7: “label” is missing; expected one of YES, NO",
        f"8: {whole}",
        f"9: {whole}",
        "10: document “d1” has no sentence -1; expected from 0",
        "11: the sets of document “d1” have several labels; expected one for each document",
        f"12: {two_sets}",
        f"13: {two_sets}",
    ]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ({"gold": {"d1": {"sentences": [2], **YES}, "d2": {"sentences": [0], "label": "OPEN"}}}, [{"d1": ("YES", (2,))}]),
        ({}, ['1: “gold” is missing; found “id”; expected {"id": "s1", "gold": {"12": {"sentences": [0], "label": "YES"}}}']),
        ({"gold": {"d1": {"sentences": [3], **YES}}}, ["1: document “d1” has no sentence 3; expected from 0 to 2"]),
        ({"gold": {"d2": {"sentences": [1], **YES}}}, ["1: document “d2” has no sentence 1; expected from 0 to 0"]),
        (
            {"gold": {"d1": {"sentences": [0]}, "d2": [1], "d3": {"sentences": [0], "label": 7}}},
            [
                "1: “label” is missing; found “id”, “gold”; expected one of YES, NO, OPEN",
                '1: document “d2” is a list; expected {"id": "s1", "gold": {"12": {"sentences": [0], "label": "YES"}}}',
                "1: “label” is a number; expected one of YES, NO, OPEN",
                "1: document “d3” is not in the pool; expected the id of a document",
            ],
        ),
    ],
)  # fmt: skip
def test_answers_of_evidence_by_document(read, answer, found):
    gold = instances({"d1": [{"sentences": [0], **YES}]})
    told = read(SETS, [{"id": "q1", **answer}], gold_jsonl=gold, pool_jsonl=DOCUMENTS)
    assert (places(told) if isinstance(told[0], str) else told) == found


def test_evidence_of_one_label_is_told_with_what_was_expected(read):
    gold = [
        {"id": "a", **YES},
        {"id": "b", **YES, "gold": [["d1:0"], []]},
        {"id": "c", "label": "OPEN"},
        {"id": "d", "gold": []},
    ]
    assert places(read(ONE, gold_jsonl=gold, pool_jsonl=DOCUMENTS)) == [
        "1: “gold” is empty; expected a set of sentences, unless the label is OPEN",
        '2: “gold” is no list of evidence sets; expected [["d1:0", "d1:2"]]',
        "4: “label” is missing; expected one of YES, NO, OPEN",
    ]
    needs = SingleVerdictTask(**{**EVIDENCE, "abstain": ""})
    assert places(
        read(needs, gold_jsonl=[{"id": "a", **YES}], pool_jsonl=DOCUMENTS)
    ) == [
        "1: “gold” is empty; expected a set of sentences, unless the label is another"
    ]
    gold = [{"id": "q1", **YES, "gold": [["d1:0", "d1:2"]]}]
    given = [{"id": "q1", **YES, "gold": ["d1:3", "d2:0000000000", "d1:"]}]
    assert places(read(ONE, given, gold_jsonl=gold, pool_jsonl=DOCUMENTS)) == [
        "1: document “d1” has no sentence 3; expected from 0 to 2",
        "1: “sentences” of “d2” is no list of whole numbers; expected such as [0, 2]",
        "1: “sentences” of “d1” is no list of whole numbers; expected such as [0, 2]",
    ]


def test_what_pages_print_of_gold_and_answers():
    sets, flat = (frozenset({2, 0}), frozenset({1})), (2, 0)
    assert SETS.format_gold({"d1": ("YES", sets)}) == "d1: YES [[0, 2], [1]]"
    assert (
        SETS.format_answer({"d1": ("YES", flat), "d2": ("NO", ())})
        == "d1: YES [2, 0]\nd2: NO []"
    )
    assert (
        ONE.format_gold(VerdictWithEvidence("YES", (frozenset({"b:1", "a:0"}),)))
        == "YES\na:0, b:1"
    )
    assert (
        ONE.format_answer(VerdictWithEvidence("YES", ("b:1", "a:0"))) == "YES\nb:1\na:0"
    )
    assert SpanTask(field="gold").format_gold([(0, 3, ""), (4, 5, "A")]) == "0-3\n4-5 A"
    assert LabelTask(labels=("a", "b"), several=True).format_gold(("a", "b")) == "a, b"


def spans(**more):
    return SpanTask(field="gold", **more)


def test_spans_are_sorted_within_the_text_and_side_by_side(read):
    text = {"text": "0123456789"}
    labelled = spans(labels=("A", "B"))
    assert read(labelled, gold_jsonl=instances([[4, 9, "A"], [0, 4, "B"]], [], [[0, 10, "A"]], **text)) == [
        ((0, 4, "B"), (4, 9, "A")), (), ((0, 10, "A"),),
    ]  # fmt: skip
    no_span = "span 1 of “gold” is no span; expected a list of [start, end, label]"
    wrong = instances(
        LEFT_OUT, {}, [[0, 1]], [[0, 1, "A", "B"]], ["A"], [[0, 1.5, "A"]], [[True, 2, "A"]],
        [[-1, 2, "A"]], [[2, 2, "A"]], [[0, 11, "A"]], [[0, 1, "A"], [0, 1, "C"]], [[0, 1, "A"], [0, 1, "A"]],
        [[2, 4, "B"], [0, 3, "A"]], **text,
    )  # fmt: skip
    ends = "expected a start before the end, from 0 to 10, where the text ends"
    assert places(
        read(
            labelled,
            gold_jsonl=[
                *wrong,
                {"id": "x", "gold": []},
                {"id": "y", "text": 3, "gold": []},
            ],
        )
    ) == [
        "1: “gold” is missing; expected a list of [start, end, label]",
        "2: “gold” is an object; expected a list of [start, end, label]",
        *(f"{line}: {no_span}" for line in range(3, 8)),
        f"8: span 1 of “gold” goes from -1 to 2; {ends}",
        f"9: span 1 of “gold” goes from 2 to 2; {ends}",
        f"10: span 1 of “gold” goes from 0 to 11; {ends}",
        "11: span 2 of “gold” has no label of these: “C” is no label; expected one of A, B",
        "12: “gold” has the span 0 to 1 twice; expected each span once",
        "13: spans 0 to 3 and 2 to 4 of “gold” overlap; expected spans side by side",
        "14: “text” is missing; expected a text",
        "15: “text” is a number; expected a text",
    ]
    assert read(spans(), gold_jsonl=instances([[0, 3], [3, 4]], **text)) == [
        ((0, 3, ""), (3, 4, ""))
    ]
    assert read(
        spans(overlap=True), gold_jsonl=instances([[0, 3], [2, 4]], **text)
    ) == [((0, 3, ""), (2, 4, ""))]
    assert places(read(spans(), gold_jsonl=instances([[0, 3, "A"]], **text))) == [
        "1: span 1 of “gold” is no span; expected a list of [start, end]"
    ]
    beyond = read(labelled, instances([[0, 11, "A"]]), gold_jsonl=instances([], **text))
    assert places(beyond) == [f"1: span 1 of “gold” goes from 0 to 11; {ends}"]
    elsewhere = [{"id": "q9", "gold": []}, {"gold": [[0, 1, "A"]]}]
    assert places(read(labelled, elsewhere, gold_jsonl=instances([], **text))) == [
        "1: instance “q9” is not in this split; expected an id of the split, such as “q1”",
        '2: “id” is missing; found “gold”; expected {"id": "s1", "gold": [[4, 9, "A"]]}',
    ]
    assert (spans().example, labelled.example) == ([[4, 9]], [[4, 9, "A"]])


def test_texts_have_references_and_a_length(read):
    form = TextTask(field="gold", longest=5)
    assert read(form, gold_jsonl=instances("x", ["x", "y"], "")) == [
        ("x",),
        ("x", "y"),
        ("",),
    ]
    assert places(read(form, gold_jsonl=instances(LEFT_OUT, [], ["x", 1], 3))) == [
        f"{line}: “gold” is {found}; expected a text or a list of texts"
        for line, found in enumerate(
            ("missing", "empty", "a list", "a number"), start=1
        )
    ]
    gold = instances("x", "x", "x")
    assert read(form, instances("12345", "", "a", key="text"), gold_jsonl=gold) == [
        "12345",
        "",
        "a",
    ]
    assert places(
        read(form, instances("123456", LEFT_OUT, ["x"], key="text"), gold_jsonl=gold)
    ) == [
        "1: “text” has 6 characters; expected at most 5",
        '2: “text” is missing; found “id”; expected {"id": "s1", "text": "A text."}',
        "3: “text” is a list; expected a text",
    ]


def labels(*names, **more):
    return LabelTask(labels=names or ("a", "b"), field="gold", **more)


def test_gold_labels_are_one_several_or_any(read):
    assert read(labels(), gold_jsonl=instances("a", "b")) == ["a", "b"]
    assert read(labels("1", "2"), gold_jsonl=instances(1, "2")) == ["1", "2"]
    assert read(labels(several=True), gold_jsonl=instances(["b", "a"], [], "a")) == [
        ("a", "b"),
        (),
        ("a",),
    ]
    assert read(labels(any_of=True), gold_jsonl=instances(["b", "a"], "a")) == [
        ("b", "a"),
        ("a",),
    ]
    assert places(read(labels(), gold_jsonl=instances(LEFT_OUT, "c", True, ["a"], 1.5, "x" * 200))) == [
        f"{line}: {found}; expected one of a, b"
        for line, found in enumerate(
            ("“gold” is missing", "“c” is no label", "“gold” is true or false", "“gold” is a list", "“gold” is a number", f"“{'x' * 100}” is no label"),
            start=1,
        )
    ]  # fmt: skip
    assert places(
        read(
            labels(several=True),
            gold_jsonl=instances(["a", "a"], ["c"], {"a": 1}, [True], 3),
        )
    ) == [
        "1: “gold” names a twice; expected each label once",
        "2: “c” is no label; expected one of a, b",
        "3: “gold” is an object; expected a list of labels, each one of a, b",
        "4: “gold” holds true or false; expected one of a, b",
        "5: “gold” is a number; expected a list of labels, each one of a, b",
    ]
    assert places(read(labels(any_of=True), gold_jsonl=instances([]))) == [
        "1: “gold” is empty; expected a list of labels, each one of a, b"
    ]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"gold": "a", "confidence": 1}, None),
        ({"gold": "?", "confidence": 0}, None),
        (
            {"gold": "a"},
            "“confidence” is missing; found “id”, “gold”; expected a number from 0 to 1",
        ),
        (
            {"gold": "a", "confidence": 1.01},
            "“confidence” is 1.01; expected a number from 0 to 1",
        ),
        (
            {"gold": "a", "confidence": -0.5},
            "“confidence” is -0.5; expected a number from 0 to 1",
        ),
        (
            {"gold": "a", "confidence": True},
            "“confidence” is true or false; expected a number from 0 to 1",
        ),
        (
            {"gold": "a", "confidence": "x"},
            "“confidence” is a text; expected a number from 0 to 1",
        ),
        (
            {"confidence": 0.5},
            "“gold” is missing; found “id”, “confidence”; expected one of a, b, ?",
        ),
        ({"gold": None, "confidence": 0.5}, "“gold” is null; expected one of a, b, ?"),
    ],
)
def test_a_confidence_that_is_needed_is_from_0_to_1(read, given, found):
    form = labels(abstain="?", confidence="needed", probabilities="none")
    told = read(form, [{"id": "q1", **given}], gold_jsonl=instances("a"))
    if found is None:
        assert [(answer, answer.confidence) for answer in told] == [
            (given["gold"], given["confidence"])
        ]
    else:
        assert places(told) == [f"1: {found}"]


def test_probabilities_that_are_needed_are_there_and_a_confidence_may_be_unstated(read):
    form, gold = labels(confidence="optional", probabilities="needed"), instances("a")
    both = {"probabilities": {"a": 0.6, "b": 0.4}}
    assert places(read(form, instances("a"), gold_jsonl=gold)) == [
        "1: “probabilities” is missing; found “id”, “gold”; expected a probability for each label"
    ]
    for more, confidence in (({}, 0.5), ({"confidence": 0.25}, 0.25)):
        [answer] = read(form, instances("a", **both, **more), gold_jsonl=gold)
        assert (answer, answer.probabilities, answer.confidence) == (
            "a",
            both["probabilities"],
            confidence,
        )


@pytest.mark.parametrize(
    ("dimension", "values", "classes"),
    [
        ({}, ["x", ["b", "a", "b"], {"k": 1}, 3, LEFT_OUT, "", []], [("x",), ("b", "a"), ('{"k": 1}',), ("3",), (), (), ()]),
        ({"absent": "none"}, ["x", LEFT_OUT, "", []], [("x",), ("none",), ("none",), ("none",)]),
        ({"reading": "words"}, ["x y", 3], [("2",), ("1",)]),
        ({"reading": "characters"}, ["x y", 3], [("3",), ("1",)]),
        ({"reading": "count"}, ["x y", ["b", "a", "b"], {"k": 1, "l": 2}, 3], [("1",), ("3",), ("2",), ("1",)]),
        ({"reading": "count", "cuts": (2, 3)}, ["x", [1, 2], [1, 2, 3]], [("under 2",), ("2 to under 3",), ("3 or more",)]),
        (
            {"cuts": (1, 2.5)},
            [0.5, 1, 2, 2.5, 3, "x"],
            [("under 1",), ("1 to under 2.5",), ("1 to under 2.5",), ("2.5 or more",), ("2.5 or more",), ("x",)],
        ),
        ({"reading": "year"}, ["2020-01-02", 1999], [("2020",), ("1999",)]),
        (
            {"reading": "before:2020-01-01"},
            ["2019", 2020, "2019-12", "2020-01", "2019-12-31", "2020-01-01"],
            [("before 2020-01-01",) if early else ("2020-01-01 or later",) for early in (1, 0, 1, 0, 1, 0)],
        ),
    ],
)  # fmt: skip
def test_instances_are_parted_into_classes(dimension, values, classes):
    assert (
        Dimension(name="d", field="gold", **dimension).features(instances(*values))
        == classes
    )


def test_a_class_of_one_count_has_the_count_as_its_name_on_pages():
    counts = Dimension(name="c", field="c", reading="count", cuts=(2, 3, 5))
    grades = Dimension(name="g", field="g", cuts=(2, 3, 4, 4.5, 5.5))
    words = Dimension(name="w", field="w", reading="words", cuts=(3, 4))

    def names(*dimensions) -> dict[str, str]:
        return dict(
            LabelTask(field="gold", labels=("a",), dimensions=dimensions).class_names
        )

    assert names(counts) == {"2 to under 3": "2"}
    assert names(grades) == {}
    assert names(counts, words, grades) == {}
    assert names(counts, words) == {"2 to under 3": "2", "3 to under 4": "3"}


def test_what_is_joined_belongs_to_every_class_besides_its_own():
    dimension = Dimension(
        name="d", field="f", absent="none", joined={"x": "1", "y.z": "2"}
    )
    both = {"x": 1, "y": {"z": 2}}
    records = [
        {"f": "b"},
        {"f": "a"},
        {"f": "c", **both},
        {"f": "b", "x": 1, "y": {"z": 3}},
        both,
        {},
    ]
    own = [("b",), ("a",), ("a", "b", "c"), ("b",), ("a", "b", "c", "none"), ("none",)]
    assert dimension.features(records) == own


def test_what_is_hidden_is_taken_out_at_its_path():
    assert remove_value_at_path({"a": {"b": 1, "c": 2}, "d": 4}, "a.b") == {
        "a": {"c": 2},
        "d": 4,
    }
    assert remove_value_at_path({"a": {"b": 1}, "a.b": 3}, "a.b") == {"a": {"b": 1}}
    assert remove_value_at_path({"a": [1]}, "a.b") == {"a": [1]}


def texts(**more):
    return TextTask(field="gold", **more)


def test_instances_have_an_id_a_unit_and_the_fields_that_are_shown(read):
    row = {"id": "a", "gold": "x"}
    assert read(
        texts(unit="u"), gold_jsonl=[{**row, "u": 1}, {**row, "id": 2, "u": "w"}]
    ) == [("x",), ("x",)]
    units = [
        row,
        *(
            {**row, "id": own, "u": value}
            for own, value in (("b", [1]), ("c", True), ("d", {}))
        ),
    ]
    assert places(read(texts(unit="u"), gold_jsonl=units)) == [
        f"{line}: “u” is {found}; expected a text"
        for line, found in enumerate(
            ("missing", "a list", "true or false", "an object"), start=1
        )
    ]
    assert places(
        read(texts(), gold_jsonl=[row, row, {"gold": "x"}, {"id": "", "gold": 3}])
    ) == [
        "2: instance “a” is there twice; expected an id for each instance",
        "3: “id” is missing; expected a text or a whole number",
        "4: “id” is missing; expected a text or a whole number",
        "4: “gold” is a number; expected a text or a list of texts",
    ]
    assert read(texts(shown=("t", "v")), gold_jsonl=[{**row, "t": 1}]) == [
        "no instance has the field “v”, which is shown"
    ]
    # Where something else is wrong already, that is told alone.
    assert places(read(texts(shown=("t",)), gold_jsonl=[row, {"gold": "x"}])) == [
        "2: “id” is missing; expected a text or a whole number"
    ]
    assert read(texts(), gold_jsonl="") == [
        "no instances are here; expected JSON lines"
    ]


def test_tables_and_qrels_are_read_by_line(read):
    table = texts(files="csv", id="n")
    assert read(table, g_csv="n,gold\na,x\nb,\n,z\nc,1,2\n\nd\n") == [
        "g.csv:3: “gold” is missing; expected a text or a list of texts",
        "g.csv:4: “n” is missing; expected a text or a whole number",
        *(f"g.csv:{line}: {cells} cells under 2 columns; expected a cell for each column, parted by comma" for line, cells in ((5, 3), (7, 1))),
    ]  # fmt: skip
    assert read(table, g_csv="n,gold,n\na,x,b\n") == [
        "g.csv:1: the column “n” is there twice; expected a name for each column"
    ]
    assert read(table, g_csv="") == ["no instances are here; expected a table"]
    assert read(texts(files="tsv"), g_tsv='id\tgold\na\tx, y\nb\t"q"\n') == [
        ("x, y",),
        ('"q"',),
    ]
    assert read(texts(files="csv", delimiter=";"), g_csv="id;gold\na;x\n") == [("x",)]


def test_a_candidate_with_grade_0_is_judged_and_not_relevant(read, tmp_path):
    split = read.gold(
        RANKED,
        gold_jsonl=[{"id": "q", "gold": {"a": 0, "b": 1}}],
        pool_jsonl=[{"id": name, "text": name} for name in "abc"],
    )
    path = tmp_path / "run.jsonl"
    path.write_text(json.dumps({"id": "q", "ranking": ["a", "b"]}) + "\n")
    answers, problems = RANKED.read_run(open_input_files(path), split.index, {})
    assert problems == []
    gold = RANKED.pair(split, answers, "corrected", {}).gold
    assert (list(map(list, gold)), list(map(list, gold.judged))) == ([[1]], [[0, 1]])


def test_qrels_are_grades_by_topic(read):
    form = RankingTask(field="gold", pool_file="pool.jsonl", files="trec")
    good = "q1 0 d1 1\nq1 0 d2 -1\n\nq2 0 d3 2\n"
    assert read(form, g_qrels=good, pool_jsonl=CANDIDATES) == [
        {"d1": 1, "d2": 0},
        {"d3": 2},
    ]
    wrong = read(
        form,
        g_qrels="q1 0 d1\nq1 0 d1 x\nq1 0 d1 1.5\nq1 0 d1 1 2\n",
        pool_jsonl=CANDIDATES,
    )
    assert wrong == [
        f"g.qrels:{line}: no line of qrels; expected topic 0 document grade"
        for line in (1, 2, 3, 4)
    ]
    assert read(form, g_qrels="", pool_jsonl=CANDIDATES) == [
        "no instances are here; expected a file of qrels"
    ]


def test_gold_is_told_from_other_files_by_its_name():
    assert texts().is_gold_file("a/g.jsonl")
    assert not texts().is_gold_file("__MACOSX/g.jsonl")
    assert not texts().is_gold_file("g.csv")
    pooled = texts(pool_file="p.jsonl")
    assert (
        pooled.is_gold_file("a/p.jsonl"),
        pooled.is_instances_file("a/p.jsonl"),
    ) == (True, False)
    assert texts(files="csv").is_gold_file("G.CSV")
    assert (
        texts(files="trec").is_gold_file("g.qrels"),
        texts(files="trec").is_gold_file("g.csv"),
    ) == (
        True,
        False,
    )


def test_participants_see_what_is_shown_and_a_run_is_paired_by_instance(read, tmp_path):
    form = texts(
        shown=("t", "m"),
        hidden=("m.s",),
        unit="u",
        dimensions=(Dimension(name="d", field="t"),),
    )
    rows = [
        {"id": "b", "gold": "x", "t": "A", "m": {"s": 1, "r": 2}, "u": 5, "z": 1},
        {"id": 7, "gold": "y", "u": 6},
    ]
    split = read.gold(form, gold_jsonl=rows)
    folder = open_input_files(tmp_path / "gold")
    assert dict(form.public_files(folder, {})) == {
        "inputs.jsonl": b'{"id": "b", "t": "A", "m": {"r": 2}}\n{"id": 7}\n'
    }
    assert (split.instances, split.index) == (2, {"instances": ["b", "7"]})
    assert list(form.contents(folder, split)) == [
        ({"t": "A", "m": {"r": 2}}, "x"),
        ({}, "y"),
    ]
    pairs = form.pair(split, {"b": "hm"}, "corrected", {})
    assert (pairs.gold, pairs.answers) == ([("x",), ("y",)], ["hm", None])
    assert (pairs.units, pairs.names) == (["5", "6"], ["b", "7"])
    assert (pairs.features, pairs.notes) == (
        {"d": [("A",), ()]},
        {"missing_answers": 1},
    )
    shown = [
        (own.name, own.given, own.gold, own.answer)
        for own in form.show_instances(folder, split, pairs, {})
    ]
    assert shown == [("b", 't: A\nm: {"r": 2}', "x", "hm"), ("7", "", "y", "")]
    leaving_out = texts(missing={"corrected": "left-out"})
    assert leaving_out.pair(split, {"b": "k"}, "corrected", {}).gold == [("x",), None]
    assert leaving_out.pair(split, {"b": "k"}, "other", {}).gold == [("x",), ("y",)]


def test_of_public_files_the_inputs_alone_are_read_and_gold_stands_for_them(
    read, tmp_path
):
    (tmp_path / "inputs.jsonl").write_text('{"id": "b", "t": "A"}\n')
    (tmp_path / "other.jsonl").write_text('{"id": "z"}\n')
    assert texts(files="csv").read_inputs(open_input_files(tmp_path), {}) == {
        "instances": ["b"]
    }
    (tmp_path / "inputs.jsonl").unlink()
    assert texts().read_inputs(open_input_files(tmp_path), {}) == {"instances": ["z"]}
