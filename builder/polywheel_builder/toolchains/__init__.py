"""The compilers polywheel drives, one module each, behind the `protocol.Toolchain` protocol."""
