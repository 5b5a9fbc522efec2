"""CL-Summ task 2: a summary of the reference paper, from the parts of it that are cited."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tasks.types.base import CORRECTED, ENGINE, Option, Options, Pairs, Split, TaskType
from tasks.types.clsumm.instance_view import show_summaries
from tasks.types.clsumm.options import (
    OFFICIAL_2014,
    OFFICIAL_2018,
    PROGRAM,
    STOPWORDS,
    MetricRefs,
    plain_rouge,
    pooled_rouge,
    stopword_notes,
)
from tasks.types.clsumm.runs import accepts_summaries
from tasks.types.clsumm.summaries import (
    COPIED,
    FLAG,
    HUMAN_EVALUATION,
    KINDS,
    MAX_WORDS,
    REFUSE,
    RUN_FORM,
    TRUNCATE,
    Reference,
    SummaryRun,
    SummaryTopic,
    SystemSummary,
    contents,
    copied_share,
    filled,
    prints_of,
    public_files,
    read_gold,
    read_inputs,
    read_run,
)
from tasks.types.clsumm.topics import held_citances, is_topic_file

OVER_LIMIT = Option(
    name="over_limit",
    default=FLAG,
    summary=f"A summary of more than {MAX_WORDS} words is refused or flagged, or by corrected rules cut.",
    choices=(FLAG, TRUNCATE, REFUSE),
)
RANGE = Option(
    name="annotator_range",
    default="no",
    summary="Also what the official value would be, had the directory listing ended with the annotator who "
    "gives the least or the most.",
    choices=("no", "yes"),
)
_TAG = re.compile(rb"<[^>]*>")
CORRECTED_METRICS = tuple(
    metric
    for measure in ("2", "1", "l", "su4")
    for kind in ("", *KINDS)
    for metric in plain_rouge(measure, order="document", parts=["f1"], kind=kind, options=(OVER_LIMIT.name,))
)
PILOT_METRICS = tuple(
    metric for kind in (*KINDS, "") for metric in plain_rouge("l", order="listed", parts=["f1"], kind=kind)
)
OFFICIAL_METRICS = tuple(
    metric for measure in ("2", "su_star") for kind in (*KINDS, "") for metric in pooled_rouge(measure, kind)
)


@dataclass(frozen=True)
class SummaryLines:
    """A system's summary as the lines that ROUGE reads."""

    lines: Sequence[bytes]


@dataclass(frozen=True)
class GoldSummaries:
    """What a summary is compared with: references by kind, each as the lines that ROUGE reads."""

    references: Sequence[tuple[str, Sequence[bytes]]]

    def of_kind(self, kind: str | None) -> list[Sequence[bytes]]:
        """The references of a kind, all for None, in the order of their files' names."""
        return [lines for which, lines in self.references if kind in (None, which)]


def gold_summaries(topic: SummaryTopic, rules: str, options: Options) -> GoldSummaries:
    """The official program reads the files as they are; other rules read their sentences."""

    def lines(reference: Reference) -> Sequence[bytes]:
        if rules != OFFICIAL_2018:
            return [line.encode() for line in reference.lines]
        raw = _TAG.sub(b" ", reference.raw) if options["program"] == "python3" else reference.raw
        return raw.split(b"\n")

    return GoldSummaries([(reference.kind, lines(reference)) for reference in topic.references])


def summary_answer(summary: SystemSummary, rules: str, options: Options) -> SummaryLines:
    if rules == OFFICIAL_2018:
        return SummaryLines(summary.raw.split(b"\n"))
    cut = rules == CORRECTED and options["over_limit"] == TRUNCATE
    lines = summary.first_words if cut else summary.lines
    return SummaryLines([line.encode() for line in lines])


def pair(split: Split, run: SummaryRun, rules: str, options: Options) -> Pairs:
    """One row a topic; under the official program only the topics that the run has."""
    topics: Sequence[SummaryTopic] = split.content
    gold_names = {topic.name for topic in topics}
    notes = {
        "missing_topics": len(gold_names - run.summaries.keys()),
        "answers_to_other_topics": len(run.summaries.keys() - gold_names),
        "empty_summaries": 0,
        "over_the_limit": 0,
        "copies_of_the_abstract": 0,
    }
    if rules == OFFICIAL_2018:
        topics = [topic for topic in topics if topic.name in run.summaries]
    names = [topic.name for topic in topics]
    summaries = [run.summaries.get(name) for name in names]
    for topic, summary in zip(topics, summaries, strict=True):
        if summary is not None:
            notes["empty_summaries"] += not summary.words
            notes["over_the_limit"] += summary.words > MAX_WORDS
            # Of the gold's abstract, whatever the paper's own is.
            prints = prints_of(summary.lines)
            abstracts = (prints_of(reference.lines) for reference in topic.of_kind("abstract"))
            copied = any(copied_share(prints, abstract) >= COPIED for abstract in abstracts)
            notes["copies_of_the_abstract"] += copied
    return Pairs(
        gold=[gold_summaries(topic, rules, options) for topic in topics],
        answers=[summary and summary_answer(summary, rules, options) for summary in summaries],
        units=names,
        features={"topic": [(name,) for name in names]},
        names=names,
        notes={**notes, **stopword_notes(rules, options)},
    )


def _range_metrics(rules: str, options: Options) -> MetricRefs:
    if rules != OFFICIAL_2018 or options[RANGE.name] == "no":
        return ()
    return tuple(
        metric
        for measure in ("2", "su_star")
        for kind in KINDS[1:]
        for end in ("least", "most")
        for metric in pooled_rouge(measure, kind, parts=["f1"], end=end)
    )


TASK_TYPE = TaskType(
    slug="clsumm-2",
    title="CL-Summ 2: summaries of the reference paper",
    unit="topic",
    rules={CORRECTED: CORRECTED_METRICS, OFFICIAL_2014: PILOT_METRICS, OFFICIAL_2018: OFFICIAL_METRICS},
    baselines=(
        "scoring.tools.baselines.clsumm:SUMMARIES",
        "scoring.papers.clsumm_literal:SUMMARIES",
    ),
    main_metrics=(
        "rouge_2_f1",
        "rouge_2_f1.abstract",
        "rouge_2_f1.community",
        "rouge_2_f1.human",
        "rouge_l_f1",
        "rouge_su4_f1",
        "rouge_su_star_f1",
    ),
    dimensions=("topic",),
    read_gold=read_gold,
    read_inputs=read_inputs,
    read_run=read_run,
    filled=filled,
    run_form=RUN_FORM,
    accepts=accepts_summaries,
    pair=pair,
    public_files=public_files,
    is_gold_file=is_topic_file,
    options=(OVER_LIMIT, STOPWORDS, PROGRAM, RANGE, ENGINE),
    further_metrics=_range_metrics,
    show_instances=show_summaries,
    contents=contents,
    also_holds=held_citances,
    human_evaluation=HUMAN_EVALUATION,
)
