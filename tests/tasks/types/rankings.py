"""Gold and runs of the ranking tasks, as small as they can be."""

import json
from pathlib import Path

CANDIDATES = ("a", "b", "c", "d", "e")


def write_lines(path: Path, rows) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def write_recommendation(
    folder: Path, cited=(("q1", "a"), ("q2", "b"), ("q3", "c")), **facts
) -> Path:
    """A gold folder; ``facts`` give each context's value by the name of the fact."""
    rows = [
        {
            "id": name,
            "citing_id": f"p-{name}",
            "cited_id": paper,
            "sentence": f"Somebody cites <REF> in {name}.",
            **{fact: values[place] for fact, values in facts.items()},
        }
        for place, (name, paper) in enumerate(cited)
    ]
    write_lines(folder / "diagnostic.jsonl", rows)
    references = [
        {"paper_id": "p", "ref_id": name, "raw": f"Paper {name}"} for name in CANDIDATES
    ]
    write_lines(folder / "references.jsonl", references)
    return folder


def write_resolution(folder: Path, contexts, references=(("p1", CANDIDATES),)) -> Path:
    """A gold folder; a context is its id, its paper and what it cites."""
    write_lines(
        folder / "contexts.jsonl",
        [
            {
                "context_id": name,
                "paper_id": paper,
                "gold": list(gold),
                "sentence": "We count <REF>.",
            }
            for name, paper, gold in contexts
        ],
    )
    write_lines(
        folder / "references.jsonl",
        [
            {"paper_id": paper, "ref_id": name, "raw": f"Paper {name}"}
            for paper, own in references
            for name in own
        ],
    )
    return folder
