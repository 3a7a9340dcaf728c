-- Delete proposals and curations of a team for good, which the application's role cannot do. Return the number of deleted
-- rows of each table. See memory_erase_namespace.
CREATE FUNCTION memory_erase_proposals(p_proposals uuid[], p_curations uuid[]) RETURNS TABLE (name text, rows bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    name := 'memory_proposal';
    DELETE FROM memory_proposal
    WHERE id = ANY (p_proposals) AND team_id = ANY ((SELECT mnemoflow_team_ids())::uuid[]);
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;

    name := 'memory_curation';
    DELETE FROM memory_curation
    WHERE id = ANY (p_curations) AND team_id = ANY ((SELECT mnemoflow_team_ids())::uuid[]);
    GET DIAGNOSTICS rows = ROW_COUNT;
    RETURN NEXT;
END $$;

REVOKE ALL ON FUNCTION memory_erase_proposals(uuid[], uuid[]) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory_erase_proposals(uuid[], uuid[]) TO mnemoflow_app;
