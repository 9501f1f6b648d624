# The three kinds of target that rooms are made of:
#   scela_room     a static library for this tree, which is not installed
#   scela_program  an executable in <build>/bin, installed
#   scela_arrow... the check behind DEPENDS (tests/style/check_layers.py checks the #include lines)

# scela_joined(<variable> <target> SOURCES a.cpp... [ALONE b.cpp...])
#
# Sets <variable> to sources that compile a.cpp... a few at a time: files that include the others, because most of a file's
# compilation is the headers that it shares with its neighbours. The generated files name the others relative to the source
# tree, so that ccache knows them in every clone. Compiled separately: C files, files that are listed under ALONE (which a
# program must be able to leave out when it is linked), and files with options or definitions of their own, which must be set
# before this call. With SCELA_JOIN=0 (debug preset) each file is compiled separately: slower from nothing, faster after a small
# change, and what editors want. Files that SCELA_APART names, relative to the source tree, and those that are joined with them,
# are compiled separately too: the deliberate breaks change these, and the compiler's cache has the others from the release tree.
function(scela_joined variable target)
  cmake_parse_arguments(PARSE_ARGV 2 JOINED "" "" "SOURCES;ALONE")
  if(SCELA_JOIN LESS_EQUAL 1)
    set(${variable} ${JOINED_SOURCES} ${JOINED_ALONE} PARENT_SCOPE)
    return()
  endif()
  set(result ${JOINED_ALONE})
  set(together)
  foreach(source IN LISTS JOINED_SOURCES)
    get_source_file_property(options "${source}" COMPILE_OPTIONS)
    get_source_file_property(definitions "${source}" COMPILE_DEFINITIONS)
    if(options OR definitions OR NOT source MATCHES "[.]cpp$")
      list(APPEND result "${source}")
    else()
      cmake_path(ABSOLUTE_PATH source)
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
      list(APPEND together "${source}")
    endif()
  endforeach()
  list(LENGTH together count)
  # Parts of equal size, so that two processors end at about the same time.
  math(EXPR parts "(${count} + ${SCELA_JOIN} - 1) / ${SCELA_JOIN}")
  set(part 0)
  while(part LESS parts)
    math(EXPR first "${part} * ${count} / ${parts}")
    math(EXPR part "${part} + 1")
    math(EXPR size "${part} * ${count} / ${parts} - ${first}")
    list(SUBLIST together ${first} ${size} included)
    set(apart ${included})
    if(SCELA_APART)
      list(REMOVE_ITEM apart ${SCELA_APART})
    endif()
    if(NOT apart STREQUAL included)
      list(TRANSFORM included PREPEND "${PROJECT_SOURCE_DIR}/")
      list(APPEND result ${included})
      continue()
    endif()
    list(TRANSFORM included REPLACE "(.+)" "#include \"\\1\"\n")
    list(JOIN included "" text)
    set(file "${CMAKE_CURRENT_BINARY_DIR}/joined/${target}_${part}.cpp")
    file(CONFIGURE OUTPUT "${file}" CONTENT "${text}" @ONLY)
    # A type of a file's own as a member of that file's private state: g++ accepts it in a main file, which joined ones are not.
    set_source_files_properties("${file}" PROPERTIES
      COMPILE_OPTIONS $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    list(APPEND result "${file}")
  endwhile()
  set(${variable} ${result} PARENT_SCOPE)
endfunction()

# scela_room(<name> PURE|SHELL SOURCES a.cpp... [ALONE b.cpp...] [DEPENDS room...] [LIBRARIES target...] [PCH header...])
#
# The name is the folder with '/' as written in the arrow table (tests/style/arrows.json); the target is
# scela_<name with / and - as _>. A dependency that the table does not allow is refused at configure
# time; PURE rooms are listed for the purity test. PCH names headers to precompile: worth it where
# three or more files include the same expensive one (Asio).
function(scela_room name)
  cmake_parse_arguments(ROOM "PURE;SHELL" "" "SOURCES;ALONE;DEPENDS;LIBRARIES;PCH" ${ARGN})
  string(REGEX REPLACE "[/-]" "_" target "scela_${name}")
  scela_joined(sources ${target} SOURCES ${ROOM_SOURCES} ALONE ${ROOM_ALONE})
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PUBLIC ${ROOM_LIBRARIES})
  if(ROOM_PCH AND SCELA_PCH)
    target_precompile_headers(${target} PRIVATE ${ROOM_PCH})
  endif()
  foreach(dependency IN LISTS ROOM_DEPENDS)
    scela_check_arrow("${name}" "${dependency}")
    string(REGEX REPLACE "[/-]" "_" other "scela_${dependency}")
    target_link_libraries(${target} PUBLIC ${other})
  endforeach()
  if(ROOM_PURE)
    set_property(GLOBAL APPEND PROPERTY SCELA_PURE_ROOMS ${target})
  endif()
endfunction()

# scela_program(<name> SOURCES main.cpp... [ROOMS room...] [LIBRARIES target...] [STATIC])
#
# STATIC links the C library too, so that the program loads nothing at run time (the agent: one exec per
# node, on nodes that need not have our libraries); sanitizers cannot be linked so and are left dynamic.
function(scela_program name)
  cmake_parse_arguments(PROGRAM "STATIC" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  scela_joined(sources ${name} SOURCES ${PROGRAM_SOURCES})
  add_executable(${name} ${sources})
  foreach(room IN LISTS PROGRAM_ROOMS)
    string(REGEX REPLACE "[/-]" "_" target "scela_${room}")
    target_link_libraries(${name} PRIVATE ${target})
  endforeach()
  target_link_libraries(${name} PRIVATE ${PROGRAM_LIBRARIES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  if(PROGRAM_STATIC AND NOT SCELA_SANITIZE)
    target_link_options(${name} PRIVATE -static)
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
endfunction()

# The arrow table has one home, which this function and tests/style/check_layers.py both read.
function(scela_check_arrow from to)
  file(READ "${PROJECT_SOURCE_DIR}/tests/style/arrows.json" table)
  string(JSON count ERROR_VARIABLE missing LENGTH "${table}" "${from}")
  if(missing)
    message(FATAL_ERROR "room ${from} is not in tests/style/arrows.json")
  endif()
  set(index 0)
  while(index LESS count)
    string(JSON allowed GET "${table}" "${from}" ${index})
    if(allowed STREQUAL to)
      return()
    endif()
    math(EXPR index "${index} + 1")
  endwhile()
  message(FATAL_ERROR "the plan has no arrow from ${from} to ${to} (tests/style/arrows.json)")
endfunction()
