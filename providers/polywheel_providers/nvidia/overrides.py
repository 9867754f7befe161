"""The reference provider's override variables for the `nvidia` namespace, as released uv honours them."""

FORCE_CUDA = "NV_VARIANT_PROVIDER_FORCE_CUDA_DRIVER_VERSION"
"""`12.8`: the CUDA version to take the driver's for."""
FORCE_SM = "NV_VARIANT_PROVIDER_FORCE_SM_ARCH"
"""`9.0`: the compute capability to take the GPUs' for."""
