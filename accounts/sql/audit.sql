-- The audit trail: each entry carries the hash of the one before it, and no entry is changed or removed.

-- Number, time-stamp and hash an entry. What the caller sent for these columns is ignored. The upsert takes the row
-- lock that puts a team's entries in order. It runs with the rights of the owner, because the application's role may
-- only read the heads.
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

CREATE FUNCTION accounts_audit_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit trail only grows' USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE TRIGGER accounts_audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON accounts_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_audit_refuse();
