# SPDX-License-Identifier: Apache-2.0
# The loader of objects and the cpu device. Objects come from the code generator where it is built.
tilefuse_test(cpu_elf SOURCES cpu_elf_test.cpp DEPENDS base runtime)
if(TILEFUSE_LLVM)
  tilefuse_test(cpu_device SOURCES cpu_device_test.cpp DEPENDS base target package kernel emit runtime)
  add_dependencies(test_cpu_device tilefuse_llvm)
endif()
