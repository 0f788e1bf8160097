"""`muster cel`: one expression, evaluated and explained."""
