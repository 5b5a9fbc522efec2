"""What is read a quicker way is read that way, and as the slow one reads it; bounds hold where they stand."""

import io
import json
import sys
import zipfile

import numpy as np
import pytest

from tasks.types import task_type, task_types
from tasks.types.base import (
    MAX_STORED_CANDIDATES,
    MAX_STORED_INSTANCES,
    group_row_numbers_by_instance,
)
from tasks.types.citation_recommendation import collection
from tasks.types.clsumm.annotation import (
    AnnotationUnreadable,
    _refuse_windows_1252_quotes,
)
from tasks.types.clsumm.runs import MAX_BYTES_SEARCHED, _RunContentProbe
from tasks.types.clsumm.topics import split_path_into_topic_and_subfolder
from tasks.types.columns import ClassColumn
from tasks.types.declared.folder import read_declaration
from tasks.types.files import count_files_in_zip_directory
from tasks.types.positional_citations.sentences import parse_mark_number
from tasks.types.problems import MAX_PROBLEM_CHARACTERS, Problem, ProblemList
from tasks.types.ranking.lists import (
    InstanceAndCandidateLookup,
    ListColumn,
    build_ranking_index,
)
from tasks.types.ranking.runs import (
    RankingCollector,
    RankingReadingSettings,
    read_json_run,
    read_json_run_in_blocks,
    read_ranked_run,
)
from tests.growth.readers import gold_files
from tests.scoring.standing_numbers import said
from tests.tasks.types.standing_reading import file, lines

POOL = [f"W{number}" for number in range(4)]
ROWS = [
    {"id": "a", "ranked": ["W1", "W0"]},
    {"id": "c", "ranked": []},
    {"id": "b", "ranked": ["W2", "W3", "W0", "W1"]},
]
#: Lines with the same keys in another order.
IN_ANY_ORDER = [
    {"id": "a", "ranked": ["W1", "W0"], "more": ["W2"]},
    {"id": "b", "more": ["W2"], "ranked": ["W1", "W0"]},
]
NUMBERS = """[task]
slug = "t"
title = "T"
form = "numbers"
[task.gold]
field = "g"
[[task.rules]]
name = "corrected"
measures = ["mae"]
"""
INDEX = build_ranking_index(["a", "b", "c", "d"], [POOL])


def content(gathering: RankingCollector):
    run = gathering.run()
    return [
        list(run.lists),
        run.lists.tied,
        run.ties,
        run.missing,
        run.scores,
        bytes(gathering._answered),
    ]


@pytest.mark.parametrize(
    ("longest", "kept"), [(None, None), (4, None), (4, 4), (4, 2), (None, 1)]
)
@pytest.mark.parametrize("rows", [ROWS, ROWS[:1], ROWS * 0, IN_ANY_ORDER])
def test_plain_rankings_are_read_by_blocks_and_as_line_by_line(longest, kept, rows):
    limits, choices = (
        RankingReadingSettings(longest=longest, kept=kept),
        InstanceAndCandidateLookup(INDEX),
    )
    plain = read_json_run_in_blocks(file("run.jsonl", lines(rows)), choices, limits)
    slow = RankingCollector(choices)
    read_json_run(file("run.jsonl", lines(rows)), slow, limits, ProblemList())
    assert plain is not None
    assert content(plain) == content(slow)


@pytest.mark.parametrize(
    "row",
    [
        {"id": "d", "ranked": ["W0"], "scores": [1]},
        {"id": "a", "ranked": ["W0"]},
        {"id": "z", "ranked": ["W0"]},
        {"id": 1, "ranked": ["W0"]},
        {"id": "", "ranked": ["W0"]},
        {"id": "d", "ranked": "W0"},
        {"id": "d", "ranked": ["W0", "W0"]},
        {"id": "d", "ranked": ["X"]},
        {"id": "d", "ranked": [0]},
        {"id": "d", "ranked": [["W0"]]},
        {"id": "d"},
        "x",
    ],
)
def test_a_line_of_which_something_is_to_be_said_is_read_line_by_line(row):
    assert (
        read_json_run_in_blocks(
            file("run.jsonl", lines([*ROWS, row])),
            InstanceAndCandidateLookup(INDEX),
            RankingReadingSettings(),
        )
        is None
    )


def test_an_object_on_two_lines_is_refused_in_a_run_that_is_read_by_blocks():
    text = lines(ROWS) + '{"id": "d",\n"ranked": ["W0"]}\n'
    _, problems = read_ranked_run([file("run", text)], INDEX, RankingReadingSettings())
    assert [problem.line for problem in problems if problem.fatal] == [4, 5]


def test_rankings_of_several_pools_that_declare_or_are_too_long_are_read_line_by_line():
    own, apart = (
        file("run.jsonl", lines(ROWS)),
        build_ranking_index(["a", "b", "c"], [POOL, POOL], [0, 1, 0]),
    )
    assert (
        read_json_run_in_blocks(
            own, InstanceAndCandidateLookup(apart), RankingReadingSettings()
        )
        is None
    )
    assert (
        read_json_run_in_blocks(
            own,
            InstanceAndCandidateLookup(INDEX),
            RankingReadingSettings(declares=True),
        )
        is None
    )
    assert (
        read_json_run_in_blocks(
            own, InstanceAndCandidateLookup(INDEX), RankingReadingSettings(longest=3)
        )
        is None
    )


def test_two_plain_files_are_one_run():
    files = [file("1.jsonl", lines(ROWS[:1])), file("2.jsonl", lines(ROWS[1:]))]
    whole, problems = read_ranked_run(files, INDEX, RankingReadingSettings())
    assert list(whole.lists) == [(1, 0), (2, 3, 0, 1), (), None]
    assert said(problems) == [
        "1 of 4 instances have no answer and score 0, the first is “d” (a doubt)"
    ]


@pytest.mark.parametrize("content", ["", "\n \n", "\ufeff"])
def test_a_file_without_lines_ranks_nothing(content):
    run, problems = read_ranked_run(
        [file("run", content)], INDEX, RankingReadingSettings()
    )
    assert (run.missing, problems) == (4, [])


def test_gold_in_which_nothing_is_odd_is_read_by_blocks(monkeypatch):
    kind = task_types()["citation-recommendation"]
    plain = []
    for own in gold_files(kind):
        records = [json.loads(line) for line in own.read().splitlines()]
        for record in records:
            record.pop("grades", None)
            record.pop(collection.SAMPLED_DIMENSIONS_FIELD, None)
        plain.append(file(own.name, lines(records)))
    by_line = _by_line(kind, plain, monkeypatch)
    monkeypatch.setattr(collection._RecommendationContextsReader, "read", None)
    assert kind.read_gold(plain, kind.validate_options({})).digest == by_line


def _by_line(kind, files, monkeypatch) -> str:
    with monkeypatch.context() as slow:
        slow.setattr(
            collection._RecommendationContextsReader,
            "read_contexts_in_blocks",
            lambda *_: False,
        )
        return kind.read_gold(files, kind.validate_options({})).digest


@pytest.mark.parametrize("key", ["id", "citing_id", "cited_id"])
def test_gold_with_an_empty_text_is_read_line_by_line(key):
    good = {"id": "a", "citing_id": "P", "cited_id": "W0"}
    own = file("diagnostic.jsonl", lines([good, {**good, "id": "b", key: ""}]))
    reader = collection._RecommendationContextsReader({"W0": 0})
    assert not reader.read_contexts_in_blocks(own)


def test_lines_of_a_query_that_stand_apart_keep_their_order_where_scores_and_ranks_are_equal():
    pool = [f"W{number:03}" for number in range(200)]
    text = "".join(
        f"{'ab'[place % 2]} Q0 {name} 1 0.5 t\n" for place, name in enumerate(pool)
    )
    run, _ = read_ranked_run(
        [file("run", text)],
        build_ranking_index(["a", "b"], [pool]),
        RankingReadingSettings(),
    )
    assert list(run.lists) == [tuple(range(0, 200, 2)), tuple(range(1, 200, 2))]
    assert run.ties == 198


def test_a_candidate_that_stands_again_behind_lines_of_no_instance_is_told():
    text = "".join(f"{name} Q0 W1 1 0.5 t\n" for name in "azab")
    _, problems = read_ranked_run([file("run", text)], INDEX, RankingReadingSettings())
    assert said(problems) == [
        "run:2: instance “z” is not in this split; expected an id of the split, such as “a”",
        "run:3: “W1” stands in this ranking a second time; expected each candidate once « a Q0 W1 1 0.5 t",
    ]


@pytest.mark.parametrize("form", ["trec", "json"])
def test_scores_are_kept_of_the_first_of_as_many_instances_as_are_shown(form):
    names = [f"q{number}" for number in range(MAX_STORED_INSTANCES + 2)]
    pool = [f"W{number}" for number in range(MAX_STORED_CANDIDATES + 1)]
    text = (
        "".join(
            f"{name} Q0 {one} 1 {place} t\n"
            for name in names
            for place, one in enumerate(pool)
        )
        if form == "trec"
        else lines(
            [
                {"id": name, "scores": {one: place for place, one in enumerate(pool)}}
                for name in names
            ]
        )
    )
    run, _ = read_ranked_run(
        [file("run", text)],
        build_ranking_index(names, [pool]),
        RankingReadingSettings(),
    )
    assert list(run.scores) == list(range(MAX_STORED_INSTANCES))
    assert all(
        list(scores) == list(range(MAX_STORED_CANDIDATES, 0, -1))
        for scores in run.scores.values()
    )


MOST = sys.float_info.max


@pytest.mark.parametrize(
    "row",
    [
        {"ranked": ["W0"], "scores": [MOST]},
        {"ranked": ["W0"], "scores": [-MOST]},
        {"scores": {"W0": MOST}},
        {"ranked": ["W0"], "log_probabilities": {"W0": -MOST}},
        {"ranked": ["W0"], "probabilities": dict.fromkeys(POOL, 0.2)},
        {"ranked": ["W0"], "probabilities": dict.fromkeys(POOL[1:], 0.2)},
        {"ranked": ["W0"], "probabilities": {"W0": 0}},
    ],
)
def test_the_largest_numbers_that_there_are_are_read_and_so_is_what_leaves_a_rest_to_nobody(
    row,
):
    run, problems = read_ranked_run(
        [file("run", lines([{"id": "a", **row}]))],
        INDEX,
        RankingReadingSettings(declares=True),
    )
    assert [problem for problem in problems if problem.fatal] == []
    assert next(iter(run.lists)) == (0,)
    if run.declared:
        assert not np.isnan(
            run.declared.log_probabilities(ListColumn.of([[0], [1], [], []]), 4)
        ).any()


def test_rows_of_a_class_are_in_their_order_however_many_there_are():
    column = ClassColumn.of(["ab"[number % 2] for number in range(5000)])
    for _, rows in column.group_rows_by_label():
        assert (np.diff(rows) == 2).all()


def test_lists_are_counted_from_either_end():
    own = ListColumn.of([[3], None, [1, 2]])
    assert [own[place] for place in range(-3, 3)] == [(3,), None, (1, 2)] * 2
    for place in (-4, 3):
        with pytest.raises(IndexError):
            own[place]


# Files.


@pytest.mark.parametrize("field", ["disk", "count", "size", "offset"])
def test_the_files_of_an_archive_are_counted_whatever_its_end_record_says_elsewhere(
    field,
):
    """A mark of an end record within the end record is none."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(7):
            archive.writestr(f"{number}.txt", "x")
    data = bytearray(packed.getvalue())
    place = {"disk": 4, "count": 8, "size": 12, "offset": 16}[field] - 22
    data[place : place + 4] = b"PK\5\6"
    expected = 0x0605 if field == "count" else 7
    assert count_files_in_zip_directory(io.BytesIO(bytes(data)), 100_000) == expected


@pytest.mark.parametrize(
    ("claimed", "most", "count"),
    [(7, 7, 8), (6, 9, 9), (8, 7, 8), (50, 7, 50), (9, 9, 9)],
)
def test_of_what_an_archive_claims_and_lists_more_counts(claimed, most, count):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(9):
            archive.writestr(f"{number}.txt", "x")
    data = bytearray(packed.getvalue())
    data[-12:-10] = claimed.to_bytes(2, "little")
    assert count_files_in_zip_directory(io.BytesIO(bytes(data)), most) == count


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("a/gold/Task1", None),
        ("a/gold/Task1/b.csv", ("a", "gold/Task1")),
        ("a/gold/Task2/c/b.txt", ("a", "gold/Task2")),
        ("gold/Task1/b.csv", ("", "gold/Task1")),
        ("a/gold/Task3/b.csv", None),
        ("a/gold/b.csv", None),
        ("a/b/annotation/c.txt", ("a/b", "annotation")),
        ("annotation/c.txt", ("", "annotation")),
        ("a/annotation", None),
        ("annotation", None),
        ("a/summary/annotation/c.txt", ("a", "summary")),
    ],
)
def test_a_file_belongs_to_a_topic_by_the_folder_that_it_stands_in(name, place):
    assert split_path_into_topic_and_subfolder(name) == place


def test_of_files_that_may_be_runs_so_many_bytes_are_looked_at_in_all():
    own = file("run.jsonl", "x\nx\ny\n")
    for left, is_found in ((7, True), (6, True), (5, False), (0, False)):
        assert (
            _RunContentProbe([own], left).has_line_matching(own, b"y\n".__eq__)
            is is_found
        )
    assert _RunContentProbe([own]).left == MAX_BYTES_SEARCHED


# Citation texts.


def text_record(**more):
    return {"input": ["<abs> We. </abs>", "It is."], "target": "As [0].", **more}


@pytest.mark.parametrize(
    ("count", "first"), [(1, "d-00"), (100, "d-00"), (101, "d-000")]
)
def test_instances_without_ids_have_names_of_one_length(count, first):
    kind = task_type("citation-text")
    gold = [file("d.json", json.dumps([text_record()] * count))]
    names = list(kind.read_gold(gold, kind.validate_options({})).index["datasets"]["d"])
    assert (names[0], len({*map(len, names)}), len(names)) == (first, 1, count)


def test_people_who_judge_are_shown_the_same_from_public_files_and_from_gold():
    for kind in task_types().values():
        if kind.human_evaluation:
            gold = gold_files(kind)
            public = [
                file(name, data)
                for name, data in kind.public_files(gold, kind.validate_options({}))
            ]
            asked = kind.human_evaluation
            assert asked.sources(public) == asked.sources(gold)
            assert len(asked.sources(public)) > 0


def test_rows_are_those_of_the_first_instances_wherever_they_stand():
    names = [f"i{number}" for number in range(MAX_STORED_INSTANCES + 1)]
    rows = group_row_numbers_by_instance([*names, names[-1], names[0]])
    assert list(rows) == names[:MAX_STORED_INSTANCES]
    assert rows[names[0]] == [0, MAX_STORED_INSTANCES + 2]
    assert group_row_numbers_by_instance(None) == {}


@pytest.mark.parametrize(
    "slug", ["citation-text", "citation-recommendation", "declared"]
)
def test_of_many_instances_the_first_are_shown(slug):
    count = MAX_STORED_INSTANCES + 1
    numbers = read_declaration({"task.toml": NUMBERS})
    gold = [file("gold.jsonl", lines([{"id": f"i{n}", "g": n} for n in range(count)]))]
    run = [file("run.jsonl", lines([{"id": f"i{n}", "g": n} for n in range(count)]))]
    if slug == "citation-text":
        numbers, gold = (
            task_type(slug),
            [file("d.json", json.dumps([text_record()] * count))],
        )
        run = [
            file("d.json", json.dumps([{"prediction": f"x {n}"} for n in range(count)]))
        ]
    elif slug == "citation-recommendation":
        numbers = task_type(slug)
        gold = [
            file("references.jsonl", lines([{"ref_id": "W0"}, {"ref_id": "W1"}])),
            file(
                "diagnostic.jsonl",
                lines([{"id": f"i{n}", "cited_id": "W1"} for n in range(count)]),
            ),
        ]
        run = [
            file(
                "run.jsonl",
                lines([{"id": f"i{n}", "ranked": ["W0"]} for n in range(count)]),
            )
        ]
    options = numbers.validate_options({})
    split = numbers.gold_of(gold, options)
    answers, _ = numbers.read_run(run, split.index, options)
    pairs = numbers.pairs_of(split, answers, numbers.default_rule_set, options)
    shown = list(numbers.show_instances(gold, split, pairs, options))
    assert [one.name for one in shown] == list(pairs.names)[:MAX_STORED_INSTANCES]
    assert all(one.answer for one in shown)


@pytest.mark.parametrize(
    ("mark", "value"),
    [("[999999999]", 999_999_999), ("[1000000000]", 10**9), ("[9999999999", 10**9)],
)
def test_a_mark_of_more_than_nine_digits_is_as_large_as_it_takes(mark, value):
    assert parse_mark_number(mark) == value


@pytest.mark.parametrize("more", [0, 1])
def test_a_problem_is_told_in_two_thousand_characters(more):
    told = Problem(message="x" * (MAX_PROBLEM_CHARACTERS + more)).message
    assert (len(told), told.endswith("…")) == (MAX_PROBLEM_CHARACTERS, bool(more))


def test_the_end_record_of_an_archive_may_be_its_beginning():
    record = b"PK\5\6" + bytes(4) + (5).to_bytes(2, "little") * 2 + bytes(8) + b"\1\0x"
    assert count_files_in_zip_directory(io.BytesIO(record), 100) == 5


@pytest.mark.parametrize("contexts_per_block", [1, 2, 100])
def test_what_is_cited_without_a_grade_has_1_where_others_are_graded(
    monkeypatch, contexts_per_block
):
    """The first graded context may be in a later block than contexts without grades."""
    monkeypatch.setattr(collection, "CONTEXTS_PER_BLOCK", contexts_per_block)
    contexts = [
        {"id": "a", "cited_id": "W0"},
        {"id": "b", "cited_id": "W1", "grades": {"W1": 3, "W0": 0}},
        {"id": "c", "cited_id": ["W0", "W1"]},
    ]
    gold = [
        file("references.jsonl", lines([{"ref_id": "W0"}, {"ref_id": "W1"}])),
        file("diagnostic.jsonl", lines(contexts)),
    ]
    kind = task_type("citation-recommendation")
    assert kind.read_gold(
        gold, kind.validate_options({})
    ).content.gold.grades.tolist() == [1, 3, 0, 1, 1]


@pytest.mark.parametrize(
    ("byte", "is_told"), [(0x7F, False), (0x80, True), (0x9F, True), (0xA0, False)]
)
def test_quotes_of_windows_in_a_reference_text_are_told(byte, is_told):
    field = b"Reference Text: a" + bytes([byte]) + b"\xe9 b | Discourse Facet: c"
    if is_told:
        with pytest.raises(AnnotationUnreadable, match=f"0x{byte:02X}"):
            _refuse_windows_1252_quotes(field)
    else:
        _refuse_windows_1252_quotes(field)
