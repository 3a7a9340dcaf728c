"""Live updates for several people on one draft: revisions, presence, comments and runs."""
