"""Compute the main table of Duma and Klein for any corpus, with the accuracy for each
representation of the cited papers and each context window.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import Any

from scoring.offline.arguments import format_markdown_table
from scoring.tools.baselines import resolution
from scoring.tools.builders.parts import SINGLE_PROCESS, read_corpus
from scoring.tools.builders.resolution import (
    ResolutionRules,
    choose_references_and_papers,
    iterate_inlinks,
    iterate_resolvable_contexts,
)
from scoring.tools.builders.store import SQL

QueryWindow = resolution.WordWindow | resolution.SentenceWindow
HitsByMethodAndWindow = Mapping[
    tuple[resolution.RepresentationMethod, QueryWindow], Sequence[bool]
]


def sweep_methods_and_windows(
    corpus: Path,
    rules: ResolutionRules,
    *,
    form: str = "auto",
    progress: Callable[[str], None] = lambda step: None,
) -> tuple[HitsByMethodAndWindow, dict[str, Any]]:
    """Rank the references of every tested paper with every method, and measure the
    success. All papers of the collection are held in memory.

    Return for each method and window the success on each context, and then statistics
    of the collection. ``candidates`` is the mean number of candidate papers per
    context. ``cited_elsewhere`` is the fraction of candidates that other papers of the
    collection cite. External methods have no text for candidates that no other paper
    cites. The result leaves out methods that need data which the corpus lacks.
    ``progress`` is called with the name of each step and of each tested paper. Raises
    InputRefused if the corpus cannot be read.
    """
    inlinks: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    candidates: dict[str, list[str]] = defaultdict(list)
    progress("reading the corpus")
    with read_corpus(
        corpus, form, SINGLE_PROCESS, with_texts=True, around=rules.around
    ) as store:
        choose_references_and_papers(store, rules)
        for inlink in iterate_inlinks(
            store, without_tested=rules.inlinks_without == "tested"
        ):
            inlinks[inlink["ref_id"]].append(inlink)
        rows = (
            (row["target"], dict(row))
            for row in store.rows(SQL["resolution_sweep: documents"])
        )
        documents = {
            name: resolution.CandidateDocument.of(row, inlinks.get(name, ()))
            for name, row in rows
        }
        for row in store.rows(SQL["resolution_sweep: candidates"]):
            candidates[row["paper_id"]].append(row["target"])
        contexts = list(iterate_resolvable_contexts(store))
    there = resolution.list_available_parts(documents.values())
    chosen = [
        method
        for method in resolution.make_all_methods()
        if method.requirements <= there
    ]
    cells = {
        (method, window): list[bool]()
        for method in chosen
        for window in resolution.QUERY_WINDOW_BY_NAME.values()
    }
    papers, counts, elsewhere = 0, [], []
    tested = len({str(record["paper_id"]) for record in contexts})
    for paper, group in groupby(contexts, key=lambda record: str(record["paper_id"])):
        records, names = list(group), candidates[paper]
        papers += 1
        progress(f"ranking the references of paper {papers:,} of {tested:,}")
        counts += [len(names)] * len(records)
        listed = [documents[name] for name in names]
        elsewhere += [
            any(str(inlink["citing"]) != paper for inlink in document.inlinks)
            for document in listed
        ]
        for (method, window), cell in cells.items():
            rankings = resolution.iterate_rankings(listed, records, method, window)
            for record, (order, _scores) in zip(records, rankings, strict=True):
                first = {names[place] for place in order[: len(record["gold"])]}
                cell.append(not first.isdisjoint(record["gold"]))
    facts = {
        "papers": papers,
        "contexts": len(counts),
        "candidates": sum(counts) / (len(counts) or 1),
    }
    return cells, facts | {"cited_elsewhere": sum(elsewhere) / (len(elsewhere) or 1)}


def _compute_accuracy(cell: Sequence[bool]) -> float:
    return fmean(cell) if cell else float("nan")


def convert_to_table_rows(
    cells: HitsByMethodAndWindow, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the accuracy for each method and window as a row in the format of
    published tables.
    """
    rows = []
    for (method, window), cell in cells.items():
        row: dict[str, Any] = {
            "system": method.name,
            "group": method.family,
            "window": str(window),
        }
        if isinstance(window, resolution.WordWindow):
            row |= {"window_left": window.left, "window_right": window.right}
        rows.append(
            row | {"values": {"success@n": _compute_accuracy(cell)}, "n": len(cell)}
        )
    return {**facts, "rows": rows}


def format_accuracy_table(
    cells: HitsByMethodAndWindow, facts: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the lines of a table with a row for each method and a column for each
    window. The table highlights the best methods of each family of methods.
    """
    windows = list(dict.fromkeys(str(window) for _, window in cells))
    yield (
        "{contexts:,} contexts of {papers} papers, {candidates:.1f} candidates a context; "
        "{cited_elsewhere:.1%} of the candidates are cited by another paper of the collection.\n"
    ).format(**facts)
    best: dict[str, float] = {}
    lines: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (method, _), cell in cells.items():
        best[method.family] = max(best.get(method.family, 0.0), _compute_accuracy(cell))
        lines[method.family, method.name].append(_compute_accuracy(cell))
    rows = []
    for (family, name), values in lines.items():
        rows.append(
            (
                name,
                *(
                    f"**{value:.3f}**" if value == best[family] else f"{value:.3f}"
                    for value in values
                ),
            )
        )
    yield from format_markdown_table(("method", *windows), rows, in_numbers=True)
