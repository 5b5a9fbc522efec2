"""The base class of the citation metrics of ALiiCE and ALCE, and two metrics for the
share of sentences that a premise entails.

A matrix row contains the contribution of one claim to the mean over responses, and the
claim's weight. The value for a class of claims is computed from the sum of the class's
rows.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scoring.metrics.answers import ALCE
from scoring.metrics.base import (
    Floats,
    Metric,
    Parameters,
    Requirement,
    compute_harmonic_mean,
    quotient,
)
from scoring.metrics.entailment import (
    CitedClaim,
    ClaimVerdict,
    EntailmentJudge,
    RecordingJudge,
    build_entailment_judge,
    decide_claims,
    format_passage,
    list_judge_requirements,
)
from tasks.types.base import OFFICIAL, Options
from tasks.types.citation_text.instances import (
    CitationTextInstance,
    PredictedCitationText,
)
from tasks.types.positional_citations.options import (
    LABEL_FILE_SOURCE,
    MODEL_SOURCE,
    choose_splitter,
    parse_entailment_source,
)
from tasks.types.positional_citations.questions import (
    AnswerRow,
    QuestionWithPassages,
    WholeAnswerRow,
)
from tasks.types.positional_citations.sentences import (
    SENTENCE_SPLITTERS_BY_NAME,
    get_first_line,
    make_splitter_name,
    remove_marks_like_alce,
    split_into_claim_sentences,
)

RECALL, PRECISION, F1 = "recall", "precision", "f1"
#: The matrix columns `recall` and `precision_per_claim` share one weight column.
CLAIM_MATRIX_COLUMNS = (
    "recall",
    "recall_weight",
    "precision",
    "precision_weight",
    "precision_per_claim",
    "pending_claims",
    "pending_pairs",
)
COLUMN_INDEX_BY_NAME = {name: index for index, name in enumerate(CLAIM_MATRIX_COLUMNS)}
#: The metric `Consistency` splits citation texts by the splitter with this name.
CONSISTENCY_SPLITTER = "rules"


class CitationMetric(Metric):
    """The base class of citation recall, precision and F1, computed from entailment
    labels.

    The value is undefined (NaN) if no response counts or if an entailment label is
    missing. Citation recall needs only the entailment labels of whole claims. Official
    rules interpret citation marks as the released programs do. Raises OptionRefused if
    the options name no source of entailment labels.
    """

    shape = "ratio"
    own_version = 2
    compares_texts = True
    scale = 100

    def __init__(
        self,
        name: str,
        rules: str,
        *,
        part: str,
        options: Options,
        per_claim: bool = False,
    ) -> None:
        super().__init__(name, rules)
        self.options, self.part, self.per_claim = options, part, per_claim
        self.is_official = rules == OFFICIAL
        parse_entailment_source(options)

    @property
    def judge(self) -> EntailmentJudge:
        return build_entailment_judge(self.options)

    @property
    def parameters(self) -> Parameters:
        per = (
            {}
            if self.part == RECALL
            else {"precision": "per-claim" if self.per_claim else "per-mark"}
        )
        splitter = make_splitter_name(
            choose_splitter(self.options, is_official=self.is_official),
            is_official=self.is_official,
        )
        return {
            "entailment": self.judge.name,
            "splitter": splitter,
            **per,
            **self.fixed,
        }

    @property
    def needs_model(self) -> bool:
        return parse_entailment_source(self.options)[0] == MODEL_SOURCE

    def requirements(self) -> Sequence[Requirement]:
        return list_judge_requirements(self.options)

    @abstractmethod
    def build_cases(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> list[CitedClaim]:
        """Return the claims with passages that the entailment judge decides, in the
        order of the matrix rows.
        """

    def labels_used(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> Mapping[tuple[str, ...], bool] | None:
        if parse_entailment_source(self.options)[0] != LABEL_FILE_SOURCE:
            return None
        watched = RecordingJudge(self.judge)
        decide_claims(self.build_cases(gold, answers), watched)
        return {
            pair.key: answer
            for pair, answer in watched.answers.items()
            if answer is not None
        }

    def notes(self, stats: Floats) -> Mapping[str, int]:
        return {
            f"pending_pairs_{self.statistic}": int(
                stats[:, COLUMN_INDEX_BY_NAME["pending_pairs"]].sum()
            )
        }

    def denominators(self, rows: Floats) -> Floats:
        recall, precision = (
            rows[:, COLUMN_INDEX_BY_NAME["recall_weight"]],
            rows[:, COLUMN_INDEX_BY_NAME["precision_weight"]],
        )
        if self.part == RECALL or self.per_claim:
            return recall
        return precision if self.part == PRECISION else recall + precision

    def aggregate(self, sums: Floats) -> Floats:
        column = {
            name: sums[..., place] for name, place in COLUMN_INDEX_BY_NAME.items()
        }
        recall = quotient(column["recall"], column["recall_weight"])
        recall = np.where(column["pending_claims"] > 0, np.nan, recall)
        if self.part == RECALL:
            return self.scale * recall
        if self.per_claim:
            precision = quotient(column["precision_per_claim"], column["recall_weight"])
        else:
            precision = quotient(column["precision"], column["precision_weight"])
        precision = np.where(column["pending_pairs"] > 0, np.nan, precision)
        return self.scale * (
            precision
            if self.part == PRECISION
            else compute_harmonic_mean(precision, recall)
        )


def build_case(
    question: QuestionWithPassages, hypothesis: str, marks: Iterable[int]
) -> CitedClaim:
    """Return the claim and the cited passages that the entailment judge gets. As in
    released programs, citation mark 0 refers to the last passage (index -1).
    """
    return CitedClaim(
        hypothesis, tuple(format_passage(question.passages[mark - 1]) for mark in marks)
    )


def build_claim_row(
    verdict: ClaimVerdict, *, claims: int, marks: int
) -> dict[str, float]:
    """Return the values of one claim of a response for the columns of the matrix."""
    of_claim = len(verdict.credits)
    return {
        "recall": (verdict.entailed is True) / claims,
        "recall_weight": 1 / claims,
        "precision": verdict.credit / marks,
        "precision_weight": of_claim / marks,
        "precision_per_claim": verdict.credit / of_claim / claims,
        "pending_claims": verdict.entailed is None,
        "pending_pairs": len(verdict.pending),
    }


def build_claim_matrix(rows: Sequence[Mapping[str, float]]) -> Floats:
    """Return the claims' rows as a matrix with the columns ``CLAIM_MATRIX_COLUMNS``. Missing values
    are 0.
    """
    ordered = [[row.get(name, 0.0) for name in CLAIM_MATRIX_COLUMNS] for row in rows]
    return np.array(ordered, float).reshape(-1, len(CLAIM_MATRIX_COLUMNS))


def describe_claim(
    text: str, marks: Sequence[int], verdict: ClaimVerdict | None
) -> dict[str, Any]:
    """Return the JSON description of a claim for pages. A claim without citation marks,
    or with an invalid mark, has no verdict.
    """
    return {
        "text": text,
        "marks": list(marks),
        "counts": verdict is not None,
        "entailed": verdict.entailed if verdict else None,
        "credits": list(verdict.credits) if verdict else [],
        "alone": list(verdict.alone) if verdict else [],
        "others": list(verdict.others) if verdict else [],
    }


class ShareEntailed(CitationMetric):
    """The mean share of sentences that a premise entails. Each row of the metric's
    matrix represents one premise and several sentences.
    """

    @property
    def parameters(self) -> Parameters:
        return {"entailment": self.judge.name, **self.fixed}

    @abstractmethod
    def asked(self, gold: Any, answer: Any) -> list[CitedClaim]:
        """Return the pairs of premises and hypotheses that the entailment judge decides
        for one matrix row.
        """

    @abstractmethod
    def size(self, gold: Any, sentences: int) -> int | None:
        """Return the number of sentences of a matrix row, which is the denominator of
        the row's share, or None if the row does not count.
        """

    def build_cases(
        self, gold: Sequence[Any], answers: Sequence[Any]
    ) -> list[CitedClaim]:
        return [
            case
            for pair in zip(gold, answers, strict=True)
            for case in self.asked(*pair)
        ]

    def instance_stats(self, gold: Sequence[Any], answers: Sequence[Any]) -> Floats:
        verdicts = iter(decide_claims(self.build_cases(gold, answers), self.judge))
        rows: list[Mapping[str, float]] = []
        for pair in zip(gold, answers, strict=True):
            labels = [next(verdicts).entailed for _ in self.asked(*pair)]
            size, pending = self.size(pair[0], len(labels)), labels.count(None)
            counted = {
                "recall": labels.count(True) / max(size or 0, 1),
                "recall_weight": 1.0,
            }
            rows.append(
                {}
                if size is None
                else {**counted, "pending_claims": pending, "pending_pairs": pending}
            )
        return build_claim_matrix(rows)


class ClaimRecall(ShareEntailed):
    """The mean over questions of the share of a question's gold claims that the run's
    answer entails. The premise is the answer without citation marks, or only its first
    line under official rules. The hypothesis is a gold claim. An empty or missing
    answer entails nothing. Questions without claims do not count.
    """

    statistic = "claim_recall"
    citation = ALCE

    def asked(
        self, gold: QuestionWithPassages | None, answer: AnswerRow | None
    ) -> list[CitedClaim]:
        if not isinstance(answer, WholeAnswerRow):
            return []
        premise = get_first_line(answer.plain) if self.is_official else answer.plain
        if not (premise := premise.strip()):
            return []
        return [CitedClaim(claim, (premise,)) for claim in answer.question.claims]

    def size(self, gold: QuestionWithPassages | None, sentences: int) -> int | None:
        return len(gold.claims) if gold and gold.claims else None


class Consistency(ShareEntailed):
    """The mean over instances of the share of a text's sentences that the cited
    abstracts entail. The premise is the concatenation of all cited abstracts, one per
    line. The hypothesis is a sentence of the text without citation marks. Sentences
    without a letter or digit are ignored. Empty and missing texts score 0. The value is
    undefined if an entailment label is missing.
    """

    statistic = "consistency"
    citation = (
        "Maynez et al. 2020, On Faithfulness and Factuality in Abstractive Summarization, ACL; labels as in "
        "Honovich et al. 2022, TRUE: Re-evaluating Factual Consistency Evaluation, NAACL"
    )

    @property
    def parameters(self) -> Parameters:
        return {
            **super().parameters,
            "premise": "cited abstracts",
            "sentences": make_splitter_name(
                CONSISTENCY_SPLITTER, is_official=self.is_official
            ),
        }

    def asked(
        self, gold: CitationTextInstance | None, answer: PredictedCitationText | None
    ) -> list[CitedClaim]:
        if gold is None or answer is None:
            return []
        abstracts = self.normalise_texts(gold.cited_abstracts)
        premise = "\n".join(abstract.strip() for abstract in abstracts)
        split = (
            SENTENCE_SPLITTERS_BY_NAME[CONSISTENCY_SPLITTER]
            if self.is_official
            else split_into_claim_sentences
        )
        sentences = (
            remove_marks_like_alce(sentence).strip()
            for sentence in split(self.normalise_text(answer.text))
        )
        return [
            CitedClaim(text, (premise,))
            for text in sentences
            if any(map(str.isalnum, text))
        ]

    def size(self, gold: CitationTextInstance | None, sentences: int) -> int | None:
        return None if gold is None else sentences
