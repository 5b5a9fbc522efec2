"""Making the demo season, once; then it is left to those who play with it."""

import datetime as dt
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allauth.account.models import EmailAddress
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac

from citeboard.demo.systems import (
    FIELD_SYSTEMS,
    JUDGES,
    LEAD,
    SYSTEMS,
    System,
    chance,
    of_split,
)
from citeboard.teams.models import Membership, Team, Token, User, token_digest
from scoring.human import outcome, ratings, sheets
from scoring.models import HIGHEST, LOWEST, Sheet, SheetText
from scoring.worker import baseline_runs, entailment_labels
from tasks.delivery.notifications.reading import choose
from tasks.models import Organiser, Phase, Registration, Season, Submission
from tasks.models.notifications import Channel, Kind
from tasks.registration.entries import draw_alias
from tasks.seasons.file import load, plan
from tasks.submissions.submit import submit_run
from tasks.submissions.uploads import Upload

EXAMPLES: Path = settings.BASE_DIR / "examples"
SEASON = "demo"
#: One that is over, whose archive has all that its numbers were computed from.
ENDED = "demo-2024"
#: One of tasks that folders declare, which is brought when the others are there.
FIELD_TASKS = "field-tasks"
#: One in which judges of reports compete.
REPORTS = "reports"
#: The participant leads it.
TEAM = "Fulmar"
#: Seasons that show what publications report, beside the one that runs can be sent to.
PUBLISHED = (
    "cl-summ-2014",
    "citation-resolution-2014",
    "citebench-2023",
    "citation-recommendation-2024",
    "aliice-2025",
)
#: The runs that could be sent to the demo season of releases without a task of positional citations.
EARLIER = {
    "1a": "lead.jsonl",
    "1b": "lead.jsonl",
    "citation-texts": "texts/first-sentences.jsonl",
}
NEWEST_TASK = "positional"


#: Beside the unpacked files for as long as the demo is not complete; a start that finds it goes on.
UNFINISHED = ".unfinished"
#: As old, in days, are the runs of season files; what is sent afterwards is a day younger each.
OLDEST = 9


@dataclass(frozen=True, kw_only=True)
class Demo:
    users: dict[str, User]
    passwords: dict[str, str]
    token: str
    example_runs: dict[Phase, Path]


def begin_demo() -> Demo:
    """Create the accounts of the demo, and the first season."""
    users = {role: account(role) for role in ROLES}
    files = _files()
    season = Season.objects.filter(slug=SEASON).first() or _loaded("demo-season", files)
    Organiser.objects.get_or_create(season=season, user=users[ORGANISER])
    join(users[PARTICIPANT], entered(TEAM, season))
    return Demo(
        users=users,
        passwords={role: secret_of(role, "password") for role in ROLES},
        token=token_of(users[PARTICIPANT]),
        example_runs=_example_runs(season, files),
    )


def finish_demo() -> None:
    """In short steps, between which the site writes; after an interruption those that are left."""
    files = _files()
    if (mark := files / UNFINISHED).exists():
        season, labels = (
            Season.objects.get(slug=SEASON),
            files / NEWEST_TASK / "labels.jsonl",
        )
        entailment_labels.import_labels(
            path=labels, filename=labels.name, by=None, season=season
        )
        send_runs(season, files / "runs")
        publish_ratings(season, account(ORGANISER))
        send_runs(
            Season.objects.filter(slug=ENDED).first() or _loaded(ENDED, files),
            files / "runs",
        )
        bring_reports()
        mark.unlink()
    bring_published()


#: Python has this filter since 3.11.4; Debian 12's is older.
WITH_CARE: dict[str, Any] = (
    {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
)


def _files() -> Path:
    """The invented part of the season, unpacked where it stays: workers read the parses there."""
    folder: Path = settings.DATA_DIR / "demo"
    if not folder.exists():
        draft = Path(tempfile.mkdtemp(prefix="demo-", dir=settings.DATA_DIR))
        try:
            shutil.unpack_archive(EXAMPLES / "demo-files.tar.xz", draft, **WITH_CARE)
            draft.rename(folder)
        except BaseException:
            shutil.rmtree(draft, ignore_errors=True)
            raise
    return folder


def _loaded(folder: str, files: Path) -> Season:
    (files / UNFINISHED).touch()
    with transaction.atomic():
        season = load.load_season(EXAMPLES / folder, data=files).season
        for phase in Phase.objects.filter(task__season=season):
            _date(phase, phase.submissions.all(), OLDEST)
    return season


def bring_field_tasks() -> None:
    """The second season: what is not there of it, run by run."""
    folder = EXAMPLES / FIELD_TASKS
    season = Season.objects.filter(slug=FIELD_TASKS).first()
    if season is None:
        season = load.load_season(folder, data=EXAMPLES).season
        # The newest stands first on the first page, and that is the season with all types.
        Season.objects.filter(pk=season.pk).update(
            created_at=season.created_at - dt.timedelta(days=1)
        )
    for phase in (
        Phase.objects.filter(task__season=season)
        .select_related("task__season")
        .order_by("pk")
    ):
        for system in FIELD_SYSTEMS:
            if not phase.submissions.filter(system=system.name).exists():
                _send(phase, system, folder / phase.task.slug)
        baseline_runs.ask(phase=phase, by=None)


@transaction.atomic
def bring_reports() -> None:
    """Load the season of reports with the runs of its judges, unless it is there."""
    if Season.objects.filter(slug=REPORTS).exists():
        return
    folder = EXAMPLES / REPORTS
    season = load.load_season(folder, data=EXAMPLES).season
    # As with the field's tasks, the season with all types stays first on the first page.
    Season.objects.filter(pk=season.pk).update(
        created_at=season.created_at - dt.timedelta(days=1)
    )
    phase = Phase.objects.select_related("task__season").get(task__season=season)
    for judge in JUDGES:
        _send(phase, judge, folder / phase.task.slug)


def bring_published() -> None:
    """The seasons are loaded once; their figures are brought to those of this release, where they differ."""
    present = set(
        Season.objects.filter(slug__in=PUBLISHED).values_list("slug", flat=True)
    )
    for slug in PUBLISHED:
        if slug in present:
            plan.read_published_results(
                sorted((EXAMPLES / slug).glob("*.json"))
            ).store()
        else:
            load.load_season(EXAMPLES / slug)


def _example_runs(season: Season, files: Path) -> dict[Phase, Path]:
    now = timezone.now()
    phases = Phase.objects.filter(task__season=season, opens__lte=now, closes__gt=now)
    ordered = phases.select_related("task__season").order_by(
        "task__position", "position"
    )
    if not season.tasks.filter(slug=NEWEST_TASK).exists():
        return {
            phase: EXAMPLES / "runs" / EARLIER[phase.task.slug]
            for phase in ordered
            if phase.task.slug in EARLIER
        }
    runs = {
        phase: runs_for(phase, files / "runs") / f"{LEAD.slug}.jsonl"
        for phase in ordered
    }
    return {phase: run.resolve() for phase, run in runs.items() if run.exists()}


ORGANISER, PARTICIPANT, READER = ROLES = ("organiser", "participant", "reader")
TOKEN_NAME = "demo"  # noqa: S105  (what the token is called, not what it is)


def address_of(role: str) -> str:
    return f"{role}@demo.example"


def secret_of(role: str, kind: str) -> str:
    """The same on one site at all times, and another on every other."""
    return salted_hmac(
        f"citeboard.demo.{kind}", address_of(role), algorithm="sha256"
    ).hexdigest()[:32]


def account(role: str) -> User:
    address, password = address_of(role), secret_of(role, "password")
    user = User.objects.filter(email__iexact=address).first()
    if user is None:
        user = User.objects.create_user(address, password, name=f"Demo {role}")
        # Nobody reads the mail of an invented address.
        choose(user=user, wanted=dict.fromkeys(Kind, Channel.SITE))
    elif not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    EmailAddress.objects.update_or_create(
        user=user, email=user.email, defaults={"verified": True, "primary": True}
    )
    return user


def token_of(user: User) -> str:
    """The participant's token; one from another secret key ends here."""
    secret = secret_of(PARTICIPANT, "token")
    named = Token.objects.filter(user=user, name=TOKEN_NAME)
    named.exclude(digest=token_digest(secret)).filter(revoked_at=None).update(
        revoked_at=timezone.now()
    )
    if not named.filter(digest=token_digest(secret)).update(revoked_at=None):
        Token.objects.issue(user=user, name=TOKEN_NAME, secret=secret)
    return secret


def join(user: User, team: Team) -> None:
    if Membership.objects.filter(team=team, user=user).exists():
        return
    has_lead = Membership.objects.filter(team=team, role=Membership.Role.LEAD).exists()
    role = Membership.Role.MEMBER if has_lead else Membership.Role.LEAD
    Membership.objects.create(team=team, user=user, role=role)


PRACTICE = "practice"
#: Teams of every phase; the others only practise.
IN_ALL_PHASES = ("Avocet", "Bittern", "Curlew")
#: By task, of the built-in baselines those that take a moment.
BASELINES = {
    "1a": ("clsumm-tfidf-top1", "clsumm-mq-mmr"),
    "1b": ("clsumm-tfidf-top1", "clsumm-mq-mmr"),
    "2": ("clsumm-lead", "clsumm-mq-summary-tfidf"),
    "citation-texts": ("citation-text-lead", "citation-text-lexrank"),
    "recommendation": ("tfidf-cosine", "bm25-okapi"),
    "resolution": ("references-tfidf-10-10", "references-tfidf-30-30"),
}


#: Data sets of the task on citation texts that its teams say their systems were trained on.
TRAINED_ON = {
    "Draft and check": "paragraphs",
    "Retrieve and edit": "sentences",
    "Last sentences": "none",
}


def runs_for(phase: Phase, runs: Path) -> Path:
    return runs / of_split(phase.task.slug, phase.split)


def _send(phase: Phase, system: System, folder: Path, **facts: Any) -> None:
    name, team = f"{system.slug}.jsonl", entered(system.team, phase.task.season)
    facts |= {"system": system.name, "description": system.description}
    submit_run(
        phase=phase, team=team, user=None, upload=Upload(folder / name, name), **facts
    )


def send_runs(season: Season, files: Path) -> None:
    phases = Phase.objects.filter(task__season=season).select_related("task__season")
    for phase in phases.order_by("task__position", "position"):
        sent = phase.submissions.filter(submitted_by=None).exclude(
            team=None, built_in=""
        )
        if sent.exists():
            continue
        with transaction.atomic():
            with _open(phase):
                for system in SYSTEMS[phase.task.slug]:
                    if phase.slug == PRACTICE or system.team in IN_ALL_PHASES:
                        card = system.card | {
                            "trained_on": TRAINED_ON.get(system.name, "")
                        }
                        figures = system.costs if season.slug == SEASON else None
                        _send(
                            phase,
                            system,
                            runs_for(phase, files),
                            card=card,
                            team_figures=figures,
                        )
            # A plain installation lacks the packages of some.
            lacking = baseline_runs.lacking(phase)
            known = BASELINES.get(phase.task.slug, ())
            if names := [name for name in known if name not in lacking]:
                baseline_runs.ask(
                    phase=phase,
                    names=names if phase.slug == PRACTICE else names[:1],
                    by=None,
                )
            _date(phase, sent, 0)


def _date(phase: Phase, runs: QuerySet[Submission], first: int) -> None:
    """A day apart, the first ones first, so that a board over time has something to show."""
    last = min(timezone.now(), phase.closes - dt.timedelta(days=2))
    # Before a worker sees them: a score keeps the date of its run.
    for days, run in enumerate(runs.order_by("-pk"), start=first):
        Submission.objects.filter(pk=run.pk).update(
            submitted_at=last - dt.timedelta(days=days)
        )


def entered(name: str, season: Season) -> Team:
    team, _ = Team.objects.get_or_create(slug=name.lower(), defaults={"name": name})
    if not Registration.objects.filter(season=season, team=team).exists():
        Registration.objects.create(season=season, team=team, alias=draw_alias(season))
    return team


@contextmanager
def _open(phase: Phase) -> Iterator[None]:
    """A phase that is over takes the runs that were sent while it was open; nobody sees it open meanwhile."""
    closes = phase.closes
    if closes > timezone.now():
        yield
        return
    own = Phase.objects.filter(pk=phase.pk)
    own.update(closes=timezone.now() + dt.timedelta(days=1))
    phase.refresh_from_db(fields=["closes"])
    yield
    own.update(closes=closes)
    phase.refresh_from_db(fields=["closes"])


TASK, PHASE = "citation-texts", "practice"
INSTANCES = 12
#: By annotator how far above or below the others they rate.
ANNOTATORS = {"Annotator A": 0.2, "Annotator B": -0.3}


@transaction.atomic
def publish_ratings(season: Season, organiser: User) -> None:
    if Sheet.objects.filter(phase__task__season=season).exists():
        return
    phase = Phase.objects.select_related("task__season").get(
        task__season=season, task__slug=TASK, slug=PHASE
    )
    runs = list(phase.submissions.filter(kind=Submission.Kind.PRIMARY).order_by("pk"))
    sheet = sheets.make_sheet(
        phase=phase, runs=runs, instances=INSTANCES, seed=0, by=organiser
    )
    qualities = {system.name: system.quality for system in SYSTEMS[TASK]}
    texts = list(ratings.texts_of(sheet).select_related("submission", "instance"))
    for name, bias in ANNOTATORS.items():
        given = [
            ratings.Given(
                text.code, _values(text, name, qualities[text.submission.system], bias)
            )
            for text in texts
        ]
        ratings.save_ratings(
            annotator=sheets.add_name(sheet=sheet, name=name), ratings=given
        )
    outcome.publish(sheet=sheet, by=organiser)


def _values(
    text: SheetText, annotator: str, quality: float, bias: float
) -> dict[str, int]:
    drawn = chance(annotator, text.submission.system, text.instance.name)
    values = {
        "readability": 3.4 + quality + bias + drawn.gauss(0, 0.6),
        "consistency": 1.6 + 3 * quality + bias + drawn.gauss(0, 0.7),
    }
    return {
        name: min(HIGHEST, max(LOWEST, round(value))) for name, value in values.items()
    }
