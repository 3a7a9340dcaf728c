"""Documents as pages: their text is divided by headings into pieces, and each piece becomes a page. Plain Python."""
