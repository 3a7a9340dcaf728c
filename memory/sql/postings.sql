-- Write the postings of one namespace. p_postings has up to three parts: rows to replace (or insert), rows to which bytes
-- are appended, and rows to remove:
--     {"replaced": {"terms": "a,b", "blocks": "0,0", "packed": "0a01,0b02"}, "appended": {…}, "removed": {…}}
-- Each list is one text with commas, which no term contains: a thousand elements then cost as much as one. Bytes are hex.
CREATE FUNCTION memory_save_postings(p_team uuid, p_namespace uuid, p_postings jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    replaced jsonb := p_postings->'replaced';
    appended jsonb := p_postings->'appended';
    removed jsonb := p_postings->'removed';
BEGIN
    IF removed IS NOT NULL THEN
        DELETE FROM memory_posting
        USING unnest(string_to_array(removed->>'terms', ','), string_to_array(removed->>'blocks', ',')::integer[])
            AS empty (empty_term, empty_block)
        WHERE namespace_id = p_namespace AND term = empty_term AND block = empty_block;
    END IF;
    IF replaced IS NOT NULL THEN
        INSERT INTO memory_posting (team_id, namespace_id, term, block, packed)
        SELECT p_team, p_namespace, fresh.term, fresh.block, decode(fresh.packed, 'hex')
        FROM unnest(
            string_to_array(replaced->>'terms', ','), string_to_array(replaced->>'blocks', ',')::integer[],
            string_to_array(replaced->>'packed', ',')
        ) AS fresh (term, block, packed)
        ON CONFLICT (namespace_id, term, block) DO UPDATE SET packed = EXCLUDED.packed;
    END IF;
    IF appended IS NOT NULL THEN
        INSERT INTO memory_posting AS known (team_id, namespace_id, term, block, packed)
        SELECT p_team, p_namespace, fresh.term, fresh.block, decode(fresh.packed, 'hex')
        FROM unnest(
            string_to_array(appended->>'terms', ','), string_to_array(appended->>'blocks', ',')::integer[],
            string_to_array(appended->>'packed', ',')
        ) AS fresh (term, block, packed)
        ON CONFLICT (namespace_id, term, block) DO UPDATE SET packed = known.packed || EXCLUDED.packed;
    END IF;
END $$;
