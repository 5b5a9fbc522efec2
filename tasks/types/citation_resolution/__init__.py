"""Citation Resolution: which of its own references does a paper cite in this place."""

from tasks.types.base import CORRECTED, OFFICIAL, TaskType
from tasks.types.references import MetricRef, lazy
from tasks.types.run_forms import RUN_FORM, TrecForm

COLLECTION = "tasks.types.citation_resolution.collection"
TREC = "tasks.types.citation_resolution.collection"
PAIRING = "tasks.types.citation_resolution.collection"
MEAN = "scoring.metrics.resolution:ResolutionMean"
METRICS = (
    MetricRef("success@n", MEAN, {"column": "success"}),
    MetricRef("accuracy@1", MEAN, {"column": "first"}),
    MetricRef("accuracy@1_per_citation", "scoring.metrics.resolution:FirstPerCitation"),
    MetricRef("success@n_macro", MEAN, {"column": "success", "over_units": True}),
    MetricRef("mrr", "scoring.metrics.ranking:Ranking", {"measure": "mrr"}),
    MetricRef("ndcg", "scoring.metrics.ranking:Ranking", {"measure": "ndcg"}),
    MetricRef("cocited_probability", "scoring.metrics.resolution:CocitedProbability", {"column": "cocited"}),
)


def is_gold_file(name: str) -> bool:
    return name.rpartition("/")[2] in (CONTEXTS, REFERENCES, PAPERS, CITATIONS, INLINKS)


TASK_TYPE = TaskType(
    slug="citation-resolution",
    title="Citation Resolution",
    unit="paper",
    instance_names=lazy(COLLECTION, "instance_names"),
    rules={CORRECTED: METRICS, OFFICIAL: METRICS},
    baselines=("scoring.tools.baselines.resolution:BASELINES",),
    dimensions=("group_size", "candidates", "section", "zone", "discipline"),
    read_gold=lazy(COLLECTION, "read_gold"),
    read_inputs=lazy(COLLECTION, "read_inputs"),
    read_run=lazy(PAIRING, "read_run"),
    filled=lazy("tasks.types.ranking.runs", "filled"),
    run_form=RUN_FORM,
    pair=lazy(PAIRING, "pair"),
    public_files=lazy(COLLECTION, "public_files"),
    contents=lazy(COLLECTION, "contents"),
    is_gold_file=is_gold_file,
    show_instances=lazy("tasks.types.ranking.records", "show_instances"),
    trec=TrecForm(
        topics=lazy(TREC, "topics"),
        documents=lazy(TREC, "documents"),
        qrels=lazy(TREC, "qrels"),
        candidates=lazy(TREC, "candidates"),
    ),
)
CONTEXTS, REFERENCES, PAPERS = "contexts.jsonl", "references.jsonl", "papers.jsonl"
#: The collection's citation graph, where it is known.
CITATIONS = "citations.jsonl"
#: What papers that are not tested say where they cite a candidate; given to participants.
INLINKS = "inlinks.jsonl"
