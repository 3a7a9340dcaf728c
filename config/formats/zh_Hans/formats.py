"""Numbers in Chinese, grouped by three digits as Chinese interfaces of developers' tools do; Django groups by four."""

NUMBER_GROUPING = 3
THOUSAND_SEPARATOR = ","
