# What `cmake --install` lays down: programs (scela_program does those), the rooms as the CMake package
# Scela, scela.pc for the pure rooms, libscela.pc for the library that programs link, examples. man/ installs its pages.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Scela)
get_property(rooms GLOBAL PROPERTY SCELA_ROOMS)
get_property(pure_targets GLOBAL PROPERTY SCELA_PURE_ROOMS)

foreach(room IN LISTS rooms)
  string(REGEX REPLACE "[/-]" "_" target "scela_${room}")
  # Scela::common_core, not Scela::scela_common_core.
  string(REGEX REPLACE "[/-]" "_" export_name "${room}")
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${export_name})
  install(TARGETS ${target} EXPORT ScelaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  # Headers of the room itself; a room below it (nla/core in nla) installs its own.
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${room}/*.h")
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/scela/${room})
endforeach()

install(EXPORT ScelaTargets NAMESPACE Scela:: DESTINATION ${package_dir})
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/ScelaConfig.cmake.in ${PROJECT_BINARY_DIR}/ScelaConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ScelaConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ScelaConfig.cmake ${PROJECT_BINARY_DIR}/ScelaConfigVersion.cmake
  DESTINATION ${package_dir})

# Rooms are added lower layers first, so the reverse is the order that a static link needs.
list(REVERSE pure_targets)
list(TRANSFORM pure_targets PREPEND "-l")
list(JOIN pure_targets " " SCELA_PC_LIBS)
# From the folder of the .pc files up to the prefix, wherever that is installed to or moved to.
file(RELATIVE_PATH SCELA_PC_PREFIX "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
string(REGEX REPLACE "/$" "" SCELA_PC_PREFIX "${SCELA_PC_PREFIX}")
configure_file(${PROJECT_SOURCE_DIR}/cmake/scela.pc.in ${PROJECT_BINARY_DIR}/scela.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/scela.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(TARGET scela)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/libscela.pc.in ${PROJECT_BINARY_DIR}/libscela.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/libscela.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

file(GLOB examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.c"
  "${PROJECT_SOURCE_DIR}/examples/*.cpp" "${PROJECT_SOURCE_DIR}/examples/*.sh")
install(FILES ${examples} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
