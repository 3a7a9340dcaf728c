"""The settings of a tool node: which tool it calls, and with which arguments."""
