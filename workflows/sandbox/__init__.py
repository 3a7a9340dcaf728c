"""The runner pool: processes without credentials in which templates and code run.

Kept empty: the child imports this package too, and should load as little as possible.
"""
