# The three kinds of target that rooms are made of:
#   scela_room     a static library, installed and exported as Scela::<target>
#   scela_program  an executable in <build>/bin, installed
#   scela_arrow... the check behind DEPENDS (tests/style/check_layers.py checks the #include lines)

# scela_room(<name> PURE|SHELL SOURCES a.cpp... [DEPENDS room...] [LIBRARIES target...] [PCH header...])
#
# The name is the folder with '/' as written in the arrow table (tests/style/arrows.json); the target is
# scela_<name with / and - as _>. A dependency that the table does not allow is refused at configure
# time; PURE rooms are listed for the purity test. PCH names headers to precompile: worth it where
# three or more files include the same expensive one (Asio).
function(scela_room name)
  cmake_parse_arguments(ROOM "PURE;SHELL" "" "SOURCES;DEPENDS;LIBRARIES;PCH" ${ARGN})
  string(REGEX REPLACE "[/-]" "_" target "scela_${name}")
  add_library(${target} STATIC ${ROOM_SOURCES})
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/scela>)
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
  set_property(GLOBAL APPEND PROPERTY SCELA_ROOMS ${name})
endfunction()

# scela_program(<name> SOURCES main.cpp... [ROOMS room...] [LIBRARIES target...] [STATIC])
#
# STATIC links the C library too, so that the program loads nothing at run time (the agent: one exec per
# node, on nodes that need not have our libraries); sanitizers cannot be linked so and are left dynamic.
function(scela_program name)
  cmake_parse_arguments(PROGRAM "STATIC" "" "SOURCES;ROOMS;LIBRARIES" ${ARGN})
  add_executable(${name} ${PROGRAM_SOURCES})
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
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
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
