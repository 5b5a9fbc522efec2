"""The options of the task type."""

from __future__ import annotations

from tasks.types.base import Option
from tasks.types.citation_text.discourse import DISCOURSE_OPTIONS
from tasks.types.positional_citations.options import ENTAILMENT, MAUVE_MODEL

#: The model of the published BERTScores; of its layers the fifth counts.
PUBLISHED_MODEL = "distilbert-base-uncased"

BERTSCORE = Option(
    name="bertscore",
    default="no",
    summary="Whether BERTScore is computed; naming another model turns it on as well. A run waits for its "
    "model where that is not there.",
    choices=("no", "yes"),
)
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
ENGINE = Option(
    name="engine",
    default="own",
    summary="What computes ROUGE and BERTScore: this program, or the packages that it is equal to, "
    "rouge-score and bert-score.",
    choices=("own", "package"),
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
BERTSCORE_OPTIONS = (
    *(BERTSCORE, BERTSCORE_MODEL, BERTSCORE_LAYER, BERTSCORE_IDF, BERTSCORE_BASELINE),
    ENGINE,
)
OPTIONS = (*BERTSCORE_OPTIONS, WORDNET, LEARNED_MODEL, MAUVE_MODEL, ENTAILMENT, *DISCOURSE_OPTIONS)
