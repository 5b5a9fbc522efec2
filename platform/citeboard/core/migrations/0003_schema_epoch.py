import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("core", "0002_limits"),
    ]

    operations = [
        migrations.CreateModel(
            name="SchemaEpoch",
            fields=[
                ("number", models.PositiveIntegerField(primary_key=True, serialize=False)),
                ("since", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
    ]
