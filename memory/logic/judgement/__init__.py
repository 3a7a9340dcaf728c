"""Judge what a person says: what of it to remember, to replace, to end, or to forget."""
