// saxpy over torch's stable ABI: no ATen, no c10, no Python.h.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/util/Exception.h>

#include <cstdint>

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

static Tensor saxpy(const Tensor& x, const Tensor& y, double a) {
  STD_TORCH_CHECK(
      x.scalar_type() == ScalarType::Float && y.scalar_type() == ScalarType::Float,
      "saxpy: x and y must be float32");
  STD_TORCH_CHECK(x.numel() == y.numel(), "saxpy: x and y differ in size");
  STD_TORCH_CHECK(
      x.is_contiguous() && y.is_contiguous(), "saxpy: x and y must be contiguous");
  Tensor out = torch::stable::empty_like(x);
  const auto* from = static_cast<const float*>(x.data_ptr());
  const auto* add = static_cast<const float*>(y.data_ptr());
  auto* to = static_cast<float*>(out.data_ptr());
  const auto factor = static_cast<float>(a);
  // The compiler vectorises this loop for the CPU level of the variant.
  for (int64_t i = 0; i < x.numel(); ++i) {
    to[i] = factor * from[i] + add[i];
  }
  return out;
}

STABLE_TORCH_LIBRARY(saxpy, library) {
  library.def("saxpy(Tensor x, Tensor y, float a) -> Tensor");
}
STABLE_TORCH_LIBRARY_IMPL(saxpy, CPU, library) {
  library.impl("saxpy", TORCH_BOX(&saxpy));
}
