//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How functions of a program appear in C: the parameters of the C function, as
// an attribute that goes with the function from tensors down to LLVM's dialect.
//
//===----------------------------------------------------------------------===//

#ifndef MOSS_TRANSFORMS_CINTERFACE_H
#define MOSS_TRANSFORMS_CINTERFACE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mlir::moss {

/// Of an argument whose first value is the same everywhere: that value.
constexpr StringLiteral kInitialAttrName = "moss.initial";

/// Of an argument that is a table: what its rows belong to.
constexpr StringLiteral kRowsAttrName = "moss.rows";

/// The names of a function's arguments in the text that it was parsed from, an
/// array of strings. An argument without one is called `arg` and its number.
constexpr StringLiteral kArgumentNamesAttrName = "moss.argument_names";

/// The C function of a function: a dictionary of its `name`, its `source`,
/// which is the function's own name, and its `parameters`.
constexpr StringLiteral kCInterfaceAttrName = "moss.c_interface";

/// The target of a lowered module with a C interface, a string.
constexpr StringLiteral kTargetAttrName = "moss.target";

/// Descriptions of a lowered module's launches, an array of dictionaries.
constexpr StringLiteral kKernelsAttrName = "moss.kernels";

/// Marks a function of a program for a GPU whose memrefs are in the host's
/// memory.
constexpr StringLiteral kHostAttrName = "moss.host";

/// The runtime's functions that failed assertions of a library call, the second
/// where two integers are not equal.
constexpr StringLiteral kAssertionHandlerName = "mossFailAssertion";
constexpr StringLiteral kComparisonHandlerName = "mossFailComparison";

/// How a C function uses a parameter. `ScalarResult` is a pointer to host
/// memory, `Buffer` an argument that is a memref in the program, `Update` a
/// tensor that a result of the function replaces.
enum class ParameterKind {
  Scalar,
  Tensor,
  Result,
  Buffer,
  Update,
  ScalarResult
};

/// The name of a kind in the attribute and in JSON.
StringRef stringifyParameterKind(ParameterKind kind);

/// The extent of an argument, by their numbers.
struct ArgumentExtent {
  int64_t argument, dimension;
};

/// A parameter of a program's function: one or, with sizes and strides, several
/// of its C function.
struct CParameter {
  StringRef name;
  ParameterKind kind;
  /// A ranked tensor, a memref or a scalar, as in the program.
  Type type;
  /// Of a result, for each dynamic dimension: the argument's extent that it
  /// equals, if there is one that is known to.
  SmallVector<std::optional<ArgumentExtent>> extents = {};
  /// What all elements are before the first call, and what the rows belong to;
  /// null if the program does not say.
  FloatAttr initial = {};
  ArrayAttr rows = {};

  bool isArray() const { return isa<ShapedType>(type); }
  /// The shape of an array; empty for a scalar.
  ArrayRef<int64_t> getShape() const;
  /// The size of an element or a scalar in memory.
  int64_t getElementBytes() const;
};

/// The C function of a function.
struct CInterface {
  StringRef name, source;
  SmallVector<CParameter> parameters;

  /// That of \p op, if it has one.
  static std::optional<CInterface> get(Operation *op);
  Attribute toAttribute(MLIRContext *context) const;
};

/// Whether C can pass values, or arrays with elements, of a type: floats of 8
/// (FP8) to 64 bits, booleans and signless integers of 8 to 64 bits, and index.
bool isCType(Type type);

/// Why a function of a library cannot have this name in C or C++; empty if it
/// can. The problem continues "it".
std::string findCNameProblem(StringRef name);

/// Names for the C parameters of a function with the given arguments and
/// results, in this order, such that no two C parameters have the same name.
/// Names in \p wanted that C does not allow are replaced.
SmallVector<std::string> chooseParameterNames(ArrayRef<StringRef> wanted,
                                              TypeRange arguments,
                                              TypeRange results);

} // namespace mlir::moss

#endif // MOSS_TRANSFORMS_CINTERFACE_H
