"""Pages of accounts. A view reads the request, makes one domain call, and renders."""
