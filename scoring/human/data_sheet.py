"""The data sheet of a human evaluation, with the sections of HEDS (Shimorina and Belz
2022).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _, gettext_noop

from citeboard.core import audit, plain_text
from citeboard.core.words import count_with_noun, join_names
from citeboard.teams.models import User
from scoring.human.ratings import load_texts_of_sheet
from scoring.models import HIGHEST_RATING, LOWEST_RATING, RATING_CRITERIA, Sheet
from scoring.results.board.human_columns import describe_annotator_agreement
from tasks.models import Submission

MAX_DATA_SHEET_ANSWER_CHARACTERS = 4000
#: Questions of the data sheet in English, grouped by section.
QUESTIONS_BY_SECTION: dict[str, dict[str, str]] = {
    gettext_noop("Paper and resources"): {
        "paper": gettext_noop("Paper or report of this evaluation"),
        "resources": gettext_noop("Where its materials and ratings can be had"),
        "contact": gettext_noop("Who answers questions about it"),
    },
    gettext_noop("Systems"): {
        "input": gettext_noop("What the systems are given"),
        "output": gettext_noop("What they produce"),
        "languages": gettext_noop("Languages of inputs and outputs"),
    },
    gettext_noop("Sample"): {
        "systems_chosen": gettext_noop("How the systems were chosen"),
        "items_number": gettext_noop("Why so many items"),
    },
    gettext_noop("Evaluators"): {
        "expertise": gettext_noop(
            "Who the evaluators are, and what they know of the field"
        ),
        "payment": gettext_noop("How they are paid or thanked"),
        "acquaintance": gettext_noop(
            "Whether they knew the organisers, and whether authors of systems are among them"
        ),
        "recruitment": gettext_noop("How they were found"),
        "training": gettext_noop("How they were trained or tried out"),
    },
    gettext_noop("Design"): {
        "instructions": gettext_noop(
            "What they were told besides what this sheet asks"
        ),
        "quality": gettext_noop("How the quality of ratings was assured"),
        "conditions": gettext_noop("Where and when they rated, and how freely"),
    },
    gettext_noop("Quality criteria"): {
        "meaning": gettext_noop("What the criteria stand for, and what they leave out"),
        "exclusions": gettext_noop("Which ratings were left out, and why"),
    },
    gettext_noop("Ethics"): {
        "approval": gettext_noop("Who has approved the evaluation"),
        "personal_data": gettext_noop(
            "Which personal data were gathered, and how they are kept"
        ),
        "impact": gettext_noop("What could harm evaluators or others"),
    },
}
DATA_SHEET_QUESTIONS = {
    name: question
    for part in QUESTIONS_BY_SECTION.values()
    for name, question in part.items()
}


def save_data_sheet(*, sheet: Sheet, answers: Mapping[str, str], by: User) -> None:
    """Save an organiser's answers to the questions of the data sheet about a human
    evaluation. Organisers may also answer after the results are published. If the
    organiser submits an empty text, delete the earlier answer.
    """
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        texts = {
            name: plain_text.clean_multiline_text(answers.get(name, ""))
            for name in DATA_SHEET_QUESTIONS
        }
        changes = [
            audit.SettingChange(name, locked.data_sheet.get(name), text or None)
            for name, text in texts.items()
            if text != locked.data_sheet.get(name, "")
        ]
        if not changes:
            return
        locked.data_sheet = {name: text for name, text in texts.items() if text}
        locked.save(update_fields=["data_sheet"])
        with audit.render_in_english():
            names = join_names([change.key for change in changes])
        phase, facts = locked.phase, {"sheet": sheet.pk, "names": names}
        place = phase.task.season
        audit.record_action(
            "data-sheet",
            actor=by,
            subject=phase,
            place=place,
            facts=facts,
            changes=changes,
        )


def iterate_answers_known_to_site(sheet: Sheet) -> Iterator[tuple[str, str, str]]:
    """Yield the answers that the site itself can give in the data sheet of a published
    human evaluation, as tuples of section, question and answer.

    Annotators are not named.
    """
    systems = (
        Submission.objects.filter(sheet_texts__instance__sheet=sheet).distinct().count()
    )
    first = (
        sheet.annotators.filter(is_adjudicator=False, ratings__isnull=False)
        .distinct()
        .count()
    )
    yield "Systems", _("Task"), f"{sheet.phase.task}, {sheet.phase.task.season}"
    yield "Sample", _("Systems"), count_with_noun(systems, "system")
    instances = count_with_noun(sheet.instances.count(), "instance")
    items = (
        f"{instances}, {count_with_noun(load_texts_of_sheet(sheet).count(), 'text')}"
    )
    drawn = _(
        "%(items)s, drawn by the seed %(seed)s from those with a text of every system"
    )
    yield "Sample", _("Items"), drawn % {"items": items, "seed": sheet.seed}
    yield "Evaluators", _("Evaluators"), count_with_noun(first, "annotator")
    blinding = _(
        "Codes drawn by chance, an order shuffled for each instance; nobody rates the texts of their own team"
    )
    yield "Design", _("Blinding"), blinding
    gold = _("The texts and the sources and the gold text")
    seen = (
        gold if sheet.has_references else _("The texts and the sources, never the gold")
    )
    yield "Design", _("What evaluators see"), seen
    for name in RATING_CRITERIA:
        numbered = enumerate(sheet.levels(name), start=LOWEST_RATING)
        levels = "; ".join(f"{level}: {words}" for level, words in numbered)
        scale = _("From %(lowest)s to %(highest)s.") % {
            "lowest": LOWEST_RATING,
            "highest": HIGHEST_RATING,
        }
        yield (
            "Quality criteria",
            name.capitalize(),
            f"{sheet.question(name)} {scale} {levels}".strip(),
        )
    measures = _(
        "Cohen's kappa with quadratic weights, mean over pairs, and Krippendorff's alpha: %(agreement)s"
    )
    yield (
        "Quality criteria",
        _("Agreement"),
        measures % {"agreement": describe_annotator_agreement(sheet)},
    )
    aggregation = _(
        "Mean of a system's ratings, with a %(level)s interval over instances"
    )
    yield "Quality criteria", _("Aggregation"), aggregation % {"level": "95 %"}


def group_answers_by_section(sheet: Sheet) -> list[tuple[str, list[tuple[str, str]]]]:
    facts = list(iterate_answers_known_to_site(sheet))
    parts = []
    for section, questions in QUESTIONS_BY_SECTION.items():
        lines = [
            (question, answer) for part, question, answer in facts if part == section
        ]
        lines += [
            (_(question), sheet.data_sheet[name])
            for name, question in questions.items()
            if sheet.data_sheet.get(name)
        ]
        if lines:
            parts.append((_(section), lines))
    return parts


def data_sheet_as_markdown(sheet: Sheet) -> str:
    lines = [f"# Human evaluation of {sheet.phase.task}, {sheet.phase}", ""]
    for section, answers in group_answers_by_section(sheet):
        lines += [f"## {section}", ""]
        for question, answer in answers:
            lines += [f"**{question}.** {answer}", ""]
    return "\n".join(lines)


def data_sheet_as_json(sheet: Sheet) -> str:
    phase = sheet.phase
    content: dict[str, Any] = {
        "season": phase.task.season.slug,
        "task": phase.task.slug,
        "phase": phase.slug,
        "form": "after HEDS",
        "known": [
            {"section": section, "question": question, "answer": answer}
            for section, question, answer in iterate_answers_known_to_site(sheet)
        ],
        "answers": {
            name: sheet.data_sheet[name]
            for name in DATA_SHEET_QUESTIONS
            if sheet.data_sheet.get(name)
        },
        "unanswered": [
            name for name in DATA_SHEET_QUESTIONS if not sheet.data_sheet.get(name)
        ],
    }
    return json.dumps(content, ensure_ascii=False, indent=1)
