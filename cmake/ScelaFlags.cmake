# Flags shared by every target: the language, the warnings, the sanitizers of the chosen preset.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# The compilers' default, -O3, buys nothing measurable in a launcher and costs build time and size.
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# Sanitizer trees: line tables are enough for a stack trace, and half the build time of -g.
set(CMAKE_C_FLAGS_SANITIZE "-O1 -g1")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1")

set(SCELA_SANITIZE "" CACHE STRING
  "sanitizers of this build tree: 'address,undefined' or 'thread'")
option(SCELA_WERROR "treat warnings as errors" OFF)
# Not with clang: its precompiled header names files of its build tree, so that ccache would compile all again in each clone.
option(SCELA_PCH "use precompiled headers" ON)
set(SCELA_JOIN 8 CACHE STRING "how many source files of a room are compiled at once at most; 0: each alone")
set(SCELA_APART "" CACHE STRING "source files that are compiled alone, with those that would be joined with them")

# One cache serves every build tree and every clone: paths below the source folder are made relative,
# and a precompiled header does not defeat it. What is not in the cache is compiled without being preprocessed first
# (CCACHE_DEPEND): the headers are those of the compiler's dependency file.
find_program(SCELA_CCACHE ccache)
if(SCELA_CCACHE)
  foreach(language C CXX)
    set(CMAKE_${language}_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 CCACHE_NOHASHDIR=1
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" "${SCELA_CCACHE}")
  endforeach()
endif()

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wconversion>)
# clang, which compiles the tree of the address sanitizer, warns of more than g++: of signs, of a macro of <infiniband/verbs.h> and of
# lambdas whose parameter pack may be empty.
add_compile_options($<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion> $<$<CXX_COMPILER_ID:Clang>:-Wno-gnu-statement-expression>
  $<$<CXX_COMPILER_ID:Clang>:-Wno-unused-lambda-capture>)
# g++ 12 sees overruns in std::string's own inlined code (its bugs 105329 and 105651); the address
# sanitizer sees the real ones.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
  $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)
if(SCELA_WERROR)
  add_compile_options(-Werror)
endif()
if(SCELA_SANITIZE)
  add_compile_options(-fsanitize=${SCELA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # Instrumented code confuses g++ about what is initialised; the sanitizers know better.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  add_link_options(-fsanitize=${SCELA_SANITIZE})
  # g++ defines this macro itself; clang says the same by __has_feature, which g++ 12 does not know.
  if(SCELA_SANITIZE MATCHES address)
    add_compile_definitions($<$<OR:$<C_COMPILER_ID:Clang>,$<CXX_COMPILER_ID:Clang>>:__SANITIZE_ADDRESS__>)
  endif()
else()
  # Lets the linker drop what a program does not call: the agent is exec'ed once per node.
  add_compile_options(-ffunction-sections -fdata-sections)
  add_link_options(-Wl,--gc-sections)
endif()

# The flags above hold for every target of this tree; this name is what a target may link to say so.
add_library(scela_flags INTERFACE)
