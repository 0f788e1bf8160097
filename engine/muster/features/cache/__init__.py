"""`muster cache`: the state kept between runs."""
