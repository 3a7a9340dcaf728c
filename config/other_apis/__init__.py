"""The APIs that the clients of other projects speak, each with its own addresses and its own shape of errors."""
