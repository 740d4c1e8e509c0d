//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// moss-run: compile a program, run it, and say how exact and how fast it is.
//
//===----------------------------------------------------------------------===//

#include "mlir/Pass/PassManager.h"
#include "moss/Compiler/CommandLine.h"
#include "moss/Run/Run.h"
#include "moss/Runtime/Runtime.h"
#include "moss/Transforms/Target.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"
#include <cmath>

using namespace mlir;
using namespace mlir::moss;
namespace cl = llvm::cl;

namespace {
/// The exit codes.
enum ExitCode { kHolds = 0, kError = 1, kViolated = 2 };

/// The options of this tool.
struct Flags {
  cl::OptionCategory category{"moss-run options"};
  cl::opt<std::string> program{cl::Positional, cl::desc("<program.mlir>"),
                               cl::Required, cl::cat(category)};
  cl::list<std::string> files{cl::Positional, cl::desc("[argument.npy...]"),
                              cl::cat(category)};
  cl::opt<std::string> entry{
      "entry", cl::desc("Function to run (default: the only public one)"),
      cl::cat(category)};
  cl::list<std::string> inputs{
      "input",
      cl::desc("An argument's values, name=file.npy, or name=number for a "
               "scalar; others are random"),
      cl::cat(category)};
  cl::list<std::string> sizes{
      "size", cl::desc("An argument's or a result's shape, as name=128x64"),
      cl::cat(category)};
  cl::list<std::string> distributions{
      "distribution",
      cl::desc("Of random arguments, or of one as name=distribution: normal "
               "(default), uniform, positive, outliers, rows, cancelling, "
               "tiny, zeros, ones"),
      cl::cat(category)};
  cl::opt<uint64_t> seed{"seed", cl::desc("Of random arguments"), cl::init(0),
                         cl::cat(category)};
  cl::list<std::string> outputs{
      "output",
      cl::desc("Write a result: file.npy for the next one, or name=file.npy"),
      cl::cat(category)};
  cl::list<std::string> expected{
      "expected",
      cl::desc("Compare a result to a file instead of the reference, likewise"),
      cl::cat(category)};
  cl::opt<std::string> reference{
      "reference",
      cl::desc("Where to compute what the program means without FP8: cpu "
               "(default), or none, which leaves only --expected"),
      cl::init("cpu"), cl::cat(category)};
  cl::opt<double> boundScale{"bound-scale",
                             cl::desc("Factor of the bound of each element"),
                             cl::init(1), cl::cat(category)};
  cl::opt<double> tolerance{
      "tolerance",
      cl::desc("Largest relative error of a result as a norm (default: an "
               "estimate, or by the formats where an element has no bound)"),
      cl::cat(category)};
  cl::opt<bool> benchmark{"benchmark", cl::desc("Time calls"), cl::init(false),
                          cl::cat(category)};
  cl::opt<unsigned> calls{"calls", cl::desc("Calls that are timed"),
                          cl::init(20), cl::cat(category)};
  cl::opt<unsigned> warmUp{"warm-up", cl::desc("Calls before those timed"),
                           cl::init(3), cl::cat(category)};
  cl::opt<bool> json{"json", cl::desc("Report as JSON"), cl::init(false),
                     cl::cat(category)};
  LoweringFlags lowering{category};
  RemarkFlags remarks{category};
};

/// Shows what is being done in one line of a terminal.
class Progress {
public:
  Progress() : isShown(llvm::sys::Process::StandardErrIsDisplayed()) {}
  ~Progress() { clear(); }

  void show(const Twine &what) {
    if (!isShown)
      return;
    llvm::errs() << kClearLine << what << "...";
    llvm::errs().flush();
  }
  void clear() {
    if (isShown)
      llvm::errs() << kClearLine;
  }

private:
  static constexpr StringLiteral kClearLine = "\r\x1b[K";
  bool isShown;
};
} // namespace

static LogicalResult setOptions(const Flags &flags, RunOptions &options) {
  if (flags.reference != "cpu" && flags.reference != "none")
    return reportError("--reference=" + flags.reference +
                       ": expected cpu or none");
  if (!(flags.boundScale > 0) || !std::isfinite(flags.boundScale))
    return reportError("--bound-scale must be positive and finite");
  if (flags.tolerance.getNumOccurrences() > 0 && !(flags.tolerance >= 0))
    return reportError("--tolerance must be 0 or more");
  if (flags.calls == 0)
    return reportError("--calls must be positive");
  options.entry = flags.entry;
  llvm::append_range(options.arguments.inputs, flags.inputs);
  llvm::append_range(options.arguments.inputs, flags.files);
  llvm::append_range(options.arguments.sizes, flags.sizes);
  llvm::append_range(options.arguments.distributions, flags.distributions);
  options.arguments.seed = flags.seed;
  llvm::append_range(options.outputs, flags.outputs);
  llvm::append_range(options.expected, flags.expected);
  options.hasReference = flags.reference == "cpu";
  options.boundScale = flags.boundScale;
  if (flags.tolerance.getNumOccurrences() > 0)
    options.tolerance = flags.tolerance;
  options.benchmarkCalls = flags.benchmark ? flags.calls : 0;
  options.warmUpCalls = flags.warmUp;
  return success();
}

/// Use a GPU if the user does not say, and there is one.
static LogicalResult chooseTarget(CompileOptions &compile) {
  auto &target = compile.lowering.target;
  if (!target.hasValue()) {
    target = mossHasDevice() ? "sm_90a" : "cpu";
    llvm::WithColor::note(llvm::errs(), "moss-run")
        << (target == "cpu" ? "no GPU is found, so the target is cpu\n"
                            : "the target is sm_90a\n");
  }
  FailureOr<TargetInfo> info = lookupTarget(target);
  if (failed(info))
    return reportError("unknown target '" + StringRef(target) + "', expected " +
                       getTargetNames());
  if (info->kind != TargetKind::CPU && !mossHasDevice())
    return reportError(
        "target " + info->name +
        " needs a GPU and its driver, and none is found; --target=cpu "
        "runs here");
  return success();
}

static FailureOr<Report> run(const Flags &flags) {
  CompileOptions compile;
  compile.cpu = "native";
  RunOptions options;
  if (failed(flags.lowering.apply(compile.lowering)) ||
      failed(setOptions(flags, options)) || failed(chooseTarget(compile)))
    return failure();
  std::unique_ptr<ProgramFile> file =
      ProgramFile::open(flags.program, flags.remarks);
  if (!file)
    return failure();
  compile.configure = [](PassManager &pm) {
    return applyPassManagerCLOptions(pm);
  };
  OwningOpRef<ModuleOp> program = file->parse();
  if (!program)
    return failure();
  Progress progress;
  options.progress = [&](const Twine &what) { progress.show(what); };
  return runProgram(*program, compile, options);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  Flags flags;
  parseCommandLine(
      "moss-run", flags.category, argc, argv,
      "Compile a program, run it, and say how exact and how fast it is\n\n"
      "Exit code: 0 if results are within their bounds, 2 if not, 1 after an "
      "error.\n");
  FailureOr<Report> report = run(flags);
  if (failed(report))
    return kError;
  if (flags.json)
    printJSON(llvm::outs(), *report);
  else
    printText(llvm::outs(), *report);
  return report->holds() ? kHolds : kViolated;
}
