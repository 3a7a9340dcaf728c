"""What a write asks, as functions: the database keeps their plans, and one question does what took seven.

Behind the wall as whoever calls them: none of them is SECURITY DEFINER.
"""

from django.db import migrations


# The namespace somebody named, and the policies that hold there, which most teams have none of.
AT_DOOR = """
CREATE FUNCTION memory_at_door(
    of_team uuid, named text, of_app text, OUT place memory_namespace, OUT policies jsonb
) LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT * INTO place FROM memory_namespace WHERE team_id = of_team AND text = named;
    SELECT jsonb_agg(to_jsonb(policy)) INTO policies FROM memory_policy policy
        WHERE team_id = of_team AND app_id IN ('', of_app);
END $$
"""

# What a write has to know of a namespace that is locked.
STANDING = """
CREATE FUNCTION memory_standing(
    of_team uuid, of_namespace uuid, named text, moment timestamptz, by_run text, by_node text, by_step text,
    OUT entry memory_entry, OUT is_repeated boolean, OUT is_over boolean, OUT last_block integer, OUT last_size integer
) LANGUAGE plpgsql AS $$
BEGIN
    SELECT * INTO entry FROM memory_entry
        WHERE team_id = of_team AND namespace_id = of_namespace AND key = named AND deleted_at IS NULL;
    is_repeated := FALSE;
    IF by_step <> '' AND entry.source_run = by_run AND entry.source_node = by_node THEN
        -- By its number alone: by the run or the team an index finds every other revision of them as well.
        SELECT run_id = by_run AND node_id = by_node AND origin_key = by_step INTO is_repeated
            FROM memory_revision WHERE entry_id = entry.id AND number = entry.revision;
    END IF;
    is_over := EXISTS (
        SELECT FROM memory_entry
        WHERE namespace_id = of_namespace AND deleted_at IS NULL AND expires_at <= moment
    );
    SELECT block, octet_length(packed) INTO last_block, last_size FROM memory_posting
        WHERE namespace_id = of_namespace AND term = '.' ORDER BY block DESC LIMIT 1;
END $$
"""

# Locked, and what is to be known then. It can't be one statement: whoever had to wait for the lock has to see what the
# one before wrote, and a statement sees what was there when it began.
CLAIM = """
CREATE FUNCTION memory_claim(
    of_team uuid, of_namespace uuid, named text, moment timestamptz, by_run text, by_node text, by_step text,
    OUT taking_part uuid[], OUT entry memory_entry, OUT is_repeated boolean, OUT is_over boolean,
    OUT last_block integer, OUT last_size integer
) LANGUAGE plpgsql AS $$
DECLARE
    standing record;
BEGIN
    SELECT participants INTO taking_part FROM memory_namespace
        WHERE team_id = of_team AND id = of_namespace FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT * INTO standing FROM memory_standing(of_team, of_namespace, named, moment, by_run, by_node, by_step);
    entry := standing.entry;
    is_repeated := standing.is_repeated;
    is_over := standing.is_over;
    last_block := standing.last_block;
    last_size := standing.last_size;
END $$
"""

# Lists come as one text each, with commas, which no term has. Tails go to the end of what is there.
POST = """
CREATE FUNCTION memory_post(
    of_team uuid, of_namespace uuid, terms text, blocks text, packs text,
    tail_terms text, tail_blocks text, tails text, gone_terms text, gone_blocks text
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF gone_terms <> '' THEN
        DELETE FROM memory_posting
        USING unnest(string_to_array(gone_terms, ','), string_to_array(gone_blocks, ',')::integer[])
            AS empty (empty_term, empty_block)
        WHERE namespace_id = of_namespace AND term = empty_term AND block = empty_block;
    END IF;
    IF terms <> '' THEN
        INSERT INTO memory_posting (team_id, namespace_id, term, block, packed)
        SELECT of_team, of_namespace, fresh.term, fresh.block, decode(fresh.packed, 'hex')
        FROM unnest(string_to_array(terms, ','), string_to_array(blocks, ',')::integer[], string_to_array(packs, ','))
            AS fresh (term, block, packed)
        ON CONFLICT (namespace_id, term, block) DO UPDATE SET packed = EXCLUDED.packed;
    END IF;
    IF tail_terms <> '' THEN
        INSERT INTO memory_posting AS known (team_id, namespace_id, term, block, packed)
        SELECT of_team, of_namespace, fresh.term, fresh.block, decode(fresh.packed, 'hex')
        FROM unnest(
            string_to_array(tail_terms, ','), string_to_array(tail_blocks, ',')::integer[], string_to_array(tails, ',')
        ) AS fresh (term, block, packed)
        ON CONFLICT (namespace_id, term, block) DO UPDATE SET packed = known.packed || EXCLUDED.packed;
    END IF;
END $$
"""

# Room, entry, postings and revision of one write. FALSE: there is no room, and nothing is written.
# With room for one more exactly one of two gets it: the count moves by the UPDATE that looks at it.
WRITE = """
CREATE FUNCTION memory_write(
    more integer, wider bigint, most integer, widest bigint, is_new boolean, wanted jsonb, act jsonb,
    terms text, blocks text, packs text, tail_terms text, tail_blocks text, tails text, gone_terms text, gone_blocks text
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    fresh memory_entry := jsonb_populate_record(NULL::memory_entry, wanted);
    said memory_revision := jsonb_populate_record(NULL::memory_revision, act);
BEGIN
    IF more <> 0 OR wider <> 0 THEN
        UPDATE memory_namespace SET entry_count = entry_count + more, byte_count = byte_count + wider
        WHERE id = fresh.namespace_id
          AND (more <= 0 OR most IS NULL OR entry_count <= most - more)
          AND (wider <= 0 OR widest IS NULL OR byte_count <= widest - wider);
        IF NOT FOUND THEN
            RETURN FALSE;
        END IF;
    END IF;
    IF is_new THEN
        INSERT INTO memory_entry VALUES (fresh.*);
    ELSE
        UPDATE memory_entry SET
            value = fresh.value, text = fresh.text, metadata = fresh.metadata, size = fresh.size,
            category = fresh.category, tier = fresh.tier, importance = fresh.importance, revision = fresh.revision,
            number = fresh.number, "group" = fresh."group", position = fresh.position,
            updated_at = fresh.updated_at, expires_at = fresh.expires_at,
            source_actor = fresh.source_actor, source_run = fresh.source_run, source_node = fresh.source_node,
            source_message = fresh.source_message, source_rule = fresh.source_rule
        WHERE id = fresh.id;
    END IF;
    IF terms <> '' OR tail_terms <> '' OR gone_terms <> '' THEN
        PERFORM memory_post(
            fresh.team_id, fresh.namespace_id, terms, blocks, packs,
            tail_terms, tail_blocks, tails, gone_terms, gone_blocks
        );
    END IF;
    INSERT INTO memory_revision (
        id, team_id, entry_id, number, operation, value, metadata, category, tier, importance, position,
        expires_at, actor, reason, run_id, node_id, origin_key, change_id, at
    ) VALUES (
        said.id, fresh.team_id, fresh.id, fresh.revision, said.operation, fresh.value, fresh.metadata, fresh.category,
        fresh.tier, fresh.importance, fresh.position, fresh.expires_at, said.actor, said.reason, said.run_id,
        said.node_id, said.origin_key, said.change_id, said.at
    );
    RETURN TRUE;
END $$
"""

_NAMES = ("memory_at_door", "memory_claim", "memory_standing", "memory_write", "memory_post")


class Migration(migrations.Migration):
    dependencies = [("memory", "0016_newest_of_a_team")]

    operations = [
        migrations.RunSQL(
            [AT_DOOR, STANDING, CLAIM, POST, WRITE], [f"DROP FUNCTION {name}" for name in _NAMES]
        )
    ]
