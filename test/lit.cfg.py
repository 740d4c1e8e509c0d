"""Configuration of Moss's lit tests."""

import ctypes
import importlib.util
import os
import shutil
import sys

import lit.formats
from lit.llvm import llvm_config

config.name = "Moss"
config.test_format = lit.formats.ShTest(not llvm_config.use_lit_shell)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.moss_obj_root, "test")

llvm_config.use_default_substitutions()
llvm_config.with_environment(
    "PATH", [os.path.join(config.moss_obj_root, "bin"), config.llvm_tools_dir],
    append_path=True)
config.substitutions.append(("%llvm_lib_dir", config.llvm_lib_dir))
config.substitutions.append(("%moss_src_dir", config.moss_src_root))
config.substitutions.append(("%moss_build_dir", config.moss_obj_root))
config.substitutions.append(("%moss_lib_dir", os.path.join(config.moss_obj_root, "lib")))
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%llvm_include_dir", config.llvm_include_dir))
config.substitutions.append(("%cmake", config.cmake))
config.substitutions.append(("%cc", config.cc))
config.substitutions.append(("%cxx", config.cxx))


def has_gpu():
    """Whether Moss's runtime finds a CUDA driver and a device."""
    library = os.path.join(config.moss_obj_root, "lib", "libmoss_runtime.so")
    try:
        return bool(ctypes.CDLL(library).mossHasDevice())
    except OSError:
        return False


def find_ptxas():
    """The path of CUDA's assembler, or None."""
    roots = [os.environ.get("CUDA_PATH"), os.environ.get("CUDA_HOME"), "/usr/local/cuda"]
    folders = [os.path.join(root, "bin") for root in roots if root]
    return shutil.which("ptxas", path=os.pathsep.join(
        [config.environment["PATH"], *folders]))


config.available_features.add("gpu" if has_gpu() else "no-gpu")
if importlib.util.find_spec("torch"):
    config.available_features.add("torch")
if ptxas := find_ptxas():
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
for tool, feature in [("ld.lld", "lld"), ("clang-22", "clang"), ("clang-format-22", "clang-format")]:
    if shutil.which(tool, path=config.environment["PATH"]):
        config.available_features.add(feature)
if importlib.util.find_spec("numpy"):
    config.available_features.add("numpy")
