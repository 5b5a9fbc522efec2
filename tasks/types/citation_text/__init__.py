"""In citation text generation, systems receive the abstracts of cited papers and write
the sentences that cite these papers.
"""

from tasks.types.base import TEXTS_VIEW, TaskType
from tasks.types.citation_text import instances, metrics
from tasks.types.citation_text.trivial import trivial_runs
from tasks.types.jsonlines import is_records_file

TASK_TYPE = TaskType.of(
    instances,
    metrics,
    slug="citation-text",
    title="Citation text generation",
    unit="text",
    display_names={"dataset": "data set"},
    shown_dimensions=("dataset", "cited_papers", "empty_abstracts"),
    main_metrics=(
        "rouge_l_f1",
        "rouge_1_f1",
        "rouge_2_f1",
        "bertscore_f1",
        "kl_intent",
        "kl_corwa",
    ),
    drawn_as=TEXTS_VIEW,
    baselines=("scoring.tools.baselines.citation_text:BASELINES",),
    is_gold_file=is_records_file,
    trivial_runs=trivial_runs,
)
