"""In CL-Summ task 1B, systems determine the discourse facet of the cited sentences, if
their answers to task 1A are right.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tasks.types import clsumm_1a
from tasks.types.base import CORRECTED, LABELS, Index, Options, Pairs, Split
from tasks.types.clsumm import options as shared, runs
from tasks.types.clsumm.citances import (
    FACETS,
    Annotation,
    canonical_facet,
    has_reference,
    merged_facets,
)
from tasks.types.clsumm.pairs import (
    CitancePair,
    classes_of,
    facet_of,
    pair_citances,
    show_facets,
)
from tasks.types.clsumm.runs import Run, accepts_facets
from tasks.types.clsumm.topics import Topic
from tasks.types.clsumm.trivial import facet_runs
from tasks.types.files import Files
from tasks.types.probabilities import Probabilities
from tasks.types.problems import Problem, fatal
from tasks.types.references import metric_ref, metric_refs

#: Conditional facet metrics only count answers with a correct sentence in task 1A.
#: All other facet metrics count all answers.
FACET, WEIGHTED_FACET = "clsumm:Facet", "clsumm:WeightedFacet"
COUNTS = (
    *metric_refs("facet_{}_micro", FACET, average="micro", is_conditional=True),
    *metric_refs("facet_{}_macro", FACET, average="macro", is_conditional=True),
)
UNCONDITIONAL = metric_refs(
    "facet_{}_micro_unconditional", FACET, average="micro", is_conditional=False
)
WEIGHTED = metric_ref("facet_f1_weighted", WEIGHTED_FACET, is_conditional=True)
WEIGHTED_UNCONDITIONAL = metric_ref(
    "facet_f1_weighted_unconditional", WEIGHTED_FACET, is_conditional=False
)
#: `_CALIBRATION_METRICS` contains the metrics that the option ``calibration`` adds.
_CALIBRATION_METRICS = {
    "brier_score": "Brier",
    "ece": "CalibrationError",
    "ece_debiased": "DebiasedCalibrationError",
}
CALIBRATED = tuple(
    metric_ref(name, f"calibration:{by}", labels=FACETS)
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
    probabilities: Probabilities | None = None


def decisions(
    pair: CitancePair, rules: str
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
    annotation: Annotation | None, rules: str
) -> tuple[str, ...]:
    facets = annotation.facets if annotation else ()
    return (
        merged_facets(facets) if rules in (CORRECTED, shared.OFFICIAL_2014) else facets
    )


def prevalent_only(
    pairs: Sequence[CitancePair], topics: Sequence[Topic]
) -> list[CitancePair]:
    """Reduce gold and answer of each pair to one facet.

    Keep the facet with the most spans (contiguous sentences) in the citance. In a tie
    between facets, keep the facet that is most frequent in the gold.
    """
    citances = (
        citance for topic in topics for file in topic.files for citance in file.citances
    )
    counts = Counter(
        facet for citance in citances for facet in merged_facets(citance.facets)
    )
    ranks = {
        facet: rank
        for rank, facet in enumerate(sorted(FACETS, key=lambda facet: -counts[facet]))
    }

    def keep_prevalent_facet(annotation: Annotation | None) -> Annotation | None:
        if annotation is None or not annotation.facets:
            return annotation
        spans = Counter(canonical_facet(facet) or facet for facet in annotation.facets)
        named = merged_facets(annotation.facets)
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


def pair(split: Split, run: Run, rules: str, options: Options) -> Pairs:
    """Return one row of gold and answer per decision on a facet. Precision and recall
    of a facet are computed from the rows with this facet.
    """
    pairs, notes = pair_citances(split, run, rules)
    if rules == shared.OFFICIAL_2014:
        pairs = prevalent_only(pairs, split.content)
    rows = [(pair, *decision) for pair in pairs for decision in decisions(pair, rules)]
    facets = [gold or answer.facet or "" for _, gold, answer in rows]
    return Pairs(
        gold=[gold for _, gold, _ in rows],
        answers=[answer for _, _, answer in rows],
        units=[pair.topic.name for pair, _, _ in rows],
        features={
            **classes_of([pair for pair, _, _ in rows]),
            "facet": [(canonical_facet(facet) or facet or "None",) for facet in facets],
        },
        names=[pair.citance for pair, _, _ in rows],
        answered=[pair.answer is not None for pair, _, _ in rows],
        notes=notes,
    )


def read_run(files: Files, index: Index, options: Options) -> tuple[Run, list[Problem]]:
    """Return the answers of a run to citances. Runs of tasks 1A and 1B have the same
    form.
    """
    run, problems = runs.read_run(files, index, options)
    answers = [answer for answer in run.answers if has_reference(answer)]
    without = [answer for answer in answers if not merged_facets(answer.facets)]
    if 0 < len(without) < len(answers) and not fatal(problems):
        message = f"{len(without):,} answers do not name a facet, and without one an answer counts as wrong"
        problems.append(
            Problem(
                message=message,
                expected=f"one of {', '.join(FACETS)} in each",
                fatal=False,
            )
        )
    return run, problems


def filled(run: Run, index: Index) -> Iterator[bool]:
    """For each answer to a citance of the split, yield True if the answer contains a
    known facet.
    """
    for answer, _ in runs.answers_to_citances(run, index):
        yield any(facet in FACETS for facet in merged_facets(answer.facets))


def further_metrics(rules: str, options: Options) -> shared.MetricRefs:
    """Return the calibration metrics that the option ``calibration`` adds."""
    return (
        CALIBRATED
        if rules == CORRECTED and options[shared.CALIBRATION.name] == "yes"
        else ()
    )


TASK_TYPE = replace(
    clsumm_1a.TASK_TYPE,
    slug="clsumm-1b",
    title="CL-Summ 1B: discourse facets",
    rules={
        CORRECTED: (*COUNTS, *UNCONDITIONAL, WEIGHTED, WEIGHTED_UNCONDITIONAL),
        shared.OFFICIAL_2014: (WEIGHTED_UNCONDITIONAL, *UNCONDITIONAL),
        shared.OFFICIAL_2016: COUNTS + UNCONDITIONAL,
        shared.OFFICIAL_2017: COUNTS + UNCONDITIONAL,
        shared.OFFICIAL_2018: COUNTS + UNCONDITIONAL,
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
    accepts=accepts_facets,
    pair=pair,
    options=(shared.ANNOTATION, shared.CALIBRATION, shared.OVER_LIMIT),
    further_metrics=further_metrics,
    show_instances=show_facets,
    drawn_as=LABELS,
    part_of_row=facet_of,
    trivial_runs=facet_runs,
)
