"""`muster forecast`: what happens next without new input."""
