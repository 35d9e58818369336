# SPDX-License-Identifier: Apache-2.0
# Tests of machine code; they run what they compile.
if(TILEFUSE_LLVM)
  tilefuse_test(llvm_ops SOURCES llvm_ops_test.cpp llvm_harness.cpp DEPENDS base target package kernel emit runtime)
  tilefuse_test(llvm_kernel SOURCES llvm_kernel_test.cpp llvm_harness.cpp DEPENDS base target package kernel emit runtime)
  add_dependencies(test_llvm_ops tilefuse_llvm)
  add_dependencies(test_llvm_kernel tilefuse_llvm)
endif()
