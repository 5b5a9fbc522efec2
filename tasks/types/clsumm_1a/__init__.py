"""In CL-Summ task 1A, systems find the sentences of the reference paper that a citance
(citing sentence) refers to.
"""

from tasks.types.base import (
    CORRECTED,
    ENGINE,
    SENTENCES_VIEW,
    Options,
    Pairs,
    Split,
    TaskType,
)
from tasks.types.clsumm import options as shared, pairs as pairing, runs, topics
from tasks.types.clsumm.runs import CitanceRun, contains_citance_answers
from tasks.types.clsumm.summaries import iterate_contents_if_readable
from tasks.types.clsumm.topics import is_topic_file
from tasks.types.clsumm.trivial import make_trivial_span_runs
from tasks.types.references import make_metric_refs
from tasks.types.text import normalise_nested_texts_to_nfc

OVERLAP_METRICS = (
    *make_metric_refs("overlap_{}_micro", "clsumm:Overlap", average="micro"),
    *make_metric_refs("overlap_{}_macro", "clsumm:Overlap", average="macro"),
)
#: `CITANCE_OVERLAP_METRICS` contains the overlap measures averaged over citances.
CITANCE_OVERLAP_METRICS = make_metric_refs(
    "overlap_{}_citance", "clsumm:CitanceOverlap"
)


def make_rouge_s_metrics(
    *, counts_missing: bool, over_citances: bool = False
) -> shared.MetricRefs:
    """Return ROUGE-S metrics such as `rouge_s_star_f1`. Names of metrics end with
    `_micro` if values are computed over all citances at once.
    """
    return make_metric_refs(
        f"rouge_s_star_{{}}{'_micro' if over_citances else ''}",
        "clsumm:SpanRougeS",
        shared.STOPWORDS_OPTION.name,
        shared.PROGRAM_OPTION.name,
        counts_missing=counts_missing,
        over_citances=over_citances,
    )


OFFICIAL_METRICS_BY_RULE_SET = {
    year: OVERLAP_METRICS
    + make_rouge_s_metrics(counts_missing=year == shared.OFFICIAL_2017)
    + make_rouge_s_metrics(
        counts_missing=year == shared.OFFICIAL_2017, over_citances=True
    )
    for year in (shared.OFFICIAL_2017, shared.OFFICIAL_2018)
}


def rouge_l(order: str) -> shared.MetricRefs:
    return shared.make_rouge_metrics("l", order=order) + shared.make_rouge_metrics(
        "l", order=order, over_units=True
    )


def pair(split: Split, run: CitanceRun, rules: str, options: Options) -> Pairs:
    """Return one row per citance (citing sentence) and annotator, and one row per
    answer to an unknown citance.
    """
    pairs, notes = pairing.pair_citances(split, run, rules)
    order = list if options["program"] == "python3" else pairing.order_as_python2_dict
    spans = [
        pairing.get_cited_spans_of_pair(pair, rules, order=order) for pair in pairs
    ]
    if split.reading > 1 and rules == CORRECTED:
        spans = normalise_nested_texts_to_nfc(spans)
    return Pairs(
        gold=[gold for gold, _ in spans],
        answers=[answer for _, answer in spans],
        units=[pair.topic.name for pair in pairs],
        features=pairing.classify_pairs(pairs),
        names=[pair.citance_label for pair in pairs],
        notes={**notes, **shared.make_missing_stopwords_note(rules, options)},
    )


TASK_TYPE = TaskType.of(
    topics,
    runs,
    slug="clsumm-1a",
    title="CL-Summ 1A: cited text spans",
    unit="topic",
    rules={
        CORRECTED: OVERLAP_METRICS + rouge_l("document"),
        shared.OFFICIAL_2014: rouge_l("listed")
        + shared.make_rouge_metrics("1", order="listed")
        + CITANCE_OVERLAP_METRICS,
        shared.OFFICIAL_2016: OVERLAP_METRICS,
        **OFFICIAL_METRICS_BY_RULE_SET,
    },
    baselines=(
        "scoring.tools.baselines.clsumm:BASELINES",
        "scoring.papers.clsumm_literal:BASELINES",
        "scoring.tools.baselines.clsumm_supervised:BASELINES",
    ),
    main_metrics=(
        "overlap_f1_micro",
        "overlap_precision_micro",
        "overlap_recall_micro",
        "overlap_f1_macro",
        "rouge_l_f1",
        "rouge_s_star_f1",
    ),
    dimensions=pairing.DIMENSIONS,
    shown_dimensions=("topic", "year"),
    accepts=contains_citance_answers,
    pair=pair,
    is_gold_file=is_topic_file,
    options=(
        shared.ANNOTATION_OPTION,
        shared.OVER_LIMIT_OPTION,
        shared.STOPWORDS_OPTION,
        shared.PROGRAM_OPTION,
        ENGINE,
    ),
    show_instances=pairing.show_spans_of_citances,
    drawn_as=SENTENCES_VIEW,
    also_holds=iterate_contents_if_readable,
    trivial_runs=make_trivial_span_runs,
)
