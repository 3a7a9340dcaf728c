"""Public pages: who may open them, the visitors, and what a visitor may do."""
