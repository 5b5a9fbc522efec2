"""Seasons that are public, and drafts whose history says that they were, are not deleted."""

from django.apps.registry import Apps as StateApps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def keep_what_was_public(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    seasons = apps.get_model("tasks", "Season").objects
    changed = apps.get_model("core", "AuditEntry").objects.filter(
        place_type="tasks.season", changes__icontains="season.public"
    )
    seasons.filter(is_public=True).update(was_public=True)
    seasons.filter(pk__in=list(changed.values_list("place_id", flat=True))).update(was_public=True)


class Migration(migrations.Migration):
    dependencies = [("tasks", "0026_was_public"), ("core", "0004_audit_changes")]

    operations = [migrations.RunPython(keep_what_was_public, migrations.RunPython.noop)]
