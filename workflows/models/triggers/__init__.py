"""What starts workflows by itself."""
