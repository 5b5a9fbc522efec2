"""Build a diagnostic split for citation recommendation from a corpus. The builder
writes the folder of a season, with a data sheet that documents all rules.
"""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from scoring.offline.arguments import format_markdown_table, write_json_lines
from scoring.tools.builders import classes, datasheet
from scoring.tools.builders.corpus import RULES_SPLITTER_NAME
from scoring.tools.builders.parts import SINGLE_PROCESS, Workers, read_corpus
from scoring.tools.builders.reading import (
    choose_loader,
    compute_corpus_digest,
    iterate_records,
    make_refusal,
)
from scoring.tools.builders.season import (
    SeasonFolder,
    format_published_table,
    read_published_rows,
)
from scoring.tools.builders.store import SQL, CorpusStore
from scoring.tools.builders.tagging import PartOfSpeechTagger, tag_contexts
from tasks.types.citation_recommendation import (
    CANDIDATES_FILE_NAME,
    CONTEXTS_FILE_NAME,
    SAMPLED_DIMENSIONS_FIELD,
)

#: Numbers of contexts of papers without a sampled context, and of further contexts.
_StratumNumbers = tuple[list[int], list[int]]


class DimensionSampler:
    """The contexts that are sampled for one dimension, in the order of their random
    draws. If possible, at most one context is sampled for each ``unit``, which is the
    citing paper (`paper_id`) or the cited paper (`target`).
    """

    def __init__(self, name: str, per_stratum: int, *, unit: str = "paper_id") -> None:
        self.name, self._per_stratum, self._unit = name, per_stratum, unit
        self._strata: dict[str, dict[tuple[str | None, ...], _StratumNumbers]] = (
            defaultdict(lambda: defaultdict(lambda: ([], [])))
        )
        self._papers: set[str] = set()

    def offer(self, row: sqlite3.Row) -> None:
        if (label := row[self.name]) is None or not has_side_condition_classes(
            self.name, row
        ):
            return
        first, further = self._strata[label][
            row["field"], row["year_group"], row["citation_group"]
        ]
        if row[self._unit] not in self._papers:
            if len(first) < self._per_stratum:
                first.append(row["number"])
                self._papers.add(row[self._unit])
        elif len(further) < self._per_stratum:
            further.append(row["number"])

    def chosen(self, most: int) -> Iterator[int]:
        for _, strata in sorted(self._strata.items()):
            keys = sorted(
                strata,
                key=lambda stratum: [(part is None, part or "") for part in stratum],
            )
            lists = [
                [*strata[key][0], *strata[key][1]][: self._per_stratum] for key in keys
            ]
            in_turn = (
                number
                for turn in zip_longest(*lists)
                for number in turn
                if number is not None
            )
            yield from islice(in_turn, most)


def has_side_condition_classes(name: str, row: sqlite3.Row) -> bool:
    """Return True if a context has the classes in other dimensions that all samples of
    the given dimension must have.
    """
    if name == "field" and row["low_resource"] is not None:
        return False
    return all(
        row[other] == wanted for other, wanted in classes.SIDE_CONDITIONS[name].items()
    )


def _insert_class_samples(
    store: CorpusStore,
    dimensions: Sequence[DimensionSampler],
    contexts: str,
    rules: classes.SamplingRules,
) -> None:
    for row in store.rows(contexts):
        for dimension in dimensions:
            dimension.offer(row)
    for dimension in dimensions:
        numbers = list(dimension.chosen(rules.most_per_class))
        store.write(
            SQL["diagnostic: insert"], [(number, dimension.name) for number in numbers]
        )


OFFICIAL_SET_NAMES = tuple(
    name for name in classes.SIDE_CONDITIONS if name not in classes.STRATUM_DIMENSIONS
)


def sample_by_official_method(store: CorpusStore, rules: classes.SamplingRules) -> None:
    """Fill the table `sampled`. Raises InputRefused if no context has all classes that
    define a stratum.

    In the method of Maharjan's paper, a context can be in only one set, so the sets
    compete for contexts. For example, the set *Medium* needs contexts whose citation is
    at the end of the sentence, and the set *End* needs sentences of medium length. For
    this reason, the classes take turns, beginning with the smallest class. In each
    turn, a class receives one unused context, so that all classes grow equally until no
    contexts are left in their strata. Each stratum of a set contains contexts that cite
    ``drawn`` different papers.
    """
    #: Contexts by set and class, and within a class by field, years and citations.
    strata: dict[tuple[str, str, str, str, str], dict[str, int]] = defaultdict(dict)
    for row in store.rows("SELECT * FROM classified ORDER BY draw"):
        cell = row["field"], row["year_group"], row["citation_group"]
        is_main = row["low_resource"] is None
        for name in OFFICIAL_SET_NAMES if None not in cell else ():
            if (
                row[name] is not None
                and has_side_condition_classes(name, row)
                and is_main != (name == "low_resource")
            ):
                drawn = strata[name, row[name], *cell]
                if len(drawn) < rules.drawn * len(OFFICIAL_SET_NAMES):
                    drawn.setdefault(row["target"], row["number"])
    if not strata:
        message = "no context has a field, a group of years and a citation count group to be drawn by"
        expected = f"a corpus with fields, years and citation counts from {rules.fewest_citations} up"
        raise make_refusal(message, expected=f"{expected}, or --sampling each")
    taken: set[int] = set()
    pools: dict[tuple[str, str], list[Iterable[int]]] = defaultdict(list)
    for key, drawn in sorted(strata.items()):
        pools[key[:2]].append(drawn.values())
    scarce = sorted(
        pools, key=lambda key: (sum(len(list(numbers)) for numbers in pools[key]), key)
    )
    offers = {
        key: islice(
            _iterate_remaining_contexts(pools[key], taken, rules), rules.most_per_class
        )
        for key in scarce
    }
    while offers:
        for name, label in list(offers):
            if (number := next(offers[name, label], None)) is None:
                del offers[name, label]
            else:
                taken.add(number)
                store.write(SQL["diagnostic: insert"], [(number, name)])
    combined = [
        DimensionSampler(name, rules.most_per_class, unit="target")
        for name in classes.STRATUM_DIMENSIONS
    ]
    _insert_class_samples(store, combined, SQL["diagnostic: combined"], rules)


def _iterate_remaining_contexts(
    strata: Sequence[Iterable[int]], taken: set[int], rules: classes.SamplingRules
) -> Iterator[int]:
    left = [iter(numbers) for numbers in strata]
    for _ in range(min(rules.per_stratum, rules.drawn)):
        for numbers in left:
            if (
                number := next(
                    (number for number in numbers if number not in taken), None
                )
            ) is not None:
                yield number


BASELINES = ("bm25-okapi", "bm25-lucene", "tfidf-cosine")

#: Fields of a context that are written to the gold.
_GOLD_CONTEXT_FIELDS = (
    "sentence",
    "before",
    "after",
    "section",
    "field",
    "cited_year",
    "year_group",
    "citation_group",
    "n_tokens",
    "length_class",
    "position",
    "location_class",
    "context_type",
    "h_index",
    "h_index_group",
    "word_before",
    "pos_before",
    "word_after",
    "pos_after",
    "low_resource",
    "marker",
    "style",
)


def build_diagnostic(  # noqa: PLR0913  (each is an option of the command)
    corpus: Path,
    season: SeasonFolder,
    rules: classes.SamplingRules,
    *,
    form: str = "auto",
    pipeline: str | None = None,
    workers: Workers = SINGLE_PROCESS,
    work: Path | None = None,
    sentences: str = RULES_SPLITTER_NAME,
    progress: Callable[[str], None] = lambda step: None,
) -> datasheet.BuiltSplit:
    """Write the folder of a season with a diagnostic split. ``progress`` is called with
    the name of each step of the build.

    ``pipeline`` is the name of a spaCy pipeline that tags parts of speech, or None.
    ``sentences`` is the name of the sentence splitter. The files do not depend on the
    number of workers. Raises InputRefused if the corpus cannot be read, and Unavailable
    if the pipeline or the cluster is missing.
    """
    form_loader = choose_loader(form, corpus)
    tagger = PartOfSpeechTagger(pipeline) if pipeline else None
    progress("reading the corpus")
    with read_corpus(
        corpus, form_loader.name, workers, work, sentences=sentences
    ) as store:
        progress("sorting contexts into classes")
        classes.assign_intent_types(store)
        if rules.field_of == "auto":
            share = store.value(SQL["classes: known fields"])
            rules = replace(
                rules,
                field_of="cited" if share is not None and share >= 0.5 else "citing",
            )
        thresholds, refused = classes.create_classified_view(store, rules)
        if tagger:
            progress("tagging parts of speech")
            tag_contexts(
                store,
                rules,
                thresholds,
                tagger,
                workers,
                is_kept=work is not None,
                progress=progress,
            )
        progress("drawing contexts")
        store.connection.execute(SQL["diagnostic: sampled"])
        if not rules.every_context:
            if rules.sampling == classes.OFFICIAL_SAMPLING:
                sample_by_official_method(store, rules)
            else:
                each = [
                    DimensionSampler(name, rules.per_stratum)
                    for name in classes.SIDE_CONDITIONS
                ]
                _insert_class_samples(
                    store, each, "SELECT * FROM classified ORDER BY draw", rules
                )
        built = datasheet.BuiltSplit(
            form=form_loader.name,
            corpus=store.sizes(),
            licences=store.counts(SQL["diagnostic: licences"]),
            digest=compute_corpus_digest(corpus),
            rules=rules,
            thresholds=thresholds,
            refused=refused,
            sentences=store.sentences.name
            if form_loader.has_paragraphs
            else "as the corpus has them",
            tagger=tagger.name if tagger else "",
        )
        progress("counting and writing")
        datasheet.count_contexts(store, built)
        season.gold.mkdir(parents=True, exist_ok=True)
        write_json_lines(
            season.gold / CONTEXTS_FILE_NAME, _iterate_sampled_contexts(store, rules)
        )
        built.candidates = write_json_lines(
            season.gold / CANDIDATES_FILE_NAME, _iterate_candidates(store, rules)
        )
    datasheet.write_data_sheet_and_charts(built, season.folder)
    return built


def _iterate_sampled_contexts(
    store: CorpusStore, rules: classes.SamplingRules
) -> Iterator[dict[str, Any]]:
    rows = store.rows(SQL["diagnostic: selected"], {"every": rules.every_context})
    for number, row in enumerate(rows, start=1):
        facts = {
            name: row[name] for name in _GOLD_CONTEXT_FIELDS if row[name] is not None
        }
        sampled = (
            {}
            if rules.every_context
            else {SAMPLED_DIMENSIONS_FIELD: sorted(row["sampled"].split(","))}
        )
        names = {
            "context_id": row["context_id"],
            "citing_id": row["paper_id"],
            "cited_id": row["target"],
        }
        yield {"id": f"d{number:06d}", **names, **facts, **sampled}


def _iterate_candidates(
    store: CorpusStore, rules: classes.SamplingRules
) -> Iterator[dict[str, Any]]:
    for row in store.rows(
        SQL["diagnostic: candidates"],
        {"all": rules.candidates == classes.ALL_CANDIDATES},
    ):
        facts = {
            name: row[name]
            for name in ("raw", "title", "abstract", "authors", "year")
            if row[name]
        }
        known = (author.items() for author in json.loads(row["author_metadata"]))
        authors = [
            {name: value for name, value in facts if value not in (None, "")}
            for facts in known
        ]
        yield {
            "ref_id": row["target"],
            **facts,
            **({"author_metadata": authors} if authors else {}),
        }


#: Fields of contexts that are compared if the other build also has the fields.
COMPARED_FIELDS = (
    "sentence",
    "cited_id",
    "field",
    "cited_year",
    "year_group",
    "n_tokens",
    "length_class",
    "position",
    "location_class",
    "word_before",
    "pos_before",
    "word_after",
    "pos_after",
)
#: The maximum number of differences that are shown for each field.
MAX_DIFFERENCES_SHOWN = 5


@dataclass
class BuildComparison:
    """The comparison of two builds of a diagnostic split, field by field.

    ``same`` counts equal values. ``differing`` has the first differences of each field,
    as tuples of the id of the context and the values in both builds.
    """

    compared: int = 0
    ours_alone: int = 0
    theirs_alone: int = 0
    same: Counter[str] = field(default_factory=Counter)
    differing: dict[str, list[tuple[str, Any, Any]]] = field(default_factory=dict)
    pairs: Counter[tuple[str, Any, Any]] = field(default_factory=Counter)


def compare_builds(built: Path, other: Path) -> BuildComparison:
    """Compare the contexts of two builds of a diagnostic split.

    A context has the same `context_id` in the built file as its `id` in the other file.
    """
    theirs = {str(record["id"]): record for record in iterate_records(other)}
    counts = BuildComparison()
    for ours in iterate_records(built):
        name = str(ours["context_id"])
        if (match := theirs.pop(name, None)) is None:
            counts.ours_alone += 1
            continue
        counts.compared += 1
        for fact in (fact for fact in COMPARED_FIELDS if fact in match):
            one, other_one = ours.get(fact), match[fact]
            if one == other_one:
                counts.same[fact] += 1
                continue
            counts.pairs[fact, one, other_one] += 1
            first = counts.differing.setdefault(fact, [])
            if len(first) < MAX_DIFFERENCES_SHOWN:
                first.append((name, one, other_one))
    counts.theirs_alone = len(theirs)
    return counts


def format_comparison_table(counts: BuildComparison) -> Iterator[str]:
    alone = f"{counts.ours_alone:,} in ours alone, {counts.theirs_alone:,} in the other alone"
    yield f"{counts.compared:,} contexts in both, {alone}.\n"
    rows = []
    for fact in (
        fact
        for fact in COMPARED_FIELDS
        if counts.same[fact] or fact in counts.differing
    ):
        same = counts.same[fact]
        kinds = [
            f"{a} → {b} ({n})"
            for (name, a, b), n in counts.pairs.most_common()
            if name == fact
        ]
        more = (
            f" and {len(kinds) - MAX_DIFFERENCES_SHOWN} other kinds"
            if len(kinds) > MAX_DIFFERENCES_SHOWN
            else ""
        )
        share = f"{same / max(counts.compared, 1):.1%}"
        rows.append(
            (fact, same, share, f"{', '.join(kinds[:MAX_DIFFERENCES_SHOWN])}{more}")
        )
    yield from format_markdown_table(
        ("fact", "the same", "share", "differ, ours → theirs"), rows
    )


PUBLISHED_TABLE_NAME = "Table 1"
#: The rule set `official` has only the metrics that the paper prints.
#: Maps from printed names to the names of metrics and of systems on the board.
PUBLISHED_RULES, METRIC_BY_PUBLISHED_NAME, BASELINE_BY_PUBLISHED_NAME = (
    "official",
    {"R@10": "recall@10", "M@10": "mrr@10"},
    {"BM25": "bm25-okapi"},
)
_PARTS_OF_SPEECH = (
    "Verb",
    "Noun",
    "Adjective",
    "Adverb",
    "Pronoun",
    "Preposition",
    "Others",
)
#: For each dimension that the paper prints, the name of the dimension in the gold.
#: The second value maps printed names of classes to other names in the gold.
PUBLISHED_DIMENSION_NAMES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "Fields": ("field", {}),
    "Years": ("year_group", {}),
    "Citation Count": ("citation_group", {}),
    "Length": ("length_class", {}),
    "Location": ("location_class", {}),
    "Intent": ("context_type", {"Methodology": "method"}),
    "Low Resource": ("low_resource", {}),
    "POS": (
        "pos_before",
        {
            f"{side} {name}": f"pos_{side}:{name}".lower()
            for side in ("Before", "After")
            for name in _PARTS_OF_SPEECH
        },
    ),
}


def iterate_diagnostic_placements(
    published: Path, candidates: int = 0
) -> Iterator[str]:
    remark = f"Each system ranks {candidates:,} papers here, those of the paper a collection of millions: "
    remark += "the fewer there are, the higher are all figures."
    expected = "examples/citation-recommendation-2024/maharjan-2024.json"
    what = "by diagnostic class"
    printed = {
        str(row.get("dimension"))
        for row in read_published_rows(published, PUBLISHED_TABLE_NAME, what, expected)
    }
    if not printed <= set(PUBLISHED_DIMENSION_NAMES):
        raise make_refusal(f"has no {PUBLISHED_TABLE_NAME} {what}", published, expected)
    for name, (dimension, named) in PUBLISHED_DIMENSION_NAMES.items():
        for metric, ours in METRIC_BY_PUBLISHED_NAME.items() if name in printed else ():
            beside = {
                "rules": PUBLISHED_RULES,
                "metrics": {metric: ours},
                "systems": BASELINE_BY_PUBLISHED_NAME,
            }
            yield format_published_table(
                {**beside, "dimension": dimension, "classes": named, "remark": remark},
                table=PUBLISHED_TABLE_NAME,
                metric=metric,
                by="class",
                where={"dimension": name},
            )
