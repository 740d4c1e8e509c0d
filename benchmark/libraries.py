# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The products of PyTorch and DeepGEMM that run.py measures Moss's kernels against.

Each function here takes Operands (run.py) and returns a function that multiplies
[M, K] by the transpose of [N, K] and returns the result. DeepGEMM takes part where its
package deep_gemm is installed.
"""

import torch

try:
    import deep_gemm
except ImportError as error:
    deep_gemm, REASON = None, str(error)

BF16 = torch.bfloat16
TENSOR = {"micro": None, "group": None, "global": True}
ROWS = {"micro": "f32", "group": [1, 0], "global": False}
GROUPS = {"micro": "f32", "group": [1, 128], "global": False}
BLOCKS = {"micro": "f32", "group": [128, 128], "global": False}


def bf16_call(operands):
    lhs, rhs = operands.bf16["lhs"], operands.bf16["rhs"].t()
    return lambda: torch.matmul(lhs, rhs, out=operands.out)


def scaled_mm_call(operands, fast):
    """PyTorch's product per tensor."""
    (lhs, _, lhs_scale), (rhs, _, rhs_scale) = (
        operands.get(side, TENSOR) for side in ("lhs", "rhs"))
    rhs = rhs.t()
    return lambda: torch._scaled_mm(
        lhs, rhs, scale_a=lhs_scale, scale_b=rhs_scale,
        out_dtype=BF16, use_fast_accum=fast, out=operands.out)


def row_call(operands, fast):
    """PyTorch's product with a scale per row of both operands."""
    (lhs, lhs_scale, _), (rhs, rhs_scale, _) = (
        operands.get(side, ROWS) for side in ("lhs", "rhs"))
    rhs, rhs_scale = rhs.t(), rhs_scale.t().contiguous()
    return lambda: torch._scaled_mm(
        lhs, rhs, scale_a=lhs_scale, scale_b=rhs_scale,
        out_dtype=BF16, use_fast_accum=fast, out=operands.out)


def block_call(operands, rhs_scheme):
    """PyTorch's product with scales of 1 x 128, and of the right operand's
    scheme. Its scales are stored with rows adjacent, and those of blocks padded
    to four along K."""
    functional = torch.nn.functional
    kinds, layouts = functional.ScalingType, functional.SwizzleType
    (lhs, lhs_scale, _), (rhs, rhs_scale, _) = (
        operands.get("lhs", GROUPS), operands.get("rhs", rhs_scheme))
    rhs, lhs_scale = rhs.t(), lhs_scale.t().contiguous().t()
    if rhs_scheme is BLOCKS:
        kind = kinds.BlockWise128x128
        rhs_scale = functional.pad(rhs_scale, (0, -rhs_scale.shape[1] % 4)).t()
    else:
        kind, rhs_scale = kinds.BlockWise1x128, rhs_scale.t().contiguous().t()
    return lambda: functional.scaled_mm(
        lhs, rhs, lhs_scale, kinds.BlockWise1x128, rhs_scale, kind,
        swizzle_a=layouts.NO_SWIZZLE, swizzle_b=layouts.NO_SWIZZLE,
        output_dtype=BF16, use_fast_accum=False)


def deepgemm_call(operands, rhs_scheme):
    """DeepGEMM's product with scales of 1 x 128, and of the right operand's scheme.

    Scales of 1 x 128 are stored with rows adjacent, as its kernels want them; that is
    done here, not in the calls. Its kernel for 1 x 128 of both operands (1D1D) can
    only add to an FP32 result, so that is what its calls do. Raises RuntimeError if
    DeepGEMM is not installed.
    """
    if not deep_gemm:
        raise RuntimeError(REASON)
    (lhs, lhs_scale, _), (rhs, rhs_scale, _) = (
        operands.get("lhs", GROUPS), operands.get("rhs", rhs_scheme))
    lhs = lhs, deep_gemm.get_mn_major_tma_aligned_tensor(lhs_scale.contiguous())
    out, options, rhs_scale = operands.out, {}, rhs_scale.contiguous()
    if rhs_scheme is GROUPS:
        rhs_scale = deep_gemm.get_mn_major_tma_aligned_tensor(rhs_scale)
        out = torch.zeros(out.shape, device=out.device)
        options = {"c": out, "recipe": (1, 1, 128)}

    def multiply():
        deep_gemm.fp8_gemm_nt(lhs, (rhs, rhs_scale), out, **options)
        return out

    return multiply


# More competitors, for kernels whose schemes are not those of a tensor: how a call
# is made, and the schemes of its operands.
SCHEME_COMPETITORS = {
    "torch rows fast": (lambda operands: row_call(operands, True), ROWS, ROWS),
    "torch rows precise": (lambda operands: row_call(operands, False), ROWS, ROWS),
    "torch blocks": (lambda operands: block_call(operands, BLOCKS), GROUPS, BLOCKS),
    "torch groups": (lambda operands: block_call(operands, GROUPS), GROUPS, GROUPS),
    "deepgemm blocks": (lambda operands: deepgemm_call(operands, BLOCKS), GROUPS, BLOCKS),
    "deepgemm groups": (lambda operands: deepgemm_call(operands, GROUPS), GROUPS, GROUPS),
}
