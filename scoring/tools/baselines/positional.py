"""Write the built-in answers with positional citations, and compute where their
citation marks stand.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from scoring.metrics.answers import ALCE, normalise_answer
from tasks.types.baselines import Answer, Baseline
from tasks.types.files import InputFile
from tasks.types.positional_citations.questions import QuestionPassage, read_questions
from tasks.types.positional_citations.sentences import (
    MARK_GROUP_PATTERN,
    split_sentences_by_rules,
)

#: The number of passages that a built-in answer cites.
MAX_CITED_PASSAGES = 3
_FINAL_STOP_PATTERN = re.compile(r"[.!?]+[\"'”’)]*$")


def remove_citation_marks(text: str) -> str:
    return re.sub(
        r"\s+([,;:.!?])", r"\1", " ".join(MARK_GROUP_PATTERN.sub(" ", text).split())
    )


def insert_marks_before_stop(
    text: str, marks: Sequence[str] | Mapping[str, None]
) -> str:
    if not marks:
        return text
    stop = _FINAL_STOP_PATTERN.search(text)
    end = stop.start() if stop else len(text)
    return f"{text[:end]} {''.join(marks)}{text[end:]}"


def compute_word_share(words: set[str], passage: QuestionPassage) -> float:
    common = words.intersection(
        normalise_answer(f"{passage.title} {passage.text}").split()
    )
    return len(common) / len(words) if words else 0


def iterate_passage_answers(files: Sequence[InputFile]) -> Iterator[Answer]:
    for question in read_questions(files):
        words = set(normalise_answer(question.question).split())
        shares = [compute_word_share(words, passage) for passage in question.passages]
        places = sorted(range(len(shares)), key=lambda place: (-shares[place], place))[
            :MAX_CITED_PASSAGES
        ]
        first = {
            place: next(
                iter(split_sentences_by_rules(question.passages[place].text)), ""
            )
            for place in places
        }
        output = " ".join(
            insert_marks_before_stop(remove_citation_marks(text), [f"[{place + 1}]"])
            for place, text in first.items()
            if text
        )
        yield {"id": question.id, "output": output}


BASELINES = (
    Baseline(
        name="positional-passages",
        summary="The first sentences of the three passages that have most of the question's words, each with "
        "its mark at the end.",
        source=ALCE,
        answers=iterate_passage_answers,
    ),
)
