"""Build the gold of Citation Resolution from papers of which enough references are in
the collection.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.metrics.discourse import SPLITTING_RULES_VERSION
from scoring.offline.arguments import format_markdown_table, write_json_lines
from scoring.tools.baselines.resolution import METHOD_BY_NAME, WORD_WINDOWS
from scoring.tools.builders.parts import SINGLE_PROCESS, Workers, read_corpus
from scoring.tools.builders.reading import (
    FORMS_WITH_SENTENCES,
    choose_loader,
    compute_corpus_digest,
    make_refusal,
)
from scoring.tools.builders.season import (
    SeasonFolder,
    format_published_table,
    read_published_rows,
    write_data_sheet,
)
from scoring.tools.builders.store import SQL, CorpusStore
from tasks.types.citation_resolution import (
    CITATION_GRAPH_FILE_NAME,
    CONTEXTS_FILE_NAME,
    INLINKS_FILE_NAME,
    PAPERS_FILE_NAME,
    REFERENCES_FILE_NAME,
)
from tasks.types.ranking.records import classify_section_title

BASELINES = ("references-tfidf-10-10", "references-tfidf-30-30")
#: The collection has the papers of the corpus, or also all papers that they cite.
COLLECTION_KINDS = ("papers", "references")

_PUBLIC_CONTEXT_FIELDS = (
    "context_id",
    "paper_id",
    "section",
    "sentence",
    "before",
    "after",
)


@dataclass(frozen=True, kw_only=True)
class ResolutionRules:
    fewest_references: int = 8
    collection: str = COLLECTION_KINDS[0]
    with_texts: bool = False
    with_inlinks: bool = False
    #: With `tested`, as published, evidence lacks the citations in all tested papers.
    #: With `citing`, evidence lacks only the citations in the citing paper itself.
    inlinks_without: str = "tested"
    #: The number of sentences that are stored on each side of the citing sentence.
    around: int = 1


def build_resolution(
    corpus: Path,
    season: SeasonFolder,
    rules: ResolutionRules,
    *,
    form: str = "auto",
    workers: Workers = SINGLE_PROCESS,
    work: Path | None = None,
    progress: Callable[[str], None] = lambda step: None,
) -> dict[str, Any]:
    """Write the gold, the data sheet and the card of the task into the folder of the
    season. ``progress`` is called with the name of each step.
    """
    name = choose_loader(form, corpus).name
    season.gold.mkdir(parents=True, exist_ok=True)
    groups: Counter[str] = Counter()
    sections: Counter[str] = Counter()
    zones: Counter[str] = Counter()

    def count_rows(rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for row in rows:
            groups[str(len(row["gold"]))] += 1
            sections[classify_section_title(row["section"]) or "None"] += 1
            zones[row.get("zone", "None")] += 1
            yield row

    progress("reading the corpus")
    with read_corpus(
        corpus, name, workers, work, with_texts=rules.with_texts, around=rules.around
    ) as store:
        progress("choosing papers whose references are in the collection")
        choose_references_and_papers(store, rules)
        progress("writing contexts")
        write_json_lines(
            season.gold / CONTEXTS_FILE_NAME,
            count_rows(iterate_resolvable_contexts(store)),
        )
        progress("writing references and papers")
        for file, query in (
            (REFERENCES_FILE_NAME, SQL["resolution: references"]),
            (PAPERS_FILE_NAME, SQL["resolution: papers"]),
        ):
            rows = map(dict, store.rows(query))
            filled = (
                {key: value for key, value in row.items() if value not in (None, "")}
                for row in rows
            )
            write_json_lines(season.gold / file, filled)
        write_json_lines(
            season.gold / CITATION_GRAPH_FILE_NAME,
            map(dict, store.rows(SQL["resolution: citations"])),
        )
        if rules.with_inlinks:
            write_json_lines(season.gold / INLINKS_FILE_NAME, iterate_inlinks(store))
        options = {
            name: value
            for name, value in vars(rules).items()
            if name != "inlinks_without"
        }
        facts = {
            "corpus": {"form": name, **compute_corpus_digest(corpus), **store.sizes()},
            "rules": {
                **options,
                "sentences": SPLITTING_RULES_VERSION
                if name not in FORMS_WITH_SENTENCES
                else "as given",
            },
            "papers": store.value("SELECT count(*) FROM tested"),
            "candidates": store.value(
                "SELECT coalesce(sum(candidates), 0) FROM tested"
            ),
            "contexts": groups.total(),
            "group_sizes": {size: groups[size] for size in sorted(groups, key=int)},
            "sections": dict(sorted(sections.items())),
            **({"zones": dict(sorted(zones.items()))} if set(zones) - {"None"} else {}),
        }
    lines = ["# Data sheet", ""]
    for fact, value in facts.items():
        title = fact.replace("_", " ")
        if isinstance(value, dict):
            lines += [
                f"## {title}",
                "",
                *format_markdown_table(("", ""), value.items()),
            ]
        else:
            lines += [f"{title}: {value:,}", ""]
    write_data_sheet(season.folder, facts, lines)
    card = f"{facts['contexts']:,} contexts of {facts['papers']:,} papers that have "
    card += f"{rules.fewest_references} or more references in the collection.\n"
    (season.folder / "card.md").write_text(card, encoding="utf-8")
    return facts


def choose_references_and_papers(store: CorpusStore, rules: ResolutionRules) -> None:
    """Create the database table `internal` of references that are in the collection,
    and the table `tested` of the papers whose citations are tested.
    """
    store.connection.execute(
        SQL["resolution: internal"], {"references": rules.collection == "references"}
    )
    store.connection.execute(
        "CREATE UNIQUE INDEX by_paper ON internal (paper_id, target)"
    )
    store.connection.execute(
        SQL["resolution: tested"], {"fewest": rules.fewest_references}
    )


def iterate_inlinks(
    store: CorpusStore, *, without_tested: bool = True
) -> Iterator[dict[str, Any]]:
    return map(
        dict, store.rows(SQL["resolution: inlinks"], {"without_tested": without_tested})
    )


def iterate_resolvable_contexts(store: CorpusStore) -> Iterator[dict[str, Any]]:
    """Yield the citation contexts of the tested papers.

    The gold of a context consists of those of its cited references that belong to the
    collection.
    """
    paper: str | None = None
    targets: dict[str, str] = {}
    for row in store.rows(SQL["resolution: contexts"]):
        if row["paper_id"] != paper:
            paper = row["paper_id"]
            targets = dict(map(tuple, store.rows(SQL["resolution: targets"], (paper,))))
        if cited := [
            targets[ref_id] for ref_id in json.loads(row["gold"]) if ref_id in targets
        ]:
            zone, shown = (
                {"zone": row["zone"]} if row["zone"] else {},
                {key: row[key] for key in _PUBLIC_CONTEXT_FIELDS},
            )
            yield {
                **shown,
                "gold": list(dict.fromkeys(cited)),
                "n_markers": row["markers"],
                **zone,
            }


PUBLISHED_TABLE_NAME = "Table 1"


def _normalise_method_name(name: str) -> str:
    return re.sub(r"\band\b|\W", "", name)


def iterate_resolution_placements(published: Path) -> Iterator[str]:
    """For each context window, yield a table of the season file that compares published
    results with runs. Each table compares the published results of all methods with
    runs of the baselines of the same methods.
    """
    what, expected = (
        "of methods and windows",
        "examples/citation-resolution-2014/duma-klein-2014.json",
    )
    rows = read_published_rows(published, PUBLISHED_TABLE_NAME, what, expected)
    systems, windows = (
        dict.fromkeys(str(row.get(field)) for row in rows)
        for field in ("system", "window")
    )
    methods = {_normalise_method_name(name): name for name in METHOD_BY_NAME}
    sides = {str(window).replace("-", " "): str(window) for window in WORD_WINDOWS}
    is_whole = 0 < len(rows) == len(systems) * len(windows)
    if (
        not is_whole
        or not set(map(_normalise_method_name, systems)) <= set(methods)
        or not set(windows) <= set(sides)
    ):
        raise make_refusal(f"has no {PUBLISHED_TABLE_NAME} {what}", published, expected)
    for window in windows:
        named = {
            name: f"{methods[_normalise_method_name(name)]}, {sides[window]}"
            for name in systems
        }
        beside = {
            "rules": "official",
            "metrics": {"accuracy": "success@n"},
            "systems": named,
        }
        yield format_published_table(
            beside,
            table=PUBLISHED_TABLE_NAME,
            metric="accuracy",
            where={"window": window},
        )
