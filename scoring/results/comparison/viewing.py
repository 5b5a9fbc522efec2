"""Display gold and answers with the marks of a metric, and the input fields of declared
tasks in the view of the task.

A metric computes the marks, which do not depend on equal texts.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from django.utils.translation import get_language, gettext as _

from citeboard.core.words import format_thousands
from scoring.results.board.formatting import display_name_of_metric
from scoring.results.comparison.pieces import (
    CITATION_POSITION,
    GOLD,
    IN_GOLD_AND_ANSWER,
    ONLY_IN_ANSWER,
    PARTLY_RIGHT,
    DisplayedInstanceLine,
    DisplayedInstancePart,
    MarkedTextPiece,
    ValuesByName,
)
from tasks.types import TaskType, base
from tasks.types.base import AnswerPart, MeasureCredits, PartCredits
from tasks.types.forms.instances import get_value_at_path
from tasks.types.forms.views import InstanceLayout, ValueAtPath, lay_out_instance
from tasks.types.guarded.json_reader import read_json_line
from tasks.types.guarded.limits import TextUnreadable
from tasks.types.views import (
    POST_LAYOUT,
    REFERENCE_LAYOUT,
    TABLE_LAYOUT,
    InstanceViewSettings,
    convert_key_to_words,
)

AnswerParts = Sequence[AnswerPart]
SIGNS_BY_MARK_KIND = {
    IN_GOLD_AND_ANSWER: "✓",
    PARTLY_RIGHT: "½",
    ONLY_IN_ANSWER: "✗",
    GOLD: "–",
}
#: If an item of a displayed list has more than MIN_WORDS_OF_LONG_ITEM words, each item gets a line.
MIN_WORDS_OF_LONG_ITEM = 5
_BRACKETS_PATTERN = re.compile(r"[\[\]{}\"]")


@dataclass(frozen=True, kw_only=True)
class VisibleInstanceValues:
    """The values of an instance that the viewer may see, for tasks whose answers have
    parts. The mappings contain values of runs, keyed by the name of the run.

    Earlier versions stored the texts ``given``, ``gold_text`` and ``answer_texts``
    instead of fields and parts. ``metric`` is the metric whose marks (grades of parts)
    are displayed, if the metric has marks.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    given: str = ""
    gold: AnswerParts = ()
    gold_text: str = ""
    answers: Mapping[str, AnswerParts] = field(default_factory=dict)
    answer_texts: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, ValuesByName] = field(default_factory=dict)
    marks: Mapping[str, Sequence[MeasureCredits]] = field(default_factory=dict)
    metric: str = ""
    pool: int = 0


def build_instance_parts_with_marks(
    kind: TaskType, sides: VisibleInstanceValues
) -> list[DisplayedInstancePart]:
    """Return the input fields, the gold and each answer as displayed parts of an
    instance.
    """
    form = kind.drawn_as
    text: Sequence[str] = ""
    parts = []
    if kind.declared is None:
        given = [
            DisplayedInstanceLine([MarkedTextPiece(line)])
            for line in sides.given.split("\n")
            if line.strip()
        ]
        parts += [DisplayedInstancePart(_("Given"), "given", given)] if given else []
    else:
        view = kind.declared.view
        fields = sides.fields or _parse_stored_input_fields(view, sides.given)
        text = _find_text_with_positions(view, fields)
        if fields or sides.pool:
            parts.append(_build_input_fields_part(view, fields, sides.pool))
    gold = sides.gold or split_answer_into_unmarked_parts(form, sides.gold_text)
    if gold:
        lines = _build_answer_lines(form, gold, _find_marks_of_gold(sides), GOLD, text)
        parts.append(DisplayedInstancePart(_("Gold"), GOLD, lines))
    for name, kept in sides.answers.items():
        answer = kept or split_answer_into_unmarked_parts(
            form, sides.answer_texts.get(name, "")
        )
        chosen = select_marks_of_metric(sides.marks.get(name, ()), sides.metric)
        lines = (
            _build_answer_lines(form, answer, chosen.answer, ONLY_IN_ANSWER, text)
            if answer
            else []
        )
        said = sides.beside.get(name, ())
        if form == base.RANKING_VIEW:
            lines = _append_candidate_scores(lines, answer, said)
        heading = _("Answer of %(system)s") % {"system": name} if name else _("Answer")
        is_ranking = form == base.RANKING_VIEW
        note = (
            _build_marking_metric_note(kind, chosen, sides.metric)
            if any(line.kind for line in lines)
            else ""
        )
        parts.append(
            DisplayedInstancePart(heading, ONLY_IN_ANSWER, lines, is_ranking, note=note)
        )
        if said and not is_ranking:
            heading = (
                _("Probabilities of %(system)s") % {"system": name}
                if name
                else _("Probabilities")
            )
            labels = {part.name for part in gold}
            parts.append(
                DisplayedInstancePart(
                    heading,
                    ONLY_IN_ANSWER,
                    _build_label_probability_lines(said, labels),
                )
            )
    return parts


EMPTY_MARKS = MeasureCredits((), ())


def select_marks_of_metric(
    marks: Sequence[MeasureCredits], metric: str
) -> MeasureCredits:
    """Return the marks of the metric or, if the metric has no marks, of the first
    metric with marks.
    """
    own = (one for one in marks if metric in one.metrics)
    return next(own, marks[0] if marks else EMPTY_MARKS)


def _build_marking_metric_note(
    kind: TaskType, marks: MeasureCredits, metric: str
) -> str:
    name = metric if metric in marks.metrics else next(iter(marks.metrics), "")
    return _("marked by %(measure)s") % {"measure": display_name_of_metric(name, kind)}


def _find_marks_of_gold(sides: VisibleInstanceValues) -> PartCredits:
    """Return the marks of the parts of gold, which depend on the answer, or no marks if
    several answers are shown.
    """
    if len(sides.answers) != 1:
        return ()
    [name] = sides.answers
    return select_marks_of_metric(sides.marks.get(name, ()), sides.metric).gold


# -- The given fields


def _parse_stored_input_fields(
    view: InstanceViewSettings, given: str
) -> dict[str, Any]:
    """Return the input fields of an instance from a text with one field per line, which
    earlier versions stored.
    """
    texts: dict[str, str] = {}
    for line in given.split("\n") if given else ():
        name, colon, value = line.partition(": ")
        if colon and name in view.shown and name not in texts:
            texts[name] = value
        elif texts:
            texts[next(reversed(texts))] += f"\n{line}"
    fields: dict[str, Any] = {**texts}
    for name, value in texts.items():
        if value.startswith(("[", "{")):
            with suppress(TextUnreadable):
                fields[name] = read_json_line(value)
    return fields


def _build_input_fields_part(
    view: InstanceViewSettings, fields: Mapping[str, Any], pool: int
) -> DisplayedInstancePart:
    layout = lay_out_instance(view, fields)
    language = (get_language() or "").partition("-")[0]
    facts = [_build_field_line(view, leaf, language) for leaf in layout.rest]
    if pool:
        facts.append(
            DisplayedInstanceLine(
                [], words=_("to choose from: %(n)s") % {"n": format_thousands(pool)}
            )
        )
    lines = _build_main_field_lines(view, layout, language)
    # If an instance has no field of the task's view, all fields are shown as a table.
    kind = layout.kind if lines else TABLE_LAYOUT
    return DisplayedInstancePart(_("Given"), "given", lines, layout=kind, facts=facts)


def _build_main_field_lines(
    view: InstanceViewSettings, layout: InstanceLayout, language: str
) -> list[DisplayedInstanceLine]:
    texts = {role: format_json_value(leaf.value) for role, leaf in layout.main.items()}
    if layout.kind == REFERENCE_LAYOUT:
        return _build_reference_lines(texts)
    if layout.kind == POST_LAYOUT:
        by = " · ".join(texts[role] for role in ("author", "date") if role in texts)
        return (
            [DisplayedInstanceLine([MarkedTextPiece(texts["text"])], words=by)]
            if "text" in texts
            else []
        )
    return [
        DisplayedInstanceLine(
            [MarkedTextPiece(texts[role])], label=view.label(leaf.path, language)
        )
        for role, leaf in layout.main.items()
    ]


def _build_reference_lines(texts: Mapping[str, str]) -> list[DisplayedInstanceLine]:
    """Return a bibliographic reference as displayed lines, with the title marked."""
    pieces = []
    for role in ("author", "title", "venue", "year"):
        if role in texts:
            text = texts[role].rstrip(" .,")
            pieces += [
                MarkedTextPiece(text, "title" if role == "title" else ""),
                MarkedTextPiece(". "),
            ]
    return [DisplayedInstanceLine(pieces[:-1])] if pieces else []


def _build_field_line(
    view: InstanceViewSettings, leaf: ValueAtPath, language: str
) -> DisplayedInstanceLine:
    return DisplayedInstanceLine(
        [MarkedTextPiece(format_json_value(leaf.value))],
        label=view.label(leaf.path, language),
    )


def format_json_value(value: Any) -> str:
    """Return a JSON value as readable text."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        texts = [format_json_value(own) for own in value]
        are_long = any(len(text.split()) >= MIN_WORDS_OF_LONG_ITEM for text in texts)
        return ("\n" if are_long else ", ").join(texts)
    if isinstance(value, Mapping):
        named = (
            (convert_key_to_words(name), format_json_value(own))
            for name, own in value.items()
        )
        return "; ".join(f"{name}: {text}" for name, text in named)
    return "" if value is None else str(value)


# -- Gold and answers


def determine_mark_kind(credit: float | None, side: str) -> str:
    """Return the kind of a mark, which is right, partly right or wrong for parts of
    answers, and found, partly found or missed for parts of gold.
    """
    if credit is None:
        return ""
    if credit >= 1:
        return IN_GOLD_AND_ANSWER
    return PARTLY_RIGHT if credit > 0 else side


def describe_mark(credit: float | None, side: str) -> str:
    """Return the words that describe the mark of a part, such as partly right."""
    kind = determine_mark_kind(credit, side)
    if kind == PARTLY_RIGHT:
        words = _("partly found: %(n)s") if side == GOLD else _("partly right: %(n)s")
        return words % {"n": f"{credit:.2g}"}
    if kind == IN_GOLD_AND_ANSWER:
        return _("found") if side == GOLD else _("right")
    return {GOLD: _("missed"), ONLY_IN_ANSWER: _("wrong")}.get(kind, "")


def _build_answer_lines(
    form: str, parts: AnswerParts, credits_: PartCredits, side: str, text: Sequence[str]
) -> list[DisplayedInstanceLine]:
    """Return displayed lines for an answer, first the text in which parts have
    positions, and then each part.
    """
    padded = [*credits_, *[None] * len(parts)]
    lines = [
        _build_answer_part_line(form, part, credit, side)
        for part, credit in zip(parts, padded, strict=False)
    ]
    if text and any(part.start >= 0 for part in parts):
        return [_mark_parts_in_text(text, parts, padded, side, form), *lines]
    return lines


def _build_answer_part_line(
    form: str, part: AnswerPart, credit: float | None, side: str
) -> DisplayedInstanceLine:
    kind, told = determine_mark_kind(credit, side), [describe_mark(credit, side)]
    text = part.text or part.name
    place = ""
    if form == base.EVIDENCE_VIEW and part.level:
        numbers = {"numbers": part.name}
        place = (
            _("sentences %(numbers)s")
            if "," in part.name
            else _("sentence %(numbers)s")
        ) % numbers
        text = part.text or place
    elif part.start >= 0:
        place = _("at %(place)s") % {"place": part.name}
    elif part.text:
        place = part.name
    note = part.note
    if form == base.RANKING_VIEW and note:
        note = _("grade %(n)s") % {"n": note}
    words = " · ".join(filter(None, (note, place if place != text else "", *told)))
    return DisplayedInstanceLine(
        [MarkedTextPiece(text, kind)],
        kind,
        words,
        number=part.number + 1,
        is_below=bool(part.level),
    )


def _find_text_with_positions(
    view: InstanceViewSettings, fields: Mapping[str, Any]
) -> Sequence[str]:
    """Return the text in which answers have positions, as a sequence of characters or
    tokens.
    """
    value = get_value_at_path(fields, view.marked) if view.marked else None
    if isinstance(value, list):
        return [f"{' '.join(str(own).split()) or '·'} " for own in value]
    return value if isinstance(value, str) else ""


def _mark_parts_in_text(
    text: Sequence[str],
    parts: AnswerParts,
    credits_: Sequence[float | None],
    side: str,
    form: str,
) -> DisplayedInstanceLine:
    """Return the text as a displayed line in which each part is marked, where only the
    first of overlapping parts is marked.
    """
    pieces, end = [], 0
    placed = sorted(zip(parts, credits_, strict=False), key=lambda pair: pair[0].start)
    for part, credit in placed:
        if part.start < end or part.end > len(text):
            continue
        kind = determine_mark_kind(credit, side)
        pieces += [
            MarkedTextPiece("".join(text[end : part.start])),
            MarkedTextPiece(
                "".join(text[part.start : part.end]).rstrip(),
                kind or CITATION_POSITION,
                SIGNS_BY_MARK_KIND.get(kind, ""),
            ),
            MarkedTextPiece(" " if form == base.TAGS_VIEW else ""),
        ]
        end = part.end
    pieces.append(MarkedTextPiece("".join(text[end:])))
    return DisplayedInstanceLine([piece for piece in pieces if piece.text])


def _append_candidate_scores(
    lines: list[DisplayedInstanceLine], parts: AnswerParts, said: ValuesByName
) -> list[DisplayedInstanceLine]:
    """Return the lines of ranked candidates with the scores that the run gives to the
    candidates.
    """
    scores = dict(said)
    return [
        replace(line, words=" · ".join(filter(None, (line.words, score))))
        for line, part in zip(lines, parts, strict=True)
        for score in [f"{scores[part.name]:.4g}" if part.name in scores else ""]
    ]


def _build_label_probability_lines(
    said: ValuesByName, labels: set[str]
) -> list[DisplayedInstanceLine]:
    """Return the probabilities that a run gives to labels as lines, the most likely
    label first, with the gold's label marked.
    """
    lines = []
    for label, number in sorted(said, key=lambda pair: -pair[1]):
        words = [_("gold")] if label in labels else []
        lines.append(
            DisplayedInstanceLine(
                [MarkedTextPiece(label)], words=" · ".join([*words, f"{number:.4g}"])
            )
        )
    return lines


def split_answer_into_unmarked_parts(form: str, text: str) -> list[AnswerPart]:
    """Return the lines of an answer without marks, for answers that earlier versions
    stored without parts.
    """
    lines = text.split("\n") if text else []
    if form == base.EVIDENCE_VIEW:
        lines = [_BRACKETS_PATTERN.sub("", line) for line in lines]
    return [*map(AnswerPart, lines)]


LAST_RANK_BY_OUTCOME = {"first-1": 1, "first-2-3": 3, "first-4-10": 10}
NOT_FOUND_OUTCOME = "first-none"


def find_outcomes_from_marks(form: str, shown: base.ShownInstance) -> set[str]:
    """Return the kinds of the first marks of an answer, such as right and wrong, or no
    kinds if the answer has no marks.
    """
    marks = shown.marks[0] if shown.marks else EMPTY_MARKS
    if form == base.RANKING_VIEW and marks.gold:
        place = next(
            (
                part.number + 1
                for part, credit in zip(shown.answer_parts, marks.answer, strict=False)
                if credit
            ),
            LAST_RANK_BY_OUTCOME["first-4-10"] + 1,
        )
        return {
            next(
                (kind for kind, last in LAST_RANK_BY_OUTCOME.items() if place <= last),
                NOT_FOUND_OUTCOME,
            )
        }
    if form == base.TAGS_VIEW:
        has = {
            "entity-found": 1.0 in marks.gold,
            "entity-missed": 0.0 in marks.gold,
            "entity-wrong": 0.0 in marks.answer,
        }
        return {kind for kind, is_there in has.items() if is_there}
    return set()
