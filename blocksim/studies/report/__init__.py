"""What a study shows: one page, its figures, its tables in words."""
