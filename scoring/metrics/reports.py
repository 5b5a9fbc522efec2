"""Metrics of cited reports, which score nuggets, citations, and properties that need no
human judgements.

The official rules for nuggets follow castorini's nuggetizer. The official rules for
citations average over the topics that a run answers. Under the corrected rules, every
topic with judgements counts, and a topic without a report scores 0.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.metrics.base import (
    Floats,
    MeanMetric,
    Metric,
    Parameters,
    UnitColumns,
    compute_harmonic_mean,
    quotient,
)
from tasks.types.base import Options, is_official_rule_set
from tasks.types.cited_reports.checks import count_words_or_characters
from tasks.types.cited_reports.judgements import (
    ASSIGNS_KIND,
    SUPPORTS_KIND,
    JudgementKey,
)
from tasks.types.cited_reports.options import (
    ASSIGNMENTS_OPTION,
    SUPPORTS_OPTION,
    get_ledger_judge_name,
    has_ledger_labels,
    max_citations,
    parse_accepted_categories,
)
from tasks.types.cited_reports.pairing import (
    MISSING_JUDGEMENT,
    JudgedCitation,
    JudgedNugget,
    JudgedReport,
)
from tasks.types.cited_reports.topics import NuggetOfTopic, ReportTopic
from tasks.types.problems import SoftwareUnavailable

NUGGETS_CITATION = (
    "Pradeep et al. 2025, The Great Nugget Recall: Automating Fact Extraction and RAG "
    "Evaluation with Large Language Models, SIGIR"
)
SUPPORT_CITATION = (
    "Thakur et al. 2025, Support Evaluation for the TREC 2024 RAG Track: Comparing "
    "Human versus LLM Judges, SIGIR"
)
VITAL_NUGGETS, ALL_NUGGETS = "vital", "all"


class NuggetScore(Metric):
    """The mean over topics of the mean credit of a topic's nuggets, or of its vital
    nuggets only.

    A supported nugget has credit 1, and a partially supported nugget has credit .5, or
    0 if ``is_strict``. A nugget without a valid label by the judge does not count.
    Under official rules, the topics for which the run has nugget assignments count.
    Under official rules, a topic without (vital) nuggets scores 0. Under corrected
    rules, only topics with (vital) nuggets count. Under corrected rules, a topic
    without a report scores 0. The value is NaN if a nugget assignment is missing. In
    results for classes of nuggets, each nugget has the weight 1 / number of nuggets of
    the topic.
    """

    statistic = "nuggets"
    shape = "mean"
    citation = NUGGETS_CITATION
    labels_kind = ASSIGNS_KIND
    #: A scope is either all nuggets of a topic or only the vital nuggets.
    #: Each scope has columns for credit, strict credit, weight and missing assignments.
    #: Credits and weight are divided by the topic's number of nuggets in the scope.
    columns = {VITAL_NUGGETS: (0, 1, 2, 3), ALL_NUGGETS: (4, 5, 6, 7)}

    def __init__(
        self, name: str, rules: str, *, scope: str, is_strict: bool, options: Options
    ) -> None:
        super().__init__(name, rules)
        self.scope, self.is_strict = scope, is_strict
        self.options = options
        self.judge = get_ledger_judge_name(options, ASSIGNMENTS_OPTION.name)

    @property
    def parameters(self) -> Parameters:
        judge = {ASSIGNMENTS_OPTION.name: self.judge} if self.judge else {}
        return {**super().parameters, **judge}

    def labels_used(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Mapping[JudgementKey, bool | str] | None:
        if not self.judge:
            return None
        nuggets = (answer for answer in answers if isinstance(answer, JudgedNugget))
        return {
            _convert_to_hexadecimal(key): label
            for nugget in nuggets
            for key, label in zip(nugget.keys, nugget.labels, strict=True)
            if key
        }

    @property
    def unit_columns(self) -> UnitColumns:
        credit, strict, weight, missing = self.columns[self.scope]
        value = strict if self.is_strict else credit
        return UnitColumns("nuggets", value, weight, missing)

    def instance_stats(
        self, gold: Sequence[ReportTopic | NuggetOfTopic], answers: Sequence[Any]
    ) -> Floats:
        _refuse_site_labels(self.options, ASSIGNMENTS_OPTION.name)
        has_any = bool(self.judge) or any(
            answer.is_assigned for answer in answers if answer is not None
        )
        rows = np.zeros((len(answers), 8))
        for row, (own, answer) in enumerate(zip(gold, answers, strict=True)):
            if isinstance(own, NuggetOfTopic):
                rows[row] = self._build_nugget_row(own, answer, has_any=has_any)
            elif is_official_rule_set(self.rules) and answer and answer.is_assigned:
                rows[row, 2] = not own.vital_nugget_count
                rows[row, 6] = not own.nuggets
        return rows

    def _build_nugget_row(
        self, gold: NuggetOfTopic, answer: JudgedNugget | None, *, has_any: bool
    ) -> list[float]:
        if is_official_rule_set(self.rules) and not (answer and answer.is_assigned):
            return [0.0] * 8
        earned, unknown = (0.0, 0.0), float(not has_any)
        of_vital, of_all = gold.topic.vital_nugget_count, len(gold.topic.nuggets or ())
        if answer:
            if answer.has_no_valid_label:
                return [0.0] * 8
            earned = answer.credit(), answer.credit(is_strict=True)
            of_vital, of_all = answer.of_vital, answer.of_all
            unknown = float(answer.has_missing_judgement)
        shares = [*(credit / of_all for credit in earned), 1 / of_all, unknown]
        if not gold.nugget.is_vital:
            return [0.0] * 4 + shares
        return [
            *(credit / of_vital for credit in earned),
            1 / of_vital,
            unknown,
            *shares,
        ]

    def denominators(self, rows: Floats) -> Floats:
        return rows[:, self.columns[self.scope][2]]

    def instances(self, stats: Floats, has_gold: NDArray[np.bool_]) -> int:
        """Return the number of nuggets that count in the metric's value."""
        return int((stats[:, self.columns[self.scope][2]] > 0).sum())

    def aggregate(self, sums: Floats) -> Floats:
        credit, strict, weight, unknown = self.columns[self.scope]
        value = quotient(
            sums[..., strict if self.is_strict else credit], sums[..., weight]
        )
        return np.where(sums[..., unknown] > 0, np.nan, value)


#: The columns of the matrix of citation scores.
(
    PRECISION_COLUMN,
    STRICT_PRECISION_COLUMN,
    PRECISION_WEIGHT_COLUMN,
    RECALL_COLUMN,
    STRICT_RECALL_COLUMN,
    RECALL_WEIGHT_COLUMN,
    F1_COLUMN,
    F1_WEIGHT_COLUMN,
    UNKNOWN_LABELS_COLUMN,
    COUNTED_COLUMN,
) = range(10)
_COLUMNS_BY_PART = {
    ("precision", False): (PRECISION_COLUMN, PRECISION_WEIGHT_COLUMN),
    ("precision", True): (STRICT_PRECISION_COLUMN, PRECISION_WEIGHT_COLUMN),
    ("recall", False): (RECALL_COLUMN, RECALL_WEIGHT_COLUMN),
    ("recall", True): (STRICT_RECALL_COLUMN, RECALL_WEIGHT_COLUMN),
    ("f1", False): (F1_COLUMN, F1_WEIGHT_COLUMN),
}


class CitationScore(Metric):
    """The mean over topics of the mean credit of a topic's citations (precision), or of
    the best citation of each sentence (recall).

    A citation with full support has credit 1, and a citation with partial support has
    credit .5, or 0 if ``is_strict``. Repeated citations of a document in the same
    sentence count once. A citation number without an entry in the report's references
    has credit 0. Blank sentences, citations without a label, and citations of documents
    without text do not count. Official rules count the topics that a run answers. Under
    official rules, a topic without citations has precision 0, and F1 is the harmonic
    mean of mean precision and mean recall. Under corrected rules, the precision of a
    topic without citations is undefined, and the recall of a topic without a report is
    0. F1 is the mean of the topics' F1, which is 0 if no sentence is supported. The
    value is NaN if a support judgement is missing.
    """

    statistic = "citations"
    shape = "mean"
    citation = SUPPORT_CITATION
    counts_by_last_column = True
    labels_kind = SUPPORTS_KIND

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        part: str,
        options: Options,
        is_strict: bool = False,
    ) -> None:
        super().__init__(name, rules)
        self.part, self.is_strict = part, is_strict
        self.options = options
        self.judge = get_ledger_judge_name(options, SUPPORTS_OPTION.name)
        parse_accepted_categories(options)
        limit = max_citations(options)
        self.fixed = {"max_citations": "all" if limit is None else limit}
        if self.is_f1_of_means:
            self.shape = "ratio"

    @property
    def unit_columns(self) -> UnitColumns | None:
        if self.part != "precision":
            return None
        value, weight = _COLUMNS_BY_PART[self.part, self.is_strict]
        return UnitColumns("citations", value, weight, UNKNOWN_LABELS_COLUMN)

    @property
    def parameters(self) -> Parameters:
        judge = {SUPPORTS_OPTION.name: self.judge} if self.judge else {}
        return {**super().parameters, **judge}

    def labels_used(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Mapping[JudgementKey, bool | str] | None:
        if not self.judge:
            return None
        reports = (answer for answer in answers if isinstance(answer, JudgedReport))
        return {
            _convert_to_hexadecimal(citation.key): citation.label
            for report in reports
            for citation in report.citations
            if citation.key and citation.label != MISSING_JUDGEMENT
        }

    @property
    def is_f1_of_means(self) -> bool:
        """Return True if the metric's value is the harmonic mean of mean precision and
        mean recall.
        """
        return self.part == "f1" and is_official_rule_set(self.rules)

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        _refuse_site_labels(self.options, SUPPORTS_OPTION.name)
        has_any = any(
            answer.is_supported
            for answer in answers
            if isinstance(answer, JudgedReport)
        )
        rows = np.zeros((len(answers), 10))
        for row, (own, answer) in enumerate(zip(gold, answers, strict=True)):
            if isinstance(own, ReportTopic):
                rows[row] = self._build_report_row(answer, has_any=has_any)
        return rows

    def _build_report_row(
        self, answer: JudgedReport | None, *, has_any: bool
    ) -> Floats:
        row = np.zeros(10)
        official = is_official_rule_set(self.rules)
        if answer is None or answer.report is None:
            row[[RECALL_WEIGHT_COLUMN, F1_WEIGHT_COLUMN, COUNTED_COLUMN]] = not official
            row[UNKNOWN_LABELS_COLUMN] = not has_any
            return row
        counted = [citation for citation in answer.citations if citation.counts]
        sentences = [
            [citation for citation in sentence.citations if citation.counts]
            for sentence in answer.sentences
            if not sentence.citations
            or any(citation.counts for citation in sentence.citations)
        ]
        if counted:
            row[PRECISION_COLUMN] = _compute_mean([one.credit() for one in counted])
            row[STRICT_PRECISION_COLUMN] = _compute_mean(
                [one.credit(is_strict=True) for one in counted]
            )
        if sentences:
            row[RECALL_COLUMN] = _compute_mean(
                [_find_best_credit(sentence, is_strict=False) for sentence in sentences]
            )
            row[STRICT_RECALL_COLUMN] = _compute_mean(
                [_find_best_credit(sentence, is_strict=True) for sentence in sentences]
            )
        row[F1_COLUMN] = compute_harmonic_mean(
            row[PRECISION_COLUMN], row[RECALL_COLUMN]
        )
        row[PRECISION_WEIGHT_COLUMN] = bool(counted) or (
            official and not answer.citations
        )
        row[[RECALL_WEIGHT_COLUMN, F1_WEIGHT_COLUMN]] = bool(sentences)
        row[UNKNOWN_LABELS_COLUMN] = not has_any or any(
            one.label == MISSING_JUDGEMENT for one in counted
        )
        row[COUNTED_COLUMN] = 1
        return row

    def denominators(self, rows: Floats) -> Floats:
        if self.is_f1_of_means:
            return rows[:, PRECISION_WEIGHT_COLUMN] + rows[:, RECALL_WEIGHT_COLUMN]
        return rows[:, _COLUMNS_BY_PART[self.part, self.is_strict][1]]

    def aggregate(self, sums: Floats) -> Floats:
        if self.is_f1_of_means:
            value = compute_harmonic_mean(
                quotient(
                    sums[..., PRECISION_COLUMN], sums[..., PRECISION_WEIGHT_COLUMN]
                ),
                quotient(sums[..., RECALL_COLUMN], sums[..., RECALL_WEIGHT_COLUMN]),
            )
        else:
            credit, weight = _COLUMNS_BY_PART[self.part, self.is_strict]
            value = quotient(sums[..., credit], sums[..., weight])
        return np.where(sums[..., UNKNOWN_LABELS_COLUMN] > 0, np.nan, value)


def _refuse_site_labels(options: Options, option: str) -> None:
    if has_ledger_labels(options, option):
        raise SoftwareUnavailable(
            f"the labels of {get_ledger_judge_name(options, option)} are kept by a site: "
            f"have its organisers export them, and give the file as {option}=PATH"
        )


def _convert_to_hexadecimal(key: JudgementKey) -> JudgementKey:
    return tuple(digest.partition(":")[2] for digest in key)


def _compute_mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _find_best_credit(citations: Sequence[JudgedCitation], *, is_strict: bool) -> float:
    return max(
        (citation.credit(is_strict=is_strict) for citation in citations), default=0.0
    )


class _ReportMean(MeanMetric):
    """The base class of means over the reports that have at least one sentence."""

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        rows = np.zeros((len(answers), len(self.columns) + 1))
        for row, answer in enumerate(answers):
            if isinstance(answer, JudgedReport) and answer.report is not None:
                rows[row] = (*self.measured(answer), 1.0)
        return rows

    @abstractmethod
    def measured(self, answer: JudgedReport) -> Sequence[float]:
        """Return one report's value for each name in ``columns``."""


class Coverage(_ReportMean):
    """The mean over reports of the share of sentences that cite a document. Blank
    sentences do not count. A citation number without an entry in the report's
    references cites no document.
    """

    statistic = "coverage"
    columns = ("covered",)
    citation = SUPPORT_CITATION

    def measured(self, answer: JudgedReport) -> Sequence[float]:
        covered = [
            any(
                citation.document is not None
                for citation in sentence.sentence.citations
            )
            for sentence in answer.sentences
        ]
        return (_compute_mean(covered),)


class Length(_ReportMean):
    """The mean number of whitespace-separated words of a report, or of its characters
    in NFKC.
    """

    statistic = "report_length"
    shape = "error"
    columns = ("words", "chars")
    scale = 0
    higher_is_better = None
    citation = (
        "The tracks' own limits: trec-rag-skills and the guidelines of RAGTIME 2026"
    )

    @property
    def parameters(self) -> Parameters:
        return {**super().parameters, "counts": self.column}

    def measured(self, answer: JudgedReport) -> Sequence[float]:
        text = answer.report.text if answer.report else ""
        return tuple(
            float(count_words_or_characters(text, unit)) for unit in self.columns
        )
