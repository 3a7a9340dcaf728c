"""The nodes at which a run begins that no person and no API client starts."""
