// The inner loops of flash_decode: a block of keys and values against the query heads that share them.
//
// Scores. A vector's lanes hold query heads, and R neighbouring depths of each where the heads alone would
// not fill it: lane h * R + j is head h at depth d + j. One load repeats R floats of a key over all lanes,
// so a key is read once for all heads and scores need no sum over a whole register. They come out as a plain
// array [key][head], which softmax walks in full vectors whatever the number of heads.
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

/// Heads in one group: kLanes / R where R depths of each share a vector, else V vectors of heads.
template <int R, int V>
struct HeadGroup {
  static_assert(R == 1 || V == 1);
  static constexpr int kHeads = V * kLanes / R;
  /// Keys whose sums fit in the registers beside the query and one repeated key.
  static constexpr int kTileKeys = 8 / V;

  /// Floats of a query of this depth as `arrange_query` writes it.
  static int64_t query_floats(int64_t depth) { return pieces(depth, R) * V * kLanes; }

  /// Writes head `head` of the query, `depth` floats times `factor`, into `arranged` (zeroed before).
  static void arrange_query(const float* query, int64_t depth, float factor, int head, float* arranged) {
    for (int64_t piece = 0; piece < pieces(depth, R); ++piece) {
      const int64_t offset = piece_offset(piece, R, depth);
      float* to = arranged + piece * V * kLanes + head * R;
      for (int j = 0; j < R; ++j) {
        to[j] = offset + j < piece * R ? 0.0f : query[offset + j] * factor;
      }
    }
  }

  /// scores[key][head] of `keys` keys; whole tiles are written, so up to kTileKeys - 1 more keys and the
  /// vector they end in. Rows after the last stand in for by the last.
  POLYWHEEL_NOINLINE static void score(const float* query, FloatRows rows, int64_t depth, int keys, AheadRows ahead, float* scores) {
    for (int first = 0; first < keys; first += kTileKeys) {
      const float* row[kTileKeys];
      for (int k = 0; k < kTileKeys; ++k) {
        row[k] = rows.data + (first + k < keys ? first + k : keys - 1) * rows.stride;
      }
      score_tile(query, row, depth, {ahead.data + first * ahead.stride, ahead.stride, ahead.bytes}, scores + first * kHeads);
    }
  }

  /// Turns scores into weights 2^(score - maximum), raises `maximum`, and adds the weights to `total`, all
  /// per head in kLanes * V lanes (lanes equal modulo kHeads hold parts of one total, the same maximum).
  /// Writes the factor that older sums are to be scaled by, per head.
  POLYWHEEL_NOINLINE static void soften(float* scores, int keys, float* maximum, float* total, float* rescale) {
    const int count = static_cast<int>(pieces(keys * kHeads, V * kLanes));
    for (int i = keys * kHeads; i < count * V * kLanes; ++i) {
      scores[i] = -std::numeric_limits<float>::infinity();
    }
    for (int v = 0; v < V; ++v) {
      const Vec old = load(maximum + v * kLanes);
      Vec top = old;
      for (int i = 0; i < count; ++i) {
        top = max(load(scores + (i * V + v) * kLanes), top);
      }
      if constexpr (V == 1) {
        top = fold<kHeads>(top, [](Vec a, Vec b) { return max(a, b); });
      }
      store(maximum + v * kLanes, top);
      // Scores that are all -infinity weigh nothing; -infinity minus itself would be NaN.
      const Vec base = top == splat(-std::numeric_limits<float>::infinity()) ? Vec{} : top;
      Vec sum{};
      for (int i = 0; i < count; ++i) {
        float* at = scores + (i * V + v) * kLanes;
        const Vec weight = exp2(load(at) - base);
        store(at, weight);
        sum += weight;
      }
      const Vec factor = exp2(old - base);
      store(rescale + v * kLanes, factor);
      store(total + v * kLanes, load(total + v * kLanes) * factor + sum);
    }
  }

  /// sums[head][piece] = sums * rescale[head] + weights[key][head] * values[key], over pieces of kLanes.
  POLYWHEEL_NOINLINE static void weigh(const float* weights, const float* rescale, FloatRows rows, int64_t depth, int keys, AheadRows ahead,
                    float* sums) {
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
  POLYWHEEL_INLINE static void add_products(const float* query, const float* const (&row)[kTileKeys], int64_t offset,
                                            Vec (&sums)[kTileKeys][V]) {
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
  POLYWHEEL_NOINLINE static void score_tile(const float* query, const float* const (&row)[kTileKeys], int64_t depth, AheadRows ahead,
                         float* scores) {
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
    if constexpr (R == 1) {
#pragma GCC unroll 8
      for (int k = 0; k < kTileKeys; ++k) {
        for (int v = 0; v < V; ++v) {
          store(scores + (k * V + v) * kLanes, sums[k][v]);
        }
      }
    } else {
      add_depths<R, kTileKeys>(sums, scores);
    }
  }

  /// Adds up the R depths of each head; N vectors are left.
  template <int Depths, int N>
  POLYWHEEL_INLINE static void add_depths(Vec (*sums)[V], float* scores) {
    if constexpr (Depths == 1) {
#pragma GCC unroll 8
      for (int i = 0; i < N; ++i) {
        store(scores + i * kLanes, sums[i][0]);
      }
    } else if constexpr (N == 1) {
      sums[0][0] = add_pairs(sums[0][0], sums[0][0]);
      add_depths<Depths / 2, 1>(sums, scores);
    } else {
#pragma GCC unroll 8
      for (int i = 0; i < N / 2; ++i) {
        sums[i][0] = add_pairs(sums[2 * i][0], sums[2 * i + 1][0]);
      }
      add_depths<Depths / 2, N / 2>(sums, scores);
    }
  }

  template <int H, int P>
  static void weigh_heads(const float* weights, const float* rescale, FloatRows rows, int64_t depth, int keys,
                          AheadRows ahead, int64_t piece, float* sums) {
    const bool fetch = piece * kPieceBytes < ahead.bytes;
    weigh_tile<H, P>(weights, rescale, rows, depth, keys, fetch ? ahead : AheadRows{nullptr, 0, 0}, piece, sums);
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
