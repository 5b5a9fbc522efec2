"""Load corpora in the file format of this project.

A corpus is a folder with the files `papers.jsonl`, `references.jsonl` and
`contexts.jsonl`, and optionally `authors.jsonl`.
"""

from pathlib import Path

from scoring.tools.builders import reading
from scoring.tools.builders.contexts import (
    ANONYMOUS_STYLE,
    determine_mark_style,
    split_into_tokens,
)
from scoring.tools.builders.corpus import (
    CITATION_PLACEHOLDER,
    CitationContext,
    CorpusAuthor,
    CorpusPaper,
    CorpusReference,
)
from scoring.tools.builders.store import CorpusStore
from tasks.types.problems import InputRefused, Problem

PAPERS_FILE, REFERENCES_FILE, CONTEXTS_FILE = (
    "papers.jsonl",
    "references.jsonl",
    "contexts.jsonl",
)
AUTHORS_FILE = "authors.jsonl"


def fits(path: Path) -> bool:
    return path.is_dir() and (path / CONTEXTS_FILE).is_file()


def files(path: Path) -> list[Path]:
    optional = [
        path / name for name in (AUTHORS_FILE, PAPERS_FILE) if (path / name).is_file()
    ]
    return [*optional, path / REFERENCES_FILE, path / CONTEXTS_FILE]


def add(record: reading.CorpusRecord, file: Path, store: CorpusStore) -> None:
    """Add a record from one of the files of a corpus to the store. Papers that are not
    in `papers.jsonl` have no field and no year.
    """
    if file.name == PAPERS_FILE:
        paper = CorpusPaper(
            paper_id=_read_required_text(record, "paper_id"),
            **{
                name: reading.get_text(record, name)
                for name in ("title", "authors", "abstract", "text")
            },
            field=reading.get_text(record, "discipline", "field") or None,
            year=reading.whole(record, "year"),
            citations=reading.whole(record, "citation_count"),
            licence=reading.get_text(record, "license", "licence"),
            author_ids=tuple(map(str, reading.list_or_empty(record.get("author_ids")))),
        )
        store.add_paper(paper)
    elif file.name == AUTHORS_FILE:
        keys = {
            "h_index": "h_index",
            "papers": "paper_count",
            "citations": "citation_count",
        }
        numbers = {field: reading.whole(record, key) for field, key in keys.items()}
        author_id, name = (
            _read_required_text(record, "author_id"),
            reading.get_text(record, "name"),
        )
        store.add_author(CorpusAuthor(author_id=author_id, name=name, **numbers))
    elif file.name == REFERENCES_FILE:
        citing, ref_id = (
            _read_required_text(record, "paper_id"),
            _read_required_text(record, "ref_id"),
        )
        reference = CorpusReference(
            ref_id=ref_id,
            target=reading.get_text(record, "cited_paper_id") or ref_id,
            raw=reading.get_text(record, "raw"),
            title=reading.get_text(record, "title"),
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
            reading.get_text(record, "sentence"),
        )
        if CITATION_PLACEHOLDER not in sentence:
            raise reading.make_refusal(
                f"the sentence of context “{name}” has no {CITATION_PLACEHOLDER}"
            )
        context = CitationContext(
            context_id=name,
            section=reading.remove_reference_tokens(
                reading.get_text(record, "section")
            ),
            sentence=sentence,
            **{
                name: reading.get_text(record, name)
                for name in ("before", "after", "marker")
            },
            gold=tuple(dict.fromkeys(gold)),
            markers=reading.whole(record, "n_markers") or len(gold),
            style=reading.get_text(record, "style") or _determine_mark_style(record),
            context_type=reading.get_text(record, "context_type") or None,
            zone=reading.get_text(record, "zone") or None,
        )
        store.add_sentence(len(split_into_tokens(context.sentence)))
        store.add_context(_read_required_text(record, "paper_id"), context)


def _determine_mark_style(record: reading.CorpusRecord) -> str:
    mark = reading.get_text(record, "marker")
    return determine_mark_style(mark) if mark else ANONYMOUS_STYLE


def _read_required_text(record: reading.CorpusRecord, key: str) -> str:
    if not (value := reading.get_text(record, key)):
        raise InputRefused(
            [Problem(message=f"a row without “{key}”", quote=str(record)[:160])]
        )
    return value
