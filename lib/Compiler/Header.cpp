//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C header of a compiled program.
//
//===----------------------------------------------------------------------===//

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"
#include "moss/Compiler/Compiler.h"
#include "moss/Runtime/Runtime.h"
#include "moss/Transforms/CInterface.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::moss;

/// The C type of a scalar; FP8, BF16 and F16 are passed as their bits.
static std::string getCType(Type type) {
  if (type.isF32())
    return "float";
  if (type.isF64())
    return "double";
  if (type.isInteger(1))
    return "bool";
  CParameter scalar{"", ParameterKind::Scalar, type};
  bool isBits = isa<FloatType>(type);
  return ((isBits ? "uint" : "int") + Twine(8 * scalar.getElementBytes()) +
          "_t")
      .str();
}

static SmallVector<std::string> getDeclarations(const CParameter &parameter) {
  std::string name = parameter.name.str();
  if (parameter.kind == ParameterKind::Scalar)
    return {getCType(parameter.type) + " " + name};
  if (parameter.kind == ParameterKind::ScalarResult)
    return {getCType(parameter.type) + " *" + name};
  bool isRead = parameter.kind == ParameterKind::Tensor;
  SmallVector<std::string> declarations = {
      (isRead ? "const void *" : "void *") + name};
  ArrayRef<int64_t> shape = parameter.getShape();
  for (auto [index, extent] : llvm::enumerate(shape))
    if (ShapedType::isDynamic(extent))
      declarations.push_back("int64_t " + name + "_size" +
                             std::to_string(index));
  for (size_t i = 0; i < shape.size(); ++i)
    declarations.push_back("int64_t " + name + "_stride" + std::to_string(i));
  return declarations;
}

static StringRef getUse(ParameterKind kind) {
  switch (kind) {
  case ParameterKind::Scalar:
  case ParameterKind::Tensor:
    return "";
  case ParameterKind::Result:
    return ", written";
  case ParameterKind::Buffer:
  case ParameterKind::Update:
    return ", read and written";
  case ParameterKind::ScalarResult:
    return ", written to host memory";
  }
  llvm_unreachable("unknown kind of parameter");
}

static void printFunction(Operation *func, const CInterface &interface,
                          bool isGPU, raw_ostream &os) {
  bool isOnDevice = isGPU && !func->hasAttr(kHostAttrName);
  os << "// " << interface.source << ", on " << (isOnDevice ? "device" : "host")
     << " memory\n";
  for (const CParameter &parameter : interface.parameters) {
    os << "//   " << parameter.name << ": " << parameter.type
       << getUse(parameter.kind);
    if (parameter.initial)
      os << ", first filled with "
         << llvm::format("%g", parameter.initial.getValueAsDouble());
    os << "\n";
  }
  SmallVector<std::string> declarations;
  for (const CParameter &parameter : interface.parameters)
    llvm::append_range(declarations, getDeclarations(parameter));
  declarations.push_back("void *stream");
  std::string begin = ("int32_t " + interface.name + "(").str();
  os << begin
     << llvm::join(declarations, ",\n" + std::string(begin.size(), ' '))
     << ");\n\n";
}

/// The file's name as an identifier in capital letters.
static std::string getGuard(StringRef fileName) {
  std::string guard = "MOSS_" + fileName.upper();
  for (char &c : guard)
    if (!llvm::isAlnum(c))
      c = '_';
  return guard;
}

void moss::printHeader(ModuleOp module, StringRef fileName, raw_ostream &os) {
  std::string guard = getGuard(fileName);
  auto target = module->getAttrOfType<StringAttr>(kTargetAttrName);
  os << "// The C interface of a library that Moss has compiled for "
     << (target ? target.getValue() : "an unknown target") << R"(.
//
// Sizes and strides count elements. Results are written to memory of the caller
// that overlaps no argument. `stream` is a CUstream on a GPU (null: the default
// stream), for which functions do not wait, and of no meaning on a CPU.
// Functions return a MossStatus.

)"
     << "#ifndef " << guard << "\n#define " << guard << R"(

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MOSS_STATUS
#define MOSS_STATUS
typedef enum MossStatus {
  MOSS_SUCCESS = )"
     << MOSS_SUCCESS << ",\n  MOSS_INVALID_ARGUMENT = " << MOSS_INVALID_ARGUMENT
     << ",\n  MOSS_RUNTIME_ERROR = " << MOSS_RUNTIME_ERROR << R"(
} MossStatus;

// What went wrong in this thread's last call that failed.
const char *mossGetLastError(void);
#endif

)";
  bool isGPU = target && target.getValue() != "cpu";
  for (Operation &op : module.getOps())
    if (std::optional<CInterface> interface = CInterface::get(&op))
      printFunction(&op, *interface, isGPU, os);
  os << R"(#ifdef __cplusplus
}
#endif

)" << "#endif // "
     << guard << "\n";
}
