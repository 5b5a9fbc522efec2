"""Store scores from publications, with the sources of the scores. Published scores have
no team, run or signature on the site.
"""

from __future__ import annotations

from typing import Any

from django.db import models
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext, gettext_noop

#: The default remark about a row that its source file marks as inconsistent.
CONTRADICTORY_ROW_REMARK = gettext_noop("the figures of the row contradict each other")


class Paper(models.Model):
    key = models.SlugField(max_length=60, unique=True)
    authors: models.JSONField[list[str]] = models.JSONField()
    year = models.PositiveSmallIntegerField()
    title = models.CharField(max_length=400)
    venue = models.CharField(max_length=400)
    pages = models.CharField(max_length=400, blank=True)
    doi = models.CharField("DOI", max_length=400, blank=True)
    arxiv = models.CharField("arXiv", max_length=400, blank=True)
    figures_from = models.CharField(
        max_length=400,
        blank=True,
        help_text="The version of the text that the figures were taken from.",
    )
    loaded_at = models.DateTimeField(default=timezone.now)
    digest = models.CharField(
        max_length=64,
        blank=True,
        help_text="Of all that was loaded: the same again changes nothing.",
    )

    class Meta:
        ordering = ["year", "key"]

    def __str__(self) -> str:
        return self.short

    def get_absolute_url(self) -> str:
        return reverse("paper", args=[self.key])

    @property
    def short(self) -> str:
        names = [author.rpartition(" ")[2] for author in self.authors]
        who = " and ".join(names) if len(names) <= 2 else f"{names[0]} et al."
        return f"{who} {self.year}"

    @property
    def link(self) -> str:
        if self.doi:
            return f"https://doi.org/{self.doi}"
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else ""


class ReportedTable(models.Model):
    paper = models.ForeignKey(Paper, on_delete=models.CASCADE, related_name="tables")
    name = models.CharField(max_length=400)
    position = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=30)
    what = models.CharField(max_length=400)
    dataset = models.CharField(max_length=400, blank=True)
    row_key: models.JSONField[list[str]] = models.JSONField()
    measures: models.JSONField[list[dict[str, Any]]] = models.JSONField()
    deviation = models.CharField(
        max_length=400, blank=True, help_text="What the brackets mean."
    )
    marks: models.JSONField[dict[str, str]] = models.JSONField(default=dict)
    notes: models.JSONField[list[str]] = models.JSONField(default=list)
    conclusions: models.JSONField[list[dict[str, Any]]] = models.JSONField(default=list)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(
                fields=["paper", "name"], name="reported_table_once_a_paper"
            )
        ]

    def __str__(self) -> str:
        return f"{self.paper.short}, {self.name}"

    def get_absolute_url(self) -> str:
        return f"{self.paper.get_absolute_url()}#{self.anchor}"

    @property
    def anchor(self) -> str:
        return slugify(self.name)


class Reported(models.Model):
    """A number as printed in a publication. ``key`` identifies a row of a published
    table, and ``line`` a line of the printed table.
    """

    table = models.ForeignKey(
        ReportedTable, on_delete=models.CASCADE, related_name="figures"
    )
    key = models.CharField(max_length=800)
    position = models.PositiveIntegerField(
        help_text="Of the row, as the file has them."
    )
    line = models.PositiveIntegerField("printed line")
    system = models.CharField(max_length=400, blank=True)
    system_id = models.CharField(max_length=400, blank=True)
    features: models.JSONField[dict[str, Any]] = models.JSONField(default=dict)
    metric = models.CharField(max_length=400)
    value = models.FloatField(
        null=True, help_text="Null where no exact number is printed."
    )
    printed = models.CharField(max_length=400)
    scale = models.CharField(max_length=30)
    higher_is_better = models.BooleanField(null=True)
    deviation = models.FloatField(null=True)
    printed_deviation = models.CharField(max_length=400, blank=True)
    mark = models.CharField(max_length=400, blank=True)
    less_than = models.FloatField(null=True)
    suspect = models.CharField(
        max_length=400, blank=True, help_text="Why this figure is doubted."
    )
    is_inconsistent = models.BooleanField(
        default=False, help_text="The figures of the row contradict each other."
    )
    contradiction = models.CharField(
        max_length=400,
        blank=True,
        help_text="What the figures of the row break, found when they were loaded.",
    )
    note = models.CharField(max_length=400, blank=True)

    class Meta:
        ordering = ["position", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["table", "key", "metric"], name="reported_once_a_row_and_metric"
            )
        ]

    def __str__(self) -> str:
        return f"{self.key}, {self.metric}: {self.printed}"

    @property
    def doubt(self) -> str:
        """Return why the published number or its row may be wrong, or an empty text if
        there is no reason for doubt.
        """
        return "; ".join(
            doubt for doubt in (self.suspect, self.reason_for_doubt_of_row) if doubt
        )

    @property
    def reason_for_doubt_of_row(self) -> str:
        return self.contradiction or (
            gettext(CONTRADICTORY_ROW_REMARK) if self.is_inconsistent else ""
        )
