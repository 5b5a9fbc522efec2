from django.db import migrations, models


class Migration(migrations.Migration):
    """The table and the triggers that write to it are made when all migrations are done: `tasks.jobs.tallies`."""

    dependencies = [
        ("tasks", "0059_runs_by_day"),
    ]

    operations = [
        migrations.CreateModel(
            name="Tallied",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("what", models.CharField(max_length=3)),
                ("phase", models.BigIntegerField()),
                ("team", models.BigIntegerField()),
                ("day", models.DateField(null=True)),
                ("queue", models.CharField(max_length=60)),
                ("state", models.CharField(max_length=10)),
                ("number", models.BigIntegerField()),
                ("size", models.BigIntegerField()),
            ],
            options={"managed": False},
        ),
    ]
