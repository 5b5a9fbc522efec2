"""Sets that are drawn as in the paper: strata by cited paper, three kept of ten, no context in two sets."""

import json
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from scoring.__main__ import main
from scoring.tools.builders.classes import SIDE_CONDITIONS, STRATUM_DIMENSIONS
from scoring.tools.builders.diagnostic import OFFICIAL_SET_NAMES
from tests.scoring.builders.corpora import write_lines

FIELDS = (*("Botany",) * 25, *("Music",) * 25, "Chess")
#: A mark in the middle and one at the end, of so many words around it.
SHAPES = ((6, 6), (12, 0), (2, 0), (30, 0), (11, 1))


def corpus(folder: Path, *, contexts: int = 1500, **changed) -> Path:
    """Papers of two fields, and a few of a third, that are all cited often enough and in many sentences."""
    cited = [
        {
            "paper_id": f"w{n}",
            "discipline": FIELDS[n % len(FIELDS)],
            "year": 2001 + n % 2,
            **changed,
        }
        for n in range(102)
    ]
    rows, listed = [], []
    for number in range(contexts):
        before, after = SHAPES[number % len(SHAPES)]
        paper, place = {"paper_id": f"p{number}"}, number % 102
        entry = {
            "ref_id": f"r{number}",
            "cited_paper_id": f"w{place}",
            "citation_count": 5 + place // 20,
        }
        listed.append({**paper, **entry, **changed})
        sentence = f"We {'say ' * before}<REF>{' so' * after}."
        kind = ("background", "method")[number % 2]
        named = {
            "context_id": f"c{number}",
            "gold": [f"r{number}"],
            "context_type": kind,
        }
        rows.append({**paper, **named, "sentence": sentence})
    write_lines(folder / "papers.jsonl", cited)
    write_lines(folder / "references.jsonl", listed)
    write_lines(folder / "contexts.jsonl", rows)
    return folder


def build(
    corpus: Path, out: Path, *more: str, sampling: str = "official"
) -> list[dict]:
    given = [
        "--out",
        str(out),
        "--tagger",
        "none",
        "--no-baselines",
        "--sampling",
        sampling,
    ]
    assert main(["build-diagnostic", str(corpus), *given, *more]) == 0
    return [
        json.loads(line)
        for line in (out / "gold" / "diagnostic.jsonl").read_text().splitlines()
    ]


@pytest.fixture(scope="module")
def papers(tmp_path_factory) -> Path:
    return corpus(tmp_path_factory.mktemp("papers"))


@pytest.fixture(scope="module")
def found(papers, tmp_path_factory) -> list[dict]:
    return build(papers, tmp_path_factory.mktemp("built") / "season")


def strata(rows: list[dict]) -> dict[tuple, list[str]]:
    """The cited papers of each stratum."""
    cited = defaultdict(list)
    for row in rows:
        for name in set(row["sampled_for"]) - set(STRATUM_DIMENSIONS):
            cell = (row["field"], row["year_group"], row["citation_group"])
            cited[name, row[name], *cell].append(row["cited_id"])
    return cited


def test_no_context_stands_in_two_sets_and_the_side_conditions_hold(found):
    for row in found:
        [name] = set(row["sampled_for"]) - set(STRATUM_DIMENSIONS)
        assert all(
            row[other] == wanted for other, wanted in SIDE_CONDITIONS[name].items()
        )
    of_sets = Counter(name for row in found for name in row["sampled_for"])
    assert {*OFFICIAL_SET_NAMES} - {"pos_before", "pos_after"} <= set(of_sets)


def test_a_stratum_keeps_three_contexts_of_different_cited_papers(found):
    cited = strata(found)
    assert max(map(len, cited.values())) == 3
    assert all(len(set(own)) == len(own) for own in cited.values())


def test_fields_years_and_counts_are_made_of_the_contexts_of_the_other_sets(found):
    for row in found:
        assert {"year_group", "citation_group"} <= set(row["sampled_for"])
        assert ("field" in row["sampled_for"]) == (
            "low_resource" not in row["sampled_for"]
        )
    assert {row["field"] for row in found if "low_resource" in row["sampled_for"]} == {
        "Chess"
    }


def test_more_is_kept_and_less_is_drawn_where_that_is_asked_for(papers, tmp_path):
    most = build(papers, tmp_path / "most", "--drawn", "5", "--per-stratum", "4")
    assert max(map(len, strata(most).values())) == 4
    least = build(papers, tmp_path / "least", "--drawn", "1")
    assert set(map(len, strata(least).values())) == {1}
    few = build(papers, tmp_path / "few", "--most-per-class", "2")
    counts = Counter((name, row[name]) for row in few for name in row["sampled_for"])
    assert max(counts.values()) == 2


def test_the_sheet_says_how_many_are_drawn_and_kept_and_what_is_combined(
    papers, tmp_path
):
    build(papers, tmp_path / "season", "--drawn", "7", "--per-stratum", "2")
    sheet = (tmp_path / "season" / "datasheet.md").read_text()
    assert "class; contexts of 7 cited papers drawn, 2 kept |" in sheet
    assert "| year_group | the contexts of the other sets |" in sheet
    rules = json.loads((tmp_path / "season" / "datasheet.json").read_text())["rules"]
    assert (rules["sampling"], rules["drawn"], rules["per_stratum"]) == (
        "official",
        7,
        2,
    )


def test_two_processes_and_another_order_of_the_corpus_draw_the_same(
    papers, found, tmp_path
):
    assert build(papers, tmp_path / "two", "--jobs", "2") == found
    reversed_corpus = tmp_path / "reversed"
    reversed_corpus.mkdir()
    for path in papers.iterdir():
        lines = path.read_text().splitlines(keepends=True)
        (reversed_corpus / path.name).write_text("".join(reversed(lines)))
    assert build(reversed_corpus, tmp_path / "other") == found


def test_unless_it_is_asked_for_each_dimension_is_drawn_on_its_own(papers, tmp_path):
    rows = build(papers, tmp_path / "season", sampling="each")
    assert any(
        len(set(row["sampled_for"]) - set(STRATUM_DIMENSIONS)) > 1 for row in rows
    )


def test_a_corpus_without_what_strata_are_made_of_is_refused(tmp_path, capsys):
    folder = corpus(tmp_path / "corpus", contexts=20, citation_count=4)
    command = [
        "build-diagnostic",
        str(folder),
        "--out",
        str(tmp_path / "season"),
        "--tagger",
        "none",
    ]
    assert main([*command, "--sampling", "official"]) == 2
    told = capsys.readouterr().err
    assert (
        "no context has a field, a group of years and a citation count group to be drawn by"
        in told
    )
    assert "citation counts from 5 up, or --sampling each" in told


def test_how_many_are_drawn_is_said_for_the_papers_sampling_alone(
    papers, tmp_path, capsys
):
    command = [
        "build-diagnostic",
        str(papers),
        "--out",
        str(tmp_path / "season"),
        "--drawn",
        "5",
    ]
    assert main(command) == 2
    assert "--drawn is for --sampling official" in capsys.readouterr().err


@pytest.mark.parametrize("drawn", ["0", "-3", "ten", "1.5"])
def test_how_many_are_drawn_is_a_whole_number(drawn, papers, tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(
            [
                "build-diagnostic",
                str(papers),
                "--out",
                str(tmp_path / "season"),
                f"--drawn={drawn}",
            ]
        )
    assert "is not a number of papers, 1 to 999999" in capsys.readouterr().err


def test_classes_that_want_the_same_contexts_grow_alike(found):
    """Medium, End and both types want contexts of medium length at the end, and none goes without."""
    counts = Counter(
        (name, row[name])
        for row in found
        for name in set(row["sampled_for"]) & set(OFFICIAL_SET_NAMES)
    )
    rivals = [
        counts["length_class", "medium"],
        counts["location_class", "end"],
        counts["context_type", "background"],
        counts["context_type", "method"],
    ]
    assert min(rivals) > 0
    assert max(rivals) <= min(rivals) + 1


def test_a_class_that_has_few_contexts_or_none_is_told_by_name(
    capsys, papers, tmp_path
):
    build(papers, tmp_path / "season")
    assert (
        "location_class: less than half of the largest class: start: 0 of "
        in capsys.readouterr().out
    )
    for name in ("datasheet.md", "card.md"):
        assert "start: 0 of " in (tmp_path / "season" / name).read_text()
