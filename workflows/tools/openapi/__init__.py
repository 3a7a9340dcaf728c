"""OpenAPI documents as tools: reads a document, lists its operations, and calls one."""
