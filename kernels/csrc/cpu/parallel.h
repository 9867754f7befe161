// Threads, through the parallel-for of torch's stable C shim, so that torch.set_num_threads holds here, too.
#pragma once

#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace polywheel {

/// Threads worth starting for this many tasks.
inline int64_t worker_count(int64_t tasks) {
  return std::min<int64_t>(tasks, torch::stable::get_num_threads());
}

/// Runs `body(worker, task)` once for every task in [0, tasks). `worker`, in [0, workers), owns its scratch
/// memory; each takes the next task when it is done with one, since sequences differ in length.
template <class Body>
void for_each_task(int64_t tasks, int64_t workers, const Body& body) {
  std::atomic<int64_t> next{0};
  torch::stable::parallel_for(0, workers, 1, [&](int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; ++worker) {
      for (int64_t task = next++; task < tasks; task = next++) {
        body(worker, task);
      }
    }
  });
}

}  // namespace polywheel
