"""CL-Summ topics by the pilot's criteria, and what such topics consist of."""

import json
import shutil

import pytest

from scoring.__main__ import main
from scoring.tools.builders.topics import (
    NEWEST_PAPER_REASON,
    OLDEST_PAPER_REASON,
    OTHER_YEAR_REASON,
    SINGLE_CITATION_REASON,
    CitingPaper,
    TopicRules,
    choose_citing_papers,
    make_file_names,
)
from tests.scoring.builders.corpora import write_lines
from tests.tasks.types.corpus import write_topic

CITING = 12
SENTENCE = "We take up the method of counting words in paper number {} <REF>."


def write_corpus(
    folder,
    *,
    citing=CITING,
    first_year=2001,
    citations=11,
    text="We count words. Counting | helps.",
):
    """One paper `10.1/cited` that the others cite, each a year later than the one before."""
    papers = [{"paper_id": "10.1/cited", "title": "Counting", "abstract": "We count.", "year": 2000,
               "text": text, "citation_count": citations}]  # fmt: skip
    papers += [
        {"paper_id": f"p{n}", "title": f"Paper {n}", "year": first_year + n}
        for n in range(citing)
    ]
    references = [
        {
            "paper_id": f"p{n}",
            "ref_id": f"p{n}:1",
            "cited_paper_id": "10.1/cited",
            "raw": "Counting",
        }
        for n in range(citing)
    ]
    contexts = [
        {"context_id": f"c{n}", "paper_id": f"p{n}", "sentence": SENTENCE.format(n), "gold": [f"p{n}:1"],
         "before": "Much is known.", "n_markers": 1 + n % 2, "marker": f"(Us | Them, {n})"}
        for n in range(citing)
    ]  # fmt: skip
    for name, rows in (
        ("papers", papers),
        ("references", references),
        ("contexts", contexts),
    ):
        write_lines(folder / f"{name}.jsonl", rows)
    return folder


@pytest.fixture
def build(capsys, tmp_path):
    def built(*options: str, **facts):
        write_corpus(tmp_path / "corpus", **facts)
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        assert (
            main(
                [
                    "build-topics",
                    str(tmp_path / "corpus"),
                    "--out",
                    str(tmp_path / "out"),
                    *options,
                    "--json",
                ]
            )
            == 0
        )
        return json.loads(capsys.readouterr().out)

    return built


def test_a_build_at_a_terminal_says_its_steps(build, capsys, monkeypatch, tmp_path):
    build()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    write_corpus(tmp_path / "other")
    folders = [str(tmp_path / "other"), "--out", str(tmp_path / "told")]
    assert main(["build-topics", *folders]) == 0
    assert capsys.readouterr().err.splitlines() == [
        "reading the corpus …",
        "choosing papers that can be topics …",
        "writing 1 topics …",
    ]


class TestCriteria:
    def test_a_paper_with_more_than_ten_citations_over_three_years_is_a_topic(
        self, build
    ):
        facts = build()
        [topic] = facts["topics"]
        assert (topic["name"], topic["paper"], topic["citations"]) == (
            "10-1-cited",
            "10.1/cited",
            11,
        )
        assert len(topic["citing"]) == 10
        assert [one["because"] for one in topic["citing"][:2]] == [
            OLDEST_PAPER_REASON,
            NEWEST_PAPER_REASON,
        ]
        assert facts["statistics"]["citances"]["sum"] == 10

    @pytest.mark.parametrize(
        ("facts", "options", "why"),
        [
            ({"citations": 10}, (), "10 citations or fewer"),
            ({"citing": 3}, (), "citations less than 3 years apart"),
            (
                {"citing": 12},
                ("--fewest-citing", "13"),
                "fewer than 13 citing papers in the corpus",
            ),
            ({"text": ""}, (), "no text"),
            ({}, ("--last-year", "1999"), "not known to have appeared by 1999"),
        ],
    )
    def test_what_a_paper_does_not_meet_is_counted_by_its_reason(
        self, build, facts, options, why
    ):
        found = build(*options, **facts)
        assert (found["topics"], found["left_out"]) == ([], {why: 1})

    def test_citations_that_nobody_counted_are_those_of_the_corpus(self, build):
        assert build(citations=None)["topics"][0]["citations"] == CITING

    def test_the_same_seed_draws_the_same_papers_and_another_others(self, build):
        draws = [
            build("--seed", seed, "--most-others", "3")["topics"][0]["citing"]
            for seed in "001"
        ]
        assert draws[0] == draws[1] != draws[2]

    def test_single_citations_come_before_new_years_and_neither_is_left_out(self):
        papers = [CitingPaper("old", 1990, False), CitingPaper("new", 1999, False),
                  CitingPaper("undated", None, True),
                  CitingPaper("same", 1990, False), CitingPaper("other", 1996, False),
                  CitingPaper("again", 1996, False), CitingPaper("single", 1995, True)]  # fmt: skip
        chosen = [
            (one.paper_id, why)
            for one, why in choose_citing_papers(papers, TopicRules())
        ]
        ends, singles, years = chosen[:2], chosen[2:4], chosen[4:]
        assert {name for name, _ in ends} <= {"old", "same", "new"}
        assert sorted(singles) == [
            ("single", SINGLE_CITATION_REASON),
            ("undated", SINGLE_CITATION_REASON),
        ]
        assert [why for _, why in years] == [OTHER_YEAR_REASON]

    def test_names_hold_no_dot_or_slash_and_none_is_given_twice(self):
        assert make_file_names(["10.1/a", "10-1-a", "..."]) == {
            "10.1/a": "10-1-a",
            "10-1-a": "10-1-a-2",
            "...": "paper",
        }


class TestFiles:
    def test_check_takes_the_topics_as_inputs_with_a_run_of_theirs(
        self, build, capsys, tmp_path
    ):
        build()
        topics = tmp_path / "out" / "topics"
        run = tmp_path / "run.jsonl"
        assert (
            main(["baseline", "clsumm-lead", "--gold", str(topics), "--out", str(run)])
            == 0
        )
        assert (
            main(
                [
                    "baseline",
                    "clsumm-tfidf-top3",
                    "--gold",
                    str(topics),
                    "--out",
                    str(run),
                ]
            )
            == 0
        )
        assert (
            main(["check", "clsumm-1a", "--inputs", str(topics), "--run", str(run)])
            == 0
        )
        assert len(run.read_text().splitlines()) == 10

    def test_an_annotator_who_fills_in_a_template_makes_gold(
        self, build, capsys, tmp_path
    ):
        build()
        [file] = (tmp_path / "out" / "topics" / "10-1-cited" / "annotation").iterdir()
        empty = "Reference Offset: [] | Reference Text:  | Discourse Facet:  |"
        quoted = '<S sid="2">We count words.</S>'
        filled = f"Reference Offset: ['2'] | Reference Text: {quoted} | Discourse Facet: Aim |"
        assert file.read_text().count(empty) == 10
        file.write_text(file.read_text().replace(empty, filled))
        capsys.readouterr()
        assert (
            main(
                [
                    "papers",
                    "describe-topics",
                    "--gold",
                    str(tmp_path / "out" / "topics"),
                    "--json",
                ]
            )
            == 0
        )
        found = json.loads(capsys.readouterr().out)
        assert (
            found["sentences_a_citance"]["mean"]
            == found["sentences_a_citing_sentence"]
            == 1
        )
        assert found["citances_by_facet"] == {"Aim": 10}

    def test_bars_in_texts_part_no_fields_and_papers_hold_every_sentence(
        self, build, tmp_path
    ):
        build()
        folder = tmp_path / "out" / "topics" / "10-1-cited"
        line = (
            (folder / "annotation" / "10-1-cited.annv3.txt").read_text().splitlines()[0]
        )
        assert line.count(" | ") == 10
        assert "(Us &#124; Them" in line
        assert (
            '<S sid="3" ssid="2">Counting | helps.</S>'
            in (folder / "Reference_XML" / "10-1-cited.xml").read_text()
        )
        assert (
            '<S sid="1" ssid="1">We count.</S>'
            in (folder / "summary" / "10-1-cited.abstract.txt").read_text()
        )

    def test_the_data_sheet_says_why_each_paper_was_taken(self, build, tmp_path):
        build()
        sheet = (tmp_path / "out" / "datasheet.md").read_text()
        assert "| 10-1-cited | 2000 | 11 |" in sheet
        assert OLDEST_PAPER_REASON in sheet
        assert SINGLE_CITATION_REASON in sheet

    def test_headings_and_printed_marks_of_full_texts_are_kept(self, capsys, tmp_path):
        """Two papers in paragraphs with spans; the cited one has no mark."""

        def paper(name, year, text, spans=(), entries=None):
            body = [{"section": "Method", "text": text, "cite_spans": list(spans)}]
            return {"paper_id": name, "title": name, "year": year, "abstract": [], "body_text": body,
                    "bib_entries": entries or {}}  # fmt: skip

        entries = {"b0": {"title": "cited", "link": "cited"}}
        text = "Nothing here. The words are counted [1] again."
        span = {
            "start": text.index("[1]"),
            "end": text.index("[1]") + 3,
            "ref_id": "b0",
        }
        citing = [paper(f"p{n}", 2000 + n, text, [span], entries) for n in range(4)]
        write_lines(
            tmp_path / "corpus" / "a.jsonl",
            [paper("cited", 1999, "We count words."), *citing],
        )
        command = [
            "build-topics",
            str(tmp_path / "corpus"),
            "--form",
            "s2orc",
            "--out",
            str(tmp_path / "out"),
        ]
        assert main([*command, "--more-than-citations", "3"]) == 0
        folder = tmp_path / "out" / "topics" / "cited"
        written = (folder / "Citance_XML" / "p0.xml").read_text()
        assert '<SECTION title="Method" number="1">' in written
        assert '<S sid="2" ssid="2">The words are counted [1] again.</S>' in written
        assert (
            "Citation Offset: ['2']"
            in (folder / "annotation" / "cited.annv3.txt").read_text()
        )


class TestBadInput:
    def test_a_folder_that_has_topics_already_is_left_alone(
        self, build, capsys, tmp_path
    ):
        build()
        assert (
            main(
                [
                    "build-topics",
                    str(tmp_path / "corpus"),
                    "--out",
                    str(tmp_path / "out"),
                ]
            )
            == 2
        )
        assert (
            "topics: it is there already; expected a new folder"
            in capsys.readouterr().err
        )

    def test_a_corpus_that_is_none_is_refused(self, capsys, tmp_path):
        assert (
            main(
                [
                    "build-topics",
                    str(tmp_path / "nowhere"),
                    "--out",
                    str(tmp_path / "out"),
                ]
            )
            == 2
        )
        assert "there is no such file or folder" in capsys.readouterr().err
        assert not (tmp_path / "out").exists()

    def test_a_number_that_is_none_is_refused(self, capsys, tmp_path):
        with pytest.raises(SystemExit):
            main(
                [
                    "build-topics",
                    str(tmp_path),
                    "--out",
                    str(tmp_path / "out"),
                    "--topics",
                    "many",
                ]
            )
        assert "“many” is not a whole number" in capsys.readouterr().err

    def test_topics_without_annotation_are_described_as_inputs_and_refused_as_gold(
        self, build, capsys, tmp_path
    ):
        build()
        capsys.readouterr()
        topics = str(tmp_path / "out" / "topics")
        assert main(["papers", "describe-topics", "--inputs", topics]) == 0
        assert "sentences a citance" not in capsys.readouterr().out
        assert main(["papers", "describe-topics", "--gold", topics]) == 2
        assert "the Reference Text holds no <S> element" in capsys.readouterr().err

    def test_an_annotation_that_there_is_not_is_refused_with_those_that_there_are(
        self, capsys, tmp_path
    ):
        write_topic(tmp_path / "gold", "D01-0001")
        assert (
            main(
                [
                    "papers",
                    "describe-topics",
                    "--gold",
                    str(tmp_path / "gold"),
                    "--annotation",
                    "annv9",
                ]
            )
            == 2
        )
        assert "expected one of auto, annv3, ann, annv2, csv" in capsys.readouterr().err
