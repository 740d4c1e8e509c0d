# Helpers shared by every directory of Moss.

option(MOSS_ENABLE_PCH "Precompile the heavy MLIR headers (Clang only)" ON)

# Warnings are errors in our own code; LLVM's and MLIR's headers are SYSTEM.
function(moss_set_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Werror
    -Wno-unused-parameter)
endfunction()

# A precompiled header cuts a translation unit from about 15 s to 4 s. GCC's
# are six times as large and slower to make than what they save.
function(moss_use_pch target)
  if(MOSS_ENABLE_PCH AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    if(NOT TARGET MossPCH)
      # Not written anew, or every configuration would rebuild everything.
      if(NOT EXISTS ${MOSS_BINARY_DIR}/pch.cpp)
        file(WRITE ${MOSS_BINARY_DIR}/pch.cpp "")
      endif()
      add_library(MossPCH OBJECT ${MOSS_BINARY_DIR}/pch.cpp)
      set_target_properties(MossPCH PROPERTIES POSITION_INDEPENDENT_CODE ON)
      llvm_update_compile_flags(MossPCH)
      moss_set_warnings(MossPCH)
      target_precompile_headers(MossPCH PRIVATE
        ${MOSS_SOURCE_DIR}/lib/Precompiled.h)
    endif()
    target_precompile_headers(${target} REUSE_FROM MossPCH)
  endif()
endfunction()

# add_moss_library(name sources... DEPENDS tblgen-targets... MLIR_LIBS ...
#                  MOSS_LIBS ...)
# A static library of Moss, which is installed and exported. MLIR_LIBS name
# MLIR's components; all of them are replaced by libMLIR.so, which the plugin's
# host shares.
function(add_moss_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;MLIR_LIBS;MOSS_LIBS" ${ARGN})
  add_mlir_library(${name} ${ARG_UNPARSED_ARGUMENTS}
    STATIC EXCLUDE_FROM_LIBMLIR DISABLE_INSTALL
    DEPENDS MossIncGen ${ARG_DEPENDS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  mlir_target_link_libraries(${name} PUBLIC MLIRIR ${ARG_MLIR_LIBS})
  target_link_libraries(${name} PUBLIC ${ARG_MOSS_LIBS})
  moss_set_warnings(${name})
  moss_use_pch(${name})
  moss_export_library(${name})
endfunction()

# add_moss_tool(name sources... MOSS_LIBS ...)
# A program on libMLIR.so and libraries of Moss, which is installed and exported.
function(add_moss_tool name)
  cmake_parse_arguments(ARG "" "" "MOSS_LIBS" ${ARGN})
  add_llvm_executable(${name} ${ARG_UNPARSED_ARGUMENTS}
    DISABLE_LLVM_LINK_LLVM_DYLIB)
  target_link_libraries(${name} PRIVATE ${ARG_MOSS_LIBS} MLIR LLVM)
  moss_set_warnings(${name})
  install(TARGETS ${name} EXPORT MossTargets RUNTIME DESTINATION bin)
endfunction()

# Install a library, and let find_package(Moss) find it. The folders are those
# of LLVM and MLIR, whatever the system's conventions are.
function(moss_export_library name)
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${MOSS_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${MOSS_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:include>)
  install(TARGETS ${name} EXPORT MossTargets
    ARCHIVE DESTINATION lib
    LIBRARY DESTINATION lib)
endfunction()
