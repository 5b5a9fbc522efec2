"""Building a diagnostic split: from a corpus to a season folder, with every rule written beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scoring.tools.builders import datasheet
from scoring.tools.builders.built import Built
from scoring.tools.builders.classes import classify, decided
from scoring.tools.builders.distributions import count_all
from scoring.tools.builders.intents import type_contexts
from scoring.tools.builders.loading import loader
from scoring.tools.builders.official_sampling import sample_officially
from scoring.tools.builders.parts import read_corpus
from scoring.tools.builders.processes import ALONE, Workers
from scoring.tools.builders.reading import digest_of
from scoring.tools.builders.rules import OFFICIAL, Rules
from scoring.tools.builders.sampling import sample_each
from scoring.tools.builders.season import SeasonFolder
from scoring.tools.builders.sentences import BY_RULES
from scoring.tools.builders.store import Store
from scoring.tools.builders.tagged import tag
from scoring.tools.builders.tagging import Tagger
from tasks.types.citation_recommendation.names import CANDIDATES, CONTEXTS, SAMPLED_FOR

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
    found = loader(form, corpus)
    name = found.name
    tagger = Tagger(pipeline) if pipeline else None
    with read_corpus(corpus, name, workers, work, sentences=sentences) as store:
        type_contexts(store)
        rules = decided(store, rules)
        thresholds, refused = classify(store, rules)
        if tagger:
            tag(store, rules, thresholds, tagger, workers, is_kept=work is not None)
        _sample(store, rules)
        built = Built(
            form=name,
            corpus=store.sizes(),
            licences=store.counts(_LICENCES),
            digest=digest_of(corpus),
            rules=rules,
            thresholds=thresholds,
            refused=refused,
            tables=count_all(store, rules),
            sentences=store.sentences.name if found.has_paragraphs else "as the corpus has them",
            tagger=tagger.name if tagger else "",
        )
        season.gold.mkdir(parents=True, exist_ok=True)
        _write_lines(season.gold / CONTEXTS, _contexts(store, rules))
        _write_lines(season.gold / CANDIDATES, _candidates(store))
    datasheet.write(built, season.folder)
    return built


def _sample(store: Store, rules: Rules) -> None:
    """Fill the table `sampled`: which context stands in the sample of a dimension. Raises InputRefused."""
    store.connection.execute(_SAMPLED)
    if not rules.every_context:
        (sample_officially if rules.sampling == OFFICIAL else sample_each)(store, rules)


def _contexts(store: Store, rules: Rules) -> Iterator[dict[str, Any]]:
    """The contexts in the order of their draws, under ids that do not name the papers that they come from."""
    rows = store.rows(_SELECTED, {"every": rules.every_context})
    for number, row in enumerate(rows, start=1):
        facts = {name: row[name] for name in _FACTS if row[name] is not None}
        sampled = {} if rules.every_context else {SAMPLED_FOR: sorted(row["sampled"].split(","))}
        names = {"context_id": row["context_id"], "citing_id": row["paper_id"], "cited_id": row["target"]}
        yield {"id": f"d{number:06d}", **names, **facts, **sampled}


def _candidates(store: Store) -> Iterator[dict[str, Any]]:
    """Every paper that the corpus cites, once."""
    for row in store.rows(_CANDIDATES):
        known = {name: row[name] for name in ("raw", "title", "abstract", "authors", "year") if row[name]}
        authors = [
            {name: value for name, value in author.items() if value not in (None, "")}
            for author in json.loads(row["author_metadata"])
        ]
        yield {"ref_id": row["target"], **known, **({"author_metadata": authors} if authors else {})}


def _write_lines(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
