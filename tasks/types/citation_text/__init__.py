"""Citation text generation: what a paper writes of the papers that it cites, from their abstracts."""

from tasks.types.base import TaskType, filled_texts
from tasks.types.citation_text.instances import (
    contents,
    instance_names,
    public_files,
    read_gold,
    read_inputs,
    statistics,
)
from tasks.types.citation_text.metrics import METRICS, OPTIONS, further_metrics
from tasks.types.citation_text.runs import (
    DIMENSIONS,
    HUMAN_EVALUATION,
    RUN_FORM,
    pair,
    read_run,
    show_instances,
    texts,
)
from tasks.types.jsonlines import is_records_file

TASK_TYPE = TaskType(
    slug="citation-text",
    title="Citation text generation",
    unit="text",
    instance_names=instance_names,
    rules=METRICS,
    baselines=("scoring.tools.baselines.citation_text:BASELINES",),
    display_names={"dataset": "data set"},
    main_metrics=(
        "rouge_l_f1",
        "rouge_1_f1",
        "rouge_2_f1",
        "bertscore_f1",
        "kl_intent",
        "kl_corwa",
    ),
    dimensions=DIMENSIONS,
    read_gold=read_gold,
    read_inputs=read_inputs,
    read_run=read_run,
    filled=lambda run, index: filled_texts(texts(run), index),
    run_form=RUN_FORM,
    pair=pair,
    public_files=public_files,
    is_gold_file=is_records_file,
    options=OPTIONS,
    human_evaluation=HUMAN_EVALUATION,
    further_metrics=further_metrics,
    show_instances=show_instances,
    statistics=statistics,
    contents=contents,
)
