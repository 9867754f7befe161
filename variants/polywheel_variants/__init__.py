"""The variant wheel itself: names, properties, metadata, ordering and archives (PEP 825, PEP 850)."""
