import datetime as dt

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tasks", "0056_turns_of_jobs")]

    operations = [
        migrations.AlterField(
            model_name="phase",
            name="closes",
            field=models.DateTimeField(default=dt.datetime(2099, 12, 31, 23, 59, 59, tzinfo=dt.UTC)),
        )
    ]
