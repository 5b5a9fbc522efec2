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
from scoring.results.board.formatting import metric_label
from scoring.results.comparison.pieces import (
    ANSWER,
    BOTH,
    GOLD,
    PARTLY,
    PLACE,
    Beside,
    InstanceLine,
    InstancePart,
    TextPiece,
)
from tasks.types import TaskType, base
from tasks.types.base import AnswerPart, Credits, Marks
from tasks.types.forms.instances import at_path
from tasks.types.forms.views import Layout, Leaf, laid_out
from tasks.types.guarded.json_reader import read_json_line
from tasks.types.guarded.limits import Unreadable
from tasks.types.views import POST, REFERENCE, TABLE, View, in_words

Parts = Sequence[AnswerPart]
SIGNS_BY_MARK_KIND = {BOTH: "✓", PARTLY: "½", ANSWER: "✗", GOLD: "–"}
#: If an item of a displayed list has more than LONG_ITEM_WORDS words, each item gets a line.
LONG_ITEM_WORDS = 5
_BRACKETS_PATTERN = re.compile(r"[\[\]{}\"]")


@dataclass(frozen=True, kw_only=True)
class InstanceSides:
    """The values of an instance that the viewer may see, for tasks whose answers have
    parts. The mappings contain values of runs, keyed by the name of the run.

    Earlier versions stored the texts ``given``, ``gold_text`` and ``answer_texts``
    instead of fields and parts. ``metric`` is the metric whose marks (grades of parts)
    are displayed, if the metric has marks.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    given: str = ""
    gold: Parts = ()
    gold_text: str = ""
    answers: Mapping[str, Parts] = field(default_factory=dict)
    answer_texts: Mapping[str, str] = field(default_factory=dict)
    beside: Mapping[str, Beside] = field(default_factory=dict)
    marks: Mapping[str, Sequence[Marks]] = field(default_factory=dict)
    metric: str = ""
    pool: int = 0


def instance_side_parts(kind: TaskType, sides: InstanceSides) -> list[InstancePart]:
    """Return the input fields, the gold and each answer as displayed parts of an
    instance.
    """
    form = kind.drawn_as
    text: Sequence[str] = ""
    parts = []
    if kind.declared is None:
        given = [
            InstanceLine([TextPiece(line)])
            for line in sides.given.split("\n")
            if line.strip()
        ]
        parts += [InstancePart(_("Given"), "given", given)] if given else []
    else:
        view = kind.declared.view
        fields = sides.fields or _parse_stored_input_fields(view, sides.given)
        text = _text_with_positions(view, fields)
        if fields or sides.pool:
            parts.append(_input_fields_part(view, fields, sides.pool))
    gold = sides.gold or unmarked_answer_parts(form, sides.gold_text)
    if gold:
        lines = _answer_lines(form, gold, _gold_credits(sides), GOLD, text)
        parts.append(InstancePart(_("Gold"), GOLD, lines))
    for name, kept in sides.answers.items():
        answer = kept or unmarked_answer_parts(form, sides.answer_texts.get(name, ""))
        chosen = marks_of_metric(sides.marks.get(name, ()), sides.metric)
        lines = (
            _answer_lines(form, answer, chosen.answer, ANSWER, text) if answer else []
        )
        said = sides.beside.get(name, ())
        if form == base.RANKING:
            lines = _append_candidate_scores(lines, answer, said)
        heading = _("Answer of %(system)s") % {"system": name} if name else _("Answer")
        is_ranking = form == base.RANKING
        note = (
            _marking_metric_note(kind, chosen, sides.metric)
            if any(line.kind for line in lines)
            else ""
        )
        parts.append(InstancePart(heading, ANSWER, lines, is_ranking, note=note))
        if said and not is_ranking:
            heading = (
                _("Probabilities of %(system)s") % {"system": name}
                if name
                else _("Probabilities")
            )
            labels = {part.name for part in gold}
            parts.append(
                InstancePart(heading, ANSWER, _label_probability_lines(said, labels))
            )
    return parts


EMPTY_MARKS = Marks((), ())


def marks_of_metric(marks: Sequence[Marks], metric: str) -> Marks:
    """Return the marks of the metric or, if the metric has no marks, of the first
    metric with marks.
    """
    own = (one for one in marks if metric in one.metrics)
    return next(own, marks[0] if marks else EMPTY_MARKS)


def _marking_metric_note(kind: TaskType, marks: Marks, metric: str) -> str:
    name = metric if metric in marks.metrics else next(iter(marks.metrics), "")
    return _("marked by %(measure)s") % {"measure": metric_label(name, kind)}


def _gold_credits(sides: InstanceSides) -> Credits:
    """Return the marks of the parts of gold, which depend on the answer, or no marks if
    several answers are shown.
    """
    if len(sides.answers) != 1:
        return ()
    [name] = sides.answers
    return marks_of_metric(sides.marks.get(name, ()), sides.metric).gold


# -- The given fields


def _parse_stored_input_fields(view: View, given: str) -> dict[str, Any]:
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
            with suppress(Unreadable):
                fields[name] = read_json_line(value)
    return fields


def _input_fields_part(
    view: View, fields: Mapping[str, Any], pool: int
) -> InstancePart:
    layout = laid_out(view, fields)
    language = (get_language() or "").partition("-")[0]
    facts = [_field_line(view, leaf, language) for leaf in layout.rest]
    if pool:
        facts.append(
            InstanceLine(
                [], words=_("to choose from: %(n)s") % {"n": format_thousands(pool)}
            )
        )
    lines = _main_lines(view, layout, language)
    # If an instance has no field of the task's view, all fields are shown as a table.
    kind = layout.kind if lines else TABLE
    return InstancePart(_("Given"), "given", lines, layout=kind, facts=facts)


def _main_lines(view: View, layout: Layout, language: str) -> list[InstanceLine]:
    texts = {role: json_value_text(leaf.value) for role, leaf in layout.main.items()}
    if layout.kind == REFERENCE:
        return _reference_lines(texts)
    if layout.kind == POST:
        by = " · ".join(texts[role] for role in ("author", "date") if role in texts)
        return (
            [InstanceLine([TextPiece(texts["text"])], words=by)]
            if "text" in texts
            else []
        )
    return [
        InstanceLine([TextPiece(texts[role])], label=view.label(leaf.path, language))
        for role, leaf in layout.main.items()
    ]


def _reference_lines(texts: Mapping[str, str]) -> list[InstanceLine]:
    """Return a bibliographic reference as displayed lines, with the title marked."""
    pieces = []
    for role in ("author", "title", "venue", "year"):
        if role in texts:
            text = texts[role].rstrip(" .,")
            pieces += [
                TextPiece(text, "title" if role == "title" else ""),
                TextPiece(". "),
            ]
    return [InstanceLine(pieces[:-1])] if pieces else []


def _field_line(view: View, leaf: Leaf, language: str) -> InstanceLine:
    return InstanceLine(
        [TextPiece(json_value_text(leaf.value))], label=view.label(leaf.path, language)
    )


def json_value_text(value: Any) -> str:
    """Return a JSON value as readable text."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        texts = [json_value_text(own) for own in value]
        are_long = any(len(text.split()) >= LONG_ITEM_WORDS for text in texts)
        return ("\n" if are_long else ", ").join(texts)
    if isinstance(value, Mapping):
        named = ((in_words(name), json_value_text(own)) for name, own in value.items())
        return "; ".join(f"{name}: {text}" for name, text in named)
    return "" if value is None else str(value)


# -- Gold and answers


def mark_kind(credit: float | None, side: str) -> str:
    """Return the kind of a mark, which is right, partly right or wrong for parts of
    answers, and found, partly found or missed for parts of gold.
    """
    if credit is None:
        return ""
    if credit >= 1:
        return BOTH
    return PARTLY if credit > 0 else side


def mark_words(credit: float | None, side: str) -> str:
    """Return the words that describe the mark of a part, such as partly right."""
    kind = mark_kind(credit, side)
    if kind == PARTLY:
        words = _("partly found: %(n)s") if side == GOLD else _("partly right: %(n)s")
        return words % {"n": f"{credit:.2g}"}
    if kind == BOTH:
        return _("found") if side == GOLD else _("right")
    return {GOLD: _("missed"), ANSWER: _("wrong")}.get(kind, "")


def _answer_lines(
    form: str, parts: Parts, credits_: Credits, side: str, text: Sequence[str]
) -> list[InstanceLine]:
    """Return displayed lines for an answer, first the text in which parts have
    positions, and then each part.
    """
    padded = [*credits_, *[None] * len(parts)]
    lines = [
        _part_line(form, part, credit, side)
        for part, credit in zip(parts, padded, strict=False)
    ]
    if text and any(part.start >= 0 for part in parts):
        return [_mark_parts_in_text(text, parts, padded, side, form), *lines]
    return lines


def _part_line(
    form: str, part: AnswerPart, credit: float | None, side: str
) -> InstanceLine:
    kind, told = mark_kind(credit, side), [mark_words(credit, side)]
    text = part.text or part.name
    place = ""
    if form == base.EVIDENCE and part.level:
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
    if form == base.RANKING and note:
        note = _("grade %(n)s") % {"n": note}
    words = " · ".join(filter(None, (note, place if place != text else "", *told)))
    return InstanceLine(
        [TextPiece(text, kind)],
        kind,
        words,
        number=part.number + 1,
        is_below=bool(part.level),
    )


def _text_with_positions(view: View, fields: Mapping[str, Any]) -> Sequence[str]:
    """Return the text in which answers have positions, as a sequence of characters or
    tokens.
    """
    value = at_path(fields, view.marked) if view.marked else None
    if isinstance(value, list):
        return [f"{' '.join(str(own).split()) or '·'} " for own in value]
    return value if isinstance(value, str) else ""


def _mark_parts_in_text(
    text: Sequence[str],
    parts: Parts,
    credits_: Sequence[float | None],
    side: str,
    form: str,
) -> InstanceLine:
    """Return the text as a displayed line in which each part is marked, where only the
    first of overlapping parts is marked.
    """
    pieces, end = [], 0
    placed = sorted(zip(parts, credits_, strict=False), key=lambda pair: pair[0].start)
    for part, credit in placed:
        if part.start < end or part.end > len(text):
            continue
        kind = mark_kind(credit, side)
        pieces += [
            TextPiece("".join(text[end : part.start])),
            TextPiece(
                "".join(text[part.start : part.end]).rstrip(),
                kind or PLACE,
                SIGNS_BY_MARK_KIND.get(kind, ""),
            ),
            TextPiece(" " if form == base.TAGS else ""),
        ]
        end = part.end
    pieces.append(TextPiece("".join(text[end:])))
    return InstanceLine([piece for piece in pieces if piece.text])


def _append_candidate_scores(
    lines: list[InstanceLine], parts: Parts, said: Beside
) -> list[InstanceLine]:
    """Return the lines of ranked candidates with the scores that the run gives to the
    candidates.
    """
    scores = dict(said)
    return [
        replace(line, words=" · ".join(filter(None, (line.words, score))))
        for line, part in zip(lines, parts, strict=True)
        for score in [f"{scores[part.name]:.4g}" if part.name in scores else ""]
    ]


def _label_probability_lines(said: Beside, labels: set[str]) -> list[InstanceLine]:
    """Return the probabilities that a run gives to labels as lines, the most likely
    label first, with the gold's label marked.
    """
    lines = []
    for label, number in sorted(said, key=lambda pair: -pair[1]):
        words = [_("gold")] if label in labels else []
        lines.append(
            InstanceLine(
                [TextPiece(label)], words=" · ".join([*words, f"{number:.4g}"])
            )
        )
    return lines


def unmarked_answer_parts(form: str, text: str) -> list[AnswerPart]:
    """Return the lines of an answer without marks, for answers that earlier versions
    stored without parts.
    """
    lines = text.split("\n") if text else []
    if form == base.EVIDENCE:
        lines = [_BRACKETS_PATTERN.sub("", line) for line in lines]
    return [*map(AnswerPart, lines)]


LAST_RANK_BY_OUTCOME = {"first-1": 1, "first-2-3": 3, "first-4-10": 10}
NOT_FOUND_OUTCOME = "first-none"


def outcomes_from_marks(form: str, shown: base.ShownInstance) -> set[str]:
    """Return the kinds of the first marks of an answer, such as right and wrong, or no
    kinds if the answer has no marks.
    """
    marks = shown.marks[0] if shown.marks else EMPTY_MARKS
    if form == base.RANKING and marks.gold:
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
    if form == base.TAGS:
        has = {
            "entity-found": 1.0 in marks.gold,
            "entity-missed": 0.0 in marks.gold,
            "entity-wrong": 0.0 in marks.answer,
        }
        return {kind for kind, is_there in has.items() if is_there}
    return set()
