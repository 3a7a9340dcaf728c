-- The column of vectors, which exists where the server has pgvector (memory/embedding/vector_column.py).

-- name: create_extension
-- Who may not create extensions leaves it to the operator, and a server without it has none to create. Managed servers
-- refuse in ways of their own: no migration fails for any of these reasons.
DO $$ BEGIN
  IF to_regtype('halfvec') IS NULL
     AND EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') THEN
    CREATE EXTENSION IF NOT EXISTS vector;
  END IF;
EXCEPTION WHEN OTHERS THEN RAISE WARNING 'pgvector: %', SQLERRM;
END $$

-- name: add_column
-- The vector is kept in the row where it fits: fifty thousand look-ups elsewhere would be most of a query's time.
DO $$ BEGIN
  IF to_regtype('halfvec') IS NOT NULL AND to_regclass('memory_embedding') IS NOT NULL
     AND NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'memory_embedding'::regclass
                     AND attname = 'vector' AND NOT attisdropped) THEN
    ALTER TABLE memory_embedding ADD COLUMN vector halfvec;
    ALTER TABLE memory_embedding ALTER COLUMN vector SET STORAGE MAIN;
  END IF;
END $$

-- name: could_exist
SELECT to_regtype('halfvec') IS NOT NULL
    OR EXISTS (SELECT FROM pg_available_extensions
               WHERE name = 'vector' AND installed_version IS NULL
                 AND string_to_array(substring(default_version from '^[0-9]+[.][0-9]+'), '.')::int[] >= '{0,7}')

-- name: exists
-- The type may lie in a schema that this connection does not look into: then it cannot use the column either.
SELECT to_regtype('halfvec') IS NOT NULL
   AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('memory_embedding')
               AND attname = 'vector' AND NOT attisdropped)
