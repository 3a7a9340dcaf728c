"""The search over everything that a person may see: the rows of the team, pages, settings and actions."""
