"""Uploading files, using them in runs, and deleting them, each with its permission."""
