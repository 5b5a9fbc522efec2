"""In CL-Summ task 2, systems summarise the reference paper, based on the paper's cited
parts.
"""

from tasks.types.base import TEXTS, TaskType
from tasks.types.clsumm import summaries
from tasks.types.clsumm.runs import accepts_summaries
from tasks.types.clsumm.topics import held_citances, is_topic_file
from tasks.types.clsumm.trivial import summary_runs

TASK_TYPE = TaskType.of(
    summaries,
    slug="clsumm-2",
    title="CL-Summ 2: summaries of the reference paper",
    unit="topic",
    baselines=(
        "scoring.tools.baselines.clsumm:SUMMARIES",
        "scoring.papers.clsumm_literal:SUMMARIES",
    ),
    main_metrics=(
        "rouge_2_f1",
        "rouge_2_f1.abstract",
        "rouge_2_f1.community",
        "rouge_2_f1.human",
        "rouge_l_f1",
        "rouge_su4_f1",
        "rouge_su_star_f1",
    ),
    accepts=accepts_summaries,
    is_gold_file=is_topic_file,
    drawn_as=TEXTS,
    also_holds=held_citances,
    trivial_runs=summary_runs,
)
