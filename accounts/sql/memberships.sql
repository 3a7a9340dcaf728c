-- A team keeps at least one owner. The lock makes two owners who leave at the same moment take turns.
CREATE FUNCTION accounts_keep_an_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM accounts_team WHERE id = OLD.team_id FOR NO KEY UPDATE;
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
