-- Return whether an application learns from its runs: by its own rule or, if it has none, by the team's. A worker asks at
-- the end of each run, outside of a transaction, so the function names the team for its own.
CREATE FUNCTION memory_learns_from_runs(p_team uuid, p_app text) RETURNS boolean
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM set_config('mnemoflow.team_ids', '{' || p_team || '}', true);
    RETURN coalesce((
        SELECT auto_memory FROM memory_curationrule
        WHERE team_id = p_team AND app_id IN ('', p_app) ORDER BY app_id DESC LIMIT 1), false);
END $$;

REVOKE ALL ON FUNCTION memory_learns_from_runs(uuid, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION memory_learns_from_runs(uuid, text) TO mnemoflow_app;
