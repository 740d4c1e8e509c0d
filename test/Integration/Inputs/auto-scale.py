# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print a program with one layer per optimizer, each with a marked weight."""

WEIGHTS = [
    # optimizer, keys of the mark, type of the argument
    ("sgd", "", "f32"),
    ("sgd, weight_decay = 1024.0", "", "f32"),
    ("momentum, momentum = 0.9, weight_decay = 0.01", "", "f32"),
    ("adam, beta1 = 0.9, beta2 = 0.999", "", "f32"),
    ("adamw, beta1 = 0.9, beta2 = 0.95, weight_decay = 0.1", "", "f32"),
    ("adamw, beta1 = 0.9, beta2 = 0.999, weight_decay = 1024.0", "", "f32"),
    ("adam, beta1 = 0.95, beta2 = 0.9", "", "f32"),
    ("adam, beta1 = 0.9, beta2 = 0.81", "", "f32"),
    ("adam_paper", "", "f32"),
    ("adamw, beta1 = 0.9, beta2 = 0.999, weight_decay = 0.1", ", master = bf16", "bf16"),
    ("adam, beta1 = 0.9, beta2 = 0.999", ", interval = 1000000", "f32"),
    ("adam, beta1 = 0.0, beta2 = 0.999", "", "f32"),
]

LAYER = """
func.func @layer{i}(%x: tensor<8x32xbf16>, %w: tensor<32x8x{type}> {{moss.weight = #moss.weight<
    #moss.optimizer<{optimizer}>{keys}>}}, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {{
  %zero = arith.constant 0.0 : f32
  %init = linalg.fill ins(%zero : f32) outs(%y : tensor<8x8xf32>) -> tensor<8x8xf32>
  {round}
  %0 = linalg.matmul ins(%x, {name} : tensor<8x32xbf16>, tensor<32x8xbf16>) outs(%init : tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}}"""

for i, (optimizer, keys, type) in enumerate(WEIGHTS):
    wide = type == "f32"
    print(LAYER.format(
        i=i, optimizer=optimizer, keys=keys, type=type, name="%b" if wide else "%w",
        round="%b = arith.truncf %w : tensor<32x8xf32> to tensor<32x8xbf16>" if wide else ""))
