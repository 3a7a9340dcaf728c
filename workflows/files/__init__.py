"""The file store: the rows of files, their contents, their types by content, limits, links and removal."""
