"""The configuration of the process and everything that all apps share."""
