// Working memory of one operator call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace polywheel {

/// Floats with unset contents, the first at the beginning of a cache line.
class Scratch {
 public:
  explicit Scratch(int64_t floats) : memory_(new float[static_cast<size_t>(floats) + kLine]) {
    void* first = memory_.get();
    size_t bytes = (static_cast<size_t>(floats) + kLine) * sizeof(float);
    data_ = static_cast<float*>(
        std::align(kLine * sizeof(float), static_cast<size_t>(floats) * sizeof(float), first, bytes));
  }

  float* data() const { return data_; }

 private:
  static constexpr size_t kLine = 16;

  std::unique_ptr<float[]> memory_;
  float* data_;
};

}  // namespace polywheel
