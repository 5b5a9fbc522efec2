"""The page that scores an answer to a public example, without an account."""

import tempfile
from pathlib import Path
from typing import Any

from django.http import Http404, HttpRequest
from django.shortcuts import render
from django.utils.translation import gettext as _

from citeboard.core.confined.turns import UploadSender
from citeboard.core.confinement import UploadUnreadable, read_upload
from citeboard.core.query import parse_whole_number
from citeboard.web.pages import ViewResult, task_reader_pages
from scoring.offline.sample import find_public_sample, list_example_answers
from scoring.results.board.formatting import display_name_of_metric, format_score
from scoring.results.comparison.drawing import (
    build_claim_lines,
    build_parts_of_type_example,
    build_parts_of_whole_instance,
)
from scoring.results.runs.claims import format_claims_for_display
from tasks.models import Task
from tasks.submissions.uploads import get_client_network
from tasks.types.base import ShownInstance
from tasks.types.judge_views import select_rule_sets_without_judge

TRIAL_SCORING_PROGRAM = "scoring.worker.trying:tried"
MAX_TRIAL_ANSWER_LENGTH = 20_000


@task_reader_pages.form("seasons/try.html", fields=("answer",))
def score_trial_answer(request: HttpRequest, task: Task) -> ViewResult:
    """Score an answer to a public example. The site limits the computing time for each
    network of anonymous users.
    """
    kind = task.task_type
    examples = list_example_answers(kind)
    if not examples:
        raise Http404(_("No sample comes with this kind of task."))
    number = min(
        max(1, parse_whole_number(request.GET.get("example", ""))), len(examples)
    )
    answer = request.POST.get("answer", examples[number - 1])
    context: dict[str, Any] = {
        "season": task.season,
        "task": task,
        "answer": answer,
        "examples": range(1, len(examples) + 1),
        "number": number,
        "max_characters": MAX_TRIAL_ANSWER_LENGTH,
        "example": build_parts_of_type_example(kind),
    }
    if request.method == "POST":
        context |= _build_trial_context(request, task, answer)
    return render(request, "seasons/try.html", context)


def _build_trial_context(
    request: HttpRequest, task: Task, answer: str
) -> dict[str, Any]:
    if len(answer) > MAX_TRIAL_ANSWER_LENGTH:
        return {
            "refused": _("An answer has at most %(n)s characters here.")
            % {"n": MAX_TRIAL_ANSWER_LENGTH}
        }
    kind, network = task.task_type, get_client_network(request)
    given = {
        "task_type": kind.reference,
        "sample": find_public_sample(kind),
        "filename": "answer.jsonl",
        "rules": select_rule_sets_without_judge(task.rules),
    }
    sender = UploadSender(
        account=f"network {network}", network=network, submits=False, gives_way=True
    )
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".jsonl") as file:
        file.write(answer + "\n")
        file.flush()
        try:
            with read_upload(
                TRIAL_SCORING_PROGRAM, Path(file.name), given, owner=sender
            ) as done:
                found = done.result
        except UploadUnreadable as reason:
            return {"refused": str(reason)}
    if found["problems"]:
        return {"problems": found["problems"]}
    reasons = {
        "run": _("only for whole runs"),
        "model": _("needs a model that is not installed here"),
        "program": _("computed by a program of the task, which is not run here"),
    }
    by_rules, claims = (
        found["values"],
        build_claim_lines(format_claims_for_display(found["details"])),
    )
    lines = []
    for name in dict.fromkeys(name for values in by_rules.values() for name in values):
        words = {}
        for rules, values in by_rules.items():
            told = values.get(name)
            words[rules] = told and (
                reasons.get(told["lacks"]) or format_score(told["value"], told["scale"])
            )
        lines.append(
            (
                display_name_of_metric(name),
                [(rules, text or "") for rules, text in words.items()],
            )
        )
    drawn = build_parts_of_whole_instance(
        kind, ShownInstance.from_json(found["shown"]), claims
    )
    return {"drawn": drawn, "rules": list(by_rules), "lines": lines}
