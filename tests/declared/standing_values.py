"""What becomes of gold and answers with odd values, in each form and spelling, as the file beside this says.

    python -m tests.declared.standing_values

writes the file anew, for a change that is meant.
"""

# Tables of cases are read across.
# ruff: noqa: E501

import csv
import dataclasses
import io
from pathlib import Path
from typing import Any

from tasks.types.declared.folder import read_declaration
from tasks.types.problems import InputRefused
from tests.scoring.standing_numbers import digest, said, written
from tests.tasks.types.standing_reading import file, lines

FILE = Path(__file__).with_suffix(".json")
#: The form, what [task.answer] says, sound gold, a sound answer.
FORMS: dict[str, tuple[str, str, Any, Any]] = {
    "labels": ("labels", 'labels = ["a", "b", "3"]', "a", "b"),
    "all of labels": ("labels", 'labels = ["a", "b", "3"]\nabstain = "none"\nprobabilities = "optional"\nconfidence = "optional"', "a", "b"),
    "needed": ("labels", 'labels = ["a", "b"]\nfield = "mine"\nprobabilities = "needed"\nconfidence = "needed"', "a", "b"),
    "several": ("labels", 'labels = ["a", "b", "3"]\nseveral = true', ["a"], ["a", "b"]),
    "any of": ("labels", 'labels = ["a", "b", "3"]\nany_of = true', ["a", "b"], "b"),
    "numbers": ("numbers", "least = 0\nmost = 4\nstep = 1", 2, 2.5),
    "labels of a table": ("labels", 'labels = ["a", "b", "3"]\nabstain = "none"', "a", "b"),
    "numbers of a table": ("numbers", "least = -2\nmost = 4", 2, 2.5),
    "any numbers": ("numbers", 'reduce = "median"', [2, 3], -2.5),
    "numbers up": ("numbers", "least = 1.5\nstep = 0.5", 2, 3),
    "text": ("text", "longest = 9", ["one", "two"], "three"),
    "spans": ("spans", 'labels = ["A", "B"]\ntext = "text"', [[0, 3, "A"]], [[0, 3, "B"]]),
    "spans over others": ("spans", 'overlap = true\ntext = "text"', [[0, 3], [1, 4]], [[0, 3]]),
    "ranking": ("ranking", "longest = 2", {"W1": 2, "W2": 0}, ["W2", "W1"]),
    "own candidates": ("ranking", 'candidates = "own"', ["W1"], ["W2", "W1"]),
    "evidence": ("evidence", 'shape = "sets"\nlabels = ["S", "R"]\ngiven = "docs"', {"d1": [{"sentences": [0], "label": "S"}]}, {"d1": {"sentences": [0, 1], "label": "S"}}),
    "evidence of one": ("evidence", 'shape = "one"\nlabels = ["S", "R"]\nabstain = "N"', [["d1:0"]], ["d1:0", "d1:1"]),
}  # fmt: skip
MEASURES = {
    "labels": "accuracy",
    "several": "macro_f1",
    "numbers": "mae",
    "text": "rouge_1",
    "spans": "strict_f1",
    "ranking": "map",
    "evidence": "sentence_label_f1",
    "evidence of one": "label_accuracy",
}
ODD: tuple[Any, ...] = (
    ..., None, "", " ", "a", "b", "z", "3", "none", "x" * 9, "x" * 10, "\ud800", 0, 1, 3, -1, 4, 5, 1.5, 2.25, 1e149, -1e151, True, False,
    [], [""], ["a"], ["a", "a"], ["b", "a"], ["a", "z"], [3], [1, 2], [True], [None], "W1", "W3", ["W1"], ["W1", "W1"], ["W2", "W1"], ["W9"], ["W1", "W2", "W3"], [1, "W1"],
    {}, {"W1": 1}, {"W1": 0}, {"W1": -1}, {"W1": 100}, {"W9": 101}, {"W1": True}, {"W1": 1.5}, {"a": 0.5, "b": 0.5}, {"label": "a"},
    [[0, 3]], [[0, 3, "A"]], [[0, 3, "Z"]], [[3, 3, "A"]], [[3, 0]], [[0, 12, "B"]], [[0, 13, "B"]], [[-1, 3]], [[0, 3, "A"], [0, 3, "A"]], [[0, 3, "A"], [2, 5, "B"]], [[0, 3, "A"], [3, 5, "B"]], [["0", 3, "A"]], [[True, 3]], [0, 3],
    {"d1": {"sentences": [0, 1], "label": "S"}}, {"d1": {"sentences": [2], "label": "S"}}, {"d1": {"sentences": [-1], "label": "R"}}, {"d1": {"sentences": [], "label": "N"}}, {"d1": {"sentences": 0, "label": "S"}}, {"d1": {"sentences": [True], "label": "Z"}}, {"d1": {"sentences": [0]}}, {"d9": {"sentences": [0], "label": "S"}}, {"d1": 3},
    {"d1": [{"sentences": [0, 1], "label": "S"}]}, {"d1": [{"sentences": [0], "label": "S"}, {"sentences": [1], "label": "S"}]}, {"d1": [{"sentences": [0], "label": "S"}, {"sentences": [0], "label": "S"}]}, {"d1": [{"sentences": [0], "label": "S"}, {"sentences": [1], "label": "R"}]},
    {"d1": []}, {"d1": [3]}, {"d1": [{"sentences": [], "label": "S"}]}, {"d1": [{"sentences": [9], "label": "S"}]}, {"d1": [{"sentences": [1, 2], "label": "S"}]}, {"d9": [{"sentences": [0], "label": "S"}]}, {"d1": [{"label": "S"}]},
    [["d1:0"], ["d1:1", "d2:0"]], [["d1:9"]], [["d9:0"]], [[]], ["d1:0"], ["d1:0", "d1:0"], ["d1:1", "d2:1"], ["d1"], ["d1:x"], ["d1:0123456789"], ["d1:2"], [["d1:0", 3]],
)  # fmt: skip
#: Fields that stand beside an answer, and odd values of theirs.
BESIDE = {
    "probabilities": (None, {}, [], {"a": 1}, {"a": 0.5, "b": 0.5}, {"a": 0.5, "b": 0.4}, {"a": 0.5, "b": 0.501}, {"a": -0.1, "b": 1.1}, {"a": 1.5}, {"z": 1}, {"a": True}, {"a": "1"}),
    "confidence": (None, 0, 1, 0.5, -0.1, 1.1, True, "1", []),
    "label": (None, "S", "R", "N", "Z", "", 3),
    "docs": (None, [], ["d1"], ["d9"], "d1", [3], [""]),
    "own": (None, [], ["W1"], ["W1", "W2", "W2"], "W1", [3], ["W2"]),
    "text": (None, "", "one two three", "one two thre", 3, ["one", "two"]),
    "paper": (None, "", "p", 3, True, [], 1.5),
    "id": (None, "", "i1", "i2", 3, True, 1.5, [], "\ud800"),
}  # fmt: skip
POOLS = {
    "ranking": ('[task.pool]\nfile = "pool.jsonl"\n', [file("pool.jsonl", lines({"id": f"W{n}", "text": "t"} for n in range(1, 4)))]),
    "evidence": ('[task.pool]\nfile = "corpus.jsonl"\n', [file("corpus.jsonl", lines({"doc_id": f"d{n}", "abstract": ["one", "two"]} for n in (1, 2)))]),
}  # fmt: skip


def outcomes(case: str) -> dict[str, Any]:
    """By what is odd a digest of what each value leads to."""
    form, answer, gold, given = FORMS[case]
    pool, files = POOLS.get(form, ("", [])) if "candidates" not in answer else ("", [])
    measure, table = (
        MEASURES.get(case, MEASURES[form]),
        'files = "csv"\n' if "table" in case else "",
    )
    toml = (
        f'[task]\nslug = "t"\ntitle = "T"\nform = "{form}"\nunit = "paper"\ndimensions = ["gold", "paper"]\n[task.gold]\nfield = "gold"\nshown = ["text"]\n{table}'
        f'[task.answer]\n{answer}\n[[task.rules]]\nname = "corrected"\nmeasures = ["{measure}"]\n{pool}'
    )
    kind = read_declaration({"task.toml": toml})
    key = kind.pair.__self__.run_answer_key
    more = {"label": "S"} if "of one" in case else {}
    beside = {
        "id": "i2",
        "paper": "p",
        "text": "one two thre",
        "docs": ["d1"],
        "own": ["W1", "W2"],
        **more,
    }
    sure = (
        {"probabilities": {"a": 0.5, "b": 0.5}, "confidence": 0.5}
        if case == "needed"
        else {}
    )
    first = {**beside, "id": "i1", "gold": gold}

    def of_gold(row: dict[str, Any]) -> Any:
        return _read(kind, [*files, _gold(case, [first, row])], None)

    def of_run(row: dict[str, Any]) -> Any:
        rows = [first, {**beside, "gold": gold}]
        return _read(
            kind,
            [*files, _gold(case, rows)],
            [file("run.jsonl", lines([{"id": "i1", key: given, **more, **sure}, row]))],
        )

    found = {
        "gold": [of_gold(_with({**beside, "gold": gold}, "gold", odd)) for odd in ODD]
    }
    found["answer"] = [
        of_run(_with({"id": "i2", key: given, **more, **sure}, key, odd)) for odd in ODD
    ]
    for name, values in BESIDE.items():
        found[f"gold's {name}"] = [
            of_gold(_with({**beside, "gold": gold}, name, odd))
            for odd in (..., *values)
        ]
        found[f"answer's {name}"] = [
            of_run(_with({"id": "i2", key: given, **more, **sure}, name, odd))
            for odd in (..., *values)
        ]
    return {name: [digest(own) for own in values] for name, values in found.items()}


def _gold(case: str, rows: list[dict[str, Any]]) -> Any:
    if "table" not in case:
        return file("gold.jsonl", lines(rows))
    text = io.StringIO()
    writer = csv.DictWriter(text, [*dict.fromkeys(key for row in rows for key in row)])
    writer.writeheader()
    writer.writerows(
        {key: str(own).replace("\ud800", "?") for key, own in row.items()}
        for row in rows
    )
    return file("gold.csv", text.getvalue())


#: Lines of gold in TREC's form.
QRELS = (
    "q1 0 W1 2",
    "q1 0 W2 -1",
    "q1 0 W2 0",
    "q2 0 W3 100",
    "q2 0 W3 101",
    "q2 0 W1",
    "q2 0 W1 1 x",
    "q2 0 W1 1.5",
    "q2 0 W1 --1",
    "q2 0 W1 -",
    "q2 0 W9 1",
    "",
    "  ",
    "q2 0 W1 1" + "0" * 9,
)


def of_qrels() -> dict[str, Any]:
    """By line what it leads to behind a sound one."""
    pool, files = POOLS["ranking"]
    toml = (
        '[task]\nslug = "t"\ntitle = "T"\nform = "ranking"\n[task.gold]\nfield = "gold"\nfiles = "trec"\n'
        f'[[task.rules]]\nname = "corrected"\nmeasures = ["map"]\n{pool}'
    )
    kind = read_declaration({"task.toml": toml})
    return {
        line: _read(
            kind, [*files, file("gold.qrels", f"q0 0 W1 1\n{line}\nq0 0 W3 2\n")], None
        )
        for line in QRELS
    }


def _with(row: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    return {key: own for key, own in {**row, name: value}.items() if own is not ...}


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return _plain([getattr(value, own.name) for own in dataclasses.fields(value)])
    if isinstance(value, frozenset | set):
        return sorted(map(str, value))
    if isinstance(value, dict):
        return {str(key): _plain(own) for key, own in value.items()}
    return (
        [_plain(own) for own in value]
        if isinstance(value, list | tuple)
        else str(value)
    )


def _read(kind: Any, gold: Any, run: Any) -> Any:
    try:
        options = kind.validate_options({})
        split = kind.gold_of(gold, options)
        if run is None:
            told = list(kind.unreachable(gold, split)) if kind.unreachable else []
            if kind.declared.form != "ranking":
                pairs = kind.pairs_of(split, {}, "corrected", options)
                told += [
                    str(one) for one in kind.show_instances(gold, split, pairs, options)
                ]
            return [
                told,
                [_plain(one.gold) for one in split.content.instances],
                split.get_digest_under_rule(1),
                digest(split.index),
                list(map(str, kind.contents(gold, split))),
            ]
        answers, problems = kind.read_run(run, split.index, options)
        if any(one.fatal for one in problems):
            return said(problems)
        pairs = kind.pairs_of(split, answers, "corrected", options)
        shown = [str(one) for one in kind.show_instances(gold, split, pairs, options)]
        return [
            said(problems),
            {
                name: [_plain(own), vars(own) if hasattr(own, "__dict__") else None]
                for name, own in answers.items()
            }
            if isinstance(answers, dict)
            else None,
            shown,
            pairs.notes,
            list(kind.filled(answers, split.index)),
        ]
    except InputRefused as refused:
        return said(refused.problems)


if __name__ == "__main__":
    FILE.write_text(
        written({"qrels": of_qrels(), **{case: outcomes(case) for case in FORMS}})
        + "\n"
    )
