"""What is read of drawn files and proposed for them, and every word with which they are refused, as the file
beside this says it.

    python -m tests.tasks.types.standing_reading

writes the file anew, for a change that is meant.
"""

# Tables of cases are read across.
# ruff: noqa: E501

import dataclasses
import datetime as dt
import io
import itertools
import json
import math
import random
import struct
import tempfile
import tomllib
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tasks.types import problems as wrong
from tasks.types.base import (
    assign_resampling_clusters,
    iterate_ids_or_positions,
    iterate_record_ids,
    read_unit_of_each_instance,
)
from tasks.types.columns import (
    NOT_APPLICABLE_CODE,
    ClassCodesByLabel,
    ClassColumn,
    make_column_with_sorted_labels,
)
from tasks.types.declared.folder import read_declaration
from tasks.types.declared.proposals import (
    format_task_toml,
    list_available_measures,
    propose_declaration,
)
from tasks.types.files import (
    ArchiveLimits,
    InputFile,
    compute_input_digest,
    count_files_in_zip_directory,
    open_files_of_all_inputs,
    open_input_files,
)
from tasks.types.guarded.encodings import detect_kind_of_binary_file
from tasks.types.guarded.limits import TextUnreadable
from tasks.types.guarded.toml_reader import read_toml
from tasks.types.jsonlines import AnswerForm
from tasks.types.probabilities import (
    InvalidProbabilities,
    LabelWithProbabilities,
    parse_label_probabilities,
)
from tasks.types.problems import InputRefused, Problem, ProblemList
from tasks.types.ranking.lists import (
    GradedListColumn,
    ListColumn,
    ListColumnBuilder,
    build_ranking_index,
    compute_ranks_of_gold,
)
from tasks.types.ranking.runs import (
    RankingReadingSettings,
    read_metadata_header,
    read_ranked_run,
)
from tasks.types.run_forms import (
    RUN_FORM,
    begins_like_json,
    detect_kind_of_text,
    get_document_text,
    get_topic_text,
    read_first_bytes,
    split_nonempty_first_lines,
)
from tasks.types.text import (
    decode_html_entities,
    decode_utf8_or_windows_1252,
    describe_json_type,
    iterate_json_objects,
    length_class,
)
from tasks.types.toml_lines import TomlKeyLines, format_toml_table, format_toml_value
from tests.scoring.standing_numbers import (
    DECLARED as FORMS,
    ROOT,
    digest,
    rounded,
    said,
    samples,
    written,
)

FILE = Path(__file__).with_suffix(".json")
WORDS = [
    "we",
    "follow",
    "the",
    "parser",
    "of",
    "Reed",
    "and",
    "compare",
    "it",
    "with",
    "several",
    "older",
    "ones",
    "on",
    "long",
    "texts",
]


def file(name: str, content: str | bytes) -> InputFile:
    data = content.encode() if isinstance(content, str) else content
    return InputFile(name, name, lambda: io.BytesIO(data))


def lines(rows: Iterable[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def refused(call: Any, *arguments: Any, **named: Any) -> Any:
    """What it returns, or the problems with which it refuses."""
    try:
        return call(*arguments, **named)
    except InputRefused as refusal:
        return said(refusal.problems)


# Proposals.


def of_proposals() -> Iterator[tuple[str, Any]]:
    for form, number in itertools.product(
        ("labels", "ranking", "text", "spans", "evidence", "numbers"), range(8)
    ):
        draw = random.Random(f"{form} {number}")
        rows, beside = _gold(form, number, draw)
        files = [
            _in_form(rows, number),
            *([file("pool.jsonl", lines(beside))] if beside else []),
        ]
        yield f"{form} {number}", _proposed(form, files)
    rows = [
        {"id": f"i{n}", "text": " ".join(WORDS[:6]), "label": "xyz"[n % 3]}
        for n in range(9)
    ]
    one = [
        file("data.jsonl", lines(rows)),
        file("README.md", "no"),
        file("gold.jsonl", lines(rows[:4])),
    ]
    yield "the file that begins with gold", _proposed("labels", one)
    parts = {f"k{n}": n for n in range(23)}
    many = [
        {
            "id": n,
            "meta": parts,
            "label": "ab"[n % 2],
            **{f"f{k}": k for k in range(190)},
        }
        for n in range(6)
    ]
    found = propose_declaration("labels", "t", "T", [file("gold.jsonl", lines(many))])
    yield (
        "many parts and fields",
        [[own.name for own in found.fields][18:26], len(found.fields)],
    )
    for form in ("labels", "numbers", "spans", "evidence", "ranking", "text"):
        for value in (
            None,
            "",
            [],
            "x",
            3,
            True,
            [1, 2],
            [[1, 2]],
            [[1, 2, "A", 4]],
            {"a": 1},
            ["a", "b"],
            [{}],
        ):
            own = [{"id": n, "gold": value} for n in range(3)]
            yield f"{form} of {value!r}", _proposed(form, [file("g.jsonl", lines(own))])
    yield (
        "nothing",
        _proposed("labels", [file("gold.jsonl", "\n"), file("card.md", "x")]),
    )
    yield "no JSON", _proposed("labels", [file("gold.jsonl", '{"id": 1,}\n{}\n7\n')])
    known = {
        "form": "labels",
        "pool": {"file": "gold.jsonl"},
        "rules": [{"measures": ["f1"]}],
    }
    found = propose_declaration("labels", "t", "T", one, known)
    yield (
        "known",
        [found.instances, [own.name for own in found.pool], found.task == known],
    )
    for said_of in (
        {},
        {"probabilities": "optional"},
        {"confidence": "needed"},
        {"several": True},
        {"positive": "a"},
        {"shape": "one"},
    ):
        for form in ("labels", "evidence", "numbers", "ranking"):
            task = {
                "form": form,
                "answer": {"labels": ["a", "B c!"], **said_of},
                "rules": [
                    {"measures": ["x", {"name": "mrr@5", "measure": "mrr", "cut": 5}]}
                ],
            }
            yield f"measures of {form} with {said_of}", list_available_measures(task)


def _proposed(form: str, files: Sequence[InputFile]) -> Any:
    found = refused(propose_declaration, form, "t", "T", files)
    if isinstance(found, list):
        return found
    toml = format_task_toml(found.task)
    assert tomllib.loads(toml)["task"] == found.task
    fields = [dataclasses.astuple(own) for own in (*found.fields, *found.pool)]
    return [
        found.instances,
        digest(fields),
        len(found.pool),
        found.files,
        found.task,
        digest(list_available_measures(found.task)),
    ]


def _in_form(rows: list[dict[str, Any]], number: int) -> InputFile:
    flat = not any(
        isinstance(value, list | dict) for row in rows for value in row.values()
    )
    if number % 4 == 1 or not flat:
        return (
            file("gold.json", json.dumps(rows))
            if number % 4 == 1
            else file("gold.jsonl", lines(rows))
        )
    if number % 4 == 0:
        return file("gold.jsonl", lines(rows))
    names = list(dict.fromkeys(name for row in rows for name in row))
    mark, kind = (";", "csv") if number % 4 == 2 else ("\t", "tsv")
    text = "".join(
        mark.join(str(row.get(name, "")) for name in names) + "\n" for row in rows
    )
    return file(f"gold.{kind}", mark.join(names) + "\n" + text)


def _gold(
    form: str, number: int, draw: random.Random
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows with fields of all kinds before and after the answer: what tells of it, what parts it, what is long."""
    size, labels = 24 + number, ("yes", "no", "maybe")[: 2 + number % 2]
    beside = [
        {
            "doc_id": f"d{n}",
            "abstract": ["One.", "Two."],
            "title": " ".join(draw.sample(WORDS, 5)),
        }
        for n in range(6)
    ]
    rows = []
    for n in range(size):
        label = draw.choice(labels)
        row = {
            "year": str(2000 + n % (3 + number)), "n": n % 5, "paper_id": f"p{n // (1 + number % 3)}",
            "ID" if number % 2 else "name": f"x{n}", "when": f"2020-0{1 + n % 4}-1{n % 9}",
            "text": " ".join(draw.sample(WORDS, 3 + (n + number) % 4)), "short": draw.choice(WORDS),
            "tag": label.upper() if draw.random() < 0.85 + 0.02 * number else "NO", "said": f"it is {label} {n}" if number % 3 else "it is",
            **({"why": f"since {n}"} if label == "yes" and n % 9 else {}),
            "meta": {"venue": draw.choice("AB"), **({"flag": n} if label == "yes" else {})},
        }  # fmt: skip
        if number % 4 in (0, 2, 3):
            del row["meta"]
        if number > 3 and n % 6 == 0:
            row["short"], row["year"] = "", None
        kinds = {
            "labels": label if number != 6 else [label], "numbers": n % 5 if number % 2 else [n % 5, 2.5],
            "text": [row["text"]] if number % 2 else row["text"], "spans": [[0, 3, "A"], [4, 6, "B"]][: n % 3] if number % 2 else [[0, 2]],
            "ranking": [f"d{n % 6}"] if number % 2 else {f"d{n % 6}": 1},
            "evidence": {f"d{n % 6}": [{"sentences": [0], "label": label}]} if number % 2 else [[f"d{n % 6}:0"]],
        }  # fmt: skip
        if form == "evidence" and not number % 2:
            row["label"] = label
        if form == "ranking" and number % 4 == 3:
            row["candidates"] = [f"d{k}" for k in range(6)]
        rows.append(
            {
                **row,
                ("answer", "gold", "the_label")[number % 3]: kinds[form],
                "note": "x" * (n % 2),
            }
        )
    return rows, beside if form in ("ranking", "evidence") and number % 3 != 2 else []


# Rankings.

TOPICS = [f"q{n}" for n in range(5)]
POOLS = [[f"W{n}" for n in range(9)], ["W1", "X", "Y"]]


def of_rankings() -> Iterator[tuple[str, Any]]:
    for pool_of in (None, [0, 1, 0, 0, 1]):
        index = build_ranking_index(TOPICS, POOLS, pool_of)
        for number in range(60):
            draw = random.Random(number)
            limits = RankingReadingSettings(
                longest=draw.choice((None, 3, 4)), kept=draw.choice((None, 1, 2)),
                ties_by_candidate=draw.random() < 0.5, declares=number % 3 == 0,
            )  # fmt: skip
            content = _trec(draw) if number % 2 else _json(draw)
            files = [file("run", content)]
            if number % 7 == 0:
                files += [file("README.txt", "of our run"), file("more", _trec(draw))]
            yield (
                f"{number} of {'one pool' if pool_of is None else 'two'}",
                _ranked(files, index, limits),
            )
    index = build_ranking_index(TOPICS, POOLS, None)
    for values in DECLARED:
        row = {"id": "q1", "ranked": ["W1", "W0"], **values}
        yield (
            f"declared {values}",
            _ranked(
                [file("run", lines([row]))],
                index,
                RankingReadingSettings(declares=True),
            ),
        )
    for row in ROWS:
        yield (
            f"row {row}",
            _ranked(
                [file("run", lines([row]))], index, RankingReadingSettings(longest=4)
            ),
        )
    for line in LINES:
        own = file("run", f"q1 Q0 W1 1 0.9 t\n{line}\nq2 Q0 W2 1 0.5 t\n")
        yield f"line {line!r}", _ranked([own], index, RankingReadingSettings(longest=3))
    for header in HEADERS:
        own = file("run", header + b"q1 Q0 W1 1 0.9 t\n")
        yield (
            f"header {header[:60]!r}",
            [
                refused(lambda own: len(read_metadata_header(own)), own),
                _ranked([own], index, RankingReadingSettings()),
            ],
        )
    yield "no file", _ranked([file("readme", "x")], index, RankingReadingSettings())
    yield (
        "no instances",
        _ranked(
            [file("run", "q1 Q0 W1 1 0.9 t\n")],
            build_ranking_index([], POOLS),
            RankingReadingSettings(),
        ),
    )


#: Numbers no computer can compare, and what else stands where a score should.
SCORES = (0.5, -1, 0, 1e308, 10**400, True, None, "x", [])
ROWS = (
    {"id": "q1"}, {"ranked": ["W1"]}, {"id": "q9", "ranked": ["W1"]}, {"id": 7, "ranked": []}, {"id": "q1", "ranked": "W1"},
    {"id": "q1", "ranked": [1, "W1"]}, {"id": "q1", "ranked": [["W1"]]}, {"id": "q1", "ranked": [None, True]}, {"id": "q1", "ranked": ["W1", "W2", "W1", "W2"]},
    {"id": "q1", "ranked": ["W1", "A", "B", "C", "D"]}, {"id": "q1", "ranked": ["A", "B", "C"]}, {"id": "q1", "ranked": ["W0", "W1", "W2", "W3", "W4"]},
    {"id": "q1", "ranked": ["W0", "W1", "W2", "W3"]}, {"id": "q1", "scores": {"W0": 1, "W1": 1, "W2": 0, "W3": 2, "W4": 0}}, {"id": "q1", "scores": {"W2": 1, "W1": 1}},
    {"id": "q1", "scores": {"A": 1, "W1": 1}}, {"id": "q1", "ranked": ["W0", "W1"], "scores": [0.5]}, {"id": "q1", "ranked": ["W0", "W1"], "scores": [0.5, 0.5]},
    {"id": "q1", "ranked": ["W0", "W1"], "scores": [0.4, 0.5]}, {"id": "q1", "ranked": ["W0", "W1"], "scores": {"W0": 1}}, {"id": "q1", "ranked": [], "scores": []},
    *({"id": "q1", "scores": {"W0": score}} for score in SCORES), *({"id": "q1", "ranked": ["W0", "W1"], "scores": [1, score]} for score in SCORES),
)  # fmt: skip
LINES = (
    "q1 Q0 W1 2 0.8 t", "q1 Q0 W2 x 0.8 t", "q1 Q0 W2 2 x t", "q1 Q0 W2 2 nan t", "q1 Q0 W2 2 inf t", "q1 Q0 W2 2147483647 0.8 t", "q1 Q0 W2 2147483648 0.8 t",
    "q1 Q0 W2 -2147483648 0.8 t", "q1 Q0 W2 -2147483649 0.8 t", "q1 Q0 W2 2 0.8", "q1 Q0 W2 2 0.8 t t", "", "   ", "q9 Q0 W2 2 0.8 t\nq9 Q0 W3 3 0.7 t", "q1 Q0 Z 2 0.8 t",
    "q3 Q0 W1 1 1 t\nq1 Q0 W1 3 0.7 t", "q3 Q0 W1 1 1 t\nq1 Q0 W2 3 0.7 t", "q1 Q0 W2 2 0.9 t\nq1 Q0 W3 3 0.8 t\nq1 Q0 W4 4 0.7 t", "q1 Q0 W2 2 0.9 t\nq1 Q0 W3 3 0.8 t",
    "q3 Q0 W1 1 1 t\nq1 Q0 W2 3 0.7 t\nq3 Q0 W2 2 1 t\nq1 Q0 W2 3 0.7 t\nq3 Q0 W1 2 1 t",
)  # fmt: skip
HEADERS = (
    b"", b"# ir_metadata.start\n# platform:\n#   cpu: 1\n#x\n# ir_metadata.end\n", b"# ir_metadata.start\n# a: 1\n", b"# ir_metadata.start\nq2 Q0 W1 1 1 t\n# ir_metadata.end\n",
    b"# ir_metadata.start\n#" + b"x" * 65_533 + b"\n# ir_metadata.end\n", b"# ir_metadata.start\n#" + b"x" * 65_534 + b"\n# ir_metadata.end\n", b"# ir_metadata.start\n#" + b"x" * 65_540 + b"\n# ir_metadata.end\n",
    b"# ir_metadata.start\n" + b"# y\n" * 16_384 + b"# ir_metadata.end\n", b"# ir_metadata.start\n" + b"# y\n" * 16_385 + b"# ir_metadata.end\n",
)  # fmt: skip
DECLARED = (
    {}, {"probabilities": {"W1": 0.5, "W2": 0.25}}, {"log_probabilities": {"W1": -0.5, "W2": -9}}, {"probabilities": {"W1": 1}, "log_probabilities": {"W1": 0}}, {"probabilities": []},
    {"log_probabilities": 3}, {"probabilities": {"W1": 1.0005}}, {"probabilities": {"W1": 0.6, "W2": 0.4005}}, {"probabilities": {"W1": 0.6, "W2": 0.402}}, {"probabilities": {"W1": -0.1}},
    {"probabilities": {"W1": 0, "W2": 1}}, {"log_probabilities": {"W1": 0.1}}, {"log_probabilities": {"W1": 0}}, {"log_probabilities": {"W1": -1e309}}, {"probabilities": {"W1": True}},
    {"probabilities": {"W1": "x", "W2": 3}}, {"probabilities": {"A": 0.5, "W1": 2}}, {"probabilities": {f"W{n}": 1 / 9 for n in range(9)}},
)  # fmt: skip


def _ranked(
    files: Sequence[InputFile], index: Any, limits: RankingReadingSettings
) -> Any:
    found = refused(read_ranked_run, files, index, limits)
    if isinstance(found, list):
        return found
    run, problems = found
    told = said(problems)
    if any(problem.fatal for problem in problems):
        return told
    gold = ListColumn.of([[1], [0, 2], [], [3], [1]])
    shares = run.declared.log_probabilities(gold, 9).tolist() if run.declared else []
    tied = None if run.lists.tied is None else run.lists.tied.astype(int).tolist()
    return [told, list(run.lists), tied, run.ties, run.missing, run.empty, shares]


def _json(draw: random.Random) -> str:
    rows = []
    for name in draw.sample(TOPICS, draw.randint(1, 5)):
        chosen = draw.sample(POOLS[0], draw.randint(0, 4))
        if draw.random() < 0.5:
            row = {"id": name, "ranked": chosen}
            if draw.random() < 0.5:
                row["scores"] = sorted(
                    (draw.randint(0, 3) / 2 for _ in chosen), reverse=True
                )
        else:
            row = {"id": name, "scores": {own: draw.randint(0, 2) for own in chosen}}
        if draw.random() < 0.5:
            row["probabilities"] = {
                own: 1 / (2 + place) for place, own in enumerate(chosen[:2])
            }
        rows.append(row)
    return lines(rows)


def _trec(draw: random.Random) -> str:
    text = ""
    for name in (
        draw.choices(TOPICS, k=draw.randint(1, 4))
        if draw.random() < 0.5
        else draw.sample(TOPICS, 3)
    ):
        for own in draw.sample(POOLS[0], draw.randint(1, 4)):
            text += f"{name} Q0 {own} {draw.randint(1, 4)} {draw.randint(0, 3) / 2} t\n"
    return text


def of_lists() -> Iterator[tuple[str, Any]]:
    rows = [(3, 1, 2), None, (), (5, 3), (1,)]
    lists = ListColumn.of(rows)
    yield (
        "of",
        [
            list(lists),
            lists.list_lengths.tolist(),
            len(lists),
            list(lists[1:4]),
            lists[-1],
            lists[-5],
        ],
    )
    for place in (5, -6):
        try:
            lists[place]
        except IndexError as none:
            yield f"no {place}", str(none)
    taken = lists.select_rows(np.array([4, -1, 0, 0, 3]))
    yield (
        "taken",
        [
            list(taken),
            taken.tied,
            lists.select_rows(np.arange(5)) is lists,
            list(lists.select_rows(np.arange(4))),
        ],
    )
    builder = ListColumnBuilder()
    builder.add((1, 2))
    builder.add((3, 4), (False, True))
    builder.add((5,))
    builder.extend(np.array([2, 0, 1]), np.array([7, 8, 9], dtype=np.int32))
    builder.extend(
        np.array([2]), np.array([6, 5], dtype=np.int32), np.array([False, True])
    )
    built = builder.build()
    again = built.select_rows(np.array([6, -1, 1]))
    yield "built", [list(built), built.tied.tolist(), list(again), again.tied.tolist()]
    late = ListColumnBuilder()
    late.extend(np.array([1]), np.array([7], dtype=np.int32))
    late.extend(
        np.array([2]), np.array([6, 5], dtype=np.int32), np.array([False, True])
    )
    yield (
        "tied later",
        [
            list(late.build()),
            late.build().tied.tolist(),
            list(ListColumnBuilder().build()),
        ],
    )
    yield (
        "ranks",
        compute_ranks_of_gold(
            ListColumn.of([(1, 2), (4,), (), (3, 9), (1,)]), lists
        ).tolist(),
    )
    graded = GradedListColumn(
        ListColumn.of([(1,), ()]),
        ListColumn.of([(1, 2), (3,)]),
        np.array([2, 0, 1], dtype=np.int32),
    )
    yield "graded", [list(graded), list(graded.judged), graded.grades.tolist()]
    numbers = ClassCodesByLabel()
    codes = np.array(
        [numbers[label] for label in ("b", "a", None, "c", "b", ...)], dtype=np.int32
    )
    for order in ((), ("c",), ("b", "z")):
        own = make_column_with_sorted_labels(numbers.labels, codes, order)
        groups = [
            (label, chosen.tolist()) for label, chosen in own.group_rows_by_label()
        ]
        yield (
            f"classes in order {order}",
            [own.labels, own.codes.tolist(), list(own), groups, own.is_empty],
        )
    rows = np.array([True, False, False, False, True, False])
    outside = ClassColumn(
        own.labels, np.where(rows, np.int32(NOT_APPLICABLE_CODE), own.codes)
    )
    yield (
        "outside",
        [
            outside.codes.tolist(),
            own.select_rows(np.array([5, 0])).codes.tolist(),
            list(own[2:4]),
            NOT_APPLICABLE_CODE,
        ],
    )
    named = ClassColumn.of(["y", "x", "y"]).get_labels_and_label_indexes()
    yield (
        "named",
        [
            named[0],
            named[1].tolist(),
            ClassColumn.of([None]).is_empty,
            ClassColumn.of([]).is_empty,
        ],
    )


# Texts, problems and what a file looks like.


def of_texts() -> Iterator[tuple[str, Any]]:
    kinds = [kind for kind, _, _ in samples().values() if kind.run_form]
    for content in BEGINNINGS:
        own = read_first_bytes(file("run", content))
        told = [
            detect_kind_of_binary_file(own),
            detect_kind_of_text(own),
            begins_like_json(own),
            RUN_FORM.fits(own),
            len(split_nonempty_first_lines(own)),
        ]
        forms = [
            kind.slug.partition("@")[0] for kind in kinds if kind.run_form.fits(own)
        ]
        yield f"beginning {content[:40]!r} of {len(content)}", [*told, forms]
    for record in (
        {},
        {"before": "a", "sentence": "b", "after": "c"},
        {"title": "t", "raw": 7, "abstract": ""},
    ):
        yield f"text of {record}", [get_topic_text(record), get_document_text(record)]
    for text in (
        "a &amp; b",
        "&#65;",
        "&#0065;",
        "&#00000000065;",
        "&#123456789;",
        "&#;",
        "&lt",
        "plain",
        "&#" + "9" * 5000 + ";",
    ):
        yield f"unescaped {text[:30]}", decode_html_entities(text)[:30]
    yield (
        "lengths",
        [length_class(words) for words in (0, 24, 25, 49, 50, 99, 100, 199, 200)],
    )
    yield (
        "kinds",
        [describe_json_type(value) for value in ({}, [], "", True, None, 3, 2.5)],
    )
    yield (
        "decoded",
        [
            decode_utf8_or_windows_1252(data)
            for data in (b"\xef\xbb\xbfa", b"\xe9\x81", "é".encode())
        ],
    )
    content = (
        b'{"a": 1}\n\n7\n{"b": 1e999}\n{"c": NaN}\n{,}\n'
        b'{"d": "\\ud800"}\n' + b"[" * 100_000 + b'\n  {"e": 2}  \n'
    )
    problems: list[Problem] = []
    read = [
        [number, value, raw]
        for number, value, raw in iterate_json_objects(file("f", content), problems)
    ]
    yield "json lines", [read, said(problems)]
    many: list[Problem] = []
    list(iterate_json_objects(file("f", b"7\n" * 1003), many))
    yield "too many lines", [len(many), str(many[-1]), str(many[-2])]


BEGINNINGS = (
    b"", b"\n \n", b'{"ranked": []}', b'\xef\xbb\xbf [1]', b'x\n{"id": 1, "scores" : 2}', b'{"id": 1}', b"q1 Q0 W1 1 0.9 t", b"q1 Q0 W1 1", b"q1 Q0 W1", b"a b c d e f g h", b"a b c 1 0.5 f g h", b"a b c 1 0.5 f g", b"a b c d 0.5 f g", b"a b c 1 x y", b"a b 1 c", b"a b c nan inf",
    b"<!DOCTYPE html><p>", b"  <HTML>", b"<?xml version", b"\x1f\x8bx", b"BZh9", b"PK\x03\x04", b"%PDF-1", b"\x89PNG", b"\xff\xfea", b"\x00" * 50, b"a" * 98 + b"\x00\x01", b"a" * 97 + b"\x00\x01\x02", b"a\tb\x0c\x1a\x1b\r\n",
    b"7z\xbc\xaf", b"Rar!", b"\xfd7zXZ", b"\xfe\xff", b"\xff\xd8\xff", b"\x80\x04\x95", b"word\n" * 99 + b'{"ranked": 1}', b"word\n" * 100 + b'{"ranked": 1}', b" " * 3999 + b"{", b" " * 4000 + b"{", b"a" * 995 + b" b c 1 1 d", b"Citance Number: 1 | Reference Article: W.xml",
)  # fmt: skip


def of_problems() -> Iterator[tuple[str, Any]]:
    one = Problem(message="m", file="f", line=3, expected="e", quote="q")
    yield (
        "written",
        [
            str(one),
            one.as_dict(),
            str(Problem(message="m")),
            str(Problem(message="m", file="f")),
        ],
    )
    yield "kept", [
        Problem(message="a\0\ud800").message, len(Problem(message="x" * 2000).message), Problem(message="x" * 2001).message[1990:],
        wrong.shorten_quoted_line(" " + "x" * 160 + " ")[150:], wrong.shorten_quoted_line("x" * 161)[150:], str(InputRefused([one] * 4)),
    ]  # fmt: skip
    for errors, doubts, counts in (
        (2, 1, 0),
        (1000, 1001, 0),
        (1000, 1003, 5),
        (1004, 0, 5),
    ):
        found = ProblemList(counts=counts)
        found.extend(Problem(message=f"{n}", line=n) for n in range(errors))
        found += [Problem(message=f"{n}", fatal=False) for n in range(doubts)]
        case = f"{errors} errors, {doubts} warnings, {counts} counted"
        yield (
            case,
            [
                len(found),
                found.found,
                found.has_errors,
                said(found.rest()),
                [own.count for own in found.rest()],
            ],
        )
    full = ProblemList([Problem(message="m", file="f", line=n) for n in range(1000)])
    end = refused(full.append, Problem(message="m", file="f", line=1000))
    yield "full", [len(end), end[-2:]]
    counted = ProblemList([Problem(message="m")] * 1002, counts=2)
    end = refused(counted.append, Problem(message="m", line=1, file="f"))
    yield "full and counted", [len(end), end[-2:]]
    mixed = [
        Problem(message="b", file="f", line=9), Problem(message="w", file="f", line=2, fatal=False), Problem(message="c", count=3), Problem(message="a", file="e", line=4),
        Problem(message="whole", file="f"),
    ]  # fmt: skip
    yield "in order", said(wrong.sort_problems(mixed))
    yield (
        "capped",
        [
            [
                said(wrong.select_problems_to_list(mixed, most)[0]),
                wrong.select_problems_to_list(mixed, most)[1],
            ]
            for most in (1, 3, 4, 9)
        ],
    )
    yield (
        "counted",
        [
            wrong.counted(mixed),
            len(wrong.select_fatal_problems(mixed)),
            wrong.convert_dicts_to_problems(wrong.convert_problems_to_dicts(mixed))
            == mixed,
        ],
    )
    for same in (5, 6, 8):
        told = wrong.merge_with_further_lines(
            [
                *mixed,
                *(Problem(message="s", file="f", line=n) for n in range(1, same + 1)),
            ]
        )
        yield (
            f"{same} alike",
            [[str(problem), str(own), len(own)] for problem, own in told],
        )
    yield "given up", str(wrong.make_stopped_reading_problem("f", 8))


def of_toml() -> Iterator[tuple[str, Any]]:
    values = {
        "a": True, "b c": 3, "d": 2.5, "e": "x\"y\\\x7f", "f": "two\nlines \"q\"", "g": [1, "x", []], "h": {"i j": {}}, "k": ("té",), "l": dt.datetime(2026, 5, 1, 14, tzinfo=dt.timezone(dt.timedelta(hours=2))),
    }  # fmt: skip
    yield (
        "table",
        [
            format_toml_table("[season]", values),
            format_toml_value(False),
            format_toml_value({}),
        ],
    )
    text = (
        '# c\nname = "x" # y\n"odd.key" . b = 1\n[a]\n  x = [ # in\n 1,\n { y = "]" },\n]\n[[r]]\nname = """\n[no]\n"""\n[r.in]\nz = \'\'\'q\n\'\'\'\n[[r]]\nname = \'#\'\n[[r.s]]\nk = 2\n'
        "[r.s.t]\nu = {v = [1, {w = 3}]}\n[[r.s]]\n\n\n[last]\n'x' = 1\n"
    )
    assert tomllib.loads(text)
    keys = TomlKeyLines(text)
    paths = [(), ("name",), ("odd.key", "b"), ("odd.key",), ("a",), ("a", "x"), ("a", "x", 0), ("r",), ("r", 0), ("r", 0, "name"), ("r", 0, "in"), ("r", 0, "in", "z"), ("r", 1, "name"), ("r", 1, "s"), ("r", 1, "s", 0, "k"), ("r", 1, "s", 0, "t", "u"), ("r", 1, "s", 1), ("last", "x"), ("none",)]  # fmt: skip
    yield "lines", [[list(map(str, path)), keys.line(path)] for path in paths]
    yield "paths", [list(map(str, keys.get_key_at_line(line))) for line in range(30)]
    for broken in (
        "a = \n",
        "a = 1\na = 2\n",
        "[a\n",
        "x = " + "[" * 3000,
        "y = 1\nn = " + "9" * 5000,
        "a = 'x",
    ):
        try:
            read_toml(broken)
        except TextUnreadable as fault:
            yield f"broken {broken[:12]}", [fault.line, fault.column]


def of_probabilities() -> Iterator[tuple[str, Any]]:
    given = (
        None, [], {}, {"a": 1}, {"a": 0.4, "b": 0.6}, {"A": 0.4, "b": 0.6}, {"z" * 120: 1}, {"a": 0.5, "A": 0.5}, {"a": True}, {"a": "x"}, {"a": 1.2}, {"a": -0.1}, {"a": 2}, {"a": 0.9989}, {"a": 0.9991},
        {"a": 0.4, "b": 0.6009}, {"a": 0.4, "b": 0.6011}, {"a": 0, "b": 1},
    )  # fmt: skip
    for values in given:
        for label_of in (str, str.lower):
            try:
                found = parse_label_probabilities(
                    {"probabilities": values}, ("a", "b"), label_of
                )
            except InvalidProbabilities as refusal:
                found = [refusal.message, refusal.expected]
            yield f"{str(values)[:40]} {label_of.__name__}", found
    label = LabelWithProbabilities("a")
    yield (
        "label",
        [
            label,
            label.probabilities,
            label.confidence,
            label.is_left_out,
            label.is_answer,
            label.record,
        ],
    )
    form = AnswerForm(example='{"id": "a"}', noun="ranking")
    yield "form", dataclasses.asdict(form)
    gold = file(
        "gold.jsonl",
        lines(
            [
                {"id": "a", "paper": {"id": 7}},
                {"id": "b", "paper": {"id": " "}},
                {"paper": 3},
                {"id": "d", "paper": {"id": "x"}},
            ]
        ),
    )
    fine = file(
        "gold.jsonl", lines([{"id": "a", "paper": {"id": 7}}, {"paper": {"id": "x"}}])
    )
    for names in (iterate_ids_or_positions, iterate_record_ids):
        yield (
            f"units by {names.__name__}",
            [
                refused(read_unit_of_each_instance, [own], "paper.id", names)
                for own in (gold, fine)
            ],
        )
    yield (
        "units of no records",
        refused(
            read_unit_of_each_instance,
            [file("gold.txt", "x")],
            "paper",
            iterate_record_ids,
        ),
    )
    features = {"year": [("1",), ("1",), ("2",)], "two": [("1", "2"), (), ("1",)]}
    for units in (("u", "u", "v"), ("u", "v", "v"), ClassColumn.of(["u", "u", "v"])):
        for field, values in (
            ("year", {}),
            ("two", {}),
            ("none", {}),
            ("f", {"i": "A", "j": "A"}),
            ("f", {"i": "A", "j": "B"}),
        ):
            yield (
                f"clusters of {list(units)} by {field} {values}",
                refused(
                    assign_resampling_clusters,
                    ("i", "j", "k"),
                    units,
                    features,
                    field,
                    values,
                ),
            )


# Numbers of declarations at the ends of what they may be.


def of_declared() -> Iterator[tuple[str, Any]]:
    for form, (answer, measures, more) in FORMS.items():
        kind = {"several": "labels", "evidence-one": "evidence"}.get(form, form)
        first = measures.split(",")[0]
        for key, value in itertools.product(
            ("longest", "least", "most", "step", "unit", "abstain", "sentences", "id"),
            ("0", "1", "-1", "1.5", '"x"', "true"),
        ):
            if f"{key} =" in answer:
                continue
            toml = (
                f'[task]\nslug = "t"\ntitle = "T"\nform = "{kind}"\n[task.gold]\nfield = "gold"\n[task.answer]\n{answer}\n{key} = {value}\n'
                f'[[task.rules]]\nname = "corrected"\nmeasures = [{first}]\n{more}'
            )  # fmt: skip
            found = refused(read_declaration, {"task.toml": toml})
            yield f"{form} {key}={value}", found if isinstance(found, list) else "taken"
        for measure in (
            f"{first.strip(chr(34))}@0",
            f"{first.strip(chr(34))}@1",
            "nothing",
            f"{first.strip(chr(34))}@1001",
        ):
            toml = (
                f'[task]\nslug = "t"\ntitle = "T"\nform = "{kind}"\n[task.gold]\nfield = "gold"\n[task.answer]\n{answer}\n'
                f'[[task.rules]]\nname = "corrected"\nmeasures = ["{measure}"]\n{more}'
            )  # fmt: skip
            found = refused(read_declaration, {"task.toml": toml})
            yield f"{form} {measure}", found if isinstance(found, list) else "taken"


# Archives at the limits of what is unpacked.


def of_archives() -> Iterator[tuple[str, Any]]:
    limits = ArchiveLimits(files=3, bytes=3000, ratio=20)
    with tempfile.TemporaryDirectory() as temporary:
        for case, content in _archives().items():
            path = Path(temporary) / "in.zip"
            path.write_bytes(content)
            yield case, _opened(path, limits, temporary)
        folder = Path(temporary) / "folder"
        for name in ("b.txt", "a/c.txt", "__MACOSX/x", ".DS_Store", "a/d.txt"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(name)
        yield "folder", _opened(folder, limits, temporary)
        yield (
            "digests",
            [
                compute_input_digest(open_input_files(folder)),
                compute_input_digest(open_input_files(folder)[:1]),
            ],
        )
        (folder / "e.txt").write_text("e")
        yield "folder of four", _opened(folder, limits, temporary)
        yield "nothing", _opened(Path(temporary) / "none", limits, temporary)
        yield (
            "given twice",
            str(
                refused(open_files_of_all_inputs, [folder / "b.txt", folder / "b.txt"])
            ).replace(temporary, ""),
        )
    for case, content in _lists().items():
        one_off = (
            content[:n] + bytes([content[n] ^ 1]) + content[n + 1 :]
            for n in range(len(content))
        )
        cut = (
            content[n : -m or None]
            for n, m in itertools.product((0, 1, 46), (0, 1, 22))
        )
        counts = [
            count_files_in_zip_directory(io.BytesIO(own), most)
            for own in (*one_off, *cut)
            for most in (2, 100)
        ]
        yield f"counted of {case}, one byte each another", "".join(map(str, counts))
    behind = b"x" * 70_000 + _lists()["three"]
    yield (
        "counted behind more than a comment can be",
        count_files_in_zip_directory(io.BytesIO(behind), 9),
    )
    for longest in (4, 5, 6):
        own = file("f", "ab\nabcd\nabc")
        yield (
            f"lines of {longest}",
            refused(
                lambda own, longest: [line.decode() for line in own.lines(longest)],
                own,
                longest,
            ),
        )


def _opened(path: Path, limits: ArchiveLimits, temporary: str) -> Any:
    try:
        return [
            [
                own.name,
                own.shown.replace(temporary, ""),
                own.stem,
                own.suffix,
                own.read().decode()[:20],
            ]
            for own in open_input_files(path, limits=limits)
        ]
    except InputRefused as refusal:
        return [str(problem).replace(temporary, "") for problem in refusal.problems]


def _lists() -> dict[str, bytes]:
    """The list of three files at an archive's end, as a large archive has it, and behind a comment."""
    names = ((b"a", b"", b""), (b"bb", b"xyz", b""), (b"c", b"", b"said"))
    entries = (
        struct.pack("<4s24x3H12x", b"PK\1\2", *map(len, own)) + b"".join(own)
        for own in names
    )
    listed = b"".join(entries)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(listed), 0, 0)
    large = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, len(listed), 0)
    return {
        "three": listed + end,
        "three of a large archive": listed
        + large
        + struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
        + end,
        "three and a comment": listed + end[:-2] + b"\3\0abc",
    }


def _archives() -> dict[str, bytes]:
    end, entry = (
        struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0, 0, 0, 0, 0),
        struct.pack("<4s24x3H12x", b"PK\1\2", 0, 0, 0),
    )
    large = [
        struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, 0, 0)
        + struct.pack("<4sLQL", b"PK\6\7", 0, 0, 1)
        + end
        for count in (3, 4)
    ]
    found = {
        "no archive": b"PK", "empty": end, "claims four": end[:10] + b"\4\0" + end[12:], "large of three": large[0], "large of four": large[1], "large behind something": b"x" * 9 + large[1],
        "lists four": entry * 4 + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0, 0, len(entry) * 4, 0, 0), "a comment": end[:-2] + b"\3\0abc", "cut": end[:-1], "an end without its length": end[:-2] + b"\3\0a",
    }  # fmt: skip
    members: dict[str, list[tuple[str, str]]] = {
        "three": [("b.txt", "b"), ("a.txt", "a"), ("c/d.annv3.txt", "d")], "four": [(f"{n}.txt", "x") for n in range(4)], "a folder": [("a/", ""), ("a/b.txt", "b")], "clutter": [("__MACOSX/a", "x"), ("a.txt", "a")],
        "three thousand": [("a.txt", "abcdefghij" * 300)], "more": [("a.txt", "abcdefghij" * 300 + "x")], "names": [("/a", "x"), ("../b", "x"), ("c:/d", "x")], "more names": [("a\\b", "x"), ("a\tb", "x"), ("c/d.ZIP", "x")],
        "twice": [("a", "x"), ("a", "y")], "dots": [("a..b/c:d", "x")],
    }  # fmt: skip
    for case, own in members.items():
        buffer = io.BytesIO()
        with (
            warnings.catch_warnings(),
            zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            warnings.simplefilter("ignore")
            for name, content in own:
                archive.writestr(
                    zipfile.ZipInfo(name) if case == "names" else name, content
                )
        found[case] = buffer.getvalue()
    return found


# Options and baselines of every type.


def of_options() -> Iterator[tuple[str, Any]]:
    for name, (kind, _, given) in samples().items():
        names = [option.name for option in kind.all_options]
        yield (
            name,
            [
                kind.slug.partition("@")[0],
                digest(kind.reference),
                kind.metrics,
                kind.default_rule_set,
                names,
                kind.unit,
                [option.default for option in kind.all_options],
            ],
        )
        for option in kind.all_options:
            for value in (
                *option.choices,
                "",
                "3",
                "3,1",
                "3,,1",
                "3,3",
                "3, 1",
                "a,,b",
                "none:",
                "x:y",
            ):
                yield (
                    f"{name} {option.name}={value}",
                    _with_option(kind, {**given, option.name: value}, option.name),
                )
        shown = (
            kind.with_ranking_and_main_metrics("", ()),
            kind.with_ranking_and_main_metrics(kind.metrics[-1], ()),
            kind.with_ranking_and_main_metrics("", kind.metrics[:2]),
        )
        yield (
            f"{name} shown",
            [
                [
                    own.rank_by,
                    own.main_metrics[:3],
                    own.get_ranking_metric_name(own.default_rule_set, given),
                ]
                for own in shown
            ],
        )


def _with_option(kind: Any, options: dict[str, str], name: str) -> Any:
    try:
        checked = kind.validate_options(options)
        lacking = [
            kind.without_value(rules, checked) for rules in (*kind.rules, "none")
        ]
        return [
            checked.get(name, "").replace(str(ROOT), ""),
            [
                digest(list(map(str, kind.list_metrics_of_rule_set(rules, checked))))
                for rules in kind.rules
            ],
            digest(lacking),
        ]
    except ValueError as refusal:
        return str(refusal).replace(str(ROOT), "")


BASELINES = {
    "labels": (
        'labels = ["a", "b", "c"]\nprobabilities = "optional"',
        ("majority", "prior"),
    ),
    "several": ('labels = ["a", "b", "c"]\nseveral = true', ("majority", "prior")),
    "numbers": ("least = 0\nmost = 9", ("mean",)),
    "text": ("longest = 40", ("lead",)),
}


def of_baselines() -> Iterator[tuple[str, Any]]:
    for form, (answer, names) in BASELINES.items():
        for unit, train in itertools.product(("", "paper"), (False, True)):
            size = 1 if form == "numbers" and unit and not train else 7
            rows = [
                {
                    "id": f"i{n}",
                    "paper": f"p{n // 2}",
                    "text": " ".join(WORDS[n:] * 3),
                    "more": None if n else "m",
                    "gold": _gold_of(form, n),
                }
                for n in range(size)
            ]
            kind = {"several": "labels"}.get(form, form)
            measure = {"numbers": "mae", "text": "rouge_1", "several": "macro_f1"}.get(
                form, "accuracy"
            )
            toml = (
                f'[task]\nslug = "t"\ntitle = "T"\nform = "{kind}"\n' + f'unit = "{unit}"\n' * bool(unit) + '[task.gold]\nfield = "gold"\nshown = ["text", "more"]\n'
                + f'[task.answer]\n{answer}\n[[task.rules]]\nname = "corrected"\nmeasures = ["{measure}"]\n'
                + "".join(f'[[task.baselines]]\nname = "{own}"\n' + 'train = "train.jsonl"\n' * train for own in names)
            )  # fmt: skip
            found = read_declaration(
                {"task.toml": toml, "card.md": "x", "train.jsonl": lines(rows[:3])}
            )
            gold = [file("gold.jsonl", lines(rows))]
            for baseline in found.declared.baselines:
                told = [
                    baseline.summary,
                    baseline.learns_from_gold,
                    list(baseline.answers(gold)),
                ]
                yield (
                    f"{form} {baseline.name} {unit} {'trained' if train else ''}",
                    told,
                )


def _gold_of(form: str, number: int) -> Any:
    label = "aabcb"[number % 5]
    return {
        "labels": label,
        "several": [label, "c"][: 1 + number % 2 * (label != "c")],
        "numbers": number,
        "text": ["A reference."],
    }[form]


PARTS = {
    "proposals": of_proposals, "rankings": of_rankings, "lists": of_lists, "texts": of_texts, "problems": of_problems, "toml": of_toml,
    "probabilities": of_probabilities, "options": of_options, "archives": of_archives, "declared": of_declared, "baselines": of_baselines,
}  # fmt: skip


def of_part(part: str) -> Any:
    found = dict(PARTS[part]())
    assert not any(
        math.isnan(value) for value in found.values() if isinstance(value, float)
    )
    return json.loads(json.dumps(rounded(found)))


if __name__ == "__main__":
    FILE.write_text(written({part: of_part(part) for part in PARTS}) + "\n")
