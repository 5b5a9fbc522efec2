"""Sheets of samples and estimated scores of runs, as an organiser computes them with the offline scorer."""

import json
from pathlib import Path

import numpy as np
import pytest

from scoring.__main__ import main
from tests.scoring.estimating import KINDS, REPORTS, World, write
from tests.scoring.offline import score
from tests.tasks.types.citations import RAIN, write_gold, write_parses, write_run

CITATIONS = "positional-citations"
MEASURES = {"nuggets": "nuggets_all", "citations": "citation_precision"}


@pytest.fixture
def world(tmp_path):
    return World(tmp_path)


def systems(facts: dict, measure: str) -> dict[str, dict]:
    return {row["run"]: row for row in facts["measures"][measure]["systems"]}


@pytest.mark.parametrize("of", ["nuggets", "citations"])
def test_a_sheet_asks_so_many_units_of_each_run_and_names_no_run(world, of):
    head, *rows = world.sheet(of, "--labels", "30")
    assert head["kind"] == KINDS[of]
    assert len(rows) == 60
    assert {*map(tuple, rows)} == {("texts", "label")}
    assert all(row["label"] == "" for row in rows)


def test_the_seed_draws_the_sheet(world):
    first = world.sheet("nuggets", "--labels", "10", "--seed", "1")
    assert world.sheet("nuggets", "--labels", "10", "--seed", "1") == first
    assert world.sheet("nuggets", "--labels", "10", "--seed", "2") != first


def test_a_text_that_two_runs_share_is_asked_once(world):
    world.runs.append(
        write(
            world.folder / "c.jsonl",
            [json.loads(line) for line in world.runs[0].read_text().splitlines()],
        )
    )
    assert len(world.sheet("citations", "--labels", "30")) == 61


@pytest.mark.parametrize("of", ["nuggets", "citations"])
def test_estimates_stand_beside_the_boards_scores(capsys, world, of):
    people = world.filled(world.sheet(of, "--labels", "48"))
    facts = world.estimates(capsys, of, people, "--labels", "48")
    measure = MEASURES[of]
    for run, row in systems(facts, measure).items():
        board = score(
            capsys,
            REPORTS,
            [world.gold],
            world.folder / run,
            *world.judged(KINDS[of]),
            "--intervals",
            "0",
        )
        assert row["judge"] == pytest.approx(board["metrics"][measure]["value"])
        assert row["labels"] == 48
        assert row["low"] < row["estimated"] < row["high"]
        assert row["worth"] >= 48


@pytest.mark.parametrize("of", ["nuggets", "citations"])
def test_labels_of_every_unit_give_the_score_by_people(capsys, world, of):
    rows = world.sheet(of, "--labels", "1000")
    facts = world.estimates(capsys, of, world.filled(rows), "--labels", "1000")
    kind, measure = KINDS[of], MEASURES[of]
    true = [
        np.mean([world.people(texts) for texts in world.everything(kind)[part]])
        for part in (
            slice(None, len(world.everything(kind)) // 2),
            slice(len(world.everything(kind)) // 2, None),
        )
    ]
    found = [row["estimated"] for row in systems(facts, measure).values()]
    assert found == pytest.approx(true)
    [difference] = facts["measures"][measure]["differences"]
    assert difference["estimated"] == pytest.approx(true[0] - true[1])


def test_labels_from_the_ledger_of_a_site_give_the_same_estimates(capsys, world):
    people = world.filled(world.sheet("citations", "--labels", "48"))
    of_file = world.estimates(capsys, "citations", people, "--labels", "48")
    head = {"kind": "supports", "judge": "support-a", "kept": True}
    judged = world.judged

    def kept(kind: str) -> list[str]:
        words = judged(kind)
        path = Path(words[1].partition("=")[2])
        path.write_text(f"{json.dumps(head)}\n{path.read_text()}")
        return words

    world.judged = kept
    of_ledger = world.estimates(capsys, "citations", people, "--labels", "48")
    for measure in of_file["measures"]:
        assert systems(of_ledger, measure) == systems(of_file, measure)


def test_labels_outside_of_the_sample_do_not_count(capsys, world):
    people = world.filled(world.sheet("citations", "--labels", "1000"))
    facts = world.estimates(capsys, "citations", people, "--labels", "40")
    assert {row["labels"] for row in systems(facts, "citation_precision").values()} == {
        40
    }


def test_a_line_without_a_label_is_not_counted(capsys, world):
    path = world.filled(world.sheet("citations", "--labels", "40"))
    head, first, *rest = path.read_text().splitlines()
    emptied = {**json.loads(first), "label": ""}
    path.write_text("\n".join([head, json.dumps(emptied), *rest]))
    facts = world.estimates(capsys, "citations", path, "--labels", "40")
    labels = [row["labels"] for row in systems(facts, "citation_precision").values()]
    assert sorted(labels) == [39, 40]


def test_the_majority_of_people_counts(capsys, world):
    rows = world.sheet("citations", "--labels", "40")
    path = world.filled(rows)
    facts = world.estimates(capsys, "citations", path, "--labels", "40")
    agreeing = path.read_text().splitlines()
    head, *labelled = [json.loads(line) for line in agreeing]
    contrary = [
        {**row, "label": "none" if row["label"] == "full" else "full", "by": "C"}
        for row in labelled
    ]
    again = [{**row, "by": "B"} for row in labelled]
    together = write(world.folder / "three.jsonl", [head, *labelled, *again, *contrary])
    assert world.estimates(capsys, "citations", together, "--labels", "40") == facts


@pytest.mark.parametrize("of", ["citations", "nuggets"])
def test_copies_of_two_people_are_joined_with_their_first_lines(capsys, world, of):
    rows = world.sheet(of, "--labels", "40")
    copies = [world.filled(rows, by=name) for name in ("Ann Other", "Bob")]
    facts = world.estimates(capsys, of, copies[0], "--labels", "40")
    joined = world.folder / "joined.jsonl"
    joined.write_text("".join(path.read_text() for path in copies))
    kept = world.folder / "kept.jsonl"
    more = ("--labels", "40", "--rows", str(kept))
    assert world.estimates(capsys, of, joined, *more) == facts
    assert world.estimates(capsys, of, kept, "--labels", "40") == facts
    head, *lines = map(json.loads, kept.read_text().splitlines())
    assert {line["by"] for line in lines} == {"person 1", "person 2"}
    assert {key for line in lines for key in line} == {"items", "label", "by"}
    assert head["kind"] == rows[0]["kind"]


def test_few_labels_give_a_reason_in_the_place_of_a_number(capsys, world):
    people = world.filled(world.sheet("citations", "--labels", "12"))
    facts = world.estimates(capsys, "citations", people, "--labels", "12")
    for row in systems(facts, "citation_precision").values():
        assert (row["estimated"], row["too_few"]) == (None, "labels")
    [difference] = facts["measures"]["citation_precision"]["differences"]
    assert difference["too_few"] == "labels"


def test_measures_that_labels_cannot_correct_have_no_estimate(capsys, world):
    people = world.filled(world.sheet("citations", "--labels", "40"))
    facts = world.estimates(capsys, "citations", people, "--labels", "40")
    assert {*facts["measures"]} == {"citation_precision", "citation_precision_strict"}


def test_lines_for_people_say_that_a_poor_judge_saves_nothing(capsys, tmp_path):
    world = World(tmp_path, accuracy=0.6)
    people = world.filled(world.sheet("citations", "--labels", "60"))
    capsys.readouterr()
    runs = [word for run in world.runs for word in ("--run", str(run))]
    words = ["estimates", "scores", REPORTS, "--gold", str(world.gold), *runs]
    more = ["--of", "citations", "--people", str(people), "--labels", "60"]
    assert main([*words, *more, *world.judged("supports")]) == 0
    told = capsys.readouterr().out
    assert "a.jsonl minus b.jsonl" in told
    assert "below 0.8 it saves next to no labels" in told


def refused(capsys, world, *more: str) -> str:
    capsys.readouterr()
    runs = [word for run in world.runs for word in ("--run", str(run))]
    words = ["estimates", "scores", REPORTS, "--gold", str(world.gold), *runs]
    assert main([*words, *more]) == 2
    return capsys.readouterr().err


def test_a_judge_that_lacks_labels_is_refused(capsys, world):
    people = world.filled(world.sheet("citations", "--labels", "40"))
    option, named = world.judged("supports")
    path = Path(named.partition("=")[2])
    path.write_text("\n".join(path.read_text().splitlines()[1:]))
    told = refused(
        capsys, world, "--of", "citations", "--people", str(people), option, named
    )
    assert "a.jsonl: the judge lacks labels of 1 rows" in told


def test_labels_of_another_kind_are_refused_by_line(capsys, world):
    people = world.filled(world.sheet("nuggets", "--labels", "40"))
    told = refused(
        capsys,
        world,
        *("--of", "citations", "--people", str(people)),
        *world.judged("supports"),
    )
    assert "people-A.jsonl" in told
    assert "assigns" in told


def test_a_type_without_such_labels_is_refused_by_name(capsys, world):
    row = {"kind": "entails", "texts": ["It rains.", "It rains."], "label": "yes"}
    people = write(world.folder / "people.jsonl", [row])
    told = refused(capsys, world, "--of", "claims", "--people", str(people))
    assert "cited-reports has no measure that rests on claims" in told


def test_two_runs_of_one_name_are_refused(capsys, world):
    people = world.filled(world.sheet("citations", "--labels", "40"))
    world.runs = [world.runs[0], world.runs[0]]
    told = refused(
        capsys,
        world,
        *("--of", "citations", "--people", str(people)),
        *world.judged("supports"),
    )
    assert "two runs are called “a.jsonl”" in told


QUESTIONS = [
    {**RAIN, "id": f"q{number}", "question": f"Where does it rain on day {number}?"}
    for number in range(24)
]
CLAIM = "It rains in Oslo"


def claims_world(folder: Path) -> tuple[Path, list[Path], list[str]]:
    """Return gold, two runs of which the second cites worse, and options."""
    gold = write_gold(folder, *QUESTIONS)
    parses = write_parses(folder, CLAIM)
    runs = [
        write_run(
            folder,
            {
                question["id"]: f"{CLAIM} [1]."
                if number % 3 < good
                else f"{CLAIM} [2]."
                for number, question in enumerate(QUESTIONS)
            },
            name,
        )
        for name, good in (("a.jsonl", 2), ("b.jsonl", 1))
    ]
    options = [f"parser={parses}", "entailment=word-overlap"]
    return gold, runs, [word for one in options for word in ("--option", one)]


def test_claims_are_estimated_from_all_their_pairs(capsys, tmp_path):
    gold, runs, options = claims_world(tmp_path)
    out = tmp_path / "sheet.jsonl"
    given = [word for run in runs for word in ("--run", str(run))]
    words = ["--gold", str(gold), *given, "--of", "claims", "--labels", "24", *options]
    assert main(["estimates", "sheet", CITATIONS, *words, "--out", str(out)]) == 0
    head, *rows = [json.loads(line) for line in out.read_text().splitlines()]
    # All questions have the same passages, so that two pairs are all that is asked.
    assert len(rows) == 2
    people = write(
        tmp_path / "people.jsonl",
        [
            {**head, "by": "A"},
            *(
                {**row, "label": "yes" if "Oslo" in row["texts"]["premise"] else "no"}
                for row in rows
            ),
        ],
    )
    capsys.readouterr()
    facts = estimated_claims(capsys, words, people)
    by_run = systems(facts, "aliice_recall")
    assert {run: row["labels"] for run, row in by_run.items()} == {
        "a.jsonl": 24,
        "b.jsonl": 24,
    }
    [difference] = facts["measures"]["aliice_recall"]["differences"]
    assert difference["estimated"] == pytest.approx(100 / 3, abs=1)
    # The rule and people accept the passage on Oslo alone.
    assert {run: counts.tolist() for run, counts in counts_by_run(facts).items()} == {
        "a.jsonl": [[16, 0], [0, 8]],
        "b.jsonl": [[8, 0], [0, 16]],
    }


def estimated_claims(capsys, words: list[str], people: Path) -> dict:
    status = main(
        ["estimates", "scores", CITATIONS, *words, "--people", str(people), "--json"]
    )
    told = capsys.readouterr()
    assert status == 0, told.err
    return json.loads(told.out)


def counts_by_run(facts: dict) -> dict[str, np.ndarray]:
    """Return the sum over topics of people's and the judge's labels, keyed by run."""
    return {
        one["run"]: np.sum([topic["counts"] for topic in one["topics"]], axis=0)
        for one in facts["people_and_judge"]["systems"]
        if one["topics"]
    }


@pytest.mark.parametrize("of", ["nuggets", "citations"])
def test_people_s_labels_are_counted_beside_the_judge_s(capsys, world, of):
    rows = world.sheet(of, "--labels", "1000")
    facts = world.estimates(capsys, of, world.filled(rows), "--labels", "1000")
    everything = world.everything(KINDS[of])
    half = len(everything) // 2
    expected = {}
    for run, texts in (("a.jsonl", everything[:half]), ("b.jsonl", everything[half:])):
        expected[run] = np.zeros((3, 3), int)
        for one in texts:
            # The first label is the best one, the last the worst.
            row, column = (
                0 if yes else 2 for yes in (world.people(one), world.judge(one))
            )
            expected[run][row, column] += 1
    found = counts_by_run(facts)
    assert {run: counts.tolist() for run, counts in found.items()} == {
        run: counts.tolist() for run, counts in expected.items()
    }
    [first, _second] = facts["people_and_judge"]["systems"]
    assert len({topic["topic"] for topic in first["topics"]}) == 24


def test_labels_of_the_sample_alone_are_counted_beside_the_judge_s(capsys, world):
    path = world.filled(world.sheet("citations", "--labels", "1000"))
    facts = world.estimates(capsys, "citations", path, "--labels", "40")
    assert [counts.sum() for counts in counts_by_run(facts).values()] == [40, 40]


def test_a_sheet_without_labels_counts_nothing_beside_the_judge_s(capsys, world):
    rows = world.sheet("citations", "--labels", "40")
    path = write(world.folder / "empty.jsonl", [{**rows[0], "by": "A"}, *rows[1:]])
    facts = world.estimates(capsys, "citations", path, "--labels", "40")
    assert counts_by_run(facts) == {}
    assert facts["people_and_judge"]["labels"] == ["full", "partial", "none"]
