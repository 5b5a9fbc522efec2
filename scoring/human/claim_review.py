"""Compute how well people's judgements of a run agree with the run's automatic labels,
as in Table 4 of the ALiiCE paper (Xu et al., 2025).
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.core.files.base import File
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit, refusals, storage
from citeboard.core.commits import call_after_commit
from citeboard.teams.models import User
from scoring.human.reading import JUDGEABLE_ITEMS_FILE_NAME
from scoring.models import Evaluation, HumanScore, JudgedRun
from scoring.offline.evaluate import load_page_of_details
from scoring.results.board import comparisons, human_columns
from scoring.results.runs import claims, results
from scoring.stats import interval_methods, people_and_labels, signature
from scoring.worker.local_copies import (
    UploadedFileRefused,
    parse_uploaded_file,
    temporary_local_copy,
)
from tasks.models import Submission
from tasks.models.seasons import increment_board_version
from tasks.submissions.uploads import make_safe_filename
from tasks.types import Problem


def find_evaluation_with_claims(submission: Submission) -> Evaluation | None:
    return next(
        filter(
            claims.has_visible_claims,
            results.find_latest_evaluations_by_rule_set(submission).values(),
        ),
        None,
    )


def load_agreement_of_judged_run(judged: JudgedRun) -> dict[str, dict[str, Any]]:
    with temporary_local_copy(storage.statistics_file_storage, judged.file) as path:
        return compute_file_agreement(judged.submission, path, judged.filename, None)


def compute_file_agreement(
    submission: Submission, path: Path, filename: str, by: User | None
) -> dict[str, dict[str, Any]]:
    """Return the agreement of people's judgements in a file with the automatic labels
    that the run has now. Raises UploadedFileRefused or SandboxPoolFull.
    """
    if (evaluation := find_evaluation_with_claims(submission)) is None:
        message, expected = _("the run has no claims yet"), _("a run that is scored")
        raise UploadedFileRefused([Problem(message=message, expected=expected)])
    with comparisons.open_statistics_file(evaluation) as kept:
        details = dict(load_page_of_details(kept, 0, sys.maxsize)[0])
    items = json.dumps(
        list(people_and_labels.collect_judgeable_items(details))
    ).encode()
    answers = parse_uploaded_file(
        "scoring.human.reading:judgements",
        path,
        filename,
        by,
        {JUDGEABLE_ITEMS_FILE_NAME: items},
    )["answers"]
    if not answers:
        raise UploadedFileRefused(
            [Problem(file=filename, message=_("there is no judgement in it"))]
        )
    judgements = people_and_labels.AnnotatorJudgements()
    for kind, item, by_annotator in answers:
        judgements.answers[kind][tuple(item)] = by_annotator
    return people_and_labels.agreement(
        judgements, people_and_labels.collect_automatic_labels(details)
    )


def store_judgement_file(
    *, submission: Submission, path: Path, filename: str, by: User | None
) -> JudgedRun:
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        file.seek(0)
        name = storage.statistics_file_storage.save(
            f"{submission.pk}/judgements.jsonl", File(file)
        )
    with transaction.atomic():
        before = (
            JudgedRun.objects.select_for_update().filter(submission=submission).first()
        )
        if before is not None:
            if before.published_at is not None:
                _remove_from_board(before, by)
            old = before.file
            call_after_commit(lambda: storage.statistics_file_storage.delete(old))
            before.delete()
        judged = JudgedRun.objects.create(
            submission=submission,
            filename=make_safe_filename(filename),
            sha256=sha256,
            file=name,
            imported_by=by,
        )
        _record_in_history(judged, by, "judgements-imported")
    return judged


def publish_judged_run(*, submission: Submission, by: User | None) -> None:
    """Publish people's ratings of the run's responses on the board. Raises Refused,
    UploadedFileRefused or SandboxPoolFull.
    """
    if (judged := JudgedRun.objects.filter(submission=submission).first()) is None:
        raise refusals.ActionRefused(_("nobody has judged the run yet"))
    agreed = load_agreement_of_judged_run(judged)
    with transaction.atomic():
        locked = JudgedRun.objects.select_for_update().filter(pk=judged.pk).first()
        if locked is None:
            raise refusals.ActionRefused(
                _("another file has taken the place of these judgements meanwhile")
            )
        if locked.published_at is not None:
            raise refusals.ActionRefused(_("the ratings are on the board already"))
        scores = HumanScore.objects.bulk_create(_build_human_scores(locked, agreed))
        if not scores:
            raise refusals.ActionRefused(_("no whole response is rated in the file"))
        locked.published_at = timezone.now()
        locked.save(update_fields=["published_at"])
        increment_board_version(submission.phase_id)
        _record_in_history(locked, by, "judgements-imported/published")


def unpublish_judged_run(*, submission: Submission, by: User) -> None:
    with transaction.atomic():
        locked = (
            JudgedRun.objects.select_for_update()
            .published()
            .filter(submission=submission)
            .first()
        )
        if locked is None:
            raise refusals.ActionRefused(_("the ratings are not on the board"))
        _remove_from_board(locked, by)


def _remove_from_board(judged: JudgedRun, by: User | None) -> None:
    judged.scores.all().delete()
    judged.published_at = None
    judged.save(update_fields=["published_at"])
    increment_board_version(judged.submission.phase_id)
    _record_in_history(judged, by, "judgements-imported/removed")


def _record_in_history(judged: JudgedRun, by: User | None, key: str) -> None:
    run = judged.submission
    audit.record_action(
        key, actor=by, subject=judged, place=run.phase.task.season, facts={"run": run}
    )


def _build_human_scores(
    judged: JudgedRun, agreed: Mapping[str, Mapping[str, Any]]
) -> Iterator[HumanScore]:
    for kind in people_and_labels.LEVELS_BY_RATING:
        facts = agreed[kind]
        if not facts["items"]:
            continue
        parts = {
            **human_columns.build_judged_column_key_parts(kind),
            "responses": facts["items"],
            "n": facts["ratings"],
            "annotators": facts["annotators"],
            "fleiss": human_columns.four_decimals_or_none(facts["fleiss"]),
            "alpha": human_columns.four_decimals_or_none(facts["krippendorff"]),
            "file": judged.sha256[: signature.SHOWN_DIGEST_LENGTH],
            "interval": interval_methods.WILSON_JACKKNIFE,
            "numpy": version("numpy"),
        }
        yield HumanScore(
            judged=judged,
            submission=judged.submission,
            criterion=kind,
            value=facts["people"],
            low=facts["low"],
            high=facts["high"],
            n=facts["items"],
            signature=human_columns.join_column_key_parts(f"human_{kind}", parts),
        )
