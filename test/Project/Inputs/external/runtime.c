// A C program on Moss's runtime: says whether there is a GPU.
#include "moss/Runtime/Runtime.h"
#include <stdio.h>

int main(void) {
  puts(mossHasDevice() ? "with a GPU" : "without a GPU");
  return 0;
}
