"""The table of Duma and Klein's paper for any corpus: representations by windows, success at group size."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

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
from scoring.tools.builders.resolution import ResolutionRules, choose, inlinks_of, resolvable
from tasks.types.problems import InputRefused, Problem

TABLE = "Table 1"
#: By the id of a printed system the method that it is.
METHODS = {
    "full-text": "full text",
    "title-abstract": "title and abstract",
    "passage250": "passage 250",
    "passage350": "passage 350",
    "passage400": "passage 400",
    "inlink-context10": "inlink context 10",
    "inlink-context20": "inlink context 20",
    "inlink-context30": "inlink context 30",
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
    try:
        tables = json.loads(path.read_bytes())["tables"]
        rows = next(table["rows"] for table in tables if table["id"] == TABLE)
        return {
            (METHODS[row["system_id"]], str(row["window"]).replace(" ", "-")): float(
                row["values"]["accuracy"]
            )
            for row in rows
        }
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as fault:
        expected = "examples/citation-resolution-2014/duma-klein-2014.json"
        message = f"has no {TABLE} of methods and windows"
        raise InputRefused([Problem(file=str(path), message=message, expected=expected)]) from fault


_DOCUMENTS = """
SELECT i.target, max(r.raw) AS raw, coalesce(nullif(p.title, ''), max(r.title)) AS title, p.abstract, p.text
FROM internal i JOIN refs r ON r.place = i.place LEFT JOIN papers p ON p.paper_id = i.target GROUP BY i.target
"""
_CANDIDATES = "SELECT paper_id, target FROM internal JOIN tested USING (paper_id) ORDER BY paper_id, place"


Query = Window | Sentences


@dataclass
class Cell:
    """Contexts of one method and window, and how many of them succeeded."""

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


@dataclass
class _Collection:
    documents: dict[str, Document] = field(default_factory=dict)
    candidates: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    contexts: list[Mapping[str, Any]] = field(default_factory=list)


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
    collection = _collection(corpus, rules, form)
    known = {part for document in collection.documents.values() for part in parts_of(document)}
    chosen = [method for method in methods() if method.requirements <= known]
    cells = {(method, window): Cell() for method in chosen for window in windows}
    for paper, group in groupby(collection.contexts, key=lambda record: str(record["paper_id"])):
        records, names = list(group), collection.candidates[paper]
        documents = [collection.documents[name] for name in names]
        for (method, window), cell in cells.items():
            for record, ranking in zip(records, rankings(documents, records, method, window), strict=True):
                first = {names[place] for place in ranking.order[: len(record["gold"])]}
                cell.contexts += 1
                cell.successes += not first.isdisjoint(record["gold"])
    return Sweep(cells=cells, **_described(collection))


def _collection(corpus: Path, rules: ResolutionRules, form: str) -> _Collection:
    found = _Collection()
    with read_corpus(corpus, form, ALONE, with_texts=True, around=rules.around) as store:
        choose(store, rules)
        inlinks: dict[str, list[Inlink]] = defaultdict(list)
        for said in inlinks_of(store, without_tested=rules.inlinks_without == "tested"):
            inlinks[said["ref_id"]].append(Inlink(said["citing"], said))
        for row in store.rows(_DOCUMENTS):
            found.documents[row["target"]] = Document(
                reference=row["raw"] or "",
                title=row["title"] or "",
                abstract=row["abstract"] or "",
                full_text=row["text"] or "",
                inlinks=inlinks.get(row["target"], ()),
            )
        for row in store.rows(_CANDIDATES):
            found.candidates[row["paper_id"]].append(row["target"])
        found.contexts = list(resolvable(store))
    return found


def _described(collection: _Collection) -> dict[str, Any]:
    papers = {str(record["paper_id"]) for record in collection.contexts}
    counts = [len(collection.candidates[str(record["paper_id"])]) for record in collection.contexts]
    candidates = [
        any(inlink.citing != paper for inlink in collection.documents[name].inlinks)
        for paper in papers
        for name in collection.candidates[paper]
    ]
    return {
        "papers": len(papers),
        "contexts": len(counts),
        "candidates": sum(counts) / len(counts) if counts else 0.0,
        "cited_elsewhere": sum(candidates) / len(candidates) if candidates else 0.0,
    }


def as_data(found: Sweep, printed: Printed = NOTHING) -> dict[str, Any]:
    """The table as data, in the form in which published tables stand: a row for each method and window.

    ``printed`` is added where a published table has the cell.
    """
    return {
        "papers": found.papers,
        "contexts": found.contexts,
        "candidates": found.candidates,
        "cited_elsewhere": found.cited_elsewhere,
        "rows": [
            {
                "system": method.name,
                "group": method.family,
                "window": str(window),
                **(
                    {"window_left": window.left, "window_right": window.right}
                    if isinstance(window, Window)
                    else {}
                ),
                "values": {"success@n": cell.accuracy},
                "n": cell.contexts,
                **({"printed": printed[key]} if (key := (method.name, str(window))) in printed else {}),
            }
            for (method, window), cell in found.cells.items()
        ],
    }


def as_markdown(found: Sweep, printed: Printed = NOTHING) -> Iterator[str]:
    """The table as the paper prints it: methods in groups by windows, the best of each group set off.

    Behind it, where there is one, the published table, and by how much each cell here is higher.
    """
    windows = list(dict.fromkeys(window for _, window in found.cells))
    yield (
        f"{found.contexts:,} contexts of {found.papers} papers, {found.candidates:.1f} candidates a context; "
        f"{found.cited_elsewhere:.1%} of the candidates are cited by another paper of the collection.\n"
    )
    yield f"| method | {' | '.join(map(str, windows))} |\n| --- |{' ---: |' * len(windows)}"
    for family in dict.fromkeys(method.family for method, _ in found.cells):
        own = {key: cell for key, cell in found.cells.items() if key[0].family == family}
        best = max(cell.accuracy for cell in own.values())
        yield f"| *{family}* |{' |' * len(windows)}"
        for method in dict.fromkeys(method for method, _ in own):
            values = (own[method, window].accuracy for window in windows)
            shown = (f"**{value:.3f}**" if value == best else f"{value:.3f}" for value in values)
            yield f"| {method.name} | {' | '.join(shown)} |"
    yield ""
    if printed:
        yield from _beside(found, printed)


def _beside(found: Sweep, printed: Printed) -> Iterator[str]:
    cells = {(method.name, str(window)): cell for (method, window), cell in found.cells.items()}
    windows = list(dict.fromkeys(window for _, window in printed))
    yield "As printed, and by how much the table above is higher:\n"
    yield f"| method | {' | '.join(windows)} |\n| --- |{' ---: |' * len(windows)}"
    for name in dict.fromkeys(name for name, _ in printed):
        shown = []
        for window in windows:
            value, cell = printed.get((name, window)), cells.get((name, window))
            beside = f" ({cell.accuracy - value:+.3f})" if cell and value is not None else ""
            shown.append(f"{value:.3f}{beside}" if value is not None else "")
        yield f"| {name} | {' | '.join(shown)} |"
    yield ""


def as_json(found: Sweep, printed: Printed = NOTHING) -> str:
    return json.dumps(as_data(found, printed), ensure_ascii=False, indent=1)
