"""In Citation Resolution, systems find the reference that a paper cites at a given
position.
"""

from tasks.types.base import CORRECTED, OFFICIAL, TaskType
from tasks.types.ranking import parts
from tasks.types.references import metric_ref

MEAN = "ranking:ResolutionMean"
METRICS = (
    metric_ref("success@n", MEAN, column="success"),
    metric_ref("accuracy@1", MEAN, column="first"),
    metric_ref("accuracy@1_per_citation", "ranking:FirstPerCitation"),
    metric_ref("success@n_macro", MEAN, column="success", over_units=True),
    metric_ref("mrr", "ranking:Ranking", measure="mrr"),
    metric_ref("ndcg", "ranking:Ranking", measure="ndcg"),
    metric_ref("cocited_probability", "ranking:CocitedProbability", column="cocited"),
)

CONTEXTS, REFERENCES, PAPERS = "contexts.jsonl", "references.jsonl", "papers.jsonl"
#: A collection may have a file with its citation graph.
CITATIONS = "citations.jsonl"
#: INLINKS contains sentences of papers outside the test set that cite a candidate.
#: Participants get the file with sentences that cite candidates.
INLINKS = "inlinks.jsonl"

TASK_TYPE = TaskType.of(
    parts(
        "tasks.types.citation_resolution.collection",
        "instance_names",
        "read_run",
        "pair",
        "unreachable",
        gold_files=(CONTEXTS, REFERENCES, PAPERS, CITATIONS, INLINKS),
        of_trec=("candidates",),
    ),
    slug="citation-resolution",
    title="Citation Resolution",
    rules={CORRECTED: METRICS, OFFICIAL: METRICS},
    baselines=("scoring.tools.baselines.resolution:BASELINES",),
    dimensions=("group_size", "candidates", "section", "zone", "discipline"),
    shown_dimensions=("candidates", "section"),
)
