"""Load corpora in the file format of this project.

A corpus is a folder with the files `papers.jsonl`, `references.jsonl` and
`contexts.jsonl`, and optionally `authors.jsonl`.
"""

from pathlib import Path

from scoring.tools.builders import reading
from scoring.tools.builders.contexts import (
    ANONYMOUS_STYLE,
    determine_mark_style,
    tokens,
)
from scoring.tools.builders.corpus import PLACEHOLDER, Author, Context, Paper, Reference
from scoring.tools.builders.store import Store
from tasks.types.problems import InputRefused, Problem

PAPERS, REFERENCES, CONTEXTS = "papers.jsonl", "references.jsonl", "contexts.jsonl"
AUTHORS = "authors.jsonl"


def fits(path: Path) -> bool:
    return path.is_dir() and (path / CONTEXTS).is_file()


def files(path: Path) -> list[Path]:
    optional = [path / name for name in (AUTHORS, PAPERS) if (path / name).is_file()]
    return [*optional, path / REFERENCES, path / CONTEXTS]


def add(record: reading.Record, file: Path, store: Store) -> None:
    """Add a record from one of the files of a corpus to the store. Papers that are not
    in `papers.jsonl` have no field and no year.
    """
    if file.name == PAPERS:
        paper = Paper(
            paper_id=_read_required_text(record, "paper_id"),
            **{
                name: reading.text(record, name)
                for name in ("title", "authors", "abstract", "text")
            },
            field=reading.text(record, "discipline", "field") or None,
            year=reading.whole(record, "year"),
            citations=reading.whole(record, "citation_count"),
            licence=reading.text(record, "license", "licence"),
            author_ids=tuple(map(str, reading.list_or_empty(record.get("author_ids")))),
        )
        store.add_paper(paper)
    elif file.name == AUTHORS:
        keys = {
            "h_index": "h_index",
            "papers": "paper_count",
            "citations": "citation_count",
        }
        numbers = {field: reading.whole(record, key) for field, key in keys.items()}
        author_id, name = (
            _read_required_text(record, "author_id"),
            reading.text(record, "name"),
        )
        store.add_author(Author(author_id=author_id, name=name, **numbers))
    elif file.name == REFERENCES:
        citing, ref_id = (
            _read_required_text(record, "paper_id"),
            _read_required_text(record, "ref_id"),
        )
        reference = Reference(
            ref_id=ref_id,
            target=reading.text(record, "cited_paper_id") or ref_id,
            raw=reading.text(record, "raw"),
            title=reading.text(record, "title"),
            year=reading.whole(record, "year"),
            citations=reading.whole(record, "citation_count"),
        )
        store.add_reference(citing, reference)
    else:
        gold = [
            str(reference) for reference in reading.list_or_empty(record.get("gold"))
        ]
        name, sentence = (
            _read_required_text(record, "context_id"),
            reading.text(record, "sentence"),
        )
        if PLACEHOLDER not in sentence:
            raise reading.make_refusal(
                f"the sentence of context “{name}” has no {PLACEHOLDER}"
            )
        context = Context(
            context_id=name,
            section=reading.remove_reference_tokens(reading.text(record, "section")),
            sentence=sentence,
            **{
                name: reading.text(record, name)
                for name in ("before", "after", "marker")
            },
            gold=tuple(dict.fromkeys(gold)),
            markers=reading.whole(record, "n_markers") or len(gold),
            style=reading.text(record, "style") or _determine_mark_style(record),
            context_type=reading.text(record, "context_type") or None,
            zone=reading.text(record, "zone") or None,
        )
        store.add_sentence(len(tokens(context.sentence)))
        store.add_context(_read_required_text(record, "paper_id"), context)


def _determine_mark_style(record: reading.Record) -> str:
    mark = reading.text(record, "marker")
    return determine_mark_style(mark) if mark else ANONYMOUS_STYLE


def _read_required_text(record: reading.Record, key: str) -> str:
    if not (value := reading.text(record, key)):
        raise InputRefused(
            [Problem(message=f"a row without “{key}”", quote=str(record)[:160])]
        )
    return value
