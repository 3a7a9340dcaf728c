"""What several people on one draft hear of each other: its revisions, who is here, comments, runs."""
