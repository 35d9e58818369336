# SPDX-License-Identifier: Apache-2.0
# Compares the symbols that a library shows with a stored list; -DUPDATE=1 writes it.
execute_process(COMMAND ${NM} -D --defined-only --format=posix ${LIBRARY} OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "([^ @\n]+)[^\n]*" "\\1" names "${lines}")
string(REGEX REPLACE "TILEFUSE_0\n" "" names "${names}")
if(UPDATE)
  file(WRITE ${EXPECTED} "${names}")
endif()
file(READ ${EXPECTED} expected)
if(NOT names STREQUAL expected)
  message(FATAL_ERROR "${LIBRARY} shows\n${names}\nneed\n${expected}\n"
    "cmake -DUPDATE=1 -DNM=${NM} -DLIBRARY=${LIBRARY} -DEXPECTED=${EXPECTED} -P ${CMAKE_CURRENT_LIST_FILE} accepts it")
endif()
