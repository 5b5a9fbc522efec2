"""Sample units such as claims, store labels that people give to the units, and publish
scores that are estimated from these labels.
"""

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.files.base import ContentFile
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, storage
from citeboard.core.commits import call_after_commit
from citeboard.core.confinement import UploadUnreadable
from citeboard.core.refusals import ActionRefused
from citeboard.core.words import count_with_noun
from citeboard.teams.models import User
from scoring.human.sheets import MAX_SYSTEMS_PER_SHEET, SheetRefused
from scoring.metrics import build_metrics
from scoring.models import EstimateSheet
from scoring.results.board.standings import Board, compute_board
from scoring.worker.background import make_random_storage_name
from scoring.worker.child import ScoringOfRunFailed
from scoring.worker.estimating import (
    ComputedEstimates,
    SampleParameters,
    compute_estimates,
    sample_units_as_sheet,
)
from scoring.worker.local_copies import UploadedFileRefused
from tasks.models import Phase, Submission
from tasks.models.seasons import increment_board_version
from tasks.types import Problem
from tasks.types.base import OptionRefused

#: Minimum and maximum number of units that people label for each run.
MIN_LABELLED_UNITS_PER_RUN, MAX_LABELLED_UNITS_PER_RUN = 20, 1000


def list_estimable_unit_kinds(phase: Phase) -> list[str]:
    """Return the kinds of units, such as claims, whose labels can be used to estimate
    scores of the phase.
    """
    task = phase.task
    try:
        options = task.task_type.validate_options(task.options)
        metrics = [
            metric
            for rules in task.rules
            for metric in build_metrics(task.task_type, rules, options)
        ]
    except OptionRefused:
        return []
    found = {metric.unit_columns.of for metric in metrics if metric.unit_columns}
    return [kind for kind in EstimateSheet.UnitKind.values if kind in found]


def require_estimable_board(phase: Phase, by: User) -> Board:
    """Return the board of the phase, whose scores people's labels can correct. Raises
    SheetRefused.
    """
    board = compute_board(phase, by)
    if board.rules is None or board.gold is None or not board.rows:
        raise SheetRefused(_("no run is on the board yet"))
    if phase.public_part:
        raise SheetRefused(
            _("the phase is scored on a part of the gold, which has no estimates")
        )
    return board


def create_sample_parameters(
    phase: Phase, of: str, labels: int, by: User
) -> SampleParameters:
    """Return the parameters of a new sample of units that people label, with a random
    seed. Raises SheetRefused.
    """
    if of not in list_estimable_unit_kinds(phase):
        raise SheetRefused(_("the scores of this phase do not rest on such labels"))
    board = require_estimable_board(phase, by)
    assert board.gold is not None
    assert board.rules is not None
    chosen = [row.submission for row in board.systems[:MAX_SYSTEMS_PER_SHEET]]
    runs = Submission.objects.select_related("phase__task__season").in_bulk(chosen)
    return SampleParameters(
        phase=phase,
        gold=board.gold,
        rules=board.rules,
        of=of,
        labels=labels,
        seed=secrets.token_hex(16),
        runs=[runs[number] for number in chosen if runs[number].file],
    )


def sample_units_as_sheet_lines(sampling: SampleParameters) -> bytes:
    """Return the lines of the file with the sampled units that people label. Raises
    SheetRefused.
    """
    try:
        return sample_units_as_sheet(sampling)
    except (ScoringOfRunFailed, UploadUnreadable) as reason:
        raise SheetRefused(str(reason)) from reason


@dataclass(frozen=True, kw_only=True)
class StoredSheetFile:
    """A stored JSON Lines file with a header line.

    ``rows`` is the number of lines after the header.
    """

    name: str
    rows: int
    sha256: str


def store_sheet_file(content: bytes) -> StoredSheetFile:
    """Store the lines of a sheet in a file, and return the file's name and digest. A
    caller who does not save the file's name in the database must call `delete_unused_sheet_file`.
    """
    return StoredSheetFile(
        name=storage.statistics_file_storage.save(
            make_random_storage_name("jsonl"), ContentFile(content)
        ),
        rows=content.count(b"\n") - 1,
        sha256=hashlib.sha256(content).hexdigest(),
    )


def delete_unused_sheet_file(lines: StoredSheetFile) -> None:
    """Delete the file of sampled units unless a row of the database refers to the file.
    After a lost connection, the transaction that refers to the file may still have been
    committed.
    """
    refers = Q(file=lines.name) | Q(people=lines.name)
    if not EstimateSheet.objects.filter(refers).exists():
        storage.statistics_file_storage.delete(lines.name)


def save_estimate_sheet(
    sampling: SampleParameters, drawn: StoredSheetFile, *, by: User
) -> EstimateSheet:
    """Save a new sheet for the sampled units in the stored file. Raises SheetRefused if
    the file has no units.
    """
    if not drawn.rows:
        raise SheetRefused(_("the runs have nothing that people could label"))
    phase = sampling.phase
    with transaction.atomic():
        sheet = EstimateSheet.objects.create(
            phase=phase,
            of=sampling.of,
            labels=sampling.labels,
            seed=sampling.seed,
            gold=sampling.gold,
            rules=sampling.rules,
            runs=[run.pk for run in sampling.runs],
            judgements=drawn.rows,
            file=drawn.name,
            created_by=by,
        )
        facts = {"judgements": drawn.rows, "runs": len(sampling.runs)}
        _record_in_history(sheet, by, "estimate-sheet", facts)
    return sheet


def load_sample_parameters_of_sheet(sheet: EstimateSheet) -> SampleParameters:
    """Return the parameters that determined the sample of units of a stored sheet.
    Raises SheetRefused if one of the sampled runs has left the board.
    """
    runs = Submission.objects.select_related("phase__task__season").in_bulk(sheet.runs)
    left = [runs[number] for number in sheet.runs if number in runs]
    standing = [
        run
        for run in left
        if run.file and run.status == Submission.Status.SCORED and not run.exclusion
    ]
    if not standing:
        raise SheetRefused(_("no run of the sheet is on the board any more"))
    return SampleParameters(
        phase=sheet.phase,
        gold=sheet.gold,
        rules=sheet.rules,
        of=sheet.of,
        labels=sheet.labels,
        seed=sheet.seed,
        runs=standing,
    )


def compute_estimates_from_file(
    sheet: EstimateSheet, people: Path, filename: str
) -> ComputedEstimates:
    """Estimate the scores of the sampled runs from people's labels in the file
    ``people``. Raises UploadedFileRefused or SheetRefused.
    """
    if not sheet.has_random_sample_of_units:
        raise SheetRefused(_("labels of disagreements are imported into the ledger"))
    try:
        return compute_estimates(load_sample_parameters_of_sheet(sheet), people)
    except ScoringOfRunFailed as reason:
        problems = [
            Problem(
                **{
                    **facts,
                    "file": _choose_shown_file_name(
                        str(facts.get("file", "")), filename
                    ),
                }
            )
            for facts in reason.problems
        ]
        raise UploadedFileRefused(
            problems or [Problem(file=filename, message=str(reason))]
        ) from reason


def _choose_shown_file_name(file: str, filename: str) -> str:
    return filename if file == "people.jsonl" else file


def save_people_labels(
    sheet: EstimateSheet,
    result: Mapping[str, Any],
    people: StoredSheetFile,
    *,
    by: User,
) -> None:
    """Save people's labels and the estimates, and replace earlier labels and estimates.

    Raises Refused if estimates of the sheet are already published.
    """
    with transaction.atomic():
        locked = EstimateSheet.objects.select_for_update().get(pk=sheet.pk)
        _require_unpublished_estimates(locked)
        if old := locked.people:
            call_after_commit(storage.statistics_file_storage.delete, old)
        locked.people = people.name
        locked.people_sha256 = people.sha256
        locked.result = dict(result)
        locked.save(update_fields=["people", "people_sha256", "result"])
        _record_in_history(locked, by, "estimate-sheet/labels", {"sheet": sheet.pk})


def _require_unpublished_estimates(sheet: EstimateSheet) -> None:
    if not sheet.is_open:
        raise SheetRefused(_("the estimates are published; take them back first"))


def publish(*, sheet: EstimateSheet, by: User) -> None:
    """Publish the scores that were estimated from people's labels on the board. Raises
    Refused.
    """
    with transaction.atomic():
        locked = EstimateSheet.objects.select_for_update().get(pk=sheet.pk)
        if not locked.is_open:
            raise ActionRefused(_("the estimates are published already"))
        if not locked.has_random_sample_of_units:
            raise ActionRefused(_("a sheet of disagreements has no estimates"))
        if not locked.result:
            raise ActionRefused(_("there are no labels of people yet"))
        locked.published_at = timezone.now()
        locked.save(update_fields=["published_at"])
        increment_board_version(locked.phase_id)
        _record_in_history(locked, by, "estimate-sheet/published", {"sheet": sheet.pk})


def unpublish_estimates(*, sheet: EstimateSheet, by: User) -> None:
    with transaction.atomic():
        locked = EstimateSheet.objects.select_for_update().get(pk=sheet.pk)
        if locked.is_open:
            raise ActionRefused(_("the estimates are not published"))
        locked.published_at = None
        locked.save(update_fields=["published_at"])
        increment_board_version(locked.phase_id)
        _record_in_history(locked, by, "estimate-sheet/removed", {"sheet": sheet.pk})


def _record_in_history(
    sheet: EstimateSheet, by: User, key: str, facts: Mapping[str, Any]
) -> None:
    phase = sheet.phase
    audit.record_action(
        key, actor=by, subject=phase, place=phase.task.season, facts=dict(facts)
    )


def describe_size_of_sheet(sheet: EstimateSheet) -> str:
    """Describe the sheet, for example `60 judgements, 4 systems`."""
    parts = [
        count_with_noun(sheet.judgements, "judgement"),
        count_with_noun(len(sheet.runs), "system"),
    ]
    return ", ".join(parts)
