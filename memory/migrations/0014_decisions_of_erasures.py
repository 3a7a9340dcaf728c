"""Keep what people decide about shared memories of erased persons, also of erasures that a key asked for."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("memory", "0013_kept_in"),
    ]

    operations = [
        migrations.AddField(
            model_name="erasure",
            name="decisions",
            field=models.JSONField(blank=True, editable=False, null=True, verbose_name="decisions"),
        ),
        migrations.AlterField(
            model_name="erasure",
            name="asked_by",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
                verbose_name="requested by",
            ),
        ),
    ]
