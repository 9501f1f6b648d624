# The packages that `cpack` makes from a build tree: `cpack -G DEB`, `cpack -G RPM` and `cpack -G TGZ`.
#
# Each component of ScelaInstall.cmake is a package of Debian and of RPM: scela (programs, manual pages, completion), libscela (the
# shared libraries) and libscela-dev (headers, links of the libraries, libscela.pc, the CMake package, examples). The tarball has all
# of them and can be unpacked anywhere. packaging/ has the texts and the script that the packages need beyond the installed files.
set(SCELA_PACKAGE_CONTACT "ScELA authors <scela@example.org>" CACHE STRING "name and address of the packages' maintainer")

set(CPACK_PACKAGE_NAME scela)
set(CPACK_PACKAGE_VENDOR "ScELA authors")
set(CPACK_PACKAGE_CONTACT "${SCELA_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "launcher of parallel programs, and messages between their processes")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_RESOURCE_FILE_README "${PROJECT_SOURCE_DIR}/README.md")
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
string(TOLOWER "scela-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" CPACK_PACKAGE_FILE_NAME)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
# Only these are packed, whatever a subproject may install.
set(CPACK_COMPONENTS_ALL programs library development)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS library)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# One archive, which needs no installation.
set(CPACK_ARCHIVE_COMPONENT_INSTALL OFF)

set(programs_text "launcher of parallel programs on many machines
scela-run starts a program, or a plain command, on many machines at once.
It watches the program while it runs, lets its ranks find each other by
PMI or PMIx, and leaves no process and no file on the machines.
.
The machines need neither this package nor a daemon. This package has
scela-run, its agent, its adapter engine and the benchmark scela-perf.")
set(library_text "messages and collective operations between processes
libscela moves messages between the processes of a parallel job, and runs
collective operations among them. It runs under scela-run and under other
launchers that serve PMI or PMIx.
.
This package also has an InfiniBand adapter in software, management
queues for verbs devices, and PMI client libraries.")
set(development_text "messages and collective operations, for developers
libscela moves messages between the processes of a parallel job, and runs
collective operations among them.
.
This package has what a program needs to be compiled: headers, manual
pages, the files for pkg-config and CMake, and examples.")

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY =)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_NAME scela)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PROGRAMS_DESCRIPTION "${programs_text}")
# The adapter of programs that scela-run starts; compilers and another MPI, beside which scela-perf measures.
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_RECOMMENDS libscela)
set(CPACK_DEBIAN_PROGRAMS_PACKAGE_SUGGESTS "g++, mpich")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libscela)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "${library_text}")
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/packaging/debian/triggers")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libscela-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "${development_text}")

set(CPACK_RPM_COMPONENT_INSTALL ON)
set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE BSD-3-Clause)
set(CPACK_RPM_PROGRAMS_PACKAGE_NAME scela)
set(CPACK_RPM_LIBRARY_PACKAGE_NAME libscela)
set(CPACK_RPM_DEVELOPMENT_PACKAGE_NAME libscela-devel)

# Files that the distributions want elsewhere, or compressed.
set(CPACK_SCELA_PACKAGING "${PROJECT_SOURCE_DIR}/packaging")
set(CPACK_SCELA_CHANGES "${PROJECT_SOURCE_DIR}/CHANGELOG.md")
set(CPACK_PRE_BUILD_SCRIPTS "${CPACK_SCELA_PACKAGING}/stage.cmake")
set(CPACK_PROJECT_CONFIG_FILE "${CPACK_SCELA_PACKAGING}/generator.cmake")

include(CPack)
