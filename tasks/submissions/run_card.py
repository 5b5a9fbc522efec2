"""Validate the description of a run, which comes from the fields of the form and from
the header of the run, and check that required fields are present.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _, gettext_noop

from citeboard.core import plain_text
from citeboard.core.confined.turns import UploadSender
from citeboard.core.confinement import UploadUnreadable, read_upload
from citeboard.core.query import MAX_UNKNOWN_NAMES_LISTED, shorten_for_message
from citeboard.core.words import find_most_similar_name, join_names
from citeboard.teams.models import Team, User
from tasks.jobs.leases import MINUTES_TO_REPLACE_REFUSED_RUN
from tasks.models import Phase, Submission, TeamFigure
from tasks.models.run_cards import (
    COSTS_REQUIREMENT,
    EMPTY_CARD_LIST_VALUE,
    METHOD_REQUIREMENT,
    REQUIRABLE_FIELD_LABELS,
    RUN_CARD_FIELDS,
    RunCardField,
    TranslatedFormField,
)
from tasks.submissions import refusals, uploads
from tasks.types import Options, Problem, TaskType
from tasks.types.problems import convert_dicts_to_problems, select_fatal_problems

#: Sandboxed processes call the functions of the module RUN_READING_MODULE to read runs.
RUN_READING_MODULE = "tasks.submissions.reading"
METADATA_READING_FUNCTION = f"{RUN_READING_MODULE}:metadata"
_CARD_DATE_PATTERN = re.compile(
    r"(?:19|20)\d\d(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?|none|unknown"
)
T = TypeVar("T")
_DATASET_NAME_PATTERN = re.compile(r"[\w.+-]+(?: [\w.+-]+)*")


@dataclass(frozen=True, kw_only=True)
class RunMetadata:
    description: str = ""
    card: Mapping[str, str] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)

    def before(self, other: "RunMetadata") -> "RunMetadata":
        return RunMetadata(
            description=self.description or other.description,
            card={**other.card, **self.card},
            figures={**other.figures, **self.figures},
        )


def validate_card(given: Mapping[str, object]) -> dict[str, str]:
    found: dict[str, str] = {}
    faults: dict[str, str] = {}
    for name, value in given.items():
        known = RUN_CARD_FIELDS.get(name)
        if known is None:
            faults[name] = _("a run card has no such field; there are %(names)s") % {
                "names": ", ".join(RUN_CARD_FIELDS)
            }
            continue
        try:
            text = _validate_card_value(known, value)
        except ValueError as fault:
            faults[name] = str(fault)
        else:
            found |= {name: text} if text else {}
    if faults:
        raise ValidationError(faults)
    return found


def _validate_card_value(card_field: RunCardField, value: object) -> str:
    text = plain_text.clean_single_line_text("" if value is None else str(value))
    if not text:
        return ""
    if fault := plain_text.find_length_error(
        text,
        card_field.max_length,
        _("this has %(found)s characters; at most %(most)s are allowed"),
    ):
        raise ValueError(fault)
    if card_field.values and text not in card_field.values:
        raise ValueError(
            _("“%(found)s” is not one of %(names)s")
            % {"found": text[:40], "names": ", ".join(card_field.values)}
        )
    if card_field.is_date and not _CARD_DATE_PATTERN.fullmatch(text.lower()):
        message = _(
            "“%(found)s” is no year, month or day such as 2024-06, nor none or unknown"
        )
        raise ValueError(message % {"found": text})
    if card_field.is_list:
        names = sorted({name.strip().lower() for name in text.split(",")} - {""})
        for name in names:
            if not _DATASET_NAME_PATTERN.fullmatch(name):
                message = _(
                    "“%(found)s” is no name of a data set: letters, digits, spaces and . _ - + alone"
                )
                raise ValueError(message % {"found": name[:40]})
        if EMPTY_CARD_LIST_VALUE in names and len(names) > 1:
            raise ValueError(_("it names data sets and says none"))
        return ", ".join(names)
    if card_field.is_link:
        plain_text.validate_link(text)
    return text.lower() if card_field.is_date else text


def require_fields_of_phase(phase: Phase, said: RunMetadata) -> None:
    if missing := list_missing_required_fields(phase, said):
        raise refusals.RunCardIncomplete(
            missing,
            join_names(
                [f"{REQUIRABLE_FIELD_LABELS[name]} ({name})" for name in missing]
            ),
        )


def warn_of_missing_fields(phase: Phase, said: RunMetadata) -> list[Problem]:
    message = _("the run card lacks %(field)s (%(name)s), which this phase requires")
    expected = _(
        "filled in when the run is submitted, by the form, a file of ir_metadata or its header"
    )
    return [
        Problem(
            message=message % {"field": REQUIRABLE_FIELD_LABELS[name], "name": name},
            expected=expected,
            fatal=False,
        )
        for name in list_missing_required_fields(phase, said)
    ]


def warn_of_unknown_fields(
    sent: Iterable[str], known: Collection[str]
) -> list[Problem]:
    """Return warnings about names of fields that runs do not have. Each warning
    suggests the most similar name of a field.
    """
    unknown = [name for name in sent if name not in known]
    problems = []
    for name in map(shorten_for_message, unknown[:MAX_UNKNOWN_NAMES_LISTED]):
        message = _("the field “%(name)s” is unknown, and was not stored")
        near = find_most_similar_name(name, known)
        expected = f"“{near}”" if near else ", ".join(known)
        problems.append(
            Problem(message=message % {"name": name}, expected=expected, fatal=False)
        )
    if len(unknown) > MAX_UNKNOWN_NAMES_LISTED:
        message = _("%(number)s more fields are unknown, and were not stored")
        problems.append(
            Problem(
                message=message % {"number": len(unknown) - MAX_UNKNOWN_NAMES_LISTED},
                fatal=False,
            )
        )
    return problems


def list_missing_required_fields(phase: Phase, said: RunMetadata) -> list[str]:
    there = {
        **said.card,
        METHOD_REQUIREMENT: said.description,
        COSTS_REQUIREMENT: said.figures,
    }
    return [name for name in phase.card_required if not there.get(name)]


def make_upload_sender(
    by: User | None, upload: uploads.UploadedRunFile, team: Team | None
) -> UploadSender | None:
    """Return the sender of a run, whose uploads are limited together. If ``team`` is
    given, the run is submitted, otherwise it is only checked.
    """
    if by is None and team is None:
        return None
    account, key = str(by.pk if by else ""), str(team.pk if team else "")
    return UploadSender(
        account=account,
        team=key,
        network=upload.network,
        submits=team is not None,
        gives_way=True,
    )


def read_metadata_file(
    upload: uploads.UploadedRunFile, task_type: TaskType, sender: UploadSender | None
) -> RunMetadata:
    try:
        with read_upload(
            METADATA_READING_FUNCTION, upload.path, {}, owner=sender
        ) as done:
            said: dict[str, Any] = done.result
    except UploadUnreadable as reason:
        raise ValidationError({"metadata": str(reason)}) from reason
    if problem := said.get("problem"):
        raise ValidationError({"metadata": f"{upload.filename}: {problem}"})
    try:
        card = validate_card(said["card"])
    except ValidationError as faults:
        words = "; ".join(
            f"{name}: {' '.join(errors)}"
            for name, errors in faults.message_dict.items()
        )
        raise ValidationError({"metadata": f"{upload.filename}: {words}"}) from faults
    return _build_metadata(task_type, said, card)


def build_metadata_from_header(
    task_type: TaskType, said: Mapping[str, Any]
) -> RunMetadata:
    """Return the description of a run that the header of the run contains. Invalid
    values in the header are ignored, since scores do not depend on the description.
    """
    return _build_metadata(
        task_type, said, _keep_valid_values(validate_card, said["card"])
    )


def _build_metadata(
    task_type: TaskType, said: Mapping[str, Any], card: Mapping[str, str]
) -> RunMetadata:
    description = plain_text.clean_multiline_text(said["description"])[
        : plain_text.MAX_DESCRIPTION_LENGTH
    ].rstrip()
    figures = _keep_valid_values(
        partial(validate_team_figures, task_type), said["figures"]
    )
    return RunMetadata(description=description, card=card, figures=figures)


def _keep_valid_values(
    check: Callable[[dict[str, object]], dict[str, T]], given: Mapping[str, object]
) -> dict[str, T]:
    found: dict[str, T] = {}
    for name, value in given.items():
        with suppress(ValidationError):
            found |= check({name: value})
    return found


@dataclass(frozen=True, kw_only=True)
class RunCheckResult:
    problems: list[Problem] = field(default_factory=list)
    is_read: bool = True
    about: RunMetadata = field(default_factory=RunMetadata)

    @property
    def errors(self) -> list[Problem]:
        return select_fatal_problems(self.problems)


def check_run_in_sandbox(
    upload: uploads.UploadedRunFile,
    *,
    task_type: TaskType,
    index: Path,
    reading: int,
    options: Options,
    sender: UploadSender | None,
) -> RunCheckResult:
    given = {
        "task_type": task_type.reference,
        "options": task_type.validate_options(options),
        "filename": upload.filename,
        "reading": reading,
        "max_bytes": settings.CHECK_MAX_MB << 20,
    }
    try:
        with read_upload(
            f"{RUN_READING_MODULE}:check",
            upload.path,
            given,
            owner=sender,
            shared=index,
        ) as done:
            found = done.result
            about = build_metadata_from_header(task_type, found["about"])
            return RunCheckResult(
                problems=convert_dicts_to_problems(found["problems"]),
                is_read=found["is_read"],
                about=about,
            )
    except UploadUnreadable as reason:
        return RunCheckResult(
            problems=[Problem(file=upload.filename, message=str(reason))]
        )


def make_checked_later_notice(*, is_busy: bool = False) -> Problem:
    if is_busy:
        message = _(
            "all readers of files were busy: the run is accepted, and checked in its "
            "turn; one that is refused then costs nothing, and may be replaced for "
            "%(minutes)s minutes, even if the phase closes meanwhile"
        )
    else:
        message = _(
            "a run of more than %(limit)s MB is checked once it is submitted; one that is refused then "
            "costs nothing either"
        )
    return Problem(
        message=message
        % {"minutes": MINUTES_TO_REPLACE_REFUSED_RUN, "limit": settings.CHECK_MAX_MB},
        fatal=False,
    )


def format_warnings_as_dicts(
    problems: Sequence[Problem], more: int
) -> list[dict[str, str | int | bool | None]]:
    told = [problem.as_dict() for problem in problems]
    if more:
        told.append(
            Problem(message=f"and {more:,} more warnings", fatal=False).as_dict()
        )
    return told


MAX_SYSTEM_NAME_CHARACTERS = 80
MAX_IDEMPOTENCY_KEY_LENGTH = 100
TEAM_RUN_KINDS = (Submission.Kind.PRIMARY.value, Submission.Kind.CONTRASTIVE.value)


@dataclass(frozen=True)
class RunDetails:
    system: str
    description: str
    kind: str
    idempotency_key: str = ""
    seeds_of: str = ""


def validate_run_details(
    *,
    system: str,
    description: str = "",
    kind: str,
    idempotency_key: str = "",
    seeds_of: str = "",
) -> RunDetails:
    name, text = (
        plain_text.clean_single_line_text(system),
        plain_text.clean_multiline_text(description),
    )
    group = plain_text.clean_single_line_text(seeds_of)
    run_details = RunDetails(name, text, kind, idempotency_key.strip(), group)
    faults = {}
    if not run_details.system:
        faults["system"] = _("give the system a name")
    message = _("the name has %(found)s characters; at most %(most)s are allowed")
    if fault := plain_text.find_length_error(
        run_details.system, MAX_SYSTEM_NAME_CHARACTERS, message
    ):
        faults["system"] = fault
    if fault := plain_text.find_length_error(
        run_details.seeds_of, MAX_SYSTEM_NAME_CHARACTERS, message
    ):
        faults["seeds_of"] = fault
    message = _(
        "the description has %(found)s characters; at most %(most)s are allowed"
    )
    if fault := plain_text.find_length_error(
        run_details.description, plain_text.MAX_DESCRIPTION_LENGTH, message
    ):
        faults["description"] = fault
    if kind not in TEAM_RUN_KINDS:
        named = {
            "found": plain_text.remove_control_characters(kind)[:40],
            "names": ", ".join(TEAM_RUN_KINDS),
        }
        faults["kind"] = _("“%(found)s” is not one of %(names)s") % named
    key = run_details.idempotency_key
    if len(key) > MAX_IDEMPOTENCY_KEY_LENGTH or not (
        key.isascii() and (key.isprintable() or not key)
    ):
        faults["idempotency_key"] = _(
            "at most %(number)s printable ASCII characters"
        ) % {"number": MAX_IDEMPOTENCY_KEY_LENGTH}
    if faults:
        raise ValidationError(faults)
    return run_details


@dataclass(frozen=True, kw_only=True)
class TeamReportedMeasure(TranslatedFormField):
    """A number that teams can report for a run, such as the run time. ``highest`` is
    the largest plausible value, in the unit that ``unit`` names.
    """

    unit: str
    highest: float
    is_cost: bool = True

    @property
    def titled(self) -> str:
        return f"{self.label} ({self.unit})" if self.unit else self.label


_CENTURY_SECONDS = 100 * 365.25 * 24 * 3600
COST_MEASURES = (
    TeamReportedMeasure(
        name="wall_seconds",
        english=gettext_noop("Wall time"),
        unit="s",
        highest=_CENTURY_SECONDS,
        asks=gettext_noop(
            "Seconds from the start of the system to its last answer, on the whole split."
        ),
    ),
    TeamReportedMeasure(
        name="cpu_seconds",
        english=gettext_noop("CPU time"),
        unit="s",
        highest=1000 * _CENTURY_SECONDS,
        asks=gettext_noop("Seconds, over all cores."),
    ),
    TeamReportedMeasure(
        name="memory_mib",
        english=gettext_noop("Peak memory"),
        unit="MiB",
        highest=2.0**40,
        asks=gettext_noop("Mebibytes, at the highest, without the memory of GPUs."),
    ),
    TeamReportedMeasure(
        name="gpu_seconds",
        english=gettext_noop("GPU time"),
        unit="s",
        highest=1000 * _CENTURY_SECONDS,
        asks=gettext_noop(
            "Seconds, over all GPUs; say in the description which they are."
        ),
    ),
    TeamReportedMeasure(
        name="tokens",
        english=gettext_noop("Tokens"),
        unit="tokens",
        highest=1e15,
        asks=gettext_noop(
            "Tokens that language models read and wrote, on the whole split."
        ),
    ),
    TeamReportedMeasure(
        name="cost_usd",
        english=gettext_noop("Money"),
        unit="USD",
        highest=1e9,
        asks=gettext_noop("US dollars paid for services, on the whole split."),
    ),
)
TEAM_COMPUTED_SCORES = {
    "mauve": TeamReportedMeasure(
        name="mauve",
        english="MAUVE",
        unit="",
        highest=100,
        is_cost=False,
        asks=gettext_noop(
            "From 0 to 100, as the team computed it; say in the description with which model."
        ),
    ),
}
TEAM_MEASURES_BY_NAME = {
    cost.name: cost for cost in (*COST_MEASURES, *TEAM_COMPUTED_SCORES.values())
}


def list_team_measures_for(task_type: TaskType) -> tuple[TeamReportedMeasure, ...]:
    return (
        *COST_MEASURES,
        *(TEAM_COMPUTED_SCORES[name] for name in task_type.team_scores),
    )


def validate_team_figures(
    task_type: TaskType, given: Mapping[str, object]
) -> dict[str, float]:
    """Return the reported numbers of a run by name, without empty values. Raises
    ValidationError, which describes every invalid value.
    """
    known = {measure.name: measure for measure in list_team_measures_for(task_type)}
    found: dict[str, float] = {}
    faults: dict[str, str] = {}
    for name, value in given.items():
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        if name not in known:
            message = _(
                "runs for %(task_type)s are not given with this; there are %(names)s"
            )
            faults[name] = message % {
                "task_type": task_type.slug,
                "names": ", ".join(known),
            }
            continue
        number = _parse_finite_number(value)
        if number is None:
            faults[name] = _("“%(found)s” is not a number") % {"found": str(value)[:40]}
        elif not 0 <= number <= known[name].highest:
            highest = f"{known[name].highest:g} {known[name].unit}".rstrip()
            message = _("%(found)s is not from 0 to %(highest)s")
            faults[name] = message % {"found": f"{number:g}", "highest": highest}
        else:
            found[name] = number
    if faults:
        raise ValidationError(faults)
    return found


def store_team_figures(submission: Submission, figures: Mapping[str, float]) -> None:
    TeamFigure.objects.bulk_create(
        TeamFigure(
            submission=submission, phase_id=submission.phase_id, name=name, value=value
        )
        for name, value in figures.items()
    )


def _parse_finite_number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
