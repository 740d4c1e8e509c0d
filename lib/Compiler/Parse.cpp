//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "moss/Compiler/Compiler.h"
#include "moss/Transforms/CInterface.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace mlir::moss;

/// The name of a value in the text, without its percent sign.
static StringRef getName(const AsmParserState::SMDefinition &definition) {
  SMRange range = definition.loc;
  const char *begin = range.Start.getPointer(), *end = range.End.getPointer();
  StringRef name(begin, end - begin);
  name.consume_front("%");
  return name;
}

static void keepArgumentNames(func::FuncOp func, const AsmParserState &state) {
  if (func.isExternal())
    return;
  const AsmParserState::BlockDefinition *entry =
      state.getBlockDef(&func.front());
  if (!entry || entry->arguments.size() != func.getNumArguments())
    return;
  Builder b(func.getContext());
  SmallVector<StringRef> names;
  for (const AsmParserState::SMDefinition &argument : entry->arguments)
    names.push_back(getName(argument));
  func->setAttr(kArgumentNamesAttrName, b.getStrArrayAttr(names));
}

OwningOpRef<ModuleOp>
moss::parseProgram(const std::shared_ptr<llvm::SourceMgr> &sourceMgr,
                   MLIRContext *context) {
  const llvm::MemoryBuffer *buffer =
      sourceMgr->getMemoryBuffer(sourceMgr->getMainFileID());
  if (isBytecode(*buffer))
    return parseSourceFile<ModuleOp>(sourceMgr, ParserConfig(context));
  Block block;
  AsmParserState state;
  if (failed(parseAsmSourceFile(*sourceMgr, &block, ParserConfig(context),
                                &state)))
    return nullptr;
  block.walk([&](func::FuncOp func) { keepArgumentNames(func, state); });
  auto loc = FileLineColLoc::get(context, buffer->getBufferIdentifier(),
                                 /*line=*/0, /*column=*/0);
  return mlir::detail::constructContainerOpForParserIfNecessary<ModuleOp>(
      &block, context, loc);
}
