# Compiler settings that every target of the project shares, and the sanitizer switch of the presets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(VRAMGUARD_WERROR "Treat compiler warnings as errors" OFF)
set(VRAMGUARD_SANITIZE "" CACHE STRING "Sanitizers for core, simulator and tests, never for the preloaded part: 'address,undefined' or 'thread'")

# Everything but the preloaded part links this.
add_library(vramguard_options INTERFACE)
target_compile_options(vramguard_options INTERFACE
  -Wall -Wextra -Wshadow -Wundef -Wswitch $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<BOOL:${VRAMGUARD_WERROR}>:-Werror>)
target_include_directories(vramguard_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(vramguard_options INTERFACE VRAMGUARD_VERSION="${PROJECT_VERSION}")
if(VRAMGUARD_SANITIZE)
  target_compile_options(vramguard_options INTERFACE -fsanitize=${VRAMGUARD_SANITIZE} -fno-omit-frame-pointer
    # GCC warns wrongly of what its sanitizers have rewritten.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(vramguard_options INTERFACE -fsanitize=${VRAMGUARD_SANITIZE})
endif()
