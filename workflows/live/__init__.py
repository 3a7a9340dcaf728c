"""Live news for several people on one draft: its revisions, who is here, comments, runs."""
