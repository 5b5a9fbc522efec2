from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("scoring", "0021_marked_runs"),
    ]

    operations = [
        migrations.AddField(
            model_name="boardorder",
            name="revision",
            field=models.PositiveIntegerField(
                default=0, help_text="Another where a comparison was made anew."
            ),
        ),
    ]
