// The operators' schemas. Each kernel file registers itself for its device.
#include <torch/csrc/stable/library.h>

STABLE_TORCH_LIBRARY(polywheel_kernels, library) {
  library.def("rms_norm(Tensor x, Tensor weight, float eps=1e-6) -> Tensor");
  library.def(
      "flash_decode(Tensor q, Tensor k, Tensor v, *, float? scale=None, Tensor? seq_lens=None) -> Tensor");
}
