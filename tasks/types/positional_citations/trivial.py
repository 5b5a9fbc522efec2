"""Compute trivial runs of the task positional-citations, which do not use the reference
answers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tasks.types.base import Options, Split
from tasks.types.files import Files
from tasks.types.positional_citations.questions import (
    QuestionWithPassages,
    build_index_of_questions,
)
from tasks.types.trivial_runs import (
    FIRST_ITEM_RUN,
    INPUT_COPY_RUN,
    LONGEST_ITEM_RUN,
    RANDOM_RUN_DRAWS,
    TrivialRunFiles,
    draw_row_numbers,
    make_run_file,
    make_seeded_random,
)

#: For a quick check, the trivial runs answer only `MAX_QUESTIONS_IN_QUICK_TRIAL` randomly drawn questions.
MAX_QUESTIONS_IN_QUICK_TRIAL = 50


def trivial_runs(
    files: Files, split: Split, options: Options, *, is_quick: bool
) -> TrivialRunFiles:
    """Return trivial runs whose answers copy passages of the question and cite the
    copied passages. Each run copies either the first passage, the longest passage, all
    passages, or a random passage of each question.
    """
    rows = draw_row_numbers(
        len(split.content), MAX_QUESTIONS_IN_QUICK_TRIAL if is_quick else None
    )
    questions: Sequence[QuestionWithPassages] = [split.content[row] for row in rows]
    part = replace(
        split,
        content=tuple(questions),
        instances=len(questions),
        index=build_index_of_questions(questions),
    )

    def make_run_of_copied_passages(places: Iterable[Sequence[int]]) -> Files:
        lines = (
            {"id": question.id, "output": _copy_passages_with_marks(question, own)}
            for question, own in zip(questions, places, strict=True)
        )
        return make_run_file(lines, split.reading)

    def find_longest_passage(question: QuestionWithPassages) -> list[int]:
        places = range(len(question.passages))
        by_length = sorted(
            places, key=lambda place: -len(question.passages[place].text)
        )
        return by_length[:1]

    def make_random_run(draw: int) -> Files:
        source = make_seeded_random(draw)
        counts = (len(question.passages) for question in questions)
        return make_run_of_copied_passages(
            [source.randrange(count)] if count else [] for count in counts
        )

    every = [list(range(len(question.passages))) for question in questions]
    return TrivialRunFiles(
        split=part,
        runs={
            FIRST_ITEM_RUN: make_run_of_copied_passages(own[:1] for own in every),
            LONGEST_ITEM_RUN: make_run_of_copied_passages(
                map(find_longest_passage, questions)
            ),
            INPUT_COPY_RUN: make_run_of_copied_passages(every),
        },
        draws=[make_random_run(draw) for draw in range(RANDOM_RUN_DRAWS)],
    )


def _copy_passages_with_marks(
    question: QuestionWithPassages, places: Sequence[int]
) -> str:
    """Return the texts of the selected passages, with a citation mark before the final
    full stop of each passage.
    """
    texts = (question.passages[place].text.strip() for place in places)
    copies = (
        f"{text.removesuffix('.')} [{place + 1}]."
        for place, text in zip(places, texts, strict=True)
    )
    return " ".join(copies)
