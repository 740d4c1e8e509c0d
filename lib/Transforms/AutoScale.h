//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parts of moss-auto-scale share: the weights of a module, and how
// their scales are measured and kept.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_LIB_TRANSFORMS_AUTOSCALE_H
#define MOSS_LIB_TRANSFORMS_AUTOSCALE_H

#include "ScaleState.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"

namespace mlir::moss {

/// A weight of the module, and its row in the tables of scales.
struct PredictedWeight {
  std::string name;
  WeightAttr mark;
  ScaleRuleAttr rule;
  int64_t row = 0;
};

/// A quantization of a weight.
struct WeightUse {
  QuantizeOp quantize;
  unsigned weight;
};

/// A result of a function that is the updated value of a weight.
struct WeightUpdate {
  unsigned weight;
  unsigned argument;
  unsigned result;
};

/// The weights that a function quantizes, in the order in which it does.
struct FunctionWeights {
  func::FuncOp func;
  SmallVector<WeightUse> uses;
  /// If there are any, the payloads are kept from one call to the next. Those
  /// of `kept`, one for each weight and orientation, are arguments and results.
  SmallVector<WeightUpdate> updates;
  SmallVector<WeightUse> kept;

  /// The number in `kept` of the payload of `use`.
  unsigned getKept(WeightUse use) const;
};

/// All weights whose scales are predicted, by row, and where they are used.
struct WeightTable {
  SmallVector<PredictedWeight> weights;
  SmallVector<ScaleRuleAttr> rules;
  SmallVector<int64_t> rows;
  ScaleState state = ScaleState::Arguments;
  SmallVector<FunctionWeights> functions;

  /// Whether a rule needs the largest magnitude of gradients.
  bool needsAmax() const;
  RankedTensorType getScalesType(MLIRContext *context) const;
  RankedTensorType getStateType(MLIRContext *context) const;
};

/// The globals that hold the tables with `state = globals`.
inline constexpr StringLiteral kScalesName = "moss_scales";
inline constexpr StringLiteral kScaleStateName = "moss_scale_state";

/// Whether `value` can be computed anywhere in its function from the function's
/// arguments and globals alone.
bool isAvailableAtEntry(Value value);

/// Compute `value` again at the builder's insertion point, from what `mapping`
/// has for the function's arguments. It must be available at entry.
Value cloneFromEntry(OpBuilder &b, Value value, IRMapping &mapping);

/// Measure each of the weights in `uses` (once), whose sources are cloned by
/// `mapping`. `carried` has the scales and, where a function keeps payloads,
/// these; both are updated.
void emitMeasurement(ImplicitLocOpBuilder &b, const WeightTable &table,
                     const FunctionWeights &function, ArrayRef<WeightUse> uses,
                     IRMapping &mapping, MutableArrayRef<Value> carried);

/// The quantization `op` of `source` under the known `scale`, into `payload`.
QuantizeOp createGiven(OpBuilder &b, QuantizeOp op, Value source, Value scale,
                       Value payload);

/// Append arguments for the payloads that a function keeps.
SmallVector<Value> appendKeptPayloads(func::FuncOp func,
                                      const FunctionWeights &function);

/// The operands of an op and what its regions use from outside.
SetVector<Value> getInputs(Operation *op);

/// A global as a tensor that may be updated in place.
Value loadGlobal(ImplicitLocOpBuilder &b, StringRef name,
                 RankedTensorType type);
void storeGlobal(ImplicitLocOpBuilder &b, StringRef name, Value value);

/// Find the results marked as updated weights, by `moss.updates`. Fails, with a
/// diagnostic, if marks do not fit the weights.
LogicalResult collectUpdates(WeightTable &table);

/// Let the function predict the scales of the weights that it updates, and
/// quantize them for its next call. `carried` are scales and payloads, and
/// `kept` the arguments that they are in from one call to the next.
void emitUpdates(const WeightTable &table, const FunctionWeights &function,
                 Value step, ArrayRef<Value> kept, ArrayRef<Value> carried);

/// Rewrite a function to quantize its weights under predicted scales.
void predictScales(const FunctionWeights &function, const WeightTable &table);

/// Add the globals, if the state is there. Fails, with a diagnostic, if a name
/// is taken.
LogicalResult addScaleGlobals(ModuleOp module, const WeightTable &table);

/// Add the module's entry points @moss_init_scales, @moss_update_scales,
/// @moss_get_scales and @<f>_reset_scales. What the program declares of these
/// gets its body. Fails, with a diagnostic, if a name is taken or a declaration
/// has another type.
LogicalResult addScaleFunctions(ModuleOp module, const WeightTable &table);

/// Where no scale is predicted: let the entry points that the program declares
/// do nothing, so that it runs all the same.
LogicalResult defineUnusedDeclarations(ModuleOp module);

/// The number of the argument that counts finished steps.
std::optional<unsigned> findStep(func::FuncOp func);

/// For remarks of this pass.
remark::RemarkOpts getRemarkOpts(StringRef name, func::FuncOp func);

/// The scales, as a function keeps them: an argument that is added to `func`,
/// or loaded from the global at the builder's insertion point.
Value getScales(ImplicitLocOpBuilder &b, func::FuncOp func,
                const WeightTable &table);

/// Let `func` return the updated scales in place of `old`, its argument, or
/// store them to the global.
void putScales(func::FuncOp func, const WeightTable &table, Value old,
               Value scales);

} // namespace mlir::moss

#endif // MOSS_LIB_TRANSFORMS_AUTOSCALE_H
