-- A namespace as an operation finds it, and what a write has to know about it. One call replaces several statements, and
-- the database keeps the plans of a function. No function here is SECURITY DEFINER: row-level security applies.

-- Return the namespace of this name, if it exists, and the policies that apply there; most teams have none.
CREATE FUNCTION memory_find_namespace(
    p_team uuid, p_name text, p_app text, OUT namespace memory_namespace, OUT policies jsonb
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT * INTO namespace FROM memory_namespace WHERE team_id = p_team AND text = p_name;
    SELECT jsonb_agg(to_jsonb(policy)) INTO policies FROM memory_policy policy
        WHERE team_id = p_team AND app_id IN ('', p_app);
END $$;

-- Return what a write under a key has to know about its namespace, which the caller has locked: the entry under that key,
-- whether this very step has written it already, whether expired entries wait for the sweep, and the last row of the
-- register of postings.
CREATE FUNCTION memory_state_before_write(
    p_team uuid, p_namespace uuid, p_key text, p_at timestamptz, p_run text, p_node text, p_step text,
    OUT entry memory_entry, OUT is_repeated boolean, OUT has_expired boolean,
    OUT last_block integer, OUT last_size integer
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT * INTO entry FROM memory_entry
        WHERE team_id = p_team AND namespace_id = p_namespace AND key = p_key AND deleted_at IS NULL;
    is_repeated := FALSE;
    IF p_step <> '' AND entry.source_run = p_run AND entry.source_node = p_node THEN
        -- By number alone: by run or team an index would also find every other revision of them.
        SELECT run_id = p_run AND node_id = p_node AND origin_key = p_step INTO is_repeated
            FROM memory_revision WHERE entry_id = entry.id AND number = entry.revision;
    END IF;
    has_expired := EXISTS (
        SELECT FROM memory_entry
        WHERE namespace_id = p_namespace AND deleted_at IS NULL AND expires_at <= p_at
    );
    SELECT block, octet_length(packed) INTO last_block, last_size FROM memory_posting
        WHERE namespace_id = p_namespace AND term = '.' ORDER BY block DESC LIMIT 1;
END $$;

-- Lock a namespace, then return its participants and the state before the write; nulls if the namespace is gone. This
-- cannot be one statement: whoever had to wait for the lock has to see what the writer before committed, and a statement
-- sees what was there when it began.
CREATE FUNCTION memory_lock_for_write(
    p_team uuid, p_namespace uuid, p_key text, p_at timestamptz, p_run text, p_node text, p_step text,
    OUT participants uuid[], OUT entry memory_entry, OUT is_repeated boolean, OUT has_expired boolean,
    OUT last_block integer, OUT last_size integer
) LANGUAGE plpgsql AS $$
DECLARE
    state record;
BEGIN
    SELECT namespace.participants INTO participants FROM memory_namespace namespace
        WHERE team_id = p_team AND id = p_namespace FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT * INTO state FROM memory_state_before_write(p_team, p_namespace, p_key, p_at, p_run, p_node, p_step);
    entry := state.entry;
    is_repeated := state.is_repeated;
    has_expired := state.has_expired;
    last_block := state.last_block;
    last_size := state.last_size;
END $$;
