//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss.warp_specialize -> branches on the warpgroup and the warp.
//
//===----------------------------------------------------------------------===//

#include "RolesToNVVM.h"
#include "SharedMemory.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace mlir::moss;

/// The number of the thread's group of 2^`log2Threads`, a whole number of
/// warps. A shuffle makes it uniform for the assembler.
static Value getGroup(ImplicitLocOpBuilder &b, int64_t log2Threads) {
  Value thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  Value group = arith::ShRUIOp::create(b, thread, i32Constant(b, log2Threads));
  return NVVM::ShflOp::create(b, b.getI32Type(), i32Constant(b, -1), group,
                              i32Constant(b, 0), i32Constant(b, 31),
                              NVVM::ShflKind::idx, UnitAttr());
}

/// A branch for group number `number`.
static scf::IfOp createIf(ImplicitLocOpBuilder &b, Value group, int64_t number,
                          bool withElseRegion) {
  Value condition = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, group,
                                          i32Constant(b, number));
  return scf::IfOp::create(b, condition, withElseRegion);
}

/// Branch on the warp in the warpgroup of the producer and the converter.
static void lowerWarps(ImplicitLocOpBuilder &b, WarpSpecializeOp roles) {
  auto moveTo = [](Block *target, Region &role) {
    target->getOperations().splice(target->begin(),
                                   role.front().getOperations());
  };
  bool hasConverter = !roles.getConverter().empty();
  Value warp = getGroup(b, /*log2Threads=*/5);
  // Not one after the other: the number of the warp would take a register of
  // the producer until then.
  auto first = createIf(b, warp, 0, /*withElseRegion=*/hasConverter);
  b.setInsertionPointToStart(first.thenBlock());
  auto elected =
      scf::IfOp::create(b, NVVM::ElectSyncOp::create(b, b.getI1Type(), Value()),
                        /*withElseRegion=*/false);
  moveTo(elected.thenBlock(), roles.getProducer());
  if (!hasConverter)
    return;
  b.setInsertionPointToStart(first.elseBlock());
  auto second = createIf(b, warp, 1, /*withElseRegion=*/false);
  moveTo(second.thenBlock(), roles.getConverter());
}

void moss::lowerRoles(WarpSpecializeOp roles) {
  ImplicitLocOpBuilder b(roles.getLoc(), roles);
  // Without it the assembler may not know how many registers a thread begins
  // with, and then ignores setmaxregister.
  roles->getParentOfType<gpu::GPUFuncOp>()->setAttr(
      NVVM::NVVMDialect::getMinctasmAttrName(), b.getI32IntegerAttr(1));
  Value group = getGroup(b, /*log2Threads=*/7);
  auto branch = createIf(b, group, 0, /*withElseRegion=*/true);

  b.setInsertionPointToStart(branch.thenBlock());
  NVVM::SetMaxRegisterOp::create(b, roles.getProducerRegisters(),
                                 NVVM::SetMaxRegisterAction::decrease);
  lowerWarps(b, roles);

  b.setInsertionPointToStart(branch.elseBlock());
  NVVM::SetMaxRegisterOp::create(b, roles.getConsumerRegisters(),
                                 NVVM::SetMaxRegisterAction::increase);
  Value consumer = arith::IndexCastOp::create(
      b, b.getIndexType(), arith::SubIOp::create(b, group, i32Constant(b, 1)));
  Block &body = roles.getConsumer().front();
  body.getArgument(0).replaceAllUsesWith(consumer);
  Block *consumers = branch.elseBlock();
  consumers->getOperations().splice(std::prev(consumers->end()),
                                    body.getOperations());
  roles.erase();
}
