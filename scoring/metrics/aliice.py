"""Positional fine-grained citation recall and precision, over the atomic claims of sentences."""

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
    deviation_of,
    looked_for,
    ratio,
)
from scoring.metrics.entailed import (
    PLACES,
    RECALL,
    CitationMetric,
    case_of,
    described,
    matrix,
    row,
)
from scoring.metrics.entailment import Case, judged
from tasks.types.base import Options
from tasks.types.positional_citations import parsing
from tasks.types.positional_citations.claims import Claim
from tasks.types.positional_citations.options import MERGE_GROUPS, PARSER
from tasks.types.positional_citations.questions import (
    AlceSentence,
    CitedSentence,
    Part,
    Question,
    Response,
    ScoredClaim,
)
from tasks.types.positional_citations.sentences import (
    are_in_range,
    is_in_range,
    marks,
    without_marks,
)


class Aliice(CitationMetric):
    """Entailed claims and credited marks of each response, then the mean over responses. A claim counts if it
    has marks and all stand for passages. A response without such a claim is left out: what it leaves uncited
    costs it nothing, so that is counted beside the score. Precision is per mark of the response, as released,
    or the mean over its claims, as in the paper's text.
    """

    statistic = "aliice"
    citation = "Xu et al. 2025, ALiiCE: Evaluating Positional Fine-grained Citation Generation, NAACL"

    def __init__(self, name: str, rules: str, *, options: Options, **more: Any) -> None:
        super().__init__(name, rules, options=options, **more)
        self.packages = (
            ("spacy",) if parsing.rests_on_spacy(options[PARSER.name]) else ()
        )

    @property
    def parameters(self) -> Parameters:
        return {
            **super().parameters,
            "groups": "merged" if self.options[MERGE_GROUPS.name] == "yes" else "last",
            "parser": parsing.parser_name(self.options[PARSER.name]),
        }

    @property
    def needs_model(self) -> bool:
        return parsing.rests_on_spacy(self.options[PARSER.name]) or super().needs_model

    @property
    def replaces(self) -> str:
        return (
            f"|parser:{parsing.RULES}-"
            if self.options[PARSER.name] == parsing.AUTO and self.packages
            else ""
        )

    def requirements(self) -> Sequence[Requirement]:
        parser = parsing.chosen_parser(self.options[PARSER.name])
        if parser == parsing.RULES:
            return super().requirements()
        kind = "spaCy pipeline" if parsing.rests_on_spacy(parser) else "file of parses"
        needed = looked_for(
            kind,
            parser,
            lambda: (parsing.parser_place(parser), parsing.parser_name(parser)),
        )
        return (needed, *super().requirements())

    def claim(self, part: Part | None) -> Claim | None:
        """What of a row is judged."""
        return part.claim if isinstance(part, ScoredClaim) else None

    def cases(
        self, gold: Sequence[Question | None], answers: Sequence[Part | None]
    ) -> list[Case]:
        return [
            case_of(part.question, claim.text, claim.marks)
            for part, claim in self._claims(answers)
        ]

    def instance_stats(
        self, gold: Sequence[Question | None], answers: Sequence[Part | None]
    ) -> Floats:
        claims: Counter[str] = Counter()
        marked: Counter[str] = Counter()
        for part, claim in self._claims(answers):
            claims[part.question.id] += 1
            marked[part.question.id] += len(claim.marks)
        verdicts = iter(judged(self.cases(gold, answers), self.judge))
        names = [
            None if answer is None or self.claim(answer) is None else answer.question.id
            for answer in answers
        ]
        return matrix(
            [
                row(next(verdicts), claims=claims[one], marks=marked[one])
                if one
                else {}
                for one in names
            ]
        )

    def details(
        self, answers: Sequence[Part | None]
    ) -> Mapping[str, Mapping[str, Any]]:
        """By response its sentences with parse, claims and their verdicts, and the passages it cites."""
        scored = [part for part in answers if isinstance(part, ScoredClaim)]
        verdicts = {
            (part.question.id, part.sentence, part.place): verdict
            for part, verdict in zip(
                scored, judged(self.cases((), answers), self.judge), strict=True
            )
        }
        by_response: dict[str, Mapping[str, Any]] = {}
        for response in (part for part in answers if isinstance(part, Response)):
            name, passages = response.question.id, response.question.passages
            cited = {
                mark for sentence in response.sentences for mark in marks(sentence.text)
            }
            by_response[name] = {
                "question": response.question.question,
                "passages": {
                    str(mark): passages[mark - 1].facts()
                    for mark in sorted(cited)
                    if is_in_range(mark, len(passages), is_official=self.is_official)
                },
                "sentences": [
                    {
                        "text": sentence.text,
                        "marks": marks(sentence.text),
                        "fallback": sentence.fallback,
                        "lost": sentence.lost,
                        "tokens": list(sentence.parse.tokens) if sentence.parse else [],
                        "heads": list(sentence.parse.heads) if sentence.parse else [],
                        "relations": list(sentence.parse.relations)
                        if sentence.parse
                        else [],
                        "claims": [
                            described(
                                claim.text,
                                claim.marks,
                                verdicts.get((name, place, number)),
                            )
                            for number, claim in enumerate(sentence.claims)
                        ],
                    }
                    for place, sentence in enumerate(response.sentences)
                ],
            }
        return by_response

    def _claims(self, answers: Sequence[Part | None]) -> list[tuple[Part, Claim]]:
        claims = [(part, self.claim(part)) for part in answers if part is not None]
        return [(part, claim) for part, claim in claims if claim is not None]


class AliiceDeviation(Aliice):
    """How far responses differ: the standard deviation of their recall or precision, in points. Over the
    responses that have a claim that counts, of all of them and not of a sample (divided by n), as the
    released program prints it beside the means, there as a share. Undefined where none counts.
    """

    shape = "deviation"
    per_unit = True
    higher_is_better = None
    ends = (0.0, 50.0)

    def unit_stats(self, sums: Floats) -> Floats:
        """A response's value, its square, whether it counts, and how many labels it lacks."""
        column = {name: sums[..., place] for name, place in PLACES.items()}
        counts = column[f"{self.part}_weight"] > 0
        shares = np.where(
            counts, ratio(column[self.part], column[f"{self.part}_weight"]), 0.0
        )
        pending = column["pending_claims" if self.part == RECALL else "pending_pairs"]
        return np.stack([shares, shares**2, counts.astype(float), pending], axis=-1)

    def denominators(self, rows: Floats) -> Floats:
        return rows[:, 2]

    def aggregate(self, sums: Floats) -> Floats:
        total, squares, count, pending = (sums[..., place] for place in range(4))
        return np.where(
            pending > 0, np.nan, self.scale * deviation_of(total, squares, count)
        )

    def total(self, rows: Floats) -> float:
        """From the values themselves, since sums of squares leave a trace where all are equal."""
        values = rows[rows[:, 2] > 0, 0]
        return (
            math.nan
            if not len(values) or rows[:, 3].any()
            else self.scale * float(np.std(values))
        )

    def details(
        self, answers: Sequence[Part | None]
    ) -> Mapping[str, Mapping[str, Any]]:
        return {}


class AliiceBySentence(Aliice):
    """The same with whole sentences as claims: the sentence-level parser of the released program."""

    statistic = "aliice_by_sentence"

    @property
    def parameters(self) -> Parameters:
        shared = {
            key: value
            for key, value in super().parameters.items()
            if key not in ("groups", "parser")
        }
        return {**shared, "claims": "sentences"}

    def claim(self, part: Part | None) -> Claim | None:
        if not isinstance(part, CitedSentence):
            return None
        marked, passages = marks(part.text), len(part.question.passages)
        if not are_in_range(marked, passages, is_official=self.is_official):
            return None
        return Claim(without_marks(part.text), tuple(marked))

    def details(
        self, answers: Sequence[Part | None]
    ) -> Mapping[str, Mapping[str, Any]]:
        return {}


#: So many marks of a sentence are looked at unless all are.
MAX_MARKS = 3


class Alce(CitationMetric):
    """Recall is over all sentences of a response, and precision over the marks of its sentences, 0 without
    marks. A sentence with a mark that stands for no passage is not entailed, and its marks do not enter
    precision. A response without a sentence, or without an answer at all, counts with 0; in the official
    program it does not count.
    """

    citation = ALCE

    def __init__(
        self, name: str, rules: str, *, all_marks: bool = False, **more: Any
    ) -> None:
        super().__init__(name, rules, **more)
        self.most = None if all_marks else MAX_MARKS
        self.statistic = "alce_all_marks" if all_marks else "alce"
        self.fixed = {"marks": "all" if all_marks else MAX_MARKS}

    def marks(self, sentence: AlceSentence) -> tuple[int, ...]:
        """The marks that are looked at; none where one of all stands for no passage."""
        in_range = are_in_range(
            sentence.marks,
            len(sentence.question.passages),
            is_official=self.is_official,
        )
        return sentence.marks[: self.most] if in_range else ()

    def cases(
        self, gold: Sequence[Question | None], answers: Sequence[Part | None]
    ) -> list[Case]:
        return [
            case_of(sentence.question, sentence.text, self.marks(sentence))
            for sentence in answers
            if isinstance(sentence, AlceSentence) and self.marks(sentence)
        ]

    def instance_stats(
        self, gold: Sequence[Question | None], answers: Sequence[Part | None]
    ) -> Floats:
        sentences: Counter[str] = Counter()
        marks: Counter[str] = Counter()
        for answer in answers:
            if isinstance(answer, AlceSentence):
                sentences[answer.question.id] += 1
                marks[answer.question.id] += len(self.marks(answer))
        verdicts = iter(judged(self.cases(gold, answers), self.judge))
        rows: list[Mapping[str, float]] = []
        for question, answer in zip(gold, answers, strict=True):
            if question is not None:
                # A response without marks that count has its precision so, one without a sentence everything.
                counts = sentences[question.id] or not self.is_official
                weights = {
                    "recall_weight": not sentences[question.id],
                    "precision_weight": not marks[question.id],
                }
                rows.append(weights if counts else {})
            elif not isinstance(answer, AlceSentence):
                rows.append({})
            elif self.marks(answer):
                name = answer.question.id
                rows.append(
                    row(next(verdicts), claims=sentences[name], marks=marks[name])
                )
            else:
                rows.append({"recall_weight": 1 / sentences[answer.question.id]})
        return matrix(rows)

    def details(
        self, answers: Sequence[Part | None]
    ) -> Mapping[str, Mapping[str, Any]]:
        verdicts = iter(judged(self.cases((), answers), self.judge))
        by_response: dict[str, dict[str, list[dict[str, Any]]]] = {}
        for answer in answers:
            if isinstance(answer, AlceSentence):
                verdict = next(verdicts) if self.marks(answer) else None
                sentences = by_response.setdefault(
                    answer.question.id, {self.statistic: []}
                )[self.statistic]
                sentences.append(described(answer.text, answer.marks, verdict))
        return by_response
