# What both shared libraries are compiled and linked with, so that nothing of theirs meets the symbols of the process that
# they are loaded into. The export list comes on top, from each library's version script.
include_guard(GLOBAL)

add_library(vramguard_shared_flags INTERFACE)
target_compile_options(vramguard_shared_flags INTERFACE
  -fvisibility=hidden $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>
  -ffunction-sections -fdata-sections)
target_link_options(vramguard_shared_flags INTERFACE
  $<$<LINK_LANGUAGE:CXX>:-static-libstdc++> -static-libgcc -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,-z,relro,-z,now
  -Wl,--gc-sections -Wl,-z,nodelete
  # Debian's spdlog target names libfmt.so also where fmt is used header-only.
  -Wl,--as-needed)
# A sanitized library takes the sanitizer's functions from the program that loads it.
if(NOT VRAMGUARD_SANITIZE)
  target_link_options(vramguard_shared_flags INTERFACE -Wl,--no-undefined)
endif()

# libgcc's out-of-line atomics bring a constructor that asks for the processor's features.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  target_compile_options(vramguard_shared_flags INTERFACE -mno-outline-atomics)
endif()
