"""The pages of usage."""
