// y = x / sqrt(mean(x^2) + eps) * weight over the last dimension (Zhang and Sennrich, arXiv:1910.07467).
#include <torch/csrc/stable/library.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor.h"

namespace polywheel {
namespace {

/// The least work worth a thread: about 10 us of one core.
constexpr int64_t kElementsPerThread = 16 * 1024;

/// The rows of a tensor over its last dimension, in row-major order of the others.
class Rows {
 public:
  explicit Rows(const Tensor& x) : sizes_(x.sizes().begin(), x.sizes().end() - 1) {
    const auto strides = x.strides();
    strides_.assign(strides.begin(), strides.end() - 1);
    step = strides[strides.size() - 1];
    length = x.size(x.dim() - 1);
    count = 1;
    for (const int64_t size : sizes_) {
      count *= size;
    }
  }

  /// Where row `index` begins, in elements.
  int64_t offset(int64_t index) const {
    int64_t sum = 0;
    for (size_t d = sizes_.size(); d-- > 0; index /= sizes_[d]) {
      sum += index % sizes_[d] * strides_[d];
    }
    return sum;
  }

  int64_t count;
  int64_t length;
  int64_t step;

 private:
  std::vector<int64_t> sizes_;
  std::vector<int64_t> strides_;
};

template <class T>
struct Row {
  const T* data;
  int64_t step;

  POLYWHEEL_INLINE Vec at(int64_t i) const {
    return step == 1 ? load(data + i) : gather(data + i * step, step, kLanes);
  }
  POLYWHEEL_INLINE Vec at(int64_t i, int64_t count) const { return gather(data + i * step, step, count); }
};

template <class T>
float sum_of_squares(Row<T> x, int64_t length) {
  Vec sums[4] = {};  // four chains of additions hide each one's latency
  int64_t i = 0;
  for (; i + 4 * kLanes <= length; i += 4 * kLanes) {
    for (int chain = 0; chain < 4; ++chain) {
      const Vec v = x.at(i + chain * kLanes);
      sums[chain] += v * v;
    }
  }
  for (; i < length; i += kLanes) {
    const Vec v = x.at(i, length - i);
    sums[0] += v * v;
  }
  return sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

template <class T>
void norm_row(Row<T> x, Row<T> weight, int64_t length, float eps, T* out) {
  const Vec factor = splat(1.0f / std::sqrt(sum_of_squares(x, length) / static_cast<float>(length) + eps));
  int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
    store(out + i, x.at(i) * factor * weight.at(i));
  }
  if (i < length) {
    store(out + i, x.at(i, length - i) * factor * weight.at(i, length - i), length - i);
  }
}

template <class T>
void norm_rows(const Tensor& x, const Tensor& weight, float eps, const Tensor& out) {
  const Rows rows(x);
  const T* data = static_cast<const T*>(x.const_data_ptr());
  const Row<T> factors{static_cast<const T*>(weight.const_data_ptr()), weight.stride(0)};
  T* to = static_cast<T*>(out.mutable_data_ptr());
  const int64_t grain = std::max<int64_t>(1, kElementsPerThread / std::max<int64_t>(1, rows.length));
  torch::stable::parallel_for(0, rows.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      norm_row(Row<T>{data + rows.offset(r), rows.step}, factors, rows.length, eps, to + r * rows.length);
    }
  });
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  STD_TORCH_CHECK(x.dim() >= 1, "rms_norm: x has no dimension to normalise over");
  check_dim(weight, 1, "rms_norm: weight", "[D], D being x's last size");
  check_on_cpu(x, "rms_norm: x");
  check_on_cpu(weight, "rms_norm: weight");
  const int64_t length = x.size(x.dim() - 1);
  STD_TORCH_CHECK(weight.size(0) == length, "rms_norm: weight has ", weight.size(0),
                  " elements, wanted x's last size, ", length);
  const Tensor out = empty({x.sizes().begin(), x.sizes().end()}, x.scalar_type());
  with_element_type(x.scalar_type(), "rms_norm: x", [&](auto element) {
    check_same_dtype(weight, x.scalar_type(), "rms_norm: weight", "x");
    if (x.numel() > 0) {
      norm_rows<decltype(element)>(x, weight, static_cast<float>(eps), out);
    }
  });
  return out;
}

}  // namespace
}  // namespace polywheel

STABLE_TORCH_LIBRARY_IMPL(polywheel_kernels, CPU, library) {
  library.impl("rms_norm", TORCH_BOX(&polywheel::rms_norm));
}
