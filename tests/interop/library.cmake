# Programs that see of ScELA what libscela exports: waits for messages and operations together, messages of all kinds, the radix sort, and
# programs in C.
foreach(source tests/interop/programs/channel/waits_probe.cpp tests/interop/programs/capi/capi_probe.c examples/radix_sort.cpp
    tests/interop/programs/channel/messages_probe.cpp examples/ring_scela.c)
  cmake_path(GET source STEM program)
  add_executable(${program} "${PROJECT_SOURCE_DIR}/${source}")
  target_link_libraries(${program} PRIVATE scela)
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")
endforeach()
target_sources(messages_probe PRIVATE "${PROJECT_SOURCE_DIR}/tests/interop/programs/channel/messages_communicators.cpp"
  "${PROJECT_SOURCE_DIR}/tests/interop/programs/channel/messages_pieces.cpp")
target_include_directories(messages_probe PRIVATE "${PROJECT_SOURCE_DIR}")

# library_test(<name> CHECK check_run's options... RUN COMMAND...)
function(library_test name)
  cmake_parse_arguments(PARSE_ARGV 1 TEST "" "" "CHECK;RUN")
  add_test(NAME "library: ${name}" COMMAND ${python} "${CMAKE_CURRENT_SOURCE_DIR}/check_run.py"
    ${TEST_CHECK} -- ${TEST_RUN})
  set_tests_properties("library: ${name}" PROPERTIES LABELS interop TIMEOUT 150 PROCESSORS ${SCELA_COMPUTES})
endfunction()

if(TARGET scela-ibverbs AND TARGET scela-hca)
  set(between ${run} --pmi fd --sim-nodes 2 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs>)
endif()

foreach(by at-once polled thread both)
  foreach(ranks 2 4)
    library_test("one wait for messages and operations, ${by}, ${ranks} ranks of a node"
      CHECK --quiet --out "waits ${by}: ${ranks} ranks on 1 nodes" RUN ${run} --pmi fd -n ${ranks} ${bin}/waits_probe ${by})
  endforeach()
  if(between)
    library_test("one wait for messages and operations, ${by}, between nodes"
      CHECK --quiet --out "waits ${by}: 4 ranks on 2 nodes" RUN ${between} -n 4 ${bin}/waits_probe ${by})
  endif()
endforeach()

# Messages within communicators, of several pieces, and without their requests.
set(probe ${bin}/messages_probe)
foreach(part communicators pieces detached threads)
  library_test("messages, ${part}, on a node" CHECK --quiet --out "messages ${part}: 5 ranks on 1 nodes"
    RUN ${run} --pmi fd -n 5 ${probe} ${part})
  if(between)
    library_test("messages, ${part}, between nodes" CHECK --quiet --out "messages ${part}: 4 ranks on 2 nodes"
      RUN ${between} -n 4 ${probe} ${part})
  endif()
endforeach()
library_test("a rank ends the job, by PMI-1" CHECK --status 7 --said 1 "the child ends alone" --said 1 ".*rank 1 gives up.*"
    --err "scela-run: rank 1 on .* aborted the job with code 7: rank 1 gives up"
  RUN ${run} --pmi fd -n 4 ${probe} abort 7)
library_test("a rank ends the job with status 0, which is no success" CHECK --status 1
    --err "scela-run: rank 1 on .* aborted the job with code 1: rank 1 gives up"
  RUN ${run} --pmi fd -n 4 ${probe} abort 0)
library_test("a rank ends the job, by PMIx" CHECK --status 7 --err "scela-run: rank 1 on .* aborted the job with code 7: rank 1 gives up"
  RUN ${run} --pmi pmix -n 4 ${probe} abort 7)
library_test("messages, none comes into a later world that has its context" CHECK --quiet --out "messages families: 4 ranks on 1 nodes"
  RUN ${run} --pmi fd -n 4 ${probe} families)
library_test("messages, a rank of a communicator dies, on a node" CHECK --status 137 --out "messages death: 5 ranks on 1 nodes"
  RUN ${run} --pmi fd -n 5 --on-failure wait ${probe} death)
library_test("messages, pieces, where one process may not read another's memory" CHECK --said 1 ".*" --said 1
    "libscela: rank [0-3]: copy 8 bytes .*kernel refuses process_vm_readv .*large messages go in pieces.*" --out "messages pieces: 4 ranks on 1 nodes"
  RUN ${run} --pmi fd -n 4 $<TARGET_FILE:unprivileged> --refuse-transfers ${probe} pieces)
if(between)
  library_test("messages, a rank of a communicator dies, between nodes" CHECK --status 137 --out "messages death: 4 ranks on 2 nodes"
    RUN ${between} -n 4 --on-failure wait ${probe} death)
  set(three ${run} --pmi fd --sim-nodes 3 -n 6 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs>)
  foreach(way write read offloaded)
    foreach(part pieces detached)
      library_test("messages, ${part}, between three nodes, ${way}" CHECK --quiet --out "messages ${part}: 6 ranks on 3 nodes"
        RUN ${three} --env SCELA_CHANNEL_RENDEZVOUS=${way} --env SCELA_HCA_STRICT=5 ${probe} ${part})
    endforeach()
  endforeach()
endif()

# What comes out is checked by the program: in order, the same keys, what std::sort makes of them.
function(radix_test name ranks options)
  string(REPLACE " " ";" words "${options}")
  library_test("radix sort, ${name}, ${ranks} ranks" CHECK --quiet --out "radix sort of .* on ${ranks} ranks, 1 nodes, .*; sorted"
    RUN ${run} --pmi fd -n ${ranks} ${bin}/radix_sort --rounds 1 ${words})
endfunction()
foreach(ranks 1 2 3 5)
  radix_test("random keys" ${ranks} "--keys 5000 --bits 8 --data random")
  radix_test("few different keys" ${ranks} "--keys 3000 --bits 4 --data few")
  radix_test("ranks without keys" ${ranks} "--keys 1000 --bits 11 --data uneven")
  radix_test("keys in order" ${ranks} "--keys 4000 --bits 16 --data sorted")
endforeach()
radix_test("fewer keys than ranks" 5 "--keys 0 --bits 8 --data uneven")
radix_test("no keys" 3 "--keys 0 --bits 1 --data random")
radix_test("by a thread" 3 "--keys 5000 --bits 8 --data random --run-by thread")
radix_test("at once" 3 "--keys 5000 --bits 8 --data random --run-by at-once")
radix_test("many parts" 2 "--keys 100 --bits 3 --data random --parts 64")
library_test("radix sort, options that there are not" CHECK --status 1 --said 1 "radix_sort: few-er is none of: random .*"
  RUN ${bin}/radix_sort --data few-er)
if(between)
  foreach(data random few uneven sorted)
    library_test("radix sort, ${data}, between nodes" CHECK --quiet --out "radix sort of .* on 4 ranks, 2 nodes, .*; sorted"
      RUN ${between} -n 4 ${bin}/radix_sort --rounds 1 --keys 20000 --data ${data})
  endforeach()
  library_test("radix sort, by a thread, between nodes" CHECK --quiet --out "radix sort of .* on 4 ranks, 2 nodes, .*; sorted"
    RUN ${between} -n 4 ${bin}/radix_sort --rounds 1 --keys 20000 --run-by thread)
endif()

# The C interface (capi/include/scela/scela.h).
foreach(ranks 1 2 5)
  math(EXPR last "${ranks} - 1")
  library_test("C interface, ${ranks} ranks of a node" CHECK --quiet --out "rank ${last} of ${ranks}: good"
    RUN ${run} --pmi fd -n ${ranks} ${bin}/capi_probe)
endforeach()
library_test("C interface, a rank ends the job" CHECK --status 5 --err "scela-run: rank 0 on .* aborted the job with code 5: no more"
  RUN ${run} --pmi fd -n 3 ${bin}/capi_probe abort)
library_test("C interface, a ring, 3 ranks" CHECK --quiet --out "the ring's sum is 3, that of the collective operation 3"
  RUN ${run} --pmi fd -n 3 ${bin}/ring_scela)
if(between)
  library_test("C interface, between nodes" CHECK --quiet --out "rank 3 of 4: good" RUN ${between} -n 4 ${bin}/capi_probe)
  library_test("C interface, a ring, between nodes" CHECK --quiet --out "the ring's sum is 6, that of the collective operation 6"
    RUN ${between} -n 4 ${bin}/ring_scela)
endif()
