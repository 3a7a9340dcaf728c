-- The role that the application runs as, and the function that every policy of row-level security calls.

-- A database of the operator's own may lack the role; here it gets no password and no login. Undoing the migration
-- leaves it: a role belongs to the whole server.
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'mnemoflow_app') THEN
        CREATE ROLE mnemoflow_app NOLOGIN NOSUPERUSER NOBYPASSRLS;
    END IF;
END $$;

-- The teams whose rows this transaction sees. It fails closed: a missing, empty or malformed setting means no team, and
-- never an error that reveals something. One team, the usual case, is recognized without a regular expression, which takes
-- longer than the row that the policy is asked about.
CREATE FUNCTION mnemoflow_team_ids() RETURNS uuid[] LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT CASE
        WHEN current_setting('mnemoflow.team_ids', true) LIKE '{________-____-____-____-____________}'
            AND translate(current_setting('mnemoflow.team_ids', true), '0123456789abcdef', '') = '{----}'
        THEN current_setting('mnemoflow.team_ids', true)::uuid[]
        WHEN current_setting('mnemoflow.team_ids', true) ~ '^\{[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(,[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})*\}$'
        THEN current_setting('mnemoflow.team_ids', true)::uuid[]
        ELSE '{}'::uuid[]
    END
$$;
