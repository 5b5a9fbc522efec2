"""What jobs say of e-mails and events now goes."""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

from citeboard.core.database import raise_epoch

carried = import_module("tasks.migrations.0037_posts_as_jobs")


class Migration(migrations.Migration):
    dependencies = [("tasks", "0037_posts_as_jobs")]

    operations = [
        raise_epoch(2),
        # What processes of the release before have written meanwhile.
        carried.carry(carried.NOTIFICATION, "mail", carried.of_mail),
        carried.carry(carried.DELIVERY, "webhook", carried.of_event),
        migrations.RemoveIndex(model_name="notification", name="notification_mail_due"),
        migrations.RemoveField(model_name="notification", name="mail"),
        migrations.RemoveField(model_name="notification", name="mail_attempts"),
        migrations.RemoveField(model_name="notification", name="mail_due_at"),
        migrations.RemoveField(model_name="notification", name="mail_error"),
        migrations.RemoveField(model_name="notification", name="mail_lease_expires_at"),
        migrations.RemoveField(model_name="notification", name="mail_owner"),
        migrations.RemoveField(model_name="notification", name="mail_sent_at"),
        migrations.RemoveIndex(model_name="delivery", name="delivery_due"),
        migrations.RemoveField(model_name="delivery", name="attempts"),
        migrations.RemoveField(model_name="delivery", name="due_at"),
        migrations.RemoveField(model_name="delivery", name="lease_expires_at"),
        migrations.RemoveField(model_name="delivery", name="owner"),
        migrations.RemoveField(model_name="delivery", name="state"),
        migrations.AlterField(
            model_name="delivery",
            name="job",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="delivery", to="tasks.job"
            ),
        ),
    ]
