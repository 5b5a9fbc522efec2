"""The options of the task type."""

from __future__ import annotations

from tasks.types.base import OFFICIAL, Option, OptionRefused, Options
from tasks.types.positional_citations.claims import ClaimRules
from tasks.types.positional_citations.sentences import SPLITTERS

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
OPTIONS = (ENTAILMENT, PARSER, SPLITTER, MERGE_GROUPS, MAUVE_MODEL, PASSAGES)


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
