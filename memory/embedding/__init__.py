"""Search by meaning: the embedders that turn strings into vectors, and the database column that stores them."""
