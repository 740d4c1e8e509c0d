# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""DeepGEMM's products for run.py, where its package deep_gemm is installed."""

import torch

try:
    import deep_gemm
except ImportError as error:
    deep_gemm, REASON = None, str(error)


def call(operands, lhs_scheme, rhs_scheme):
    """A function that multiplies [M, K] by the transpose of [N, K] and returns the result.

    The left operand has FP32 scales of 1 x 128, the right one of 128 x 128 or 1 x 128.
    Scales of 1 x 128 are stored with rows adjacent, as the kernels want them; that is
    done here, not in the calls. DeepGEMM's kernel for 1 x 128 of both operands
    (1D1D) can only add to an FP32 result, so that is what its calls do.
    Raises RuntimeError if DeepGEMM is not installed.
    """
    if not deep_gemm:
        raise RuntimeError(f"not installed: {REASON}")
    (lhs, lhs_scale, _), (rhs, rhs_scale, _) = (
        operands.get("lhs", lhs_scheme), operands.get("rhs", rhs_scheme))
    lhs = lhs, deep_gemm.get_mn_major_tma_aligned_tensor(lhs_scale.contiguous())
    out, options = operands.out, {}
    if rhs_scheme["group"][0] == 1:
        rhs_scale = deep_gemm.get_mn_major_tma_aligned_tensor(rhs_scale.contiguous())
        out = torch.zeros(out.shape, device=out.device)
        options = {"c": out, "recipe": (1, 1, 128)}

    def multiply():
        deep_gemm.fp8_gemm_nt(lhs, (rhs, rhs_scale), out, **options)
        return out

    return multiply
