"""What is set in the Python interpreter itself."""
