"""The report on an imported document: what it wants that this installation or team lacks."""
