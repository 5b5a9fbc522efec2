"""Building a diagnostic split: rules, side conditions, seeds, data sheet, and a season that can be scored."""

import io
import json
import shutil
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from django.core.management import call_command

from scoring.__main__ import main
from scoring.tools.builders.classes import (
    SIDE_CONDITIONS,
    SamplingRules,
    compute_length_thresholds,
)
from scoring.worker.score import score as score_job
from tasks.models import Job
from tests.scoring.builders.corpora import (
    s2orc_metadata,
    s2orc_parse,
    write_corpus,
    write_lines,
)
from tests.scoring.offline import score
from tests.tasks import seasons


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpora") / "corpus")


def build(corpus: Path, out: Path, *more: str) -> Path:
    assert (
        main(
            [
                "build-diagnostic",
                str(corpus),
                "--out",
                str(out),
                "--tagger",
                "none",
                *more,
            ]
        )
        == 0
    )
    return out


def rows(out: Path) -> list[dict]:
    return [
        json.loads(line)
        for line in (out / "gold" / "diagnostic.jsonl").read_text().splitlines()
    ]


def facts(out: Path) -> dict:
    return json.loads((out / "datasheet.json").read_text())


@pytest.fixture
def built(corpus, tmp_path) -> Path:
    return build(corpus, tmp_path / "season")


def test_what_is_built_loads_and_its_baselines_score(capsys, built):
    season = tomllib.loads((built / "season.toml").read_text())
    task = season["tasks"][0]
    assert (task["type"], task["gold"][0]["paths"]) == (
        "citation-recommendation",
        ["gold"],
    )
    assert [baseline["system"] for baseline in task["baselines"]] == [
        "bm25-okapi",
        "bm25-lucene",
        "tfidf-cosine",
    ]
    capsys.readouterr()
    for baseline in task["baselines"]:
        scores = score(
            capsys, "citation-recommendation", [built / "gold"], built / baseline["run"]
        )
        assert scores["notes"]["missing_answers"] == 0
        assert scores["gold"]["instances"] == facts(built)["selected"] > 0
    assert set(scores["breakdowns"]) == set(facts(built)["classes"])


def test_candidates_may_be_all_papers_of_the_collection(corpus, tmp_path, capsys):
    """One that nobody cites is ranked by its title and abstract."""
    own = shutil.copytree(corpus, tmp_path / "corpus")
    paper = {
        "paper_id": "alone",
        "title": "Nobody cites bells",
        "abstract": "They ring.",
    }
    with (own / "papers.jsonl").open("a") as papers:
        papers.write(json.dumps(paper) + "\n")
    names = {}
    for candidates in ("cited", "all"):
        out = build(
            own, tmp_path / candidates, "--candidates", candidates, "--no-baselines"
        )
        lines = (out / "gold" / "references.jsonl").read_text().splitlines()
        names[candidates] = {line["ref_id"]: line for line in map(json.loads, lines)}
        assert facts(out)["candidates"] == len(lines)
        assert f"{len(lines):,}." in (out / "card.md").read_text()
    assert names["cited"].items() < names["all"].items()
    alone = names["all"]["alone"]
    assert alone == {
        "ref_id": "alone",
        "title": "Nobody cites bells",
        "abstract": "They ring.",
    }
    assert "all papers of the collection, cited or not" in capsys.readouterr().out


def test_a_sampled_context_meets_the_side_conditions_of_its_dimensions(built):
    for row in rows(built):
        for dimension in row["sampled_for"]:
            assert row[dimension]
            for other, wanted in SIDE_CONDITIONS[dimension].items():
                assert row[other] == wanted, (dimension, row)


def test_the_breakdown_of_a_dimension_has_the_contexts_that_were_sampled_for_it(
    capsys, built
):
    capsys.readouterr()
    run = built / "baselines" / "bm25-okapi.jsonl"
    breakdowns = score(capsys, "citation-recommendation", [built / "gold"], run)[
        "breakdowns"
    ]
    counts = {
        dimension: {label: own["recall@10"]["n"] for label, own in classes.items()}
        for dimension, classes in breakdowns.items()
    }
    drawn = facts(built)["classes"].items()
    assert counts == {
        name: {label: n for label, n in own.items() if n} for name, own in drawn
    }


def test_no_stratum_and_no_class_has_more_than_it_may(corpus, tmp_path):
    out = build(
        corpus,
        tmp_path / "season",
        "--per-stratum",
        "2",
        "--most-per-class",
        "9",
        "--no-baselines",
    )
    strata, classes = Counter(), Counter()
    for row in rows(out):
        for dimension in row["sampled_for"]:
            classes[dimension, row[dimension]] += 1
            strata[
                dimension,
                row[dimension],
                row["field"],
                row.get("year_group"),
                row.get("citation_group"),
            ] += 1
    assert max(strata.values()) <= 2
    assert max(classes.values()) == 9


def test_a_stratum_takes_other_papers_before_it_takes_one_twice(tmp_path):
    """Ten papers with three contexts each in one stratum: ten contexts are of ten papers."""
    rows_of_contexts, references = [], []
    for paper in range(10):
        references.append(
            {"paper_id": f"p{paper}", "ref_id": f"r{paper}", "raw": "Somebody 2001."}
        )
        rows_of_contexts += [
            {
                "context_id": f"p{paper}_{number}",
                "paper_id": f"p{paper}",
                "sentence": "We count words here <REF>.",
                "gold": [f"r{paper}"],
            }
            for number in range(3)
        ]
    folder = tmp_path / "corpus"
    write_lines(
        folder / "papers.jsonl",
        [{"paper_id": f"p{n}", "discipline": "Music"} for n in range(10)],
    )
    write_lines(folder / "references.jsonl", references)
    write_lines(folder / "contexts.jsonl", rows_of_contexts)
    out = build(folder, tmp_path / "season", "--per-stratum", "10", "--no-baselines")
    assert Counter(
        row["citing_id"] for row in rows(out) if "field" in row["sampled_for"]
    ) == Counter({f"p{n}": 1 for n in range(10)})
    out = build(folder, tmp_path / "more", "--per-stratum", "12", "--no-baselines")
    assert sum("field" in row["sampled_for"] for row in rows(out)) == 12


def test_the_same_seed_builds_the_same_files_from_rows_in_any_order(corpus, tmp_path):
    first = build(corpus, tmp_path / "one" / "season")
    shuffled = tmp_path / "shuffled"
    shutil.copytree(corpus, shuffled)
    for name in ("papers.jsonl", "contexts.jsonl"):
        lines = (shuffled / name).read_text().splitlines(keepends=True)
        (shuffled / name).write_text("".join(reversed(lines)))
    again, other_order = (
        build(corpus, tmp_path / "two" / "season"),
        build(shuffled, tmp_path / "three" / "season"),
    )
    other_seed = build(corpus, tmp_path / "four" / "season", "--seed", "1")
    names = sorted(
        path.relative_to(first) for path in first.rglob("*") if path.is_file()
    )
    assert names == sorted(
        path.relative_to(again) for path in again.rglob("*") if path.is_file()
    )
    assert all(
        (first / name).read_bytes() == (again / name).read_bytes() for name in names
    )
    assert rows(other_order) == rows(first)
    assert rows(other_seed) != rows(first)


def test_the_data_sheet_names_every_rule_and_threshold(built):
    sheet, card, own = (
        (built / "datasheet.md").read_text(),
        (built / "card.md").read_text(),
        facts(built),
    )
    thresholds = own["length_thresholds"]
    for text in (sheet, card):
        assert (
            f"short below {thresholds['low']:.4f}, long above {thresholds['high']:.4f}"
            in text
        )
    assert own["rules"]["seed"] == 0
    assert own["corpus"]["sha256"] in sheet
    assert own["corpus"]["contexts"] == 360
    for distribution in own["distributions"]:
        assert sum(distribution["before"].values()) > 0
        assert f"### {distribution['name']}" in sheet
    charts = sorted(path.name for path in (built / "charts").iterdir())
    assert len(charts) == len(own["distributions"])
    assert all(f"charts/{name}" in sheet for name in charts)


def test_ids_do_not_name_the_papers_that_the_contexts_come_from(built):
    from tasks.types import task_type
    from tasks.types.files import open_input_files

    own = task_type("citation-recommendation")
    public = dict(
        own.public_files(open_input_files(built / "gold"), own.validate_options({}))
    )
    assert len(public) == 2
    for row in rows(built):
        assert row["citing_id"] not in row["id"]
    text = public["diagnostic.jsonl"].decode()
    assert not any(
        name in text
        for row in rows(built)
        for name in (row["citing_id"], row["cited_id"])
    )


def test_a_field_below_three_percent_is_low_resource_and_no_main_field(tmp_path):
    fields = ("Botany",) * 40 + ("Chess",)
    folder = write_corpus(tmp_path / "corpus", papers=41, contexts=24, fields=fields)
    out = build(folder, tmp_path / "season", "--no-baselines")
    found = facts(out)["classes"]
    assert set(found["field"]) == {"Botany"}
    assert set(found["low_resource"]) == {"Chess"}


def test_citation_groups_are_equal_within_field_and_years(corpus, tmp_path):
    out = build(corpus, tmp_path / "season", "--every-context", "--no-baselines")
    cited = {
        (row["field"], row["year_group"], row["cited_id"], row["citation_group"])
        for row in rows(out)
        if "citation_group" in row
    }
    sizes = Counter((field, years, group) for field, years, _, group in cited)
    for field, years in {key[:2] for key in sizes}:
        own = [count for key, count in sizes.items() if key[:2] == (field, years)]
        assert max(own) - min(own) <= 1, (field, years, own)


def test_thresholds_are_mean_and_deviation_without_outliers():
    counts = {10: 5, 20: 5, 500: 1}
    assert compute_length_thresholds(counts, outlier_z=3).dropped == 1
    found = compute_length_thresholds(counts, outlier_z=3)
    assert (found.low, found.high, found.mean, found.deviation) == (10, 20, 15, 5)
    assert [found.classify_length(tokens) for tokens in (9, 10, 20, 21)] == [
        "short",
        "medium",
        "medium",
        "long",
    ]


def test_years_are_grouped_in_fives_and_others_have_no_group():
    rules = SamplingRules()
    assert [
        rules.year_group(year) for year in (None, 1995, 1996, 2000, 2001, 2020, 2021)
    ] == [*(None, None, "1996-2000", "1996-2000", "2001-2005", "2016-2020", None)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"sentence": "We count <REF> and <OTHERREF>."},
            "several citations in the sentence",
        ),
        ({"sentence": "We count <REF>:"}, "the sentence does not end with . ? or !"),
        (
            {"sentence": "3 We count <REF>."},
            "the sentence begins with a number, as footnotes do",
        ),
        (
            {"sentence": "We count <REF> as in [3]."},
            "the sentence prints a citation that is not marked",
        ),
        ({"gold": ["zz"]}, "the cited paper is not in the reference list"),
        ({"style": "damaged"}, "the mark is damaged"),
        ({"marker": "(Lee et al., 1997a(Lee et al., 1997b)"}, "the mark is damaged"),
        ({"marker": "(7"}, "the mark is damaged"),
        ({"marker": "as shown"}, "the style of the mark is not known"),
        ({"n_markers": 2}, "several citations in the sentence"),
    ],
)
def test_a_sentence_that_may_not_be_taken_is_left_out_with_its_reason(
    tmp_path, change, reason
):
    folder = write_corpus(tmp_path / "corpus", papers=2, contexts=2)
    lines = [
        json.loads(line)
        for line in (folder / "contexts.jsonl").read_text().splitlines()
    ]
    lines[0] |= change
    write_lines(folder / "contexts.jsonl", lines)
    out = build(folder, tmp_path / "season", "--every-context", "--no-baselines")
    assert facts(out)["left_out"] == {reason: 1}
    assert len(rows(out)) == 3


def test_full_text_is_split_into_sentences_and_the_style_of_the_mark_kept(tmp_path):
    folder = tmp_path / "s2orc"
    write_lines(folder / "metadata.jsonl", s2orc_metadata())
    write_lines(folder / "parses.jsonl", [s2orc_parse()])
    out = build(folder, tmp_path / "season", "--every-context", "--no-baselines")
    found = [
        (row["sentence"], row["cited_id"], row["marker"], row["field"])
        for row in rows(out)
    ]
    assert sorted(found) == [
        ("<REF> disagrees.", "77:BIBREF1", "Yoke (2016)", "Physics"),
        ("Bells were cast early <REF>.", "11", "[1]", "Physics"),
    ]


def test_thresholds_may_be_given(corpus, tmp_path):
    out = build(
        corpus,
        tmp_path / "season",
        "--length-thresholds",
        "6.5,20",
        "--every-context",
        "--no-baselines",
    )
    assert facts(out)["length_thresholds"]["low"] == 6.5
    assert all(
        (row["n_tokens"] < 6.5) == (row["length_class"] == "short") for row in rows(out)
    )


def test_a_missing_pipeline_is_told_by_its_name(corpus, tmp_path, capsys):
    command = [
        "build-diagnostic",
        str(corpus),
        "--out",
        str(tmp_path / "season"),
        "--tagger",
        "no-such-pipeline",
    ]
    assert main(command) == 6
    assert (
        "the spaCy package “no-such-pipeline” cannot be loaded"
        in capsys.readouterr().err
    )


def test_a_missing_corpus_is_told_by_its_name(tmp_path, capsys):
    assert (
        main(
            [
                "build-diagnostic",
                str(tmp_path / "none"),
                "--out",
                str(tmp_path / "season"),
            ]
        )
        == 2
    )
    assert "there is no such file or folder" in capsys.readouterr().err


def s2ag(tmp_path: Path, *, years: int = 60) -> Path:
    """Papers that cite one another, with fields, years, counts and the intents of their citations."""
    fields = ("Physics", "Art", "Biology")
    intents = ("background", "methodology", "result")
    lines: list[dict] = []
    for number in range(years):
        name, cited = 100 + number, 100 + (number * 7 + 1) % years
        words = " ".join(f"word{step}" for step in range(5 + number % 20))
        sentence = f"Here {words} follows (Ringer, 2003)."
        entry = "A. Ringer, 2003. Bells."
        text = f"{sentence}\n{entry}"
        spans = {
            "paragraph": [{"start": 0, "end": len(sentence)}],
            "bibref": [{"start": text.index("(R"), "end": text.index(").") + 1,
                        "attributes": {"ref_id": "b0"}}],
            "bibentry": [{"start": text.index(entry), "end": len(text),
                          "attributes": {"id": "b0", "matched_paper_id": cited}}],
        }  # fmt: skip
        annotations = {kind: json.dumps(own) for kind, own in spans.items()}
        lines += [
            {"corpusid": name, "content": {"text": text, "annotations": annotations}},
            {"corpusid": name, "title": f"Paper {number}", "year": 1996 + number % 25,
             "citationcount": 5 + number, "s2fieldsofstudy": [{"category": fields[number % 3]}]},
            {"citingcorpusid": name, "citedcorpusid": cited,
             "contexts": ["Something else altogether.", sentence],
             "intents": [[intents[(number + 1) % 3]], [intents[number % 3]]]},
        ]  # fmt: skip
    return write_lines(tmp_path / "s2ag.jsonl", lines)


def test_intents_of_s2ag_are_the_types_of_the_sentences_that_they_tell_of(tmp_path):
    out = build(s2ag(tmp_path), tmp_path / "season", "--every-context")
    found = rows(out)
    types = ("background", "method", "result")
    assert len(found) == 60
    assert all(
        row["context_type"] == types[(int(row["citing_id"]) - 100) % 3] for row in found
    )
    assert facts(out)["corpus"]["papers"] == 60


@pytest.mark.parametrize(
    ("asked", "whose"), [("auto", "cited"), ("cited", "cited"), ("citing", "citing")]
)
def test_the_field_is_that_of_the_cited_paper_or_of_the_citing_one_by_name(
    tmp_path, asked, whose
):
    out = build(
        s2ag(tmp_path), tmp_path / "season", "--every-context", "--field-of", asked
    )
    fields = ("Physics", "Art", "Biology")
    for row in rows(out):
        assert row["field"] == fields[(int(row[f"{whose}_id"]) - 100) % 3]
    assert f"| field | of the {whose} paper |" in (out / "datasheet.md").read_text()


def test_a_corpus_that_knows_no_field_of_cited_papers_has_those_of_the_citing_ones(
    built,
):
    assert facts(built)["rules"]["field_of"] == "citing"
    assert {row["field"] for row in rows(built)} == {"Botany", "Music", "Chess"}


@pytest.mark.django_db
def test_a_split_stands_beside_table_1_class_by_class(client, corpus, tmp_path, root):
    printed = root / "examples" / "citation-recommendation-2024" / "maharjan-2024.json"
    out = build(corpus, tmp_path / "season", "--published", str(printed))
    seasons.load(out)
    call_command(
        "load_season",
        str(root / "examples" / "citation-recommendation-2024"),
        stdout=io.StringIO(),
    )
    while job := Job.objects.filter(state="queued").first():
        score_job(job.pk)
    tables = client.get("/published/seasons/season/").context["tables"]
    beside = {
        line.label: pair
        for table in tables
        for line in table.lines
        for pair in line.pairs
        if pair.difference is not None
    }
    assert {"Short", "Medium", "Long", "Start", "Middle", "End"} <= set(beside)
    # In this corpus the sentences with their citation at the end are all of one type.
    assert {"Result", "2016-2020"} <= set(beside)
    assert 'Methodology = "method"' in (out / "season.toml").read_text()
    assert all(pair.difference == pair.own - pair.reported for pair in beside.values())
    assert [table.shown.leading.name for table in tables].count("M@10") == 8


def test_a_build_at_a_terminal_says_its_steps(tmp_path, capsys, monkeypatch):
    folder = write_corpus(tmp_path / "corpus", papers=2, contexts=2)
    more = ("--every-context", "--no-baselines")
    build(folder, tmp_path / "quiet", *more)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    build(folder, tmp_path / "season", *more)
    steps = capsys.readouterr().err.splitlines()
    assert steps[0] == "reading the corpus …"
    assert steps[-1] == "counting and writing …"
