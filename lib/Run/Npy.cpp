//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NumPy's .npy files: a magic string, a version, the length of a header, the
// header as a Python dictionary, and the elements
// (numpy.org/doc/stable/reference/generated/numpy.lib.format.html).
//
//===----------------------------------------------------------------------===//

#include "moss/Run/Npy.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>

using namespace mlir;
using namespace mlir::moss;

static constexpr StringLiteral kMagic = "\x93NUMPY";

namespace {
struct Header {
  StringRef type;
  bool isFortranOrder = false;
  SmallVector<int64_t> shape;
  /// Where the elements begin.
  size_t offset = 0;
};
} // namespace

static llvm::Error makeError(const Twine &message) {
  return llvm::createStringError(message);
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The text behind `'key':` in the dictionary, or nothing.
static std::optional<StringRef> findValue(StringRef dictionary, StringRef key) {
  for (char quote : {'\'', '"'}) {
    std::string quoted = (Twine(quote) + key + Twine(quote)).str();
    size_t at = dictionary.find(quoted);
    if (at == StringRef::npos)
      continue;
    StringRef rest = dictionary.substr(at + quoted.size()).ltrim();
    if (rest.consume_front(":"))
      return rest.ltrim();
  }
  return std::nullopt;
}

static llvm::Error parseShape(StringRef text, SmallVector<int64_t> &shape) {
  size_t end = text.find(')');
  if (!text.starts_with("(") || end == StringRef::npos)
    return makeError("its shape is not a tuple");
  SmallVector<StringRef> extents;
  text.slice(1, end).split(extents, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  int64_t count = 1;
  for (StringRef part : extents) {
    int64_t extent;
    if (part.trim().empty())
      continue;
    if (part.trim().getAsInteger(10, extent) || extent < 0 ||
        llvm::MulOverflow(count, std::max<int64_t>(extent, 1), count))
      return makeError("its shape has the extent '" + part.trim() + "'");
    shape.push_back(extent);
  }
  return llvm::Error::success();
}

static llvm::Expected<Header> parseHeader(StringRef data) {
  if (!data.starts_with(kMagic) || data.size() < 10)
    return makeError("it is not a .npy file");
  unsigned version = static_cast<unsigned char>(data[6]);
  if (version < 1 || version > 3)
    return makeError("its format has version " + Twine(version) +
                     ", and only 1 to 3 are known");
  size_t begin = version == 1 ? 10 : 12;
  if (data.size() < begin)
    return makeError("it ends within its header");
  size_t length =
      version == 1 ? size_t(llvm::support::endian::read16le(data.data() + 8))
                   : size_t(llvm::support::endian::read32le(data.data() + 8));
  if (data.size() - begin < length)
    return makeError("it ends within its header");
  StringRef dictionary = data.substr(begin, length);
  Header header;
  header.offset = begin + length;
  std::optional<StringRef> type = findValue(dictionary, "descr");
  std::optional<StringRef> order = findValue(dictionary, "fortran_order");
  std::optional<StringRef> shape = findValue(dictionary, "shape");
  if (!type || !order || !shape)
    return makeError("its header lacks descr, fortran_order or shape");
  if (type->empty() || (type->front() != '\'' && type->front() != '"'))
    return makeError("it holds structured elements");
  header.type = type->drop_front().split(type->front()).first;
  header.isFortranOrder = order->starts_with("True");
  if (llvm::Error error = parseShape(*shape, header.shape))
    return error;
  return header;
}

/// The kind that NumPy's type of elements is read as: the wanted one if these
/// are its bits.
static std::optional<ElementKind> getStoredKind(StringRef type,
                                                ElementKind wanted) {
  if (!type.consume_front("<") && !type.consume_front("|") &&
      !type.consume_front("="))
    return std::nullopt;
  bool isRaw = type.consume_front("V") || type.consume_front("u");
  if (isRaw && isFloat(wanted) &&
      type == Twine(getElementBytes(wanted)).str() &&
      getElementBytes(wanted) <= 2)
    return wanted;
  if (isRaw)
    return std::nullopt;
  std::optional<ElementKind> kind =
      llvm::StringSwitch<std::optional<ElementKind>>(type)
          .Case("f2", ElementKind::F16)
          .Case("f4", ElementKind::F32)
          .Case("f8", ElementKind::F64)
          .Case("b1", ElementKind::I1)
          .Case("i1", ElementKind::I8)
          .Case("i2", ElementKind::I16)
          .Case("i4", ElementKind::I32)
          .Case("i8", ElementKind::I64)
          .Default(std::nullopt);
  if (!kind || (isFloat(*kind) && isFloat(wanted)))
    return kind;
  bool isSame = *kind == wanted ||
                (*kind == ElementKind::I64 && wanted == ElementKind::Index);
  return isSame ? std::optional(wanted) : std::nullopt;
}

static StringRef describeAccepted(ElementKind kind) {
  switch (kind) {
  case ElementKind::BF16:
    return "uint16 or 2 raw bytes (its bits), or float16, float32 or float64";
  case ElementKind::E4M3:
  case ElementKind::E5M2:
  case ElementKind::E8M0:
    return "uint8 or a raw byte (its bits), or float16, float32 or float64";
  case ElementKind::F16:
  case ElementKind::F32:
  case ElementKind::F64:
    return "float16, float32 or float64";
  case ElementKind::I1:
    return "bool";
  case ElementKind::Index:
    return "int64";
  default:
    return "signed integers of its width";
  }
}

static llvm::Expected<HostArray> parseNpy(StringRef data, ElementKind kind) {
  llvm::Expected<Header> header = parseHeader(data);
  if (!header)
    return header.takeError();
  if (header->isFortranOrder)
    return makeError("it is in Fortran's order; save it with "
                     "numpy.ascontiguousarray");
  std::optional<ElementKind> stored = getStoredKind(header->type, kind);
  if (!stored)
    return makeError("its elements are '" + header->type + "', and " +
                     getElementName(kind) + " is read from " +
                     describeAccepted(kind) + ", little-endian");
  HostArray array;
  array.kind = *stored;
  array.shape = header->shape;
  StringRef elements = data.substr(header->offset);
  // The product of the extents has been checked; that of the bytes may still
  // be too large, but then so is the quotient.
  if (elements.size() / getElementBytes(*stored) !=
          static_cast<size_t>(array.size()) ||
      elements.size() % getElementBytes(*stored) != 0)
    return makeError("it has " + Twine(elements.size()) +
                     " bytes of elements, which is not what its shape " +
                     formatShape(header->shape) + " takes");
  array.bytes.assign(elements.begin(), elements.end());
  if (*stored == kind)
    return array;
  HostArray rounded(kind, array.shape);
  for (int64_t i = 0, e = array.size(); i < e; ++i)
    rounded.set(i, array.get(i));
  return rounded;
}

llvm::Expected<HostArray> moss::readNpy(StringRef path, ElementKind kind) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false);
  if (!file)
    return makeError("cannot read '" + path +
                     "': " + file.getError().message());
  llvm::Expected<HostArray> array = parseNpy((*file)->getBuffer(), kind);
  if (!array)
    return makeError("cannot read '" + path +
                     "': " + llvm::toString(array.takeError()));
  return array;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static StringRef getNpyType(ElementKind kind) {
  switch (kind) {
  case ElementKind::BF16:
  case ElementKind::F32:
    return "<f4";
  case ElementKind::F16:
    return "<f2";
  case ElementKind::F64:
    return "<f8";
  case ElementKind::E4M3:
  case ElementKind::E5M2:
  case ElementKind::E8M0:
    return "|u1";
  case ElementKind::I1:
    return "|b1";
  case ElementKind::I8:
    return "|i1";
  case ElementKind::I16:
    return "<i2";
  case ElementKind::I32:
    return "<i4";
  case ElementKind::I64:
  case ElementKind::Index:
    return "<i8";
  }
  llvm_unreachable("unknown kind of element");
}

void moss::writeNpy(llvm::raw_ostream &os, const HostArray &array) {
  std::string header;
  llvm::raw_string_ostream text(header);
  text << "{'descr': '" << getNpyType(array.kind)
       << "', 'fortran_order': False, 'shape': (";
  llvm::interleave(array.shape, text, ", ");
  text << (array.shape.size() == 1 ? ",), }" : "), }");
  // The elements begin at a multiple of 64 bytes.
  size_t length = llvm::alignTo(kMagic.size() + 4 + header.size() + 1, 64);
  header.resize(length - kMagic.size() - 4 - 1, ' ');
  header += '\n';
  char sizes[] = {1, 0, static_cast<char>(header.size() & 0xff),
                  static_cast<char>(header.size() >> 8)};
  os << kMagic << StringRef(sizes, 4) << header;
  if (array.kind != ElementKind::BF16) {
    os.write(array.bytes.data(), array.bytes.size());
    return;
  }
  HostArray wide(ElementKind::F32, array.shape);
  for (int64_t i = 0, e = array.size(); i < e; ++i)
    wide.set(i, array.get(i));
  os.write(wide.bytes.data(), wide.bytes.size());
}
