"""Tests of works and their sets."""
