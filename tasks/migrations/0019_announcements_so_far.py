"""The announcement that stands on a season's page is its first row."""

from django.apps.registry import Apps as StateApps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def keep_what_stands(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """A season that has one already is passed over, so that it may be run again."""
    season_model = apps.get_model("tasks", "Season")
    announcement_model = apps.get_model("tasks", "Announcement")
    for season in season_model.objects.exclude(announcement=""):
        if not announcement_model.objects.filter(season=season).exists():
            at = season.announced_at or season.created_at
            announcement_model.objects.create(season=season, text=season.announcement, announced_at=at)


class Migration(migrations.Migration):
    dependencies = [("tasks", "0018_announcements")]

    operations = [migrations.RunPython(keep_what_stands, migrations.RunPython.noop)]
