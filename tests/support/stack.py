"""The live stack."""
