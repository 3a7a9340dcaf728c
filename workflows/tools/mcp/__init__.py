"""MCP servers as tools: opens a session over HTTP or with a process, lists the tools of a server, and calls one."""
