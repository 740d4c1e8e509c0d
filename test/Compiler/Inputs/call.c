/* Calls a compiled library, and checks what it computes and refuses. */
#include "layer.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void expect(int condition, const char *what) {
  if (condition)
    return;
  printf("failed: %s (%s)\n", what, mossGetLastError());
  failures = 1;
}

static void expect_error(int32_t status, const char *message) {
  expect(status == MOSS_INVALID_ARGUMENT, message);
  expect(strcmp(mossGetLastError(), message) == 0, message);
}

/* BF16 of a number with few bits. */
static uint16_t bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}

/* Row r of x is 2^(r mod 4), row n of w is 2^(n mod 3): exact in FP8. */
enum { K = 64, N = 32, MAX_ROWS = 40 };

static void fill(uint16_t *a, int rows, int stride, int period) {
  int r, k;
  for (r = 0; r < rows; ++r)
    for (k = 0; k < K; ++k)
      a[r * stride + k] = bf16((float)(1 << (r % period)));
}

static int is_product(const float *y, int rows, int stride) {
  int r, n;
  for (r = 0; r < rows; ++r)
    for (n = 0; n < N; ++n)
      if (y[r * stride + n] != (float)(K << (r % 4) << (n % 3)))
        return 0;
  return 1;
}

/* Different numbers of rows at once. */
static void *call_often(void *argument) {
  int rows = *(int *)argument, i;
  static const int32_t wanted[] = {MOSS_SUCCESS, MOSS_INVALID_ARGUMENT};
  uint16_t x[MAX_ROWS * K], w[N * K];
  float y[MAX_ROWS * N];
  fill(x, rows, K, 4);
  fill(w, N, K, 3);
  for (i = 0; i < 200; ++i) {
    memset(y, 0, sizeof y);
    if (layer(x, rows, K, 1, w, K, 1, y, rows + i % 2, N, 1, NULL) !=
            wanted[i % 2] ||
        (i % 2 == 0 && !is_product(y, rows, N)))
      return argument;
  }
  return NULL;
}

static void test_threads(void) {
  int rows[] = {7, 33};
  pthread_t threads[2];
  void *failed;
  int i;
  for (i = 0; i < 2; ++i)
    pthread_create(&threads[i], NULL, call_often, &rows[i]);
  for (i = 0; i < 2; ++i) {
    pthread_join(threads[i], &failed);
    expect(!failed, "two threads at once");
  }
}

static void test_layer(void) {
  static uint16_t x[MAX_ROWS * 80], w[N * K];
  static float y[MAX_ROWS * 48], before[MAX_ROWS * 48];
  int rows, r, n;
  fill(w, N, K, 3);
  for (rows = 0; rows <= MAX_ROWS; rows += 5) {
    fill(x, rows, K, 4);
    expect(layer(x, rows, K, 1, w, K, 1, y, rows, N, 1, NULL) == MOSS_SUCCESS &&
               is_product(y, rows, N),
           "contiguous arrays");
  }
  /* Rows of 80 in, of 48 out; what is between them stays. */
  fill(x, MAX_ROWS, 80, 4);
  memset(y, 0x55, sizeof y);
  memcpy(before, y, sizeof y);
  expect(layer(x, MAX_ROWS, 80, 1, w, K, 1, y, MAX_ROWS, 48, 1, NULL) ==
                 MOSS_SUCCESS &&
             is_product(y, MAX_ROWS, 48),
         "rows with gaps");
  for (r = 0; r < MAX_ROWS; ++r)
    for (n = N; n < 48; ++n)
      expect(memcmp(&y[r * 48 + n], &before[r * 48 + n], sizeof *y) == 0,
             "gaps are not written to");
  /* One row for all. */
  fill(x, 1, K, 4);
  expect(layer(x, 3, 0, 1, w, K, 1, y, 3, N, 1, NULL) == MOSS_SUCCESS &&
             y[0] == K && y[2 * N] == K,
         "an input with stride 0");
}

static void test_errors(void) {
  static uint16_t x[5 * K], w[N * K];
  static float y[6 * N];
  fill(x, 5, K, 4);
  fill(w, N, K, 3);
  expect_error(layer(x, 5, K, 1, w, K, 1, y, 6, N, 1, NULL),
               "layer: 'result' has another size in dimension 0 than what is "
               "computed (5 and 6)");
  expect_error(layer(NULL, 5, K, 1, w, K, 1, y, 5, N, 1, NULL),
               "layer: 'x' is null, but has elements");
  expect_error(layer(x, -1, K, 1, w, K, 1, y, 5, N, 1, NULL),
               "layer: 'x' has size -1 in dimension 0, but a size is 0 or more");
  expect_error(layer(x, 5, -K, 1, w, K, 1, y, 5, N, 1, NULL),
               "layer: 'x' has stride -64 in dimension 0, but a stride is 0 or "
               "more; reverse a copy");
  expect_error(layer(x, 5, K, 1, w, K, 1, y, 5, 0, 1, NULL),
               "layer: 'result' is written to, but its strides let elements "
               "share memory");
  expect_error(layer((char *)x + 1, 5, K, 1, w, K, 1, y, 5, N, 1, NULL),
               "layer: 'x' begins at an address that is not a multiple of 2, "
               "the size of an element");
  expect_error(layer(x, INT64_MAX, K, 1, w, K, 1, y, 5, N, 1, NULL),
               "layer: 'x' has more elements than fit into memory");
  /* Nothing to read or write needs no memory. */
  expect(layer(NULL, 0, K, 1, w, K, 1, NULL, 0, N, 1, NULL) == MOSS_SUCCESS,
         "an empty array");
}

/* A call that fails gives back its memory: thousands of bytes here. */
static void test_leaks(void) {
  static uint16_t x[MAX_ROWS * K], w[N * K];
  static float y[MAX_ROWS * N];
  size_t before = 0;
  int i;
  for (i = 0; i < 1000; ++i) {
    expect_error(product(x, MAX_ROWS, K, K, 1, w, K / 2, K / 2, 1, y, MAX_ROWS,
                         N, 1, NULL),
                 "layer.mlir:24:8: moss.scaled_matmul: K of the left operand "
                 "and K of the right operand differ (64 and 32)");
    if (i == 0)
      before = mallinfo2().uordblks;
  }
  expect(mallinfo2().uordblks < before + 100000, "failed calls hold memory");
}

/* A transposed array in, a transposed one out. */
static void test_scale(void) {
  float x[2 * 4 * 3], scaled[2 * 4 * 3], same[2 * 4 * 3];
  int i, j, k;
  for (i = 0; i < 24; ++i)
    x[i] = (float)i;
  expect(scale(x, 4, 12, 1, 4, 3.0f, scaled, 4, 12, 3, 1, same, 4, 1, 6, 2,
               NULL) == MOSS_SUCCESS,
         "transposed arrays");
  for (i = 0; i < 2; ++i)
    for (j = 0; j < 4; ++j)
      for (k = 0; k < 3; ++k) {
        float value = (float)(i * 12 + j + k * 4);
        expect(scaled[i * 12 + j * 3 + k] == 3 * value, "scaled");
        expect(same[i + j * 6 + k * 2] == value, "same");
      }
}

static void test_scalars(void) {
  int64_t next = 0;
  bool not_flag = true;
  float wide = 0;
  expect(mix(41, true, bf16(1.5f), &next, &not_flag, &wide, NULL) ==
                 MOSS_SUCCESS &&
             next == 42 && !not_flag && wide == 1.5f,
         "scalars");
  expect_error(mix(41, true, 0, &next, NULL, &wide, NULL),
               "mix: 'result1' is null");
}

int main(void) {
  expect(strcmp(mossGetLastError(), "") == 0, "no error at first");
  test_layer();
  test_errors();
  test_leaks();
  test_scale();
  test_scalars();
  test_threads();
  if (!failures)
    printf("all right\n");
  return failures;
}
