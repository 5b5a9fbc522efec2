"""In CL-Summ task 1A, systems find the sentences of the reference paper that a citance
(citing sentence) refers to.
"""

from tasks.types.base import (
    CORRECTED,
    ENGINE,
    SENTENCES,
    Options,
    Pairs,
    Split,
    TaskType,
)
from tasks.types.clsumm import options as shared, pairs as pairing, runs, topics
from tasks.types.clsumm.runs import Run, accepts_citances
from tasks.types.clsumm.summaries import held_summaries
from tasks.types.clsumm.topics import is_topic_file
from tasks.types.clsumm.trivial import span_runs
from tasks.types.references import metric_refs
from tasks.types.text import in_nfc

OVERLAP = (
    *metric_refs("overlap_{}_micro", "clsumm:Overlap", average="micro"),
    *metric_refs("overlap_{}_macro", "clsumm:Overlap", average="macro"),
)
#: `BY_CITANCE` contains the overlap measures averaged over citances.
BY_CITANCE = metric_refs("overlap_{}_citance", "clsumm:CitanceOverlap")


def rouge_s(*, counts_missing: bool, over_citances: bool = False) -> shared.MetricRefs:
    """Return ROUGE-S metrics such as `rouge_s_star_f1`. Names of metrics end with
    `_micro` if values are computed over all citances at once.
    """
    return metric_refs(
        f"rouge_s_star_{{}}{'_micro' if over_citances else ''}",
        "clsumm:SpanRougeS",
        shared.STOPWORDS.name,
        shared.PROGRAM.name,
        counts_missing=counts_missing,
        over_citances=over_citances,
    )


OFFICIAL = {
    year: OVERLAP
    + rouge_s(counts_missing=year == shared.OFFICIAL_2017)
    + rouge_s(counts_missing=year == shared.OFFICIAL_2017, over_citances=True)
    for year in (shared.OFFICIAL_2017, shared.OFFICIAL_2018)
}


def rouge_l(order: str) -> shared.MetricRefs:
    return shared.plain_rouge("l", order=order) + shared.plain_rouge(
        "l", order=order, over_units=True
    )


def pair(split: Split, run: Run, rules: str, options: Options) -> Pairs:
    """Return one row per citance (citing sentence) and annotator, and one row per
    answer to an unknown citance.
    """
    pairs, notes = pairing.pair_citances(split, run, rules)
    order = list if options["program"] == "python3" else pairing.python2_order
    spans = [pairing.cited_spans(pair, rules, order=order) for pair in pairs]
    if split.reading > 1 and rules == CORRECTED:
        spans = in_nfc(spans)
    return Pairs(
        gold=[gold for gold, _ in spans],
        answers=[answer for _, answer in spans],
        units=[pair.topic.name for pair in pairs],
        features=pairing.classes_of(pairs),
        names=[pair.citance for pair in pairs],
        notes={**notes, **shared.stopword_notes(rules, options)},
    )


TASK_TYPE = TaskType.of(
    topics,
    runs,
    slug="clsumm-1a",
    title="CL-Summ 1A: cited text spans",
    unit="topic",
    rules={
        CORRECTED: OVERLAP + rouge_l("document"),
        shared.OFFICIAL_2014: rouge_l("listed")
        + shared.plain_rouge("1", order="listed")
        + BY_CITANCE,
        shared.OFFICIAL_2016: OVERLAP,
        **OFFICIAL,
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
    accepts=accepts_citances,
    pair=pair,
    is_gold_file=is_topic_file,
    options=(
        shared.ANNOTATION,
        shared.OVER_LIMIT,
        shared.STOPWORDS,
        shared.PROGRAM,
        ENGINE,
    ),
    show_instances=pairing.show_spans,
    drawn_as=SENTENCES,
    also_holds=held_summaries,
    trivial_runs=span_runs,
)
