"""Wheels to and from a simple index (PEP 503, PEP 691)."""
