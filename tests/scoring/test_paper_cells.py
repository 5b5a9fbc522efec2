"""The figures that the papers print, held to what is computed: as `make papers` does."""

import json

import pytest

from scoring.__main__ import main
from scoring.papers import cells
from scoring.stats.finding import Conclusion

PUBLISHED = {
    "id": "Table 1",
    "row_key": ["system"],
    "rows": [
        {
            "row": 1,
            "system": "lead",
            "values": {"R": 0.5, "P": 0.25},
            "printed": {"R": "0.50", "P": "0.25"},
        }
    ],
}
SET = """
[[cells]]
table = "Table 1"
program = "sizes"
reading = "ours"
ours = "data_sets|name=mice&instances=1|{metric}"
"""


@pytest.mark.shared
def test_cells_that_take_seconds_are_what_is_recorded(capsys, shared):
    assert main(["papers", "cells", "--quick", "--data", str(shared)]) == 0
    told = capsys.readouterr()
    assert "recorded" not in told.err
    assert "cl-summ-2014: 0 equal, 20 differs, 0 fails" in told.out
    assert "skipped" not in told.out


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """A paper of one row, whose program describes a data set of one instance."""
    data = tmp_path / "data"
    data.mkdir()
    line = {
        "id": "m-1",
        "dataset": "mice",
        "target": "Mice run.",
        "input": ["<abs> Mice. </abs>", "They run."],
    }
    (data / "mice.jsonl").write_text(json.dumps(line) + "\n")
    (tmp_path / "printed.json").write_text(json.dumps({"tables": [PUBLISHED]}))
    (tmp_path / "ours").mkdir()

    def write(words: str, *head: str) -> list[str]:
        lines = [
            'title = "Mice (Cat 2014)"',
            f"printed = {json.dumps(str(tmp_path / 'printed.json'))}",
            'programs.sizes = ["papers describe-citation-text --gold {data}/mice.jsonl --json"]',
            *head,
        ]
        (tmp_path / "mice.toml").write_text("\n".join(lines) + SET + words)
        return ["papers", "cells", "--data", str(data)]

    monkeypatch.setattr(cells, "HERE", tmp_path)
    return write


SIDES = {"more": {"metric": ["R"]}, "less": {"metric": ["P"]}}
NAMES = '[cells.names]\nmetric = { R = "instances", P = "output_words" }\n'


def test_a_figure_beyond_its_tolerance_fails_unless_a_reason_is_given(
    capsys, paper, tmp_path
):
    """One instance and an output of two words, where .50 and .25 are printed."""
    out = ["--out", str(tmp_path / "page.md")]
    assert main([*paper(NAMES), *out]) == 1
    assert (
        "Table 1 | lead | R | ours: printed 0.50, ours 1, and no reason is given"
        in capsys.readouterr().err
    )
    assert main([*paper(f'differs = "other mice"\n{NAMES}'), *out]) == 0
    assert "mice: 0 equal, 2 differs, 0 fails" in capsys.readouterr().out
    assert "Where *ours* differs: other mice." in (tmp_path / "page.md").read_text()
    assert (
        main([*paper(f'scale = 0.5\ntolerance = 0.76\nreason = "near"\n{NAMES}'), *out])
        == 0
    )
    assert "mice: 2 equal, 0 differs, 0 fails" in capsys.readouterr().out
    assert (
        "| lead | R, P | 0.50, 0.25 | **0.50**, **1.00** |"
        in (tmp_path / "page.md").read_text()
    )


def test_a_value_that_moves_is_told_and_data_that_are_not_there_are_skipped(
    capsys, paper, tmp_path
):
    command = paper(f'differs = "other mice"\n{NAMES}')
    assert main([*command, "--out", str(tmp_path / "page.md")]) == 0
    recorded = tmp_path / "ours" / "mice.json"
    recorded.write_text(recorded.read_text().replace("[1.0]", "[3.0]"))
    assert main(command) == 1
    assert "Table 1 | lead | R | ours: 1, recorded 3" in capsys.readouterr().err
    (tmp_path / "data" / "mice.jsonl").unlink()
    assert main(command) == 0
    assert (
        "mice: 2 skipped: mice.jsonl is not in the folder of corpora"
        in capsys.readouterr().out
    )


def test_a_conclusion_is_held_to_what_is_printed_and_to_what_is_computed(
    paper, tmp_path
):
    """Recall above precision: printed of one system alone, which cannot be told, and so ours."""
    table = {
        **PUBLISHED,
        "conclusions": [{"name": "mice recall", "by": ["system"], **SIDES}],
    }
    command = paper(f'differs = "other mice"\n{NAMES}')
    (tmp_path / "printed.json").write_text(json.dumps({"tables": [table]}))
    assert main([*command, "--out", str(tmp_path / "page.md")]) == 0
    line = "| mice recall | Table 1 | cannot be told: 1 of 1, +0.250 | *ours*: cannot be told: 0 of 1, -1.000 |"  # noqa: E501
    assert line in (tmp_path / "page.md").read_text()


def test_a_conclusion_that_no_figures_decide_is_decided_by_a_program_of_its_own(
    capsys, paper, tmp_path
):
    """Half of the texts cite one paper and half cite two; most of the former are answered, and few others."""
    lines = [
        {
            "id": f"m-{n:02}",
            "dataset": "mice",
            "target": f"Mice run {n} days.",
            "input": ["They run."] * cited,
        }
        for n, cited in enumerate([1] * 24 + [2] * 24)
    ]
    (tmp_path / "data" / "texts.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines)
    )
    answers = [
        {
            "id": line["id"],
            "prediction": line["target"]
            if number % 8 < 6 - 5 * (number // 24)
            else "Mice.",
        }
        for number, line in enumerate(lines)
    ]
    (tmp_path / "data" / "run.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in answers)
    )
    files = "--gold {data}/texts.jsonl --run {data}/run.jsonl"
    asked = f"citation-text {files} --metric rouge_l_f1 --dimension cited_papers"
    program = f'programs.sources = ["papers class-contrast {asked} --class 1 --json"]'
    finding = {
        "conclusion": "mice are easy",
        "program": "sources",
        "reading": "half against half",
    }
    table = {
        **PUBLISHED,
        "conclusions": [{"name": "mice are easy", "by": ["system"], **SIDES}],
    }
    (tmp_path / "printed.json").write_text(json.dumps({"tables": [table]}))
    worse = [{**answer, "prediction": "Mice."} for answer in answers]
    (tmp_path / "data" / "worse.jsonl").write_text(
        "".join(json.dumps(answer) + "\n" for answer in worse)
    )
    asked_of_two = f"compare citation-text {files} --run {{data}}/{{less}}.jsonl --json"
    pair = {
        **finding,
        "program": "pairs",
        "reading": "run against run",
        "ours": "metrics|rouge_l_f1",
    }
    told = "\n".join(
        "\n".join(
            [
                "[[findings]]",
                *(f"{name} = {json.dumps(value)}" for name, value in one.items()),
            ]
        )
        for one in (finding, pair)
    )
    told += '\nruns = { less = "worse" }\n'
    programs = program, f'programs.pairs = ["{asked_of_two}"]'
    command = paper(f'differs = "other mice"\n{NAMES}\n{told}', *programs)
    assert main([*command, "--out", str(tmp_path / "page.md")]) == 0
    page = (tmp_path / "page.md").read_text()
    assert "*half against half*: holds: 1 of 1, +37.500 [" in page
    assert "*run against run*: holds: 1 of 1, +" in page
    words = asked.format(data=tmp_path / "data").split()
    assert main(["papers", "class-contrast", *words, "--class", "7"]) == 2
    assert "--class 7: expected one of 1, 2" in capsys.readouterr().err


def test_a_conclusion_may_be_of_every_figure():
    figures = [
        ({"window": str(place // 2), "group": "ab"[place % 2]}, value)
        for place, value in enumerate((0.5, 0.4, 0.55, 0.4, 0.6, 0.4))
    ]
    sides = {"more": {"group": ["a"]}, "less": {"group": ["b"]}}
    every = Conclusion(name="a beats b", by=["window"], of="every", **sides)
    assert (every.finding(figures).above, every.finding(figures).holds) == (3, True)
    worse = [*figures, ({"window": "0", "group": "a"}, 0.1)]
    assert (every.finding(worse).above, every.finding(worse).holds) == (2, None)


def test_a_figure_stands_on_a_side_where_all_that_is_wanted_holds():
    figures = [
        ({"a": "1", "b": "1"}, 0.5),
        ({"a": "1", "b": "2"}, 0.9),
        ({"a": "2", "b": "1"}, 0.1),
    ]
    conclusion = Conclusion(
        name="x", by=(), more={"a": ["1"], "b": ["1"]}, less={"a": ["2"], "b": ["1"]}
    )
    assert conclusion.sides(figures) == [([figures[0]], [figures[2]])]
