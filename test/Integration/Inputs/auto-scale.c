/*===----------------------------------------------------------------------===*\
 *
 * Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
\*===----------------------------------------------------------------------===*/

/* Drives the compiled program of auto-scale.py through 100,000 optimizer steps
 * with adversarial gradients. The optimizers are written here, in FP32, as a
 * framework has them. After each step it checks that no weight exceeds its
 * predicted scale times 448, and that the bound is the closed form. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 12, ROWS = 32, COLS = 8, SIZE = ROWS * COLS, STEPS = 100000 };
enum Kind { SGD, MOMENTUM, ADAM };

/* What auto-scale.py says about each layer. */
static const struct Spec {
  enum Kind kind;
  double beta1, beta2, decay, momentum;
  int isBF16, isPaper;
  int interval;
} specs[COUNT] = {
    {SGD, 0, 0, 0, 0, 0, 0, 500},
    {SGD, 0, 0, 1024, 0, 0, 0, 500},
    {MOMENTUM, 0, 0, 0.01, 0.9, 0, 0, 500},
    {ADAM, 0.9, 0.999, 0, 0, 0, 0, 500},
    {ADAM, 0.9, 0.95, 0.1, 0, 0, 0, 500},
    {ADAM, 0.9, 0.999, 1024, 0, 0, 0, 500},
    {ADAM, 0.95, 0.9, 0, 0, 0, 0, 500},
    {ADAM, 0.9, 0.81, 0, 0, 0, 0, 500},
    {ADAM, 0.9, 0.999, 0, 0, 0, 1, 500},
    {ADAM, 0.9, 0.999, 0.1, 0, 1, 0, 500},
    {ADAM, 0.9, 0.999, 0, 0, 0, 0, 1000000},
    {ADAM, 0, 0.999, 0, 0, 0, 0, 500},
};

struct Ref1 { void *allocated, *aligned; int64_t offset, size, stride; };
struct Ref2 { void *allocated, *aligned; int64_t offset, sizes[2], strides[2]; };

#define LAYER(i)                                                               \
  void _mlir_ciface_layer##i(struct Ref2 *, struct Ref2 *, struct Ref2 *,      \
                             int64_t, struct Ref1 *);
LAYER(0) LAYER(1) LAYER(2) LAYER(3) LAYER(4) LAYER(5)
LAYER(6) LAYER(7) LAYER(8) LAYER(9) LAYER(10) LAYER(11)
#define NAME(i) _mlir_ciface_layer##i
static void (*const layers[COUNT])(struct Ref2 *, struct Ref2 *, struct Ref2 *,
                                   int64_t, struct Ref1 *) = {
    NAME(0), NAME(1), NAME(2), NAME(3), NAME(4),  NAME(5),
    NAME(6), NAME(7), NAME(8), NAME(9), NAME(10), NAME(11)};
void _mlir_ciface_moss_init_scales(struct Ref1 *, struct Ref2 *);
void _mlir_ciface_moss_update_scales(double, int64_t, struct Ref1 *,
                                     struct Ref1 *, struct Ref2 *);
void _mlir_ciface_layer3_reset_scales(struct Ref2 *, struct Ref1 *);

static float w[COUNT][SIZE], m[COUNT][SIZE], v[COUNT][SIZE];
static uint16_t bits[SIZE], x[8 * 32];
static float y[8 * 8], scales[COUNT], amax[COUNT];
static double state[COUNT][3];
static int rowOf[COUNT];

static struct Ref1 ref1(void *data) {
  struct Ref1 ref = {data, data, 0, COUNT, 1};
  return ref;
}
static struct Ref2 ref2(void *data, int64_t rows, int64_t cols) {
  struct Ref2 ref = {data, data, 0, {rows, cols}, {cols, 1}};
  return ref;
}

static uint16_t toBF16(float value) {
  uint32_t word;
  memcpy(&word, &value, 4);
  return (word + 0x7fff + ((word >> 16) & 1)) >> 16;
}
static float fromBF16(uint16_t value) {
  uint32_t word = (uint32_t)value << 16;
  float result;
  memcpy(&result, &word, 4);
  return result;
}

static uint64_t seed = 1;
static double uniform(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(seed >> 11) / 9007199254740992.0;
}

static double learningRate(int t) {
  double peak = 0x1p-10, warmup = 2000;
  if (t <= warmup)
    return (float)(peak * t / warmup);
  double angle = 3.141592653589793 * (t - warmup) / (STEPS - warmup);
  return (float)(peak * 0.5 * (1 + cos(angle)) * (t % 7 ? 1 : 0.25));
}

/* The step after a reset at which element e's ramp or spike peaks. */
static int peakOf(int e) { return 500 * (1 + (e * 37) % 199) + 1; }

/* The magnitude of a gradient; it always pushes the weight outward. */
static float gradient(const struct Spec *spec, int e, int t) {
  int peak = peakOf(e);
  double growth = spec->kind == ADAM && spec->beta1 > 0
                      ? spec->beta1 / spec->beta2
                      : 0.9;
  switch (e % 8) {
  case 0: /* the ramp that attains c_t */
    return t > peak || t + 900 < peak ? 0 : (float)(1e-6 * pow(growth, peak - t));
  case 1: /* a spike after silence, and none after */
    return t == peak ? 100 : 0;
  case 2: /* sign flips */
    return t & 1 ? 1 : -1;
  case 3:
    return 1;
  case 4:
    return (float)(exp(8 * uniform() - 8) * (uniform() - 0.5));
  case 5:
    return 0;
  case 6: /* bursts after growing silences */
    return (t & (t - 1)) == 0 ? 50 : 0;
  default: /* one ramp after the other, from almost nothing */
    return t % 2000 < 300 ? (float)(1e-12 * pow(1.1, t % 2000)) : 0;
  }
}

/* Returns the largest |mhat / (sqrt(vhat) + eps)|. */
static float optimizerStep(int i, double rate, int t) {
  float largest = 0;
  const struct Spec *spec = &specs[i];
  float lr = (float)rate, decay = (float)spec->decay;
  float b1 = (float)spec->beta1, b2 = (float)spec->beta2;
  float c1 = (float)(1 - pow(spec->beta1, t)), c2 = (float)(1 - pow(spec->beta2, t));
  amax[rowOf[i]] = 0;
  for (int e = 0; e < SIZE; ++e) {
    float old = w[i][e];
    float gr = gradient(spec, e, t) * (old > 0 ? -1.0f : 1.0f);
    amax[rowOf[i]] = fmaxf(amax[rowOf[i]], fabsf(gr));
    if (spec->kind == SGD) {
      w[i][e] = old - lr * (gr + decay * old);
      continue;
    }
    if (spec->kind == MOMENTUM) {
      m[i][e] = (float)spec->momentum * m[i][e] + (gr + decay * old);
      w[i][e] = old - lr * m[i][e];
      continue;
    }
    m[i][e] = b1 * m[i][e] + (1 - b1) * gr;
    v[i][e] = b2 * v[i][e] + (1 - b2) * gr * gr;
    float update = (m[i][e] / c1) / (sqrtf(v[i][e] / c2) + 1e-8f);
    largest = fmaxf(largest, fabsf(update));
    float kept = old * (1 - lr * decay);
    w[i][e] = kept - lr * update;
    if (spec->isBF16)
      w[i][e] = fromBF16(toBF16(w[i][e]));
  }
  return largest;
}

/* Run layer i on its weight, after t steps. */
static void forward(int i, int t) {
  void *data = w[i];
  if (specs[i].isBF16) {
    for (int e = 0; e < SIZE; ++e)
      bits[e] = toBF16(w[i][e]);
    data = bits;
  }
  struct Ref2 a = ref2(x, 8, 32), b = ref2(data, ROWS, COLS), c = ref2(y, 8, 8);
  struct Ref1 s = ref1(scales);
  layers[i](&a, &b, &c, t, &s);
  for (int e = 0; e < 64; ++e)
    if (!isfinite(y[e])) {
      printf("layer %d is not finite after step %d\n", i, t);
      exit(1);
    }
}

static float magnitude(int i) {
  float max = 0;
  for (int e = 0; e < SIZE; ++e)
    max = fmaxf(max, fabsf(fromBF16(toBF16(w[i][e]))));
  return max;
}

/* c_t, with S_t as a sum instead of the compiler's closed form. */
struct Closed {
  long double power1, power2, sum, ratioPower;
};
static long double closedStep(struct Closed *c, const struct Spec *spec) {
  long double b1 = spec->beta1, b2 = spec->beta2;
  c->power1 *= b1;
  c->power2 *= b2;
  c->sum += c->ratioPower;
  c->ratioPower *= b1 * b1 / b2 * (1 + 0x1p-20L);
  return (1 - b1) / (1 - c->power1) *
         sqrtl((1 - c->power2) / (1 - b2) * c->sum);
}

/* The rows of the tables: weights of one rule are next to each other, in the
 * order in which rules first appear. Here that is the order of the layers but
 * for the last but one, which has the rule of layer 3. */
static void assignRows(void) {
  static const int order[COUNT] = {0, 1, 2, 3, 10, 4, 5, 6, 7, 8, 9, 11};
  for (int row = 0; row < COUNT; ++row)
    rowOf[order[row]] = row;
}

int main(void) {
  assignRows();
  for (int e = 0; e < 8 * 32; ++e)
    x[e] = toBF16((float)(uniform() - 0.5));
  for (int i = 0; i < COUNT; ++i)
    for (int e = 0; e < SIZE; ++e)
      w[i][e] = e % 16 < 2 ? 1.0f : (float)(uniform() - 0.5);
  struct Ref1 s = ref1(scales), a = ref1(amax);
  struct Ref2 st = ref2(state, COUNT, 3);
  _mlir_ciface_moss_init_scales(&s, &st);
  if (!isnan(scales[0]))
    printf("scales are not NaN before they are measured\n");

  struct Closed closed[COUNT];
  long double bound[COUNT], gain[COUNT];
  double worstForm[COUNT] = {0}, tightest[COUNT] = {0}, slack[COUNT] = {0};
  int violations[COUNT] = {0}, resets[COUNT] = {0};
  for (int i = 0; i < COUNT; ++i) {
    closed[i] = (struct Closed){1, 1, 0, 1};
    gain[i] = 0;
  }
  for (int t = 0; t < STEPS; ++t) {
    for (int i = 0; i < COUNT; ++i) {
      float before = scales[rowOf[i]];
      int measures = t % specs[i].interval == 0;
      if (measures || t % 997 == 0 || i == 6)
        forward(i, t);
      if (measures || scales[rowOf[i]] != before) {
        bound[i] = (long double)scales[rowOf[i]] * 448 *
                   (specs[i].isBF16 ? 1 : 1 + 0x1p-8L);
        resets[i] += 1;
      }
    }
    double rate = learningRate(t + 1);
    float largest[COUNT];
    for (int i = 0; i < COUNT; ++i)
      largest[i] = optimizerStep(i, rate, t + 1);
    _mlir_ciface_moss_update_scales(rate, t + 1, &a, &s, &st);
    for (int i = 0; i < COUNT; ++i) {
      const struct Spec *spec = &specs[i];
      int row = rowOf[i];
      float now = magnitude(i);
      if (now > scales[row] * 448.0L)
        violations[i] += 1;
      /* The closed form, with the slack that moss.next_scale documents. */
      long double slackC = 1 + 0x1p-22L * (8 + 1 / (1 - spec->beta1) +
                                           1 / (1 - spec->beta2));
      long double keep = 1, d = rate;
      int isLoose = 0;
      if (spec->kind == ADAM) {
        long double c = closedStep(&closed[i], spec);
        if (!spec->isPaper)
          d = rate * c * slackC;
        tightest[i] = fmax(tightest[i], largest[i] / (double)c);
        isLoose = c > 256;
      } else {
        if (spec->kind == MOMENTUM)
          gain[i] = (spec->momentum * gain[i] + amax[row] + spec->decay * bound[i]) *
                    (1 + 0x1p-21L);
        else
          gain[i] = amax[row];
        d = rate * gain[i];
      }
      if (spec->kind != MOMENTUM)
        keep = 1 - (long double)rate * spec->decay;
      bound[i] = (keep * bound[i] + d) * (1 + 0x1p-21L);
      if (isLoose)
        continue; /* measured at each step from here on */
      double error = fabs((double)(state[row][0] / bound[i] - 1));
      worstForm[i] = fmax(worstForm[i], error);
      if (spec->isBF16) /* is rounded besides, at each step */
        bound[i] = state[row][0];
      slack[i] = fmax(slack[i], scales[row] * 448.0 / now);
    }
  }
  for (int i = 0; i < COUNT; ++i)
    printf("layer %d: %s, closed form %s, measured %d times, largest step %.3f of "
           "c_t, scale at most %.2f of the maximum\n",
           i, violations[i] ? "VIOLATED" : "holds",
           worstForm[i] < (specs[i].isBF16 ? 0x1p-8 : 1e-6) ? "equal" : "DIFFERS",
           resets[i], tightest[i], slack[i]);

  /* A loaded checkpoint, measured by hand. */
  for (int e = 0; e < SIZE; ++e)
    w[3][e] *= 1000;
  struct Ref2 weight = ref2(w[3], ROWS, COLS);
  _mlir_ciface_layer3_reset_scales(&weight, &s);
  printf("after loading: %s\n",
         scales[rowOf[3]] * 448.0L >= magnitude(3) ? "measured" : "NOT measured");
  return 0;
}
