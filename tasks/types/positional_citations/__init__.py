"""Positional fine-grained citations: long answers whose marks stand right behind what they vouch for."""

from tasks.types.base import ABOVE, BELOW, MARKS, ScatterPair, TaskType
from tasks.types.jsonlines import is_records_file
from tasks.types.positional_citations import options, questions

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
    # Figure 4 of the paper and what it finds, and how widely marks are spread against how well they are.
    scatter_pairs=(
        ScatterPair("alce_recall", "aliice_recall", BELOW),
        ScatterPair("alce_precision", "aliice_precision", ABOVE),
        ScatterPair("aliice_f1", "cvcp"),
    ),
    team_scores=("mauve",),
    has_claims=True,
    drawn_as=MARKS,
    baselines=("scoring.tools.baselines.positional:BASELINES",),
    is_gold_file=is_records_file,
)
