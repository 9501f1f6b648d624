# cpack runs this after it has installed the components below CPACK_TEMPORARY_DIRECTORY, and before it packs them. A Debian package
# gets its copyright file, its changelogs and its lintian overrides; manual pages are compressed.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()

function(compress file)
  execute_process(COMMAND gzip -9n "${file}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component programs library development)
  string(TOUPPER ${component} upper)
  set(package "${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
  set(root "${CPACK_TEMPORARY_DIRECTORY}/${component}/usr")

  set(documents "${root}/share/doc/${package}")
  configure_file("${CPACK_SCELA_PACKAGING}/debian/copyright" "${documents}/copyright" COPYONLY)
  set(version "${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")
  set(contact "${CPACK_PACKAGE_CONTACT}")
  configure_file("${CPACK_SCELA_PACKAGING}/debian/changelog.in" "${documents}/changelog.Debian" @ONLY)
  compress("${documents}/changelog.Debian")
  configure_file("${CPACK_SCELA_CHANGES}" "${documents}/changelog" COPYONLY)
  compress("${documents}/changelog")

  if(EXISTS "${CPACK_SCELA_PACKAGING}/debian/${package}.lintian-overrides")
    configure_file("${CPACK_SCELA_PACKAGING}/debian/${package}.lintian-overrides" "${root}/share/lintian/overrides/${package}" COPYONLY)
  endif()
  file(GLOB pages "${root}/share/man/man*/*")
  foreach(page IN LISTS pages)
    compress("${page}")
  endforeach()
  # Debian's zsh reads another folder than the shell's own default.
  if(EXISTS "${root}/share/zsh/site-functions")
    file(RENAME "${root}/share/zsh/site-functions" "${root}/share/zsh/vendor-completions")
  endif()
endforeach()
# The examples are documents of the package that has the headers.
file(MAKE_DIRECTORY "${CPACK_TEMPORARY_DIRECTORY}/development/usr/share/doc/libscela-dev")
file(RENAME "${CPACK_TEMPORARY_DIRECTORY}/development/usr/share/doc/scela/examples"
  "${CPACK_TEMPORARY_DIRECTORY}/development/usr/share/doc/libscela-dev/examples")
file(REMOVE_RECURSE "${CPACK_TEMPORARY_DIRECTORY}/development/usr/share/doc/scela")
