"""Pages of tools: the list, the forms that connect an API or a server, one connection, and a try of one tool."""
