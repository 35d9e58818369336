# SPDX-License-Identifier: Apache-2.0

# The module tilefuse_llvm: the only thing that LLVM is linked into. Included by CMakeLists.txt of this folder, after
# tilefuse_emit is defined.
if(TILEFUSE_LLVM)
  find_package(LLVM 19.1 REQUIRED CONFIG)
  set(llvm_sources
      llvm/dots.cpp llvm/function.cpp llvm/function_builder.cpp llvm/function_builder_expressions.cpp
      llvm/function_builder_rows.cpp llvm/function_builder_statements.cpp llvm/llvm_emitter.cpp llvm/math.cpp llvm/memory.cpp llvm/object.cpp llvm/packed_stores.cpp llvm/rounding.cpp
      llvm/scalar_ops.cpp llvm/scratch_layout.cpp llvm/values.cpp)
  add_library(tilefuse_llvm MODULE ${llvm_sources})
  set_target_properties(tilefuse_llvm PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/tilefuse)
  target_include_directories(tilefuse_llvm PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
  target_include_directories(tilefuse_llvm SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
  separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
  target_compile_definitions(tilefuse_llvm PRIVATE ${llvm_definitions})
  if(LLVM_LINK_LLVM_DYLIB)
    target_link_libraries(tilefuse_llvm PRIVATE LLVM)
  else()
    llvm_map_components_to_libnames(llvm_components X86CodeGen X86AsmParser Core Support TransformUtils)
    target_link_libraries(tilefuse_llvm PRIVATE ${llvm_components})
  endif()
  target_link_libraries(tilefuse_llvm PRIVATE tilefuse_emit)
  target_link_options(tilefuse_llvm PRIVATE -Wl,--exclude-libs,ALL)
  tilefuse_flags(tilefuse_llvm)
endif()
