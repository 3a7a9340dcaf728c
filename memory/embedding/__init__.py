"""Finding by meaning: who turns texts into vectors, and whether this database can keep them."""
