from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0049_terms_count_from"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="submission",
            index=models.Index(fields=["submitted_at", "id"], name="submission_newest"),
        ),
        migrations.AddIndex(
            model_name="submission",
            index=models.Index(fields=["sha256", "team"], name="submission_same_file"),
        ),
    ]
