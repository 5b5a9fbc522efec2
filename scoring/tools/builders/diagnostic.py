"""Building a diagnostic split: from a corpus to a season folder, with every rule written beside it."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scoring.tools.arguments import markdown_table, write_lines
from scoring.tools.builders import datasheet
from scoring.tools.builders.classes import OFFICIAL, Rules, classify, decided, type_contexts
from scoring.tools.builders.corpus import BY_RULES
from scoring.tools.builders.datasheet import Built, count_all
from scoring.tools.builders.parts import ALONE, Workers, read_corpus
from scoring.tools.builders.reading import digest_of, loader, records, refusal
from scoring.tools.builders.sampling import sample_each, sample_officially
from scoring.tools.builders.season import SeasonFolder
from scoring.tools.builders.store import Store
from scoring.tools.builders.tagging import Tagger, tag
from tasks.types.citation_recommendation import CANDIDATES, CONTEXTS, SAMPLED_FOR

BASELINES = ("bm25-okapi", "bm25-lucene", "tfidf-cosine")

_SAMPLED = (
    "CREATE TABLE sampled (number INTEGER, dimension TEXT, PRIMARY KEY (number, dimension)) WITHOUT ROWID"
)
_SELECTED = """
SELECT f.*, c.context_id, c.section, c.before, c.sentence, c.after, c.marker, c.style,
    (SELECT group_concat(dimension) FROM sampled s WHERE s.number = f.number) AS sampled
FROM classified f JOIN contexts c ON c.number = f.number
WHERE :every OR f.number IN (SELECT number FROM sampled) ORDER BY f.draw
"""
_CANDIDATES = """
SELECT r.target, r.raw, coalesce(nullif(p.title, ''), r.title) AS title, p.abstract, p.authors,
    coalesce(r.year, p.year) AS year,
    (SELECT json_group_array(json_object('name', name, 'h_index', h_index, 'paper_count', papers,
        'citation_count', citations)) FROM (SELECT a.* FROM json_each(p.author_ids) own
        JOIN authors a ON a.author_id = own.value ORDER BY own.key)) AS author_metadata
FROM (SELECT target, min(place) AS place FROM refs GROUP BY target) t
JOIN refs r ON r.place = t.place LEFT JOIN papers p ON p.paper_id = t.target ORDER BY t.target
"""
_LICENCES = "SELECT nullif(licence, ''), count(*) FROM papers GROUP BY 1 ORDER BY 2 DESC"
#: Of a context what stands in the gold besides its id and the paper that it cites.
_FACTS = (
    *("sentence", "before", "after", "section", "field", "cited_year", "year_group", "citation_group"),
    *("n_tokens", "length_class", "position", "location_class", "context_type"),
    *("h_index", "h_index_group"),
    *("word_before", "pos_before", "word_after", "pos_after", "low_resource", "marker", "style"),
)


def build_diagnostic(
    corpus: Path,
    season: SeasonFolder,
    rules: Rules,
    *,
    form: str = "auto",
    pipeline: str | None = None,
    workers: Workers = ALONE,
    work: Path | None = None,
    sentences: str = BY_RULES,
) -> Built:
    """Write the season folder. ``pipeline`` names the spaCy pipeline for parts of speech, None for none;
    ``sentences`` what splits texts into sentences.

    What is written is the same whoever works on it. Raises InputRefused where the corpus cannot be read,
    Unavailable where the pipeline or the cluster is missing.
    """
    form_loader = loader(form, corpus)
    tagger = Tagger(pipeline) if pipeline else None
    with read_corpus(corpus, form_loader.name, workers, work, sentences=sentences) as store:
        type_contexts(store)
        rules = decided(store, rules)
        thresholds, refused = classify(store, rules)
        if tagger:
            tag(store, rules, thresholds, tagger, workers, is_kept=work is not None)
        store.connection.execute(_SAMPLED)
        if not rules.every_context:
            (sample_officially if rules.sampling == OFFICIAL else sample_each)(store, rules)
        built = Built(
            form=form_loader.name,
            corpus=store.sizes(),
            licences=store.counts(_LICENCES),
            digest=digest_of(corpus),
            rules=rules,
            thresholds=thresholds,
            refused=refused,
            tables=count_all(store, rules),
            sentences=store.sentences.name if form_loader.has_paragraphs else "as the corpus has them",
            tagger=tagger.name if tagger else "",
        )
        season.gold.mkdir(parents=True, exist_ok=True)
        write_lines(season.gold / CONTEXTS, _contexts(store, rules))
        write_lines(season.gold / CANDIDATES, _candidates(store))
    datasheet.write(built, season.folder)
    return built


def _contexts(store: Store, rules: Rules) -> Iterator[dict[str, Any]]:
    rows = store.rows(_SELECTED, {"every": rules.every_context})
    for number, row in enumerate(rows, start=1):
        facts = {name: row[name] for name in _FACTS if row[name] is not None}
        sampled = {} if rules.every_context else {SAMPLED_FOR: sorted(row["sampled"].split(","))}
        names = {"context_id": row["context_id"], "citing_id": row["paper_id"], "cited_id": row["target"]}
        yield {"id": f"d{number:06d}", **names, **facts, **sampled}


def _candidates(store: Store) -> Iterator[dict[str, Any]]:
    for row in store.rows(_CANDIDATES):
        facts = {name: row[name] for name in ("raw", "title", "abstract", "authors", "year") if row[name]}
        authors = [
            {name: value for name, value in author.items() if value not in (None, "")}
            for author in json.loads(row["author_metadata"])
        ]
        yield {"ref_id": row["target"], **facts, **({"author_metadata": authors} if authors else {})}


#: The facts that are compared, where the other file has them.
FACTS = (
    *("sentence", "cited_id", "field", "cited_year", "year_group", "n_tokens", "length_class", "position"),
    *("location_class", "word_before", "pos_before", "word_after", "pos_after"),
)
#: So many differing contexts of each fact are shown.
SHOWN = 5


@dataclass
class Agreement:
    """Of each fact how many contexts have the same, and the first that differ as (context, ours, theirs)."""

    compared: int = 0
    ours_alone: int = 0
    theirs_alone: int = 0
    same: Counter[str] = field(default_factory=Counter)
    differing: dict[str, list[tuple[str, Any, Any]]] = field(default_factory=dict)
    pairs: Counter[tuple[str, Any, Any]] = field(default_factory=Counter)


def agreement(built: Path, other: Path) -> Agreement:
    """Contexts are told by their names in the corpus: `context_id` in ours, `id` in the other file."""
    theirs = {str(record["id"]): record for record in records(other)}
    counts = Agreement()
    for ours in records(built):
        name = str(ours["context_id"])
        match = theirs.pop(name, None)
        if match is None:
            counts.ours_alone += 1
            continue
        counts.compared += 1
        for fact in (fact for fact in FACTS if fact in match):
            one, other_one = ours.get(fact), match[fact]
            if one == other_one:
                counts.same[fact] += 1
                continue
            counts.pairs[fact, one, other_one] += 1
            first = counts.differing.setdefault(fact, [])
            if len(first) < SHOWN:
                first.append((name, one, other_one))
    counts.theirs_alone = len(theirs)
    return counts


def table(counts: Agreement) -> Iterator[str]:
    alone = f"{counts.ours_alone:,} in ours alone, {counts.theirs_alone:,} in the other alone"
    yield f"{counts.compared:,} contexts in both, {alone}.\n"
    rows = []
    for fact in FACTS:
        same = counts.same[fact]
        if not same and fact not in counts.differing:
            continue
        kinds = [f"{a} → {b} ({n})" for (name, a, b), n in counts.pairs.most_common() if name == fact]
        more = f" and {len(kinds) - SHOWN} other kinds" if len(kinds) > SHOWN else ""
        share = f"{same / max(counts.compared, 1):.1%}"
        rows.append((fact, same, share, f"{', '.join(kinds[:SHOWN])}{more}"))
    yield from markdown_table(("fact", "the same", "share", "differ, ours → theirs"), rows)


TABLE = "Table 1"
#: What of the board is printed as what, under the rules that have no more than the paper.
RULES, METRICS, SYSTEMS = "official", {"R@10": "recall@10", "M@10": "mrr@10"}, {"BM25": "bm25-okapi"}
_POS = ("Verb", "Noun", "Adjective", "Adverb", "Pronoun", "Preposition", "Others")
#: By printed dimension ours, and the classes that have another name than ours.
DIMENSIONS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "Fields": ("field", {}),
    "Years": ("year_group", {}),
    "Citation Count": ("citation_group", {}),
    "Length": ("length_class", {}),
    "Location": ("location_class", {}),
    "Intent": ("context_type", {"Methodology": "method"}),
    "Low Resource": ("low_resource", {}),
    "POS": (
        "pos_before",
        {f"{side} {name}": f"pos_{side}:{name}".lower() for side in ("Before", "After") for name in _POS},
    ),
}


def placements(published: Path) -> Iterator[str]:
    expected = "examples/citation-recommendation-2024/maharjan-2024.json"
    refused = refusal(f"has no {TABLE} by diagnostic class", published, expected)
    try:
        tables = json.loads(published.read_bytes())["tables"]
        rows = next(table["rows"] for table in tables if table["id"] == TABLE)
        printed = {str(row["dimension"]) for row in rows}
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as fault:
        raise refused from fault
    if not printed <= set(DIMENSIONS):
        raise refused
    for name, (dimension, classes) in DIMENSIONS.items():
        if name not in printed:
            continue
        lines = [
            "[[tasks.published]]",
            f"table = {json.dumps(TABLE)}",
            'metric = "R@10"',
            'by = "class"',
            f"where = {_inline({'dimension': name})}",
            "[tasks.published.recomputed]",
            f"rules = {json.dumps(RULES)}",
            f"metrics = {_inline(METRICS)}",
            f"systems = {_inline(SYSTEMS)}",
            f"dimension = {json.dumps(dimension)}",
            *([f"classes = {_inline(classes)}"] if classes else []),
        ]
        yield "\n".join([*lines, ""])


def _inline(words: Mapping[str, str]) -> str:
    return "{ " + ", ".join(f"{json.dumps(key)} = {json.dumps(value)}" for key, value in words.items()) + " }"
