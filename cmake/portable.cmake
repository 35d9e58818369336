# SPDX-License-Identifier: Apache-2.0
# The target `portable`: libtilefuse.so, libtilefuse_ort.so and the module tilefuse_llvm for systems from glibc 2.34 on. The objects are those
# of the build; archives of third-party libraries take the place of their shared ones, but for protobuf, isl and turbojpeg, whose
# archives cannot be part of a shared library: scripts/wheel.sh takes their files along.
function(tilefuse_archives variable)
  set(found "")
  foreach(name ${ARGN})
    find_library(TILEFUSE_${name}_ARCHIVE lib${name}.a)
    if(NOT TILEFUSE_${name}_ARCHIVE)
      return()
    endif()
    list(APPEND found ${TILEFUSE_${name}_ARCHIVE})
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

tilefuse_archives(portable_libraries sqlite3 z zstd)
find_program(TILEFUSE_LLVM_CONFIG llvm-config-19)
if(NOT portable_libraries OR NOT TILEFUSE_LLVM_CONFIG OR NOT TARGET tilefuse_llvm)
  return()
endif()

set(portable_folder ${CMAKE_BINARY_DIR}/portable)
set(portable_options -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,--no-undefined -s)

# tilefuse_portable(NAME OBJECTS target ARCHIVES file… OPTIONS …): a shared library of a target's objects and all folders.
function(tilefuse_portable name)
  cmake_parse_arguments(ARG "" "OBJECTS" "FOLDERS;ARCHIVES;OPTIONS" ${ARGN})
  add_library(${name} MODULE EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/cmake/portable.cpp ${CMAKE_SOURCE_DIR}/cmake/portable_fmt.cpp
     $<TARGET_OBJECTS:${ARG_OBJECTS}>)
  set_target_properties(${name} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${portable_folder} LINKER_LANGUAGE CXX)
  target_link_libraries(${name} PRIVATE -Wl,--start-group)
  foreach(folder ${ARG_FOLDERS})
    target_link_libraries(${name} PRIVATE $<TARGET_FILE:tilefuse_${folder}>)
    add_dependencies(${name} tilefuse_${folder})
  endforeach()
  target_link_libraries(${name} PRIVATE ${ARG_ARCHIVES} -Wl,--end-group Threads::Threads ${CMAKE_DL_LIBS})
  target_link_options(${name} PRIVATE ${portable_options} ${ARG_OPTIONS})
endfunction()

set(map ${CMAKE_SOURCE_DIR}/src/api/c/symbols.map)
tilefuse_portable(portable_library OBJECTS tilefuse_shared ARCHIVES ${portable_libraries} protobuf::libprotobuf ${ISL_LIBRARY}
    ${TILEFUSE_TURBOJPEG}
  OPTIONS -Wl,--version-script,${map} -Wl,-soname,libtilefuse.so
  FOLDERS base target package program data tile onnx onnx_schema nest poly schedule cost kernel launch lower emit runtime search model train report api)
set_target_properties(portable_library PROPERTIES OUTPUT_NAME libtilefuse)

execute_process(COMMAND ${TILEFUSE_LLVM_CONFIG} --link-static --libfiles X86CodeGen X86AsmParser Core Support TransformUtils
  OUTPUT_VARIABLE portable_llvm OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(portable_llvm)
tilefuse_portable(portable_llvm_module OBJECTS tilefuse_llvm FOLDERS base target package kernel emit
  ARCHIVES ${portable_llvm} ${portable_libraries} OPTIONS -Wl,--version-script,${CMAKE_SOURCE_DIR}/cmake/portable_llvm.map)
set_target_properties(portable_llvm_module PROPERTIES OUTPUT_NAME tilefuse_llvm)

tilefuse_portable(portable_ort OBJECTS tilefuse_ort_parts ARCHIVES $<TARGET_FILE:portable_library> OPTIONS ${TILEFUSE_ORT_LINK_OPTIONS})
set_target_properties(portable_ort PROPERTIES OUTPUT_NAME libtilefuse_ort)
add_dependencies(portable_ort portable_library)

add_custom_target(portable DEPENDS portable_library portable_llvm_module portable_ort)
