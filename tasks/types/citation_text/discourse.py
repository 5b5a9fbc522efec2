"""Which labels of sentences the discourse metrics count, and the options that say who gives them.

Intents are those of ACL-ARC (Jurgens et al. 2018), discourse tags those of CORWA (Li et al. 2022), as
CiteBench takes them (Funkquist et al. 2023, section 5).
"""

from __future__ import annotations

from tasks.types.base import Option, OptionRefused, Options
from tasks.types.citation_text.labels import CORWA, INTENT

#: Which sentences count: on both sides all, or as in the original of gold only those with a one-digit mark.
SYMMETRIC, ORIGINAL = "symmetric", "original"
SUPPLIED, TAGGER = "supplied", "tagger"
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
    "count.",
    choices=(SUPPLIED, TAGGER),
)
TAGGERS = {
    scheme: Option(
        name=f"{scheme}_tagger",
        default="",
        summary=f"The folder of a tagger made by `python -m scoring train-tagger`, for {words}.",
    )
    for scheme, words in ((INTENT, "citation intents"), (CORWA, "discourse tags"))
}
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


def label_set(scheme: str, options: Options) -> tuple[str, ...]:
    """The labels of a scheme, in the order of the option. Raises OptionRefused."""
    option = LABEL_SETS[scheme]
    value = options.get(option.name, option.default)
    labels = tuple(label.strip() for label in value.split(","))
    if len(labels) < 2 or not all(labels) or len(set(labels)) < len(labels):
        raise OptionRefused(f"option {option.name}={value}: expected two or more different labels")
    return labels
