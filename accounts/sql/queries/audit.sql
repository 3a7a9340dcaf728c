-- name: insert
-- Every operation ends with it, so it is not composed anew each time; columns go by their names in JSON.
INSERT INTO "accounts_auditentry"
SELECT * FROM jsonb_populate_recordset(NULL::accounts_auditentry, %s::jsonb)

-- name: verify
-- Every link is recomputed from its own columns and from its predecessor as stored; the sequence is unique and has no
-- gaps. accounts/sql/audit.sql computes the same hash.
WITH chain AS (
    SELECT seq, prev_hash, hash,
           coalesce(lag(hash) OVER w, repeat('0', 64)) AS before_hash,
           coalesce(lag(seq) OVER w, 0) AS before_seq,
           encode(sha256(convert_to(jsonb_build_array(
               prev_hash, id, team_id, seq, (extract(epoch FROM at) * 1000000)::bigint,
               actor_kind, actor, action, subject, detail, success
           )::text, 'UTF8')), 'hex') AS computed
    FROM accounts_auditentry WHERE team_id = %(team)s
    WINDOW w AS (ORDER BY seq)
), broken AS (
    SELECT seq, CASE
        WHEN seq > before_seq + 1 THEN 'missing'
        WHEN computed <> hash THEN 'changed'
        WHEN prev_hash <> before_hash THEN 'inserted'
    END AS reason, before_seq
    FROM chain
    WHERE seq <> before_seq + 1 OR computed <> hash OR prev_hash <> before_hash
    ORDER BY seq LIMIT 1
), newest AS (
    SELECT seq, hash FROM chain ORDER BY seq DESC LIMIT 1
)
SELECT (SELECT count(*) FROM chain),
       coalesce((SELECT hash FROM newest), repeat('0', 64)),
       (SELECT seq FROM newest),
       (SELECT seq FROM accounts_audithead WHERE team_id = %(team)s),
       (SELECT hash FROM accounts_audithead WHERE team_id = %(team)s),
       (SELECT CASE reason WHEN 'missing' THEN before_seq + 1 ELSE seq END FROM broken),
       (SELECT reason FROM broken)
