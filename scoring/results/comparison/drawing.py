"""Prepare the inputs, gold and answers of an instance for display, as pieces of text
that show where answers agree with the gold.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _, gettext_lazy

from citeboard.core.words import format_thousands
from scoring.offline.sample import find_public_sample, iterate_sample_instances
from scoring.results.comparison.pieces import (
    CITATION_POSITION,
    GOLD,
    IN_GOLD_AND_ANSWER,
    ONLY_IN_ANSWER,
    DisplayedInstanceLine,
    DisplayedInstancePart,
    MarkedTextPiece,
    ValuesByName,
)
from scoring.results.comparison.viewing import (
    VisibleInstanceValues,
    build_instance_parts_with_marks,
    find_outcomes_from_marks,
)
from tasks.types import TaskType, base, task_type

OUTCOME_LABELS = {
    base.ALIKE_OUTCOME: gettext_lazy("wrong, with words of the citation"),
    base.WRONG_OUTCOME: gettext_lazy("wrong, without words of the citation"),
    base.IMPLIED_OUTCOME: gettext_lazy("missed, without words of the citation"),
    base.MISSED_OUTCOME: gettext_lazy("missed, with words of the citation"),
    base.RIGHT_OUTCOME: gettext_lazy("right"),
}
#: Further outcomes of an instance are empty, near, no mark and nothing shared.
EMPTY_ANSWER_OUTCOME, NEAR_MISS_OUTCOME, NO_MARK_OUTCOME, NO_SHARED_WORD_OUTCOME = (
    "empty",
    "near",
    "no-mark",
    "nothing-shared",
)
ENTITY_FOUND_OUTCOME, ENTITY_MISSED_OUTCOME, ENTITY_WRONG_OUTCOME = (
    "entity-found",
    "entity-missed",
    "entity-wrong",
)
LAST_RANK_BY_HIT_OUTCOME = {"hit-1": 1, "hit-2-3": 3, "hit-4-10": 10}
NO_HIT_OUTCOME = "no-hit"
ALL_OUTCOME_LABELS = OUTCOME_LABELS | {
    EMPTY_ANSWER_OUTCOME: gettext_lazy("no answer"),
    NEAR_MISS_OUTCOME: gettext_lazy("near miss: up to two sentences beside"),
    NO_MARK_OUTCOME: gettext_lazy("no mark of a passage"),
    NO_SHARED_WORD_OUTCOME: gettext_lazy("no word shared with the gold"),
    "hit-1": gettext_lazy("cited paper first"),
    "hit-2-3": gettext_lazy("cited paper second or third"),
    "hit-4-10": gettext_lazy("cited paper fourth to tenth"),
    NO_HIT_OUTCOME: gettext_lazy("cited paper not in the first ten"),
    ENTITY_FOUND_OUTCOME: gettext_lazy("an entity of the gold found"),
    ENTITY_MISSED_OUTCOME: gettext_lazy("an entity of the gold missed"),
    ENTITY_WRONG_OUTCOME: gettext_lazy("an entity that the gold does not have"),
    "first-1": gettext_lazy("relevant document first"),
    "first-2-3": gettext_lazy("relevant document second or third"),
    "first-4-10": gettext_lazy("relevant document fourth to tenth"),
    "first-none": gettext_lazy("no relevant document in the first ten"),
}
MAX_NEAR_MISS_SENTENCES = 2
OUTCOMES_IN_GOLD = (base.RIGHT_OUTCOME, base.IMPLIED_OUTCOME, base.MISSED_OUTCOME)
#: QUESTIONS_BY_TASK_FORM contains the question that each task asks, as one sentence.
QUESTIONS_BY_TASK_FORM = {
    base.SENTENCES_VIEW: gettext_lazy(
        "Which sentences of the cited paper does this citation mean?"
    ),
    base.RANKING_VIEW: gettext_lazy("Which paper is cited here?"),
    base.TEXTS_VIEW: gettext_lazy("Write this text from what is given."),
    base.MARKS_VIEW: gettext_lazy(
        "Answer from the passages, with a mark where each claim comes from."
    ),
    base.LABELS_VIEW: gettext_lazy("Which label is right?"),
    base.LINES_VIEW: gettext_lazy("What is the answer?"),
    base.MARKED_TEXT_VIEW: gettext_lazy("Which parts of this text are meant?"),
    base.EVIDENCE_VIEW: gettext_lazy(
        "Which sentences support or contradict this claim?"
    ),
    base.REPORTS_VIEW: gettext_lazy(
        "Write a report on this topic and name the documents behind each sentence."
    ),
    base.TAGS_VIEW: gettext_lazy("Which words are entities, and of which types?"),
}
#: JUDGEMENT_LABELS maps a judgement of a sentence or nugget to a kind of piece and a text.
JUDGEMENT_LABELS = {
    base.RIGHT_OUTCOME: (IN_GOLD_AND_ANSWER, gettext_lazy("supported")),
    base.ALIKE_OUTCOME: (IN_GOLD_AND_ANSWER, gettext_lazy("partly supported")),
    base.WRONG_OUTCOME: (ONLY_IN_ANSWER, gettext_lazy("not supported")),
    base.MISSED_OUTCOME: (GOLD, gettext_lazy("nugget missed")),
    base.CONTEXT_OUTCOME: ("", gettext_lazy("not judged")),
}
#: Shared words with fewer than MIN_SHARED_WORD_LETTERS letters are not marked.
MIN_SHARED_WORD_LETTERS = 4
_WORD_PATTERN = re.compile(r"\w+")
_RANK_PREFIX_PATTERN = re.compile(r"^\d+\. ")
_GRADE_SUFFIX_PATTERN = re.compile(r" \(\d+\)$")
_CITATION_MARK_PATTERN = re.compile(r"\[\d+\]")
_CITATION_PLACE_PATTERN = re.compile(r"<(?:OTHER)?REF>")
#: In the input for a citation text, the tags in _INPUT_TAGS_PATTERN surround the parts.
_INPUT_TAGS_PATTERN = re.compile(r"</?(?:abs|ctx_[ab])> ?")


OutcomesOfTexts = Sequence[tuple[str, str]]


def build_instance_parts_for_display(
    form: str,
    *,
    given: str,
    gold: str,
    answers: Mapping[str, str],
    judged: Mapping[str, OutcomesOfTexts],
    beside: Mapping[str, ValuesByName],
    claims: Mapping[str, Sequence[DisplayedInstanceLine]],
    pool: int = 0,
) -> list[DisplayedInstancePart]:
    """Return the parts of an instance as they are displayed, such as inputs, gold and
    answers. The mappings contain values of runs, keyed by the name of the run, and
    hidden values are empty.
    """
    lines_given = _build_input_lines(form, given, answers.values())
    if pool:
        lines_given.append(
            DisplayedInstanceLine(
                [], words=_("to choose from: %(n)s") % {"n": format_thousands(pool)}
            )
        )
    parts = (
        [DisplayedInstancePart(_("Given"), "given", lines_given)] if lines_given else []
    )
    parts += _build_judged_parts(form, judged)
    if form == base.SENTENCES_VIEW and any(judged.values()):
        return parts
    draw = _LINE_BUILDERS_BY_FORM.get(form, _build_text_lines)
    if gold:
        lines = draw(gold, list(answers.values()), GOLD)
        if form == base.RANKING_VIEW and len(judged) == 1:
            # If the shown ranking lacks the cited paper, show the paper's position.
            [outcomes] = judged.values()
            places = {
                _strip_rank_and_grade(text): text.partition(".")[0]
                for _outcome, text in outcomes
            }
            at = {
                name: _("at place %(n)s") % {"n": place}
                for name, place in places.items()
                if place
            }
            lines = [
                replace(line, words=at.get(line.pieces[0].text, line.words))
                for line in lines
            ]
        parts.append(DisplayedInstancePart(_("Gold"), GOLD, lines))
    for name, answer in answers.items():
        lines = draw(answer, [gold] if gold else [], ONLY_IN_ANSWER) if answer else []
        said = beside.get(name, ())
        if form == base.RANKING_VIEW:
            scores = {
                _strip_rank_and_grade(candidate): score for candidate, score in said
            }
            lines = [
                _append_number_to_line(line, scores.get(line.pieces[0].text))
                for line in lines
            ]
        heading = _("Answer of %(system)s") % {"system": name} if name else _("Answer")
        parts.append(
            DisplayedInstancePart(
                heading, ONLY_IN_ANSWER, lines, form == base.RANKING_VIEW
            )
        )
        if told := claims.get(name):
            heading = (
                _("Claims of %(system)s") % {"system": name} if name else _("Claims")
            )
            parts.append(DisplayedInstancePart(heading, ONLY_IN_ANSWER, told))
    return parts


def _append_number_to_line(
    line: DisplayedInstanceLine, number: float | None
) -> DisplayedInstanceLine:
    """Append a number, if any, to the words of a displayed line."""
    words = [line.words, "" if number is None else f"{number:.4g}"]
    return replace(line, words=" · ".join(filter(None, words)))


def build_claim_lines(
    claims: Sequence[Mapping[str, Any]],
) -> list[DisplayedInstanceLine]:
    lines = []
    for claim in claims:
        kind = IN_GOLD_AND_ANSWER if claim["is_supported"] else ONLY_IN_ANSWER
        marks = [f"[{mark['number']}] {mark['why']}".strip() for mark in claim["marks"]]
        lines.append(
            DisplayedInstanceLine(
                [MarkedTextPiece(claim["text"], kind)],
                kind,
                "; ".join([claim["verdict"], *marks]),
            )
        )
    return lines


def _build_input_lines(
    form: str, text: str, answers: Iterable[str]
) -> list[DisplayedInstanceLine]:
    if form == base.TEXTS_VIEW:
        text = _INPUT_TAGS_PATTERN.sub("", text)
    lines = [line for line in text.split("\n") if line.strip()]
    if form != base.MARKS_VIEW:
        return [
            DisplayedInstanceLine(_split_at_marks(line, _CITATION_PLACE_PATTERN))
            for line in lines
        ]
    cited = {
        mark for answer in answers for mark in _CITATION_MARK_PATTERN.findall(answer)
    }
    drawn_lines = [DisplayedInstanceLine([MarkedTextPiece(lines[0])])] if lines else []
    for line in lines[1:]:
        is_cited = line.partition(" ")[0] in cited
        words = _("cited") if is_cited else _("not cited")
        drawn_lines.append(
            DisplayedInstanceLine(
                _split_at_marks(line, _CITATION_MARK_PATTERN, 1),
                ONLY_IN_ANSWER if is_cited else "",
                words,
            )
        )
    return drawn_lines


def _split_at_marks(
    text: str, pattern: re.Pattern[str], count: int = 0
) -> list[MarkedTextPiece]:
    pieces, end = [], 0
    for number, match in enumerate(pattern.finditer(text), start=1):
        names = {"<REF>": _("[cited here]"), "<OTHERREF>": _("[another citation]")}
        pieces += [
            MarkedTextPiece(text[end : match.start()]),
            MarkedTextPiece(names.get(match[0], match[0]), CITATION_POSITION),
        ]
        end = match.end()
        if number == count:
            break
    return [piece for piece in (*pieces, MarkedTextPiece(text[end:])) if piece.text]


def _build_sentence_lines_with_runs(
    form: str, judged: Mapping[str, OutcomesOfTexts]
) -> list[DisplayedInstanceLine]:
    """Return the sentences that the gold or any run contains, in the order of the
    paper, each with the runs that contain the sentence.
    """
    order: dict[str, list[tuple[str, str]]] = {}
    for name, outcomes in judged.items():
        for outcome, sentence in outcomes:
            order.setdefault(sentence, []).append((name, outcome))
    lines = []
    for sentence in sorted(order, key=_parse_sentence_number):
        told = order[sentence]
        in_gold = any(outcome in OUTCOMES_IN_GOLD for _name, outcome in told)
        having = [
            name
            for name, outcome in told
            if outcome in (base.RIGHT_OUTCOME, base.ALIKE_OUTCOME, base.WRONG_OUTCOME)
        ]
        kind = (
            IN_GOLD_AND_ANSWER
            if in_gold and having
            else GOLD
            if in_gold
            else ONLY_IN_ANSWER
            if having
            else ""
        )
        if len(judged) == 1:
            words = (
                str(OUTCOME_LABELS.get(told[0][1], ""))
                if form == base.SENTENCES_VIEW
                else _describe_gold_or_answer_mark(kind)
            )
        else:
            words = ", ".join([*([_("gold")] if in_gold else []), *having])
        lines.append(
            DisplayedInstanceLine([MarkedTextPiece(sentence, kind)], kind, words)
        )
    return lines


def _build_judged_parts(
    form: str, judged: Mapping[str, OutcomesOfTexts]
) -> list[DisplayedInstancePart]:
    """Return the displayed parts of an instance that show the text with the answers
    marked, or the judgements of each run.
    """
    if form == base.REPORTS_VIEW:
        return _build_judgement_parts(judged)
    if form == base.RANKING_VIEW or not any(judged.values()):
        return []
    heading = _("The cited paper") if form == base.SENTENCES_VIEW else _("The passages")
    return [
        DisplayedInstancePart(
            heading, "paper", _build_sentence_lines_with_runs(form, judged)
        )
    ]


def _build_judgement_parts(
    judged: Mapping[str, OutcomesOfTexts],
) -> list[DisplayedInstancePart]:
    """Return the judged sentences and nuggets of each run as displayed parts, in order."""
    parts = []
    for name, outcomes in judged.items():
        lines = []
        for outcome, text in outcomes:
            kind, words = JUDGEMENT_LABELS[outcome]
            lines.append(
                DisplayedInstanceLine([MarkedTextPiece(text, kind)], kind, str(words))
            )
        heading = (
            _("Judgements of %(system)s") % {"system": name}
            if name
            else _("Judgements")
        )
        if lines:
            parts.append(DisplayedInstancePart(heading, "paper", lines))
    return parts


def _parse_sentence_number(sentence: str) -> int:
    digits = re.match(r"\[\D*(\d+)", sentence)
    return int(digits[1]) if digits else 0


def _build_ranking_lines(
    text: str, others: Sequence[str], own: str
) -> list[DisplayedInstanceLine]:
    names = {
        _strip_rank_and_grade(line) for other in others for line in other.split("\n")
    }
    words = {GOLD: _("found"), ONLY_IN_ANSWER: _("the cited paper")}
    missed = {GOLD: _("not among those shown"), ONLY_IN_ANSWER: ""}
    lines = []
    for line in text.split("\n"):
        name = _strip_rank_and_grade(line)
        is_shared = name in names
        kind = (
            IN_GOLD_AND_ANSWER if is_shared else GOLD if own == GOLD and others else ""
        )
        told = words[own] if is_shared else missed[own] if others else ""
        lines.append(DisplayedInstanceLine([MarkedTextPiece(name, kind)], kind, told))
    return lines


def _strip_rank_and_grade(line: str) -> str:
    return _GRADE_SUFFIX_PATTERN.sub("", _RANK_PREFIX_PATTERN.sub("", line)).strip()


def _describe_gold_or_answer_mark(kind: str) -> str:
    return {
        IN_GOLD_AND_ANSWER: _("gold and answer"),
        GOLD: _("only in the gold"),
        ONLY_IN_ANSWER: _("only in the answer"),
    }.get(kind, "")


def _build_text_lines(
    text: str, others: Sequence[str], own: str
) -> list[DisplayedInstanceLine]:
    """Return the lines of a text, with marks at passages and at words that another text
    shares.
    """
    shared = _collect_long_words(others)
    lines = []
    for line in text.split("\n"):
        pieces: list[MarkedTextPiece] = []
        for piece in _split_at_marks(line, _CITATION_MARK_PATTERN):
            pieces += [piece] if piece.kind else _mark_shared_words(piece.text, shared)
        lines.append(DisplayedInstanceLine(pieces))
    return lines


def _collect_long_words(texts: Sequence[str]) -> set[str]:
    return {
        word
        for text in texts
        for word in _WORD_PATTERN.findall(text.casefold())
        if len(word) >= MIN_SHARED_WORD_LETTERS
    }


def _mark_shared_words(text: str, shared: set[str]) -> list[MarkedTextPiece]:
    pieces, end = [], 0
    for match in _WORD_PATTERN.finditer(text):
        if match[0].casefold() in shared:
            pieces += [
                MarkedTextPiece(text[end : match.start()]),
                MarkedTextPiece(match[0], IN_GOLD_AND_ANSWER),
            ]
            end = match.end()
    return [piece for piece in (*pieces, MarkedTextPiece(text[end:])) if piece.text]


_LINE_BUILDERS_BY_FORM: Mapping[
    str, Callable[[str, Sequence[str], str], list[DisplayedInstanceLine]]
] = {
    base.RANKING_VIEW: _build_ranking_lines,
}


def find_outcomes_of_instance(kind: TaskType, shown: base.ShownInstance) -> set[str]:
    """Return the outcomes of an instance (such as right or wrong), which reveal the
    gold. For label tasks, an outcome has the form `GOLD → ONLY_IN_ANSWER`.
    """
    form = kind.drawn_as
    if not shown.answer:
        return {EMPTY_ANSWER_OUTCOME}
    if kind.declared is not None and form != base.LABELS_VIEW:
        return find_outcomes_from_marks(form, shown)
    if form == base.SENTENCES_VIEW:
        kinds = {
            outcome for outcome, _text in shown.judged if outcome in OUTCOME_LABELS
        }
        gold, wrong = (
            [
                _parse_sentence_number(text)
                for outcome, text in shown.judged
                if outcome in outcomes
            ]
            for outcomes in (OUTCOMES_IN_GOLD, (base.ALIKE_OUTCOME, base.WRONG_OUTCOME))
        )
        return kinds | {
            NEAR_MISS_OUTCOME
            for one in wrong
            for other in gold
            if abs(one - other) <= MAX_NEAR_MISS_SENTENCES
        }
    if form == base.RANKING_VIEW:
        cited = {_strip_rank_and_grade(line) for line in shown.gold.split("\n")}
        ranked = enumerate(
            (_strip_rank_and_grade(line) for line in shown.answer.split("\n")), start=1
        )
        first = next((place for place, name in ranked if name in cited), math.inf)
        return {
            next(
                (
                    kind
                    for kind, last in LAST_RANK_BY_HIT_OUTCOME.items()
                    if first <= last
                ),
                NO_HIT_OUTCOME,
            )
        }
    if form == base.LABELS_VIEW:
        return {f"{shown.gold} → {shown.answer}".replace("\n", ", ")}
    if form == base.MARKS_VIEW:
        return (
            set() if _CITATION_MARK_PATTERN.search(shown.answer) else {NO_MARK_OUTCOME}
        )
    if form == base.TEXTS_VIEW and not _collect_long_words(
        [shown.gold]
    ) & _collect_long_words([shown.answer]):
        return {NO_SHARED_WORD_OUTCOME}
    return set()


def find_outcome_label(kind: str) -> str:
    return str(ALL_OUTCOME_LABELS.get(kind, kind))


def build_parts_of_whole_instance(
    kind: TaskType,
    shown: base.ShownInstance,
    claims: Sequence[DisplayedInstanceLine] = (),
) -> list[DisplayedInstancePart]:
    """Return all displayed parts of an instance, for viewers who may see the whole
    instance.
    """
    if kind.has_answer_parts:
        return build_instance_parts_with_marks(
            kind,
            VisibleInstanceValues(
                fields=shown.fields,
                given=shown.given,
                gold=shown.gold_parts,
                gold_text=shown.gold,
                answers={"": shown.answer_parts},
                answer_texts={"": shown.answer},
                beside={"": shown.beside},
                marks={"": shown.marks},
                metric=kind.get_ranking_metric_name(kind.default_rule_set, {}),
                pool=shown.pool,
            ),
        )
    return build_instance_parts_for_display(
        kind.drawn_as,
        given=shown.given,
        gold=shown.gold,
        answers={"": shown.answer},
        judged={"": shown.judged},
        beside={"": shown.beside},
        claims={"": claims},
        pool=shown.pool,
    )


def build_parts_of_type_example(kind: TaskType) -> list[DisplayedInstancePart]:
    """Return the displayed parts of the example of a task type, or no parts if the type
    has no public sample.
    """
    shown = find_first_answered_example(kind)
    return build_parts_of_whole_instance(kind, shown) if shown else []


def find_first_answered_example(kind: TaskType) -> base.ShownInstance | None:
    """Return the first instance of the public sample that the sample's run answers, or
    None if no instance is answered.
    """
    return _load_first_answered_instance(
        kind.slug, tuple(find_public_sample(kind).items())
    )


@lru_cache(maxsize=64)
def _load_first_answered_instance(
    slug: str, files: tuple[tuple[str, str], ...]
) -> base.ShownInstance | None:
    return next(
        (
            shown
            for shown in iterate_sample_instances(task_type(slug), dict(files))
            if shown.answer
        ),
        None,
    )
