"""Files in workflows: the rules of fields for files, and the ports that read, store and extract contents."""
