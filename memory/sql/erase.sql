-- Delete a namespace for good, with its history, which the application's role cannot do row by row. Return the number
-- of deleted rows of each table. The function runs with the rights of the owner; the owner may be a superuser, whom no
-- policy binds, so the caller's teams are compared explicitly.
-- The caller has deleted the rows of memory_wikijob (the query delete_wiki_jobs) and of memory_documentupload before.
CREATE FUNCTION memory_erase_namespace(p_namespace uuid) RETURNS TABLE (name text, rows bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    -- A writer holds this row, and whoever comes later finds none.
    PERFORM 1 FROM memory_namespace
    WHERE id = p_namespace AND team_id = ANY ((SELECT mnemoflow_team_ids())::uuid[]) FOR UPDATE;
    IF NOT FOUND THEN RETURN; END IF;

    -- First what belongs to entries, then what belongs to the namespace, then the namespace itself.
    FOREACH name IN ARRAY ARRAY['memory_embedding', 'memory_read', 'memory_revision'] LOOP
        EXECUTE format(
            'DELETE FROM %I WHERE entry_id IN (SELECT id FROM memory_entry WHERE namespace_id = $1)', name
        ) USING p_namespace;
        GET DIAGNOSTICS rows = ROW_COUNT;
        RETURN NEXT;
    END LOOP;

    name := 'memory_curation';
    DELETE FROM memory_curation
    WHERE (team_id, place) IN (SELECT team_id, text FROM memory_namespace WHERE id = p_namespace);
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;

    FOREACH name IN ARRAY ARRAY[
        'memory_emergencyaccess', 'memory_proposal', 'memory_posting', 'memory_group', 'memory_change', 'memory_entry'
    ] LOOP
        EXECUTE format('DELETE FROM %I WHERE namespace_id = $1', name) USING p_namespace;
        GET DIAGNOSTICS rows = ROW_COUNT;
        RETURN NEXT;
    END LOOP;

    name := 'memory_namespace';
    DELETE FROM memory_namespace WHERE id = p_namespace;
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
END $$;

REVOKE ALL ON FUNCTION memory_erase_namespace(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory_erase_namespace(uuid) TO mnemoflow_app;
