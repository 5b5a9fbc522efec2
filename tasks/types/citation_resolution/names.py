"""What the files of Citation Resolution are called."""

from __future__ import annotations

CONTEXTS, REFERENCES, PAPERS = "contexts.jsonl", "references.jsonl", "papers.jsonl"
#: The collection's citation graph, where it is known.
CITATIONS = "citations.jsonl"
#: What papers that are not tested say where they cite a candidate; given to participants.
INLINKS = "inlinks.jsonl"


def is_gold_file(name: str) -> bool:
    return name.rpartition("/")[2] in (CONTEXTS, REFERENCES, PAPERS, CITATIONS, INLINKS)
