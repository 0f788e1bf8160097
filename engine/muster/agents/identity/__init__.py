"""Keys, certificate requests and the authority that signs them."""
