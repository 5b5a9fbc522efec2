"""The figures that the papers print, held to what is computed: as `make papers` does."""

import json
from dataclasses import replace

import pytest

from scoring.__main__ import main
from scoring.papers import cells, clsumm_literal, resolution_sweep
from scoring.stats.finding import PaperConclusion
from scoring.tools.baselines import resolution
from tests.tasks.types.corpus import write_topic

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
SIZES = """program = "sizes"
ours = "data_sets|name=mice&instances=1|{metric}"
"""
SET = """
[[cells]]
table = "Table 1"
reading = "ours"
"""


@pytest.mark.slow
@pytest.mark.shared
def test_cells_that_take_seconds_are_what_is_recorded(capsys, shared):
    """160 figures in 14 seconds of one processor, as `time` counts them."""
    assert main(["papers", "cells", "--quick", "--data", str(shared)]) == 0
    told = capsys.readouterr()
    assert "recorded" not in told.err
    assert "cl-summ-2014: 0 equal, 0 compatible, 89 differs, 0 fails" in told.out
    assert "citebench-2023: 0 equal, 12 compatible, 3 differs, 0 fails" in told.out
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
    (tmp_path / "bounds").mkdir()

    def write(words: str, *head: str, **bounds: str) -> list[str]:
        lines = [
            'title = "Mice (Cat 2014)"',
            f"printed = {json.dumps(str(tmp_path / 'printed.json'))}",
            'programs.sizes = ["papers describe-citation-text --gold {data}/mice.jsonl --json"]',
            *head,
        ]
        (tmp_path / "mice.toml").write_text(
            "\n".join(lines)
            + SET
            + ("" if words.startswith("program") else SIZES)
            + words
        )
        stated = [
            f'"Table 1 | lead | {metric} | ours" = "{difference}"'
            for metric, difference in bounds.items()
        ]
        (tmp_path / "bounds" / "mice.toml").write_text("\n".join(stated))
        return ["papers", "cells", "--data", str(data)]

    monkeypatch.setattr(cells, "CELL_DECLARATIONS_FOLDER", tmp_path)
    return write


@pytest.mark.shared
@pytest.mark.proof
def test_all_cells_are_what_is_recorded(capsys, shared):
    assert main(["papers", "cells", "--data", str(shared)]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert "skipped" not in told.out


def test_the_cells_of_citation_resolution_fail_if_accuracies_are_halved(
    monkeypatch, tmp_path
):
    """The sweep gives as many successes as are recorded, of 205 contexts."""
    [paper] = cells.papers(["citation-resolution-2014"])
    [own] = paper.sets
    recorded = {
        (
            own.name("system", cell.row["system"]),
            own.name("window", cell.row["window"]),
        ): (round(205 * paper.recorded_values[cell.key][0]))
        for cell in paper.cells()
    }
    swept = {
        (method, window): [place < successes for place in range(205)]
        for method in resolution.make_all_methods()
        for window in resolution.QUERY_WINDOW_BY_NAME.values()
        if (successes := recorded.get((method.name, str(window)))) is not None
    }
    facts = dict.fromkeys(("papers", "contexts", "candidates", "cited_elsewhere"), 1)
    monkeypatch.setattr(
        resolution_sweep,
        "sweep_methods_and_windows",
        lambda *of, **rules: (swept, facts),
    )
    (tmp_path / "scisumm").mkdir()

    def checked() -> tuple[list[str], list[str]]:
        values = cells.compute_figures(paper, tmp_path).values
        assert len(values) == 65
        return cells.describe_changed_values(
            paper, values
        ), cells.describe_deviating_figures(paper, values)

    assert checked() == ([], [])
    accuracy = resolution_sweep._compute_accuracy
    monkeypatch.setattr(
        resolution_sweep, "_compute_accuracy", lambda cell: accuracy(cell) / 2
    )
    moved, failing = checked()
    assert (len(moved), len(failing)) == (65, 65)


def test_a_cell_moves_if_the_rule_for_equal_sentences_is_reversed(
    capsys, monkeypatch, paper, tmp_path
):
    """Three sentences of the topic are equally unlike the citance: the first of them is cited."""
    write_topic(
        tmp_path / "data", "P01-0001", [("D05-0001", "3", ["0"], "Aim_Citation")]
    )
    files = "--gold {data}/P01-0001"
    program = [
        f"baseline clsumm-taln-literal {files} --out {{work}}/run.jsonl",
        f"score clsumm-1a {files} --intervals 0 --run {{work}}/run.jsonl --json",
    ]
    taln = f"""program = "taln"
ours = "metrics|overlap_recall_micro|value"
differs = "another corpus"
{NAMES}"""
    of_first = {"R": "+0.50", "P": "+0.75"}
    command = paper(taln, f"programs.taln = {json.dumps(program)}", **of_first)
    assert main([*command, "--out", str(tmp_path / "page.md")]) == 0
    assert main(command) == 0
    of_last = lambda equal, sections, places: max(equal)  # noqa: E731
    monkeypatch.setattr(clsumm_literal, "choose_from_commonest_section", of_last)
    capsys.readouterr()
    assert main(command) == 1
    assert "Table 1 | lead | R | ours: 0, recorded 1" in capsys.readouterr().err


@pytest.mark.shared
@pytest.mark.proof
def test_the_pilots_cells_move_if_the_rule_for_equal_sentences_is_reversed(
    monkeypatch, shared
):
    [paper] = cells.papers(["cl-summ-2014"])
    [own] = [
        one
        for one in paper.sets
        if (one.table, one.reading) == ("Table 2", "to the letter")
    ]
    paper.sets = [replace(own, where={"system": "TALN.UPF"})]
    paper.findings = []
    as_recorded = cells.compute_figures(paper, shared).values
    assert len(as_recorded) == 3
    assert cells.describe_changed_values(paper, as_recorded) == []
    of_last = lambda equal, sections, places: max(equal)  # noqa: E731
    monkeypatch.setattr(clsumm_literal, "choose_from_commonest_section", of_last)
    assert (
        len(
            cells.describe_changed_values(
                paper, cells.compute_figures(paper, shared).values
            )
        )
        == 3
    )


SIDES = {"more": {"metric": ["R"]}, "less": {"metric": ["P"]}}
NAMES = '[cells.names]\nmetric = { R = "instances", P = "output_words" }\n'


OTHER_MICE = 'differs = "other mice"\n'
#: One instance and an output of two words, where .50 and .25 are printed.
BOUNDS = {"R": "+0.50", "P": "+1.75"}


def test_a_figure_that_differs_fails_unless_reason_and_bound_are_given(
    capsys, paper, tmp_path
):
    out = ["--out", str(tmp_path / "page.md")]
    assert main([*paper(NAMES, **BOUNDS), *out]) == 1
    assert (
        "Table 1 | lead | R | ours: printed 0.50, ours 1, and no reason is given"
        in capsys.readouterr().err
    )
    assert main([*paper(f"{OTHER_MICE}{NAMES}", R="+0.50"), *out]) == 1
    told = capsys.readouterr()
    assert "ours 2; the difference is +1.75, expected is an equal figure" in told.err
    assert "| R | ours" not in told.err
    assert main([*paper(f"{OTHER_MICE}{NAMES}", **BOUNDS), *out]) == 0
    assert "0 equal, 0 compatible, 2 differs, 0 fails" in capsys.readouterr().out
    page = (tmp_path / "page.md").read_text()
    assert "Where *ours* differs: other mice." in page
    assert "| lead | R, P | 0.50, 0.25 | 1.00 (+0.50), 2.00 (+1.75) |" in page


@pytest.mark.parametrize(
    ("stated", "holds"),
    [
        ("+1.75", True),
        ("+1.74", False),
        ("+1.76", False),
        ("-1.75", False),
        ("+0.00", False),
        ("+1.7", False),
    ],
)
def test_a_bound_is_as_wide_as_the_last_printed_decimal(paper, tmp_path, stated, holds):
    command = paper(f"{OTHER_MICE}{NAMES}", R="+0.50", P=stated)
    code = main([*command, "--out", str(tmp_path / "page.md")])
    assert (code == 0) is holds


def test_a_figure_that_becomes_equal_fails_until_its_stated_difference_goes(
    capsys, paper, tmp_path
):
    """Half of two words are printed as 1.00 elsewhere: the difference that was stated is gone."""
    out = ["--out", str(tmp_path / "page.md")]
    half = f'scale = 0.5\ndiffers = "half of the mice"\n{NAMES}'
    assert main([*paper(half, R="+0.10", P="+0.75"), *out]) == 1
    assert (
        "R | ours: printed 0.50, ours 0.5; the difference is +0.00, expected is +0.10"
        in capsys.readouterr().err
    )
    assert main([*paper(half, P="+0.75"), *out]) == 0


def test_a_figure_is_compatible_within_its_tolerance_and_equal_as_far_as_it_is_printed(
    capsys, paper, tmp_path
):
    out = ["--out", str(tmp_path / "page.md")]
    near = 'scale = 0.5\ntolerance = 0.76\nreason = "near"\n'
    assert main([*paper(near + NAMES, P="+0.75"), *out]) == 0
    assert "1 equal, 1 compatible, 0 differs, 0 fails" in capsys.readouterr().out
    page = (tmp_path / "page.md").read_text()
    assert "| lead | R, P | 0.50, 0.25 | **0.50**, *1.00* |" in page


def test_a_value_that_moves_is_recorded_only_if_it_is_accepted(capsys, paper, tmp_path):
    command = paper(f"{OTHER_MICE}{NAMES}", **BOUNDS)
    out = ["--out", str(tmp_path / "page.md")]
    assert main(command) == 1
    assert "R | ours: 1, and nothing is recorded" in capsys.readouterr().err
    assert main([*command, *out]) == 0
    recorded = tmp_path / "ours" / "mice.json"
    right = recorded.read_text()
    recorded.write_text(wrong := right.replace("[1.0]", "[3.0]"))
    (tmp_path / "page.md").unlink()
    for asked in (command, [*command, "--accept"], [*command, *out]):
        assert main(asked) == 1
        assert "Table 1 | lead | R | ours: 1, recorded 3" in capsys.readouterr().err
        assert recorded.read_text() == wrong
    assert not (tmp_path / "page.md").exists()
    assert main([*command, *out, "--accept"]) == 0
    assert recorded.read_text() == right
    capsys.readouterr()
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
    command = paper(f"{OTHER_MICE}{NAMES}", **BOUNDS)
    (tmp_path / "printed.json").write_text(json.dumps({"tables": [table]}))
    assert main([*command, "--out", str(tmp_path / "page.md")]) == 0
    line = "| mice recall | Table 1 | cannot be decided: 1 of 1, +0.250 | *ours*: cannot be decided: 0 of 1, -1.000 |"  # noqa: E501
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
    command = paper(f"{OTHER_MICE}{NAMES}\n{told}", *programs, **BOUNDS)
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
    every = PaperConclusion(name="a beats b", by=["window"], of="every", **sides)
    assert (every.finding(figures).above, every.finding(figures).holds) == (3, True)
    worse = [*figures, ({"window": "0", "group": "a"}, 0.1)]
    assert (every.finding(worse).above, every.finding(worse).holds) == (2, None)


def test_a_figure_stands_on_a_side_where_all_that_is_wanted_holds():
    figures = [
        ({"a": "1", "b": "1"}, 0.5),
        ({"a": "1", "b": "2"}, 0.9),
        ({"a": "2", "b": "1"}, 0.1),
    ]
    conclusion = PaperConclusion(
        name="x", by=(), more={"a": ["1"], "b": ["1"]}, less={"a": ["2"], "b": ["1"]}
    )
    assert conclusion.group_compared_figures(figures) == [([figures[0]], [figures[2]])]
