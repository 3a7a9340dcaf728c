"""One script a peer; each runs in an environment of its own and prints what it measured."""
