-- Versions, snapshots, revisions, events and intents are never changed. The application's role has no privilege to do
-- so; this trigger refuses whoever has it.
create function workflows_refuse_update() returns trigger language plpgsql as $$
begin
    raise exception '% rows are never changed', TG_TABLE_NAME using errcode = 'restrict_violation';
end
$$;

create trigger workflows_snapshot_fixed before update on workflows_snapshot
    for each row execute function workflows_refuse_update();
create trigger workflows_version_fixed before update on workflows_version
    for each row execute function workflows_refuse_update();
create trigger workflows_revision_fixed before update on workflows_revision
    for each row execute function workflows_refuse_update();
create trigger workflows_runevent_fixed before update on workflows_runevent
    for each row execute function workflows_refuse_update();
create trigger workflows_stepintent_fixed before update on workflows_stepintent
    for each row execute function workflows_refuse_update();
