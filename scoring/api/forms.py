"""What programs send: types and lengths alone, since what may be sent is decided by the services."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from citeboard.core.plain_text import MAX_DESCRIPTION
from scoring.api.serializers import ProblemSerializer
from tasks.models import Submission
from tasks.models.run_cards import CARD
from tasks.submissions.run_card import EVERY, MAX_KEY, MAX_SYSTEM, TEAM_KINDS

IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "maxLength": MAX_KEY},
    OpenApiParameter.HEADER,
    description="Chosen by the sender, for one run of a team in a phase. Sent again with the same file, for "
    "instance after a broken connection, it answers with the run of the first time.",
)


def team_figure(name: str) -> serializers.FloatField:
    """What a team may report of its run; which of them a task type takes is decided by the service."""
    measure = EVERY[name]
    return serializers.FloatField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=measure.highest,
        help_text=f"{measure.help} Shown as reported by the team, and never ranked.",
    )


def card_field(name: str) -> serializers.Field[Any, Any, Any, Any]:
    """A field of the run card; whether a phase requires it is decided by the service."""
    known = CARD[name]
    if known.choices:
        return serializers.ChoiceField(
            choices=list(known.choices), required=False, allow_blank=True, help_text=known.help
        )
    return serializers.CharField(
        required=False, allow_blank=True, max_length=known.max_length, help_text=known.help
    )


class CardForm(serializers.Serializer[Any]):
    """How a run was made."""

    code = card_field("code")
    paper = card_field("paper")
    training_data = card_field("training_data")
    trained_on = card_field("trained_on")
    trained_on_test_year = card_field("trained_on_test_year")
    knowledge_cutoff = card_field("knowledge_cutoff")
    model = card_field("model")
    external_resources = card_field("external_resources")
    human_in_the_loop = card_field("human_in_the_loop")


class CheckForm(CardForm):
    """A run to be checked; what is said of it is looked at where the phase requires something."""

    run = serializers.FileField(allow_empty_file=True, help_text="The file of answers, or a zip of them.")
    metadata = serializers.FileField(
        required=False, help_text="A file of ir_metadata, which fills what is left out of the rest."
    )
    description = serializers.CharField(
        required=False, allow_blank=True, default="", max_length=MAX_DESCRIPTION
    )
    wall_seconds = team_figure("wall_seconds")
    cpu_seconds = team_figure("cpu_seconds")
    memory_mib = team_figure("memory_mib")
    gpu_seconds = team_figure("gpu_seconds")
    mauve = team_figure("mauve")


class SentForm(CheckForm):
    """What is said of every run that is submitted."""

    system = serializers.CharField(max_length=MAX_SYSTEM, help_text="What the board calls the system.")
    team = serializers.CharField(
        required=False, allow_blank=True, help_text="The team's slug; needed by members of several teams."
    )
    kind = serializers.ChoiceField(choices=TEAM_KINDS, required=False, default=Submission.Kind.PRIMARY.value)


class RunForm(SentForm):
    """A run to be submitted."""

    priority = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=1000,
        help_text="Its place among the team's runs, where the first ones by priority count: 1 comes first, "
        "and the others move down. Without it the run comes last.",
    )


class BundleForm(SentForm):
    """A file for several tasks of a season; card and figures are those of each of its runs."""

    phase = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        help_text="The slug of the phases it is for; needed where a task has several open ones.",
    )
    tasks = serializers.CharField(
        required=False,
        allow_blank=True,
        default="",
        help_text="Slugs with commas between: enter these tasks alone. Without it the file enters every task "
        "whose format it carries.",
    )


class SubmissionsQuery(serializers.Serializer[Any]):
    """Which runs are listed."""

    phase = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    team = serializers.CharField(required=False)


class Accepted(serializers.Serializer[Any]):
    """A run that was taken."""

    id = serializers.IntegerField()
    number = serializers.IntegerField(help_text="Counts the team's runs in the phase.")
    status = serializers.ChoiceField(choices=Submission.Status.choices)
    url = serializers.URLField(help_text="Where to follow it.")
    warnings = ProblemSerializer(many=True)


class AcceptedPart(Accepted):
    """A run of a file that was taken."""

    task = serializers.SlugField()
    phase = serializers.IntegerField()


class AcceptedBundle(serializers.Serializer[Any]):
    """The runs of one file, one in each task that it entered."""

    id = serializers.IntegerField()
    page = serializers.URLField(help_text="Where its runs stand together, for people.")
    submissions = AcceptedPart(many=True)


class Checked(serializers.Serializer[Any]):
    """A run that would be taken."""

    warnings = ProblemSerializer(many=True)


class RejectedPart(serializers.Serializer[Any]):
    """What a file is to one task; a part without ``detail`` could have been taken."""

    task = serializers.SlugField()
    phase = serializers.IntegerField()
    detail = serializers.CharField(allow_null=True)
    problems = ProblemSerializer(many=True)
    more = serializers.IntegerField(min_value=0)


class RejectedRun(serializers.Serializer[Any]):
    """A run that cannot be read or cannot be meant; nothing was stored and nothing counted."""

    detail = serializers.CharField()
    problems = ProblemSerializer(many=True)
    more = serializers.IntegerField(min_value=0, help_text="Problems beyond those listed.")
    parts = RejectedPart(
        many=True, required=False, help_text="Of a file for several tasks, each of its parts."
    )


class Closed(serializers.Serializer[Any]):
    """A phase that accepts no runs now, or a run that is beyond what is asked."""

    detail = serializers.CharField()
    opens = serializers.DateTimeField(required=False)
    closes = serializers.DateTimeField(required=False)
    late_by_seconds = serializers.FloatField(
        required=False, allow_null=True, help_text="How long after the end the upload began."
    )
