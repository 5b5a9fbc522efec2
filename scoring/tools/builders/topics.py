"""Select CL-Summ topics, which have a reference paper and papers that cite it, by the
criteria of the CL-Summ pilot.

The criteria are in the section “Corpus Construction” of the paper (Jaidka et al., 2014)
and in the notes that accompany the corpus. A reference paper has more than ten
citations, and the years of the citing papers are at least three years apart. Among the
citing papers, the oldest and the newest are selected, and up to eight others in random
order. Papers with a citation that is not part of a list of citations are selected
first, and then papers of years that are not yet selected.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from itertools import groupby
from operator import attrgetter, itemgetter
from pathlib import Path
from statistics import fmean, pstdev
from tempfile import TemporaryDirectory
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from scoring.metrics.discourse import SPLITTING_RULES_VERSION, iterate_sentence_spans
from scoring.offline.arguments import format_markdown_table
from scoring.tools.builders.corpus import (
    CITATION_PLACEHOLDER,
    OTHER_CITATION_PLACEHOLDER,
)
from scoring.tools.builders.reading import (
    FORMS_WITH_SENTENCES,
    choose_loader,
    compute_corpus_digest,
    keep_letters_and_digits,
    make_refusal,
)
from scoring.tools.builders.season import write_data_sheet
from scoring.tools.builders.store import SQL, CorpusStore
from tasks.types.clsumm.citances import (
    count_contiguous_spans,
    list_real_sentence_ids,
    normalise_distinct_facets,
)
from tasks.types.clsumm.pairs import parse_publication_year
from tasks.types.clsumm.topics import ClsummTopic, InputTopic, read_input_topics
from tasks.types.files import open_files_of_all_inputs

OLDEST_PAPER_REASON, NEWEST_PAPER_REASON, SINGLE_CITATION_REASON, OTHER_YEAR_REASON = (
    "the oldest",
    "the newest",
    "cites outside a list",
    "of another year",
)


class StoreWithTexts(CorpusStore):
    """A store that also contains the full text of papers, as sentences with headings."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, with_texts=True, **named)
        self.connection.executescript(SQL["topics: texts"])

    def add_text(
        self, paper_id: str, section: str, sentences: Iterable[tuple[str, str]]
    ) -> None:
        rows = [
            (paper_id, section, printed, unmarked) for printed, unmarked in sentences
        ]
        self.write("INSERT INTO texts VALUES (NULL, ?, ?, ?, ?)", rows)


@dataclass(frozen=True, kw_only=True)
class TopicRules:
    seed: int = 0
    topics: int = 10
    more_than_citations: int = 10
    #: Minimum number of years between the oldest and the newest citing paper.
    years_apart: int = 3
    fewest_citing: int = 3
    #: Maximum number of selected citing papers besides the oldest and the newest.
    most_others: int = 8
    #: The latest year of publication of a reference paper, or None for no limit.
    last_year: int | None = None


@dataclass(frozen=True)
class CitingPaper:
    """A paper that cites the reference paper of a topic.

    ``is_single`` is True if the paper cites the reference paper at least once outside
    of a list of citations.
    """

    paper_id: str
    year: int | None
    is_single: bool


def choose_topics(
    store: StoreWithTexts, rules: TopicRules
) -> tuple[list[tuple[Any, int, list[CitingPaper]]], Counter[str]]:
    """Return the topics that meet the criteria in random order, and the number of
    rejected reference papers by reason.

    A topic is a tuple of the reference paper, its number of citations and the citing
    papers. The order of topics depends only on the seed and the ids of papers.
    """
    left_out: Counter[str] = Counter()
    eligible = []
    for cited, rows in groupby(
        store.rows(SQL["topics: citing"]), key=lambda row: row["cited"]
    ):
        citing = [
            CitingPaper(row["citing"], row["year"], bool(row["is_single"]))
            for row in rows
        ]
        paper = next(store.rows(SQL["topics: paper"], (cited,)))
        citations = (
            paper["citations"] if paper["citations"] is not None else len(citing)
        )
        if reason := _find_rejection_reason(paper, citations, citing, rules):
            left_out[reason] += 1
        else:
            eligible.append((paper, citations, citing))
    return sorted(
        eligible, key=lambda topic: draw_random_key(rules.seed, topic[0]["paper_id"])
    ), left_out


def _find_rejection_reason(
    paper: Any, citations: int, citing: Sequence[CitingPaper], rules: TopicRules
) -> str:
    years = [
        citing_paper.year for citing_paper in citing if citing_paper.year is not None
    ]
    if rules.last_year is not None and (
        paper["year"] is None or paper["year"] > rules.last_year
    ):
        return f"not known to have appeared by {rules.last_year}"
    if citations <= rules.more_than_citations:
        return f"{rules.more_than_citations} citations or fewer"
    if not years or max(years) - min(years) < rules.years_apart:
        return f"citations less than {rules.years_apart} years apart"
    if len(citing) < rules.fewest_citing:
        return f"fewer than {rules.fewest_citing} citing papers in the corpus"
    return "" if paper["has_text"] else "no text"


def choose_citing_papers(
    citing: Sequence[CitingPaper], rules: TopicRules
) -> Iterator[tuple[CitingPaper, str]]:
    drawn = sorted(
        citing, key=lambda paper: draw_random_key(rules.seed, paper.paper_id)
    )
    dated = [paper for paper in drawn if paper.year is not None]
    year = attrgetter("year")
    ends = {
        min(dated, key=year): OLDEST_PAPER_REASON,
        max(dated, key=year): NEWEST_PAPER_REASON,
    }
    yield from ends.items()
    years = {paper.year for paper in ends}
    others = [paper for paper in drawn if paper not in ends]
    left = rules.most_others
    for paper in sorted(others, key=lambda paper: not paper.is_single):
        if left and (
            paper.is_single or (paper.year is not None and paper.year not in years)
        ):
            yield (
                paper,
                SINGLE_CITATION_REASON if paper.is_single else OTHER_YEAR_REASON,
            )
            years.add(paper.year)
            left -= 1


def draw_random_key(seed: int, name: str) -> str:
    return hashlib.sha256(json.dumps([seed, name]).encode()).hexdigest()


def compute_corpus_statistics(
    inputs: Sequence[InputTopic], gold: Sequence[ClsummTopic]
) -> dict[str, Any]:
    citances = (citance for topic in inputs for citance in topic.citances)
    citing = sum(
        len(citance.offsets) or max(1, len(list(iterate_sentence_spans(citance.text))))
        for citance in citances
    )
    dated = [
        [parse_publication_year(citance.name.citing) for citance in topic.citances]
        for topic in inputs
    ]
    years = [[year for year in topic if year is not None] for topic in dated]
    facts: dict[str, Any] = {
        "topics": len(inputs),
        "reference_sentences": _summarise_counts(
            [len(topic.sentences) for topic in inputs]
        ),
        "citing_papers": _summarise_counts(
            [
                len({citance.name.citing for citance in topic.citances})
                for topic in inputs
            ]
        ),
        "citances": _summarise_counts([len(topic.citances) for topic in inputs]),
        "citing_sentences": citing,
        "years_of_citing_papers": _summarise_counts(
            [max(span) - min(span) for span in years if span]
        ),
    }
    annotated = [
        (topic, citance)
        for topic in gold
        for file in topic.files
        for citance in file.citances
    ]
    if not annotated:
        return facts
    named = [(topic, list_real_sentence_ids(citance)) for topic, citance in annotated]
    counts = [len(sentences) for _, sentences in named]
    facets = Counter(
        facet
        for _, citance in annotated
        for facet in normalise_distinct_facets(citance.facets)
    )
    by_one = citing if all(len(topic.files) == 1 for topic in gold) else 0
    return {
        **facts,
        "annotated_citances": len(annotated),
        "sentences_a_citance": _summarise_counts(counts),
        "sentences_a_citing_sentence": sum(counts) / by_one if by_one else None,
        "spans_a_citance": _summarise_counts(
            [
                count_contiguous_spans(sentences, topic.order)
                for topic, sentences in named
            ]
        ),
        "citances_by_sentences": dict(sorted(Counter(counts).items())),
        "citances_by_facet": dict(sorted(facets.items())),
        "annotators": _summarise_counts([len(topic.files) for topic in gold]),
    }


def format_statistics_rows(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in facts.items():
        if value is None:
            words = ""
        elif isinstance(value, dict) and "mean" in value:
            words = f"{value['sum']:,}; mean {value['mean']:.2f}, standard deviation {value['deviation']:.2f}"
            words += f", {value['least']:,} to {value['most']:,}"
        elif isinstance(value, dict):
            words = ", ".join(f"{key}: {count:,}" for key, count in value.items())
        else:
            words = f"{value:.2f}" if isinstance(value, float) else f"{value:,}"
        yield name.replace("_", " "), words


def _summarise_counts(counts: Sequence[int]) -> dict[str, float | int] | None:
    if not counts:
        return None
    sums = {"sum": sum(counts), "mean": fmean(counts), "deviation": pstdev(counts)}
    return {**sums, "least": min(counts), "most": max(counts)}


ABSTRACT_SECTION, TEXT_SECTION, CITATIONS_SECTION = "Abstract", "Text", "Citations"
#: Placeholders for citation marks whose printed form is unknown.
MARK_PLACEHOLDER, OTHER_MARK_PLACEHOLDER = "[CITATION]", "[OTHER]"
_UNSAFE_FILE_NAME_CHARACTERS = re.compile(r"[^A-Za-z0-9-]+")


@dataclass
class TopicPaper:
    """The content of a paper that the builder writes to a file of a topic.

    ``sentences`` has a pair of section heading and sentence for each sentence.
    """

    title: str
    sentences: list[tuple[str, str]] = field(default_factory=list)
    #: The number (sid) of each sentence.
    #: The keys are sentences reduced to their letters.
    places: dict[str, int] = field(default_factory=dict)

    def add(self, section: str, sentence: str, unmarked: str = "") -> int:
        """Add a sentence to the content of the paper and return the number of the
        sentence (its sid). The sid of the title is 0, and the sid of the first sentence
        is 1.
        """
        self.sentences.append((section, sentence))
        for key in (_normalise_to_letters(sentence), _normalise_to_letters(unmarked)):
            self.places.setdefault(key, len(self.sentences))
        return len(self.sentences)

    def place_of(self, context: Any) -> tuple[int, str]:
        """Return the number (sid) and the text of the sentence in which a citation
        context occurs. If the content lacks the sentence, add the sentence.
        """
        shown = (
            context["sentence"]
            .replace(CITATION_PLACEHOLDER, context["marker"] or MARK_PLACEHOLDER)
            .replace(OTHER_CITATION_PLACEHOLDER, OTHER_MARK_PLACEHOLDER)
        )
        if (
            sid := self.places.get(
                _normalise_to_letters(
                    context["sentence"].replace(
                        CITATION_PLACEHOLDER, OTHER_CITATION_PLACEHOLDER
                    )
                )
            )
        ) is None:
            for sentence in (context["before"], shown, context["after"]):
                if sentence:
                    place = self.add(
                        CITATIONS_SECTION,
                        sentence.replace(
                            OTHER_CITATION_PLACEHOLDER, OTHER_MARK_PLACEHOLDER
                        ),
                    )
                    sid = place if sentence is shown else sid
        assert sid is not None
        return sid, self.sentences[sid - 1][1]

    def format_as_xml(self) -> str:
        lines = ["<PAPER>", format_sentence_element(0, 0, self.title)]
        sid = 0
        for number, (section, group) in enumerate(
            groupby(self.sentences, key=itemgetter(0)), start=1
        ):
            name = quoteattr(" ".join(section.split()))
            is_abstract = section == ABSTRACT_SECTION
            lines.append(
                "<ABSTRACT>"
                if is_abstract
                else f'<SECTION title={name} number="{number}">'
            )
            for position, (_, sentence) in enumerate(group, start=1):
                sid += 1
                lines.append(format_sentence_element(sid, position, sentence))
            lines.append("</ABSTRACT>" if is_abstract else "</SECTION>")
        return "\n".join([*lines, "</PAPER>", ""])


def make_file_names(ids: Sequence[str]) -> dict[str, str]:
    """Return a file name for each id of a paper.

    File names contain no dots and no slashes, because the name of a run ends at its
    first dot.
    """
    names: dict[str, str] = {}
    for paper_id in ids:
        plain = _UNSAFE_FILE_NAME_CHARACTERS.sub("-", paper_id).strip("-") or "paper"
        name, number = plain, 1
        while name in names.values():
            number += 1
            name = f"{plain}-{number}"
        names[paper_id] = name
    return names


def write_topic(
    store: StoreWithTexts,
    cited: str,
    citing: Iterable[str],
    names: Mapping[str, str],
    out: Path,
) -> None:
    name = names[cited]
    files = {
        part: out / name / part
        for part in ("Reference_XML", "Citance_XML", "annotation", "summary")
    }
    for folder in files.values():
        folder.mkdir(parents=True, exist_ok=True)
    paper = collect_paper_content(store, cited)
    (files["Reference_XML"] / f"{name}.xml").write_text(
        paper.format_as_xml(), encoding="utf-8"
    )
    abstract = [
        sentence for section, sentence in paper.sentences if section == ABSTRACT_SECTION
    ]
    lines = [
        format_sentence_element(sid, sid, sentence)
        for sid, sentence in enumerate([paper.title, *abstract])
    ]
    (files["summary"] / f"{name}.abstract.txt").write_text(
        "\n".join([*lines, ""]), encoding="utf-8"
    )
    citances: list[str] = []
    for paper_id in citing:
        citing_paper = collect_paper_content(store, paper_id)
        for context in store.rows(SQL["topics: contexts"], (paper_id, cited)):
            sid, text = citing_paper.place_of(context)
            values = {
                "Citance Number": str(len(citances) + 1),
                "Reference Article": f"{name}.xml",
                "Citing Article": f"{names[paper_id]}.xml",
                "Citation Marker Offset": f"['{sid}']",
                "Citation Marker": escape(
                    " ".join((context["marker"] or MARK_PLACEHOLDER).split())
                ),
                "Citation Offset": f"['{sid}']",
                "Citation Text": format_sentence_element(sid, sid, text),
                "Reference Offset": "[]",
                **dict.fromkeys(("Reference Text", "Discourse Facet", "Annotator"), ""),
            }
            fields = (
                f"{field}: {value.replace('|', '&#124;')}"
                for field, value in values.items()
            )
            citances.append(" | ".join(fields) + " |\n")
        (files["Citance_XML"] / f"{names[paper_id]}.xml").write_text(
            citing_paper.format_as_xml(), encoding="utf-8"
        )
    (files["annotation"] / f"{name}.annv3.txt").write_text(
        "\n".join(citances), encoding="utf-8"
    )


def collect_paper_content(store: StoreWithTexts, paper_id: str) -> TopicPaper:
    """Return the content of a paper with its title, abstract and text.

    If the store has no text of the paper, the content has the sentences of its citation
    contexts.
    """
    paper = next(store.rows("SELECT * FROM papers WHERE paper_id = ?", (paper_id,)))
    result = TopicPaper(paper["title"] or paper_id)
    rows = list(
        store.rows("SELECT * FROM texts WHERE paper_id = ? ORDER BY place", (paper_id,))
    )
    texts = {
        ABSTRACT_SECTION: paper["abstract"] or "",
        TEXT_SECTION: paper["text"] or "",
    }
    if any(row["section"] == ABSTRACT_SECTION for row in rows):
        del texts[ABSTRACT_SECTION]
    if rows:
        del texts[TEXT_SECTION]
    for section, text in texts.items():
        for start, end in iterate_sentence_spans(text):
            result.add(section, text[start:end])
    for row in rows:
        result.add(row["section"] or TEXT_SECTION, row["printed"], row["unmarked"])
    return result


def format_sentence_element(sid: int, ssid: int | None, sentence: str) -> str:
    place = "" if ssid is None else f' ssid="{ssid}"'
    return f'<S sid="{sid}"{place}>{escape(" ".join(sentence.split()))}</S>'


def _normalise_to_letters(sentence: str) -> str:
    return keep_letters_and_digits(
        sentence.replace(CITATION_PLACEHOLDER, "").replace(
            OTHER_CITATION_PLACEHOLDER, ""
        )
    )


TOPICS_FOLDER = "topics"


def build_topics(
    corpus: Path,
    out: Path,
    rules: TopicRules,
    *,
    form: str = "auto",
    progress: Callable[[str], None] = lambda step: None,
) -> dict[str, Any]:
    """Write CL-Summ topics and their data sheet into a folder. ``progress`` is called
    with the name of each step.
    """
    read = choose_loader(form, corpus)
    if (out / TOPICS_FOLDER).exists():
        raise make_refusal("it is there already", out / TOPICS_FOLDER, "a new folder")
    with (
        TemporaryDirectory(prefix="citeboard-topics-") as folder,
        closing(StoreWithTexts(Path(folder) / "corpus")) as store,
    ):
        progress("reading the corpus")
        read.load(corpus, store)
        progress("choosing papers that can be topics")
        eligible, left_out = choose_topics(store, rules)
        taken = eligible[: rules.topics]
        chosen = [
            (paper, count, list(choose_citing_papers(citing, rules)))
            for paper, count, citing in taken
        ]
        papers = [paper["paper_id"] for paper, *_ in chosen]
        papers += [one.paper_id for *_, citing in chosen for one, _ in citing]
        names = make_file_names(list(dict.fromkeys(papers)))
        progress(f"writing {len(chosen):,} topics")
        (out / TOPICS_FOLDER).mkdir(parents=True)
        topics = []
        for paper, citations, citing in chosen:
            cited = paper["paper_id"]
            write_topic(
                store,
                cited,
                [one.paper_id for one, _ in citing],
                names,
                out / TOPICS_FOLDER,
            )
            citing_papers = [
                {
                    "name": names[one.paper_id],
                    "paper": one.paper_id,
                    "year": one.year,
                    "because": why,
                }
                for one, why in citing
            ]
            facts = {
                "name": names[cited],
                "paper": cited,
                "title": paper["title"],
                "year": paper["year"],
            }
            topics.append({**facts, "citations": citations, "citing": citing_papers})
        facts = {
            "corpus": {
                "form": read.name,
                **compute_corpus_digest(corpus),
                **store.sizes(),
            },
            "rules": {
                **asdict(rules),
                "sentences": "as given"
                if read.name in FORMS_WITH_SENTENCES
                else SPLITTING_RULES_VERSION,
            },
            "cited_papers": len(eligible) + left_out.total(),
            "left_out": dict(sorted(left_out.items())),
            "eligible": len(eligible),
            "topics": topics,
        }
    if topics:
        inputs = read_input_topics(
            open_files_of_all_inputs([out / TOPICS_FOLDER]), {"annotation": "auto"}
        )
        facts["statistics"] = compute_corpus_statistics(inputs, [])
    write_data_sheet(out, facts, _write_data_sheet_lines(facts))
    return facts


def _write_data_sheet_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    built, eligible = len(facts["topics"]), facts["eligible"]
    yield f"# Data sheet\n\n{built:,} topics of {eligible:,} papers that could be one.\n"
    for title in ("Corpus", "Rules", "Left out"):
        yield f"## {title}\n"
        values = facts[title.lower().replace(" ", "_")].items()
        # Convert numbers to text, because these tables have no thousands separators.
        shown = (
            (name.replace("_", " "), "" if value is None else str(value))
            for name, value in values
        )
        yield from format_markdown_table(("", ""), shown)
    yield "## Topics\n"
    rows = []
    for topic in facts["topics"]:
        first = (topic["name"], topic["year"], topic["citations"])
        for citing in topic["citing"]:
            cells = (*first, citing["name"], citing["year"], citing["because"])
            rows.append(["" if cell is None else str(cell) for cell in cells])
    yield from format_markdown_table(
        ("topic", "year", "citations", "citing paper", "year", "because"), rows
    )
    if "statistics" in facts:
        yield "## Statistics\n"
        yield from format_markdown_table(
            ("", ""), format_statistics_rows(facts["statistics"])
        )
