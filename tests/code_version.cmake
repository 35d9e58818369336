# SPDX-License-Identifier: Apache-2.0
# cmake -DROOT=… -DWORK=… -P code_version.cmake: changing a row of the table of matrix instructions, or any one file of a
# folder that shapes code, changes the version that a kernel's key in the cache holds.
cmake_minimum_required(VERSION 3.25)
include(${ROOT}/cmake/tilefuse.cmake)

# hash_now(VARIABLE): of the copy in WORK.
function(hash_now variable)
  tilefuse_hash_files(now ${WORK}/src ${TILEFUSE_CODE_FOLDERS})
  set(${variable} ${now} PARENT_SCOPE)
endfunction()

# changes_version(FILE OLD NEW): an edit of FILE changes the version; the file is then as before.
function(changes_version source old new)
  file(READ ${source} text)
  string(REPLACE "${old}" "${new}" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "${source} does not hold '${old}'")
  endif()
  file(WRITE ${source} "${changed}")
  hash_now(after)
  if(after STREQUAL before)
    message(FATAL_ERROR "a change of ${source} left the version at ${before}")
  endif()
  file(WRITE ${source} "${text}")
endfunction()

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/src)
foreach(folder ${TILEFUSE_CODE_FOLDERS})
  file(COPY ${ROOT}/src/${folder} DESTINATION ${WORK}/src)
endforeach()
hash_now(before)

changes_version(${WORK}/src/target/core_ops.cpp "m16n8k16" "m16n8k17")
foreach(folder ${TILEFUSE_CODE_FOLDERS})
  file(GLOB_RECURSE sources ${WORK}/src/${folder}/*.cpp)
  list(SORT sources)
  list(GET sources -1 source)
  changes_version(${source} "namespace tilefuse" "namespace  tilefuse")
endforeach()
hash_now(after)
if(NOT after STREQUAL before)
  message(FATAL_ERROR "the same files have version ${after}, not ${before}")
endif()
message("every folder changes the version")
