"""Citation recall and precision of ALiiCE, computed on the atomic claims of
sentences.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scoring.metrics.answers import ALCE
from scoring.metrics.base import (
    Floats,
    Parameters,
    Requirement,
    UnitColumns,
    compute_deviation,
    divide_or_zero,
    find_requirement,
)
from scoring.metrics.entailed import (
    COLUMN_INDEX_BY_NAME,
    PRECISION,
    RECALL,
    CitationMetric,
    build_case,
    build_claim_matrix,
    build_claim_row,
    describe_claim,
)
from scoring.metrics.entailment import CitedClaim, decide_claims
from tasks.types.base import Options
from tasks.types.positional_citations import parsing
from tasks.types.positional_citations.claims import AtomicClaim
from tasks.types.positional_citations.options import MERGE_GROUPS_OPTION, PARSER_OPTION
from tasks.types.positional_citations.questions import (
    AlceSentenceRow,
    AnswerRow,
    CitedSentenceRow,
    ClaimRow,
    QuestionWithPassages,
    WholeAnswerRow,
)
from tasks.types.positional_citations.sentences import (
    are_marks_in_range,
    is_mark_in_range,
    list_mark_numbers,
    remove_marks_like_alce,
)


class Aliice(CitationMetric):
    """Citation recall, precision or F1 of ALiiCE, averaged over responses. Recall is
    the share of a response's claims that the cited passages entail, and precision is
    the share of citation marks that earn credit.

    A claim counts if the claim has citation marks and all its marks refer to passages.
    Responses without a claim that counts are excluded, so missing citations do not
    lower the score. The number of excluded responses is reported next to the score.
    Precision is computed over all marks of a response, as in the released program, or
    as the mean over its claims, as the paper describes.
    """

    statistic = "aliice"
    citation = "Xu et al. 2025, ALiiCE: Evaluating Positional Fine-grained Citation Generation, NAACL"

    def __init__(self, name: str, rules: str, *, options: Options, **more: Any) -> None:
        super().__init__(name, rules, options=options, **more)
        self.packages = (
            ("spacy",)
            if parsing.does_parser_need_spacy(options[PARSER_OPTION.name])
            else ()
        )

    @property
    def parameters(self) -> Parameters:
        return {
            **super().parameters,
            "groups": "merged"
            if self.options[MERGE_GROUPS_OPTION.name] == "yes"
            else "last",
            "parser": parsing.make_parser_name(self.options[PARSER_OPTION.name]),
        }

    @property
    def unit_columns(self) -> UnitColumns | None:
        if self.part == RECALL:
            names = ("recall", "recall_weight", "pending_claims")
        elif self.part != PRECISION:
            return None
        elif self.per_claim:
            names = ("precision_per_claim", "recall_weight", "pending_pairs")
        else:
            names = ("precision", "precision_weight", "pending_pairs")
        value, weight, missing = (COLUMN_INDEX_BY_NAME[name] for name in names)
        return UnitColumns("claims", value, weight, missing)

    @property
    def needs_model(self) -> bool:
        return (
            parsing.does_parser_need_spacy(self.options[PARSER_OPTION.name])
            or super().needs_model
        )

    @property
    def replaces(self) -> str:
        return (
            f"|parser:{parsing.RULE_BASED_PARSER}-"
            if self.options[PARSER_OPTION.name] == parsing.AUTOMATIC_PARSER
            and self.packages
            else ""
        )

    def requirements(self) -> Sequence[Requirement]:
        parser = parsing.choose_parser(self.options[PARSER_OPTION.name])
        if parser == parsing.RULE_BASED_PARSER:
            return super().requirements()
        kind = (
            "spaCy pipeline"
            if parsing.does_parser_need_spacy(parser)
            else "file of parses"
        )
        needed = find_requirement(
            kind,
            parser,
            lambda: (
                parsing.find_parser_path(parser),
                parsing.make_parser_name(parser),
            ),
        )
        return (needed, *super().requirements())

    def claim(self, part: AnswerRow | None) -> AtomicClaim | None:
        return part.claim if isinstance(part, ClaimRow) else None

    def build_cases(
        self,
        gold: Sequence[QuestionWithPassages | None],
        answers: Sequence[AnswerRow | None],
    ) -> list[CitedClaim]:
        return [
            build_case(part.question, claim.text, claim.marks)
            for part, claim in self._pair_answers_with_claims(answers)
        ]

    def instance_stats(
        self,
        gold: Sequence[QuestionWithPassages | None],
        answers: Sequence[AnswerRow | None],
    ) -> Floats:
        claims: Counter[str] = Counter()
        marked: Counter[str] = Counter()
        for part, claim in self._pair_answers_with_claims(answers):
            claims[part.question.id] += 1
            marked[part.question.id] += len(claim.marks)
        verdicts = iter(decide_claims(self.build_cases(gold, answers), self.judge))
        names = [
            None if answer is None or self.claim(answer) is None else answer.question.id
            for answer in answers
        ]
        return build_claim_matrix(
            [
                build_claim_row(next(verdicts), claims=claims[name], marks=marked[name])
                if name
                else {}
                for name in names
            ]
        )

    def details(
        self, answers: Sequence[AnswerRow | None]
    ) -> Mapping[str, Mapping[str, Any]]:
        """Return the cited passages and the sentences of each response, with the parse,
        claims and verdicts of each sentence.
        """
        scored = [part for part in answers if isinstance(part, ClaimRow)]
        verdicts = {
            (part.question.id, part.sentence, part.place): verdict
            for part, verdict in zip(
                scored,
                decide_claims(self.build_cases((), answers), self.judge),
                strict=True,
            )
        }
        by_response: dict[str, Mapping[str, Any]] = {}
        for response in (part for part in answers if isinstance(part, WholeAnswerRow)):
            name, passages = response.question.id, response.question.passages
            cited = {
                mark
                for sentence in response.sentences
                for mark in list_mark_numbers(sentence.text)
            }
            by_response[name] = {
                "question": response.question.question,
                "passages": {
                    str(mark): passages[mark - 1].facts()
                    for mark in sorted(cited)
                    if is_mark_in_range(
                        mark, len(passages), is_official=self.is_official
                    )
                },
                "sentences": [
                    {
                        "text": sentence.text,
                        "marks": list_mark_numbers(sentence.text),
                        "fallback": sentence.fallback,
                        "lost": sentence.lost,
                        "tokens": list(sentence.parse.tokens) if sentence.parse else [],
                        "heads": list(sentence.parse.heads) if sentence.parse else [],
                        "relations": list(sentence.parse.relations)
                        if sentence.parse
                        else [],
                        "claims": [
                            describe_claim(
                                claim.text,
                                claim.marks,
                                verdicts.get((name, index, number)),
                            )
                            for number, claim in enumerate(sentence.claims)
                        ],
                    }
                    for index, sentence in enumerate(response.sentences)
                ],
            }
        return by_response

    def _pair_answers_with_claims(
        self, answers: Sequence[AnswerRow | None]
    ) -> list[tuple[AnswerRow, AtomicClaim]]:
        claims = [(part, self.claim(part)) for part in answers if part is not None]
        return [(part, claim) for part, claim in claims if claim is not None]


class AliiceDeviation(Aliice):
    """The standard deviation of the responses' recall or precision, in percentage
    points.

    The value is the population standard deviation (with divisor n) over the responses
    with a claim that counts. The released program prints the deviation as a share
    between 0 and 1. The value is undefined if no response has a claim that counts.
    """

    shape = "deviation"
    per_unit = True
    higher_is_better = None
    ends = (0.0, 50.0)

    @property
    def unit_columns(self) -> None:
        return None

    def unit_stats(self, sums: Floats) -> Floats:
        """Return an array (units, 4) with one row for each response, which contains the
        response's value, the square of the value, 1 if the response counts, and the
        number of missing labels.
        """
        column = {
            name: sums[..., place] for name, place in COLUMN_INDEX_BY_NAME.items()
        }
        counts = column[f"{self.part}_weight"] > 0
        shares = np.where(
            counts,
            divide_or_zero(column[self.part], column[f"{self.part}_weight"]),
            0.0,
        )
        pending = column["pending_claims" if self.part == RECALL else "pending_pairs"]
        return np.stack([shares, shares**2, counts.astype(float), pending], axis=-1)

    def denominators(self, rows: Floats) -> Floats:
        return rows[:, 2]

    def aggregate(self, sums: Floats) -> Floats:
        total, squares, count, pending = (sums[..., place] for place in range(4))
        return np.where(
            pending > 0, np.nan, self.scale * compute_deviation(total, squares, count)
        )

    def total(self, rows: Floats) -> float:
        """Compute the standard deviation from the responses' values, because sums of
        squares have rounding errors if all values are equal.
        """
        values = rows[rows[:, 2] > 0, 0]
        return (
            math.nan
            if not len(values) or rows[:, 3].any()
            else self.scale * float(np.std(values))
        )

    def details(
        self, answers: Sequence[AnswerRow | None]
    ) -> Mapping[str, Mapping[str, Any]]:
        return {}


class AliiceBySentence(Aliice):
    """ALiiCE's recall, precision or F1 with each whole sentence as one claim, as in the
    sentence-level parser of the released program.
    """

    statistic = "aliice_by_sentence"

    @property
    def unit_columns(self) -> None:
        return None

    @property
    def parameters(self) -> Parameters:
        shared = {
            key: value
            for key, value in super().parameters.items()
            if key not in ("groups", "parser")
        }
        return {**shared, "claims": "sentences"}

    def claim(self, part: AnswerRow | None) -> AtomicClaim | None:
        if not isinstance(part, CitedSentenceRow):
            return None
        marked, passages = list_mark_numbers(part.text), len(part.question.passages)
        if not are_marks_in_range(marked, passages, is_official=self.is_official):
            return None
        return AtomicClaim(remove_marks_like_alce(part.text), tuple(marked))

    def details(
        self, answers: Sequence[AnswerRow | None]
    ) -> Mapping[str, Mapping[str, Any]]:
        return {}


#: Metrics that do not judge all marks judge at most this many marks per sentence.
MAX_JUDGED_MARKS = 3


class Alce(CitationMetric):
    """Citation recall, precision or F1 of ALCE, averaged over responses. Recall is the
    share of a response's sentences that the cited passages entail. Precision is the
    share of the response's citation marks that earn credit, or 0 if the response has no
    marks.

    If a citation mark refers to no passage, its sentence counts as not entailed, and
    precision ignores all marks of the sentence. Empty and missing responses score 0,
    except under official rules, which exclude these responses like the official
    program.
    """

    citation = ALCE

    def __init__(
        self, name: str, rules: str, *, all_marks: bool = False, **more: Any
    ) -> None:
        super().__init__(name, rules, **more)
        self.most = None if all_marks else MAX_JUDGED_MARKS
        self.statistic = "alce_all_marks" if all_marks else "alce"
        self.fixed = {"marks": "all" if all_marks else MAX_JUDGED_MARKS}

    def find_judged_marks(self, sentence: AlceSentenceRow) -> tuple[int, ...]:
        """Return the citation marks of a sentence that the judge decides, or no marks
        if any mark refers to no passage.
        """
        in_range = are_marks_in_range(
            sentence.marks,
            len(sentence.question.passages),
            is_official=self.is_official,
        )
        return sentence.marks[: self.most] if in_range else ()

    def build_cases(
        self,
        gold: Sequence[QuestionWithPassages | None],
        answers: Sequence[AnswerRow | None],
    ) -> list[CitedClaim]:
        return [
            build_case(
                sentence.question, sentence.text, self.find_judged_marks(sentence)
            )
            for sentence in answers
            if isinstance(sentence, AlceSentenceRow)
            and self.find_judged_marks(sentence)
        ]

    def instance_stats(
        self,
        gold: Sequence[QuestionWithPassages | None],
        answers: Sequence[AnswerRow | None],
    ) -> Floats:
        sentences: Counter[str] = Counter()
        marks: Counter[str] = Counter()
        for answer in answers:
            if isinstance(answer, AlceSentenceRow):
                sentences[answer.question.id] += 1
                marks[answer.question.id] += len(self.find_judged_marks(answer))
        verdicts = iter(decide_claims(self.build_cases(gold, answers), self.judge))
        rows: list[Mapping[str, float]] = []
        for question, answer in zip(gold, answers, strict=True):
            if question is not None:
                # A response without sentences has recall 0 with weight 1.
                # A response without marks that count has precision 0 with weight 1.
                counts = sentences[question.id] or not self.is_official
                weights = {
                    "recall_weight": not sentences[question.id],
                    "precision_weight": not marks[question.id],
                }
                rows.append(weights if counts else {})
            elif not isinstance(answer, AlceSentenceRow):
                rows.append({})
            elif self.find_judged_marks(answer):
                name = answer.question.id
                rows.append(
                    build_claim_row(
                        next(verdicts), claims=sentences[name], marks=marks[name]
                    )
                )
            else:
                rows.append({"recall_weight": 1 / sentences[answer.question.id]})
        return build_claim_matrix(rows)

    def details(
        self, answers: Sequence[AnswerRow | None]
    ) -> Mapping[str, Mapping[str, Any]]:
        verdicts = iter(decide_claims(self.build_cases((), answers), self.judge))
        by_response: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for answer in answers:
            if isinstance(answer, AlceSentenceRow):
                verdict = next(verdicts) if self.find_judged_marks(answer) else None
                sentences = by_response.setdefault(
                    answer.question.id, {self.statistic: []}
                )[self.statistic]
                sentences.append(describe_claim(answer.text, answer.marks, verdict))
        return by_response
