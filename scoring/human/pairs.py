"""Plan which texts of systems judges compare, save the judges' labels, and read
judgements from uploaded files.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from citeboard.core import audit
from citeboard.core.confinement import UploadUnreadable, read_upload
from citeboard.core.refusals import ActionRefused
from citeboard.core.words import count_with_noun
from citeboard.teams.models import User
from scoring.human.pair_ledger import store_sheet_judgements, withdraw_sheet_judgements
from scoring.human.pair_plans import (
    PairPlanDivision,
    assign_pairs_to_shares,
    plan_pairs,
)
from scoring.human.sheets import (
    SampledSheet,
    SheetRefused,
    list_runs_with_files_on_board,
    read_public_source_texts,
    store_sheet_texts,
)
from scoring.human.states import close_sheet, list_unassigned_shares, require_open_sheet
from scoring.models import (
    Annotator,
    PairShare,
    Preference,
    Sheet,
    SheetInstance,
    SheetPair,
)
from scoring.results.board.battles import (
    UNSCORED_RUN_STATES,
    index_runs_by_system_name,
    select_runs_for_battle_board,
)
from scoring.stats.battles import Battle
from tasks.models import Phase, Submission
from tasks.models.seasons import increment_board_version
from tasks.types import InputRefused, Problem
from tasks.types.problems import convert_dicts_to_problems


class JudgementFileRefused(InputRefused):
    """An error about an uploaded file of judgements that is invalid, and from which
    nothing was stored.
    """


def save_pair_sheet(
    drawn: SampledSheet,
    battles: int,
    division: PairPlanDivision | None = None,
    *,
    by: User,
) -> Sheet:
    """Create a sheet of pairs of texts that judges compare, and plan the pairs. Without
    ``division``, every judge compares the texts of every pair.
    """
    phase, runs = drawn.phase, list(drawn.texts)
    seed = secrets.token_hex(16)
    plan = plan_pairs(len(drawn.names), len(runs), battles, seed)
    with transaction.atomic():
        sheet = Sheet.objects.create(
            phase=phase,
            kind=Sheet.Kind.PAIRS,
            seed=drawn.seed,
            plan_seed=seed,
            shares=division.shares if division else 0,
            judges_of_pair=division.judges_of_pair if division else 0,
            created_by=by,
        )
        texts = store_sheet_texts(sheet, drawn)
        pairs = SheetPair.objects.bulk_create(
            SheetPair(
                instance_id=texts[pair.instance, runs[pair.left]].instance_id,
                position=position,
                left=texts[pair.instance, runs[pair.left]],
                right=texts[pair.instance, runs[pair.right]],
            )
            for position, pair in enumerate(plan, start=1)
        )
        if division:
            shares = assign_pairs_to_shares(plan, division, seed)
            PairShare.objects.bulk_create(
                PairShare(pair=pair, share=share)
                for pair, own in zip(pairs, shares, strict=True)
                for share in own
            )
        facts = {"pairs": len(plan), "runs": len(runs)}
        audit.record_action(
            "sheet-of-pairs",
            actor=by,
            subject=phase,
            place=phase.task.season,
            facts=facts,
        )
    return sheet


def load_pairs_of_sheet(sheet: Sheet) -> QuerySet[SheetPair]:
    return SheetPair.objects.filter(instance__sheet=sheet).order_by("position")


def find_pairs_for_judge(judge: Annotator) -> QuerySet[SheetPair]:
    """Return the pairs that a judge must label, which are the pairs of the judge's
    share, or all pairs if the sheet has no shares.
    """
    planned = load_pairs_of_sheet(judge.sheet)
    if judge.share is None:
        return planned
    return planned.filter(pair_shares__share=judge.share)


def save_preference(*, annotator: Annotator, pair: SheetPair, label: str) -> Preference:
    """Save a judge's label of a pair, and replace the judge's earlier label of the
    pair. Raises Refused.
    """
    if label not in Preference.Label.values:
        found = _("“%(label)s” is no label") % {"label": label[:40]}
        raise ActionRefused(
            _("%(found)s; choose left, tie or right") % {"found": found}
        )
    with transaction.atomic():
        require_open_sheet(Sheet.objects.select_for_update().get(pk=annotator.sheet_id))
        preference, _is_new = Preference.objects.update_or_create(
            annotator=annotator,
            pair=pair,
            defaults={
                "instance_id": pair.instance_id,
                "left_id": pair.left.submission_id,
                "right_id": pair.right.submission_id,
                "label": label,
                "judged_at": timezone.now(),
            },
        )
    return preference


def list_comparable_runs(phase: Phase, viewer: User) -> list[Submission]:
    """Return the runs on the board, whose texts judges can compare in pairs.

    If the board ranks systems only by comparisons of pairs, the newest unscored run of
    each system is added.
    """
    on_board = list_runs_with_files_on_board(phase, viewer)
    if not phase.battles_alone:
        return on_board
    waiting = (
        select_runs_for_battle_board(phase)
        .filter(status__in=UNSCORED_RUN_STATES)
        .exclude(file="")
    )
    newest = {(run.team_id, run.system): run for run in waiting}
    return [*on_board, *newest.values()]


@dataclass(frozen=True)
class JudgementFile:
    """The judgements in an uploaded file. All systems and topics that the file names
    exist in the phase.
    """

    filename: str
    battles: Sequence[Battle]


def read_judgements(path: Path, phase: Phase, shown: str, by: User) -> JudgementFile:
    """Read an uploaded file of judgements. Raises JudgementFileRefused with all invalid
    lines, or SheetRefused if the phase has no public inputs that can be read.
    """
    facts = {
        "filename": shown,
        "systems": {
            name: run.pk for name, run in index_runs_by_name_in_file(phase, by).items()
        },
        "topics": list(read_public_source_texts(phase)),
    }
    try:
        with read_upload(
            "scoring.human.reading:battles", path, facts, owner=by
        ) as done:
            if problems := convert_dicts_to_problems(done.result["problems"]):
                raise JudgementFileRefused(problems)
            return JudgementFile(
                shown, [Battle(*row) for row in done.result["battles"]]
            )
    except UploadUnreadable as reason:
        raise JudgementFileRefused(
            [Problem(file=shown, message=str(reason))]
        ) from reason


def index_runs_by_name_in_file(phase: Phase, by: User) -> dict[str, Submission]:
    """Return the runs that an uploaded file of judgements can refer to, by the names of
    the runs.
    """
    on_board = [run.pk for run in list_runs_with_files_on_board(phase, by)]
    return index_runs_by_system_name(
        list(select_runs_for_battle_board(phase).exclude(file="")), on_board
    )


def save_judgement_sheet(
    *,
    phase: Phase,
    given: JudgementFile,
    has_programs: bool,
    by: User,
    runs: Mapping[str, Submission] | None = None,
) -> Sheet:
    """Create a sheet of pairs without texts from the judgements in an uploaded file.

    ``runs`` maps names in the uploaded file to runs. By default, the file can refer to
    all runs of the phase.
    """
    if runs is None:
        runs = index_runs_by_name_in_file(phase, by)
    topics = list(dict.fromkeys(own.topic for own in given.battles))
    judges = list(dict.fromkeys(own.judge for own in given.battles))
    with transaction.atomic():
        sheet = Sheet.objects.create(
            phase=phase,
            kind=Sheet.Kind.PAIRS,
            seed=0,
            filename=given.filename[:200],
            has_programs=has_programs,
            created_by=by,
        )
        instances = SheetInstance.objects.bulk_create(
            SheetInstance(sheet=sheet, position=position, name=name, sources=[])
            for position, name in enumerate(topics, start=1)
        )
        by_topic = dict(zip(topics, instances, strict=True))
        annotators = {name: sheet.annotators.create(name=name) for name in judges}
        if gone := next(
            (
                name
                for own in given.battles
                for name in (own.left, own.right)
                if name not in runs
            ),
            None,
        ):
            raise SheetRefused(
                _("the run of %(system)s was withdrawn meanwhile") % {"system": gone}
            )
        Preference.objects.bulk_create(
            Preference(
                annotator=annotators[own.judge],
                instance=by_topic[own.topic],
                left=runs[own.left],
                right=runs[own.right],
                label=own.label,
            )
            for own in given.battles
        )
        facts = {"judgements": len(given.battles), "sheet": sheet.pk}
        audit.record_action(
            "battles-brought",
            actor=by,
            subject=phase,
            place=phase.task.season,
            facts=facts,
        )
    return sheet


@dataclass(frozen=True)
class JudgeProgress:
    """A judge of a sheet of pairs, with the number of labelled pairs and the number of
    pairs that the judge must label.
    """

    annotator: Annotator
    judged: int
    pairs: int

    @property
    def is_done(self) -> bool:
        return self.judged >= self.pairs


def compute_progress_of_judges(sheet: Sheet) -> list[JudgeProgress]:
    """Return the progress of each judge of a sheet of pairs.

    Judges whose judgements come from an uploaded file have labelled every pair.
    """
    judges = sheet.annotators.annotate(judged=Count("preferences")).order_by("pk")
    planned = load_pairs_of_sheet(sheet).count()
    of_shares = PairShare.objects.filter(pair__instance__sheet=sheet).order_by()
    sizes = dict(of_shares.values_list("share").annotate(Count("pk")))
    return [
        JudgeProgress(
            judge, judge.judged, sizes.get(judge.share, planned) or judge.judged
        )
        for judge in judges
    ]


def publish_pair_judgements(
    *, sheet: Sheet, by: User, is_confirmed: bool = False
) -> None:
    """Close a sheet of pairs, and count the sheet's judgements as battles between
    systems on the board. Raises Refused.

    If ``is_confirmed`` is True, the judgements are published although some judgements
    are missing.
    """
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        if locked.is_published:
            raise ActionRefused(_("the sheet is published already"))
        judges = compute_progress_of_judges(locked)
        if not any(judge.judged for judge in judges):
            raise ActionRefused(_("nobody has judged anything on the sheet yet"))
        waiting = describe_unfinished_judges(locked, judges)
        if waiting and not is_confirmed:
            words = _(
                "the sheet waits for %(names)s; confirm that it is published without them"
            )
            raise ActionRefused(words % {"names": "; ".join(waiting)})
        locked.published_at, locked.closed_at = timezone.now(), None
        locked.ledger_rows = store_sheet_judgements(locked, by)
        locked.save(update_fields=["published_at", "closed_at", "ledger_rows"])
        _record_in_history(locked, by, "battles/published")


def describe_unfinished_judges(
    sheet: Sheet, judges: Sequence[JudgeProgress]
) -> list[str]:
    """Describe each judge who has not labelled all pairs, and the number of shares that
    no judge has taken.

    The description of a judge is, for example, `Ada, who has judged 3 of 12`.
    """
    words = _("%(name)s, who has judged %(judged)s of %(pairs)s")
    waiting = [
        words % {"name": own.annotator, "judged": own.judged, "pairs": own.pairs}
        for own in judges
        if not own.is_done
    ]
    if free := list_unassigned_shares(sheet):
        words = _("a judge for each of %(shares)s")
        waiting.append(words % {"shares": count_with_noun(len(free), "free share")})
    return waiting


def unpublish_pair_judgements(*, sheet: Sheet, by: User) -> None:
    """Close a sheet of pairs, and remove the sheet's judgements from the battles on the
    board.
    """
    with transaction.atomic():
        locked = Sheet.objects.select_for_update().get(pk=sheet.pk)
        close_sheet(locked)
        withdraw_sheet_judgements(locked, by)
        _record_in_history(locked, by, "battles/removed")


def _record_in_history(sheet: Sheet, by: User, key: str) -> None:
    phase = sheet.phase
    increment_board_version(phase.pk)
    audit.record_action(
        key,
        actor=by,
        subject=phase,
        place=phase.task.season,
        facts={"sheet": sheet.pk},
    )
