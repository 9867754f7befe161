// Checks of the kernels' inner parts, compiled for one number of lanes: no torch, so every width runs on
// every CPU.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <vector>

#include "decode_tile.h"
#include "element.h"

namespace {

using namespace polywheel;

int failures = 0;

void expect(bool holds, const char* what, double found, double wanted) {
  if (!holds) {
    ++failures;
    std::printf("lanes %d: %s: found %.9g, wanted %.9g\n", kLanes, what, found, wanted);
  }
}

float random_float() { return static_cast<float>(std::rand()) / static_cast<float>(RAND_MAX) * 2 - 1; }

void check_exp2() {
  for (float x = -126.0f; x <= 20.0f; x += 0.00731f) {
    const double wanted = std::exp2(static_cast<double>(x));
    const double found = exp2(splat(x))[kLanes - 1];
    expect(std::abs(found - wanted) <= wanted * 2 * 0x1p-24 * 2, "exp2", found, wanted);
  }
  const float infinity = std::numeric_limits<float>::infinity();
  expect(exp2(splat(-infinity))[0] == 0, "exp2(-infinity)", exp2(splat(-infinity))[0], 0);
  expect(exp2(splat(-127.0f))[0] == 0, "exp2(-127)", exp2(splat(-127.0f))[0], 0);
  expect(exp2(splat(0.0f))[0] == 1, "exp2(0)", exp2(splat(0.0f))[0], 1);
  expect(std::isnan(exp2(splat(std::nanf("")))[0]), "exp2(NaN)", exp2(splat(std::nanf("")))[0], NAN);
}

template <int R>
void check_repeat() {
  float from[kLanes];
  for (float& x : from) {
    x = random_float();
  }
  const Vec found = repeat<R>(from);
  for (int i = 0; i < kLanes; ++i) {
    expect(found[i] == from[i % R], "repeat", found[i], from[i % R]);
  }
  if constexpr (R < kLanes) {
    check_repeat<2 * R>();
  }
}

/// What the bits of a binary16 mean.
double half_value(int bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                           : exponent == 31 ? (fraction ? NAN : INFINITY)
                                            : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

template <class T>
void check_round_trip() {
  for (int first = 0; first < 1 << 16; first += kLanes) {
    T from[kLanes];
    T back[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      from[i].bits = static_cast<uint16_t>(first + i);
    }
    const Vec wide = load(from);
    store(back, wide);
    for (int i = 0; i < kLanes; ++i) {
      if (std::isnan(wide[i])) {
        expect(std::isnan(load(back)[i]), "NaN's way back", load(back)[i], NAN);
      } else {
        expect(back[i].bits == from[i].bits, "way back", back[i].bits, from[i].bits);
      }
      if constexpr (std::is_same_v<T, Float16>) {
        const double wanted = half_value(first + i);
        expect(wide[i] == wanted || (std::isnan(wide[i]) && std::isnan(wanted)), "binary16", wide[i], wanted);
      }
    }
  }
}

/// Neighbours' mean is a tie, and goes to the even one; a hair to either side does not.
template <class T>
void check_rounding(int infinity) {
  for (int bits = 0; bits + 1 < infinity; ++bits) {
    T near[kLanes] = {};
    near[0].bits = static_cast<uint16_t>(bits);
    near[1].bits = static_cast<uint16_t>(bits + 1);
    const float low = load(near)[0];
    const float middle = low + (load(near)[1] - low) / 2;
    const float values[3] = {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, INFINITY)};
    const int wanted[3] = {bits, bits + (bits & 1), bits + 1};
    for (int i = 0; i < 3; ++i) {
      T to[kLanes];
      store(to, splat(-values[i]));
      expect(to[0].bits == (wanted[i] | 0x8000), "rounding", to[0].bits, wanted[i] | 0x8000);
    }
  }
  T to[kLanes];
  store(to, splat(3.4e38f));
  expect(to[0].bits == infinity, "overflow", to[0].bits, infinity);
}

template <class Group>
void check_group(int64_t depth, int keys) {
  constexpr int H = Group::kHeads;
  const int64_t stride = depth + 3;
  const int64_t columns = pieces(depth, kLanes) * kLanes;
  std::vector<float> rows(static_cast<size_t>(keys * stride));
  std::vector<float> query(static_cast<size_t>(H * depth));
  for (float& x : rows) x = random_float();
  for (float& x : query) x = random_float();
  std::vector<float> arranged(static_cast<size_t>(Group::query_floats(depth)));
  for (int h = 0; h < H; ++h) {
    Group::arrange_query(query.data() + h * depth, depth, 3.0f, h, arranged.data());
  }
  const FloatRows view{rows.data(), stride};
  const AheadRows ahead{reinterpret_cast<const char*>(rows.data()), 4 * stride, 4 * depth};
  std::vector<float> weights(kBlockKeys * H + kLanes);
  Group::score(arranged.data(), view, depth, keys, ahead, weights.data());
  std::vector<double> scores(static_cast<size_t>(keys * H));
  for (int k = 0; k < keys; ++k) {
    for (int h = 0; h < H; ++h) {
      double wanted = 0;
      for (int64_t d = 0; d < depth; ++d) wanted += 3.0 * query[h * depth + d] * rows[k * stride + d];
      expect(std::abs(weights[k * H + h] - wanted) < 1e-4, "score", weights[k * H + h], wanted);
      scores[k * H + h] = wanted;
    }
  }
  constexpr int kHeadLanes = H > kLanes ? H : kLanes;
  std::vector<float> maximum(kHeadLanes, 0.25f), total(kHeadLanes, 0.0f), rescale(kHeadLanes, 0.0f);
  for (int h = 0; h < H; ++h) total[h] = 2;
  Group::soften(weights.data(), keys, maximum.data(), total.data(), rescale.data());
  std::vector<float> sums(static_cast<size_t>(H * columns), 1.0f);
  Group::weigh(weights.data(), rescale.data(), view, depth, keys, ahead, sums.data());
  for (int h = 0; h < H; ++h) {
    double top = 0.25;
    for (int k = 0; k < keys; ++k) top = std::max(top, scores[k * H + h]);
    double wanted = 2 * std::exp2(0.25 - top);
    double found = 0;
    for (int k = 0; k < keys; ++k) wanted += std::exp2(scores[k * H + h] - top);
    for (int lane = h; lane < kHeadLanes; lane += H) {
      expect(std::abs(maximum[lane] - top) < 1e-4, "maximum", maximum[lane], top);
      found += total[lane];
    }
    expect(std::abs(found - wanted) < 1e-4 * wanted, "total", found, wanted);
    for (int64_t d = 0; d < depth; ++d) {
      double sum = std::exp2(0.25 - top);
      for (int k = 0; k < keys; ++k) sum += std::exp2(scores[k * H + h] - top) * rows[k * stride + d];
      const int64_t piece = d / kLanes;
      const int64_t at = piece * kLanes + d - piece_offset(piece, kLanes, depth);
      expect(std::abs(sums[h * columns + at] - sum) < 1e-3, "sum", sums[h * columns + at], sum);
    }
  }
}

template <class Group>
void check_group() {
  for (const int64_t depth : {kLanes, kLanes + 1, 2 * kLanes - 1, 40, 67, 80, 128}) {
    if (depth >= kLanes) {
      for (const int keys : {1, 3, 8, 13, 63, 64}) {
        check_group<Group>(depth, keys);
      }
    }
  }
}

template <int R>
void check_groups() {
  check_group<HeadGroup<R, 2>>();
  if constexpr (R < kLanes) {
    check_groups<2 * R>();
  }
}

}  // namespace

int main() {
  check_exp2();
  check_repeat<1>();
  check_round_trip<BFloat16>();
  check_round_trip<Float16>();
  check_rounding<BFloat16>(0x7F80);
  check_rounding<Float16>(0x7C00);
  check_group<HeadGroup<kLanes, 1>>();
  check_groups<1>();
  if (failures == 0) {
    std::printf("all right with %d lanes\n", kLanes);
  }
  return failures == 0 ? 0 : 1;
}
