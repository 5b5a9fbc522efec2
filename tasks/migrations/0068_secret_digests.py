"""Gold gets the secret of its public digest, the rule of its digest, and how runs on it are read.

The keys of content that is there stay what they are: they are the plain digests, and numbers name them. Such
gold gets a nonce all the same, so that its board can show a digest that nobody can guess.
"""

import secrets

import django.core.validators
from django.apps.registry import Apps
from django.db import migrations, models


def make_nonces(apps: Apps, schema_editor: object) -> None:
    """Give each content of a season one nonce."""
    golds = apps.get_model("tasks", "Gold").objects
    contents = golds.filter(nonce="").values_list("task__season", "digest").order_by()
    for season, digest in list(contents.distinct()):
        same = golds.filter(task__season=season, digest=digest)
        same.update(nonce=secrets.token_hex(32))


class Migration(migrations.Migration):
    dependencies = [("tasks", "0067_claims_on_texts")]

    operations = [
        migrations.AddField(
            model_name="gold",
            name="digest_rule",
            field=models.PositiveSmallIntegerField(
                db_default=1,
                default=1,
                editable=False,
                help_text="The rule of the plain digest behind the public key.",
            ),
        ),
        migrations.AddField(
            model_name="gold",
            name="digests",
            field=models.JSONField(
                db_default=models.Value({}, models.JSONField()),
                default=dict,
                editable=False,
                help_text="The secret SHA-256 of the canonical content, by rule; empty for gold from an earlier release.",
            ),
        ),
        migrations.AddField(
            model_name="gold",
            name="nonce",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="The nonce of the HMAC; secret until the gold is released.",
                max_length=64,
            ),
        ),
        migrations.AddField(
            model_name="gold",
            name="reading_version",
            field=models.PositiveSmallIntegerField(
                db_default=1,
                default=1,
                editable=False,
                help_text="The version by which the site reads all runs on this gold.",
            ),
        ),
        migrations.AlterField(
            model_name="gold",
            name="digest",
            field=models.CharField(
                help_text="The public key: the HMAC of the plain digest, or the plain digest of earlier gold.",
                max_length=64,
            ),
        ),
        migrations.AddField(
            model_name="phase",
            name="part_nonce",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                editable=False,
                help_text="The secret nonce of the draw; empty before the draw, and if a seed draws.",
                max_length=64,
            ),
        ),
        migrations.AlterField(
            model_name="phase",
            name="part_seed",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Of a public part of an earlier release. Such a part can be guessed and reveals answers. Empty: the site draws by a secret.",
                null=True,
                validators=[django.core.validators.MinValueValidator(1)],
                verbose_name="seed of the draw",
            ),
        ),
        migrations.AlterField(
            model_name="phase",
            name="public_part",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Own scores and the board come from this share of the units (30 is usual), drawn once by a secret and with every class that participants are shown in its proportion; the rest ranks at the end, or at most once a month where there is no end. Empty: no parts.",
                null=True,
                validators=[django.core.validators.MinValueValidator(1)],
                verbose_name="public part of the split, per cent",
            ),
        ),
        migrations.RunPython(make_nonces, migrations.RunPython.noop, elidable=True),
    ]
