"""The built-in tools, and the tool port that runs them in this process."""
