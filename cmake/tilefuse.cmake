# SPDX-License-Identifier: Apache-2.0
# Helpers of the build: one static library per folder of src/, one executable per test file.

# Warnings and sanitizers of our own code.
function(tilefuse_flags target)
  if(NOT TILEFUSE_FUZZ) # clang warns of other things
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -Werror -Wno-missing-field-initializers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU) # false alarms of GCC 12 on variants and joined strings
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
  endif()
  endif()
  if(TILEFUSE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${TILEFUSE_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${TILEFUSE_SANITIZE})
  endif()
endfunction()

# Standard and formatting headers that many files include.
set(TILEFUSE_COMMON_HEADERS
  <algorithm> <array> <charconv> <cmath> <cstdint> <cstdlib> <cstring> <functional> <limits> <map> <memory> <numeric>
  <optional> <random> <set> <span> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector>
  <fmt/format.h> <fmt/ranges.h>)

# tilefuse_precompiled(TARGET OWNER header …): TARGET reads these headers as compiled once for OWNER, the first target of
# the same flags: GCC 12 crashes on those of another level of optimisation. Sources name what they include all the same:
# the nightly test `self_contained` compiles them without.
function(tilefuse_precompiled target owner)
  if(NOT TILEFUSE_PRECOMPILED)
    return()
  endif()
  # clang writes the time into what it precompiles unless told; ccache needs to see how GCC reads it.
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  else()
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# Folders whose work is done once for a model. At -O1 they are built a quarter faster than the others at -O2, where
# search, evaluation and simulation spend their time.
set(TILEFUSE_ONCE_FOLDERS program tile onnx emit runtime model train report api)

# tilefuse_library(NAME SOURCES a.cpp … [DEPENDS folder …]): the library of src/NAME. DEPENDS names folders above it.
function(tilefuse_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(tilefuse_${name} STATIC ${ARG_SOURCES})
  target_include_directories(tilefuse_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(tilefuse_${name} PUBLIC fmt::fmt)
  foreach(folder ${ARG_DEPENDS})
    target_link_libraries(tilefuse_${name} PUBLIC tilefuse_${folder})
  endforeach()
  tilefuse_flags(tilefuse_${name})
  if(name IN_LIST TILEFUSE_ONCE_FOLDERS)
    target_compile_options(tilefuse_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
    tilefuse_precompiled(tilefuse_${name} tilefuse_program ${TILEFUSE_COMMON_HEADERS})
  else()
    tilefuse_precompiled(tilefuse_${name} tilefuse_base ${TILEFUSE_COMMON_HEADERS})
  endif()
endfunction()

# Folders of src/ that turn a group into machine code: all of them are part of a kernel's key in the cache.
set(TILEFUSE_CODE_FOLDERS base target package program nest poly schedule kernel launch lower emit)

# tilefuse_hash_files(VARIABLE ROOT folder …): 16 digits that change with any file of these folders of ROOT, at any depth;
# and FILES, the list of them. Usable in scripts (tests/code_version.cmake).
function(tilefuse_hash_files variable root)
  set(sources "")
  foreach(folder ${ARGN})
    file(GLOB_RECURSE found ${root}/${folder}/*.*)
    list(APPEND sources ${found})
  endforeach()
  list(SORT sources)
  set(hashes "")
  foreach(source ${sources})
    file(SHA256 ${source} source_hash)
    string(APPEND hashes ${source_hash})
  endforeach()
  string(SHA256 whole "${hashes}")
  string(SUBSTRING ${whole} 0 16 whole)
  set(${variable} ${whole} PARENT_SCOPE)
  set(FILES ${sources} PARENT_SCOPE)
endfunction()

# tilefuse_source_hash(VARIABLE folder …): the same of folders of src/, worked out anew when one of the files changes.
function(tilefuse_source_hash variable)
  tilefuse_hash_files(whole ${CMAKE_SOURCE_DIR}/src ${ARGN})
  foreach(folder ${ARGN})
    file(GLOB_RECURSE new_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${folder}/*.*)
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${FILES})
  set(${variable} ${whole} PARENT_SCOPE)
endfunction()

# Flags of what only tests run: built faster than it could be, with GoogleTest among the precompiled headers.
function(tilefuse_test_flags target)
  tilefuse_flags(${target})
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF) # as the headers' library, which is no program
  tilefuse_precompiled(${target} tilefuse_test_headers ${TILEFUSE_COMMON_HEADERS} <gtest/gtest.h>)
endfunction()

# tilefuse_test_library(NAME SOURCES a.cpp … DEPENDS folder …): what several programs of tests share; a DEPENDS of theirs.
function(tilefuse_test_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_library(tilefuse_${name} STATIC ${ARG_SOURCES})
  foreach(folder ${ARG_DEPENDS})
    target_link_libraries(tilefuse_${name} PUBLIC tilefuse_${folder})
  endforeach()
  target_include_directories(tilefuse_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_BINARY_DIR}/generated)
  target_link_libraries(tilefuse_${name} PRIVATE GTest::gtest)
  tilefuse_test_flags(tilefuse_${name})
endfunction()

# tilefuse_test(NAME SOURCES a.cpp … DEPENDS folder … [LABEL fast] [NIGHTLY]): one GoogleTest program, labelled `fast`
# unless said; with NIGHTLY also as nightly_NAME, which takes every case (tests/support/sampling.h).
function(tilefuse_test name)
  cmake_parse_arguments(ARG "NIGHTLY" "LABEL" "SOURCES;DEPENDS" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL fast)
  endif()
  add_executable(test_${name} ${ARG_SOURCES})
  foreach(folder ${ARG_DEPENDS})
    target_link_libraries(test_${name} PRIVATE tilefuse_${folder})
  endforeach()
  target_link_libraries(test_${name} PRIVATE GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_BINARY_DIR}/generated)
  tilefuse_test_flags(test_${name})
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS ${ARG_LABEL})
  if(ARG_NIGHTLY)
    add_test(NAME nightly_${name} COMMAND test_${name})
    set_tests_properties(nightly_${name} PROPERTIES LABELS nightly ENVIRONMENT TILEFUSE_NIGHTLY=1 TIMEOUT 3600)
  endif()
endfunction()
