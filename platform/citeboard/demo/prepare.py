"""Create the demo seasons on a new site. The demo does not overwrite changes that
visitors of the site made.
"""

import datetime as dt
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from allauth.account.models import EmailAddress
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from citeboard.core.confined.turns import SandboxPoolFull
from citeboard.demo.systems import (
    FIELD_TASK_SYSTEMS,
    LEAD_BASELINE_SYSTEM,
    REPORT_JUDGING_SYSTEMS,
    REPORT_WRITING_SYSTEMS,
    SYSTEMS_BY_TASK,
    DemoSystem,
    create_seeded_random,
    find_task_folder,
)
from citeboard.teams.models import Membership, Team, Token, User, compute_token_digest
from scoring.human import outcome, pairs, ratings, sheets
from scoring.models import HIGHEST_RATING, LOWEST_RATING, Evaluation, Sheet, SheetText
from scoring.offline.battles import read_battles
from scoring.worker import baseline_runs, entailment_labels
from tasks.delivery.notifications.reading import store_notification_channels
from tasks.models import Organiser, Phase, Registration, Season, Submission
from tasks.models.notifications import NotificationChannel, NotificationKind
from tasks.registration.entries import draw_free_team_alias
from tasks.seasons.file import load, plan
from tasks.submissions.run_card import RunMetadata, validate_run_details
from tasks.submissions.submit import submit_dated_run, validate_run_metadata
from tasks.submissions.uploads import UploadedRunFile

EXAMPLES_FOLDER: Path = settings.BASE_DIR / "examples"
DEMO_SEASON_SLUG = "demo"
#: The archive of the ended demo season contains all data behind the scores.
ENDED_DEMO_SEASON_SLUG = "demo-2024"
#: FIELD_TASKS_SEASON_SLUG is the season with declared tasks, which the demo loads last.
FIELD_TASKS_SEASON_SLUG = "field-tasks"
#: The tasks of the season REPORTS_SEASON_SLUG are to write reports and to judge reports.
REPORTS_SEASON_SLUG = "reports"
JUDGING_TASK_SLUG = "judges"
PARTICIPANT_TEAM_NAME = "Fulmar"
#: Nobody can submit runs to seasons that contain only published results.
PUBLISHED_RESULTS_SEASON_SLUGS = (
    "cl-summ-2014",
    "citation-resolution-2014",
    "citebench-2023",
    "citation-recommendation-2024",
    "aliice-2025",
)
#: Demo seasons of early releases lack the task NEWEST_DEMO_TASK_SLUG and get these baseline runs.
BASELINE_FILES_OF_OLD_DEMO_BY_TASK = {
    "1a": "lead.jsonl",
    "1b": "lead.jsonl",
    "citation-texts": "texts/first-sentences.jsonl",
}
NEWEST_DEMO_TASK_SLUG = "positional"


#: While the file UNFINISHED_DEMO_MARKER_FILE exists, the next start of the site continues the demo.
UNFINISHED_DEMO_MARKER_FILE = ".unfinished"
#: Submission times of successive demo runs differ by SUBMISSION_INTERVAL, or less in short phases.
SUBMISSION_INTERVAL = dt.timedelta(days=33)
MAX_SUBMISSION_INTERVALS = 9


#: The demo waits at most MAX_SANDBOX_WAIT_SECONDS seconds for a free sandboxed process.
#: Every SANDBOX_POLL_SECONDS seconds, the demo tries again to get a free sandboxed process.
MAX_SANDBOX_WAIT_SECONDS, SANDBOX_POLL_SECONDS = 600.0, 2.0
#: The demo checks every POLL_SECONDS seconds whether the worker is done.
POLL_SECONDS = 2
P = ParamSpec("P")
R = TypeVar("R")


def call_when_sandbox_process_free(
    action: Callable[P, R], *given: P.args, **named: P.kwargs
) -> R:
    """Call the function ``action`` as soon as a sandboxed process is free to read
    files.

    Raises SandboxPoolFull if no process was free for 10 minutes.
    """
    until = time.monotonic() + MAX_SANDBOX_WAIT_SECONDS
    while True:
        try:
            return action(*given, **named)
        except SandboxPoolFull:
            if time.monotonic() > until:
                raise
            time.sleep(SANDBOX_POLL_SECONDS)


@dataclass(frozen=True, kw_only=True)
class DemoCredentials:
    users: dict[str, User]
    passwords: dict[str, str]
    token: str
    example_runs: dict[Phase, Path]


def create_demo() -> DemoCredentials:
    """Create the accounts and the first season of the demo."""
    users = {role: get_or_create_account(role) for role in DEMO_ACCOUNT_ROLES}
    files = _prepare_demo_files_folder()
    season = Season.objects.filter(
        slug=DEMO_SEASON_SLUG
    ).first() or _load_backdated_season("demo-season", files)
    Organiser.objects.get_or_create(season=season, user=users[ORGANISER_ROLE])
    add_to_team(
        users[PARTICIPANT_ROLE], get_or_register_team(PARTICIPANT_TEAM_NAME, season)
    )
    return DemoCredentials(
        users=users,
        passwords={
            role: derive_demo_secret(role, "password") for role in DEMO_ACCOUNT_ROLES
        },
        token=get_or_create_token(users[PARTICIPANT_ROLE]),
        example_runs=_find_example_runs_by_phase(season, files),
    )


def finish_demo() -> None:
    """Finish the demo seasons in short transactions, so that other processes can write
    to the database in between.

    After an interruption, a second call of the function continues the work.
    """
    files = _prepare_demo_files_folder()
    if (mark := files / UNFINISHED_DEMO_MARKER_FILE).exists():
        season = Season.objects.get(slug=DEMO_SEASON_SLUG)
        # The demo has a file of labels by each judge.
        # Earlier releases had only the labels of the first judge.
        for labels in sorted((files / NEWEST_DEMO_TASK_SLUG).glob("labels*.jsonl")):
            entailment_labels.import_labels(
                path=labels, filename=labels.name, by=None, season=season
            )
        submit_demo_runs(season, files / "runs")
        publish_ratings(season, get_or_create_account(ORGANISER_ROLE))
        submit_demo_runs(
            Season.objects.filter(slug=ENDED_DEMO_SEASON_SLUG).first()
            or _load_backdated_season(ENDED_DEMO_SEASON_SLUG, files),
            files / "runs",
        )
        load_reports_season()
        mark.unlink()
    load_published_seasons()


#: Debian 12's Python is older than 3.11.4, which introduced tarfile's filter `data`.
SAFE_TAR_EXTRACTION_OPTIONS: dict[str, Any] = (
    {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
)


def _prepare_demo_files_folder() -> Path:
    """Return the folder with the invented files of the demo season.

    The folder of demo files is permanent, because workers read parses of papers from
    the folder.
    """
    folder: Path = settings.DATA_DIR / "demo"
    if not folder.exists():
        draft = Path(tempfile.mkdtemp(prefix="demo-", dir=settings.DATA_DIR))
        try:
            shutil.unpack_archive(
                EXAMPLES_FOLDER / "demo-files.tar.xz",
                draft,
                **SAFE_TAR_EXTRACTION_OPTIONS,
            )
            draft.rename(folder)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    return folder


def _load_backdated_season(folder: str, files: Path) -> Season:
    (files / UNFINISHED_DEMO_MARKER_FILE).touch()
    season = call_when_sandbox_process_free(
        load.load_season, EXAMPLES_FOLDER / folder, data=files
    ).season
    with transaction.atomic():
        for phase in Phase.objects.filter(task__season=season):
            _backdate_runs(phase, phase.submissions.all(), MAX_SUBMISSION_INTERVALS)
    return season


def load_field_tasks() -> None:
    """Load the demo season with declared tasks, and add missing demo runs."""
    folder = EXAMPLES_FOLDER / FIELD_TASKS_SEASON_SLUG
    season = Season.objects.filter(slug=FIELD_TASKS_SEASON_SLUG).first()
    if season is None:
        season = call_when_sandbox_process_free(
            load.load_season, folder, data=EXAMPLES_FOLDER
        ).season
        # The newest season comes first on the home page and must have all task types.
        Season.objects.filter(pk=season.pk).update(
            created_at=season.created_at - dt.timedelta(days=1)
        )
    names = {system.name for system in FIELD_TASK_SYSTEMS}
    for phase in _find_phases_of_season(season).order_by("pk"):
        # An earlier release had other gold, so seasons with its runs stay unchanged.
        if names.issuperset(_find_submitted_systems(phase)):
            _submit_missing_runs(phase, FIELD_TASK_SYSTEMS, folder / phase.task.slug)
            baseline_runs.request_baselines(phase=phase, by=None)


def load_reports_season() -> None:
    """Load the demo season with tasks about reports and all its runs, and keep existing
    data.
    """
    folder = EXAMPLES_FOLDER / REPORTS_SEASON_SLUG
    season = Season.objects.filter(slug=REPORTS_SEASON_SLUG).first()
    if season is None:
        season = call_when_sandbox_process_free(
            load.load_season, folder, data=EXAMPLES_FOLDER
        ).season
        # The season with all task types must stay first on the home page.
        Season.objects.filter(pk=season.pk).update(
            created_at=season.created_at - dt.timedelta(days=1)
        )
    for phase in _find_phases_of_season(season):
        systems = (
            REPORT_JUDGING_SYSTEMS
            if phase.task.slug == JUDGING_TASK_SLUG
            else REPORT_WRITING_SYSTEMS
        )
        if {system.name for system in systems}.issuperset(
            _find_submitted_systems(phase)
        ):
            dates = _compute_submission_times(phase, len(systems))
            _submit_missing_runs(phase, systems, folder / phase.task.slug, dates)
        for path in sorted((folder / phase.task.slug).glob("battles-*.jsonl")):
            if not phase.sheets.filter(filename=path.name).exists():
                _publish_battles(phase, path)


def _publish_battles(phase: Phase, path: Path) -> None:
    """Publish a file with judges' decisions on pairs of texts.

    The board shows the names of those judges that are programs.
    """
    organiser = get_or_create_account(ORGANISER_ROLE)
    sheet = pairs.save_judgement_sheet(
        phase=phase,
        given=pairs.JudgementFile(path.name, read_battles(path)),
        has_programs=path.stem.endswith("-programs"),
        by=organiser,
        runs={run.system: run for run in phase.submissions.all()},
    )
    pairs.publish_pair_judgements(sheet=sheet, by=organiser)


def _find_phases_of_season(season: Season) -> QuerySet[Phase]:
    return Phase.objects.filter(task__season=season).select_related("task__season")


def _find_submitted_systems(phase: Phase) -> set[str]:
    runs = phase.submissions.exclude(team=None)
    return set(runs.values_list("system", flat=True))


def load_published_seasons() -> None:
    """Load the demo seasons that contain only published results.

    Demo seasons that already exist get the published results of this release.
    """
    present = set(
        Season.objects.filter(slug__in=PUBLISHED_RESULTS_SEASON_SLUGS).values_list(
            "slug", flat=True
        )
    )
    for slug in PUBLISHED_RESULTS_SEASON_SLUGS:
        if slug in present:
            plan.read_published_results(
                sorted((EXAMPLES_FOLDER / slug).glob("*.json"))
            ).store_publications()
        else:
            call_when_sandbox_process_free(load.load_season, EXAMPLES_FOLDER / slug)


def _find_example_runs_by_phase(season: Season, files: Path) -> dict[Phase, Path]:
    now = timezone.now()
    phases = Phase.objects.filter(task__season=season, opens__lte=now, closes__gt=now)
    ordered = phases.select_related("task__season").order_by(
        "task__position", "position"
    )
    if not season.tasks.filter(slug=NEWEST_DEMO_TASK_SLUG).exists():
        return {
            phase: EXAMPLES_FOLDER
            / "runs"
            / BASELINE_FILES_OF_OLD_DEMO_BY_TASK[phase.task.slug]
            for phase in ordered
            if phase.task.slug in BASELINE_FILES_OF_OLD_DEMO_BY_TASK
        }
    runs = {
        phase: find_demo_runs_folder(phase, files / "runs")
        / f"{LEAD_BASELINE_SYSTEM.slug}.jsonl"
        for phase in ordered
    }
    return {phase: run.resolve() for phase, run in runs.items() if run.exists()}


ORGANISER_ROLE, PARTICIPANT_ROLE, READER_ROLE = DEMO_ACCOUNT_ROLES = (
    "organiser",
    "participant",
    "reader",
)
DEMO_TOKEN_NAME = "demo"  # noqa: S105  (what the token is called, not what it is)


def demo_email_address(role: str) -> str:
    return f"{role}@demo.example"


def derive_demo_secret(role: str, kind: str) -> str:
    """Return a secret of the demo that is constant on one site.

    The secrets of different sites are different.
    """
    return salted_hmac(
        f"citeboard.demo.{kind}", demo_email_address(role), algorithm="sha256"
    ).hexdigest()[:32]


def get_or_create_account(role: str) -> User:
    address, password = demo_email_address(role), derive_demo_secret(role, "password")
    user = User.objects.filter(email__iexact=address).first()
    if user is None:
        user = User.objects.create_user(address, password, name=f"Demo {role}")
        # Demo users receive no e-mail, because their addresses do not exist.
        store_notification_channels(
            user=user, wanted=dict.fromkeys(NotificationKind, NotificationChannel.SITE)
        )
    elif not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    EmailAddress.objects.update_or_create(
        user=user, email=user.email, defaults={"verified": True, "primary": True}
    )
    return user


def get_or_create_token(user: User) -> str:
    """Return the demo participant's API token.

    The function revokes tokens that were derived from an earlier secret key of the
    site.
    """
    secret = derive_demo_secret(PARTICIPANT_ROLE, "token")
    named = Token.objects.filter(user=user, name=DEMO_TOKEN_NAME)
    named.exclude(digest=compute_token_digest(secret)).filter(revoked_at=None).update(
        revoked_at=timezone.now()
    )
    if not named.filter(digest=compute_token_digest(secret)).update(revoked_at=None):
        Token.objects.create_token(user=user, name=DEMO_TOKEN_NAME, secret=secret)
    return secret


def add_to_team(user: User, team: Team) -> None:
    if Membership.objects.filter(team=team, user=user).exists():
        return
    has_lead = Membership.objects.filter(team=team, role=Membership.Role.LEAD).exists()
    role = Membership.Role.MEMBER if has_lead else Membership.Role.LEAD
    Membership.objects.create(team=team, user=user, role=role)


PRACTICE_PHASE_SLUG = "practice"
TEAM_NAMES_IN_ALL_PHASES = ("Avocet", "Bittern", "Curlew")
#: BASELINE_NAMES_BY_TASK contains the quick built-in baselines of each task in the demo.
BASELINE_NAMES_BY_TASK = {
    "1a": {
        "clsumm-tfidf-top1": "TF-IDF, best sentence",
        "clsumm-mq-mmr": "Query and diversity (MMR)",
    },
    "1b": {
        "clsumm-tfidf-top1": "TF-IDF, best sentence",
        "clsumm-mq-mmr": "Query and diversity (MMR)",
    },
    "2": {
        "clsumm-lead": "First 250 words",
        "clsumm-mq-summary-tfidf": "TF-IDF summary",
    },
    "citation-texts": {
        "citation-text-lead": "First sentence of each abstract",
        "citation-text-lexrank": "LexRank",
    },
    "recommendation": {"tfidf-cosine": "TF-IDF", "bm25-okapi": "BM25"},
    "resolution": {
        "references-tfidf-10-10": "TF-IDF, ten words around",
        "references-tfidf-30-30": "TF-IDF, thirty words around",
    },
}


#: TRAINING_DATA_BY_SYSTEM maps demo systems to the training data that their run cards state.
TRAINING_DATA_BY_SYSTEM = {
    "DraftCheck-2": "paragraphs",
    "RAG-and-edit": "sentences",
    "last-word": "none",
}


NO_RUN_CARDS: Mapping[str, RunMetadata] = {}


def find_demo_runs_folder(phase: Phase, runs: Path) -> Path:
    return runs / find_task_folder(phase.task.slug, phase.split)


def _submit_missing_runs(
    phase: Phase,
    systems: Sequence[DemoSystem],
    folder: Path,
    dates: Sequence[dt.datetime] = (),
    cards: Mapping[str, RunMetadata] = NO_RUN_CARDS,
) -> None:
    """Submit the missing demo runs of a phase, each in a short transaction.

    ``dates`` contains the submission times of the demo runs, by default the current
    time.
    """
    sent = _find_submitted_systems(phase)
    for index, system in enumerate(systems):
        if system.name not in sent:
            name = f"{system.slug}.jsonl"
            call_when_sandbox_process_free(
                submit_dated_run,
                phase=phase,
                team=get_or_register_team(system.team, phase.task.season),
                upload=UploadedRunFile(folder / name, name),
                details=validate_run_details(
                    system=system.name, kind=Submission.Kind.PRIMARY
                ),
                said=RunMetadata(description=system.description).before(
                    cards.get(system.name, RunMetadata())
                ),
                facts={"submitted_at": dates[index] if dates else timezone.now()},
            )


def submit_demo_runs(season: Season, files: Path) -> None:
    """Submit the demo runs of all teams, and request baselines.

    Existing runs stay unchanged.
    """
    for phase in _find_phases_of_season(season).order_by("task__position", "position"):
        is_full = (
            phase.slug == PRACTICE_PHASE_SLUG or season.slug == ENDED_DEMO_SEASON_SLUG
        )
        systems = [
            system
            for system in SYSTEMS_BY_TASK[phase.task.slug]
            if is_full or system.team in TEAM_NAMES_IN_ALL_PHASES
        ]
        # The demo omits baselines whose packages are not installed.
        lacking = baseline_runs.find_baselines_lacking_requirements(phase)
        called = BASELINE_NAMES_BY_TASK.get(phase.task.slug, {})
        names = [name for name in called if name not in lacking]
        asked = names if phase.slug == PRACTICE_PHASE_SLUG else names[:1]
        dates = _compute_submission_times(phase, len(systems) + len(asked))
        cards = {
            system.name: validate_run_metadata(
                phase.task.task_type,
                description="",
                card=system.card
                | {"trained_on": TRAINING_DATA_BY_SYSTEM.get(system.name, "")},
                figures=system.simulated_costs
                if season.slug == DEMO_SEASON_SLUG
                else {},
            )
            for system in systems
        }
        _submit_missing_runs(
            phase, systems, find_demo_runs_folder(phase, files), dates, cards
        )
        if asked and not phase.submissions.exclude(built_in="").exists():
            _request_baselines(phase, {name: called[name] for name in asked})


@transaction.atomic
def _request_baselines(phase: Phase, called: Mapping[str, str]) -> None:
    baseline_runs.request_baselines(phase=phase, names=list(called), by=None)
    for name, system in called.items():
        phase.submissions.filter(built_in=name).update(system=system)
    _backdate_runs(phase, phase.submissions.exclude(built_in=""), 0)


def _compute_submission_times(
    phase: Phase, count: int, first: int = 0
) -> list[dt.datetime]:
    """Return submission times of demo runs over several months.

    The chart of scores over time therefore has several points.
    """
    last = min(timezone.now(), phase.closes - dt.timedelta(days=2))
    apart = min(
        SUBMISSION_INTERVAL, (last - phase.opens) / (2 * MAX_SUBMISSION_INTERVALS)
    )
    return [last - steps * apart for steps in reversed(range(first, first + count))]


def _backdate_runs(phase: Phase, runs: QuerySet[Submission], first: int) -> None:
    rows = list(runs.order_by("pk"))
    for run, at in zip(
        rows, _compute_submission_times(phase, len(rows), first), strict=True
    ):
        Submission.objects.filter(pk=run.pk).update(submitted_at=at)
        # A worker may already have scored the run, so the evaluation gets the date too.
        Evaluation.objects.filter(submission=run).update(submitted_at=at)


def get_or_register_team(name: str, season: Season) -> Team:
    team, _ = Team.objects.get_or_create(slug=name.lower(), defaults={"name": name})
    if not Registration.objects.filter(season=season, team=team).exists():
        Registration.objects.create(
            season=season, team=team, alias=draw_free_team_alias(season)
        )
    return team


RATED_TASK_SLUG, RATED_PHASE_SLUG = "citation-texts", "practice"
RATED_INSTANCE_COUNT = 12
#: BIASES_BY_ANNOTATOR maps each annotator to the bias of the annotator's ratings.
BIASES_BY_ANNOTATOR = {"Annotator A": 0.2, "Annotator B": -0.3}


@transaction.atomic
def publish_ratings(season: Season, organiser: User) -> None:
    if Sheet.objects.filter(phase__task__season=season).exists():
        return
    phase = Phase.objects.select_related("task__season").get(
        task__season=season, task__slug=RATED_TASK_SLUG, slug=RATED_PHASE_SLUG
    )
    runs = list(phase.submissions.filter(kind=Submission.Kind.PRIMARY).order_by("pk"))
    sheet = sheets.sample_and_save_rating_sheet(
        phase=phase, runs=runs, instances=RATED_INSTANCE_COUNT, seed=0, by=organiser
    )
    qualities = {
        system.name: system.quality for system in SYSTEMS_BY_TASK[RATED_TASK_SLUG]
    }
    texts = list(
        ratings.load_texts_of_sheet(sheet).select_related("submission", "instance")
    )
    for name, bias in BIASES_BY_ANNOTATOR.items():
        given = [
            ratings.ParsedRating(
                text.code,
                _simulate_text_ratings(
                    text, name, qualities[text.submission.system], bias
                ),
            )
            for text in texts
        ]
        ratings.save_ratings(
            annotator=sheets.get_or_add_named_annotator(sheet=sheet, name=name),
            ratings=given,
        )
    outcome.publish_ratings(sheet=sheet, by=organiser)


def _simulate_text_ratings(
    text: SheetText, annotator: str, quality: float, bias: float
) -> dict[str, int]:
    drawn = create_seeded_random(annotator, text.submission.system, text.instance.name)
    values = {
        "readability": 3.4 + quality + bias + drawn.gauss(0, 0.6),
        "consistency": 1.6 + 3 * quality + bias + drawn.gauss(0, 0.7),
    }
    return {
        name: min(HIGHEST_RATING, max(LOWEST_RATING, round(value)))
        for name, value in values.items()
    }
