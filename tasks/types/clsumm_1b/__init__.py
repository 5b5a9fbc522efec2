"""In CL-Summ task 1B, systems determine the discourse facet of the cited sentences, if
their answers to task 1A are right.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tasks.types import clsumm_1a
from tasks.types.base import CORRECTED, LABELS_VIEW, Index, Options, Pairs, Split
from tasks.types.clsumm import options as shared, runs
from tasks.types.clsumm.citances import (
    FACETS,
    CitanceAnnotation,
    has_reference_sentence,
    normalise_distinct_facets,
    normalise_facet,
)
from tasks.types.clsumm.pairs import (
    CitanceAndAnswer,
    classify_pairs,
    get_facet_or_empty,
    pair_citances,
    show_facets_of_citances,
)
from tasks.types.clsumm.runs import CitanceRun, contains_facet_answers
from tasks.types.clsumm.topics import ClsummTopic
from tasks.types.clsumm.trivial import make_trivial_facet_runs
from tasks.types.files import Files
from tasks.types.probabilities import ProbabilityByLabel
from tasks.types.problems import Problem, select_fatal_problems
from tasks.types.references import make_metric_ref, make_metric_refs

#: Conditional facet metrics only count answers with a correct sentence in task 1A.
#: All other facet metrics count all answers.
FACET_METRIC_CLASS, WEIGHTED_FACET_METRIC_CLASS = "clsumm:Facet", "clsumm:WeightedFacet"
CONDITIONAL_FACET_METRICS = (
    *make_metric_refs(
        "facet_{}_micro", FACET_METRIC_CLASS, average="micro", is_conditional=True
    ),
    *make_metric_refs(
        "facet_{}_macro", FACET_METRIC_CLASS, average="macro", is_conditional=True
    ),
)
UNCONDITIONAL_FACET_METRICS = make_metric_refs(
    "facet_{}_micro_unconditional",
    FACET_METRIC_CLASS,
    average="micro",
    is_conditional=False,
)
WEIGHTED_FACET_METRIC = make_metric_ref(
    "facet_f1_weighted", WEIGHTED_FACET_METRIC_CLASS, is_conditional=True
)
UNCONDITIONAL_WEIGHTED_FACET_METRIC = make_metric_ref(
    "facet_f1_weighted_unconditional", WEIGHTED_FACET_METRIC_CLASS, is_conditional=False
)
#: `_CALIBRATION_METRICS` contains the metrics that the option ``calibration`` adds.
_CALIBRATION_METRICS = {
    "brier_score": "Brier",
    "ece": "CalibrationError",
    "ece_debiased": "DebiasedCalibrationError",
}
CALIBRATION_METRICS = tuple(
    make_metric_ref(name, f"calibration:{by}", labels=FACETS)
    for name, by in _CALIBRATION_METRICS.items()
)


@dataclass(frozen=True)
class FacetAnswer:
    """A run's decision on one facet of one citance.

    ``facet`` is None if the run does not name the facet. ``is_found`` is True if the
    answer to task 1A contains a correct sentence. Conditional metrics include the facet
    only if ``is_found`` is True. ``is_found`` is None if the answer belongs to no
    citance. ``file`` is the index of the gold file in the topic.
    """

    facet: str | None
    is_found: bool | None
    file: int = 0
    #: `probabilities` is the run's probability of each facet, if gold has a facet.
    probabilities: ProbabilityByLabel | None = None


def iterate_facet_decisions(
    pair: CitanceAndAnswer, rules: str
) -> Iterator[tuple[str | None, FacetAnswer]]:
    """Yield a pair for every facet in the gold or in the answer of a citance. A wrong
    facet is yielded once for each occurrence in the answer.
    """
    facets = _merge_facets_under_rules(pair.answer, rules)
    if pair.gold is None:
        for facet in facets:
            yield None, FacetAnswer(facet, False if pair.is_known else None, pair.file)
        return
    wanted = _merge_facets_under_rules(pair.gold, rules)
    is_found = pair.answer is not None and not set(pair.gold.sentences).isdisjoint(
        pair.answer.sentences
    )
    probabilities = pair.answer.probabilities if pair.answer else None
    for facet in wanted:
        yield (
            facet,
            FacetAnswer(
                facet if facet in facets else None, is_found, pair.file, probabilities
            ),
        )
    yield from (
        (None, FacetAnswer(facet, is_found, pair.file))
        for facet in facets
        if facet not in wanted
    )


def _merge_facets_under_rules(
    annotation: CitanceAnnotation | None, rules: str
) -> tuple[str, ...]:
    facets = annotation.facets if annotation else ()
    return (
        normalise_distinct_facets(facets)
        if rules in (CORRECTED, shared.OFFICIAL_2014)
        else facets
    )


def keep_most_frequent_facet_of_pairs(
    pairs: Sequence[CitanceAndAnswer], topics: Sequence[ClsummTopic]
) -> list[CitanceAndAnswer]:
    """Reduce gold and answer of each pair to one facet.

    Keep the facet with the most spans (contiguous sentences) in the citance. In a tie
    between facets, keep the facet that is most frequent in the gold.
    """
    citances = (
        citance for topic in topics for file in topic.files for citance in file.citances
    )
    counts = Counter(
        facet
        for citance in citances
        for facet in normalise_distinct_facets(citance.facets)
    )
    ranks = {
        facet: rank
        for rank, facet in enumerate(sorted(FACETS, key=lambda facet: -counts[facet]))
    }

    def keep_prevalent_facet(
        annotation: CitanceAnnotation | None,
    ) -> CitanceAnnotation | None:
        if annotation is None or not annotation.facets:
            return annotation
        spans = Counter(normalise_facet(facet) or facet for facet in annotation.facets)
        named = normalise_distinct_facets(annotation.facets)
        first = sorted(
            named, key=lambda facet: (-spans[facet], ranks.get(facet, len(ranks)))
        )[:1]
        return replace(annotation, facets=tuple(first))

    return [
        replace(
            pair,
            gold=keep_prevalent_facet(pair.gold),
            answer=keep_prevalent_facet(pair.answer),
        )
        for pair in pairs
    ]


def pair(split: Split, run: CitanceRun, rules: str, options: Options) -> Pairs:
    """Return one row of gold and answer per decision on a facet. Precision and recall
    of a facet are computed from the rows with this facet.
    """
    pairs, notes = pair_citances(split, run, rules)
    if rules == shared.OFFICIAL_2014:
        pairs = keep_most_frequent_facet_of_pairs(pairs, split.content)
    rows = [
        (pair, *decision)
        for pair in pairs
        for decision in iterate_facet_decisions(pair, rules)
    ]
    facets = [gold or answer.facet or "" for _, gold, answer in rows]
    return Pairs(
        gold=[gold for _, gold, _ in rows],
        answers=[answer for _, _, answer in rows],
        units=[pair.topic.name for pair, _, _ in rows],
        features={
            **classify_pairs([pair for pair, _, _ in rows]),
            "facet": [(normalise_facet(facet) or facet or "None",) for facet in facets],
        },
        names=[pair.citance_label for pair, _, _ in rows],
        answered=[pair.answer is not None for pair, _, _ in rows],
        notes=notes,
    )


def read_run(
    files: Files, index: Index, options: Options
) -> tuple[CitanceRun, list[Problem]]:
    """Return the answers of a run to citances. Runs of tasks 1A and 1B have the same
    form.
    """
    run, problems = runs.read_run(files, index, options)
    answers = [answer for answer in run.answers if has_reference_sentence(answer)]
    without = [
        answer for answer in answers if not normalise_distinct_facets(answer.facets)
    ]
    if 0 < len(without) < len(answers) and not select_fatal_problems(problems):
        message = f"{len(without):,} answers do not name a facet, and without one an answer counts as wrong"
        problems.append(
            Problem(
                message=message,
                expected=f"one of {', '.join(FACETS)} in each",
                fatal=False,
            )
        )
    return run, problems


def filled(run: CitanceRun, index: Index) -> Iterator[bool]:
    """For each answer to a citance of the split, yield True if the answer contains a
    known facet.
    """
    for answer, _ in runs.iterate_answers_to_citances(run, index):
        yield any(facet in FACETS for facet in normalise_distinct_facets(answer.facets))


def further_metrics(rules: str, options: Options) -> shared.MetricRefs:
    """Return the calibration metrics that the option ``calibration`` adds."""
    return (
        CALIBRATION_METRICS
        if rules == CORRECTED and options[shared.CALIBRATION_OPTION.name] == "yes"
        else ()
    )


TASK_TYPE = replace(
    clsumm_1a.TASK_TYPE,
    slug="clsumm-1b",
    title="CL-Summ 1B: discourse facets",
    rules={
        CORRECTED: (
            *CONDITIONAL_FACET_METRICS,
            *UNCONDITIONAL_FACET_METRICS,
            WEIGHTED_FACET_METRIC,
            UNCONDITIONAL_WEIGHTED_FACET_METRIC,
        ),
        shared.OFFICIAL_2014: (
            UNCONDITIONAL_WEIGHTED_FACET_METRIC,
            *UNCONDITIONAL_FACET_METRICS,
        ),
        shared.OFFICIAL_2016: CONDITIONAL_FACET_METRICS + UNCONDITIONAL_FACET_METRICS,
        shared.OFFICIAL_2017: CONDITIONAL_FACET_METRICS + UNCONDITIONAL_FACET_METRICS,
        shared.OFFICIAL_2018: CONDITIONAL_FACET_METRICS + UNCONDITIONAL_FACET_METRICS,
    },
    baselines=(
        *clsumm_1a.TASK_TYPE.baselines,
        "scoring.tools.baselines.clsumm_facets:BASELINES",
        "scoring.papers.clsumm_literal:FACETS",
    ),
    main_metrics=(
        "facet_f1_micro",
        "facet_precision_micro",
        "facet_recall_micro",
        "facet_f1_macro",
        "facet_f1_weighted",
    ),
    label_dimensions=("facet",),
    read_run=read_run,
    filled=filled,
    accepts=contains_facet_answers,
    pair=pair,
    options=(
        shared.ANNOTATION_OPTION,
        shared.CALIBRATION_OPTION,
        shared.OVER_LIMIT_OPTION,
    ),
    further_metrics=further_metrics,
    show_instances=show_facets_of_citances,
    drawn_as=LABELS_VIEW,
    part_of_row=get_facet_or_empty,
    trivial_runs=make_trivial_facet_runs,
)
