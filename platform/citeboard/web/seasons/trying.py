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
from citeboard.web.pages import Answer, task_readers
from scoring.offline.sample import example_answers, public_sample
from scoring.results.board.formatting import metric_label, shown
from scoring.results.comparison.drawing import claim_lines, draw, example_parts_of_type
from scoring.results.runs.claims import displayed_claims
from tasks.models import Task
from tasks.submissions.uploads import client_network_of
from tasks.types.base import ShownInstance
from tasks.types.judge_views import plain_rules

SCORING_PROGRAM = "scoring.worker.trying:tried"
MAX_ANSWER_LENGTH = 20_000


@task_readers.form("seasons/try.html", fields=("answer",))
def try_answer(request: HttpRequest, task: Task) -> Answer:
    """Score an answer to a public example. The site limits the computing time for each
    network of anonymous users.
    """
    kind = task.task_type
    examples = example_answers(kind)
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
        "max_characters": MAX_ANSWER_LENGTH,
        "example": example_parts_of_type(kind),
    }
    if request.method == "POST":
        context |= _trial_context(request, task, answer)
    return render(request, "seasons/try.html", context)


def _trial_context(request: HttpRequest, task: Task, answer: str) -> dict[str, Any]:
    if len(answer) > MAX_ANSWER_LENGTH:
        return {
            "refused": _("An answer has at most %(n)s characters here.")
            % {"n": MAX_ANSWER_LENGTH}
        }
    kind, network = task.task_type, client_network_of(request)
    given = {
        "task_type": kind.reference,
        "sample": public_sample(kind),
        "filename": "answer.jsonl",
        "rules": plain_rules(task.rules),
    }
    sender = UploadSender(
        account=f"network {network}", network=network, submits=False, gives_way=True
    )
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".jsonl") as file:
        file.write(answer + "\n")
        file.flush()
        try:
            with read_upload(
                SCORING_PROGRAM, Path(file.name), given, owner=sender
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
    by_rules, claims = found["values"], claim_lines(displayed_claims(found["details"]))
    lines = []
    for name in dict.fromkeys(name for values in by_rules.values() for name in values):
        words = {}
        for rules, values in by_rules.items():
            told = values.get(name)
            words[rules] = told and (
                reasons.get(told["lacks"]) or shown(told["value"], told["scale"])
            )
        lines.append(
            (metric_label(name), [(rules, text or "") for rules, text in words.items()])
        )
    drawn = draw(kind, ShownInstance.of_values(found["shown"]), claims)
    return {"drawn": drawn, "rules": list(by_rules), "lines": lines}
