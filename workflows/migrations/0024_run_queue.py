"""A small table of the unfinished runs, from which workers claim fairly, and the time that steps waited for a place."""

import config.ids
import django.db.models.deletion
import django.db.models.manager
from django.db import migrations, models

from accounts.tenancy import enable_rls
from config.sql import replace_functions, run_sql_file


# Row-level security is forced on the owner too, as whom the trigger and the search for a run work.
UPKEEP = "CREATE POLICY execution_upkeep ON workflows_activerun TO current_user USING (true) WITH CHECK (true)"

# For each statement that changes a run's status; others, such as those that only count its events, cost nothing.
TRIGGERS = """
create trigger run_added after insert on workflows_run for each row
    when (new.status in ('queued', 'running')) execute function execution_track_run();
create trigger run_moved after update on workflows_run for each row
    when (old.status is distinct from new.status) execute function execution_track_run();
create trigger run_removed after delete on workflows_run for each row
    when (old.status in ('queued', 'running')) execute function execution_track_run();
"""
# The queue replaces them.
DROP = """
drop function if exists execution_unattended(interval, integer, boolean);
drop function if exists execution_next_turn(uuid, uuid);
"""
FILL = """
insert into workflows_activerun (id, team_id, workflow_id, conversation_id, is_child, is_batch, is_running, queued_at)
    select id, team_id, workflow_id, conversation_id, parent_id is not null,
        api_key_id is not null and conversation_id is null, status = 'running', coalesce(started_at, queued_at, created_at)
    from workflows_run where status in ('queued', 'running')
"""
# Every run changes two rows of this table, so vacuum must not wait until a fifth of a large backlog is dead.
VACUUM = "alter table workflows_activerun set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)"


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0004_key_of_one_workflow'),
        ('workflows', '0023_timers'),
    ]

    operations = [
        migrations.AddField(
            model_name='step',
            name='waited',
            field=models.FloatField(db_default=0, default=0, verbose_name='seconds waited for a place'),
        ),
        migrations.CreateModel(
            name='ActiveRun',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('workflow_id', models.UUIDField(verbose_name='workflow')),
                ('conversation_id', models.UUIDField(blank=True, null=True, verbose_name='conversation')),
                ('is_child', models.BooleanField(default=False, verbose_name='child run')),
                ('is_batch', models.BooleanField(default=False, help_text='Nobody waits for it in a chat or the editor.', verbose_name='batch')),
                ('is_running', models.BooleanField(default=False, verbose_name='running')),
                ('queued_at', models.DateTimeField(verbose_name='queued at')),
                ('team', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.team')),
            ],
            options={
                'verbose_name': 'unfinished run',
                'verbose_name_plural': 'unfinished runs',
                'ordering': ['queued_at', 'id'],
                'indexes': [models.Index(condition=models.Q(('is_running', False)), fields=['team', 'is_batch', 'workflow_id', 'queued_at', 'id'], name='active_run_waiting'), models.Index(condition=models.Q(('is_running', True)), fields=['team', 'workflow_id'], name='active_run_running')],
            },
            managers=[
                ('_unscoped', django.db.models.manager.Manager()),
            ],
        ),
        # The application only reads the table; the trigger's function, which is the owner's, writes it.
        enable_rls("workflows_activerun", grants="SELECT"),
        migrations.RunSQL(UPKEEP, "DROP POLICY execution_upkeep ON workflows_activerun"),
        migrations.RunSQL(VACUUM, migrations.RunSQL.noop),
        migrations.RunSQL(DROP, migrations.RunSQL.noop),
        run_sql_file("workflows/execution/sql/queue.sql"),
        migrations.RunSQL(TRIGGERS, migrations.RunSQL.noop),  # dropped with their function
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        replace_functions("workflows/execution/sql/journal.sql"),
        replace_functions("workflows/execution/sql/claims.sql"),
    ]
