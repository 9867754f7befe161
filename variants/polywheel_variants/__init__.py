"""The variant wheel itself: names, properties, metadata, ordering and archives (PEP 825, PEP 850).

Start with `wheel_name.WheelName`, `metadata.VariantMetadata` and `ordering.order`.
"""
