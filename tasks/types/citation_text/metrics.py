"""The metrics of the task type, by reference."""

from __future__ import annotations

from tasks.types.base import CORRECTED, OFFICIAL, Options
from tasks.types.citation_text.discourse import DISCOURSE_OPTIONS
from tasks.types.citation_text.labels import KINDS
from tasks.types.citation_text.options import BERTSCORE_OPTIONS, ENGINE, LEARNED_MODEL, WORDNET
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


BERTSCORE = MetricRef(
    "bertscore_f1",
    "scoring.metrics.bertscore:BertScore",
    {"part": "f1"},
    tuple(option.name for option in BERTSCORE_OPTIONS),
)
PUBLISHED = (*(_rouge(kind) for kind in ("l", "1", "2")), BERTSCORE)
METEOR = MetricRef("meteor_nltk", "scoring.metrics.meteor:NltkMeteor", options=(WORDNET.name,))
LEARNED = MetricRef("learned", "scoring.metrics.learned:Learned", options=(LEARNED_MODEL.name,))
MAUVE = MetricRef("mauve", "scoring.metrics.mauve:Mauve", options=(MAUVE_MODEL.name,))
CONSISTENCY = MetricRef(
    "consistency", "scoring.metrics.entailed:Consistency", {"part": "recall"}, (ENTAILMENT.name,)
)
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
