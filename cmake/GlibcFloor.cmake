# Shared libraries that load on a glibc older than the one they are built on.
#
#   vramguard_link_against_floor(<target> [NEVER_SANITIZED])
#
# links a shared library against stubs of glibc (glibc_floor/make_stubs.sh). It fails to link, by the function's name, when
# it uses something newer that glibc_floor/fallback has no replacement for: call the kernel (`syscall`) instead, or add one.
# With VRAMGUARD_SANITIZE only a NEVER_SANITIZED target is held to the floor: the sanitizers' own libraries need more.
#
# Measured: built on glibc 2.36 with libstdc++ 12, everything needs at most GLIBC_2.17, and the self-test of tests/portability
# passes whole on glibc 2.36 and 2.31 (there with libgcc 10). libdl.so.2, which the loader opens on new systems too, costs a
# process start 40 to 100 us. A throw costs 2.8 us instead of 1.8: the unwinder walks the list of libraries.
# One thing is not possible with the unwinder linked in: an exception that leaves the callback of std::call_once ends the
# process, because glibc cleans up its own frame there with the system's libgcc_s.so.
#
# Where the stubs cannot be made, configure says why and the libraries need the installed glibc.
# What was decided stands in <build>/glibc_floor.txt, for scripts/check_exports.sh.
include_guard(GLOBAL)

set(VRAMGUARD_GLIBC_FLOOR 2.17 CACHE STRING "Oldest glibc that the two libraries load on; OFF: the installed one")
set(VRAMGUARD_GLIBC_FLOOR_SOURCES ${CMAKE_CURRENT_LIST_DIR}/glibc_floor CACHE INTERNAL "")

function(_vramguard_prepare_floor folder reason)
  set(${reason} "" PARENT_SCOPE)
  if(NOT VRAMGUARD_GLIBC_FLOOR)
    set(${reason} "VRAMGUARD_GLIBC_FLOOR is off" PARENT_SCOPE)
    return()
  endif()
  if(NOT CMAKE_OBJDUMP)
    set(${reason} "objdump (binutils) is missing" PARENT_SCOPE)
    return()
  endif()
  foreach(archive libstdc++.a libgcc_eh.a)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${archive} OUTPUT_VARIABLE path
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT EXISTS "${path}")
      set(${reason} "${CMAKE_CXX_COMPILER} finds no ${archive}" PARENT_SCOPE)
      return()
    endif()
  endforeach()

  execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libc.so.6 OUTPUT_VARIABLE libc
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  file(GLOB_RECURSE inputs ${VRAMGUARD_GLIBC_FLOOR_SOURCES}/*)
  if(EXISTS "${libc}")
    list(APPEND inputs ${libc})
  endif()
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${inputs})
  set(state "${CMAKE_C_COMPILER} ${CMAKE_C_COMPILER_VERSION} ${VRAMGUARD_GLIBC_FLOOR}\n")
  foreach(input ${inputs})
    file(SHA256 ${input} hash)
    string(APPEND state "${hash} ${input}\n")
  endforeach()
  if(EXISTS ${folder}/made_from.txt)
    file(READ ${folder}/made_from.txt made_from)
    if(made_from STREQUAL state)
      return()
    endif()
  endif()

  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env AR=${CMAKE_AR}
            sh ${VRAMGUARD_GLIBC_FLOOR_SOURCES}/make_stubs.sh ${CMAKE_C_COMPILER} ${CMAKE_OBJDUMP} ${VRAMGUARD_GLIBC_FLOOR} ${folder}
    RESULT_VARIABLE result ERROR_VARIABLE errors OUTPUT_VARIABLE errors)
  if(result EQUAL 0)
    file(WRITE ${folder}/made_from.txt "${state}")
  else()
    string(REGEX REPLACE "[ \n]+" " " errors "${errors}")
    set(${reason} "${errors}" PARENT_SCOPE)
  endif()
endfunction()

set(_folder ${PROJECT_BINARY_DIR}/glibc_floor)
_vramguard_prepare_floor(${_folder} _reason)
if(_reason)
  message(STATUS "The libraries will need the glibc of this machine, not an older one: ${_reason}")
  set(VRAMGUARD_GLIBC_FLOOR_FOLDER "" CACHE INTERNAL "")
  file(WRITE ${PROJECT_BINARY_DIR}/glibc_floor.txt "none ${_reason}\n")
else()
  message(STATUS "The libraries are linked for glibc ${VRAMGUARD_GLIBC_FLOOR} and newer")
  set(VRAMGUARD_GLIBC_FLOOR_FOLDER ${_folder} CACHE INTERNAL "")
  file(WRITE ${PROJECT_BINARY_DIR}/glibc_floor.txt "${VRAMGUARD_GLIBC_FLOOR}\n")
endif()
file(APPEND ${PROJECT_BINARY_DIR}/glibc_floor.txt "sanitize ${VRAMGUARD_SANITIZE}\n")

function(vramguard_link_against_floor target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NEVER_SANITIZED" "" "")
  if(NOT VRAMGUARD_GLIBC_FLOOR_FOLDER OR (VRAMGUARD_SANITIZE AND NOT arg_NEVER_SANITIZED))
    return()
  endif()
  # Before everything that names a system library, the driver's own -lc at the very end of the line included.
  target_link_options(${target} BEFORE PRIVATE -L${VRAMGUARD_GLIBC_FLOOR_FOLDER}/link -Wl,--no-undefined)
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${VRAMGUARD_GLIBC_FLOOR_FOLDER}/made_from.txt)
endfunction()
