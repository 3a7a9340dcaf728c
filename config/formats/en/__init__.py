"""Formats for US English."""
