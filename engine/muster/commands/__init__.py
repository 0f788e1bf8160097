"""One module per verb; `cli` joins them."""
