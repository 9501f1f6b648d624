# What `cmake --install` lays down: the libraries that programs link, as the CMake package Scela and as libscela.pc, with their
# public headers, and the examples. The functions of ScelaRoom.cmake install the programs, man/ its pages, perf/ the sources that
# scela-perf compiles. The archives and private headers of rooms are for this tree alone and are not installed.
#
# Each file belongs to one component, which becomes one package (ScelaPackages.cmake): programs, library or development.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Scela)

# scela_install_library(<target> <folder> HEADERS folder... [INCLUDES folder...])
#
# Installs the target's shared library into the folder, and exports it as Scela::<target>. Each header in a folder of HEADERS is
# public and is installed as scela/<its name>; tests/style/consumer/public_headers.txt lists all of them. The compiler looks for
# headers in INCLUDES too if a program links the target.
function(scela_install_library target folder)
  cmake_parse_arguments(PARSE_ARGV 2 LIBRARY "" "" "HEADERS;INCLUDES")
  if(NOT TARGET ${target})
    return()
  endif()
  install(TARGETS ${target} EXPORT ScelaTargets
    LIBRARY DESTINATION ${folder} COMPONENT library NAMELINK_COMPONENT development
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${LIBRARY_INCLUDES})
  list(TRANSFORM LIBRARY_HEADERS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/\\1/*.h")
  file(GLOB headers CONFIGURE_DEPENDS ${LIBRARY_HEADERS})
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/scela COMPONENT development)
  set(SCELA_EXPORTS TRUE PARENT_SCOPE)
endfunction()

scela_install_library(scela ${CMAKE_INSTALL_LIBDIR} HEADERS comm-channel/include/scela collectives/include/scela
  capi/include/scela)
scela_install_library(scela-ibverbs ${CMAKE_INSTALL_LIBDIR} HEADERS hca/include/scela)
scela_install_library(scela-verbs-tasks ${CMAKE_INSTALL_LIBDIR} HEADERS hca/include/scela)
# Other launchers have libraries of these two names, and programs that are written for those include <pmi.h>.
foreach(library pmi pmi2)
  scela_install_library(${library} ${CMAKE_INSTALL_LIBDIR}/scela
    HEADERS pmi/client/include INCLUDES ${CMAKE_INSTALL_INCLUDEDIR}/scela)
endforeach()

# A tree with sanitizers may have no library of these.
if(SCELA_EXPORTS)
  install(EXPORT ScelaTargets NAMESPACE Scela:: DESTINATION ${package_dir} COMPONENT development)
  configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/ScelaConfig.cmake.in ${PROJECT_BINARY_DIR}/ScelaConfig.cmake
    INSTALL_DESTINATION ${package_dir})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/ScelaConfigVersion.cmake
    COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/ScelaConfig.cmake ${PROJECT_BINARY_DIR}/ScelaConfigVersion.cmake
    DESTINATION ${package_dir} COMPONENT development)
endif()

if(TARGET scela)
  # From the folder of the .pc file up to the prefix, wherever that is installed to or moved to.
  file(RELATIVE_PATH SCELA_PC_PREFIX "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
  string(REGEX REPLACE "/$" "" SCELA_PC_PREFIX "${SCELA_PC_PREFIX}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/libscela.pc.in ${PROJECT_BINARY_DIR}/libscela.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/libscela.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endif()

file(GLOB examples CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/*.c"
  "${PROJECT_SOURCE_DIR}/examples/*.cpp" "${PROJECT_SOURCE_DIR}/examples/*.sh")
install(FILES ${examples} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples/mpi" DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT development)
