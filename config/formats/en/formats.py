"""Dates and times as US interfaces write them: Nov 26, 2026, 8:24 PM."""

DATE_FORMAT = "M j, Y"
TIME_FORMAT = "g:i A"
DATETIME_FORMAT = "M j, Y, g:i A"
SHORT_DATETIME_FORMAT = "m/d/Y g:i A"
