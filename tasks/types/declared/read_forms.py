"""Read the settings in `task.toml` that differ between forms of task, such as ranking
and labels.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tasks.types.declared.keys import TomlTable, describe_kind_of_toml_value
from tasks.types.forms.bio import BIO
from tasks.types.forms.evidence import EvidenceSetsTask, EvidenceTask, SingleVerdictTask
from tasks.types.forms.instances import (
    COUNT_UNANSWERED_AS_WRONG,
    JSON_FILE_FORMATS,
    LEAVE_UNANSWERED_OUT,
    Dimension,
    InstanceTask,
)
from tasks.types.forms.labels import (
    NONE,
    OPTIONAL_PROBABILITIES,
    REQUIRED_PROBABILITIES,
    LabelTask,
    SubstituteLabel,
    UnansweredTreatment,
)
from tasks.types.forms.numbers import AVERAGING_FUNCTIONS, NumberTask
from tasks.types.forms.rankings import DEFAULT_MAX_RANKING_LENGTH, RankingTask
from tasks.types.forms.spans import SpanTask
from tasks.types.forms.tags import ENTITY_TYPE_DIMENSION, TagTask
from tasks.types.forms.texts import TextTask
from tasks.types.jsonlines import MAX_TEXT_CHARACTERS

GoldSettings = Mapping[str, Any]
#: `Reading` functions build a task from `task.toml` for one form of task.
#: `Reading` functions receive [task.gold], [task.answer], [task] and the rule sets.
#: Each rule set defines the treatment of missing answers.
FormReader = Callable[
    [GoldSettings, TomlTable, TomlTable, Sequence[TomlTable]], InstanceTask | None
]
ANSWER_FIELD_KEY = "field"
#: `GOLD_FORMATS_BY_FORM` lists gold formats for forms of task that refuse the default formats.
GOLD_FORMATS_BY_FORM = {"tags": (*JSON_FILE_FORMATS, BIO)}


def _read_label_form(
    settings: GoldSettings,
    answer: TomlTable,
    task: TomlTable,
    rules: Sequence[TomlTable],
) -> InstanceTask | None:
    labels = answer.texts("labels")
    several, any_of = answer.read_flag("several"), answer.read_flag("any_of")
    if several and any_of:
        answer.add_problem_at_key(
            "any_of", "“several” and “any_of” exclude each other", "one of them"
        )
    positive, abstain = answer.text("positive", ""), answer.text("abstain", "")
    if positive and positive not in labels:
        answer.add_problem_at_key(
            "positive", f"“{positive}” is no label", f"one of {', '.join(labels)}"
        )
    if abstain in labels:
        answer.add_problem_at_key(
            "abstain",
            f"“{abstain}” is a label too",
            "a word that the gold does not have",
        )
    words = (NONE, OPTIONAL_PROBABILITIES, REQUIRED_PROBABILITIES)
    probabilities, confidence = (
        answer.choice(name, words, NONE) for name in ("probabilities", "confidence")
    )
    missing, abstained = (
        _read_treatments(rules, name, labels) for name in ("missing", "abstained")
    )
    if not labels:
        return None
    return LabelTask(
        **settings,
        answer_field=answer.text(ANSWER_FIELD_KEY, ""),
        labels=labels,
        several=several,
        any_of=any_of,
        positive=positive,
        abstain=abstain,
        missing=missing,
        abstained=abstained,
        probabilities=probabilities,
        confidence=confidence,
    )


def _read_treatments(
    rules: Sequence[TomlTable], name: str = "missing", labels: Sequence[str] = ()
) -> dict[str, UnansweredTreatment]:
    """Return a mapping from each rule set to its treatment of instances without an
    answer.
    """
    return {rule.text("name"): _read_treatment(rule, name, labels) for rule in rules}


def _read_treatment(
    rule: TomlTable, name: str, labels: Sequence[str]
) -> UnansweredTreatment:
    """Return `wrong` or `left-out`, the treatment of instances without an answer in a
    rule set. In classification tasks, `task.toml` may instead name a label that
    replaces missing answers.
    """
    value = rule.value(name, COUNT_UNANSWERED_AS_WRONG)
    if isinstance(value, dict) and labels:
        own = rule.table(name)
        label, confidence = (
            own.choice("label", labels),
            own.number("confidence", least=0),
        )
        own.close()
        if confidence is not None and confidence > 1:
            own.add_problem_at_key(
                "confidence", f"“confidence” is {confidence:g}", "a number from 0 to 1"
            )
        return SubstituteLabel(label, confidence)
    if value not in (COUNT_UNANSWERED_AS_WRONG, LEAVE_UNANSWERED_OUT):
        found = (
            f"“{value}”"
            if isinstance(value, str)
            else describe_kind_of_toml_value(value)
        )
        expected = f"{COUNT_UNANSWERED_AS_WRONG}, {LEAVE_UNANSWERED_OUT}" + (
            ', or { label = "…" }' if labels else ""
        )
        rule.add_problem_at_key(name, f"“{name}” is {found}", expected)
    return (
        COUNT_UNANSWERED_AS_WRONG
        if value != LEAVE_UNANSWERED_OUT
        else LEAVE_UNANSWERED_OUT
    )


def _read_number_form(
    settings: GoldSettings,
    answer: TomlTable,
    task: TomlTable,
    rules: Sequence[TomlTable],
) -> InstanceTask | None:
    least, most, step = (answer.number(name) for name in ("least", "most", "step"))
    if least is not None and most is not None and least >= most:
        answer.add_problem_at_key("most", f"“most” is {most:g}", f"more than {least:g}")
    if step is not None and step <= 0:
        answer.add_problem_at_key("step", f"“step” is {step:g}", "a number above 0")
    reduce = answer.choice("reduce", AVERAGING_FUNCTIONS, "mean")
    field = answer.text(ANSWER_FIELD_KEY, "")
    return NumberTask(
        **settings, answer_field=field, least=least, most=most, step=step, reduce=reduce
    )


def _read_text_form(
    settings: GoldSettings,
    answer: TomlTable,
    task: TomlTable,
    rules: Sequence[TomlTable],
) -> InstanceTask | None:
    longest = int(
        answer.number("longest", MAX_TEXT_CHARACTERS, least=1) or MAX_TEXT_CHARACTERS
    )
    field = answer.text(ANSWER_FIELD_KEY, "")
    return TextTask(
        **settings, answer_field=field, longest=longest, missing=_read_treatments(rules)
    )


def _read_span_form(
    settings: GoldSettings,
    answer: TomlTable,
    task: TomlTable,
    rules: Sequence[TomlTable],
) -> InstanceTask | None:
    return SpanTask(
        **settings,
        answer_field=answer.text(ANSWER_FIELD_KEY, ""),
        text=answer.text("text", "text"),
        labels=answer.texts("labels", ()),
        overlap=answer.read_flag("overlap"),
        missing=_read_treatments(rules),
    )


def _read_tag_form(
    settings: GoldSettings,
    answer: TomlTable,
    task: TomlTable,
    rules: Sequence[TomlTable],
) -> InstanceTask | None:
    labels, tokens = answer.texts("labels"), answer.text("tokens", "tokens")
    for label in labels:
        if label != label.strip("- "):
            message = f"the type “{label}” begins or ends with a hyphen or a space"
            answer.add_problem_at_key(
                "labels", message, "the types without `B-` and `I-`"
            )
    if tokens == settings["field"]:
        answer.add_problem_at_key(
            "tokens", f"“{tokens}” is the answer", "the field with the tokens"
        )
    if tokens not in settings["shown"]:
        settings = {**settings, "shown": (*settings["shown"], tokens)}
    known: tuple[Dimension, ...] = settings["dimensions"]
    if not any(own.field == settings["field"] for own in known):
        if any(own.name == ENTITY_TYPE_DIMENSION for own in known):
            expected = (
                f"another name; “{ENTITY_TYPE_DIMENSION}” are the types of entities"
            )
            task.add_problem_at_key(
                "dimensions", f"“{ENTITY_TYPE_DIMENSION}” is of another field", expected
            )
        of_types = Dimension(name=ENTITY_TYPE_DIMENSION, field=settings["field"])
        settings = {**settings, "dimensions": (*known, of_types)}
    field, repair = answer.text(ANSWER_FIELD_KEY, ""), answer.read_flag("repair")
    if not labels:
        return None
    return TagTask(
        **settings,
        answer_field=field,
        labels=labels,
        tokens=tokens,
        repair=repair,
        missing=_read_treatments(rules),
    )


def _read_pool_settings(
    task: TomlTable, id_field: str, content: str, content_field: str
) -> dict[str, Any]:
    """Return the settings of the pool, which is the file of documents or candidates.
    ``content`` is the key in `task.toml` whose value names the field with the document
    text.
    """
    pool = task.table("pool")
    if "file" in pool and "/" in pool.text("file"):
        pool.add_problem_at_key(
            "file",
            f"“{pool.text('file')}” is no name of a file",
            "a name without a folder",
        )
    facts = {
        "pool_file": pool.text("file"),
        "pool_id": pool.text("id", id_field),
        "pool_content": pool.text(content, content_field),
        "pool_shown": pool.texts("shown", ()),
    }
    pool.close()
    return facts


def _read_evidence_form(
    settings: GoldSettings,
    answer: TomlTable,
    task: TomlTable,
    rules: Sequence[TomlTable],
) -> InstanceTask | None:
    pool, labels = (
        _read_pool_settings(task, "doc_id", "sentences", "abstract"),
        answer.texts("labels"),
    )
    shape = answer.choice("shape", ("sets", "one"))
    given = answer.text("given", "")
    if given and given not in settings["shown"]:
        settings = {**settings, "shown": (*settings["shown"], given)}
    field, abstain = answer.text(ANSWER_FIELD_KEY, ""), answer.text("abstain", "")
    facts = {
        **settings,
        **pool,
        "given": given,
        "answer_field": field,
        "abstain": abstain,
    }
    shapes: dict[str, type[EvidenceTask]] = {
        "sets": EvidenceSetsTask,
        "one": SingleVerdictTask,
    }
    if not labels or not shape:
        return None
    return shapes[shape](**facts, labels=labels, missing=_read_treatments(rules))


def _read_ranking_form(
    settings: GoldSettings,
    answer: TomlTable,
    task: TomlTable,
    rules: Sequence[TomlTable],
) -> InstanceTask | None:
    candidates = answer.text("candidates", "")
    facts: dict[str, Any] = {}
    if not candidates:
        facts = _read_pool_settings(task, "id", "text", "text")
    elif candidates not in settings["shown"]:
        settings = {**settings, "shown": (*settings["shown"], candidates)}
    longest = answer.number("longest", DEFAULT_MAX_RANKING_LENGTH, least=1)
    return RankingTask(
        **settings,
        **facts,
        answer_field=answer.text(ANSWER_FIELD_KEY, ""),
        candidates=candidates,
        query=answer.text("query", settings["shown"][0] if settings["shown"] else ""),
        longest=int(longest or DEFAULT_MAX_RANKING_LENGTH),
    )


READERS_BY_FORM: Mapping[str, FormReader] = {
    "labels": _read_label_form,
    "ranking": _read_ranking_form,
    "text": _read_text_form,
    "spans": _read_span_form,
    "tags": _read_tag_form,
    "evidence": _read_evidence_form,
    "numbers": _read_number_form,
}
