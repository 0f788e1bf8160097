"""From policy objects to programs, and what their expressions see."""
