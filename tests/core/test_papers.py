"""What the page on the papers names exists, and every figure that they print is held to something."""

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from django.core.management import get_commands

from scoring.__main__ import (
    COMMANDS_MOVED_TO_PAPERS,
    UNAVAILABLE_EXIT_CODE,
    build_argument_parser,
    main,
)
from scoring.papers.cells import (
    DATA_FORM_UNSEEN,
    DATA_READABLE,
    EQUAL,
    FAILS,
    MISSING_DATA_KINDS,
    count_cell_states,
    describe_deviating_figures,
    determine_cell_states,
    papers,
)
from scoring.papers.cells.page import render_page as written
from scoring.tools.baselines import PAPERS_MISSING_ADVICE, baselines
from scripts.write_reference import _addresses
from tasks.types import task_types

#: The papers' rows, as they were gone through; none may be lost.
ROWS = {"1": 20, "2": 30, "3": 21, "4": 21, "5": 22}


@pytest.fixture
def page(root: Path) -> str:
    return (root / "docs" / "papers.md").read_text(encoding="utf-8")


def rows(page: str) -> list[tuple[str, str, str, str]]:
    """Number, what, where and remark."""
    return re.findall(
        r"^\| ([1-5]\.\d+) \| (.+?) \| (.*?)\s*\| (.*?) \|$", page, re.MULTILINE
    )


def commands() -> dict[str, set[str]]:
    """The flags of each command of the offline scorer."""
    [found] = [
        action.choices for action in build_argument_parser()._actions if action.choices
    ]
    [papers] = [action.choices for action in found["papers"]._actions if action.choices]
    found = {**found, **{f"papers {name}": command for name, command in papers.items()}}
    return {
        name: set(command._option_string_actions) for name, command in found.items()
    }


def names() -> set[str]:
    """Metrics, classes, options and baselines of all task types."""
    found = set(baselines())
    for task_type in task_types().values():
        found |= {*task_type.dimensions, *task_type.metrics}
        found |= {option.name for option in task_type.options}
    return found


def test_every_row_of_the_papers_is_there_once(page):
    numbers = [row[0] for row in rows(page)]
    assert numbers == [
        f"{paper}.{row}" for paper, count in ROWS.items() for row in range(1, count + 1)
    ]


def test_the_page_is_written_from_rows_cells_and_recorded_values(page):
    assert page == written(papers())


def test_every_printed_figure_is_computed_or_says_why_it_cannot_be():
    for paper in papers():
        printed = {
            (name, row["row"], *map(str, map(row.get, table["row_key"])), metric)
            for name, table in paper.tables.items()
            for row in table["rows"]
            for metric in row["values"]
        }
        held = {
            (cell.cells.table, cell.row["row"], *cell.label, cell.metric): state
            for cells in determine_cell_states(paper).values()
            for cell, state in cells
        }
        assert set(held) == printed
        assert FAILS not in held.values()
        computed = [cell for cell in paper.cells() if not cell.cells.cannot]
        assert {one.key for one in (*computed, *paper.findings)} == set(
            paper.recorded_values
        )
        assert all(cell.cells.reading for cell in computed)
        known = commands()
        for one in paper.sets:
            assert bool(one.cannot) == (one.kind in MISSING_DATA_KINDS)
            assert bool(one.address) == (one.kind in (DATA_FORM_UNSEEN, DATA_READABLE))
            assert bool(one.reader) == (one.kind == DATA_READABLE)
            assert not one.reader or one.reader.removeprefix("scoring ") in known
    assert (
        sum((count_cell_states(paper) for paper in papers()), Counter()).total()
        == 1_556
    )


def test_a_bound_is_stated_of_each_computed_figure_that_is_not_equal_and_of_no_other():
    for paper in papers():
        computed = {cell.key: cell for cell in paper.cells() if not cell.cells.cannot}
        assert set(paper.bounds) <= set(computed)
        for key, cell in computed.items():
            ours = paper.recorded_values[key]
            assert cell.stated == (
                "" if cell.state(ours) == EQUAL else cell.format_difference(ours)
            )


def test_no_figure_passes_with_another_value_as_far_as_it_is_printed():
    """Each alone: a twentieth more, unless that is less than the last decimal, and that decimal moved."""
    for paper in papers():
        for cell in paper.cells():
            if (ours := paper.recorded_values.get(cell.key)) is None:
                continue
            unit = 1.01 * 10**-cell.digits
            wrong = [ours[0] + unit, ours[0] - unit]
            wrong += [1.05 * ours[0]] if 0.05 * abs(ours[0]) > unit else []
            for value in wrong:
                assert cell.state([value, *ours[1:]]) == FAILS, cell.key


@pytest.mark.parametrize("factor", [1.05, 0.001])
def test_no_table_passes_with_values_that_are_all_too_high_or_next_to_nothing(factor):
    for paper in papers():
        assert describe_deviating_figures(paper, paper.recorded_values) == []
        tables = defaultdict(dict)
        for cell in paper.cells():
            if cell.key in paper.recorded_values:
                wrong = [factor * value for value in paper.recorded_values[cell.key]]
                tables[cell.cells.table][cell.key] = wrong
        assert tables or not paper.recorded_values
        assert [
            name
            for name in tables
            if not describe_deviating_figures(paper, tables[name])
        ] == []


def test_every_command_page_and_name_of_the_rows_exists(page, root):
    known, pages, words = (
        commands(),
        {row[0].strip("`") for row in _addresses()},
        names(),
    )
    missing = []
    for number, _, where, _ in rows(page):
        for span in re.findall(r"`([^`]+)`", where):
            first, *further = span.split()
            if first == "scoring":
                command, *flags = further
                if command == "papers":
                    command, *flags = f"papers {flags[0]}", *flags[1:]
                fine = command in known and set(flags) <= known[command]
            elif first == "manage.py":
                fine = further[0] in get_commands()
            elif first == "python":
                fine = (root / further[0]).is_file()
            else:
                fine = span in (pages if span.startswith("/") else words)
            if not fine:
                missing.append((number, span))
    assert missing == []


def test_the_old_names_of_commands_still_do_and_say_the_new_one(capsys):
    for name in COMMANDS_MOVED_TO_PAPERS:
        with pytest.raises(SystemExit) as ended:
            main([name, "--no-such-option"])
        assert ended.value.code == 2
        assert f"“{name}” is called “papers {name}” now" in capsys.readouterr().err


def test_where_the_room_is_left_out_commands_say_so_and_its_baselines_are_not_there(
    monkeypatch, capsys
):
    monkeypatch.setattr("scoring.tools.baselines.find_spec", lambda name: None)
    baselines.cache_clear()
    try:
        for words in (["papers", "cells"], ["human"], ["papers"]):
            assert main(words) == UNAVAILABLE_EXIT_CODE
            assert PAPERS_MISSING_ADVICE in capsys.readouterr().err
        names = [name for name in baselines() if name.startswith("clsumm-")]
        assert "clsumm-taln" in names
        assert not [name for name in names if name.endswith("-literal")]
        assert (
            main(["baseline", "clsumm-taln-literal", "--gold", "x", "--out", "x"]) == 2
        )
        assert PAPERS_MISSING_ADVICE in capsys.readouterr().err
    finally:
        baselines.cache_clear()
