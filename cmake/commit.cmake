# SPDX-License-Identifier: Apache-2.0
# Writes a header with the commit that a build is of, where it is another one: cmake -DROOT=… -DOUT=… -P commit.cmake
find_program(git git)
set(commit "")
if(git)
  execute_process(COMMAND ${git} -C ${ROOT} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${git} -C ${ROOT} diff --quiet HEAD RESULT_VARIABLE changed OUTPUT_QUIET ERROR_QUIET)
  if(commit AND changed)
    string(APPEND commit " with changes")
  endif()
endif()
if(NOT commit)
  set(commit "unknown")
endif()
set(text "// SPDX-License-Identifier: Apache-2.0\n#pragma once\n\nnamespace tilefuse::tool {\n
// What the sources were when the program was built.\ninline constexpr const char *kCommit = \"${commit}\";\n
} // namespace tilefuse::tool\n")
set(before "")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
