"""Questions and responses as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tasks.types.base import Options, Pairs, Split
from tasks.types.files import InputFile
from tasks.types.instance_view import ShownInstance, rows_by_name
from tasks.types.positional_citations.gold import Question


def show_instances(
    files: Sequence[InputFile], split: Split, pairs: Pairs, options: Options
) -> Iterator[ShownInstance]:
    """The question with its passages, the answers that are known, and the response with its marks."""
    for name, rows in rows_by_name(pairs.names).items():
        question, response = pairs.gold[rows[0]], pairs.answers[rows[0]]
        yield ShownInstance(
            name=name,
            given=_given(question),
            gold=_gold(question),
            answer=" ".join(sentence.text for sentence in response.sentences) if response else "",
        )


def _given(question: Question) -> str:
    passages = (
        f"[{mark}] {passage.title}: {passage.text}" for mark, passage in enumerate(question.passages, start=1)
    )
    return "\n".join([question.question, *passages])


def _gold(question: Question) -> str:
    short = (" or ".join(spellings) for spellings in (*question.short_answers, *question.answers))
    return "\n".join([*question.references, *question.claims, *short])
