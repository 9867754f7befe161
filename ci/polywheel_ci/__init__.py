"""matrix.yaml to the release pipelines of continuous integration."""
