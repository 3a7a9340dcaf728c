"""Tools that call services on the web: one table of services, and one of the plain HTTP calls that the tools are."""
