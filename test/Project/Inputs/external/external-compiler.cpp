// A compiler for programs with F32 matmuls: rounds their operands to BF16, has
// Moss compute them in FP8 on a CPU, and says what it found before and after.
//
//     external-compiler <input.mlir> <level that Moss stops at>

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "moss/IR/Moss.h"
#include "moss/Pipelines/FP8Lower.h"
#include "moss/Pipelines/Pipelines.h"

using namespace mlir;

namespace {
/// Rounds the operands of F32 matmuls to BF16, which is what Moss looks for.
struct RoundOperandsPass
    : PassWrapper<RoundOperandsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RoundOperandsPass)

  void runOnOperation() override {
    SmallVector<linalg::MatmulOp> matmuls;
    getOperation().walk([&](linalg::MatmulOp op) { matmuls.push_back(op); });
    for (linalg::MatmulOp op : matmuls) {
      IRRewriter rewriter(op);
      auto round = [&](Value operand) -> Value {
        auto type = cast<RankedTensorType>(operand.getType())
                        .clone(rewriter.getBF16Type());
        return arith::TruncFOp::create(rewriter, op.getLoc(), type, operand);
      };
      rewriter.replaceOpWithNewOp<linalg::MatmulOp>(
          op, op->getResultTypes(),
          ValueRange{round(op.getInputs()[0]), round(op.getInputs()[1])},
          op.getOutputs());
    }
  }
};

/// Counts the operations that matter here.
struct CountPass : PassWrapper<CountPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(CountPass)

  void runOnOperation() override {
    int matmuls = 0, scaled = 0, tiles = 0;
    getOperation().walk([&](Operation *op) {
      matmuls += isa<linalg::MatmulOp>(op);
      scaled += isa<moss::ScaledMatmulOp>(op);
      tiles += isa<moss::MmaOp>(op);
    });
    llvm::outs() << "// " << matmuls << " linalg.matmul, " << scaled
                 << " moss.scaled_matmul, " << tiles << " moss.mma\n";
  }
};
} // namespace

static LogicalResult compile(ModuleOp module, StringRef level) {
  PassManager pm(module.getContext());
  pm.addPass(std::make_unique<CountPass>());
  pm.addPass(std::make_unique<RoundOperandsPass>());

  moss::FP8LowerOptions options;
  options.target = "cpu";
  options.to = level.str();
  auto reportError = [&](const Twine &message) {
    return emitError(module.getLoc()) << message;
  };
  if (failed(moss::buildFP8LowerPipeline(pm, options, reportError)))
    return failure();

  pm.addPass(std::make_unique<CountPass>());
  return pm.run(module);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    llvm::errs() << "usage: " << argv[0] << " <input.mlir> <level>\n";
    return 2;
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  registerAllExtensions(registry);
  moss::registerDialects(registry);
  MLIRContext context(registry);

  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module || failed(compile(*module, argv[2])))
    return 1;
  module->print(llvm::outs());
  return 0;
}
