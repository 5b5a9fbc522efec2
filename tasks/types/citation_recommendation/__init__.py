"""In citation recommendation, systems find the paper that a sentence cites among all
papers of a collection.
"""

from collections.abc import Mapping, Sequence

from tasks.types import base
from tasks.types.ranking import parts
from tasks.types.references import MetricRef, metric_ref

#: The ranking metric of the diagnostic benchmark always uses the cut-off 10.
#: The options of a task can add other cut-offs.
CUT = 10
F1_CLASSES = {
    "contexts": ("f1", "ranking:RankingF1"),
    "means": ("f1_of_means", "ranking:F1OfMeans"),
}
GRADED = ("ndcg_graded", "rbp", "unjudged")
MEASURES = {base.CORRECTED: ("recall", "mrr", "ndcg"), base.OFFICIAL: ("recall", "mrr")}
CUTS = base.Option(
    name=base.CUTOFFS,
    default=str(CUT),
    summary=f"Cut-offs of recall, MRR and nDCG besides {CUT}, such as 5,20.",
)
GRADES = base.Option.switch(
    "graded",
    "Whether rank-biased precision is computed too, and by the gold's grades nDCG and the share of "
    "unjudged answers.",
)
LONGEST = base.Option(
    "longest", "1000", "A run with a ranking of more candidates is refused."
)
F1 = base.Option(
    name="f1",
    default="no",
    summary="Whether F1 of precision and recall is computed: the mean of that of each context, or from the "
    "means of both.",
    choices=("no", "contexts", "means"),
)
PERPLEXITY = base.Option.switch(
    "perplexity",
    "Whether the perplexity of what is cited is computed, for runs that declare probabilities of candidates.",
)


def cuts(options: base.Options) -> tuple[int, ...]:
    """Return the cut-offs (numbers of first candidates) that the metrics use. The first
    cut-off is that of the ranking metric. Raises OptionRefused.
    """
    return (CUT, *base.cutoffs(options, longest(options), [CUT]))


def longest(options: base.Options) -> int:
    text = options["longest"]
    if not text.isdecimal() or int(text) < CUT:
        raise base.OptionRefused(
            f"option longest={text}: expected a whole number from {CUT} up"
        )
    return int(text)


def measures_at(cut: int, measures: Sequence[str]) -> tuple[MetricRef, ...]:
    """Return the measures at one cut-off, such as `recall@10`."""
    classes = {
        name: "ranking:GradedRanking" if name in GRADED else "ranking:Ranking"
        for name in measures
    }
    return tuple(
        metric_ref(f"{name}@{cut}", by, measure=name, cut=cut)
        for name, by in classes.items()
    )


def further_metrics(rules: str, options: base.Options) -> tuple[MetricRef, ...]:
    """Return the metrics that the options ``graded``, ``k``, ``f1`` and ``perplexity``
    add to a rule set.
    """
    more = GRADED if rules == base.CORRECTED and options[GRADES.name] == "yes" else ()
    metrics = list(measures_at(CUT, more))
    for cut in cuts(options)[1:]:
        metrics += measures_at(cut, (*MEASURES[rules], *more))
    if rules == base.CORRECTED and options[F1.name] != "no":
        name, by = F1_CLASSES[options[F1.name]]
        metrics += [metric_ref(f"{name}@{cut}", by, cut=cut) for cut in cuts(options)]
    if rules == base.CORRECTED and options[PERPLEXITY.name] == "yes":
        metrics.append(metric_ref("perplexity", "ranking:Perplexity"))
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

CONTEXTS, CANDIDATES = "diagnostic.jsonl", "references.jsonl"
TASK_TYPE = base.TaskType.of(
    parts(
        "tasks.types.citation_recommendation.collection",
        "read_run",
        "pair",
        gold_files=(CONTEXTS, CANDIDATES),
    ),
    slug="citation-recommendation",
    title="Citation recommendation: diagnostic splits",
    # Candidates have no field `id`, so only ids of contexts name instances.
    instance_names=base.ids_alone,
    rules={rules: measures_at(CUT, measures) for rules, measures in MEASURES.items()},
    baselines=("scoring.tools.baselines.retrieval:BASELINES",),
    dimensions=tuple(DIMENSIONS),
    options=(CUTS, GRADES, F1, PERPLEXITY, LONGEST),
    further_metrics=further_metrics,
)
#: A context's field `SAMPLED_FOR` lists the only dimensions in which it has a class.
#: A context without the field `SAMPLED_FOR` has a class in every dimension.
SAMPLED_FOR = "sampled_for"


def contradiction(
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
