"""In CL-Summ task 2, systems summarise the reference paper, based on the paper's cited
parts.
"""

from tasks.types.base import TEXTS_VIEW, TaskType
from tasks.types.clsumm import summaries
from tasks.types.clsumm.runs import contains_summaries
from tasks.types.clsumm.topics import is_topic_file, iterate_contents_if_readable
from tasks.types.clsumm.trivial import make_trivial_summary_runs

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
    accepts=contains_summaries,
    is_gold_file=is_topic_file,
    drawn_as=TEXTS_VIEW,
    also_holds=iterate_contents_if_readable,
    trivial_runs=make_trivial_summary_runs,
)
