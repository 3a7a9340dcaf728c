"""What the models can't say: the wall between teams, the audit chain, and the last owner."""

from django.db import migrations

from accounts.tenancy import APP_ROLE, enable_rls, grant_table

UUID = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"

# An operator's own database may lack the role; it gets no password and no login here.
APP_ROLE_EXISTS = f"""
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{APP_ROLE}') THEN
        CREATE ROLE {APP_ROLE} NOLOGIN NOSUPERUSER NOBYPASSRLS;
    END IF;
END $$
"""

# Fails closed: a missing, empty or malformed setting is no team at all, never an error that says something.
TEAM_IDS = f"""
CREATE FUNCTION mnemoflow_team_ids() RETURNS uuid[] LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN current_setting('mnemoflow.team_ids', true) ~ '^\\{{{UUID}(,{UUID})*\\}}$'
        THEN current_setting('mnemoflow.team_ids', true)::uuid[]
        ELSE '{{}}'::uuid[]
    END
$$
"""

# The upsert takes the row lock that puts a team's entries in line; what the caller sent for these columns is ignored.
# Runs with the rights of the owner, because the app role may only read the heads.
AUDIT_CHAIN = """
CREATE FUNCTION accounts_audit_chain() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    head accounts_audithead;
BEGIN
    INSERT INTO accounts_audithead AS h (team_id, seq, hash) VALUES (NEW.team_id, 1, repeat('0', 64))
        ON CONFLICT (team_id) DO UPDATE SET seq = h.seq + 1
        RETURNING * INTO head;
    NEW.seq := head.seq;
    NEW.prev_hash := head.hash;
    NEW.at := clock_timestamp();
    NEW.hash := encode(sha256(convert_to(jsonb_build_array(
        NEW.prev_hash, NEW.id, NEW.team_id, NEW.seq, (extract(epoch FROM NEW.at) * 1000000)::bigint,
        NEW.actor_kind, NEW.actor, NEW.action, NEW.subject, NEW.detail, NEW.success
    )::text, 'UTF8')), 'hex');
    UPDATE accounts_audithead SET hash = NEW.hash WHERE team_id = NEW.team_id;
    RETURN NEW;
END $$;
CREATE TRIGGER accounts_audit_chain BEFORE INSERT ON accounts_auditentry
    FOR EACH ROW EXECUTE FUNCTION accounts_audit_chain();
"""

AUDIT_APPEND_ONLY = """
CREATE FUNCTION accounts_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail only grows' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER accounts_audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON accounts_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_audit_refuse();
"""

# The lock makes two owners who leave at the same moment take turns.
LAST_OWNER = """
CREATE FUNCTION accounts_keep_an_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM accounts_team WHERE id = OLD.team_id FOR UPDATE;
    IF NOT EXISTS (SELECT FROM accounts_membership WHERE team_id = OLD.team_id AND role = 'owner') THEN
        RAISE EXCEPTION 'a team keeps at least one owner'
            USING ERRCODE = 'check_violation', CONSTRAINT = 'accounts_membership_an_owner';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER accounts_membership_an_owner_update AFTER UPDATE ON accounts_membership
    FOR EACH ROW WHEN (OLD.role = 'owner' AND NEW.role <> 'owner') EXECUTE FUNCTION accounts_keep_an_owner();
CREATE TRIGGER accounts_membership_an_owner_delete AFTER DELETE ON accounts_membership
    FOR EACH ROW WHEN (OLD.role = 'owner') EXECUTE FUNCTION accounts_keep_an_owner();
"""


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        # A role belongs to the whole server, so undoing a migration of one database leaves it.
        migrations.RunSQL(APP_ROLE_EXISTS, migrations.RunSQL.noop),
        migrations.RunSQL(TEAM_IDS, "DROP FUNCTION mnemoflow_team_ids()"),
        grant_table("accounts_user"),
        grant_table("accounts_user_groups"),
        grant_table("accounts_user_user_permissions"),
        grant_table("accounts_team"),
        grant_table("accounts_starttoken"),
        enable_rls("accounts_membership", also_by="user_id"),
        enable_rls("accounts_invitation", also_by="token_hash"),
        enable_rls("accounts_apikey", also_by="secret_hash"),
        enable_rls("accounts_auditentry", grants="SELECT, INSERT"),
        enable_rls("accounts_audithead", grants="SELECT"),
        migrations.RunSQL(
            AUDIT_CHAIN,
            "DROP TRIGGER accounts_audit_chain ON accounts_auditentry; DROP FUNCTION accounts_audit_chain()",
        ),
        migrations.RunSQL(
            AUDIT_APPEND_ONLY,
            "DROP TRIGGER accounts_audit_append_only ON accounts_auditentry; DROP FUNCTION accounts_audit_refuse()",
        ),
        migrations.RunSQL(
            LAST_OWNER,
            "DROP TRIGGER accounts_membership_an_owner_update ON accounts_membership;"
            "DROP TRIGGER accounts_membership_an_owner_delete ON accounts_membership;"
            "DROP FUNCTION accounts_keep_an_owner()",
        ),
    ]
