"""Create and change declared tasks, which organisers define with files."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext, gettext_lazy as _

from citeboard.acts.declared import (
    ActForm,
    DateTimeTextField,
    PhaseEndField,
    build_rehearsed_action,
)
from citeboard.acts.gold import ENCODING_FIELD_IN_API, build_encoding_field
from citeboard.core import storage
from citeboard.teams.models import User
from scoring.worker import declaring
from tasks.gold.drafts import store_gold_draft
from tasks.models import Season, Task
from tasks.submissions.uploads import receive_upload
from tasks.types import InputRefused, Problem
from tasks.types.declared.folder import TASK_CARD_FILE_NAME, TOML, read_declaration
from tasks.types.declared.own_measures import MEASURES_FILE_NAME
from tasks.types.declared.recognised import UNSURE_CONFIDENCE
from tasks.types.guarded.limits import TextUnreadable
from tasks.types.guarded.toml_reader import read_toml
from tasks.types.problems import convert_dicts_to_problems

MAX_DECLARATION_LENGTH = 50_000


class DeclarationForm(ActForm):
    """Files of a task's folder. Omitted files stay unchanged."""

    declaration, card, measures = (
        forms.CharField(max_length=MAX_DECLARATION_LENGTH, required=False, strip=False)
        for _name in (TOML, TASK_CARD_FILE_NAME, MEASURES_FILE_NAME)
    )
    reason = forms.CharField(max_length=500, required=False)
    api = {
        "declaration": f"The text of `{TOML}`.",
        "card": f"The text of `{TASK_CARD_FILE_NAME}`, which participants read.",
        "measures": f"The text of `{MEASURES_FILE_NAME}`, which the site may want to approve first.",
        "reason": "Where numbers change and there are runs: what was corrected; teams read it.",
    }


class NewTaskForm(DeclarationForm):
    """Gold and files of a new task's folder. Omitted files are guessed from the gold.

    If a guess is unsure, the request is refused with the reason, and needs a
    declaration file.
    """

    reason = None  # type: ignore[assignment]
    title = forms.CharField(max_length=100)
    form = forms.ChoiceField(choices=list(declaring.ANSWER_FORM_LABELS.items()))
    file = forms.FileField()
    encoding = build_encoding_field()
    split = forms.CharField(max_length=60, required=False)
    opens = DateTimeTextField(required=False)
    closes = PhaseEndField(required=False)
    api = {
        **DeclarationForm.api,
        "split": "Of the season's phases, that the gold is of; test, or their last, unless given.",
        "opens": "When the task opens, where the season has no phases, or is public and has begun.",
        "closes": "Where the season has no phases.",
        "form": "Of an answer.",
        "encoding": ENCODING_FIELD_IN_API,
        "file": "The gold: JSON lines, JSON, CSV or TSV; with candidates or documents a zip of both.",
    }


def _parse_task_table(text: str, slug: str) -> dict[str, Any] | None:
    """Return the table `[task]` of a declaration file, with this slug.

    Returns None if the file is empty. Raises ValidationError.
    """
    try:
        return {**read_toml(text)["task"], "slug": slug} if text else None
    except (TextUnreadable, KeyError, TypeError) as wrong:
        message = gettext("This is not a declaration: %(why)s.") % {"why": wrong}
        raise ValidationError({"declaration": message}) from wrong


def _complete_task_files(draft: Mapping[str, Any], by: User) -> dict[str, str]:
    """Return the files of a declared task's folder, completed by guesses from the gold.

    Raises InputRefused.
    """
    told = declaring.validate_task_draft(draft, by)
    if told["problems"]:
        raise InputRefused(convert_dicts_to_problems(told["problems"]))
    # An unsure guess about a task is refused, because the API has no correction form.
    if unsure := [
        own for own in told["guesses"] if own["confidence"] == UNSURE_CONFIDENCE
    ]:
        raise InputRefused(map(_build_uncertain_guess_problem, unsure))
    return {**declaring.remove_sample_files(draft["files"]), **told["files"]}


def _build_uncertain_guess_problem(guess: Mapping[str, str]) -> Problem:
    message = f"the guess “{guess['value']}” for “{guess['part']}” is unsure: {guess['reason']}"
    return Problem(message=message, expected="a declaration")


def _read_new_task(
    season: Season, filled: Mapping[str, Any], by: User
) -> dict[str, Any]:
    """Read the declaration and the gold of a new task before a transaction begins."""
    dates = {name: filled.get(name) for name in ("opens", "closes")}
    facts = {**dates, "split": filled.get("split", "")}
    if "files" in filled:
        return facts | _parse_new_task_gold(
            season,
            filled["files"],
            filled["stored"],
            filled["filename"],
            by,
            filled.get("encoding") or "",
        )
    title, measures = filled["title"], filled["measures"].strip()
    slug = declaring.make_unused_task_slug(season, title)
    task = _parse_task_table(filled["declaration"], slug)
    with receive_upload(filled["file"]) as upload:
        stored, filename = store_gold_draft(upload.path), upload.filename
    draft = {
        "season": season.pk,
        "stored": stored,
        "filename": filename,
        "encoding": filled["encoding"],
        "form": filled["form"],
        "slug": slug,
        "title": title,
        "task": task,
        "card": filled["card"],
        "files": {MEASURES_FILE_NAME: f"{measures}\n"} if measures else {},
    }
    try:
        packed = _parse_new_task_gold(
            season,
            _complete_task_files(draft, by),
            stored,
            filename,
            by,
            filled["encoding"],
        )
        return facts | packed
    finally:
        storage.gold_file_storage.delete(stored)


def _parse_new_task_gold(
    season: Season,
    files: Mapping[str, str],
    stored: str,
    filename: str,
    by: User,
    encoding: str = "",
) -> dict[str, Any]:
    task_type = read_declaration(files, parses_program=False)
    packed = declaring.parse_first_gold_of_new_task(
        season, task_type, stored, filename, by, encoding=encoding
    )
    return {"task_type": task_type, "packed": packed}


def _read_changed_task(
    task: Task, filled: Mapping[str, Any], by: User
) -> dict[str, Any]:
    """Read a task's changed declaration and existing gold before a transaction begins."""
    files = filled.get("files")
    if files is None:
        draft, measures = (
            declaring.build_draft_of_task(task),
            filled["measures"].strip(),
        )
        draft["task"] = (
            _parse_task_table(filled["declaration"], draft["slug"]) or draft["task"]
        )
        draft["card"] = filled["card"] or draft["card"]
        draft["files"] |= {MEASURES_FILE_NAME: f"{measures}\n"} if measures else {}
        files = _complete_task_files(draft, by)
    task_type = read_declaration(files, parses_program=False)
    packed = (
        declaring.parse_latest_gold_again(task, task_type, by)
        if task_type.slug != task.type
        else {}
    )
    return {"task_type": task_type, "packed": packed, "reason": filled["reason"]}


CREATE_DECLARED_TASK = build_rehearsed_action(
    declaring.create_declared_task,
    "Make a task of one's own from its gold, with the season's phases and its baselines; for organisers.",
    _("%(task)s is saved."),
    form=NewTaskForm,
    ready=_read_new_task,
    skips_confirmation=lambda season: not season.is_public,
    subject="season",
)
CHANGE_DECLARED_TASK = build_rehearsed_action(
    declaring.change_declared_task,
    "Declare a task of one's own anew; for organisers.",
    lambda again, _filled: (
        _("%(task)s is saved; its runs are rescored.")
        if again
        else _("%(task)s is saved.")
    ),
    form=DeclarationForm,
    ready=_read_changed_task,
    subject="task",
)
