"""Building the gold of Citation Resolution: papers with enough references in the collection."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.metrics.discourse import RULES
from scoring.tools.arguments import markdown_table, write_lines
from scoring.tools.builders.parts import ALONE, Workers, read_corpus
from scoring.tools.builders.reading import digest_of, loader
from scoring.tools.builders.season import SeasonFolder
from scoring.tools.builders.store import Store
from tasks.types.citation_resolution import CITATIONS, CONTEXTS, INLINKS, PAPERS, REFERENCES
from tasks.types.ranking.records import section_class

BASELINES = ("references-tfidf-10-10", "references-tfidf-30-30")
#: The collection is the papers of the corpus, or whatever its papers refer to.
COLLECTIONS = ("papers", "references")
#: Corpora that come in sentences.
SPLIT_FORMS = ("lines", "clsumm", "scixml")

_INTERNAL = """
CREATE TABLE internal AS
SELECT r.paper_id, r.target, min(r.place) AS place FROM refs r
WHERE (:references OR r.target IN (SELECT paper_id FROM papers)) AND r.target <> r.paper_id
GROUP BY r.paper_id, r.target;
"""
_TESTED = """
CREATE TABLE tested AS SELECT paper_id, count(*) AS candidates FROM internal
GROUP BY paper_id HAVING count(*) >= :fewest;
"""
_REFERENCES = """
SELECT i.paper_id, i.target AS ref_id, r.raw, coalesce(nullif(p.title, ''), r.title) AS title,
    nullif(p.abstract, '') AS abstract, nullif(p.text, '') AS text, coalesce(r.year, p.year) AS year
FROM internal i JOIN tested USING (paper_id) JOIN refs r ON r.place = i.place
LEFT JOIN papers p ON p.paper_id = i.target ORDER BY i.place
"""
_PAPERS = """
SELECT p.paper_id, p.title, p.authors, p.field AS discipline, p.year, p.licence FROM papers p
JOIN tested USING (paper_id) ORDER BY paper_id
"""
_CONTEXTS = "SELECT c.* FROM contexts c JOIN tested USING (paper_id) ORDER BY c.paper_id, c.number"
_TARGETS = """
SELECT r.ref_id, r.target FROM refs r JOIN internal i ON i.paper_id = r.paper_id AND i.target = r.target
WHERE r.paper_id = ?
"""
_CITATIONS = "SELECT paper_id AS citing, target AS cited FROM internal ORDER BY cited, citing"
_INLINKS = """
SELECT r.target AS ref_id, c.paper_id AS citing, c.before, c.sentence, c.after
FROM contexts c, json_each(c.gold) g JOIN refs r ON r.paper_id = c.paper_id AND r.ref_id = g.value
WHERE r.target IN (SELECT target FROM internal JOIN tested USING (paper_id))
    AND NOT (:without_tested AND c.paper_id IN (SELECT paper_id FROM tested)) ORDER BY r.target, c.number
"""
_SHOWN = ("context_id", "paper_id", "section", "sentence", "before", "after")


@dataclass(frozen=True, kw_only=True)
class ResolutionRules:
    fewest_references: int = 8
    collection: str = COLLECTIONS[0]
    with_texts: bool = False
    with_inlinks: bool = False
    #: What never is evidence: citations by any `tested` paper, as in the paper, or by the `citing` one alone.
    inlinks_without: str = "tested"
    #: So many sentences before and after the one with the citation are kept.
    around: int = 1


def build_resolution(
    corpus: Path,
    season: SeasonFolder,
    rules: ResolutionRules,
    *,
    form: str = "auto",
    workers: Workers = ALONE,
    work: Path | None = None,
) -> dict[str, Any]:
    name = loader(form, corpus).name
    season.gold.mkdir(parents=True, exist_ok=True)
    groups: Counter[str] = Counter()
    sections: Counter[str] = Counter()
    zones: Counter[str] = Counter()

    def counted(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for row in rows:
            groups[str(len(row["gold"]))] += 1
            sections[section_class(row["section"]) or "None"] += 1
            zones[row.get("zone", "None")] += 1
            yield row

    with read_corpus(corpus, name, workers, work, with_texts=rules.with_texts, around=rules.around) as store:
        choose(store, rules)
        write_lines(season.gold / CONTEXTS, counted(resolvable(store)))
        for file, query in ((REFERENCES, _REFERENCES), (PAPERS, _PAPERS)):
            rows = map(dict, store.rows(query))
            filled = ({key: value for key, value in row.items() if value not in (None, "")} for row in rows)
            write_lines(season.gold / file, filled)
        write_lines(season.gold / CITATIONS, map(dict, store.rows(_CITATIONS)))
        if rules.with_inlinks:
            write_lines(season.gold / INLINKS, inlinks_of(store))
        options = {name: value for name, value in vars(rules).items() if name != "inlinks_without"}
        facts = {
            "corpus": {"form": name, "sha256": digest_of(corpus), **store.sizes()},
            "rules": {**options, "sentences": RULES if name not in SPLIT_FORMS else "as given"},
            "papers": store.value("SELECT count(*) FROM tested"),
            "candidates": store.value("SELECT coalesce(sum(candidates), 0) FROM tested"),
            "contexts": groups.total(),
            "group_sizes": {size: groups[size] for size in sorted(groups, key=int)},
            "sections": dict(sorted(sections.items())),
            **({"zones": dict(sorted(zones.items()))} if set(zones) - {"None"} else {}),
        }
    text = json.dumps(facts, ensure_ascii=False, indent=1)
    (season.folder / "datasheet.json").write_text(text + "\n", encoding="utf-8")
    lines = ["# Data sheet", ""]
    for fact, value in facts.items():
        title = fact.replace("_", " ")
        if isinstance(value, dict):
            lines += [f"## {title}", "", *markdown_table(("", ""), value.items())]
        else:
            lines += [f"{title}: {value:,}", ""]
    (season.folder / "datasheet.md").write_text("\n".join(lines), encoding="utf-8")
    card = (
        f"{facts['contexts']:,} contexts of {facts['papers']:,} papers that have {rules.fewest_references} "
        "or more references in the collection.\n"
    )
    (season.folder / "card.md").write_text(card, encoding="utf-8")
    return facts


def choose(store: Store, rules: ResolutionRules) -> None:
    """Fill the tables `internal`, the references that are in the collection, and `tested`, the papers."""
    store.connection.execute(_INTERNAL.strip().rstrip(";"), {"references": rules.collection == "references"})
    store.connection.execute("CREATE UNIQUE INDEX by_paper ON internal (paper_id, target)")
    store.connection.execute(_TESTED.strip().rstrip(";"), {"fewest": rules.fewest_references})


def inlinks_of(store: Store, *, without_tested: bool = True) -> Iterator[dict[str, Any]]:
    return map(dict, store.rows(_INLINKS, {"without_tested": without_tested}))


def resolvable(store: Store) -> Iterator[dict[str, Any]]:
    """The contexts of the tested papers; gold is what the collection has of each group."""
    paper: str | None = None
    targets: dict[str, str] = {}
    for row in store.rows(_CONTEXTS):
        if row["paper_id"] != paper:
            paper = row["paper_id"]
            targets = {row["ref_id"]: row["target"] for row in store.rows(_TARGETS, (paper,))}
        cited = [targets[ref_id] for ref_id in json.loads(row["gold"]) if ref_id in targets]
        if cited:
            yield {
                **{key: row[key] for key in _SHOWN},
                "gold": list(dict.fromkeys(cited)),
                "n_markers": row["markers"],
                **({"zone": row["zone"]} if row["zone"] else {}),
            }
