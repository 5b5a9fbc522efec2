from django.db import migrations, models


class Migration(migrations.Migration):
    """The column `words` keeps its name, which processes of the release before read and write."""

    dependencies = [("core", "0005_last_done")]

    operations = [
        migrations.AddField(
            model_name="auditentry",
            name="facts",
            field=models.JSONField(
                blank=True,
                help_text="What its sentence names; null where only the text was kept.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="auditentry",
            name="words",
            field=models.CharField(
                db_column="words",
                help_text="What was done, in English, as it was written.",
                max_length=400,
            ),
        ),
        migrations.RenameField(model_name="auditentry", old_name="words", new_name="text"),
    ]
