"""The table of Duma and Klein's paper for any corpus: representations by windows, success at group size."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from scoring.tools.arguments import markdown_table
from scoring.tools.baselines.resolution import (
    QUERIES,
    Document,
    Inlink,
    Method,
    Sentences,
    Window,
    methods,
    parts_of,
    rankings,
)
from scoring.tools.builders.parts import ALONE, read_corpus
from scoring.tools.builders.reading import refusal
from scoring.tools.builders.resolution import ResolutionRules, choose, inlinks_of, resolvable

TABLE = "Table 1"
#: By the id of a printed system the method that it is.
METHODS = {
    "full-text": "full text",
    "title-abstract": "title and abstract",
    **{f"passage{length}": f"passage {length}" for length in (250, 350, 400)},
    **{f"inlink-context{width}": f"inlink context {width}" for width in (10, 20, 30)},
    "inlink-context-20-full-text": "inlink context 20 + full text",
    "inlink-context-20-title-abstract": "inlink context 20 + title and abstract",
    "inlink-context-20-passage250": "inlink context 20 + passage 250",
    "inlink-context-10-passage350": "inlink context 10 + passage 350",
    "inlink-context-20-passage350": "inlink context 20 + passage 350",
}
#: Accuracies by method and window.
Printed = Mapping[tuple[str, str], float]
NOTHING: Printed = {}


def read_printed(path: Path) -> Printed:
    """Raises InputRefused where the file is of another paper."""
    printed = {}
    try:
        tables = json.loads(path.read_bytes())["tables"]
        for row in next(table["rows"] for table in tables if table["id"] == TABLE):
            key = METHODS[row["system_id"]], str(row["window"]).replace(" ", "-")
            printed[key] = float(row["values"]["accuracy"])
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as fault:
        expected = "examples/citation-resolution-2014/duma-klein-2014.json"
        raise refusal(f"has no {TABLE} of methods and windows", path, expected) from fault
    return printed


_DOCUMENTS = """
SELECT i.target, max(r.raw) AS raw, coalesce(nullif(p.title, ''), max(r.title)) AS title, p.abstract, p.text
FROM internal i JOIN refs r ON r.place = i.place LEFT JOIN papers p ON p.paper_id = i.target GROUP BY i.target
"""
_CANDIDATES = "SELECT paper_id, target FROM internal JOIN tested USING (paper_id) ORDER BY paper_id, place"


Query = Window | Sentences


@dataclass
class Cell:
    contexts: int = 0
    successes: int = 0

    @property
    def accuracy(self) -> float:
        return self.successes / self.contexts if self.contexts else float("nan")


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Every cell by method and window, and what the collection is like.

    ``candidates`` is the mean of a context, ``cited_elsewhere`` the share of candidates that other papers
    cite here: external methods know nothing of the rest.
    """

    cells: Mapping[tuple[Method, Query], Cell]
    papers: int
    contexts: int
    candidates: float
    cited_elsewhere: float


def sweep(
    corpus: Path,
    rules: ResolutionRules,
    *,
    form: str = "auto",
    windows: Sequence[Query] = tuple(QUERIES.values()),
) -> Sweep:
    """Rank the references of every tested paper by every method. The collection is held in memory.

    Methods that need what the corpus does not have are left out. Raises InputRefused for unreadable corpora.
    """
    inlinks: dict[str, list[Inlink]] = defaultdict(list)
    candidates: dict[str, list[str]] = defaultdict(list)
    with read_corpus(corpus, form, ALONE, with_texts=True, around=rules.around) as store:
        choose(store, rules)
        for inlink in inlinks_of(store, without_tested=rules.inlinks_without == "tested"):
            inlinks[inlink["ref_id"]].append(Inlink(inlink["citing"], inlink))
        documents = {
            row["target"]: Document(
                reference=row["raw"] or "",
                title=row["title"] or "",
                abstract=row["abstract"] or "",
                full_text=row["text"] or "",
                inlinks=inlinks.get(row["target"], ()),
            )
            for row in store.rows(_DOCUMENTS)
        }
        for row in store.rows(_CANDIDATES):
            candidates[row["paper_id"]].append(row["target"])
        contexts = list(resolvable(store))
    there = {part for document in documents.values() for part in parts_of(document)}
    chosen = [method for method in methods() if method.requirements <= there]
    cells = {(method, window): Cell() for method in chosen for window in windows}
    papers, counts, elsewhere = 0, [], []
    for paper, group in groupby(contexts, key=lambda record: str(record["paper_id"])):
        records, names = list(group), candidates[paper]
        papers += 1
        counts += [len(names)] * len(records)
        listed = [documents[name] for name in names]
        elsewhere += [any(inlink.citing != paper for inlink in document.inlinks) for document in listed]
        for (method, window), cell in cells.items():
            for record, ranking in zip(records, rankings(listed, records, method, window), strict=True):
                first = {names[place] for place in ranking.order[: len(record["gold"])]}
                cell.contexts += 1
                cell.successes += not first.isdisjoint(record["gold"])
    return Sweep(
        cells=cells,
        papers=papers,
        contexts=len(counts),
        candidates=sum(counts) / len(counts) if counts else 0.0,
        cited_elsewhere=sum(elsewhere) / len(elsewhere) if elsewhere else 0.0,
    )


def as_data(swept: Sweep, printed: Printed = NOTHING) -> dict[str, Any]:
    """The table as data, in the form in which published tables stand: a row for each method and window.

    ``printed`` is added where a published table has the cell.
    """
    rows = []
    for (method, window), cell in swept.cells.items():
        row: dict[str, Any] = {"system": method.name, "group": method.family, "window": str(window)}
        if isinstance(window, Window):
            row |= {"window_left": window.left, "window_right": window.right}
        row |= {"values": {"success@n": cell.accuracy}, "n": cell.contexts}
        if (key := (method.name, str(window))) in printed:
            row["printed"] = printed[key]
        rows.append(row)
    facts = {name: getattr(swept, name) for name in ("papers", "contexts", "candidates", "cited_elsewhere")}
    return {**facts, "rows": rows}


def as_markdown(swept: Sweep, printed: Printed = NOTHING) -> Iterator[str]:
    """The table as the paper prints it: methods in groups by windows, the best of each group set off.

    Behind it, where there is one, the published table, and by how much each cell here is higher.
    """
    windows = list(dict.fromkeys(window for _, window in swept.cells))
    yield (
        f"{swept.contexts:,} contexts of {swept.papers} papers, {swept.candidates:.1f} candidates a context; "
        f"{swept.cited_elsewhere:.1%} of the candidates are cited by another paper of the collection.\n"
    )
    yield f"| method | {' | '.join(map(str, windows))} |\n| --- |{' ---: |' * len(windows)}"
    for family in dict.fromkeys(method.family for method, _ in swept.cells):
        group = {key: cell for key, cell in swept.cells.items() if key[0].family == family}
        best = max(cell.accuracy for cell in group.values())
        yield f"| *{family}* |{' |' * len(windows)}"
        for method in dict.fromkeys(method for method, _ in group):
            values = (group[method, window].accuracy for window in windows)
            shown = (f"**{value:.3f}**" if value == best else f"{value:.3f}" for value in values)
            yield f"| {method.name} | {' | '.join(shown)} |"
    yield ""
    if not printed:
        return
    cells = {(method.name, str(window)): cell for (method, window), cell in swept.cells.items()}
    heads = list(dict.fromkeys(window for _, window in printed))
    rows = []
    for name in dict.fromkeys(name for name, _ in printed):
        row = [name]
        for head in heads:
            value, ours = printed.get((name, head)), cells.get((name, head))
            beside = f" ({ours.accuracy - value:+.3f})" if ours and value is not None else ""
            row.append(f"{value:.3f}{beside}" if value is not None else "")
        rows.append(row)
    yield "As printed, and by how much the table above is higher:\n"
    yield from markdown_table(("method", *heads), rows, in_numbers=True)
