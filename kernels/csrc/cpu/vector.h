// One SIMD type, as wide as the -march of the build allows, in the vector extensions that GCC and Clang
// share: https://gcc.gnu.org/onlinedocs/gcc/Vector-Extensions.html The same source is SSE2, AVX2+FMA, AVX-512
// or NEON code.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__AVX__)
#include <immintrin.h>
#endif

// Tests set POLYWHEEL_LANES to run the 16-lane path on a CPU that has narrower registers.
#ifndef POLYWHEEL_LANES
#if defined(__AVX512F__)
#define POLYWHEEL_LANES 16
#elif defined(__AVX__)
#define POLYWHEEL_LANES 8
#else
#define POLYWHEEL_LANES 4
#endif
#endif

#define POLYWHEEL_INLINE inline __attribute__((always_inline))
#define POLYWHEEL_NOINLINE __attribute__((noinline))

namespace polywheel {

/// The vector types of N lanes.
template <int N>
struct Lanes {
  typedef float f32 __attribute__((vector_size(N * sizeof(float))));
  typedef uint32_t u32 __attribute__((vector_size(N * sizeof(uint32_t))));
  typedef uint64_t u64 __attribute__((vector_size(N * sizeof(uint64_t))));
  typedef uint16_t u16 __attribute__((vector_size(N * sizeof(uint16_t))));
};

/// float32 lanes of one register.
inline constexpr int kLanes = POLYWHEEL_LANES;
using Vec = Lanes<kLanes>::f32;

POLYWHEEL_INLINE Vec load(const float* from) {
  Vec v;
  std::memcpy(&v, from, sizeof v);
  return v;
}

POLYWHEEL_INLINE void store(float* to, Vec v) { std::memcpy(to, &v, sizeof v); }

/// All lanes x. Subtracting zero keeps every value, -0 too, so compilers make it a plain broadcast.
POLYWHEEL_INLINE Vec splat(float x) { return x - Vec{}; }

/// NaN in a gives b, as in `a > b ? a : b`.
POLYWHEEL_INLINE Vec max(Vec a, Vec b) { return a > b ? a : b; }

namespace detail {

template <int R, int... I>
POLYWHEEL_INLINE Vec repeat(const float* from, std::integer_sequence<int, I...>) {
  typename Lanes<R>::f32 part;
  std::memcpy(&part, from, sizeof part);
  return __builtin_shufflevector(part, part, (I % R)...);
}

template <int... I>
POLYWHEEL_INLINE Vec add_pairs(Vec a, Vec b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (2 * I)...) + __builtin_shufflevector(a, b, (2 * I + 1)...);
}

template <int By, int... I>
POLYWHEEL_INLINE Vec rotate(Vec v, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(v, v, ((I + By) % kLanes)...);
}

}  // namespace detail

using LaneIndices = std::make_integer_sequence<int, kLanes>;

/// The R floats at `from`, repeated over all lanes: lane i holds from[i % R].
template <int R>
POLYWHEEL_INLINE Vec repeat(const float* from) {
  if constexpr (R == 1) {
    return splat(*from);
  } else if constexpr (R == 2 && R < kLanes) {
    // A pair as one 64-bit lane: one broadcast, where a shuffle of floats becomes several instructions.
    using Pairs = Lanes<kLanes / 2>;
    uint64_t pair;
    std::memcpy(&pair, from, sizeof pair);
    const typename Pairs::u64 pairs = pair - typename Pairs::u64{};
    Vec v;
    std::memcpy(&v, &pairs, sizeof v);
    return v;
  } else {
    // GCC 12 makes several instructions of these shuffles, or spills them to the stack.
#if defined(__AVX512F__) && POLYWHEEL_LANES == 16
    if constexpr (R == 4) {
      return static_cast<Vec>(_mm512_maskz_broadcast_f32x4(0xFFFF, _mm_loadu_ps(from)));
    }
#elif defined(__AVX__) && POLYWHEEL_LANES == 8
    if constexpr (R == 4) {
      return static_cast<Vec>(_mm256_broadcast_ps(reinterpret_cast<const __m128*>(from)));
    }
#endif
    return detail::repeat<R>(from, LaneIndices{});
  }
}

/// Sums of neighbouring lanes: first those of a, then those of b.
POLYWHEEL_INLINE Vec add_pairs(Vec a, Vec b) { return detail::add_pairs(a, b, LaneIndices{}); }

/// Lane i of the result is lane (i + By) % kLanes of v.
template <int By>
POLYWHEEL_INLINE Vec rotate(Vec v) {
  return detail::rotate<By>(v, LaneIndices{});
}

/// Combines the lanes that are equal modulo Period with `combine`; every one of them gets the result.
template <int Period, class Combine>
POLYWHEEL_INLINE Vec fold(Vec v, Combine combine) {
  if constexpr (Period < kLanes) {
    return fold<2 * Period>(combine(v, rotate<Period>(v)), combine);
  } else {
    return v;
  }
}

POLYWHEEL_INLINE float sum(Vec v) {
  return fold<1>(v, [](Vec a, Vec b) { return a + b; })[0];
}

/// 2^x within 2 ulp for x <= 0 and up to 127; 0 from -127 down, so for -infinity too; NaN stays NaN.
///
/// 2^x = 2^n * 2^f with n the nearest integer: f is in [-1/2, 1/2], where the minimax polynomial of degree 6
/// with constant term 1 is off by 1.6e-8, a quarter of float32's spacing at 1.
POLYWHEEL_INLINE Vec exp2(Vec x) {
  using Bits = Lanes<kLanes>::u32;
  const Vec least = splat(-127.0f);
  x = x < least ? least : x;
  // Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits of the sum.
  const Vec shift = splat(0x1.8p23f);
  const Vec shifted = x + shift;
  const Vec f = x - (shifted - shift);
  Bits scale;
  std::memcpy(&scale, &shifted, sizeof scale);
  scale = (scale << 23) + 0x3F800000u;  // n = -127 gives the bits of 0
  Vec power;
  std::memcpy(&power, &scale, sizeof power);
  Vec p = splat(0x1.41fbbcp-13f);
  p = p * f + 0x1.5f3e54p-10f;
  p = p * f + 0x1.3b2d4cp-7f;
  p = p * f + 0x1.c6aee8p-5f;
  p = p * f + 0x1.ebfbdcp-3f;
  p = p * f + 0x1.62e430p-1f;
  p = p * f + 1.0f;
  return p * power;
}

}  // namespace polywheel
