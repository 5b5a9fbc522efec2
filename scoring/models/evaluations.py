from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import isfinite, isinf, isnan
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from numpy.typing import NDArray

from citeboard.core.models import (
    build_json_field_with_default,
    build_text_field_with_default,
)
from citeboard.teams.models import Team
from scoring.models.counting import EvaluationQuerySet
from scoring.stats.signature import LABEL_DIGEST_KEY_BY_KIND, fill_count_placeholders
from tasks.models import Gold, Phase, Submission
from tasks.models.seasons import PUBLIC_AND_PRIVATE_PART_NAMES

DeduplicatedRowType = TypeVar("DeduplicatedRowType", bound="DeduplicatedRow")


class DeduplicatedRowManager(models.Manager[DeduplicatedRowType]):
    def get_or_insert_ids(self, rows: Sequence[DeduplicatedRowType]) -> list[int]:
        """Insert rows that are missing in the table, and return the ids of all given
        rows in order. Rows are inserted in the order of their digests, so that
        transactions cannot deadlock.
        """
        wanted = {row.set_content_digest(): row for row in rows}
        numbers = self._find_ids_by_digest(wanted)
        missing = sorted(wanted.keys() - numbers.keys())
        if missing:
            self.bulk_create(
                [wanted[digest] for digest in missing], ignore_conflicts=True
            )
            numbers = self._find_ids_by_digest(wanted)
        return [numbers[row.digest] for row in rows]

    def _find_ids_by_digest(
        self, digests: dict[str, DeduplicatedRowType]
    ) -> dict[str, int]:
        return dict(
            self.filter(digest__in=list(digests)).order_by().values_list("digest", "pk")
        )


class DeduplicatedRow(models.Model):
    digest = models.CharField(
        max_length=64, unique=True, help_text="SHA-256 of all else."
    )

    objects: ClassVar[DeduplicatedRowManager[Self]] = DeduplicatedRowManager()

    class Meta:
        abstract = True

    def set_content_digest(self) -> str:
        fields = [
            field
            for field in self._meta.concrete_fields
            if field.name not in {"id", "digest"}
        ]
        content = [getattr(self, field.attname) for field in fields]
        self.digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        return self.digest


class WithholdingReason(models.TextChoices):
    LADDER = (
        "ladder",
        _("not better than the team's best by more than a standard error"),
    )
    RANKING_ONLY = (
        "ranking-only",
        _("while runs are taken only the ranking metric is told, by the Ladder"),
    )
    FEW_ANSWERS = "few-answers", _("the run answers too few instances")


class Evaluation(models.Model):
    submission = models.ForeignKey(
        Submission, on_delete=models.CASCADE, related_name="evaluations", db_index=False
    )
    gold = models.ForeignKey(Gold, on_delete=models.PROTECT, related_name="evaluations")
    rules = models.CharField(max_length=60)
    options: models.JSONField[dict[str, str]] = models.JSONField(default=dict)
    options_digest = models.CharField(max_length=64)
    phase = models.ForeignKey(
        Phase, on_delete=models.PROTECT, related_name="evaluations", db_index=False
    )
    team = models.ForeignKey(
        Team, on_delete=models.PROTECT, related_name="evaluations", null=True
    )
    rank_value = models.FloatField(
        null=True,
        help_text="The ranking metric, turned so that higher is better; null ranks last.",
    )
    submitted_at = models.DateTimeField()
    release = build_text_field_with_default(
        100,
        help_text="What of it is told, as its phase said when it was scored; empty where all is.",
    )
    withheld = build_text_field_with_default(
        12,
        choices=WithholdingReason,
        help_text="Why its classes, single instances and comparisons are not told.",
    )
    untold: models.JSONField[dict[str, dict[str, Any]]] = build_json_field_with_default(
        dict,
        "Of the other part of the split, or under the Ladder of the whole, what organisers see.",
    )
    probe = build_text_field_with_default(
        60, help_text="Why it looks like a probe: which way, and its numbers."
    )
    statistics = models.CharField(
        max_length=200,
        help_text="The matrix per instance that every number follows from, in its storage.",
    )
    run_sha256 = models.CharField(
        max_length=64,
        blank=True,
        help_text="Of the run as the scorer reads it: of an archive, of its members.",
    )
    answers_digest = build_text_field_with_default(
        64,
        db_index=True,
        help_text="Of what it answers by instance, however its file writes it; the same for the same gold.",
    )
    notes: models.JSONField[dict[str, Any]] = models.JSONField(default=dict)
    missing = models.PositiveIntegerField(
        null=True,
        help_text="Instances without an answer, as the signatures of its scores say.",
    )
    labels_digest = models.CharField(
        max_length=200,
        blank=True,
        default="",
        help_text="Of the labels that decided it, as the signatures of its scores say; PART:DIGEST for each "
        "kind if there are several kinds.",
    )
    seconds = models.FloatField(help_text="Wall time of the scorer.")
    attempt = models.PositiveSmallIntegerField()
    has_class_intervals = models.BooleanField(
        default=False, help_text="The intervals of its classes have been looked for."
    )
    created_at = models.DateTimeField(default=timezone.now)
    replaced_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When other numbers took the place of those it had.",
    )

    objects = EvaluationQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["phase", "rules", "team", "-rank_value", "submitted_at"],
                name="evaluation_best_run",
            ),
            models.Index(
                fields=["phase", "rules", "team", "-submitted_at"],
                name="evaluation_last_run",
            ),
            models.Index(
                fields=["phase"],
                condition=~models.Q(release=""),
                name="evaluation_released",
            ),
            models.Index(
                fields=["phase"], condition=~models.Q(probe=""), name="evaluation_probe"
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["submission", "gold", "rules", "options_digest"],
                name="evaluation_once_a_scoring",
            )
        ]

    def __str__(self) -> str:
        return f"{self.submission} under {self.rules}, gold v{self.gold.number}"

    @property
    def part(self) -> str:
        """Return the part of the split on which the run was scored, such as
        `public-30-7`, or an empty text for the whole split.
        """
        return next(
            (
                word
                for word in self.release.split()
                if word.startswith(PUBLIC_AND_PRIVATE_PART_NAMES)
            ),
            "",
        )

    @property
    def run_specific_signature_parts(self) -> dict[str, int | str]:
        missing: dict[str, int | str] = (
            {} if self.missing is None else {"missing": self.missing}
        )
        if not self.labels_digest:
            return missing
        if ":" in self.labels_digest:
            words = (word.partition(":") for word in self.labels_digest.split())
            return missing | {part: digest for part, _colon, digest in words}
        return missing | dict.fromkeys(
            LABEL_DIGEST_KEY_BY_KIND.values(), self.labels_digest
        )


class Signature(DeduplicatedRow):
    """The signature of a score, stored once for all runs whose signatures are equal. In
    ``text``, placeholders stand for counts that differ between runs, as in
    `replace_counts_by_placeholders`.
    """

    metric = models.CharField(max_length=80)
    column = models.CharField(
        max_length=400, help_text="What may share a column of the board."
    )
    scale = models.FloatField(default=1)
    position = models.PositiveSmallIntegerField(
        help_text="The metric's place in the scorer's list."
    )
    text = models.CharField(max_length=800)

    def __str__(self) -> str:
        return self.text


#: Filter for the scores of the metric by which the board is sorted.
IS_RANKING_SCORE = models.Q(
    evaluation__phase__task__rank_by="", shared__position=0
) | models.Q(shared__metric=models.F("evaluation__phase__task__rank_by"))


class ScoreManager(models.Manager["Score"]):
    def get_queryset(self) -> models.QuerySet[Score]:
        return super().get_queryset().select_related("shared")


class Score(models.Model):
    evaluation = models.ForeignKey(
        Evaluation, on_delete=models.CASCADE, related_name="scores", db_index=False
    )
    shared = models.ForeignKey(
        Signature, on_delete=models.PROTECT, related_name="scores", db_index=False
    )
    value = models.FloatField(
        null=True, help_text="Null where it is undefined or infinite."
    )
    is_infinite = models.BooleanField(default=False)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    n = models.PositiveIntegerField()
    withheld = build_text_field_with_default(
        12,
        choices=WithholdingReason,
        help_text="Why it has no value and no interval, where these are not told.",
    )

    objects = ScoreManager()

    class Meta:
        ordering = ["shared__position"]
        constraints = [
            models.UniqueConstraint(
                fields=["evaluation", "shared"], name="score_once_a_metric"
            )
        ]

    def __str__(self) -> str:
        return f"{self.metric} {self.value}"

    @property
    def metric(self) -> str:
        return self.shared.metric

    @property
    def column(self) -> str:
        return self.shared.column

    @property
    def scale(self) -> float:
        return self.shared.scale

    @property
    def word(self) -> str:
        return "withheld" if self.withheld else "inf" if self.is_infinite else ""

    @property
    def signature(self) -> str:
        return fill_count_placeholders(
            self.shared.text,
            self.evaluation.run_specific_signature_parts | {"n": self.n},
        )


#: The results per class and metric that `score --json` prints.
ResultsByClassAndMetric = Mapping[str, Mapping[str, Mapping[str, Any]]]
#: Lower and upper interval bounds by class and metric.
IntervalsByClassAndMetric = Mapping[str, Mapping[str, tuple[float, float] | None]]

#: Numbers of instances take four bytes (-1 if missing), other numbers eight bytes.
SUPPORT_DTYPE, NUMBER_DTYPE = np.dtype("<i4"), np.dtype("<f8")
#: The number of instances that is stored for a withheld score.
SUPPORT_OF_WITHHELD_SCORE = -2
VALUE_INDEX, LOW_INDEX, HIGH_INDEX = 0, 1, 2


class ClassScore(NamedTuple):
    """The score of a class. If a score is withheld, ``withheld`` is the reason and the
    number of instances is 0.
    """

    value: float | None
    is_infinite: bool
    low: float | None
    high: float | None
    n: int
    withheld: object = ""


#: The score that is shown for a class that is too small to be disclosed.
WITHHELD_SMALL_CLASS_SCORE = ClassScore(
    None,
    is_infinite=False,
    low=None,
    high=None,
    n=0,
    withheld=_("the class has too few instances"),
)


class BreakdownClasses(DeduplicatedRow):
    """The names of the classes and metrics of a breakdown, stored once for many runs."""

    dimension = models.CharField(max_length=60)
    labels: models.JSONField[list[str]] = models.JSONField()
    metrics: models.JSONField[list[str]] = models.JSONField()

    def __str__(self) -> str:
        return f"{len(self.labels)} classes by {self.dimension}"


class Breakdown(models.Model):
    """The scores of an evaluation for each class of one dimension, as compressed
    arrays. The array of numbers of instances has the shape (metric, class), and the
    array of values, lower and upper interval bounds has the shape (3, metric, class).
    Undefined numbers are NaN.
    """

    evaluation = models.ForeignKey(
        Evaluation, on_delete=models.CASCADE, related_name="breakdowns", db_index=False
    )
    classes = models.ForeignKey(
        BreakdownClasses, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    numbers = models.BinaryField()

    class Meta:
        ordering: ClassVar[list[str]] = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["evaluation", "classes"], name="breakdown_once_a_dimension"
            )
        ]

    def __str__(self) -> str:
        return str(self.classes)

    @classmethod
    def of(
        cls,
        evaluation: Evaluation,
        dimension: str,
        classes_told: ResultsByClassAndMetric,
    ) -> Self:
        """Return a breakdown with its classes, without saving either. Metrics can be
        missing for some classes.
        """
        metrics = list(
            dict.fromkeys(metric for one in classes_told.values() for metric in one)
        )
        classes = BreakdownClasses(
            dimension=dimension, labels=list(classes_told), metrics=metrics
        )
        supports = np.full((len(metrics), len(classes_told)), -1, SUPPORT_DTYPE)
        numbers = np.full((3, *supports.shape), np.nan, NUMBER_DTYPE)
        for index, metrics_here in enumerate(classes_told.values()):
            for metric, number in metrics_here.items():
                row = metrics.index(metric)
                supports[row, index] = number["n"]
                value = np.nan if number["value"] is None else number["value"]
                numbers[VALUE_INDEX, row, index] = (
                    np.inf if number.get("infinite") else value
                )
        return cls(
            evaluation=evaluation,
            classes=classes,
            numbers=_pack_arrays(supports, numbers),
        )

    def add_intervals(self, ends: IntervalsByClassAndMetric) -> bool:
        """Add confidence intervals to the values of the breakdown. Undefined values get
        no interval. Return False if no value has an interval.
        """
        supports, numbers = self.unpack_arrays()
        for index, label in enumerate(self.classes.labels):
            for row, metric in enumerate(self.classes.metrics):
                ends_here = ends.get(label, {}).get(metric)
                if ends_here is not None and np.isfinite(
                    numbers[VALUE_INDEX, row, index]
                ):
                    numbers[LOW_INDEX:, row, index] = ends_here
        self.numbers = _pack_arrays(supports, numbers)
        return not np.isnan(numbers[LOW_INDEX:]).all()

    def unpack_arrays(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        shape = len(self.classes.metrics), len(self.classes.labels)
        count = shape[0] * shape[1]
        data = zlib.decompress(self.numbers)
        supports = np.frombuffer(data, SUPPORT_DTYPE, count).reshape(shape)
        stored = np.frombuffer(data, NUMBER_DTYPE, offset=supports.nbytes).reshape(
            -1, *shape
        )
        numbers = np.full((3, *shape), np.nan)
        numbers[: len(stored)] = stored
        return supports, numbers

    def list_metrics_with_values(self) -> list[str]:
        defined = ~np.isnan(self.unpack_arrays()[1][VALUE_INDEX]).all(axis=1)
        return [
            metric
            for metric, is_known in zip(self.classes.metrics, defined, strict=True)
            if is_known
        ]

    def sizes(self) -> dict[str, int]:
        """For each class, return the number of instances of the metric with the fewest
        instances. Classes without known numbers of instances are left out.
        """
        # Decompress only the numbers of instances, which are stored first.
        shape = len(self.classes.metrics), len(self.classes.labels)
        size = shape[0] * shape[1] * SUPPORT_DTYPE.itemsize
        supports = np.frombuffer(
            zlib.decompressobj().decompress(self.numbers, size), SUPPORT_DTYPE
        ).reshape(shape)
        unknown = np.iinfo(SUPPORT_DTYPE).max
        smallest = np.where(supports > 0, supports, unknown).min(axis=0).tolist()
        return {
            label: size
            for label, size in zip(self.classes.labels, smallest, strict=True)
            if size < unknown
        }

    def iterate_scores_of_metric(
        self, metric: str
    ) -> Iterator[tuple[int, str, ClassScore]]:
        if metric not in self.classes.metrics:
            return
        row = self.classes.metrics.index(metric)
        supports, numbers = self.unpack_arrays()
        labels = self.classes.labels
        for place, number in _iterate_class_scores(supports[row], numbers[:, row]):
            yield place, labels[place], number

    def by_class(self) -> dict[str, dict[str, ClassScore]]:
        labels = self.classes.labels
        by_label: dict[str, dict[str, ClassScore]] = {label: {} for label in labels}
        supports, numbers = self.unpack_arrays()
        for row, metric in enumerate(self.classes.metrics):
            for place, number in _iterate_class_scores(supports[row], numbers[:, row]):
                by_label[labels[place]][metric] = number
        return by_label


def load_class_scores_of_evaluations(
    evaluations: Collection[int], dimension: str, metric: str
) -> list[tuple[str, int, ClassScore]]:
    rows = Breakdown.objects.filter(
        evaluation__in=evaluations, classes__dimension=dimension
    ).prefetch_related("classes")
    numbers = [
        (place, label, row.evaluation_id, number)
        for row in rows
        for place, label, number in row.iterate_scores_of_metric(metric)
    ]
    numbers.sort(key=lambda number: number[0])
    return [(label, evaluation, number) for _, label, evaluation, number in numbers]


def save_breakdowns(rows: Sequence[Breakdown]) -> None:
    for row, key in zip(
        rows,
        BreakdownClasses.objects.get_or_insert_ids([row.classes for row in rows]),
        strict=True,
    ):
        row.classes_id = key
    Breakdown.objects.bulk_create(rows)


def _pack_arrays(supports: NDArray[np.int32], numbers: NDArray[np.float64]) -> bytes:
    written = numbers[
        : HIGH_INDEX + 1 if not np.isnan(numbers[LOW_INDEX:]).all() else LOW_INDEX
    ]
    return zlib.compress(
        supports.astype(SUPPORT_DTYPE).tobytes()
        + written.astype(NUMBER_DTYPE).tobytes(),
        9,
    )


def _iterate_class_scores(
    supports: NDArray[np.int32], numbers: NDArray[np.float64]
) -> Iterator[tuple[int, ClassScore]]:
    for index, (n, value, low, high) in enumerate(
        zip(supports.tolist(), *numbers.tolist(), strict=True)
    ):
        if n == SUPPORT_OF_WITHHELD_SCORE:
            yield (
                index,
                WITHHELD_SMALL_CLASS_SCORE._replace(
                    withheld=WithholdingReason.FEW_ANSWERS.label
                ),
            )
        elif n >= 0:
            finite = value if isfinite(value) else None
            yield (
                index,
                ClassScore(
                    finite,
                    isinf(value),
                    _convert_nan_to_none(low),
                    _convert_nan_to_none(high),
                    n,
                ),
            )


def _convert_nan_to_none(value: float) -> float | None:
    return None if isnan(value) else value
