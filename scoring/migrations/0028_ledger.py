"""Turn the store of entailment labels into the ledger; rows keep their numbers, pairs and labels."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Case, Value, When
from django.db.models.functions import Concat

KINDS = ["entails", "supports", "assigns", "prefers"]


def turn(apps: Any, schema_editor: Any) -> None:
    pair = Concat("premise", Value(" "), "hypothesis")
    apps.get_model("scoring", "Judge").objects.update(kind="entails")
    apps.get_model("scoring", "PendingPair").objects.update(items=pair)
    apps.get_model("scoring", "Judgement").objects.update(
        items=pair,
        label=Case(When(entailed=True, then=Value("yes")), default=Value("no")),
    )


def text(length: int, **options: Any) -> models.CharField:
    return models.CharField(
        blank=True, db_default="", default="", max_length=length, **options
    )


class Migration(migrations.Migration):
    dependencies = [
        ("scoring", "0027_sheets_of_pairs"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        # A constraint does not follow the rename of its field.
        migrations.RemoveConstraint("entailmentlabel", "label_once_a_pair"),
        migrations.RenameModel("EntailmentModel", "Judge"),
        migrations.RenameModel("LabelImport", "JudgementImport"),
        migrations.RenameModel("EntailmentLabel", "Judgement"),
        migrations.RenameField("judgementimport", "model", "judge"),
        migrations.RenameField("judgement", "model", "judge"),
        migrations.RenameField("pendinglabels", "model", "judge"),
        migrations.AddField(
            "judge", "kind", text(10, choices=[(kind, kind) for kind in KINDS])
        ),
        migrations.AddField(
            "judge",
            "digest",
            text(
                200, help_text="Of what defines the judge; of people, the sheet's name."
            ),
        ),
        migrations.AddField(
            "judge", "version", models.PositiveBigIntegerField(db_default=0, default=0)
        ),
        migrations.AddField(
            "judgementimport",
            "withdrawn_at",
            models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            "judgementimport",
            "withdrawn_by",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            "judgementimport", "reason", text(500, help_text="Why it was withdrawn.")
        ),
        migrations.AddField(
            "judgement",
            "items",
            text(
                194, help_text="SHA-256 of each text, or SHA-1 of premises in old logs."
            ),
        ),
        migrations.AddField("judgement", "label", text(20)),
        migrations.AddField("judgement", "by", text(100)),
        migrations.AddField(
            "judgement", "repeat", models.PositiveIntegerField(db_default=0, default=0)
        ),
        migrations.AddField(
            "judgement", "score", models.FloatField(blank=True, null=True)
        ),
        migrations.AddField("judgement", "rationale", text(2000)),
        migrations.AddField(
            "judgement", "at", models.DateTimeField(blank=True, null=True)
        ),
        migrations.AddField(
            "judgement", "cost", models.FloatField(blank=True, null=True)
        ),
        migrations.AddField(
            "judgement",
            "is_standing",
            models.BooleanField(
                db_default=True, default=True, help_text="Its import is not withdrawn."
            ),
        ),
        migrations.AddField("pendingpair", "items", text(194)),
        migrations.RunPython(turn, migrations.RunPython.noop),
    ]
