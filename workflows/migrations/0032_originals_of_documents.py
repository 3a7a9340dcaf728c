"""Files may be the originals of documents in knowledge bases, which belong to no run."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('workflows', '0031_stored_files'),
    ]

    operations = [
        migrations.AlterField(
            model_name='storedfile',
            name='origin',
            field=models.CharField(choices=[('upload', 'Uploaded'), ('step', 'Stored by a step'), ('document', 'Document of a knowledge base')], default='upload', max_length=10, verbose_name='origin'),
        ),
    ]
