"""Two questions that looked through whole namespaces: where there are pages, and what took a memory's place."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0013_embeddings'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('category', 'page'), ('deleted_at', None)), fields=['namespace', '-updated_at'], name='memory_entry_pages'),
        ),
        migrations.AddIndex(
            model_name='entry',
            index=models.Index(condition=models.Q(('deleted_at', None), ('metadata__has_any_keys', ['merged_from', 'supersedes'])), fields=['namespace', '-updated_at'], name='memory_entry_took'),
        ),
    ]
