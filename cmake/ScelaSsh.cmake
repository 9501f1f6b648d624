# libssh and what it needs, linked into the programs: nodes need not have our libraries, and Debian has
# no static GSSAPI library, so its functions are stood in for (nla/ssh/no_gssapi.c).
find_path(SCELA_LIBSSH_INCLUDE libssh/libssh.h REQUIRED)
find_library(SCELA_LIBSSH NAMES libssh.a REQUIRED)
find_library(SCELA_LIBSSL NAMES libssl.a REQUIRED)
find_library(SCELA_LIBCRYPTO NAMES libcrypto.a REQUIRED)
find_library(SCELA_LIBZ NAMES libz.a REQUIRED)

add_library(scela_no_gssapi STATIC ${PROJECT_SOURCE_DIR}/nla/ssh/no_gssapi.c)
# The stand-ins have other prototypes than the functions they stand in for.
set_source_files_properties(${PROJECT_SOURCE_DIR}/nla/ssh/no_gssapi.c
  ${PROJECT_SOURCE_DIR}/nla/ssh/no_name_service.c PROPERTIES COMPILE_OPTIONS
  $<$<C_COMPILER_ID:GNU>:-Wno-builtin-declaration-mismatch> TARGET_DIRECTORY scela_no_gssapi)

# Stands before libssh.a, whose part of the same names is then left out.
add_library(scela_libssh_init STATIC ${PROJECT_SOURCE_DIR}/nla/ssh/init.c)
target_include_directories(scela_libssh_init SYSTEM PRIVATE ${SCELA_LIBSSH_INCLUDE})
target_compile_definitions(scela_libssh_init PRIVATE LIBSSH_STATIC)

add_library(scela_libssh INTERFACE)
target_include_directories(scela_libssh SYSTEM INTERFACE ${SCELA_LIBSSH_INCLUDE})
target_compile_definitions(scela_libssh INTERFACE LIBSSH_STATIC)
target_link_libraries(scela_libssh INTERFACE scela_libssh_init ${SCELA_LIBSSH} scela_no_gssapi
  ${SCELA_LIBSSL} ${SCELA_LIBCRYPTO} ${SCELA_LIBZ})
