"""Positional fine-grained citations: long answers whose marks stand right behind what they vouch for."""

from tasks.types.base import TaskType, filled_texts
from tasks.types.jsonlines import is_records_file
from tasks.types.positional_citations.gold import contents, public_files, read_gold, read_inputs
from tasks.types.positional_citations.options import METRICS, OPTIONS, further_metrics
from tasks.types.positional_citations.runs import DIMENSIONS, RUN_FORM, pair, read_run, show_instances

TASK_TYPE = TaskType(
    slug="positional-citations",
    title="Positional fine-grained citations",
    unit="question",
    rules=METRICS,
    baselines=("scoring.tools.baselines.positional:BASELINES",),
    display_names={"dataset": "data set"},
    main_metrics=(
        "aliice_f1",
        "aliice_recall",
        "aliice_precision",
        "alce_recall",
        "alce_precision",
        "em_recall",
        "rouge_lsum_f1",
    ),
    dimensions=DIMENSIONS,
    read_gold=read_gold,
    read_inputs=read_inputs,
    read_run=read_run,
    filled=lambda run, index: filled_texts(run.outputs, index),
    run_form=RUN_FORM,
    pair=pair,
    public_files=public_files,
    is_gold_file=is_records_file,
    options=OPTIONS,
    further_metrics=further_metrics,
    # The paper's figure 4, and how widely marks are spread against how well they are.
    scatter_pairs=(("alce_f1", "aliice_f1"), ("aliice_f1", "cvcp")),
    team_scores=("mauve",),
    has_claims=True,
    show_instances=show_instances,
    contents=contents,
)
