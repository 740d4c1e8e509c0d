//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "moss/Transforms/CInterface.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace mlir::moss;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool moss::isCType(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (auto integer = dyn_cast<IntegerType>(element))
    return integer.isSignless() &&
           llvm::is_contained({1, 8, 16, 32, 64}, integer.getWidth());
  if (auto floating = dyn_cast<FloatType>(element))
    return llvm::is_contained({8, 16, 32, 64}, floating.getWidth());
  return element.isIndex();
}

ArrayRef<int64_t> CParameter::getShape() const {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? shaped.getShape() : ArrayRef<int64_t>();
}

int64_t CParameter::getElementBytes() const {
  Type element = getElementTypeOrSelf(type);
  return element.isIndex()
             ? sizeof(int64_t)
             : llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

StringRef moss::stringifyParameterKind(ParameterKind kind) {
  switch (kind) {
  case ParameterKind::Scalar:
    return "scalar";
  case ParameterKind::Tensor:
    return "tensor";
  case ParameterKind::Result:
    return "result";
  case ParameterKind::Buffer:
    return "buffer";
  case ParameterKind::Update:
    return "update";
  case ParameterKind::ScalarResult:
    return "scalar-result";
  }
  llvm_unreachable("unknown kind of parameter");
}

static std::optional<ParameterKind> symbolizeParameterKind(StringRef name) {
  for (ParameterKind kind :
       {ParameterKind::Scalar, ParameterKind::Tensor, ParameterKind::Result,
        ParameterKind::Buffer, ParameterKind::Update,
        ParameterKind::ScalarResult})
    if (stringifyParameterKind(kind) == name)
      return kind;
  return std::nullopt;
}

static std::optional<CParameter> parseParameter(Attribute attribute) {
  auto entry = dyn_cast<DictionaryAttr>(attribute);
  if (!entry)
    return std::nullopt;
  auto name = entry.getAs<StringAttr>("name");
  auto kindName = entry.getAs<StringAttr>("kind");
  auto typeName = entry.getAs<StringAttr>("type");
  if (!name || !kindName || !typeName)
    return std::nullopt;
  std::optional<ParameterKind> kind = symbolizeParameterKind(kindName);
  Type type = parseType(typeName, attribute.getContext());
  if (!kind || !type || !isCType(type))
    return std::nullopt;
  CParameter parameter{name, *kind, type};
  parameter.initial = entry.getAs<FloatAttr>("initial");
  parameter.rows = entry.getAs<ArrayAttr>("rows");
  auto extents = entry.getAs<DenseI64ArrayAttr>("extents");
  if (!extents)
    return parameter;
  ArrayRef<int64_t> numbers = extents;
  int64_t numDynamic =
      llvm::count_if(parameter.getShape(), ShapedType::isDynamic);
  if (extents.size() != 2 * numDynamic)
    return std::nullopt;
  for (; !numbers.empty(); numbers = numbers.drop_front(2))
    parameter.extents.push_back(
        numbers[0] < 0 ? std::nullopt
                       : std::optional(ArgumentExtent{numbers[0], numbers[1]}));
  return parameter;
}

std::optional<CInterface> CInterface::get(Operation *op) {
  auto dictionary = op->getAttrOfType<DictionaryAttr>(kCInterfaceAttrName);
  if (!dictionary)
    return std::nullopt;
  auto name = dictionary.getAs<StringAttr>("name");
  auto source = dictionary.getAs<StringAttr>("source");
  auto entries = dictionary.getAs<ArrayAttr>("parameters");
  if (!name || !source || !entries)
    return std::nullopt;
  CInterface interface{name, source, {}};
  for (Attribute entry : entries) {
    std::optional<CParameter> parameter = parseParameter(entry);
    if (!parameter)
      return std::nullopt;
    interface.parameters.push_back(*parameter);
  }
  return interface;
}

Attribute CInterface::toAttribute(MLIRContext *context) const {
  auto string = [&](StringRef text) { return StringAttr::get(context, text); };
  // As text, since lowerings replace types in attributes too.
  auto print = [&](Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return string(text);
  };
  SmallVector<Attribute> entries;
  for (const CParameter &parameter : parameters) {
    NamedAttrList entry;
    entry.append("name", string(parameter.name));
    entry.append("kind", string(stringifyParameterKind(parameter.kind)));
    entry.append("type", print(parameter.type));
    SmallVector<int64_t> extents;
    for (std::optional<ArgumentExtent> extent : parameter.extents)
      llvm::append_range(extents, extent ? ArrayRef<int64_t>{extent->argument,
                                                             extent->dimension}
                                         : ArrayRef<int64_t>{-1, -1});
    if (!extents.empty())
      entry.append("extents", DenseI64ArrayAttr::get(context, extents));
    if (parameter.initial)
      entry.append("initial", parameter.initial);
    if (parameter.rows)
      entry.append("rows", parameter.rows);
    entries.push_back(entry.getDictionary(context));
  }
  return DictionaryAttr::get(
      context, {{string("name"), string(name)},
                {string("source"), string(source)},
                {string("parameters"), ArrayAttr::get(context, entries)}});
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Keywords of C23, C++23 and alternative operators.
static bool isKeyword(StringRef name) {
  static const llvm::StringSet<> keywords = {"alignas",
                                             "alignof",
                                             "and",
                                             "and_eq",
                                             "asm",
                                             "auto",
                                             "bitand",
                                             "bitor",
                                             "bool",
                                             "break",
                                             "case",
                                             "catch",
                                             "char",
                                             "char16_t",
                                             "char32_t",
                                             "char8_t",
                                             "class",
                                             "co_await",
                                             "co_return",
                                             "co_yield",
                                             "compl",
                                             "concept",
                                             "const",
                                             "const_cast",
                                             "consteval",
                                             "constexpr",
                                             "constinit",
                                             "continue",
                                             "decltype",
                                             "default",
                                             "delete",
                                             "do",
                                             "double",
                                             "dynamic_cast",
                                             "else",
                                             "enum",
                                             "explicit",
                                             "export",
                                             "extern",
                                             "false",
                                             "float",
                                             "for",
                                             "friend",
                                             "goto",
                                             "if",
                                             "inline",
                                             "int",
                                             "long",
                                             "mutable",
                                             "namespace",
                                             "new",
                                             "noexcept",
                                             "not",
                                             "not_eq",
                                             "nullptr",
                                             "operator",
                                             "or",
                                             "or_eq",
                                             "private",
                                             "protected",
                                             "public",
                                             "register",
                                             "reinterpret_cast",
                                             "requires",
                                             "restrict",
                                             "return",
                                             "short",
                                             "signed",
                                             "sizeof",
                                             "static",
                                             "static_assert",
                                             "static_cast",
                                             "struct",
                                             "switch",
                                             "template",
                                             "this",
                                             "thread_local",
                                             "throw",
                                             "true",
                                             "try",
                                             "typedef",
                                             "typeid",
                                             "typename",
                                             "typeof",
                                             "typeof_unqual",
                                             "union",
                                             "unsigned",
                                             "using",
                                             "virtual",
                                             "void",
                                             "volatile",
                                             "wchar_t",
                                             "while",
                                             "xor",
                                             "xor_eq"};
  return keywords.contains(name);
}

static bool isCIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// Names that the C and C++ standards keep for the implementation.
static bool isImplementationName(StringRef name) {
  return name.contains("__") ||
         (name.size() > 1 && name[0] == '_' && llvm::isUpper(name[1]));
}

/// Whether the C library or the compiler has a function of this name.
static bool isLibraryFunction(StringRef name) {
  static const llvm::TargetLibraryInfoImpl library{
      llvm::Triple(llvm::sys::getDefaultTargetTriple())};
  llvm::LibFunc function;
  return library.getLibFunc(name, function) ||
         llvm::is_contained({"_fini", "_init", "abort", "exit"}, name);
}

/// Whether generated headers, or compilers by themselves, give the name another
/// meaning: a type, a constant or a macro.
static bool isHeaderName(StringRef name) {
  if (name == "MossStatus" || name.starts_with("MOSS_") ||
      llvm::is_contained({"linux", "unix"}, name))
    return true;
  StringRef rest = name;
  if (!rest.consume_front("u"))
    rest.consume_front("U");
  return (rest.starts_with("int") && rest.ends_with("_t")) ||
         rest.starts_with("INT");
}

static bool isRuntimeName(StringRef name) {
  if (name == "moss_module_description" || name.starts_with("mgpu"))
    return true;
  return name.consume_front("moss") && !name.empty() &&
         llvm::isUpper(name.front());
}

std::string moss::findCNameProblem(StringRef name) {
  if (!isCIdentifier(name))
    return "is not an identifier of C";
  if (isKeyword(name))
    return "is a keyword of C or C++";
  if (name == "main")
    return "is where a program begins";
  if (isImplementationName(name))
    return "is reserved for implementations of C and C++";
  if (isLibraryFunction(name))
    return "is a function of the C library";
  if (isHeaderName(name))
    return "has another meaning in headers of C or of Moss";
  if (isRuntimeName(name))
    return "is reserved for the runtime of Moss";
  return "";
}

/// The C parameters that a parameter becomes.
static SmallVector<std::string> getCNames(StringRef name, Type type) {
  SmallVector<std::string> names = {name.str()};
  auto shaped = dyn_cast<ShapedType>(type);
  if (!shaped || !shaped.hasRank())
    return names;
  for (int64_t i = 0; i < shaped.getRank(); ++i) {
    names.push_back((name + "_size" + Twine(i)).str());
    names.push_back((name + "_stride" + Twine(i)).str());
  }
  return names;
}

namespace {
/// Gives out names that are valid in C and not yet taken.
class NameChooser {
public:
  std::string choose(StringRef wanted, const Twine &fallback, Type type) {
    if (isFree(wanted, type))
      return take(wanted, type);
    std::string name = fallback.str();
    while (!isFree(name, type))
      name += '_';
    return take(name, type);
  }

private:
  bool isFree(StringRef name, Type type) const {
    return isCIdentifier(name) && !isKeyword(name) &&
           !isImplementationName(name) && !isHeaderName(name) &&
           llvm::none_of(getCNames(name, type), [&](const std::string &cName) {
             return taken.contains(cName);
           });
  }
  std::string take(StringRef name, Type type) {
    for (const std::string &cName : getCNames(name, type))
      taken.insert(cName);
    return name.str();
  }

  llvm::StringSet<> taken = {"stream"};
};
} // namespace

SmallVector<std::string> moss::chooseParameterNames(ArrayRef<StringRef> wanted,
                                                    TypeRange arguments,
                                                    TypeRange results) {
  NameChooser chooser;
  SmallVector<std::string> names;
  for (auto [index, type] : llvm::enumerate(arguments))
    names.push_back(chooser.choose(index < wanted.size() ? wanted[index] : "",
                                   "arg" + Twine(index), type));
  for (auto [index, type] : llvm::enumerate(results)) {
    std::string name =
        results.size() == 1 ? "result" : ("result" + Twine(index)).str();
    names.push_back(chooser.choose(name, name + "_", type));
  }
  return names;
}
