"""Make sheets for human evaluation. A sheet has instances sampled from the public
inputs, and the texts of several systems without the systems' names, in random order.
"""

import hashlib
import secrets
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils.timezone import now
from django.utils.translation import gettext as _

from citeboard.core import audit, storage
from citeboard.core.confinement import (
    UploadUnreadable,
    build_organiser_upload_limits,
    read_upload,
)
from citeboard.core.refusals import ActionRefused
from citeboard.core.words import count_with_noun
from citeboard.teams.models import Membership, User
from scoring.human.states import list_unassigned_shares, require_open_sheet
from scoring.models import Annotator, Rating, Sheet, SheetInstance, SheetText
from scoring.results.board.standings import compute_board
from scoring.worker import child, local_copies
from tasks.delivery.notifications.events import (
    delete_notifications,
    format_sheet_event_key,
    notify_sheet_assigned,
)
from tasks.gold import early, gold_files
from tasks.gold.secrecy import ContentKind
from tasks.models import Gold, Phase, Submission
from tasks.submissions.run_card import RUN_READING_MODULE
from tasks.types.base import HeadingsAndTexts, JudgementScale

MAX_INSTANCES_PER_SHEET, MAX_SYSTEMS_PER_SHEET = 200, 20
#: The code of a text is random, so that the code does not reveal the text's author.
#: Codes have only letters, because spreadsheets convert codes such as 1E5 to numbers.
_TEXT_CODE_LETTERS, _TEXT_CODE_LENGTH = "bcdfghjkmnpqrstvwxz", 10


class SheetRefused(ActionRefused):
    """An error with the reason for which no sheet can be made."""


def list_phases_with_human_evaluation(phases: Sequence[Phase]) -> list[Phase]:
    return [
        phase for phase in phases if phase.task.task_type.human_evaluation is not None
    ]


def list_runs_with_files_on_board(phase: Phase, viewer: User) -> list[Submission]:
    rows = compute_board(phase, viewer).rows
    runs = Submission.objects.in_bulk([row.submission for row in rows])
    return [runs[row.submission] for row in rows if runs[row.submission].file]


@dataclass(frozen=True, kw_only=True)
class SampledSheet:
    """The instances that were sampled for a sheet, in order, with the sources of each
    instance and the text of each run for each instance.
    """

    phase: Phase
    seed: int
    names: Sequence[str]
    sources: Mapping[str, HeadingsAndTexts]
    texts: Mapping[int, Mapping[str, str]]


def validate_sheet_size(runs: int, instances: int) -> None:
    if (
        not 1 <= runs <= MAX_SYSTEMS_PER_SHEET
        or not 1 <= instances <= MAX_INSTANCES_PER_SHEET
    ):
        words = _(
            "%(runs)s and %(instances)s: a sheet has 1 to %(most_runs)s runs and 1 to %(most)s instances"
        )
        asked = {
            "runs": count_with_noun(runs, "run"),
            "instances": count_with_noun(instances, "instance"),
        }
        raise SheetRefused(
            words
            % {
                **asked,
                "most_runs": MAX_SYSTEMS_PER_SHEET,
                "most": MAX_INSTANCES_PER_SHEET,
            }
        )


def sample_and_save_rating_sheet(
    *, phase: Phase, runs: Sequence[Submission], instances: int, seed: int, by: User
) -> Sheet:
    return save_rating_sheet(
        sample_instances_for_sheet(
            phase=phase, runs=runs, instances=instances, seed=seed
        ),
        by=by,
    )


def sample_instances_for_sheet(
    *,
    phase: Phase,
    runs: Sequence[Submission],
    instances: int,
    seed: int,
    tell: Callable[[float, str], object] = lambda share, doing: None,
) -> SampledSheet:
    """Read the inputs and the files of all runs, and sample the instances of a sheet of
    ratings. Raises SheetRefused.
    """
    validate_sheet_size(len(runs), instances)
    tell(0, "reading the public inputs")
    sources = read_public_source_texts(phase)
    texts = {}
    for place, run in enumerate(runs, start=1):
        tell(place / (len(runs) + 1), f"reading run {place} of {len(runs)}")
        texts[run.pk] = _read_run_texts(run)
    shared = [
        name
        for name in sources
        if all(one.get(name, "").strip() for one in texts.values())
    ]
    if len(shared) < instances:
        words = _(
            "only %(instances)s of %(total)s have a text of every chosen run, and %(asked)s are asked for"
        )
        found = {
            "instances": count_with_noun(len(shared), "instance"),
            "total": len(sources),
            "asked": instances,
        }
        raise SheetRefused(words % found)
    # Sorting by a hash of seed and name gives the same order on every machine.
    places = {
        name: hashlib.sha256(f"{seed} {name}".encode()).digest() for name in shared
    }
    names = sorted(shared, key=places.__getitem__)[:instances]
    return SampledSheet(
        phase=phase, seed=seed, names=names, sources=sources, texts=texts
    )


def save_rating_sheet(drawn: SampledSheet, *, by: User) -> Sheet:
    """Create a sheet.

    The order and the codes of texts are random and do not depend on the seed, because a
    public seed would reveal which system wrote a text.
    """
    phase = drawn.phase
    with transaction.atomic():
        human_evaluation = phase.task.task_type.human_evaluation
        scales = scales_as_json(human_evaluation.scales) if human_evaluation else {}
        sheet = Sheet.objects.create(
            phase=phase, seed=drawn.seed, created_by=by, scales=scales
        )
        store_sheet_texts(sheet, drawn)
        facts = {"instances": len(drawn.names), "runs": len(drawn.texts)}
        audit.record_action(
            "sheet", actor=by, subject=phase, place=phase.task.season, facts=facts
        )
    return sheet


def store_sheet_texts(
    sheet: Sheet, drawn: SampledSheet
) -> dict[tuple[int, int], SheetText]:
    """Store the instances of a sheet, and the texts of each instance in random order.
    Return the texts of a sheet by position of the instance and id of the run.
    """
    stored = SheetInstance.objects.bulk_create(
        SheetInstance(
            sheet=sheet,
            position=position,
            name=name,
            sources=[list(source) for source in drawn.sources[name]],
        )
        for position, name in enumerate(drawn.names, start=1)
    )
    runs = list(drawn.texts)
    texts = SheetText.objects.bulk_create(
        SheetText(
            instance=instance,
            position=position,
            code="".join(
                secrets.choice(_TEXT_CODE_LETTERS) for place in range(_TEXT_CODE_LENGTH)
            ),
            submission_id=run,
            # PostgreSQL cannot store the NUL character, which JSON strings may contain.
            text=drawn.texts[run][instance.name].replace("\0", "\ufffd"),
        )
        for instance in stored
        for position, run in enumerate(
            secrets.SystemRandom().sample(runs, len(runs)), start=1
        )
    )
    return {(text.instance.position - 1, text.submission_id): text for text in texts}


def read_public_source_texts(phase: Phase) -> Mapping[str, HeadingsAndTexts]:
    """Return the source texts of each text on the sheet, from the public inputs. Raises
    SheetRefused.
    """
    gold = Gold.objects.current(phase)
    if phase.task.task_type.human_evaluation is None or gold is None:
        raise SheetRefused(
            _("the phase has no texts that people could judge, or no gold yet")
        )
    try:
        found = _read_texts_in_stored_archive("sources", phase, gold.public, gold)
    except (OSError, UploadUnreadable) as reason:
        raise SheetRefused(
            _("the public inputs of the phase cannot be read")
        ) from reason
    return {
        name: tuple((heading, text) for heading, text in parts)
        for name, parts in found.items()
    }


def _read_texts_in_stored_archive(
    program: str, phase: Phase, stored: str, gold: Gold
) -> dict[str, Any]:
    task_type = phase.task.task_type
    task = {"task_type": task_type.reference, "reading": gold.reading_version}
    limits = build_organiser_upload_limits()
    with (
        local_copies.temporary_local_copy(storage.gold_file_storage, stored) as path,
        read_upload(
            f"{RUN_READING_MODULE}:{program}", path, task, owner=None, limits=limits
        ) as done,
    ):
        return dict(done.result)


def _read_run_texts(run: Submission) -> Mapping[str, str]:
    task_type = run.phase.task.task_type
    gold = Gold.objects.current(run.phase)
    assert gold is not None
    wish = {
        "task_type": task_type.reference,
        "options": task_type.validate_options(run.phase.task.options),
        "filename": run.filename,
        "reading": gold.reading_version,
    }
    limits, index = (
        build_organiser_upload_limits(),
        gold_files.get_cached_index_path(gold),
    )
    with tempfile.TemporaryDirectory(prefix="citeboard-sheet-") as folder:
        try:
            path = local_copies.copy_run_file_to_folder(run, Path(folder))
            with read_upload(
                f"{RUN_READING_MODULE}:texts",
                path,
                wish,
                owner=None,
                limits=limits,
                shared=index,
            ) as done:
                return dict(done.result)
        except (
            OSError,
            UploadUnreadable,
            child.ScoringOfRunFailed,
            child.ScorerWaitsForDependency,
        ) as reason:
            raise SheetRefused(
                _("the run of %(run)s cannot be read") % {"run": run}
            ) from reason


def scales_as_json(scales: Mapping[str, JudgementScale]) -> dict[str, Any]:
    return {
        name: {"question": scale.question, "levels": list(scale.levels)}
        for name, scale in scales.items()
    }


def has_reference_texts(sheet: Sheet) -> bool:
    human_evaluation = sheet.phase.task.task_type.human_evaluation
    return human_evaluation is not None and human_evaluation.references is not None


def show_references(*, sheet: Sheet, by: User) -> None:
    """Let annotators see the gold text of each instance beside the texts of the
    systems. Raises Refused.
    """
    phase = sheet.phase
    if not has_reference_texts(sheet):
        raise ActionRefused(
            _("the texts of this task are not judged against a gold text")
        )
    same_gold = Phase.objects.sharing_gold_with(phase)
    if same_gold.filter(Q(closes__gt=now()) | Q(late_until__gt=now())).exists():
        raise ActionRefused(
            _("a phase on this gold is still to end; until then nobody is shown it")
        )
    if any(phase.is_frozen() for phase in same_gold):
        # Annotators who saw the gold could compute scores that are not public yet.
        raise ActionRefused(
            _("a board on this gold is frozen; until it is revealed nobody is shown it")
        )
    gold, human_evaluation = (
        Gold.objects.current(phase),
        phase.task.task_type.human_evaluation,
    )
    assert gold is not None
    assert human_evaluation is not None
    try:
        texts: Mapping[str, str] = _read_texts_in_stored_archive(
            "references", phase, gold.file, gold
        )
    except (OSError, UploadUnreadable) as reason:
        raise ActionRefused(_("the gold of the phase cannot be read")) from reason
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        if (
            not locked.is_open
            or Rating.objects.filter(annotator__sheet=locked).exists()
        ):
            raise ActionRefused(
                _("something has been rated without the gold text already")
            )
        if locked.has_references:
            return
        instances = list(locked.instances.all())
        if missing := next(
            (one.name for one in instances if one.name not in texts), None
        ):
            raise ActionRefused(
                _("the present gold has no instance %(name)s any more")
                % {"name": missing}
            )
        for instance in instances:
            instance.sources = [
                *instance.sources,
                ["The gold text", texts[instance.name]],
            ]
            instance.save(update_fields=["sources"])
        locked.has_references = True
        locked.scales = {
            **locked.scales,
            **scales_as_json(human_evaluation.reference_scales),
        }
        locked.save(update_fields=["has_references", "scales"])
        facts, season = {"sheet": sheet.pk}, phase.task.season
        audit.record_action(
            "sheet-references", actor=by, subject=phase, place=season, facts=facts
        )


class AnnotatorRefused(ActionRefused):
    """An error with the reason for which a person cannot rate the texts of a sheet."""


def add_annotator_by_email(
    *, sheet: Sheet, email: str, by: User, is_adjudicator: bool = False
) -> Annotator:
    person = User.objects.filter(email__iexact=email.strip(), is_active=True).first()
    if person is None:
        raise AnnotatorRefused(
            _("nobody has an account with this address; they can sign up first")
        )
    if has_texts_of_own_team(sheet, person):
        raise AnnotatorRefused(
            _("a member of a team whose run is on the sheet cannot rate it")
        )
    kinds = (
        [ContentKind.INPUTS, ContentKind.GOLD]
        if sheet.has_references
        else [ContentKind.INPUTS]
    )
    with transaction.atomic():
        early.refuse_disclosure_to_people(sheet.phase, [person], kinds, by=by)
        return _add_annotator(
            sheet, str(person), person, by, is_adjudicator=is_adjudicator
        )


def has_texts_of_own_team(sheet: Sheet, person: User) -> bool:
    teams = sheet.instances.values("texts__submission__team")
    return Membership.objects.filter(user=person, team__in=teams).exists()


def get_or_add_named_annotator(
    *, sheet: Sheet, name: str, by: User | None = None
) -> Annotator:
    """Return the annotator with the given name, and create the annotator if no
    annotator has this name.

    An organiser uploads the ratings of annotators who have no account. Raises
    AnnotatorRefused.
    """
    rater = sheet.annotators.filter(name=name).first()
    if rater is not None and rater.user is not None:
        raise AnnotatorRefused(
            _("%(name)s rates on the site, and can upload a file there")
            % {"name": rater}
        )
    return rater or _add_annotator(sheet, name, None, by)


def remove_annotator(*, annotator: Annotator, by: User) -> int:
    with transaction.atomic():
        sheet = Sheet.objects.select_for_update().get(pk=annotator.sheet_id)
        if sheet.is_published:
            raise AnnotatorRefused(
                _("the sheet is published; unpublish it before you remove annotators")
            )
        ratings = annotator.ratings.count() + annotator.preferences.count()
        facts = {"annotator": annotator, "ratings": ratings}
        audit.record_action(
            "annotator-removed",
            actor=by,
            subject=sheet,
            place=sheet.phase.task.season,
            facts=facts,
        )
        if annotator.user_id is not None:
            delete_notifications(
                format_sheet_event_key(sheet.pk), user=annotator.user_id
            )
        annotator.delete()
    return ratings


def _add_annotator(
    sheet: Sheet,
    name: str,
    person: User | None,
    by: User | None,
    *,
    is_adjudicator: bool = False,
) -> Annotator:
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        require_open_sheet(locked)
        if person is not None and (
            annotator := locked.annotators.filter(user=person).first()
        ):
            if annotator.is_adjudicator != is_adjudicator:
                words = _(
                    "%(name)s is on the sheet already, and nobody decides on their own ratings"
                )
                raise AnnotatorRefused(words % {"name": annotator})
            return annotator
        if is_adjudicator and (
            other := locked.annotators.filter(is_adjudicator=True).first()
        ):
            raise AnnotatorRefused(
                _("%(name)s adjudicates the sheet already") % {"name": other}
            )
        taken = set(locked.annotators.values_list("name", flat=True))
        numbered = (f"{name[:70]} ({number})" for number in range(2, len(taken) + 3))
        free = next(
            candidate for candidate in (name, *numbered) if candidate not in taken
        )[:80]
        shares = list_unassigned_shares(locked)
        if locked.shares and not shares:
            words = _("the plan is divided among %(judges)s, who are all on the sheet")
            judges = count_with_noun(locked.shares, "judge")
            raise AnnotatorRefused(words % {"judges": judges})
        added = locked.annotators.create(
            name=free,
            user=person,
            is_adjudicator=is_adjudicator,
            share=shares[0] if shares else None,
        )
        facts, season = (
            {"annotator": added, "sheet": sheet.pk},
            locked.phase.task.season,
        )
        audit.record_action(
            "annotator-added", actor=by, subject=locked, place=season, facts=facts
        )
        if person is not None:
            notify_sheet_assigned(
                locked.pk, locked.phase, person.pk, has_pairs=locked.has_pairs
            )
        return added
