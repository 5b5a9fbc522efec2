import datetime as dt

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tasks", "0055_papers_of_gold")]

    operations = [
        migrations.AlterField(
            model_name="phase",
            name="closes",
            field=models.DateTimeField(default=dt.datetime(2099, 12, 31, 23, 59, 59, tzinfo=dt.UTC)),
        )
    ]
