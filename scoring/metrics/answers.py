"""Metrics of an answer's correctness, length and similarity to the gold, and of the
positions of its citation marks.

Exact match and ROUGE-Lsum are computed on answers without citation marks, as in ALCE
(EMNLP 2023).
"""

import math
import re
import string
from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence

import numpy as np

from scoring.metrics.base import (
    Floats,
    MeanMetric,
    Metric,
    Parameters,
    compute_deviation,
    compute_harmonic_mean,
    quotient,
)
from scoring.metrics.mauve import Mauve
from scoring.metrics.rouge import (
    Rouge,
    compute_package_rouge,
    compute_rouge,
    encode_tokens_as_ascii,
    tokenize_for_rouge,
)
from tasks.types.base import TOKENIZER, Options, is_official_rule_set
from tasks.types.positional_citations.options import choose_splitter
from tasks.types.positional_citations.questions import (
    AnswerRow,
    CitedSentenceRow,
    QuestionWithPassages,
    WholeAnswerRow,
)
from tasks.types.positional_citations.sentences import (
    SENTENCE_SPLITTERS_BY_NAME,
    get_first_line,
    make_splitter_name,
    split_into_sentences_and_headings,
)

ALCE = "Gao et al. 2023, Enabling Large Language Models to Generate Text with Citations, EMNLP"
ALIICE_CITATION = "Xu et al. 2025, ALiiCE: Evaluating Positional Fine-grained Citation Generation, NAACL"
#: MAUVE uses this number of words from the start of each text.
MAX_MAUVE_ANSWER_WORDS = 100
#: Variances below this multiple of the squared mean are rounding errors.
_RELATIVE_ROUNDING_ERROR = 1e-13
_ARTICLE_PATTERN = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION_REMOVAL_TABLE = str.maketrans("", "", string.punctuation)


def normalise_answer(text: str) -> str:
    """Return an answer's text in lower case, without punctuation and articles, with
    single spaces.
    """
    return " ".join(
        _ARTICLE_PATTERN.sub(
            " ", text.lower().translate(_PUNCTUATION_REMOVAL_TABLE)
        ).split()
    )


def _extract_plain_answer(answer: object) -> str:
    return answer.plain if isinstance(answer, WholeAnswerRow) else ""


class AnswerMetric(MeanMetric):
    """The base class of metrics that average a measure of answers over responses.
    Matrix rows of claims and sentences do not influence the mean. A missing answer
    counts as an empty answer.
    """

    own_version = 2
    compares_texts = True

    def instance_stats(
        self,
        gold: Sequence[QuestionWithPassages | None],
        answers: Sequence[AnswerRow | None],
    ) -> Floats:
        nothing = (0.0,) * (len(self.columns) + 1)
        rows = [
            (*self.measured(question, answer), 1.0)
            if question and self.applies_to_question(question)
            else nothing
            for question, answer in zip(gold, answers, strict=True)
        ]
        return np.array(rows, float).reshape(-1, len(nothing))

    def applies_to_question(self, question: QuestionWithPassages) -> bool:
        return True

    @abstractmethod
    def measured(
        self, question: QuestionWithPassages, answer: AnswerRow | None
    ) -> Sequence[float]:
        """Return one response's value for each name in ``columns``."""


class ExactMatch(AnswerMetric):
    """The share of a question's short gold answers that occur in the run's answer in
    any accepted spelling. In the strict form, the value is 1 if all short answers
    occur, else 0.

    Punctuation, articles and case are ignored in gold and answer. Questions without
    short answers do not count.
    """

    statistic = "exact_match"
    columns = ("recall", "all")
    scale = 100
    citation = ALCE

    def applies_to_question(self, question: QuestionWithPassages) -> bool:
        return bool(question.short_answers)

    def measured(
        self, question: QuestionWithPassages, answer: AnswerRow | None
    ) -> Sequence[float]:
        plain = normalise_answer(_extract_plain_answer(answer))
        by_answer = (
            map(normalise_answer, spellings) for spellings in question.short_answers
        )
        is_there = [
            any(spelling in plain for spelling in spellings) for spellings in by_answer
        ]
        return sum(is_there) / len(is_there), all(is_there)


class ListAnswers(AnswerMetric):
    """Precision, recall and F1 for questions that ask for a list, as in QAMPARI.
    Precision is the share of the answer's parts that are right, and recall is the share
    of the gold answers that the run's answer contains. The answer, without citation
    marks, is split into parts at commas and line ends. The official program splits only
    the first line of the answer at commas. Parts and gold answers are compared without
    punctuation, articles and case. Empty parts are dropped. Recall-5 is 100 % if the
    answer contains at least five gold answers, or all gold answers. F1 is computed for
    each question, then averaged. Questions without a list of gold answers do not count.
    """

    statistic = "qampari"
    columns = ("precision", "recall", "recall_5", "f1", "f1_5")
    scale = 100
    citation = f"{ALCE}; Amouyal et al. 2023, QAMPARI: A Benchmark for Open-domain Questions with Many Answers"  # noqa: E501
    enough = 5

    def applies_to_question(self, question: QuestionWithPassages) -> bool:
        return bool(question.answers)

    def measured(
        self, question: QuestionWithPassages, answer: AnswerRow | None
    ) -> Sequence[float]:
        lines = _extract_plain_answer(answer).splitlines()
        if is_official_rule_set(self.rules):
            lines = [get_first_line(_extract_plain_answer(answer))]
        parts = [
            text
            for line in lines
            for part in line.rstrip().rstrip(".").rstrip(",").split(",")
            if (text := normalise_answer(part))
        ]
        wanted = [
            {normalise_answer(spelling) for spelling in spellings}
            for spellings in question.answers
        ]
        right = set().union(*wanted)
        precision = sum(text in right for text in parts) / len(parts) if parts else 0.0
        hits = sum(not spellings.isdisjoint(parts) for spellings in wanted)
        recalls = (
            hits / len(wanted),
            min(self.enough, hits) / min(self.enough, len(wanted)),
        )
        return (
            precision,
            *recalls,
            *(float(compute_harmonic_mean(precision, recall)) for recall in recalls),
        )


class AnswerRouge(MeanMetric):
    """ROUGE-Lsum F1 with stemming, averaged over questions, where each answer gets the
    maximum over the references.

    Each sentence of answer and reference is a separate line. Questions without a
    reference do not count.
    """

    statistic = "answer_rouge_lsum"
    rests_on_tokens = True
    own_version = 2
    compares_texts = True
    columns = ("f1",)
    scale = 100
    citation = Rouge.citation
    packages: tuple[str, ...] = Rouge.packages
    engine = Rouge.engine
    fixed = {"references": "best", "stemmer": "porter", "tokenizer": "rouge-score"}

    def __init__(self, name: str, rules: str, *, options: Options) -> None:
        super().__init__(name, rules, column="f1")
        self.choose_tokenizer(options)
        if self.tokenizer:
            self.fixed = {**self.fixed, TOKENIZER.name: self.tokenizer}
            self.packages = (*self.packages, "sacrebleu")
        self._is_official = is_official_rule_set(rules)
        self._splitter = choose_splitter(options, is_official=self._is_official)
        self.choose_engine(options)

    @property
    def parameters(self) -> Parameters:
        return {
            **super().parameters,
            "sentences": make_splitter_name(
                self._splitter, is_official=self._is_official
            ),
            **self.engine_parameters,
        }

    def tokens(self, text: str) -> list[str]:
        return tokenize_for_rouge(text, self.tokenizer)

    def collect_gold_texts(
        self, gold: Sequence[QuestionWithPassages | None]
    ) -> list[str]:
        return [text for question in gold if question for text in question.references]

    def instance_stats(
        self,
        gold: Sequence[QuestionWithPassages | None],
        answers: Sequence[AnswerRow | None],
    ) -> Floats:
        places, references, texts = [], [], []
        for index, (question, answer) in enumerate(zip(gold, answers, strict=True)):
            for reference in question.references if question else ():
                places.append(index)
                references.append(self._format_rouge_lines(reference))
                texts.append(self._format_rouge_lines(_extract_plain_answer(answer)))
        stats = np.zeros((len(gold), 2))
        compute = compute_package_rouge if self.is_by_package else compute_rouge
        f1 = compute(references, texts, ("lsum",), is_stemmed=True)["lsum"][:, 2]
        np.maximum.at(stats[:, 0], places, f1)
        stats[places, 1] = 1
        return stats

    def _format_rouge_lines(self, text: str) -> str:
        split, lowered = SENTENCE_SPLITTERS_BY_NAME[self._splitter], text.lower()
        lines = (
            split(lowered)
            if self._is_official
            else split_into_sentences_and_headings(lowered, split)
        )
        text = "\n".join(lines)
        return encode_tokens_as_ascii(text, self.tokens) if self.tokenizer else text


class Length(AnswerMetric):
    """The number of whitespace-separated words of an answer, as the mean or the
    population standard deviation over all responses.
    """

    shape = "error"
    statistic = "length"
    columns = ("words", "squares")
    higher_is_better = None
    scale = 0
    citation = ALCE

    def measured(
        self, question: QuestionWithPassages, answer: AnswerRow | None
    ) -> Sequence[float]:
        words = len(_extract_plain_answer(answer).split())
        return words, words**2


class LengthDeviation(Length):
    shape = "deviation"

    def aggregate(self, sums: Floats) -> Floats:
        return compute_deviation(*(sums[..., place] for place in range(3)))


class PositionalShare(AnswerMetric):
    """The share of responses with a citation mark inside a sentence, which means that a
    word of the sentence follows the mark.
    """

    statistic = "positional"
    columns = ("positional",)
    higher_is_better = None
    scale = 100
    citation = ALIICE_CITATION

    def measured(
        self, question: QuestionWithPassages, answer: AnswerRow | None
    ) -> Sequence[float]:
        return [isinstance(answer, WholeAnswerRow) and answer.is_positional]


class Cvcp(Metric):
    """The coefficient of variation of citation positions, which is the standard
    deviation of the positions of citation marks divided by their mean.

    The coefficient is 0 if all marks have the same position. The paper's formula
    computes the coefficient within each cited sentence, then averages over the cited
    sentences of a response, then over the responses with cited sentences. The pooled
    form, as in the released program, uses all marks of all responses with character
    offsets as positions. Undefined (NaN) without marks. Neither direction is better.
    """

    shape = "deviation"
    statistic = "cvcp"
    own_version = 2
    higher_is_better = None
    ends = (0.0, math.inf)
    citation = ALIICE_CITATION

    def __init__(
        self, name: str, rules: str, *, options: Options, is_pooled: bool = False
    ) -> None:
        super().__init__(name, rules)
        self.is_pooled = is_pooled
        self._is_official = is_official_rule_set(rules)
        self._splitter = choose_splitter(options, is_official=self._is_official)

    @property
    def parameters(self) -> Parameters:
        return {
            "positions": "characters" if self.is_pooled else "units",
            "average": "pooled" if self.is_pooled else "sentences-then-responses",
            "splitter": make_splitter_name(
                self._splitter, is_official=self._is_official
            ),
        }

    def instance_stats(
        self,
        gold: Sequence[QuestionWithPassages | None],
        answers: Sequence[AnswerRow | None],
    ) -> Floats:
        """Return an array (n, 5) with one row for each cited sentence, which contains
        the sentence's contribution to the mean, its weight, and the number, sum and sum
        of squares of its citation marks' offsets.
        """
        cited = Counter(
            answer.question.id
            for answer in answers
            if isinstance(answer, CitedSentenceRow)
        )
        stats = np.zeros((len(answers), 5))
        for index, answer in enumerate(answers):
            if isinstance(answer, CitedSentenceRow):
                units, offsets = (
                    np.array(answer.positions.units),
                    np.array(answer.positions.offsets),
                )
                share = 1 / cited[answer.question.id]
                sums = (len(offsets), offsets.sum(), (offsets**2).sum())
                stats[index] = (share * units.std() / units.mean(), share, *sums)
        return stats

    def denominators(self, rows: Floats) -> Floats:
        return rows[:, 2 if self.is_pooled else 1]

    def aggregate(self, sums: Floats) -> Floats:
        if not self.is_pooled:
            return quotient(sums[..., 0], sums[..., 1])
        count, total, squares = (sums[..., place] for place in (2, 3, 4))
        with np.errstate(invalid="ignore"):
            relative = squares * count / total**2 - 1
            spread = np.sqrt(
                np.where(relative > _RELATIVE_ROUNDING_ERROR, relative, 0.0)
            )
            # If all marks are at the beginning of a text, the coefficient is undefined.
            return np.asarray(np.where(total > 0, spread, np.nan))


class AnswerMauve(Mauve):
    """MAUVE between the questions with the run's answers and the questions with gold
    answers, as in ALCE and ALiiCE.

    If annotators gave several gold answers, the gold's field ``answer`` selects one, as
    in the released programs. If the gold has no field ``answer``, the first gold answer
    is used. The compared texts are truncated to 100 words, and have no citation marks
    or final punctuation. Questions without a full gold answer do not count. If the run
    has no answer to a question, the compared text is the question alone.
    """

    fixed = {
        "reference": "answer-or-first",
        "texts": f"question-answer-{MAX_MAUVE_ANSWER_WORDS}",
    }

    def instance_stats(
        self, gold: Sequence[object], answers: Sequence[object]
    ) -> Floats:
        references: list[str | None] = [None] * len(gold)
        texts: list[str | None] = [None] * len(gold)
        for index, (question, answer) in enumerate(zip(gold, answers, strict=True)):
            if isinstance(question, QuestionWithPassages):
                reference = question.answer or next(iter(question.references), "")
                references[index] = (
                    _join_question_and_answer(question, reference)
                    if reference
                    else None
                )
                texts[index] = _join_question_and_answer(
                    question, _extract_plain_answer(answer)
                )
        return super().instance_stats(references, texts)


def _join_question_and_answer(question: QuestionWithPassages, answer: str) -> str:
    return " ".join(
        f"{question.question} {answer}".split()[:MAX_MAUVE_ANSWER_WORDS]
    ).rstrip(string.punctuation)
