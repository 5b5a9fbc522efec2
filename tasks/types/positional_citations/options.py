"""The options of the task type."""

from tasks.types.base import CORRECTED, ENGINE, OFFICIAL, Option, OptionRefused, Options
from tasks.types.positional_citations.claims import ClaimRules
from tasks.types.positional_citations.sentences import SPLITTERS
from tasks.types.references import MetricRef

#: What decides entailment; all but the first two name something behind a colon.
NOBODY, WORD_OVERLAP, LABELS, MODEL, STORE = "none", "word-overlap", "labels", "model", "store"

#: The splitter that goes by the rules.
AUTO = "auto"

ENTAILMENT = Option(
    name="entailment",
    default=NOBODY,
    former={"decisions:": "labels:"},
    summary="What decides entailment: labels:PATH or model:NAME, on a site also store:MODEL, the "
    "labels of that model that the site keeps; word-overlap is for tests alone. With none, the metrics "
    "that need it stay undefined.",
)
PARSER = Option(
    name="parser",
    default="en_core_web_sm",
    summary="The spaCy pipeline that parses sentences, by name or folder, or a file of parses (.jsonl).",
    may_be_file=True,
)
SPLITTER = Option(
    name="splitter",
    default=AUTO,
    summary="What splits texts into sentences: the rules of this site, or Punkt as NLTK has trained it; auto "
    "is Punkt under the official rules and the site's own otherwise.",
    choices=(AUTO, *SPLITTERS),
)
MERGE_GROUPS = Option(
    name="merge-groups",
    default="no",
    summary="Whether two groups of marks at one word become one; otherwise the later replaces the earlier.",
    choices=("no", "yes"),
)
MAUVE_MODEL = Option(
    name="mauve_model",
    default="",
    summary="The language model whose features MAUVE is computed from, such as gpt2-large in the form of "
    "transformers: a folder, or a name on the hub.",
)
PASSAGES = Option(
    name="passages",
    default="text",
    summary="What of a passage participants are given: its text alone, or also shorter forms of it that the "
    "gold has, a summary, an extraction (a snippet) or all. Claims are held against the text.",
    choices=("text", "summary", "extraction", "all"),
)
OPTIONS = (ENTAILMENT, PARSER, SPLITTER, MERGE_GROUPS, MAUVE_MODEL, PASSAGES, ENGINE)


def entailment_source(options: Options) -> tuple[str, str]:
    """What decides entailment, and what it is called. Raises OptionRefused."""
    value = options[ENTAILMENT.name]
    source, colon, name = value.partition(":")
    if (source in (LABELS, MODEL, STORE) and name) or (source in (NOBODY, WORD_OVERLAP) and not colon):
        return source, name
    expected = f"{LABELS}:PATH, {MODEL}:NAME, {STORE}:MODEL, {WORD_OVERLAP} or {NOBODY}"
    raise OptionRefused(f"option {ENTAILMENT.name}={value}: expected {expected}")


def chosen_splitter(options: Options, *, is_official: bool) -> str:
    """The name of the splitter; both released programs use Punkt."""
    chosen = options[SPLITTER.name]
    if chosen != AUTO:
        return chosen
    return "punkt" if is_official else "rules"


def claim_rules(rules: str, options: Options) -> ClaimRules:
    return ClaimRules(is_official=rules == OFFICIAL, merge_groups=options[MERGE_GROUPS.name] == "yes")


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
        MetricRef("rouge_lsum_f1", f"{ANSWERS}:AnswerRouge", split, (SPLITTER.name, ENGINE.name)),
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
