"""In Citation Resolution, systems find the reference that a paper cites at a given
position.
"""

from tasks.types.base import CORRECTED, OFFICIAL, TaskType
from tasks.types.ranking import make_lazy_task_type_parts
from tasks.types.references import make_metric_ref

RESOLUTION_MEAN_CLASS = "ranking:ResolutionMean"
CITATION_RESOLUTION_METRICS = (
    make_metric_ref("success@n", RESOLUTION_MEAN_CLASS, column="success"),
    make_metric_ref("accuracy@1", RESOLUTION_MEAN_CLASS, column="first"),
    make_metric_ref("accuracy@1_per_citation", "ranking:FirstPerCitation"),
    make_metric_ref(
        "success@n_macro", RESOLUTION_MEAN_CLASS, column="success", over_units=True
    ),
    make_metric_ref("mrr", "ranking:Ranking", measure="mrr"),
    make_metric_ref("ndcg", "ranking:Ranking", measure="ndcg"),
    make_metric_ref(
        "cocited_probability", "ranking:CocitedProbability", column="cocited"
    ),
)

CONTEXTS_FILE_NAME, REFERENCES_FILE_NAME, PAPERS_FILE_NAME = (
    "contexts.jsonl",
    "references.jsonl",
    "papers.jsonl",
)
#: A collection may have a file with its citation graph.
CITATION_GRAPH_FILE_NAME = "citations.jsonl"
#: INLINKS_FILE_NAME contains sentences of papers outside the test set that cite a candidate.
#: Participants get the file with sentences that cite candidates.
INLINKS_FILE_NAME = "inlinks.jsonl"

TASK_TYPE = TaskType.of(
    make_lazy_task_type_parts(
        "tasks.types.citation_resolution.collection",
        "instance_names",
        "read_run",
        "pair",
        "unreachable",
        gold_files=(
            CONTEXTS_FILE_NAME,
            REFERENCES_FILE_NAME,
            PAPERS_FILE_NAME,
            CITATION_GRAPH_FILE_NAME,
            INLINKS_FILE_NAME,
        ),
        of_trec=("candidates",),
    ),
    slug="citation-resolution",
    title="Citation Resolution",
    rules={
        CORRECTED: CITATION_RESOLUTION_METRICS,
        OFFICIAL: CITATION_RESOLUTION_METRICS,
    },
    baselines=("scoring.tools.baselines.resolution:BASELINES",),
    dimensions=("group_size", "candidates", "section", "zone", "discipline"),
    shown_dimensions=("candidates", "section"),
)
