"""The MCP server: published workflows and memory as tools, and knowledge pages as resources, for MCP clients.

Each request is answered by itself, so that any web process can answer it and nothing is lost by a restart. The protocol is
that of the official package ``mcp``; this one says what there is, and asks for permission in each call.
"""
