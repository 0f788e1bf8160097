"""Keys, requests for certificates, certificates and signatures, as bytes: all that knows `cryptography`."""
