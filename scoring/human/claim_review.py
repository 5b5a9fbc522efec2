"""People's judgements of a run beside the automatic labels, as in Table 4 of Xu et al. 2025."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from citeboard.core import storage
from citeboard.core.confinement import UploadUnreadable, limits_for_organisers, read_upload
from citeboard.core.refusals import Refused
from citeboard.teams.models import User
from scoring.human.reading import ITEMS
from scoring.metrics.entailment.judgements import Judgements
from scoring.models import Evaluation, JudgedRun
from scoring.offline.matrices import load_page
from scoring.runs.claims import has_claims
from scoring.runs.results import latest_evaluations
from scoring.stats.people_and_labels import agreement, automatic_labels, items_of
from tasks.models import Submission
from tasks.types import Problem
from tasks.types.problems import from_values

#: The program that reads a file of judgements in a confined process.
READ = "scoring.human.reading:judgements"
Details = Mapping[str, Mapping[str, Any]]


class JudgementsRefused(Refused):
    """The file cannot be taken as it is; nothing of it was kept."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems[:3]))


def judged_evaluation(submission: Submission) -> Evaluation | None:
    """Under the first rule set that splits responses into claims; None where the run has no claims yet."""
    return next(
        (evaluation for evaluation in latest_evaluations(submission).values() if has_claims(evaluation)), None
    )


def agreement_of(judged: JudgedRun) -> dict[str, dict[str, Any]]:
    """Against the labels of now. Raises JudgementsRefused where the run's claims are others since."""
    with tempfile.TemporaryDirectory(prefix="citeboard-judged-") as folder:
        path = storage.local_copy(storage.statistics, judged.file, Path(folder))
        return read_agreement(judged.submission, path, judged.filename, None)


def read_agreement(
    submission: Submission, path: Path, filename: str, by: User | None
) -> dict[str, dict[str, Any]]:
    """How far the file agrees with the labels of now. Raises JudgementsRefused or PoolFull."""
    details = _details(submission)
    return agreement(_judgements(path, filename, details, by), automatic_labels(details))


def _details(submission: Submission) -> Details:
    evaluation = judged_evaluation(submission)
    if evaluation is None:
        raise JudgementsRefused(
            [Problem(message=_("the run has no claims yet"), expected=_("a run that is scored"))]
        )
    with storage.statistics.open(evaluation.statistics) as kept:
        return dict(load_page(kept, 0, sys.maxsize)[0])


def _judgements(path: Path, filename: str, details: Details, by: User | None) -> Judgements:
    """What the file says, read in a confined process. Raises JudgementsRefused or PoolFull."""
    items = json.dumps(list(items_of(details))).encode()
    limits, name = limits_for_organisers(), {"filename": filename}
    found = Judgements()
    try:
        with read_upload(READ, path, name, owner=by, limits=limits, files={ITEMS: items}) as done:
            problems, answers = from_values(done.result["problems"]), done.result["answers"]
    except UploadUnreadable as reason:
        raise JudgementsRefused([Problem(file=filename, message=str(reason))]) from reason
    if problems:
        raise JudgementsRefused(problems)
    for kind, item, by_annotator in answers:
        found.answers[kind][tuple(item)] = by_annotator
    if not answers:
        raise JudgementsRefused([Problem(file=filename, message=_("there is no judgement in it"))])
    return found
