"""`muster test`: runs PolicyTests."""
