"""Data sets: their cases, imports and exports, and evaluations with them."""
