"""What jobs say of invitations by e-mail now goes."""

from django.db import migrations

from citeboard.core.database import raise_epoch


class Migration(migrations.Migration):
    dependencies = [("core", "0003_schema_epoch"), ("teams", "0007_invitations_name_their_job")]

    operations = [
        raise_epoch(2),
        migrations.RemoveIndex(model_name="mailedinvitation", name="mailed_invitation_due"),
        migrations.RemoveField(model_name="mailedinvitation", name="mail"),
        migrations.RemoveField(model_name="mailedinvitation", name="mail_attempts"),
        migrations.RemoveField(model_name="mailedinvitation", name="mail_due_at"),
        migrations.RemoveField(model_name="mailedinvitation", name="mail_error"),
        migrations.RemoveField(model_name="mailedinvitation", name="mail_lease_expires_at"),
        migrations.RemoveField(model_name="mailedinvitation", name="mail_owner"),
        migrations.RemoveField(model_name="mailedinvitation", name="mail_sent_at"),
    ]
