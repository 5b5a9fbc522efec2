"""Corpora in our own form: `papers.jsonl`, `references.jsonl` and `contexts.jsonl` in one folder, and
`authors.jsonl` if there is one.
"""

from pathlib import Path

from scoring.tools.builders.contexts import ANONYMOUS, token_count
from scoring.tools.builders.corpus import PLACEHOLDER, Author, Context, Paper, Reference, Sink
from scoring.tools.builders.reading import (
    Record,
    listed,
    refusal,
    text,
    whole,
    without_tokens,
)
from tasks.types.problems import InputRefused, Problem

PAPERS, REFERENCES, CONTEXTS = "papers.jsonl", "references.jsonl", "contexts.jsonl"
AUTHORS = "authors.jsonl"


def fits(path: Path) -> bool:
    return path.is_dir() and (path / CONTEXTS).is_file()


def files(path: Path) -> list[Path]:
    optional = [path / name for name in (AUTHORS, PAPERS) if (path / name).is_file()]
    return [*optional, path / REFERENCES, path / CONTEXTS]


def add(record: Record, file: Path, sink: Sink) -> None:
    """A paper that `papers.jsonl` does not have is without field and year."""
    if file.name == PAPERS:
        paper = Paper(
            paper_id=_needed(record, "paper_id"),
            title=text(record, "title"),
            authors=text(record, "authors"),
            abstract=text(record, "abstract"),
            text=text(record, "text"),
            field=text(record, "discipline", "field") or None,
            year=whole(record, "year"),
            citations=whole(record, "citation_count"),
            licence=text(record, "license", "licence"),
            author_ids=tuple(map(str, listed(record.get("author_ids")))),
        )
        sink.add_paper(paper)
    elif file.name == AUTHORS:
        author = Author(
            author_id=_needed(record, "author_id"),
            name=text(record, "name"),
            h_index=whole(record, "h_index"),
            papers=whole(record, "paper_count"),
            citations=whole(record, "citation_count"),
        )
        sink.add_author(author)
    elif file.name == REFERENCES:
        citing, ref_id = _needed(record, "paper_id"), _needed(record, "ref_id")
        reference = Reference(
            ref_id=ref_id,
            target=text(record, "cited_paper_id") or ref_id,
            raw=text(record, "raw"),
            title=text(record, "title"),
            year=whole(record, "year"),
            citations=whole(record, "citation_count"),
        )
        sink.add_reference(citing, reference)
    else:
        gold = [str(reference) for reference in listed(record.get("gold"))]
        name, sentence = _needed(record, "context_id"), text(record, "sentence")
        if PLACEHOLDER not in sentence:
            raise refusal(f"the sentence of context “{record.get('context_id')}” has no {PLACEHOLDER}")
        context = Context(
            context_id=name,
            section=without_tokens(text(record, "section")),
            before=text(record, "before"),
            sentence=sentence,
            after=text(record, "after"),
            gold=tuple(dict.fromkeys(gold)),
            markers=whole(record, "n_markers") or len(gold),
            marker=text(record, "marker"),
            style=text(record, "style") or ANONYMOUS,
            context_type=text(record, "context_type") or None,
            zone=text(record, "zone") or None,
        )
        sink.add_sentence(token_count(context.sentence))
        sink.add_context(_needed(record, "paper_id"), context)


def _needed(record: Record, key: str) -> str:
    value = text(record, key)
    if not value:
        raise InputRefused([Problem(message=f"a row without “{key}”", quote=str(record)[:160])])
    return value
