"""A task in which systems write long answers to questions, and put each citation mark
directly after the words that the cited passage supports.
"""

from tasks.types.base import (
    ABOVE_DIAGONAL,
    BELOW_DIAGONAL,
    MARKS_VIEW,
    ScatterPair,
    TaskType,
)
from tasks.types.jsonlines import is_records_file
from tasks.types.positional_citations import options, questions
from tasks.types.positional_citations.trivial import trivial_runs

TASK_TYPE = TaskType.of(
    questions,
    options,
    slug="positional-citations",
    title="Positional fine-grained citations",
    unit="question",
    display_names={"dataset": "data set"},
    shown_dimensions=("dataset",),
    leading_dimension="placing",
    main_metrics=(
        "aliice_f1",
        "aliice_recall",
        "aliice_precision",
        "alce_recall",
        "alce_precision",
        "cvcp",
        "em_recall",
        "rouge_lsum_f1",
    ),
    scatter_pairs=(
        ScatterPair("alce_recall", "aliice_recall", BELOW_DIAGONAL),
        ScatterPair("alce_precision", "aliice_precision", ABOVE_DIAGONAL),
        ScatterPair("aliice_f1", "cvcp"),
    ),
    team_scores=("mauve",),
    has_claims=True,
    drawn_as=MARKS_VIEW,
    baselines=("scoring.tools.baselines.positional:BASELINES",),
    is_gold_file=is_records_file,
    trivial_runs=trivial_runs,
)
