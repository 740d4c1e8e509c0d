//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Micro groups that threads hold in registers from their amax to their payload.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_GPU_QUANTIZEGROUPS_H
#define MOSS_LIB_GPU_QUANTIZEGROUPS_H

#include "TransposeTiles.h"
#include "moss/IR/Moss.h"
#include <memory>

namespace mlir::moss {

/// Run `body` where `number` (index) is zero.
void createWhenZero(ImplicitLocOpBuilder &b, Value number,
                    function_ref<void()> body);

/// The unsigned maximum of `bits` (i32) over a warp.
Value createWarpMax(ImplicitLocOpBuilder &b, Value bits);

/// The buffer that createBlockMax needs.
Type getBlockMaxType(OpBuilder &b);

/// The unsigned maximum of `bits` (i32) over a block, whose last shared buffer
/// has an i32 for each of its warps.
Value createBlockMax(ImplicitLocOpBuilder &b, const Kernel &kernel, Value bits);

/// Emits the quantization of micro groups that are small enough for registers.
///
/// A team of threads, a part of a warp or a block, holds a few groups that are
/// neighbors along K, in vectors whose payload has 16 bytes. What lies beyond
/// the matrix is replaced by the last that does not, of the same group: it is
/// the same maximum and the same store once more, which costs no branch.
class RegisterGroups {
public:
  /// Emitted beside the launch. Null without `micro` scales, if their groups
  /// are too large or end within a vector, and if rows are not contiguous.
  static std::unique_ptr<RegisterGroups> get(ImplicitLocOpBuilder &b,
                                             SchemeAttr scheme, Value source,
                                             Value payload, Value micro);

  /// The number of blocks that hold all groups at a time (index).
  Value getBlocks() const { return blocks; }
  /// Whether a team is a block, and needs a shared buffer for its maximum.
  bool isBlockTeam() const { return lanes == kBlockSize; }

  using Body = function_ref<SmallVector<Value>(ValueRange)>;
  /// Load all groups, some at a time. `body` takes the carried values and
  /// returns the next ones; the methods below are for it. What `otherwise`
  /// emits runs instead where the matrices, as known at run time, are not
  /// aligned or a row ends within a vector.
  SmallVector<Value> forEach(const Kernel &kernel, ValueRange inits, Body body,
                             Body otherwise);

  /// The f32 bits of the amax of each group.
  SmallVector<Value> createAmax();
  /// The f32 bits of the largest magnitude of this thread's elements that is
  /// not NaN.
  Value createMeasuredMax();
  /// Store the scales of groups with the given `amax` and their payload.
  void convert(ArrayRef<Value> amax, Value global, Value inverseGlobal);

private:
  /// A vector that this thread holds, and the position of its first element.
  struct Held {
    Value elements, row, k;
  };

  RegisterGroups(ImplicitLocOpBuilder &b, SchemeAttr scheme, Value source,
                 Value payload, Value micro)
      : b(b), scheme(scheme), source(source), payload(payload), micro(micro) {}

  SmallVector<Value> emitLoop(ValueRange inits, Body body);
  bool mapThreads();
  void createExtents();
  Value index(int64_t value);
  Value atMost(Value x, Value limit);
  Value getColumn(Value number);
  void hold(Value unit);
  Held load(Value column, int64_t number);
  Value createTeamMax(Value bits);
  Value broadcast(Value x, int64_t from);
  Value createScales(ArrayRef<Value> amax, Value global);

  ImplicitLocOpBuilder &b;
  SchemeAttr scheme;
  Value source, payload, micro;
  /// The vectors of a group, the threads of a team (a power of two), the
  /// vectors of a group that each of them holds, and the groups of a team.
  int64_t vectors = 0, lanes = 0, depth = 0, groups = 0;
  /// Whether the matrices allow the vectors (i1), and the number of blocks.
  Value isUsable, blocks;
  /// The rows and columns of groups, the sets of neighboring groups in a row,
  /// all sets, the last row of the matrix, and its last vector along K.
  Value rows, columns, sets, units, lastRow, lastVector;

  /// In a kernel: its numbers, that of the thread in its team, and the groups
  /// that the team holds: their row, and the first one along K.
  Kernel kernel;
  Value lane, row, firstColumn;
  SmallVector<SmallVector<Held>> held;
};

} // namespace mlir::moss

#endif // MOSS_LIB_GPU_QUANTIZEGROUPS_H
