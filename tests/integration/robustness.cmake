# The programs of the robustness tests, and the libraries that stand beside ours in them.

# A library that a program loads or that is preloaded too. Never sanitized: it can be in any process.
function(vramguard_test_library name)
  add_library(integration_${name} SHARED ${ARGN})
  target_include_directories(integration_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(integration_${name} PRIVATE _GNU_SOURCE)
  target_compile_options(integration_${name} PRIVATE -Wall -Wextra -fno-builtin)
  target_link_libraries(integration_${name} PRIVATE ${CMAKE_DL_LIBS})
  set_target_properties(integration_${name} PROPERTIES OUTPUT_NAME ${name} C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${programs})
  set_property(GLOBAL APPEND PROPERTY vramguard_test_programs integration_${name})
endfunction()

# A program that is built as strangers build theirs, without any option of ours.
function(vramguard_foreign_program name)
  add_executable(integration_${name} ${ARGN})
  target_include_directories(integration_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(integration_${name} PRIVATE _GNU_SOURCE)
  target_compile_options(integration_${name} PRIVATE -Wall -Wextra)
  target_link_libraries(integration_${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(integration_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${programs})
  set_property(GLOBAL APPEND PROPERTY vramguard_test_programs integration_${name})
endfunction()

vramguard_test_library(asking_malloc programs/asking_malloc.c)
vramguard_test_library(backend programs/backend.c)
vramguard_test_library(dlsym_hooker programs/dlsym_hooker.c)
vramguard_test_library(late_library programs/late_library.c programs/ways.c)
vramguard_test_library(tls_library programs/tls_library.c)
vramguard_test_library(weak_references programs/weak_references.c)
vramguard_test_library(fake_driver programs/fake_driver.c)
# They call themselves, not whoever has a function of the same name in front of them.
target_link_options(integration_backend PRIVATE -Wl,-Bsymbolic)
target_link_options(integration_fake_driver PRIVATE -Wl,-Bsymbolic)
set_target_properties(integration_fake_driver PROPERTIES
  OUTPUT_NAME cuda VERSION 1 SOVERSION 1 LIBRARY_OUTPUT_DIRECTORY ${programs}/fake_driver)

vramguard_foreign_program(lookups programs/lookups.c)
vramguard_foreign_program(static_program programs/static_program.c)
target_link_options(integration_static_program PRIVATE -static)
vramguard_foreign_program(terminal programs/terminal.c)
target_link_libraries(integration_terminal PRIVATE util)
vramguard_foreign_program(without_driver programs/without_driver.c)
target_link_libraries(integration_without_driver PRIVATE integration_weak_references)

vramguard_test_program(cancelled programs/cancelled.c programs/ways.c)
vramguard_test_program(contexts programs/contexts.c programs/ways.c)
vramguard_test_program(driver_asks programs/driver_asks.c)
vramguard_test_program(newer_driver programs/newer_driver.c)
vramguard_test_program(early programs/early.c programs/ways.c)
vramguard_test_program(endings programs/endings.cpp programs/ways.c)
vramguard_test_program(forks programs/forks.c programs/ways.c)
vramguard_test_program(host_exceptions programs/host_exceptions.cpp programs/ways.c)
vramguard_test_program(host_spdlog programs/host_spdlog.cpp programs/ways.c)
target_link_libraries(integration_host_spdlog PRIVATE spdlog::spdlog)
vramguard_test_program(limits programs/limits.c programs/ways.c)
vramguard_test_program(moved programs/moved.c programs/ways.c)
vramguard_test_program(output programs/output.c programs/ways.c)
vramguard_test_program(switch programs/switch.c programs/ways.c)
vramguard_test_program(tls_heavy programs/tls_heavy.c programs/ways.c)

foreach(sanitizer address thread)
  vramguard_foreign_program(host_${sanitizer} programs/sanitized_host.c programs/ways.c)
  target_compile_options(integration_host_${sanitizer} PRIVATE -fsanitize=${sanitizer})
  target_link_options(integration_host_${sanitizer} PRIVATE -fsanitize=${sanitizer})
endforeach()

add_executable(robustness_tests
  main.cpp
  harness.cpp
  harness_log.cpp
  robustness_bystanders_test.cpp
  robustness_contexts_test.cpp
  robustness_endings_test.cpp
  robustness_forks_test.cpp
  robustness_hosts_test.cpp
  robustness_limits_test.cpp
  robustness_lookups_test.cpp
  robustness_output_test.cpp
)
target_link_libraries(robustness_tests PRIVATE vramguard_options vramguard_catch2)
target_compile_definitions(robustness_tests PRIVATE
  VRAMGUARD_BUILD_DIR="${CMAKE_BINARY_DIR}"
  VRAMGUARD_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
  VRAMGUARD_TEST_PROGRAMS="${programs}"
  VRAMGUARD_SANITIZED=${sanitized})
get_property(test_programs GLOBAL PROPERTY vramguard_test_programs)
add_dependencies(robustness_tests vramguard_preload vramguard_shim vramguard sim_driver ${test_programs})
catch_discover_tests(robustness_tests PROPERTIES LABELS integration TIMEOUT 300 SKIP_REGULAR_EXPRESSION "skipped: ")
