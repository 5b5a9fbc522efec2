"""The metrics of the task type, by reference."""

from tasks.types.base import CORRECTED, ENGINE, OFFICIAL, Option, OptionRefused, Options
from tasks.types.citation_text.instances import CORWA, INTENT, KINDS
from tasks.types.positional_citations.options import ENTAILMENT, MAUVE_MODEL, NOBODY, entailment_source
from tasks.types.references import MetricRef

TEXTS = "scoring.metrics.citation_text"
DIVERGENCE, SMOOTHED_DIVERGENCE, PUBLISHED_DIVERGENCE = (
    f"scoring.metrics.label_divergence:{name}"
    for name in ("Divergence", "SmoothedDivergence", "PublishedDivergence")
)


def _rouge(kind: str, *, is_stemmed: bool = False) -> MetricRef:
    name = f"rouge_{kind}_f1{'_stemmed' if is_stemmed else ''}"
    arguments = {"kind": kind, "part": "f1", "is_stemmed": is_stemmed}
    return MetricRef(name, "scoring.metrics.rouge:Rouge", arguments, (ENGINE.name,))


def _divergences(metric: str, suffix: str = "", *, is_official: bool = False) -> tuple[MetricRef, ...]:
    options = tuple(option.name for option in DISCOURSE_OPTIONS)
    return tuple(
        MetricRef(f"kl_{scheme}{suffix}", metric, {"scheme": scheme, "is_official": is_official}, options)
        for scheme in KINDS
    )


BERTSCORE = Option(
    name="bertscore",
    default="no",
    summary="Whether BERTScore is computed; naming another model turns it on as well. A run waits for its "
    "model where that is not there.",
    choices=("no", "yes"),
)
#: The model of the published BERTScores; of its layers the fifth counts.
PUBLISHED_MODEL = "distilbert-base-uncased"
BERTSCORE_MODEL = Option(
    name="bertscore_model",
    default=PUBLISHED_MODEL,
    summary="The model of BERTScore: a folder, or a name on the hub.",
)
BERTSCORE_LAYER = Option(
    name="bertscore_layer",
    default="",
    summary="The layer whose vectors count; by default the one that the package bert-score takes, here 5.",
)
BERTSCORE_IDF = Option(
    name="bertscore_idf",
    default="no",
    summary="Whether rare tokens of the gold weigh more.",
    choices=("no", "yes"),
)
BERTSCORE_BASELINE = Option(
    name="bertscore_baseline",
    default="no",
    summary="Whether values are rescaled: no, yes for the table of the package, or the path of a table.",
)
BERTSCORE_OPTIONS = (
    *(BERTSCORE, BERTSCORE_MODEL, BERTSCORE_LAYER, BERTSCORE_IDF, BERTSCORE_BASELINE),
    ENGINE,
)
BERTSCORE_METRIC = MetricRef(
    "bertscore_f1",
    "scoring.metrics.bertscore:BertScore",
    {"part": "f1"},
    tuple(option.name for option in BERTSCORE_OPTIONS),
)
PUBLISHED = (*(_rouge(kind) for kind in ("l", "1", "2")), BERTSCORE_METRIC)
WORDNET = Option(
    name="wordnet",
    default="",
    summary="A folder with the database of WordNet, such as /usr/share/wordnet: METEOR is then computed as "
    "NLTK does.",
)
METEOR = MetricRef("meteor_nltk", "scoring.metrics.meteor:NltkMeteor", options=(WORDNET.name,))
LEARNED_MODEL = Option(
    name="learned_model",
    default="",
    summary="A learned metric such as BLEURT, a sequence classifier with one output in the form of "
    "transformers: a folder, or a name on the hub.",
)
LEARNED = MetricRef("learned", "scoring.metrics.learned:Learned", options=(LEARNED_MODEL.name,))
MAUVE = MetricRef("mauve", "scoring.metrics.mauve:Mauve", options=(MAUVE_MODEL.name,))
CONSISTENCY = MetricRef(
    "consistency", "scoring.metrics.entailed:Consistency", {"part": "recall"}, (ENTAILMENT.name,)
)
TAGGERS = {
    scheme: Option(
        name=f"{scheme}_tagger",
        default="",
        summary=f"The folder of a tagger made by `python -m scoring train-tagger`, for {words}.",
    )
    for scheme, words in ((INTENT, "citation intents"), (CORWA, "discourse tags"))
}
#: The splitter that goes by the rules and the scheme.
AUTO = "auto"
SENTENCES = Option(
    name="discourse_sentences",
    default=AUTO,
    summary="What splits texts for the taggers: the rules of this site, spaCy's sentencizer with the pieces "
    "glued as CiteBench does for intents, or Punkt glued as CiteBench does for CORWA; auto is Punkt for "
    "CORWA under the official rules and the site's own otherwise.",
    choices=(AUTO, "rules", "sentencizer", "punkt"),
)
#: Which sentences count: on both sides all, or as in the original of gold only those with a one-digit mark.
SYMMETRIC, ORIGINAL = "symmetric", "original"
TREATMENT = Option(
    name="discourse",
    default=SYMMETRIC,
    summary="Which sentences are tagged: all of gold and run alike, or of gold only those with a one-digit "
    "mark, as the original has it and the official rules do.",
    choices=(SYMMETRIC, ORIGINAL),
)
SUPPLIED, TAGGER = "supplied", "tagger"
LABELS = Option(
    name="discourse_labels",
    default=SUPPLIED,
    summary="Whether labels that a run or the gold brings along go before the tagger's, or only the tagger's "
    "count.",
    choices=(SUPPLIED, TAGGER),
)
LABEL_SETS = {
    INTENT: Option(
        name="intent_labels",
        default="Background,CompareOrContrast,Extends,Future,Motivation,Uses",
        summary="The citation intents, parted by commas.",
    ),
    CORWA: Option(
        name="corwa_labels",
        default="Multi_summ,Narrative_cite,Other,Reflection,Single_summ,Transition",
        summary="The discourse tags, parted by commas.",
    ),
}
DISCOURSE_OPTIONS = (SENTENCES, TREATMENT, LABELS, *TAGGERS.values(), *LABEL_SETS.values())
METRICS = {
    CORRECTED: (
        *PUBLISHED,
        *(_rouge(kind, is_stemmed=True) for kind in ("l", "1", "2")),
        MetricRef("bleu", "scoring.metrics.sacrebleu:Bleu"),
        MetricRef("chrf", "scoring.metrics.sacrebleu:Chrf"),
        MetricRef("length", f"{TEXTS}:Length", {"column": "words"}),
        MetricRef("length_ratio", f"{TEXTS}:LengthRatio", {"column": "words"}),
        MetricRef("self_reference", f"{TEXTS}:SelfReference", {"column": "speaks_of_itself"}),
        *_divergences(DIVERGENCE),
        *_divergences(SMOOTHED_DIVERGENCE, "_smoothed"),
    ),
    OFFICIAL: (
        *PUBLISHED,
        *_divergences(DIVERGENCE, is_official=True),
        *_divergences(PUBLISHED_DIVERGENCE, "_published", is_official=True),
        *_divergences(SMOOTHED_DIVERGENCE, "_smoothed", is_official=True),
    ),
}


def further_metrics(rules: str, options: Options) -> tuple[MetricRef, ...]:
    """What the options add under the corrected rules. Raises OptionRefused."""
    source, _ = entailment_source(options)
    if rules != CORRECTED:
        return ()
    return (
        *([METEOR] if options[WORDNET.name] else []),
        *([LEARNED] if options[LEARNED_MODEL.name] else []),
        *([MAUVE] if options[MAUVE_MODEL.name] else []),
        *([CONSISTENCY] if source != NOBODY else []),
    )


def label_set(scheme: str, options: Options) -> tuple[str, ...]:
    """The labels of a scheme, in the order of the option. Raises OptionRefused."""
    option = LABEL_SETS[scheme]
    value = options.get(option.name, option.default)
    labels = tuple(label.strip() for label in value.split(","))
    if len(labels) < 2 or not all(labels) or len(set(labels)) < len(labels):
        raise OptionRefused(f"option {option.name}={value}: expected two or more different labels")
    return labels


OPTIONS = (*BERTSCORE_OPTIONS, WORDNET, LEARNED_MODEL, MAUVE_MODEL, ENTAILMENT, *DISCOURSE_OPTIONS)
