"""The metrics of the task type, by reference."""

from __future__ import annotations

from tasks.types.base import CORRECTED, OFFICIAL, Options
from tasks.types.positional_citations.options import ENTAILMENT, MAUVE_MODEL, MERGE_GROUPS, PARSER, SPLITTER
from tasks.types.references import MetricRef

ALIICE, BY_SENTENCE = (f"scoring.metrics.aliice:{name}" for name in ("Aliice", "AliiceBySentence"))
DEVIATION = "scoring.metrics.aliice:AliiceDeviation"
ALCE = "scoring.metrics.aliice:Alce"
CVCP = "scoring.metrics.answers:Cvcp"
ANSWERS = "scoring.metrics.answers"
#: What decides what entails what, and what is put to it.
CLAIMS = (ENTAILMENT.name, PARSER.name, SPLITTER.name, MERGE_GROUPS.name)
SENTENCES = (ENTAILMENT.name, SPLITTER.name)


def _aliice(name: str, part: str, *, per_claim: bool = False, is_official: bool = False) -> MetricRef:
    arguments = {"part": part, "per_claim": per_claim, "is_official": is_official}
    return MetricRef(name, ALIICE, arguments, CLAIMS)


def _deviations(*, is_official: bool = False) -> tuple[MetricRef, ...]:
    """How far responses differ in what is averaged over them."""
    return tuple(
        MetricRef(f"aliice_{part}_deviation", DEVIATION, {"part": part, "is_official": is_official}, CLAIMS)
        for part in ("recall", "precision")
    )


def _alce(name: str, part: str, *, all_marks: bool = False, is_official: bool = False) -> MetricRef:
    arguments = {"part": part, "all_marks": all_marks, "is_official": is_official}
    return MetricRef(name, ALCE, arguments, SENTENCES)


def _cvcp(name: str, *, is_pooled: bool, is_official: bool = False) -> MetricRef:
    arguments = {"is_pooled": is_pooled, "is_official": is_official}
    return MetricRef(name, CVCP, arguments, (SPLITTER.name,))


def _of_answers(*, is_official: bool = False) -> tuple[MetricRef, ...]:
    """What an answer is beside its citations."""
    split = {"is_official": is_official}
    return (
        MetricRef("em_recall", f"{ANSWERS}:ExactMatch", {"column": "recall"}),
        MetricRef("em_all", f"{ANSWERS}:ExactMatch", {"column": "all"}),
        *(
            MetricRef(f"qampari_{column}", f"{ANSWERS}:ListAnswers", {"column": column})
            for column in ("precision", "recall_5", "f1_5")
        ),
        MetricRef(
            "claim_recall",
            "scoring.metrics.entailed:ClaimRecall",
            {"part": "recall"},
            (ENTAILMENT.name,),
        ),
        MetricRef("rouge_lsum_f1", f"{ANSWERS}:AnswerRouge", split, (SPLITTER.name,)),
        MetricRef("length", f"{ANSWERS}:Length", {"column": "words"}),
        MetricRef("length_deviation", f"{ANSWERS}:LengthDeviation", {"column": "words"}),
        MetricRef("positional_share", f"{ANSWERS}:PositionalShare", {"column": "positional"}),
    )


MAUVE = MetricRef("mauve", "scoring.metrics.answers:AnswerMauve", options=(MAUVE_MODEL.name,))
METRICS = {
    CORRECTED: (
        _aliice("aliice_f1", "f1"),
        _aliice("aliice_recall", "recall"),
        _aliice("aliice_precision", "precision"),
        _aliice("aliice_f1_per_claim", "f1", per_claim=True),
        _aliice("aliice_precision_per_claim", "precision", per_claim=True),
        _cvcp("cvcp", is_pooled=False),
        _cvcp("cvcp_pooled", is_pooled=True),
        _alce("alce_f1", "f1"),
        _alce("alce_recall", "recall"),
        _alce("alce_precision", "precision"),
        _alce("alce_recall_all_marks", "recall", all_marks=True),
        _alce("alce_precision_all_marks", "precision", all_marks=True),
        *_of_answers(),
        *_deviations(),
    ),
    # Without what only this site and the paper's text have, with what the released program can do besides.
    OFFICIAL: (
        _aliice("aliice_f1", "f1", is_official=True),
        _aliice("aliice_recall", "recall", is_official=True),
        _aliice("aliice_precision", "precision", is_official=True),
        _cvcp("cvcp", is_pooled=True, is_official=True),
        _alce("alce_recall", "recall", is_official=True),
        _alce("alce_precision", "precision", is_official=True),
        _alce("alce_recall_all_marks", "recall", all_marks=True, is_official=True),
        _alce("alce_precision_all_marks", "precision", all_marks=True, is_official=True),
        *_of_answers(is_official=True),
        *_deviations(is_official=True),
        *(
            MetricRef(f"aliice_{part}_by_sentence", BY_SENTENCE, {"part": part, "is_official": True}, CLAIMS)
            for part in ("recall", "precision")
        ),
    ),
}


def further_metrics(rules: str, options: Options) -> tuple[MetricRef, ...]:
    """MAUVE under the corrected rules, where the options name its model."""
    return (MAUVE,) if rules == CORRECTED and options[MAUVE_MODEL.name] else ()
