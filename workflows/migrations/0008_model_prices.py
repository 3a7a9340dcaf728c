"""The prices of the models of a provider."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workflows', '0007_stream_names'),
    ]

    operations = [
        migrations.AddField(
            model_name='modelprovider',
            name='prices',
            field=models.JSONField(blank=True, db_default={}, default=dict, verbose_name='prices'),
        ),
    ]
