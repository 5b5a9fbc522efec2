"""Mark the boards that were settled before boards had verdicts, and let workers store ranks with p-values."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import OuterRef, Q, Subquery
from django.utils import timezone


def mark_settled(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """A board that is frozen or closed keeps the sentences that it has."""
    orders = apps.get_model("scoring", "BoardOrder").objects
    phases = apps.get_model("tasks", "Phase").objects.filter(pk=OuterRef("phase"))
    at = timezone.now()
    is_frozen = Q(phase__frozen_from__lte=at) & (
        Q(phase__frozen_until=None) | Q(phase__frozen_until__gt=at)
    )
    closed = orders.filter(phase__closes__lte=at)
    closed.update(settled_at=Subquery(phases.values("closes")))
    orders.filter(is_frozen).update(settled_at=Subquery(phases.values("frozen_from")))
    orders.update(version=0)


class Migration(migrations.Migration):
    dependencies = [
        ("scoring", "0024_board_ranks"),
        ("tasks", "0057_phases_without_end"),
    ]

    operations = [
        migrations.AddField(
            model_name="boardorder",
            name="settled_at",
            field=models.DateTimeField(
                help_text="When a board that was settled before boards had verdicts closed or was frozen; "
                "it keeps its sentences.",
                null=True,
            ),
        ),
        migrations.RunPython(mark_settled, migrations.RunPython.noop),
    ]
