"""One script for each peer, which runs in a virtual environment of its own and prints its measurements as JSON."""
