"""One source tree, many wheels; every machine gets the one that fits it."""
