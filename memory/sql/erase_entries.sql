-- Delete entries of a team for good, with their history, which the application's role cannot do row by row. Return the
-- number of deleted rows of each table. See memory_erase_namespace.
CREATE FUNCTION memory_erase_entries(p_entries uuid[]) RETURNS TABLE (name text, rows bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    ids uuid[];
BEGIN
    SELECT array_agg(id) INTO ids FROM (
        SELECT id FROM memory_entry
        WHERE id = ANY (p_entries) AND team_id = ANY ((SELECT mnemoflow_team_ids())::uuid[])
        ORDER BY id FOR UPDATE
    ) AS locked;
    FOREACH name IN ARRAY ARRAY['memory_embedding', 'memory_read', 'memory_revision'] LOOP
        EXECUTE format('DELETE FROM %I WHERE entry_id = ANY ($1)', name) USING ids;
        GET DIAGNOSTICS rows = ROW_COUNT;
        RETURN NEXT;
    END LOOP;
    name := 'memory_entry';
    DELETE FROM memory_entry WHERE id = ANY (ids);
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
END $$;

-- Delete the earlier revisions of entries, from which a text was removed that must not stay in the history.
CREATE FUNCTION memory_erase_history(p_entries uuid[]) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    WITH gone AS (
        DELETE FROM memory_revision AS revision USING memory_entry AS entry
        WHERE revision.entry_id = entry.id AND entry.id = ANY (p_entries) AND revision.number < entry.revision
            AND entry.team_id = ANY ((SELECT mnemoflow_team_ids())::uuid[])
        RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

REVOKE ALL ON FUNCTION memory_erase_entries(uuid[]), memory_erase_history(uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory_erase_entries(uuid[]), memory_erase_history(uuid[]) TO mnemoflow_app;
