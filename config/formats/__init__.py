"""The formats of dates and times where Django's own are not those of the product's wording."""
