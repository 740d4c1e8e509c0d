//===----------------------------------------------------------------------===//
//
// Part of Moss, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Calls of compiled functions: checks of their arguments, copies of those that
// are not contiguous, and errors as return codes.
//
//===----------------------------------------------------------------------===//

#include "StridedCopy.h"

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>

using namespace moss_runtime;

//===----------------------------------------------------------------------===//
// The current call
//===----------------------------------------------------------------------===//

namespace {
/// A call in progress on this thread, and the memory that it holds.
class Call {
public:
  explicit Call(CUstream stream)
      : outer(current), outerStream(exchangeCallerStream({true, stream})) {
    current = this;
  }
  ~Call() {
    current = outer;
    exchangeCallerStream(outerStream);
  }
  Call(const Call &) = delete;
  Call &operator=(const Call &) = delete;

  static Call *getCurrent() { return current; }

  void add(void *pointer, CUstream stream, bool isOnHost) {
    allocations.push_back({pointer, stream, isOnHost});
  }
  void remove(void *pointer) {
    auto found = std::find_if(allocations.rbegin(), allocations.rend(),
                              [&](const Allocation &allocation) {
                                return allocation.pointer == pointer;
                              });
    if (found != allocations.rend())
      allocations.erase(std::next(found).base());
  }
  /// Free what a failed call has left. Errors are dropped, since the one that
  /// the call failed with is their cause.
  void releaseAll() noexcept {
    for (const Allocation &allocation : allocations)
      if (allocation.isOnHost)
        std::free(allocation.pointer);
      else
        tryDriver().cuMemFreeAsync(toDevice(allocation.pointer),
                                   allocation.stream);
    allocations.clear();
  }

private:
  struct Allocation {
    void *pointer;
    CUstream stream;
    bool isOnHost;
  };

  static thread_local Call *current;

  Call *outer;
  CallerStream outerStream;
  std::vector<Allocation> allocations;
};
} // namespace

thread_local Call *Call::current = nullptr;
static thread_local std::string lastError;

bool moss_runtime::isInCall() { return Call::getCurrent(); }

void moss_runtime::noteDeviceAllocation(void *pointer, CUstream stream) {
  if (Call *call = Call::getCurrent())
    call->add(pointer, stream, /*isOnHost=*/false);
}

void moss_runtime::noteHostAllocation(void *pointer) {
  if (Call *call = Call::getCurrent())
    call->add(pointer, /*stream=*/nullptr, /*isOnHost=*/true);
}

void moss_runtime::noteFree(void *pointer) {
  if (Call *call = Call::getCurrent())
    call->remove(pointer);
}

const char *mossGetLastError() { return lastError.c_str(); }

void mossFailAssertion(const char *message) {
  fail(message, MOSS_INVALID_ARGUMENT);
}

void mossFailComparison(const char *message, int64_t left, int64_t right) {
  fail(std::string(message) + " (" + std::to_string(left) + " and " +
           std::to_string(right) + ")",
       MOSS_INVALID_ARGUMENT);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

namespace {
/// A memref descriptor; `sizesAndStrides` has twice the rank elements.
struct Descriptor {
  void *allocated, *aligned;
  int64_t offset;
  int64_t sizesAndStrides[1];
};

/// An array argument of a function, and its contiguous stand-in if it needs
/// one.
class ArrayArgument {
public:
  ArrayArgument(const MossFunction &function, const MossParameter &parameter,
                void *slot)
      : function(function), parameter(parameter),
        descriptor(*static_cast<Descriptor *>(slot)) {}

  /// Fail if the function cannot work with the argument.
  void verify() const;
  bool isContiguous() const { return view().isContiguous(); }
  /// Let the descriptor describe a contiguous array.
  void setContiguousStrides();

  bool isRead() const { return parameter.kind != MOSS_RESULT; }
  bool isWritten() const { return parameter.kind != MOSS_TENSOR; }

  StridedArray view() const {
    return {static_cast<char *>(descriptor.aligned), sizes(), strides(),
            parameter.rank, parameter.elementBytes};
  }
  int64_t getNumBytes() const;
  /// Whether the two share memory in which one is written to. Arrays that are
  /// not contiguous have stand-ins, so what they share is copied in time.
  bool conflictsWith(const ArrayArgument &other) const;
  const char *getName() const { return parameter.name; }
  void setData(void *data) { descriptor.allocated = descriptor.aligned = data; }
  [[noreturn]] void reject(const std::string &problem) const;

private:
  int64_t *sizes() const { return descriptor.sizesAndStrides; }
  int64_t *strides() const { return sizes() + parameter.rank; }

  const MossFunction &function;
  const MossParameter &parameter;
  Descriptor &descriptor;
};
} // namespace

void ArrayArgument::reject(const std::string &problem) const {
  fail(std::string(function.name) + ": '" + parameter.name + "' " + problem,
       MOSS_INVALID_ARGUMENT);
}

int64_t ArrayArgument::getNumBytes() const {
  int64_t bytes = parameter.elementBytes;
  bool overflows = false, isEmpty = false;
  for (int32_t i = 0; i < parameter.rank; ++i) {
    isEmpty |= sizes()[i] == 0;
    overflows |= __builtin_mul_overflow(bytes, sizes()[i], &bytes);
  }
  if (isEmpty)
    return 0;
  if (overflows)
    reject("has more elements than fit into memory");
  return bytes;
}

void ArrayArgument::verify() const {
  auto describe = [](const char *what, int32_t dim, int64_t value) {
    return std::string("has ") + what + " " + std::to_string(value) +
           " in dimension " + std::to_string(dim);
  };
  for (int32_t i = 0; i < parameter.rank; ++i) {
    if (sizes()[i] < 0)
      reject(describe("size", i, sizes()[i]) + ", but a size is 0 or more");
    if (strides()[i] < 0 && sizes()[i] > 1)
      reject(describe("stride", i, strides()[i]) +
             ", but a stride is 0 or more; reverse a copy");
  }
  if (getNumBytes() == 0)
    return;
  if (!descriptor.aligned)
    reject("is null, but has elements");
  if (reinterpret_cast<uintptr_t>(descriptor.aligned) %
          parameter.elementBytes !=
      0)
    reject("begins at an address that is not a multiple of " +
           std::to_string(parameter.elementBytes) + ", the size of an element");
  if (isWritten() && !isContiguous() && !view().isInjective())
    reject("is written to, but its strides let elements share memory");
}

bool ArrayArgument::conflictsWith(const ArrayArgument &other) const {
  if (!isWritten() || !isContiguous() || !other.isContiguous())
    return false;
  auto begin = reinterpret_cast<uintptr_t>(descriptor.aligned);
  auto otherBegin = reinterpret_cast<uintptr_t>(other.descriptor.aligned);
  uintptr_t bytes = getNumBytes(), otherBytes = other.getNumBytes();
  return bytes != 0 && otherBytes != 0 && begin < otherBegin + otherBytes &&
         otherBegin < begin + bytes;
}

void ArrayArgument::setContiguousStrides() {
  int64_t stride = 1;
  for (int32_t i = parameter.rank; i-- > 0;) {
    strides()[i] = stride;
    stride *= sizes()[i];
  }
}

//===----------------------------------------------------------------------===//
// Stand-ins
//===----------------------------------------------------------------------===//

namespace {
/// Contiguous stand-ins for the arguments of a call that are not contiguous.
class StandIns {
public:
  StandIns(bool onDevice, CUstream stream)
      : onDevice(onDevice), stream(stream) {}

  /// Put a stand-in into an argument's descriptor.
  void add(ArrayArgument &argument);
  /// Copy back what was written, and free device memory.
  void finish();

private:
  struct StandIn {
    StridedCopy copy;
    char *packed;
    bool isWritten;
    std::unique_ptr<char[]> hostMemory;
  };

  char *allocate(int64_t bytes, std::unique_ptr<char[]> &hostMemory) const;
  void run(const StandIn &standIn, bool toPacked) const;

  bool onDevice;
  CUstream stream;
  std::vector<StandIn> standIns;
};
} // namespace

char *StandIns::allocate(int64_t bytes,
                         std::unique_ptr<char[]> &hostMemory) const {
  if (onDevice)
    return static_cast<char *>(mgpuMemAlloc(bytes, stream, false));
  hostMemory.reset(new char[bytes]);
  return hostMemory.get();
}

void StandIns::run(const StandIn &standIn, bool toPacked) const {
  if (onDevice)
    standIn.copy.copyOnDevice(standIn.packed, toPacked, stream);
  else
    standIn.copy.copyOnHost(standIn.packed, toPacked);
}

void StandIns::add(ArrayArgument &argument) {
  // The copy keeps its own dimensions; the descriptor's strides change below.
  StandIn standIn{StridedCopy(argument.view()), nullptr, argument.isWritten(),
                  nullptr};
  if (std::string problem = standIn.copy.findDeviceProblem();
      onDevice && !problem.empty())
    argument.reject("cannot be copied to contiguous memory, because " +
                    problem + "; make it contiguous before the call");
  standIn.packed = allocate(argument.getNumBytes(), standIn.hostMemory);
  if (argument.isRead())
    run(standIn, /*toPacked=*/true);
  argument.setData(standIn.packed);
  standIns.push_back(std::move(standIn));
}

void StandIns::finish() {
  for (const StandIn &standIn : standIns) {
    if (standIn.isWritten)
      run(standIn, /*toPacked=*/false);
    if (onDevice)
      mgpuMemFree(standIn.packed, stream);
  }
}

//===----------------------------------------------------------------------===//
// Invocation
//===----------------------------------------------------------------------===//

/// The array arguments, after all checks.
static std::vector<ArrayArgument> getArrays(const MossFunction &function,
                                            void **slots) {
  std::vector<ArrayArgument> arrays;
  for (int32_t i = 0; i < function.numParameters; ++i) {
    const MossParameter &parameter = function.parameters[i];
    if (parameter.kind == MOSS_SCALAR_RESULT && !slots[i])
      fail(std::string(function.name) + ": '" + parameter.name + "' is null",
           MOSS_INVALID_ARGUMENT);
    if (parameter.kind != MOSS_SCALAR && parameter.kind != MOSS_SCALAR_RESULT)
      arrays.emplace_back(function, parameter, slots[i]);
  }
  for (const ArrayArgument &array : arrays)
    array.verify();
  for (const ArrayArgument &written : arrays)
    for (const ArrayArgument &other : arrays)
      if (&written != &other && written.conflictsWith(other))
        written.reject(std::string("is written to, but shares memory with '") +
                       other.getName() + "'");
  return arrays;
}

static void invoke(const MossFunction &function, void **slots,
                   CUstream stream) {
  StandIns standIns(function.onDevice, stream);
  // All checks come before the first copy.
  for (ArrayArgument &array : getArrays(function, slots)) {
    if (!array.isContiguous())
      standIns.add(array);
    array.setContiguousStrides();
  }
  function.body(slots);
  standIns.finish();
}

int32_t mossInvoke(const MossFunction *function, void **slots, void *stream) {
  Call call(stream);
  try {
    invoke(*function, slots, stream);
    return MOSS_SUCCESS;
  } catch (const Failure &failure) {
    lastError = failure.message;
    call.releaseAll();
    return failure.status;
  } catch (const std::exception &error) {
    lastError = std::string(function->name) + ": " + error.what();
    call.releaseAll();
    return MOSS_RUNTIME_ERROR;
  }
}
