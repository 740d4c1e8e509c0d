# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Print a function that multiplies by many weights, of two groups of parameters."""

import sys

COUNT = int(sys.argv[1])
DECAYS = ["0.1", "0.0"]
MARK = ("#moss.weight<#moss.optimizer<adamw, beta1 = 0.9, beta2 = 0.95, "
        "weight_decay = {}>>")

weights = ", ".join(f"%w{i}: tensor<64x64xbf16> {{moss.weight = {MARK.format(DECAYS[i % 2])}}}"
                    for i in range(COUNT))
print(f"func.func @model(%x0: tensor<64x64xbf16>, {weights}) -> tensor<64x64xbf16> {{")
print("  %zero = arith.constant 0.0 : bf16")
for i in range(COUNT):
    print(f"""  %e{i} = tensor.empty() : tensor<64x64xbf16>
  %z{i} = linalg.fill ins(%zero : bf16) outs(%e{i} : tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %x{i + 1} = linalg.matmul ins(%x{i}, %w{i} : tensor<64x64xbf16>, tensor<64x64xbf16>)
    outs(%z{i} : tensor<64x64xbf16>) -> tensor<64x64xbf16>""")
print(f"  return %x{COUNT} : tensor<64x64xbf16>\n}}")
