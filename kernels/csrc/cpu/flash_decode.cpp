// One query token a sequence against its KV cache, for grouped query heads.
//
// The cache is cut into partitions that run in parallel. Each keeps its own running maximum, sum and weighted
// values (online softmax, arXiv:1805.02867); a log-sum-exp reduction joins them. See "Flash-Decoding for
// long-context inference", https://pytorch.org/blog/flash-decoding/
#include <torch/csrc/stable/library.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "decode_tile.h"
#include "parallel.h"
#include "scratch.h"
#include "tensor.h"

namespace polywheel {
namespace {

/// Keys of one task. Fixed, so that results do not depend on the number of threads.
constexpr int64_t kPartitionKeys = 4 * kBlockKeys;

/// Query heads that one pass over a block of keys serves.
constexpr int kMostHeads = kLanes > 8 ? kLanes : 8;

constexpr double kLog2E = 1.4426950408889634;

int64_t round_up(int64_t length, int64_t multiple) { return pieces(length, multiple) * multiple; }

/// One [batch, head, row, depth] argument; q's rows are its heads' single tokens.
struct Operand {
  const void* data;
  int64_t batch;
  int64_t head;
  int64_t row;
  int64_t step;

  template <class T>
  const T* at(int64_t b, int64_t h, int64_t r) const {
    return static_cast<const T*>(data) + b * batch + h * head + r * row;
  }
};

/// The sizes and places of one call.
struct Problem {
  Operand q;
  Operand k;
  Operand v;
  int64_t batches;
  int64_t kv_heads;
  int64_t group;
  int64_t depth;
  int64_t value_depth;
  float factor;
  std::vector<int64_t> lengths;
  /// Partitions of the longest sequence: a cache's unused room costs no memory.
  int64_t partitions;

  int64_t q_heads() const { return kv_heads * group; }
  /// Floats of one partition's result for one query head: its values, their maximum score and their total.
  int64_t partial_floats() const { return value_depth + 2; }
};

/// Presents `keys` rows of a cache as float32 rows of at least kLanes: as they lie where they are such, else
/// copied to `scratch`.
template <class T>
FloatRows float_rows(const T* from, int64_t stride, int64_t step, int64_t depth, int keys, float* scratch) {
  if constexpr (std::is_same_v<T, float>) {
    if (step == 1 && depth >= kLanes) {
      return {from, stride};
    }
  }
  const int64_t width = round_up(depth, kLanes);
  for (int k = 0; k < keys; ++k) {
    widen_row(from + k * stride, step, depth, scratch + k * width);
  }
  return {scratch, width};
}

/// The depth that float_rows' rows have: their own, or padded with zeros where they are copies.
template <class T>
int64_t row_depth(int64_t step, int64_t depth) {
  return std::is_same_v<T, float> && step == 1 && depth >= kLanes ? depth : round_up(depth, kLanes);
}

/// The passes over one key-value head's query heads, kHeads in each, and the memory they work in.
template <class T, class Group>
class Decoder {
 public:
  explicit Decoder(const Problem& problem)
      : problem_(problem),
        passes_(pieces(problem.group, Group::kHeads)),
        depth_(row_depth<T>(problem.k.step, problem.depth)),
        value_depth_(row_depth<T>(problem.v.step, problem.value_depth)),
        query_(claim(Group::query_floats(depth_))),
        scores_(claim(kBlockKeys * Group::kHeads + kLanes)),
        maximum_(claim(kHeadLanes)),
        total_(claim(kHeadLanes)),
        rescale_(claim(kHeadLanes)),
        sums_(claim(Group::kHeads * round_up(value_depth_, kLanes))),
        pass_floats_(claimed_) {
    claimed_ = passes_ * pass_floats_;
    rows_ = claim(kBlockKeys * round_up(std::max(problem.depth, problem.value_depth), kLanes));
    query_row_ = claim(round_up(problem.depth, kLanes));
  }

  /// Floats that `run` needs as scratch memory.
  int64_t scratch_floats() const { return claimed_; }

  /// Partition `partition` of sequence `b`, key-value head `h`: one partial result for each query head,
  /// `partial_stride` floats apart.
  void run(int64_t b, int64_t h, int64_t partition, float* scratch, float* partial,
           int64_t partial_stride) const {
    start(b, h, scratch);
    const int64_t begin = partition * kPartitionKeys;
    const int64_t end = std::min(begin + kPartitionKeys, problem_.lengths[b]);
    for (int64_t key = begin; key < end; key += kBlockKeys) {
      block(b, h, key, static_cast<int>(std::min<int64_t>(kBlockKeys, end - key)), scratch);
    }
    finish(scratch, partial, partial_stride);
  }

 private:
  static constexpr int64_t kHeadLanes = Group::kHeads > kLanes ? Group::kHeads : kLanes;

  int64_t claim(int64_t floats) {
    const int64_t at = claimed_;
    claimed_ += round_up(floats, 16);  // a cache line
    return at;
  }

  void start(int64_t b, int64_t h, float* scratch) const {
    std::fill_n(scratch, passes_ * pass_floats_, 0.0f);
    float* row = scratch + query_row_;
    std::fill_n(row, depth_, 0.0f);
    for (int64_t pass = 0; pass < passes_; ++pass) {
      float* own = scratch + pass * pass_floats_;
      std::fill_n(own + maximum_, kHeadLanes, -std::numeric_limits<float>::infinity());
      const int64_t first = pass * Group::kHeads;
      const int heads = static_cast<int>(std::min<int64_t>(Group::kHeads, problem_.group - first));
      for (int head = 0; head < heads; ++head) {
        widen_row(problem_.q.at<T>(b, h * problem_.group + first + head, 0), problem_.q.step, problem_.depth,
                  row);
        Group::arrange_query(row, depth_, problem_.factor, head, own + query_);
      }
    }
  }

  void block(int64_t b, int64_t h, int64_t key, int keys, float* scratch) const {
    const Operand& k = problem_.k;
    const Operand& v = problem_.v;
    const T* key_data = k.at<T>(b, h, key);
    const T* value_data = v.at<T>(b, h, key);
    const FloatRows key_rows = float_rows(key_data, k.row, k.step, problem_.depth, keys, scratch + rows_);
    for (int64_t pass = 0; pass < passes_; ++pass) {
      const AheadRows ahead =
          pass == 0 ? ahead_rows(value_data, v, problem_.value_depth) : AheadRows{nullptr, 0, 0};
      float* own = scratch + pass * pass_floats_;
      Group::score(own + query_, key_rows, depth_, keys, ahead, own + scores_);
      Group::soften(own + scores_, keys, own + maximum_, own + total_, own + rescale_);
    }
    const bool last = key + keys >= problem_.lengths[b];
    const FloatRows value_rows =
        float_rows(value_data, v.row, v.step, problem_.value_depth, keys, scratch + rows_);
    for (int64_t pass = 0; pass < passes_; ++pass) {
      const AheadRows ahead = pass == 0 && !last ? ahead_rows(key_data + keys * k.row, k, problem_.depth)
                                                 : AheadRows{nullptr, 0, 0};
      float* own = scratch + pass * pass_floats_;
      Group::weigh(own + scores_, own + rescale_, value_rows, value_depth_, keys, ahead, own + sums_);
    }
  }

  static AheadRows ahead_rows(const T* from, const Operand& operand, int64_t depth) {
    const int64_t bytes = operand.step == 1 ? depth * static_cast<int64_t>(sizeof(T)) : 0;
    return {reinterpret_cast<const char*>(from), operand.row * static_cast<int64_t>(sizeof(T)), bytes};
  }

  void finish(const float* scratch, float* partial, int64_t partial_stride) const {
    for (int64_t head = 0; head < problem_.group; ++head, partial += partial_stride) {
      const int64_t lane = head % Group::kHeads;
      const float* own = scratch + head / Group::kHeads * pass_floats_;
      const float* sums = own + sums_ + lane * round_up(value_depth_, kLanes);
      for (int64_t d = 0; d < problem_.value_depth; d += kLanes) {
        const int64_t count = std::min<int64_t>(kLanes, problem_.value_depth - d);
        const int64_t offset = piece_offset(d / kLanes, kLanes, value_depth_);
        std::copy_n(sums + d + (d - offset), count, partial + d);
      }
      float total = 0;
      for (int64_t i = lane; i < kHeadLanes; i += Group::kHeads) {
        total += own[total_ + i];
      }
      partial[problem_.value_depth] = own[maximum_ + lane];
      partial[problem_.value_depth + 1] = total;
    }
  }

  const Problem& problem_;
  int64_t claimed_ = 0;
  int64_t passes_;
  int64_t depth_;
  int64_t value_depth_;
  // Places in a pass's memory, in floats.
  int64_t query_;
  int64_t scores_;
  int64_t maximum_;
  int64_t total_;
  int64_t rescale_;
  int64_t sums_;
  int64_t pass_floats_;
  // Places after all passes' memory.
  int64_t rows_;
  int64_t query_row_;
};

/// Joins one query head's partial results: weights 2^(maximum - greatest maximum), and zeros for no keys.
void reduce(const float* partial, int64_t count, int64_t value_depth, float* out) {
  std::fill_n(out, value_depth, 0.0f);
  const int64_t stride = value_depth + 2;
  float top = -std::numeric_limits<float>::infinity();
  for (int64_t p = 0; p < count; ++p) {
    top = std::max(top, partial[p * stride + value_depth]);
  }
  const float base = std::isinf(top) && top < 0 ? 0.0f : top;
  float total = 0;
  for (int64_t p = 0; p < count; ++p) {
    const float* one = partial + p * stride;
    const float weight = exp2(splat(one[value_depth] - base))[0];
    total += weight * one[value_depth + 1];
    for (int64_t d = 0; d < value_depth; ++d) {
      out[d] += weight * one[d];
    }
  }
  if (total != 0) {
    const float inverse = 1.0f / total;
    for (int64_t d = 0; d < value_depth; ++d) {
      out[d] *= inverse;
    }
  }
}

template <class T>
void reduce_all(const Problem& problem, const float* partials, T* out) {
  const int64_t heads = problem.q_heads();
  const int64_t tasks = problem.batches * heads;
  const int64_t workers = worker_count(tasks);
  const int64_t row_floats = round_up(problem.value_depth, 16);
  const Scratch rows(workers * row_floats);
  for_each_task(tasks, workers, [&](int64_t worker, int64_t task) {
    float* row = rows.data() + worker * row_floats;
    const int64_t count = pieces(problem.lengths[task / heads], kPartitionKeys);
    reduce(partials + task * problem.partitions * problem.partial_floats(), count, problem.value_depth, row);
    narrow_row(row, problem.value_depth, out + task * problem.value_depth);
  });
}

template <class T, class Group>
void decode(const Problem& problem, T* out) {
  const Decoder<T, Group> decoder(problem);
  // One task for each partition that holds keys.
  struct Task {
    int64_t batch;
    int64_t head;
    int64_t partition;
  };
  std::vector<Task> tasks;
  for (int64_t b = 0; b < problem.batches; ++b) {
    for (int64_t h = 0; h < problem.kv_heads; ++h) {
      for (int64_t p = 0; p < pieces(problem.lengths[b], kPartitionKeys); ++p) {
        tasks.push_back({b, h, p});
      }
    }
  }
  const int64_t partial_stride = problem.partitions * problem.partial_floats();
  const int64_t workers = worker_count(static_cast<int64_t>(tasks.size()));
  const Scratch partials(problem.batches * problem.q_heads() * partial_stride);
  const Scratch scratch(workers * decoder.scratch_floats());
  for_each_task(static_cast<int64_t>(tasks.size()), workers, [&](int64_t worker, int64_t index) {
    const Task& task = tasks[index];
    const int64_t head = task.batch * problem.q_heads() + task.head * problem.group;
    float* own = scratch.data() + worker * decoder.scratch_floats();
    float* to = partials.data() + head * partial_stride + task.partition * problem.partial_floats();
    decoder.run(task.batch, task.head, task.partition, own, to, partial_stride);
  });
  reduce_all(problem, partials.data(), out);
}

/// Calls `decode` with the smallest group of heads that holds the problem's, or the greatest.
template <class T, int Heads = 1>
void decode_group(const Problem& problem, T* out) {
  if constexpr (Heads < kMostHeads) {
    if (problem.group > Heads) {
      return decode_group<T, 2 * Heads>(problem, out);
    }
  }
  if constexpr (Heads == 1) {
    decode<T, HeadGroup<kLanes, 1>>(problem, out);
  } else {
    decode<T, HeadGroup<2 * kLanes / Heads, 2>>(problem, out);
  }
}

std::vector<int64_t> sequence_lengths(const std::optional<Tensor>& seq_lens, int64_t batches, int64_t keys) {
  if (!seq_lens) {
    return std::vector<int64_t>(batches, keys);
  }
  const ScalarType dtype = seq_lens->scalar_type();
  STD_TORCH_CHECK(dtype == ScalarType::Int || dtype == ScalarType::Long, "flash_decode: seq_lens has dtype ",
                  torch::headeronly::toString(dtype), ", wanted Int or Long");
  check_dim(*seq_lens, 1, "flash_decode: seq_lens", "[B]");
  check_on_cpu(*seq_lens, "flash_decode: seq_lens");
  STD_TORCH_CHECK(seq_lens->size(0) == batches, "flash_decode: seq_lens has ", seq_lens->size(0),
                  " elements, wanted q's B, ", batches);
  const void* data = seq_lens->const_data_ptr();
  const int64_t stride = seq_lens->stride(0);
  std::vector<int64_t> lengths(batches);
  for (int64_t b = 0; b < batches; ++b) {
    lengths[b] = dtype == ScalarType::Int ? static_cast<const int32_t*>(data)[b * stride]
                                          : static_cast<const int64_t*>(data)[b * stride];
    STD_TORCH_CHECK(lengths[b] >= 0 && lengths[b] <= keys, "flash_decode: seq_lens[", b, "] is ", lengths[b],
                    ", wanted 0 to k's S, ", keys);
  }
  return lengths;
}

void check_cache(const Tensor& cache, const Tensor& q, const char* what, const char* shape) {
  check_dim(cache, 4, what, shape);
  check_same_dtype(cache, q.scalar_type(), what, "q");
  check_on_cpu(cache, what);
  STD_TORCH_CHECK(cache.size(0) == q.size(0), what, " has B = ", cache.size(0), ", wanted q's, ", q.size(0));
}

void check_shapes(const Tensor& q, const Tensor& k, const Tensor& v) {
  check_dim(q, 3, "flash_decode: q", "[B, Hq, D]");
  check_on_cpu(q, "flash_decode: q");
  check_cache(k, q, "flash_decode: k", "[B, Hkv, S, D]");
  check_cache(v, q, "flash_decode: v", "[B, Hkv, S, Dv]");
  STD_TORCH_CHECK(q.size(2) > 0, "flash_decode: q has D = 0, wanted 1 or more");
  STD_TORCH_CHECK(k.size(3) == q.size(2), "flash_decode: k has D = ", k.size(3), ", wanted q's, ", q.size(2));
  STD_TORCH_CHECK(v.size(1) == k.size(1), "flash_decode: v has Hkv = ", v.size(1), ", wanted k's, ",
                  k.size(1));
  STD_TORCH_CHECK(v.size(2) == k.size(2), "flash_decode: v has S = ", v.size(2), ", wanted k's, ", k.size(2));
  STD_TORCH_CHECK(k.size(1) > 0 ? q.size(1) % k.size(1) == 0 : q.size(1) == 0,
                  "flash_decode: q has Hq = ", q.size(1), ", wanted a multiple of k's Hkv, ", k.size(1));
}

Operand cache_operand(const Tensor& cache) {
  return {cache.const_data_ptr(), cache.stride(0), cache.stride(1), cache.stride(2), cache.stride(3)};
}

Tensor flash_decode(const Tensor& q, const Tensor& k, const Tensor& v, std::optional<double> scale,
                    const std::optional<Tensor>& seq_lens) {
  check_shapes(q, k, v);
  const int64_t kv_heads = k.size(1);
  const int64_t keys = k.size(2);
  const std::vector<int64_t> lengths = sequence_lengths(seq_lens, q.size(0), keys);
  const int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  const double factor = scale.value_or(1.0 / std::sqrt(static_cast<double>(q.size(2))));
  const Problem problem{
      {q.const_data_ptr(), q.stride(0), q.stride(1), 0, q.stride(2)},
      cache_operand(k),
      cache_operand(v),
      q.size(0),
      kv_heads,
      kv_heads > 0 ? q.size(1) / kv_heads : 0,
      q.size(2),
      v.size(3),
      static_cast<float>(factor * kLog2E),  // weights are powers of 2
      lengths,
      pieces(longest, kPartitionKeys),
  };
  const Tensor out = empty({q.size(0), q.size(1), v.size(3)}, q.scalar_type());
  with_element_type(q.scalar_type(), "flash_decode: q", [&](auto element) {
    if (out.numel() > 0) {
      decode_group(problem, static_cast<decltype(element)*>(out.mutable_data_ptr()));
    }
  });
  return out;
}

}  // namespace
}  // namespace polywheel

STABLE_TORCH_LIBRARY_IMPL(polywheel_kernels, CPU, library) {
  library.impl("flash_decode", TORCH_BOX(&polywheel::flash_decode));
}
