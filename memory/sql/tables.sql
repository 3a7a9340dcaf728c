-- What models cannot say about the tables of memory.

-- The last limit, for a write that got past every policy. Policies count compact JSON, this counts PostgreSQL's spacing.
ALTER TABLE memory_entry ADD CONSTRAINT memory_entry_size CHECK (octet_length(value::text) <= 4194304);

-- Rows are rewritten in place, a little longer each time; the room lets them stay on their page.
ALTER TABLE memory_posting SET (fillfactor = 80);
