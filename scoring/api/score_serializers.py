"""Scores and boards as the API gives them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from scoring.api.serializers import LeaderSerializer, ProblemSerializer, SubmissionSerializer
from scoring.board.comparisons import WAYS
from tasks.models import Submission


class ClassValue(serializers.Serializer[Any]):
    """A metric over the instances of one class."""

    value = serializers.FloatField(allow_null=True, help_text="Null where it is undefined or infinite.")
    infinite = serializers.BooleanField(required=False, help_text="Only where the value is infinite.")
    n = serializers.IntegerField(help_text="Instances with gold.")


class MetricValue(ClassValue):
    """A metric over the whole run, unrounded, on the scale its field publishes."""

    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    scale = serializers.FloatField()
    is_count = serializers.BooleanField(required=False, help_text="Only where it counts, as words do.")
    higher_is_better = serializers.BooleanField(allow_null=True)
    column = serializers.CharField(help_text="Only numbers with the same one may be compared.")
    signature = serializers.CharField()


class GoldRead(serializers.Serializer[Any]):
    sha256 = serializers.CharField()
    instances = serializers.IntegerField()


class RunRead(serializers.Serializer[Any]):
    sha256 = serializers.CharField()


class Result(serializers.Serializer[Any]):
    """What `python -m scoring score --json` prints of the run."""

    task_type = serializers.CharField()
    rules = serializers.CharField()
    options = serializers.DictField(child=serializers.CharField())
    gold = GoldRead()
    run = RunRead()
    metrics = serializers.DictField(child=MetricValue())
    breakdowns = serializers.DictField(
        child=serializers.DictField(child=serializers.DictField(child=ClassValue())),
        help_text="By dimension, class and metric.",
    )
    notes = serializers.DictField(
        child=serializers.IntegerField(), help_text="Counts, such as empty outputs."
    )


class SubmissionDetail(SubmissionSerializer):
    """A run with its place in the queue, its warnings, and its scores where they may be seen."""

    place = serializers.IntegerField(
        allow_null=True, min_value=1, help_text="In the queue; null for a run that does not wait in it."
    )
    expected_seconds = serializers.FloatField(
        allow_null=True, help_text="About how long until it is scored; null where that is not known."
    )
    problems = ProblemSerializer(
        many=True, help_text="Why a run was refused that was checked after it was taken; empty for any other."
    )
    warnings = ProblemSerializer(many=True)
    scores_hidden = serializers.BooleanField(help_text="The phase does not show you scores.")
    scores = Result(allow_null=True, help_text="Under the rules that rank; null until there are any.")
    evaluations = Result(many=True, help_text="Under each of the task's rule sets.")

    class Meta:
        model = Submission
        fields = [
            *SubmissionSerializer.Meta.fields, "place", "expected_seconds", "problems", "warnings",
            "scores_hidden", "scores", "evaluations",
        ]  # fmt: skip


class ColumnSerializer(serializers.Serializer[Any]):
    """Numbers that may be compared."""

    name = serializers.CharField(
        help_text="As in the scores of a row; the metric, where that is unambiguous."
    )
    metric = serializers.CharField()
    key = serializers.CharField(help_text="Metric, rules, parameters, gold and version.")
    scale = serializers.SerializerMethodField(help_text="1, also where it counts, 5 or 100.")
    higher_is_better = serializers.BooleanField(allow_null=True)
    ranks = serializers.BooleanField(source="is_ranking", help_text="The rows are ranked by this one.")

    def get_scale(self, column: Any) -> float:
        return float(column.scale or 1)


class CellSerializer(serializers.Serializer[Any]):
    value = serializers.FloatField(allow_null=True, help_text="Null where it is undefined or infinite.")
    infinite = serializers.BooleanField(required=False, help_text="Only where the value is infinite.")
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class RowSerializer(serializers.Serializer[Any]):
    """A team's counting run, a contrastive one without a rank, or a baseline without team and rank."""

    rank = serializers.IntegerField(allow_null=True)
    rank_low = serializers.IntegerField(allow_null=True)
    rank_high = serializers.IntegerField(allow_null=True)
    group = serializers.IntegerField(
        allow_null=True, help_text="Rows of a group do not differ significantly from its first."
    )
    team = serializers.SlugField(allow_null=True, source="team_slug")
    team_name = serializers.CharField(
        allow_null=True, source="team", help_text="A number in its place while teams are anonymous."
    )
    has_organiser = serializers.BooleanField(help_text="Whether somebody who runs the season is in the team.")
    system = serializers.CharField()
    submission = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=Submission.Kind.choices)
    scores = serializers.DictField(child=CellSerializer(), help_text="By the names of columns.")
    team_reported = serializers.DictField(
        child=serializers.FloatField(),
        help_text="Costs and scores that the team reports itself; nobody has checked them, and none ranks.",
    )
    card = serializers.DictField(
        child=serializers.CharField(),
        help_text="How it was made, as its team says; what could name a hidden team is left out.",
    )


class SeparationSerializer(serializers.Serializer[Any]):
    """What the test set can show of the ranked rows."""

    unit = serializers.CharField(help_text="What is drawn together, such as a topic.")
    units = serializers.IntegerField()
    comparisons = serializers.IntegerField(help_text="Those that a row's p-values are corrected for.")
    smallest_p = serializers.FloatField(help_text="That any two rows can have, before the correction.")
    can_differ = serializers.BooleanField(help_text="Whether two rows can differ at 5 % after it.")
    more_units = serializers.IntegerField(
        allow_null=True,
        help_text="About so many more would separate first and second; null where they differ, where no "
        "number would, and where ranks alone are shown.",
    )
    words = serializers.ListField(child=serializers.CharField(), help_text="What the page says of it.")


class ConfirmationSerializer(serializers.Serializer[Any]):
    """Results are preliminary until each team has confirmed its own, or organisers end that."""

    words = serializers.CharField()
    official_since = serializers.DateTimeField(allow_null=True, help_text="Null while they are preliminary.")
    confirmed = serializers.IntegerField(
        allow_null=True, help_text="How many teams have; null where the phase hides how many there are."
    )
    teams = serializers.IntegerField(allow_null=True, help_text="How many have runs that count.")


class LeaderboardSerializer(serializers.Serializer[Any]):
    """The board of a phase as the reader may see it, best first."""

    phase = serializers.IntegerField()
    version = serializers.IntegerField(help_text="Grows with every change of what the board shows.")
    rules = serializers.CharField(allow_null=True)
    shows = serializers.ChoiceField(
        choices=["scores", "ranks", "nothing"], help_text="What the phase shows you of its board."
    )
    frozen_at = serializers.DateTimeField(
        allow_null=True, help_text="The instant at which it stood so; null where it is the board of now."
    )
    confirmation = ConfirmationSerializer(
        allow_null=True,
        help_text="Null where no team is asked, before the phase has closed, and while frozen.",
    )
    ranked_by = serializers.ChoiceField(
        choices=WAYS, help_text="By value as long as rows are still being compared."
    )
    compared = serializers.BooleanField(
        help_text="Each two ranked rows have been compared; until then intervals of ranks are too wide."
    )
    leader = LeaderSerializer(allow_null=True)
    separation = SeparationSerializer(
        allow_null=True, help_text="Null until the first two rows have been compared."
    )
    columns = ColumnSerializer(many=True)
    rows = RowSerializer(many=True)
