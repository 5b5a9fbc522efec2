"""The data sheet of a human evaluation, after HEDS: what organisers write, beside what the site knows.

The sections are those of the Human Evaluation Datasheet (Shimorina and Belz 2022); the questions are in our
words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction

from citeboard.core import audit
from citeboard.core.plain_text import plain_paragraphs
from citeboard.core.words import counted, listed
from citeboard.teams.models import User
from scoring.board.human_columns import agreement_in_words
from scoring.human.ratings import texts_of
from scoring.models import CRITERIA, HIGHEST, LOWEST, Sheet
from tasks.models import Submission

MAX_ANSWER = 4000
#: By section the questions that organisers answer, by name.
SECTIONS: dict[str, dict[str, str]] = {
    "Paper and resources": {
        "paper": "Paper or report of this evaluation",
        "resources": "Where its materials and ratings can be had",
        "contact": "Who answers questions about it",
    },
    "Systems": {
        "input": "What the systems are given",
        "output": "What they produce",
        "languages": "Languages of inputs and outputs",
    },
    "Sample": {
        "systems_chosen": "How the systems were chosen",
        "items_number": "Why so many items",
    },
    "Evaluators": {
        "expertise": "Who the evaluators are, and what they know of the field",
        "payment": "How they are paid or thanked",
        "acquaintance": "Whether they knew the organisers, and whether authors of systems are among them",
        "recruitment": "How they were found",
        "training": "How they were trained or tried out",
    },
    "Design": {
        "instructions": "What they were told besides what this sheet asks",
        "quality": "How the quality of ratings was assured",
        "conditions": "Where and when they rated, and how freely",
    },
    "Quality criteria": {
        "meaning": "What the criteria stand for, and what they leave out",
        "exclusions": "Which ratings were left out, and why",
    },
    "Ethics": {
        "approval": "Who has approved the evaluation",
        "personal_data": "Which personal data were gathered, and how they are kept",
        "impact": "What could harm evaluators or others",
    },
}
QUESTIONS = {name: question for own in SECTIONS.values() for name, question in own.items()}


def save_data_sheet(*, sheet: Sheet, answers: Mapping[str, str], by: User) -> None:
    """Keep what is answered; an empty answer takes one away. Also once the sheet is published."""
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        given = {name: plain_paragraphs(answers.get(name, "")) for name in QUESTIONS}
        changes = [
            audit.Change(name, locked.data_sheet.get(name), text or None)
            for name, text in given.items()
            if text != locked.data_sheet.get(name, "")
        ]
        if not changes:
            return
        locked.data_sheet = {name: text for name, text in given.items() if text}
        locked.save(update_fields=["data_sheet"])
        audit.note(
            actor=by,
            action="data-sheet",
            words=f"wrote the data sheet of sheet {sheet.pk}: {listed([change.key for change in changes])}",
            subject=locked.phase,
            place=locked.phase.task.season,
            changes=changes,
        )


def known(sheet: Sheet) -> Iterator[tuple[str, str, str]]:
    """What the site knows of a published sheet: section, question and answer. It names no annotator."""
    systems = Submission.objects.filter(sheet_texts__instance__sheet=sheet).distinct().count()
    first = sheet.annotators.filter(is_adjudicator=False, ratings__isnull=False).distinct().count()
    yield "Systems", "Task", f"{sheet.phase.task}, {sheet.phase.task.season}"
    yield "Sample", "Systems", counted(systems, "system")
    items = f"{counted(sheet.instances.count(), 'instance')}, {counted(texts_of(sheet).count(), 'text')}"
    yield "Sample", "Items", f"{items}, drawn by the seed {sheet.seed} from those with a text of every system"
    yield "Evaluators", "Evaluators", counted(first, "annotator")
    shuffled = "Codes drawn by chance, an order shuffled for each instance"
    yield "Design", "Blinding", f"{shuffled}; nobody rates the texts of their own team"
    against = "the sources and the gold text" if sheet.has_references else "the sources, never the gold"
    yield "Design", "What evaluators see", f"The texts and {against}"
    for name in CRITERIA:
        numbered = enumerate(sheet.levels(name), start=LOWEST)
        levels = "; ".join(f"{level}: {words}" for level, words in numbered)
        asked = f"{sheet.question(name)} From {LOWEST} to {HIGHEST}."
        yield "Quality criteria", name.capitalize(), f"{asked} {levels}".strip()
    measures = "Cohen's kappa with quadratic weights, mean over pairs, and Krippendorff's alpha"
    yield "Quality criteria", "Agreement", f"{measures}: {agreement_in_words(sheet)}"
    yield "Quality criteria", "Aggregation", "Mean of a system's ratings, with a 95 % interval over instances"


def sections(sheet: Sheet) -> list[tuple[str, list[tuple[str, str]]]]:
    """By section questions and answers; what nobody has answered is left out."""
    facts = list(known(sheet))
    found = []
    for section, questions in SECTIONS.items():
        lines = [(question, answer) for own, question, answer in facts if own == section]
        lines += [
            (question, sheet.data_sheet[name])
            for name, question in questions.items()
            if sheet.data_sheet.get(name)
        ]
        if lines:
            found.append((section, lines))
    return found


def as_markdown(sheet: Sheet) -> str:
    lines = [f"# Human evaluation of {sheet.phase.task}, {sheet.phase}", ""]
    for section, answers in sections(sheet):
        lines += [f"## {section}", ""]
        for question, answer in answers:
            lines += [f"**{question}.** {answer}", ""]
    return "\n".join(lines)


def as_json(sheet: Sheet) -> str:
    phase = sheet.phase
    content: dict[str, Any] = {
        "season": phase.task.season.slug,
        "task": phase.task.slug,
        "phase": phase.slug,
        "form": "after HEDS",
        "known": [
            {"section": section, "question": question, "answer": answer}
            for section, question, answer in known(sheet)
        ],
        "answers": {name: sheet.data_sheet[name] for name in QUESTIONS if sheet.data_sheet.get(name)},
        "unanswered": [name for name in QUESTIONS if not sheet.data_sheet.get(name)],
    }
    return json.dumps(content, ensure_ascii=False, indent=1)
