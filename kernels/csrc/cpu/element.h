// The element types that the operators take, and their way to and from float32 lanes.
#pragma once

#include <cstdint>
#include <cstring>

#include "vector.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace polywheel {

/// bfloat16: the upper half of a float32.
struct BFloat16 {
  uint16_t bits;
};

/// IEEE 754 binary16.
struct Float16 {
  uint16_t bits;
};

namespace detail {

template <class To, class From>
POLYWHEEL_INLINE To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

template <int N>
POLYWHEEL_INLINE typename Lanes<N>::f32 widen(BFloat16, typename Lanes<N>::u16 half) {
  return bit_cast<typename Lanes<N>::f32>(__builtin_convertvector(half, typename Lanes<N>::u32) << 16);
}

/// Rounds to nearest, ties to even.
template <int N>
POLYWHEEL_INLINE typename Lanes<N>::u16 narrow(BFloat16, typename Lanes<N>::f32 value) {
  using Bits = typename Lanes<N>::u32;
  const Bits bits = bit_cast<Bits>(value);
  const Bits rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const Bits quiet = (bits >> 16) | 0x40u;  // rounding could carry a NaN into infinity
  return __builtin_convertvector((bits & 0x7FFFFFFFu) > 0x7F800000u ? quiet : rounded,
                                 typename Lanes<N>::u16);
}

template <int N>
POLYWHEEL_INLINE typename Lanes<N>::f32 widen(Float16, typename Lanes<N>::u16 half) {
  using Float = typename Lanes<N>::f32;
  using Bits = typename Lanes<N>::u32;
#if defined(__F16C__)
  if constexpr (N == 8) {
    return bit_cast<Float>(_mm256_cvtph_ps(bit_cast<__m128i>(half)));
  }
#endif
#if defined(__AVX512F__)
  if constexpr (N == 16) {
    // Not _mm512_cvtph_ps, whose undefined operand GCC warns of:
    // https://gcc.gnu.org/bugzilla/show_bug.cgi?id=105593
    return bit_cast<Float>(_mm512_maskz_cvtph_ps(0xFFFF, bit_cast<__m256i>(half)));
  }
#endif
  const Bits bits = __builtin_convertvector(half, Bits);
  const Bits magnitude = (bits & 0x7FFFu) << 13;
  // Read as float32 the exponent is 112 too small; a multiplication mends it, for subnormal numbers too.
  const Float scaled = bit_cast<Float>(magnitude) * 0x1p112f;
  const Bits finite = bit_cast<Bits>(scaled);
  const Bits special = magnitude | 0x7F800000u;
  return bit_cast<Float>(((bits & 0x8000u) << 16) | (magnitude >= 0x0F800000u ? special : finite));
}

/// Rounds to nearest, ties to even; above 65504 to infinity.
template <int N>
POLYWHEEL_INLINE typename Lanes<N>::u16 narrow(Float16, typename Lanes<N>::f32 value) {
  using Float = typename Lanes<N>::f32;
  using Bits = typename Lanes<N>::u32;
  const Bits bits = bit_cast<Bits>(value);
  const Bits magnitude = bits & 0x7FFFFFFFu;
  const Bits normal = (magnitude - (112u << 23) + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13;
  // Below 2^-14 the sum with 1/2 has binary16's subnormal spacing: the addition rounds.
  const Bits subnormal = bit_cast<Bits>(bit_cast<Float>(magnitude) + 0.5f) - 0x3F000000u;
  Bits half = magnitude < 0x38800000u ? subnormal : normal;
  half = magnitude >= 0x477FF000u ? Bits{} + 0x7C00u : half;
  half = magnitude > 0x7F800000u ? Bits{} + 0x7E00u : half;
  return __builtin_convertvector(half | ((bits >> 16) & 0x8000u), typename Lanes<N>::u16);
}

}  // namespace detail

/// kLanes neighbouring elements as float32.
template <class T>
POLYWHEEL_INLINE Vec load(const T* from) {
  typename Lanes<kLanes>::u16 half;
  std::memcpy(&half, from, sizeof half);
  return detail::widen<kLanes>(T{}, half);
}

template <class T>
POLYWHEEL_INLINE void store(T* to, Vec value) {
  const auto half = detail::narrow<kLanes>(T{}, value);
  std::memcpy(to, &half, sizeof half);
}

/// `count` elements that lie `stride` elements apart, fewer than kLanes allowed; the other lanes are 0.
template <class T>
POLYWHEEL_INLINE Vec gather(const T* from, int64_t stride, int64_t count) {
  T near[kLanes] = {};
  for (int64_t i = 0; i < count && i < kLanes; ++i) {
    near[i] = from[i * stride];
  }
  return load(near);
}

/// The first `count` lanes.
template <class T>
POLYWHEEL_INLINE void store(T* to, Vec value, int64_t count) {
  T near[kLanes];
  store(near, value);
  std::memcpy(to, near, static_cast<size_t>(count) * sizeof(T));
}

/// Writes `length` elements of a row as float32, zeros up to the next multiple of kLanes.
template <class T>
void widen_row(const T* from, int64_t stride, int64_t length, float* to) {
  int64_t i = 0;
  if (stride == 1) {
    for (; i + kLanes <= length; i += kLanes) {
      store(to + i, load(from + i));
    }
  }
  for (; i < length; i += kLanes) {
    store(to + i, gather(from + i * stride, stride, length - i));
  }
}

/// Writes `length` float32 values as elements side by side.
template <class T>
void narrow_row(const float* from, int64_t length, T* to) {
  int64_t i = 0;
  for (; i + kLanes <= length; i += kLanes) {
    store(to + i, load(from + i));
  }
  if (i < length) {
    Vec rest{};
    std::memcpy(&rest, from + i, static_cast<size_t>(length - i) * sizeof(float));
    store(to + i, rest, length - i);
  }
}

}  // namespace polywheel
