# Ends are told by other means under each PMI, so their tests run under all of them. First with no option, as users start
# programs: --pmi auto chooses, by this machine's mpiexec where a program shows none. Also where no memory of the agent tells
# which ranks are dead (unshared).
set(every_pmi default fd pmi2 port unshared)
if(TARGET scela-pmix AND SCELA_PMIX_HEADERS_FOUND)
  list(APPEND every_pmi pmix)
endif()

# ends_under(<which> <options> <suffix>): scela-run's options for one of every_pmi, and what names of tests end in.
function(ends_under which options suffix)
  set(fd_options --pmi fd)
  set(pmi2_options --pmi fd --env SCELA_BOOTSTRAP=pmi2)
  set(port_options --pmi port)
  set(unshared_options --pmi fd --env SCELA_SEGMENT=0)
  set(pmix_options --pmi pmix)
  set(${options} ${${which}_options} PARENT_SCOPE)
  set(${suffix} ", ${which}" PARENT_SCOPE)
  if(which STREQUAL "default")
    set(${suffix} "" PARENT_SCOPE)
  endif()
endfunction()
