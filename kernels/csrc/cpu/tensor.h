// What every operator asks of its tensors, in the terms of torch's stable C++ interface alone.
#pragma once

#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>
#include <torch/headeronly/util/Exception.h>

#include <cstdint>
#include <vector>

#include "element.h"

namespace polywheel {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

/// Calls `body` with a value of the element type of `dtype`: float, BFloat16 or Float16.
/// Throws for any other dtype; `what` opens the message ("rms_norm: x").
template <class Body>
void with_element_type(ScalarType dtype, const char* what, Body body) {
  switch (dtype) {
    case ScalarType::Float:
      return body(float{});
    case ScalarType::BFloat16:
      return body(BFloat16{});
    case ScalarType::Half:
      return body(Float16{});
    default:
      STD_TORCH_CHECK(false, what, " has dtype ", torch::headeronly::toString(dtype),
                      ", wanted Float, BFloat16 or Half");
  }
}

inline void check_dim(const Tensor& tensor, int64_t dim, const char* what, const char* shape) {
  STD_TORCH_CHECK(tensor.dim() == dim, what, " has ", tensor.dim(), " dimensions, wanted ", dim, ": ", shape);
}

inline void check_same_dtype(const Tensor& tensor, ScalarType dtype, const char* what, const char* other) {
  STD_TORCH_CHECK(tensor.scalar_type() == dtype, what, " has dtype ",
                  torch::headeronly::toString(tensor.scalar_type()), ", wanted that of ", other, ", ",
                  torch::headeronly::toString(dtype));
}

/// The dispatcher picks the CPU kernel by one CPU argument; the others are checked here.
inline void check_on_cpu(const Tensor& tensor, const char* what) {
  STD_TORCH_CHECK(tensor.is_cpu(), what, " is not a CPU tensor, as the other arguments are");
}

/// A contiguous CPU tensor with unset contents. The C shim spares torch::stable::empty's way through the
/// dispatcher, which costs more than a small operator.
inline Tensor empty(const std::vector<int64_t>& sizes, ScalarType dtype) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t d = sizes.size(); d-- > 0; stride *= sizes[d] > 0 ? sizes[d] : 1) {
    strides[d] = stride;
  }
  AtenTensorHandle handle;
  TORCH_ERROR_CODE_CHECK(
      aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(),
                               torch::stable::detail::to<int32_t>(torch::stable::detail::from(dtype)),
                               aoti_torch_device_type_cpu(), 0, &handle));
  return Tensor(handle);
}

}  // namespace polywheel
