"""What makes the site besides Sphinx: the reference, pages of errors, formulas, and checks of what was built."""
