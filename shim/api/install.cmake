# What find_package(vramguard) finds. The public headers are installed as <vramguard/...>, whatever their folder is here,
# and name each other in that way.
include(CMakePackageConfigHelpers)

set(public_headers
  core/bytes.h
  core/clock.h
  core/device.h
  core/device_buffer.h
  core/memory_error.h
  core/memory_guard.h
  core/memory_hook.h
  core/memory_policy.h
  core/pressure_level.h
  shim/api/cuda_device.h
)
set(installed_headers "")
foreach(header IN LISTS public_headers)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${header})
  file(READ ${PROJECT_SOURCE_DIR}/${header} text)
  string(REGEX REPLACE "#include \"(core|shim/api)/" "#include \"vramguard/" text "${text}")
  cmake_path(GET header FILENAME name)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/include/${name} CONTENT "${text}" @ONLY)
  list(APPEND installed_headers ${CMAKE_CURRENT_BINARY_DIR}/include/${name})
endforeach()
install(FILES ${installed_headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/vramguard COMPONENT guard)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/vramguard)
install(TARGETS vramguard_guard EXPORT vramguardTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT guard)
install(EXPORT vramguardTargets NAMESPACE vramguard:: DESTINATION ${package_folder} COMPONENT guard)
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/vramguardConfig.cmake CONTENT
  [=[include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/vramguardTargets.cmake)
]=] @ONLY)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/vramguardConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/vramguardConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/vramguardConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT guard)
