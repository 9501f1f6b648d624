# cpack reads this once for each generator.
if(CPACK_GENERATOR MATCHES "DEB|RPM")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
endif()
if(CPACK_GENERATOR STREQUAL "DEB")
  # Each package has a synopsis of its own, before which cpack would write this one.
  unset(CPACK_PACKAGE_DESCRIPTION_SUMMARY)
endif()
