# SPDX-License-Identifier: Apache-2.0
# Tests of machine code; they run what they compile.
# What stands in for modules of other builds.
foreach(kind old stale)
  add_library(llvm_module_${kind} MODULE ${kind}_llvm_module.cpp)
  set_target_properties(llvm_module_${kind} PROPERTIES PREFIX "" OUTPUT_NAME tilefuse_llvm
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${kind})
endforeach()
tilefuse_test(llvm_module SOURCES llvm_module_test.cpp DEPENDS emit)
target_compile_definitions(test_llvm_module PRIVATE TILEFUSE_MODULES="${CMAKE_CURRENT_BINARY_DIR}")
add_dependencies(test_llvm_module llvm_module_old llvm_module_stale)

if(TILEFUSE_LLVM)
  tilefuse_test(llvm_ops LABEL slow SOURCES llvm_ops_test.cpp llvm_harness.cpp DEPENDS base target package kernel emit runtime)
  tilefuse_test(llvm_kernel SOURCES llvm_kernel_test.cpp llvm_harness.cpp DEPENDS base target package kernel emit runtime)
  tilefuse_test(llvm_dots SOURCES llvm_dots_test.cpp llvm_harness.cpp DEPENDS base target package kernel emit runtime)
  add_dependencies(test_llvm_ops tilefuse_llvm)
  add_dependencies(test_llvm_dots tilefuse_llvm)
  add_dependencies(test_llvm_kernel tilefuse_llvm)
endif()
