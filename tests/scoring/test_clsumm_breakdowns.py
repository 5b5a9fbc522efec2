"""The classes of tasks 1A and 1B, and the facet report."""

import json

import pytest

from tasks.types.clsumm.pairs import classify_section, parse_publication_year
from tests.scoring.offline import score
from tests.tasks.types.corpus import answer_line, write_topic

TOPIC = "D01-0001"
CITANCES = (
    ("D05-0001", "3", ["0"], "Aim_Citation"),
    ("W98-0002", "7", ["2", "3"], "['Method_Citation','Results_Citation']"),
    ("ours-2020", "9", ["4"], "Method_Citation"),
)


@pytest.fixture
def gold(tmp_path):
    folder = write_topic(tmp_path / "gold", TOPIC, CITANCES)
    paper = folder / "Reference_XML" / f"{TOPIC}.xml"
    text = paper.read_text().replace(
        '<S sid="2"', '<SECTION title="4 Experimental results" number="4"><S sid="2"'
    )
    paper.write_text(
        text.replace('<S sid="4"', '</SECTION><SECTION title="A model"><S sid="4"')
    )
    return folder


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "run.jsonl"
    answers = [
        {"topic": TOPIC, "citance": 1, "sentences": ["0"], "facets": ["Aim"]},
        {"topic": TOPIC, "citance": 2, "sentences": ["2"], "facets": ["Method"]},
        {"topic": TOPIC, "citance": 3, "sentences": ["1"], "facets": ["Method"]},
    ]
    path.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    return path


def recalls(
    scores: dict, dimension: str, metric: str = "overlap_recall_micro"
) -> dict[str, float]:
    return {
        label: own[metric]["value"]
        for label, own in scores["breakdowns"][dimension].items()
    }


def test_task_1a_is_broken_down_by_section_year_and_number_of_sentences(
    capsys, gold, run
):
    scores = score(capsys, "clsumm-1a", [gold], run)
    assert recalls(scores, "section") == {
        "Title": 1,
        "Experiments and results": 0.5,
        "Main part": 0,
    }
    assert recalls(scores, "year") == {"2005": 1, "1998": 0.5, "None": 0}
    assert recalls(scores, "gold_sentences") == {"1": 0.5, "2": 0.5}
    assert recalls(scores, "annotator") == {"None": 0.5}


def test_task_1b_has_the_same_classes(capsys, gold, run):
    scores = score(capsys, "clsumm-1b", [gold], run)
    assert recalls(scores, "facet", "facet_recall_micro") == {
        "Aim": 1,
        "Method": 0.5,
        "Results": 0,
    }
    assert recalls(scores, "year", "facet_recall_micro_unconditional") == {
        "2005": 1,
        "1998": 0.5,
        "None": 1,
    }


def test_the_weighted_f1_counts_each_facet_as_often_as_the_gold_has_it(
    capsys, gold, run
):
    metrics = score(capsys, "clsumm-1b", [gold], run)["metrics"]
    # Aim 1 of 1, Method 2 of 2, Results 0 of 1; given 1A, one Method is not found: 2 * 1 / (2 + 1).
    assert metrics["facet_f1_weighted_unconditional"]["value"] == pytest.approx(
        (1 + 2 * 1 + 0) / 4
    )
    assert metrics["facet_f1_weighted"]["value"] == pytest.approx(
        (1 + 2 * (2 / 3) + 0) / 4
    )


def test_under_the_pilots_rules_the_most_prevalent_of_several_facets_counts(
    capsys, gold, run
):
    metrics = score(capsys, "clsumm-1b", [gold], run, "--rules", "official-2014")[
        "metrics"
    ]
    assert metrics["facet_f1_micro_unconditional"]["value"] == 1
    assert metrics["facet_f1_weighted_unconditional"]["value"] == 1
    assert metrics["facet_f1_micro_unconditional"]["n"] == 3


def test_where_spans_differ_the_facet_of_most_of_them_counts(capsys, tmp_path):
    """Two of the second citance's three spans are results, though the gold has methods more often."""
    several = "['Results_Citation','Method_Citation','Results_Citation']"
    citances = (*CITANCES[:1], ("W98-0002", "7", ["2"], several), *CITANCES[2:])
    gold = write_topic(
        tmp_path / "gold",
        TOPIC,
        (*citances, ("W98-0003", "1", ["4"], "Method_Citation")),
    )
    run = tmp_path / "run.jsonl"
    run.write_text(
        json.dumps(
            {"topic": TOPIC, "citance": 2, "sentences": ["2"], "facets": ["Results"]}
        )
    )
    metrics = score(capsys, "clsumm-1b", [gold], run, "--rules", "official-2014")[
        "metrics"
    ]
    assert metrics["facet_precision_micro_unconditional"]["value"] == 1


def test_under_the_pilots_rules_sentences_are_counted_by_citing_sentence_too(
    capsys, gold, run
):
    """Found are 1 of 1, 1 of 2 and 0 of 1 sentences; named is one each, of which two are right."""
    answers = run.read_text().splitlines()
    unknown = {
        "topic": TOPIC,
        "citing": "ours-1999",
        "sentences": ["0"],
        "facets": ["Aim"],
    }
    run.write_text("\n".join([*answers, json.dumps(unknown)]))
    metrics = score(capsys, "clsumm-1a", [gold], run, "--rules", "official-2014")[
        "metrics"
    ]
    assert metrics["overlap_precision_citance"]["value"] == pytest.approx(2 / 3)
    assert metrics["overlap_recall_citance"]["value"] == pytest.approx(1 / 2)
    assert metrics["overlap_f1_citance"]["value"] == pytest.approx(
        2 * (2 / 3) / 2 / (2 / 3 + 1 / 2)
    )
    run.write_text(answers[0])
    metrics = score(capsys, "clsumm-1a", [gold], run, "--rules", "official-2014")[
        "metrics"
    ]
    assert metrics["overlap_precision_citance"]["value"] == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("article", "year"),
    [
        ("C92-1059", 1992),
        ("W11-2138.xml", 2011),
        ("P51-1001", 1951),
        ("P50-1001", 2050),
        ("2020.sdp-1.1", 2020),
        ("ours", None),
        ("C92-105", None),
    ],
)
def test_the_year_is_that_of_the_anthologys_id(article, year):
    assert parse_publication_year(article) == year


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("1 Introduction", "Introduction"),
        ("Prior and Related Work. ", "Related work"),
        ("6 Experiments and Results", "Experiments and results"),
        ("Applications and future research. ", "Conclusion"),
        ("Typed Feature Structures. ", "Main part"),
        ("Title", "Title"),
        ("Bilingual titles", "Main part"),
    ],
)
def test_sections_of_many_names_are_of_few_kinds(name, kind):
    assert classify_section(name) == kind


def test_an_answer_line_of_the_text_form_has_the_same_classes(capsys, gold, tmp_path):
    run = tmp_path / f"{TOPIC}.annv3.txt"
    run.write_text(answer_line(TOPIC, "D05-0001", "3", ["0"]))
    assert recalls(score(capsys, "clsumm-1a", [gold], run), "section")["Title"] == 1
