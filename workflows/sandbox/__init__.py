"""The runner pool: processes without credentials that run templates and code.

This module stays empty: the child imports the package too and should load as little as possible.
"""
