"""An application that says nothing of runs for outside people is as its team is."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0014_pages_and_what_took_a_place'),
    ]

    operations = [
        migrations.AlterField(
            model_name='policy',
            name='subjects_write_global',
            field=models.BooleanField(blank=True, null=True, verbose_name='runs for outside people may write application memory'),
        ),
    ]
