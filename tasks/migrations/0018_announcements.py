import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


def person() -> models.ForeignKey:
    return models.ForeignKey(
        blank=True,
        null=True,
        on_delete=django.db.models.deletion.SET_NULL,
        related_name="+",
        to=settings.AUTH_USER_MODEL,
    )


def number() -> models.BigAutoField:
    return models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0017_season_time_zone"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Announcement",
            fields=[
                ("id", number()),
                ("text", models.TextField(help_text="Markdown.")),
                ("announced_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("edited_at", models.DateTimeField(blank=True, null=True)),
                ("taken_back_at", models.DateTimeField(blank=True, null=True)),
                ("announced_by", person()),
                (
                    "season",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="announcements",
                        to="tasks.season",
                    ),
                ),
            ],
            options={"ordering": ["-announced_at", "-id"]},
        ),
        migrations.CreateModel(
            name="AnnouncementEdit",
            fields=[
                ("id", number()),
                ("text", models.TextField()),
                ("until", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "announcement",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="edits",
                        to="tasks.announcement",
                    ),
                ),
                ("edited_by", person()),
            ],
            options={"ordering": ["-until", "-id"]},
        ),
    ]
