"""In citation recommendation, systems find the paper that a sentence cites among all
papers of a collection.
"""

from collections.abc import Mapping, Sequence

from tasks.types import base
from tasks.types.ranking import make_lazy_task_type_parts
from tasks.types.references import MetricRef, make_metric_ref

#: The ranking metric of the diagnostic benchmark always uses the cut-off 10.
#: The options of a task can add other cut-offs.
RANKING_CUTOFF = 10
F1_METRICS_BY_OPTION_VALUE = {
    "contexts": ("f1", "ranking:RankingF1"),
    "means": ("f1_of_means", "ranking:F1OfMeans"),
}
GRADED_MEASURES = ("ndcg_graded", "rbp", "unjudged")
MEASURES_BY_RULE_SET = {
    base.CORRECTED: ("recall", "mrr", "ndcg"),
    base.OFFICIAL: ("recall", "mrr"),
}
CUTOFFS_OPTION = base.Option(
    name=base.CUTOFFS_OPTION_NAME,
    default=str(RANKING_CUTOFF),
    summary=f"Cut-offs of recall, MRR and nDCG besides {RANKING_CUTOFF}, such as 5,20.",
)
GRADED_OPTION = base.Option.yes_or_no(
    "graded",
    "Whether rank-biased precision is computed too, and by the gold's grades nDCG and the share of "
    "unjudged answers.",
)
MAX_RANKING_LENGTH_OPTION = base.Option(
    "longest", "1000", "A run with a ranking of more candidates is refused."
)
F1_OPTION = base.Option(
    name="f1",
    default="no",
    summary="Whether F1 of precision and recall is computed: the mean of that of each context, or from the "
    "means of both.",
    choices=("no", "contexts", "means"),
)
PERPLEXITY_OPTION = base.Option.yes_or_no(
    "perplexity",
    "Whether the perplexity of what is cited is computed, for runs that declare probabilities of candidates.",
)


def list_cutoffs(options: base.Options) -> tuple[int, ...]:
    """Return the cut-offs (numbers of first candidates) that the metrics use. The first
    cut-off is that of the ranking metric. Raises OptionRefused.
    """
    return (
        RANKING_CUTOFF,
        *base.parse_cutoffs(
            options, parse_max_ranking_length(options), [RANKING_CUTOFF]
        ),
    )


def parse_max_ranking_length(options: base.Options) -> int:
    text = options["longest"]
    if not text.isdecimal() or int(text) < RANKING_CUTOFF:
        raise base.OptionRefused(
            f"option longest={text}: expected a whole number from {RANKING_CUTOFF} up"
        )
    return int(text)


def make_metrics_at_cutoff(cut: int, measures: Sequence[str]) -> tuple[MetricRef, ...]:
    """Return the measures at one cut-off, such as `recall@10`."""
    classes = {
        name: "ranking:GradedRanking" if name in GRADED_MEASURES else "ranking:Ranking"
        for name in measures
    }
    return tuple(
        make_metric_ref(f"{name}@{cut}", by, measure=name, cut=cut)
        for name, by in classes.items()
    )


def further_metrics(rules: str, options: base.Options) -> tuple[MetricRef, ...]:
    """Return the metrics that the options ``graded``, ``k``, ``f1`` and ``perplexity``
    add to a rule set.
    """
    more = (
        GRADED_MEASURES
        if rules == base.CORRECTED and options[GRADED_OPTION.name] == "yes"
        else ()
    )
    metrics = list(make_metrics_at_cutoff(RANKING_CUTOFF, more))
    for cut in list_cutoffs(options)[1:]:
        metrics += make_metrics_at_cutoff(cut, (*MEASURES_BY_RULE_SET[rules], *more))
    if rules == base.CORRECTED and options[F1_OPTION.name] != "no":
        name, by = F1_METRICS_BY_OPTION_VALUE[options[F1_OPTION.name]]
        metrics += [
            make_metric_ref(f"{name}@{cut}", by, cut=cut)
            for cut in list_cutoffs(options)
        ]
    if rules == base.CORRECTED and options[PERPLEXITY_OPTION.name] == "yes":
        metrics.append(make_metric_ref("perplexity", "ranking:Perplexity"))
    return tuple(metrics)


#: `DIMENSIONS` contains the benchmark's dimensions and dimensions of authors.
#: `DIMENSIONS` maps each dimension to its ordered classes, or to () if any are allowed.
DIMENSIONS: Mapping[str, tuple[str, ...]] = {
    "field": (),
    "year_group": (),
    "citation_group": tuple(map(str, range(10))),
    "length_class": ("short", "medium", "long"),
    "location_class": ("start", "middle", "end"),
    "context_type": ("background", "method", "result"),
    "pos_before": (
        "verb",
        "noun",
        "adjective",
        "adverb",
        "pronoun",
        "preposition",
        "others",
    ),
    "pos_after": (
        "verb",
        "noun",
        "adjective",
        "adverb",
        "pronoun",
        "preposition",
        "others",
    ),
    "low_resource": (),
    "h_index_group": ("0", "1", "2", "3"),
}

CONTEXTS_FILE_NAME, CANDIDATES_FILE_NAME = "diagnostic.jsonl", "references.jsonl"
TASK_TYPE = base.TaskType.of(
    make_lazy_task_type_parts(
        "tasks.types.citation_recommendation.collection",
        "read_run",
        "pair",
        gold_files=(CONTEXTS_FILE_NAME, CANDIDATES_FILE_NAME),
    ),
    slug="citation-recommendation",
    title="Citation recommendation: diagnostic splits",
    # Candidates have no field `id`, so only ids of contexts name instances.
    instance_names=base.iterate_record_ids,
    rules={
        rules: make_metrics_at_cutoff(RANKING_CUTOFF, measures)
        for rules, measures in MEASURES_BY_RULE_SET.items()
    },
    baselines=("scoring.tools.baselines.retrieval:BASELINES",),
    dimensions=tuple(DIMENSIONS),
    options=(
        CUTOFFS_OPTION,
        GRADED_OPTION,
        F1_OPTION,
        PERPLEXITY_OPTION,
        MAX_RANKING_LENGTH_OPTION,
    ),
    further_metrics=further_metrics,
)
#: A context's field `SAMPLED_DIMENSIONS_FIELD` lists the only dimensions in which it has a class.
#: A context without the field `SAMPLED_DIMENSIONS_FIELD` has a class in every dimension.
SAMPLED_DIMENSIONS_FIELD = "sampled_for"


def explain_contradictory_recall_and_mrr(
    recall: float, mrr: float, *, cut: int = 10, rounding: float = 0.0
) -> str:
    """Explain why a row of published results has contradictory values of Recall@k and
    MRR@k. Return an empty text if one ranking can have both values.

    A cited paper among the first k has a reciprocal rank between 1/k and 1. The
    reciprocal rank of any other cited paper is 0. The bounds on MRR@k are therefore
    Recall@k / k <= MRR@k <= Recall@k. ``rounding`` is the largest rounding error of the
    two values, which is half a unit of the last digit.
    """
    if mrr + rounding < (recall - rounding) / cut:
        return f"MRR@{cut} {mrr:g} is below Recall@{cut} / {cut}, which is {recall / cut:g}"
    if mrr - rounding > recall + rounding:
        return f"MRR@{cut} {mrr:g} is above Recall@{cut}, which is {recall:g}"
    return ""
