"""In cited reports, systems write a report on each topic, and the sentences of the
report cite documents. Judgements state which nuggets (expected facts) a report contains
and whether documents support its sentences.
"""

from tasks.types.base import REPORTS_VIEW, TaskType
from tasks.types.cited_reports import (
    options,
    pairing,
    people,
    reports,
    runs,
    topics,
)
from tasks.types.jsonlines import is_records_file

TASK_TYPE = TaskType.of(
    topics,
    reports,
    runs,
    pairing,
    options,
    people,
    slug="cited-reports",
    title="Cited reports",
    unit="topic",
    display_names={
        "nuggets_all": "All nuggets",
        "nuggets_strict_all": "All nuggets, strict",
        "nuggets_vital": "Vital nuggets",
        "nuggets_strict_vital": "Vital nuggets, strict",
        "citation_precision_strict": "Citation precision, strict",
        "citation_recall_strict": "Citation recall, strict",
        "length_words": "Words",
        "length_chars": "Characters",
        "topic_kind": "kind of topic",
        "importance": "importance of nuggets",
        "sources_cited": "sources cited",
    },
    shown_dimensions=("topic_kind",),
    main_metrics=(
        "nuggets_vital",
        "nuggets_strict_vital",
        "nuggets_all",
        "citation_f1",
        "citation_precision",
        "citation_recall",
        "coverage",
        "length_words",
    ),
    is_judged=True,
    drawn_as=REPORTS_VIEW,
    baselines=("scoring.tools.baselines.reports:BASELINES",),
    is_gold_file=is_records_file,
)
