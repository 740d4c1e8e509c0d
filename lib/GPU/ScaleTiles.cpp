//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaleTiles.h"
#include "OperandTiles.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "moss/Transforms/Target.h"

using namespace mlir;
using namespace mlir::moss;

std::optional<VectorType> moss::getScaleTile(LoadScalesOp load) {
  auto mmas = load->getBlock()->getOps<MmaOp>();
  if (!isa<LoopLikeOpInterface>(load->getParentOp()) || mmas.empty() ||
      load.getGroupK() == 0 ||
      (load.getGroupOuter() > 1 && !readsOneGroup(load)))
    return std::nullopt;
  // The slot is received in front of the product.
  Operation *mma = *mmas.begin();
  if (llvm::any_of(load->getUsers(), [&](Operation *user) {
        Operation *ancestor = load->getBlock()->findAncestorOpInBlock(*user);
        return ancestor && ancestor->isBeforeInBlock(mma);
      }))
    return std::nullopt;
  return getScaleTile(load.getSource().getType(), load.getGroupOuter(),
                      cast<VectorType>(load.getType()).getNumElements());
}

/// Whether the groups that `load` reads \p offset past a multiple of \p step
/// lie at a constant distance from those there: a step is whole groups or a
/// whole part of one. If a tile is a unit of several groups, it must hold those
/// of whole steps.
static bool isRegular(LoadScalesOp load, int64_t offset, int64_t step,
                      VectorType tile) {
  int64_t group = load.getGroupK();
  if (offset < 0 || offset >= step)
    return false;
  if (step % group != 0)
    return group % step == 0;
  return load.getGroupOuter() == 1 ||
         tile.getNumElements() % (step / group) == 0;
}

/// The distance of positions of tiles along K: what `loop` steps by from a
/// multiple of it.
static std::optional<int64_t> getStep(scf::ForOp loop) {
  std::optional<int64_t> first = getConstantIntValue(loop.getLowerBound());
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (!first || !step || *step <= 0 || *first % *step != 0)
    return std::nullopt;
  return step;
}

/// The K extent of the tile that `operand` is or is a slice of.
static int64_t getTileK(Value operand) {
  if (vector::ExtractStridedSliceOp slice = getSlice(operand))
    operand = slice.getSource();
  return cast<VectorType>(operand.getType()).getDimSize(1);
}

/// The position along K at which the tile of `load` begins, and how far `load`
/// is from it. A loop of one iteration has been folded: positions are constants
/// then, and its step is the operands' K extent.
static std::pair<OpFoldResult, int64_t> splitPosition(LoadScalesOp load,
                                                      VectorType tile) {
  if (std::optional<int64_t> k = getConstantIntValue(load.getK())) {
    int64_t step =
        getTileK((*load->getBlock()->getOps<MmaOp>().begin()).getLhs());
    int64_t offset = *k % step;
    if (isRegular(load, offset, step, tile))
      return {Builder(load).getIndexAttr(*k - offset), offset};
    return {load.getK(), 0};
  }
  APInt offset;
  auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
  auto sum = load.getK().getDefiningOp<arith::AddIOp>();
  if (!loop || !sum || sum.getLhs() != loop.getInductionVar() ||
      !matchPattern(sum.getRhs(), m_ConstantInt(&offset)))
    return {load.getK(), 0};
  std::optional<int64_t> step = getStep(loop);
  if (!step || !isRegular(load, offset.getSExtValue(), *step, tile))
    return {load.getK(), 0};
  return {loop.getInductionVar(), offset.getSExtValue()};
}

/// Whether scales that `load` reads can be extended to f32 in their slot.
static bool isExtended(LoadScalesOp load) {
  auto type = cast<VectorType>(load.getType());
  return type.getDimSize(0) == 1 &&
         areExtended(type.getElementType(), load.getGroupOuter()) &&
         llvm::all_of(load->getUsers(), llvm::IsaPred<AddRescaledOp>);
}

SmallVector<ScaleTile> moss::collectScaleTiles(Block &body) {
  SmallVector<ScaleTile> tiles;
  for (auto load : body.getOps<LoadScalesOp>()) {
    std::optional<VectorType> type = getScaleTile(load);
    if (!type)
      continue;
    auto [k, offset] = splitPosition(load, *type);
    auto isAlike = [&, k = k](const ScaleTile &tile) {
      LoadScalesOp other = tile.loads.front();
      return tile.k == k && other.getType() == load.getType() &&
             other.getSource() == load.getSource() &&
             other.getOuter() == load.getOuter() &&
             other.getGroupOuter() == load.getGroupOuter() &&
             other.getGroupK() == load.getGroupK();
    };
    auto *tile = llvm::find_if(tiles, isAlike);
    if (tile == tiles.end())
      tile = tiles.insert(tiles.end(), ScaleTile{*type, true, {}, {}, k});
    int64_t row = load.getGroupOuter() == 1 ? offset / load.getGroupK() : 0;
    tile->isExtended &= isExtended(load);
    tile->loads.push_back(load);
    tile->rows.push_back(row);
    tile->type = getGroupsTile(*type, load.getGroupOuter(),
                               std::max(row + 1, tile->type.getDimSize(0)));
  }
  return tiles;
}
