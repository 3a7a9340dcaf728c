"""The tools of a team behind one port: built-in ones, its workflows, OpenAPI operations, MCP servers and plug-ins."""
