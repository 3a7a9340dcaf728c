"""The trail of a team by time: blocks of the whole table let a page of long ago read every other team's day too."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0005_audit_persons"),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name="auditentry",
            name="accounts_audit_at",
        ),
        migrations.AddIndex(
            model_name="auditentry",
            index=models.Index(fields=["team_id", "at", "seq"], name="accounts_audit_when"),
        ),
    ]
