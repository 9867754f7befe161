// The inner loops of flash_decode: a block of keys and values against the query heads that share them.
//
// Scores. A vector's lanes hold query heads, and R neighbouring depths of each: lane h * R + j is head h at
// depth d + j. One load repeats R floats of a key over all lanes and serves V vectors of heads, so a key is
// read once for all heads, and no sum goes over a whole register. Scores come out as a plain array
// [key][head], which softmax walks in full vectors whatever the number of heads.
//
// Values. Lanes hold depths; a tile of heads x vectors stays in registers over the whole block of keys.
#pragma once

#include <cstdint>
#include <limits>

#include "vector.h"

namespace polywheel {

/// Keys that are scored and weighed at once: large enough to spread the cost of rescaling the sums, small
/// enough that the block stays in the inner caches between its uses.
inline constexpr int kBlockKeys = 64;

/// Rows of float32, `stride` floats apart. Each is at least kLanes long.
struct FloatRows {
  const float* data;
  int64_t stride;
};

/// Rows of memory that the next step reads, `stride` bytes apart. While one step computes it prefetches these
/// line by line: memory and arithmetic overlap, and no burst of requests stalls either. A prefetch past the
/// rows' end does no harm, it never faults.
struct AheadRows {
  const char* data;
  int64_t stride;
  int64_t bytes;

  static constexpr int64_t kLine = 64;

  POLYWHEEL_INLINE void prefetch(int64_t row, int64_t offset) const {
    __builtin_prefetch(data + row * stride + offset);
  }

  /// The line at `offset` of the first `rows` rows.
  POLYWHEEL_INLINE void prefetch_column(int rows, int64_t offset) const {
    if (offset < bytes) {
      const char* line = data + offset;
      for (int row = 0; row < rows; ++row, line += stride) {
        __builtin_prefetch(line);
      }
    }
  }
};

/// Where the `index`th piece of `width` floats begins in a row of `length`. The last piece is moved left to
/// end with the row, over floats that the piece before it holds, too.
POLYWHEEL_INLINE int64_t piece_offset(int64_t index, int64_t width, int64_t length) {
  const int64_t offset = index * width;
  return offset + width <= length ? offset : length - width;
}

POLYWHEEL_INLINE int64_t pieces(int64_t length, int64_t width) { return (length + width - 1) / width; }

/// The heads that V vectors hold, R depths of each side by side.
template <int R, int V>
struct HeadGroup {
  static constexpr int kHeads = V * kLanes / R;
  /// Keys whose sums fit in the registers beside the query and one repeated key; AVX-512 has 32 registers.
  static constexpr int kTileKeys = kLanes == 16 ? 8 : 8 / V;
  /// Vectors that one key's scores fill; fewer heads than lanes share one vector with other keys' scores.
  static constexpr int kScoreVectors = kHeads > kLanes ? kHeads / kLanes : 1;

  /// Floats of a query of this depth as `arrange_query` writes it.
  static int64_t query_floats(int64_t depth) { return pieces(depth, R) * V * kLanes; }

  /// Writes head `head` of the query, `depth` floats times `factor`, into `arranged` (zeroed before).
  static void arrange_query(const float* query, int64_t depth, float factor, int head, float* arranged) {
    for (int64_t piece = 0; piece < pieces(depth, R); ++piece) {
      const int64_t offset = piece_offset(piece, R, depth);
      float* to = arranged + (piece * kHeads + head) * R;
      for (int j = 0; j < R; ++j) {
        to[j] = offset + j < piece * R ? 0.0f : query[offset + j] * factor;
      }
    }
  }

  /// scores[key][head] of `keys` keys; whole tiles are written, so up to kTileKeys - 1 more keys and the
  /// vector they end in. Rows after the last stand in for by the last.
  POLYWHEEL_NOINLINE static void score(const float* query, FloatRows rows, int64_t depth, int keys,
                                       AheadRows ahead, float* scores) {
    for (int first = 0; first < keys; first += kTileKeys) {
      const float* row[kTileKeys];
      for (int k = 0; k < kTileKeys; ++k) {
        row[k] = rows.data + (first + k < keys ? first + k : keys - 1) * rows.stride;
      }
      score_tile(query, row, depth, {ahead.data + first * ahead.stride, ahead.stride, ahead.bytes},
                 scores + first * kHeads);
    }
  }

  /// Turns scores into weights 2^(score - maximum), raises `maximum`, and adds the weights to `total`, all
  /// per head in kScoreVectors vectors: lanes equal modulo kHeads hold the same maximum, and parts of one
  /// total. Writes the factor that older sums are to be scaled by, per head.
  POLYWHEEL_NOINLINE static void soften(float* scores, int keys, float* maximum, float* total,
                                        float* rescale) {
    constexpr int kStep = kScoreVectors * kLanes;
    const int end = static_cast<int>(pieces(keys * kHeads, kStep)) * kStep;
    for (int i = keys * kHeads; i < end; ++i) {
      scores[i] = -std::numeric_limits<float>::infinity();
    }
    for (int lane = 0; lane < kStep; lane += kLanes) {
      const Vec old = load(maximum + lane);
      Vec top = old;
      for (int i = lane; i < end; i += kStep) {
        top = max(load(scores + i), top);
      }
      top = fold<kHeads>(top, [](Vec a, Vec b) { return max(a, b); });
      store(maximum + lane, top);
      // Scores that are all -infinity weigh nothing; -infinity minus itself would be NaN.
      const Vec base = top == splat(-std::numeric_limits<float>::infinity()) ? Vec{} : top;
      Vec sum{};
      for (int i = lane; i < end; i += kStep) {
        const Vec weight = exp2(load(scores + i) - base);
        store(scores + i, weight);
        sum += weight;
      }
      const Vec factor = exp2(old - base);
      store(rescale + lane, factor);
      store(total + lane, load(total + lane) * factor + sum);
    }
  }

  /// sums[head][piece] = sums * rescale[head] + weights[key][head] * values[key], over pieces of kLanes.
  POLYWHEEL_NOINLINE static void weigh(const float* weights, const float* rescale, FloatRows rows,
                                       int64_t depth, int keys, AheadRows ahead, float* sums) {
    // Tiles of 8 sums (16 where there are 32 registers): several vectors a head spare repeated weights.
    constexpr int kTileHeads = kLanes == 16 ? (kHeads < 8 ? kHeads : 8) : (kHeads < 4 ? kHeads : 4);
    constexpr int kTilePieces = kLanes == 16 ? 16 / kTileHeads : 8 / kTileHeads;
    const int64_t count = pieces(depth, kLanes);
    int64_t piece = 0;
    for (; piece + kTilePieces <= count; piece += kTilePieces) {
      weigh_heads<kTileHeads, kTilePieces>(weights, rescale, rows, depth, keys, ahead, piece, sums);
    }
    for (; piece < count; ++piece) {
      weigh_heads<kTileHeads, 1>(weights, rescale, rows, depth, keys, ahead, piece, sums);
    }
  }

 private:
  static constexpr int64_t kPieceBytes = kLanes * sizeof(float);

  /// Adds the products of R depths from `offset` on, one vector or V of the arranged query.
  POLYWHEEL_INLINE static void add_products(const float* query, const float* const (&row)[kTileKeys],
                                            int64_t offset, Vec (&sums)[kTileKeys][V]) {
    Vec heads[V];
#pragma GCC unroll 2
    for (int v = 0; v < V; ++v) {
      heads[v] = load(query + v * kLanes);
    }
#pragma GCC unroll 8
    for (int k = 0; k < kTileKeys; ++k) {
      const Vec key = repeat<R>(row[k] + offset);
#pragma GCC unroll 2
      for (int v = 0; v < V; ++v) {
        sums[k][v] += key * heads[v];
      }
    }
  }

  // Not inlined: its row pointers fill the general registers.
  POLYWHEEL_NOINLINE static void score_tile(const float* query, const float* const (&row)[kTileKeys],
                                            int64_t depth, AheadRows ahead, float* scores) {
    constexpr int64_t kLineFloats = AheadRows::kLine / sizeof(float);
    Vec sums[kTileKeys][V] = {};
    int64_t d = 0;
    while (d + R <= depth) {
      ahead.prefetch_column(kTileKeys, d * static_cast<int64_t>(sizeof(float)));
      const int64_t end = d + kLineFloats <= depth ? d + kLineFloats : depth - R + 1;
      for (; d < end; d += R) {
        add_products(query + d * kHeads, row, d, sums);
      }
    }
    if (d < depth) {
      add_products(query + d * kHeads, row, depth - R, sums);
    }
    add_depths<R, kTileKeys * V>(&sums[0][0], scores);
  }

  /// Adds up the R depths of each head and stores the N / R vectors that this leaves.
  template <int Depths, int N>
  POLYWHEEL_INLINE static void add_depths(Vec* sums, float* scores) {
    if constexpr (Depths == 1) {
#pragma GCC unroll 16
      for (int i = 0; i < N; ++i) {
        store(scores + i * kLanes, sums[i]);
      }
    } else if constexpr (N == 1) {
      sums[0] = add_pairs(sums[0], sums[0]);
      add_depths<Depths / 2, 1>(sums, scores);
    } else {
#pragma GCC unroll 8
      for (int i = 0; i < N / 2; ++i) {
        sums[i] = add_pairs(sums[2 * i], sums[2 * i + 1]);
      }
      add_depths<Depths / 2, N / 2>(sums, scores);
    }
  }

  template <int H, int P>
  static void weigh_heads(const float* weights, const float* rescale, FloatRows rows, int64_t depth, int keys,
                          AheadRows ahead, int64_t piece, float* sums) {
    const bool fetch = piece * kPieceBytes < ahead.bytes;
    weigh_tile<H, P>(weights, rescale, rows, depth, keys, fetch ? ahead : AheadRows{nullptr, 0, 0}, piece,
                     sums);
    for (int head = H; head < kHeads; head += H) {
      float* own = sums + head * pieces(depth, kLanes) * kLanes;
      weigh_tile<H, P>(weights + head, rescale + head, rows, depth, keys, {nullptr, 0, 0}, piece, own);
    }
  }

  template <int H, int P>
  static void weigh_tile(const float* weights, const float* rescale, FloatRows rows, int64_t depth, int keys,
                         AheadRows ahead, int64_t piece, float* sums) {
    const int64_t head_floats = pieces(depth, kLanes) * kLanes;
    float* first = sums + piece * kLanes;
    Vec tile[H][P];
    const float* value[P];
    for (int p = 0; p < P; ++p) {
      value[p] = rows.data + piece_offset(piece + p, kLanes, depth);
      for (int h = 0; h < H; ++h) {
        tile[h][p] = load(first + h * head_floats + p * kLanes) * splat(rescale[h]);
      }
    }
    for (int k = 0; k < keys; ++k) {
      if (ahead.bytes > 0) {
#pragma GCC unroll 16
        for (int64_t line = 0; line < P * kPieceBytes; line += AheadRows::kLine) {
          ahead.prefetch(k, piece * kPieceBytes + line);
        }
      }
      Vec row[P];
#pragma GCC unroll 16
      for (int p = 0; p < P; ++p) {
        row[p] = load(value[p] + k * rows.stride);
      }
#pragma GCC unroll 8
      for (int h = 0; h < H; ++h) {
        const Vec weight = splat(weights[k * kHeads + h]);
#pragma GCC unroll 16
        for (int p = 0; p < P; ++p) {
          tile[h][p] += weight * row[p];
        }
      }
    }
    for (int h = 0; h < H; ++h) {
      for (int p = 0; p < P; ++p) {
        store(first + h * head_floats + p * kLanes, tile[h][p]);
      }
    }
  }
};

}  // namespace polywheel
