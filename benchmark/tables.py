# Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Markdown of report.py."""


def table(corner, columns, rows):
    lines = [f"| {corner} | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    return "\n".join(lines + [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows])


def percent(value):
    """Three digits; shares that are not zero do not look like it."""
    if 0 < value < 1e-5:
        return "< 0.001 %"
    return f"{100 * value:.3g} %"
