-- Write an entry: count it, save it, save its postings and add a revision. Return false, and write nothing, if the
-- namespace has no room. When there is room for one more, exactly one of two writers gets it, because the UPDATE that
-- counts also compares with the limits; a limit that is null is none.
-- p_entry is a whole row of memory_entry; its revision is 1 if it is new. p_revision is a row of memory_revision without
-- the columns that have the name and the value of the entry's. p_postings is what memory_save_postings takes, or null.
CREATE FUNCTION memory_write_entry(
    p_entry jsonb, p_revision jsonb, p_postings jsonb,
    p_more_entries integer, p_more_bytes bigint, p_max_entries integer, p_max_bytes bigint
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    fresh memory_entry := jsonb_populate_record(NULL::memory_entry, p_entry);
    made memory_revision := jsonb_populate_record(
        NULL::memory_revision, p_entry - ARRAY['value', 'text'] || p_revision
    );
BEGIN
    IF p_more_entries <> 0 OR p_more_bytes <> 0 THEN
        UPDATE memory_namespace SET entry_count = entry_count + p_more_entries, byte_count = byte_count + p_more_bytes
        WHERE id = fresh.namespace_id
          AND (p_more_entries <= 0 OR p_max_entries IS NULL OR entry_count <= p_max_entries - p_more_entries)
          AND (p_more_bytes <= 0 OR p_max_bytes IS NULL OR byte_count <= p_max_bytes - p_more_bytes);
        IF NOT FOUND THEN
            RETURN FALSE;
        END IF;
    END IF;
    IF fresh.revision = 1 THEN
        INSERT INTO memory_entry VALUES (fresh.*);
    ELSE
        UPDATE memory_entry SET
            value = fresh.value, text = fresh.text, metadata = fresh.metadata, size = fresh.size,
            category = fresh.category, tier = fresh.tier, importance = fresh.importance, revision = fresh.revision,
            valid_from = fresh.valid_from, valid_until = fresh.valid_until,
            replaces = fresh.replaces, replaced_by = fresh.replaced_by, prompt_use = fresh.prompt_use,
            number = fresh.number, "group" = fresh."group", position = fresh.position,
            updated_at = fresh.updated_at, expires_at = fresh.expires_at,
            source_actor = fresh.source_actor, source_run = fresh.source_run, source_node = fresh.source_node,
            source_message = fresh.source_message, source_rule = fresh.source_rule
        WHERE id = fresh.id;
    END IF;
    IF p_postings IS NOT NULL THEN
        PERFORM memory_save_postings(fresh.team_id, fresh.namespace_id, p_postings);
    END IF;
    made.value := fresh.value;  -- the value may be large, and is copied once
    INSERT INTO memory_revision VALUES (made.*);
    RETURN TRUE;
END $$;
