"""CL-Summ task 1A: which sentences of the reference paper does a citance refer to."""

from tasks.types.base import CORRECTED, ENGINE, Options, Pairs, Split, TaskType
from tasks.types.clsumm.instance_view import show_spans
from tasks.types.clsumm.options import (
    ANNOTATION,
    OFFICIAL_2014,
    OFFICIAL_2016,
    OFFICIAL_2017,
    OFFICIAL_2018,
    OVER_LIMIT,
    PROGRAM,
    STOPWORDS,
    MetricRefs,
    overlap,
    plain_rouge,
    rouge_s,
    stopword_notes,
)
from tasks.types.clsumm.pairs import DIMENSIONS, cited_spans, classes_of, pair_citances, python2_order
from tasks.types.clsumm.runs import RUN_FORM, Run, accepts_citances, filled, read_run
from tasks.types.clsumm.summaries import held_summaries
from tasks.types.clsumm.topics import contents, is_topic_file, public_files, read_gold, read_inputs

OVERLAP = overlap("micro") + overlap("macro")
OFFICIAL = {
    year: OVERLAP
    + rouge_s(counts_missing=year == OFFICIAL_2017)
    + rouge_s(counts_missing=year == OFFICIAL_2017, over_citances=True)
    for year in (OFFICIAL_2017, OFFICIAL_2018)
}


def rouge_l(order: str) -> MetricRefs:
    return plain_rouge("l", order=order) + plain_rouge("l", order=order, over_units=True)


def pair(split: Split, run: Run, rules: str, options: Options) -> Pairs:
    """One row a citance and annotator, and one for each answer to an unknown citance.

    A topic is the unit that is resampled.
    """
    pairs, notes = pair_citances(split, run, rules)
    order = list if options["program"] == "python3" else python2_order
    spans = [cited_spans(pair, rules, order=order) for pair in pairs]
    return Pairs(
        gold=[gold for gold, _ in spans],
        answers=[answer for _, answer in spans],
        units=[pair.topic.name for pair in pairs],
        features=classes_of(pairs),
        names=[pair.citance for pair in pairs],
        notes={**notes, **stopword_notes(rules, options)},
    )


TASK_TYPE = TaskType(
    slug="clsumm-1a",
    title="CL-Summ 1A: cited text spans",
    unit="topic",
    rules={
        CORRECTED: OVERLAP + rouge_l("document"),
        OFFICIAL_2014: rouge_l("listed"),
        OFFICIAL_2016: OVERLAP,
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
    dimensions=DIMENSIONS,
    read_gold=read_gold,
    read_inputs=read_inputs,
    read_run=read_run,
    filled=filled,
    run_form=RUN_FORM,
    accepts=accepts_citances,
    pair=pair,
    public_files=public_files,
    is_gold_file=is_topic_file,
    options=(ANNOTATION, OVER_LIMIT, STOPWORDS, PROGRAM, ENGINE),
    show_instances=show_spans,
    contents=contents,
    also_holds=held_summaries,
)
