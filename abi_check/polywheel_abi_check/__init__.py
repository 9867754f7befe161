"""What a binary needs, read from its bytes: libraries, symbols, versions."""
