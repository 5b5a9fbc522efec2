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

from citeboard.core.words import thousands
from scoring.results.board.formatting import metric_label
from scoring.results.comparison.pieces import (
    ANSWER,
    BOTH,
    GOLD,
    PARTLY,
    PLACE,
    Beside,
    Line,
    Part,
    Piece,
)
from tasks.types import TaskType, base
from tasks.types.base import AnswerPart, Credits, Marks
from tasks.types.forms.instances import at_path
from tasks.types.forms.views import Layout, Leaf, laid_out
from tasks.types.guarded.json_reader import read_json_line
from tasks.types.guarded.limits import Unreadable
from tasks.types.views import POST, REFERENCE, TABLE, View, in_words

Parts = Sequence[AnswerPart]
SIGNS = {BOTH: "✓", PARTLY: "½", ANSWER: "✗", GOLD: "–"}
#: If an item of a displayed list has more than LONG words, each item gets a line.
LONG = 5
_BRACKETS = re.compile(r"[\[\]{}\"]")


@dataclass(frozen=True, kw_only=True)
class Sides:
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


def drawn_sides(kind: TaskType, sides: Sides) -> list[Part]:
    """Return the input fields, the gold and each answer as displayed parts of an
    instance.
    """
    form = kind.drawn_as
    text: Sequence[str] = ""
    parts = []
    if kind.declared is None:
        given = [
            Line([Piece(line)]) for line in sides.given.split("\n") if line.strip()
        ]
        parts += [Part(_("Given"), "given", given)] if given else []
    else:
        view = kind.declared.view
        fields = sides.fields or _fields_of(view, sides.given)
        text = _marked_text(view, fields)
        if fields or sides.pool:
            parts.append(_given_part(view, fields, sides.pool))
    gold = sides.gold or plain_parts(form, sides.gold_text)
    if gold:
        lines = _lines(form, gold, _gold_credits(sides), GOLD, text)
        parts.append(Part(_("Gold"), GOLD, lines))
    for name, kept in sides.answers.items():
        answer = kept or plain_parts(form, sides.answer_texts.get(name, ""))
        chosen = marks_by(sides.marks.get(name, ()), sides.metric)
        lines = _lines(form, answer, chosen.answer, ANSWER, text) if answer else []
        said = sides.beside.get(name, ())
        if form == base.RANKING:
            lines = _with_scores(lines, answer, said)
        heading = _("Answer of %(system)s") % {"system": name} if name else _("Answer")
        is_ranking = form == base.RANKING
        note = (
            _marked_by(kind, chosen, sides.metric)
            if any(line.kind for line in lines)
            else ""
        )
        parts.append(Part(heading, ANSWER, lines, is_ranking, note=note))
        if said and not is_ranking:
            heading = (
                _("Probabilities of %(system)s") % {"system": name}
                if name
                else _("Probabilities")
            )
            labels = {part.name for part in gold}
            parts.append(Part(heading, ANSWER, _probabilities(said, labels)))
    return parts


NO_MARKS = Marks((), ())


def marks_by(marks: Sequence[Marks], metric: str) -> Marks:
    """Return the marks of the metric or, if the metric has no marks, of the first
    metric with marks.
    """
    own = (one for one in marks if metric in one.metrics)
    return next(own, marks[0] if marks else NO_MARKS)


def _marked_by(kind: TaskType, marks: Marks, metric: str) -> str:
    name = metric if metric in marks.metrics else next(iter(marks.metrics), "")
    return _("marked by %(measure)s") % {"measure": metric_label(name, kind)}


def _gold_credits(sides: Sides) -> Credits:
    """Return the marks of the parts of gold, which depend on the answer, or no marks if
    several answers are shown.
    """
    if len(sides.answers) != 1:
        return ()
    [name] = sides.answers
    return marks_by(sides.marks.get(name, ()), sides.metric).gold


# -- The given fields


def _fields_of(view: View, given: str) -> dict[str, Any]:
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


def _given_part(view: View, fields: Mapping[str, Any], pool: int) -> Part:
    layout = laid_out(view, fields)
    language = (get_language() or "").partition("-")[0]
    facts = [_fact(view, leaf, language) for leaf in layout.rest]
    if pool:
        facts.append(
            Line([], words=_("to choose from: %(n)s") % {"n": thousands(pool)})
        )
    lines = _main_lines(view, layout, language)
    # If an instance has no field of the task's view, all fields are shown as a table.
    kind = layout.kind if lines else TABLE
    return Part(_("Given"), "given", lines, layout=kind, facts=facts)


def _main_lines(view: View, layout: Layout, language: str) -> list[Line]:
    texts = {role: value_text(leaf.value) for role, leaf in layout.main.items()}
    if layout.kind == REFERENCE:
        return _reference(texts)
    if layout.kind == POST:
        by = " · ".join(texts[role] for role in ("author", "date") if role in texts)
        return [Line([Piece(texts["text"])], words=by)] if "text" in texts else []
    return [
        Line([Piece(texts[role])], label=view.label(leaf.path, language))
        for role, leaf in layout.main.items()
    ]


def _reference(texts: Mapping[str, str]) -> list[Line]:
    """Return a bibliographic reference as displayed lines, with the title marked."""
    pieces = []
    for role in ("author", "title", "venue", "year"):
        if role in texts:
            text = texts[role].rstrip(" .,")
            pieces += [Piece(text, "title" if role == "title" else ""), Piece(". ")]
    return [Line(pieces[:-1])] if pieces else []


def _fact(view: View, leaf: Leaf, language: str) -> Line:
    return Line([Piece(value_text(leaf.value))], label=view.label(leaf.path, language))


def value_text(value: Any) -> str:
    """Return a JSON value as readable text."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, list):
        texts = [value_text(own) for own in value]
        are_long = any(len(text.split()) >= LONG for text in texts)
        return ("\n" if are_long else ", ").join(texts)
    if isinstance(value, Mapping):
        named = ((in_words(name), value_text(own)) for name, own in value.items())
        return "; ".join(f"{name}: {text}" for name, text in named)
    return "" if value is None else str(value)


# -- Gold and answers


def kind_of(credit: float | None, side: str) -> str:
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
    kind = kind_of(credit, side)
    if kind == PARTLY:
        words = _("partly found: %(n)s") if side == GOLD else _("partly right: %(n)s")
        return words % {"n": f"{credit:.2g}"}
    if kind == BOTH:
        return _("found") if side == GOLD else _("right")
    return {GOLD: _("missed"), ANSWER: _("wrong")}.get(kind, "")


def _lines(
    form: str, parts: Parts, credits_: Credits, side: str, text: Sequence[str]
) -> list[Line]:
    """Return displayed lines for an answer, first the text in which parts have
    positions, and then each part.
    """
    padded = [*credits_, *[None] * len(parts)]
    lines = [
        _part_line(form, part, credit, side)
        for part, credit in zip(parts, padded, strict=False)
    ]
    if text and any(part.start >= 0 for part in parts):
        return [_with_places(text, parts, padded, side, form), *lines]
    return lines


def _part_line(form: str, part: AnswerPart, credit: float | None, side: str) -> Line:
    kind, told = kind_of(credit, side), [mark_words(credit, side)]
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
    return Line(
        [Piece(text, kind)],
        kind,
        words,
        number=part.number + 1,
        is_below=bool(part.level),
    )


def _marked_text(view: View, fields: Mapping[str, Any]) -> Sequence[str]:
    """Return the text in which answers have positions, as a sequence of characters or
    tokens.
    """
    value = at_path(fields, view.marked) if view.marked else None
    if isinstance(value, list):
        return [f"{' '.join(str(own).split()) or '·'} " for own in value]
    return value if isinstance(value, str) else ""


def _with_places(
    text: Sequence[str],
    parts: Parts,
    credits_: Sequence[float | None],
    side: str,
    form: str,
) -> Line:
    """Return the text as a displayed line in which each part is marked, where only the
    first of overlapping parts is marked.
    """
    pieces, end = [], 0
    placed = sorted(zip(parts, credits_, strict=False), key=lambda pair: pair[0].start)
    for part, credit in placed:
        if part.start < end or part.end > len(text):
            continue
        kind = kind_of(credit, side)
        pieces += [
            Piece("".join(text[end : part.start])),
            Piece(
                "".join(text[part.start : part.end]).rstrip(),
                kind or PLACE,
                SIGNS.get(kind, ""),
            ),
            Piece(" " if form == base.TAGS else ""),
        ]
        end = part.end
    pieces.append(Piece("".join(text[end:])))
    return Line([piece for piece in pieces if piece.text])


def _with_scores(lines: list[Line], parts: Parts, said: Beside) -> list[Line]:
    """Return the lines of ranked candidates with the scores that the run gives to the
    candidates.
    """
    scores = dict(said)
    return [
        replace(line, words=" · ".join(filter(None, (line.words, score))))
        for line, part in zip(lines, parts, strict=True)
        for score in [f"{scores[part.name]:.4g}" if part.name in scores else ""]
    ]


def _probabilities(said: Beside, labels: set[str]) -> list[Line]:
    """Return the probabilities that a run gives to labels as lines, the most likely
    label first, with the gold's label marked.
    """
    lines = []
    for label, number in sorted(said, key=lambda pair: -pair[1]):
        words = [_("gold")] if label in labels else []
        lines.append(Line([Piece(label)], words=" · ".join([*words, f"{number:.4g}"])))
    return lines


def plain_parts(form: str, text: str) -> list[AnswerPart]:
    """Return the lines of an answer without marks, for answers that earlier versions
    stored without parts.
    """
    lines = text.split("\n") if text else []
    if form == base.EVIDENCE:
        lines = [_BRACKETS.sub("", line) for line in lines]
    return [*map(AnswerPart, lines)]


FOUND_AT = {"first-1": 1, "first-2-3": 3, "first-4-10": 10}
NOT_FOUND = "first-none"


def outcome_of(form: str, shown: base.ShownInstance) -> set[str]:
    """Return the kinds of the first marks of an answer, such as right and wrong, or no
    kinds if the answer has no marks.
    """
    marks = shown.marks[0] if shown.marks else NO_MARKS
    if form == base.RANKING and marks.gold:
        place = next(
            (
                part.number + 1
                for part, credit in zip(shown.answer_parts, marks.answer, strict=False)
                if credit
            ),
            FOUND_AT["first-4-10"] + 1,
        )
        return {
            next((kind for kind, last in FOUND_AT.items() if place <= last), NOT_FOUND)
        }
    if form == base.TAGS:
        has = {
            "entity-found": 1.0 in marks.gold,
            "entity-missed": 0.0 in marks.gold,
            "entity-wrong": 0.0 in marks.answer,
        }
        return {kind for kind, is_there in has.items() if is_there}
    return set()
