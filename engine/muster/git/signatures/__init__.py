"""Signatures of commits in OpenSSH's form, and the certificates that vouch for their keys."""
