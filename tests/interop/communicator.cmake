# scela::Communicator over the channel, under every launcher there is.
add_executable(communicator_probe programs/collectives/communicator_probe.cpp programs/collectives/communicator_operations.cpp
  programs/collectives/communicator_flights.cpp programs/collectives/communicator_binding.cpp programs/collectives/communicator_long.cpp programs/collectives/communicator_wrong.cpp)
target_link_libraries(communicator_probe PRIVATE scela_collectives_communicator scela_comm_channel)
target_include_directories(communicator_probe PRIVATE ${PROJECT_SOURCE_DIR})
set_target_properties(communicator_probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")
set(probe ${bin}/communicator_probe)

# Over the public interface alone.
add_executable(communicator_bounds programs/collectives/communicator_bounds.cpp)
target_link_libraries(communicator_bounds PRIVATE scela_collectives_communicator scela_comm_channel)
target_include_directories(communicator_bounds PRIVATE ${PROJECT_SOURCE_DIR})
set_target_properties(communicator_bounds PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")
set(bounds ${bin}/communicator_bounds)

# communicator_test(<name> CHECK check_run's options... RUN COMMAND...)
function(communicator_test name)
  cmake_parse_arguments(PARSE_ARGV 1 TEST "" "" "CHECK;RUN")
  add_test(NAME "communicator: ${name}" COMMAND ${python} "${CMAKE_CURRENT_SOURCE_DIR}/check_run.py"
    ${TEST_CHECK} -- ${TEST_RUN})
  set_tests_properties("communicator: ${name}" PROPERTIES LABELS interop TIMEOUT 150 PROCESSORS ${SCELA_COMPUTES})
endfunction()

# What the operations do is proved in memory, by every executor with 2, 4 and 7 ranks (communicator_matrix_test in
# tests/unit/collectives/communicator, of the same sources). Here each executor runs once over a real channel, and each launcher
# once.
foreach(by at-once polled thread)
  foreach(part operations flights)
    communicator_test("${part} ${by}, 4 ranks of a node" CHECK --quiet
        --out "communicator: ${part} ${by}, 4 ranks on 1 nodes"
      RUN ${run} --pmi fd -n 4 ${probe} ${part} ${by})
  endforeach()
endforeach()
if(TARGET scela-ibverbs AND TARGET scela-hca)
  foreach(what "operations polled" "flights polled" "flights thread")
    separate_arguments(words UNIX_COMMAND "${what}")
    communicator_test("${what}, 4 ranks on two nodes" CHECK --quiet
        --out "communicator: ${what}, 4 ranks on 2 nodes"
      RUN ${run} --pmi fd --sim-nodes 2 --ppn 2 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs> ${probe} ${words})
  endforeach()
endif()
foreach(by at-once polled thread)
  communicator_test("many messages a peer ${by}, 2 ranks of a node" CHECK --quiet --out "communicator: long ${by}, 2 ranks on 1 nodes"
    RUN ${run} --pmi fd -n 2 ${probe} long ${by})
endforeach()
if(TARGET scela_collectives_offload AND TARGET scela-ibverbs AND TARGET scela-hca)
  foreach(shape "2;1" "4;2")
    list(GET shape 0 ranks)
    list(GET shape 1 nodes)
    communicator_test("many messages a peer engine, ${ranks} ranks on ${nodes} nodes" CHECK --quiet
        --out "communicator: long engine, ${ranks} ranks on ${nodes} nodes"
      RUN ${run} --pmi fd --sim-nodes ${nodes} --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs> -n ${ranks} ${probe} long engine)
  endforeach()
endif()
foreach(ranks 1 2)
  communicator_test("a thread is bound beside its rank, ${ranks} ranks" CHECK --quiet
      --out "communicator: binding thread, ${ranks} ranks on 1 nodes"
    RUN ${run} --pmi fd -n ${ranks} ${probe} binding thread)
endforeach()
communicator_test("operations alone" CHECK --quiet --out "communicator: operations polled, 1 ranks on 1 nodes"
  RUN ${probe} operations polled)
if(SCELA_HYDRA)
  communicator_test("operations polled, by mpiexec.hydra" CHECK --quiet --out "communicator: operations polled, 4 ranks on 1 nodes"
    RUN ${SCELA_HYDRA} -n 4 ${probe} operations polled)
endif()
if(TARGET scela-pmix AND SCELA_PMIX_HEADERS_FOUND)
  communicator_test("flights polled, by scela-run and PMIx" CHECK --quiet --out "communicator: flights polled, 4 ranks on 1 nodes"
    RUN ${run} --pmi pmix -n 4 ${probe} flights polled)
endif()

# Ten ways to be wrong, and some more: clear errors, no hang.
set(between)
if(TARGET scela-ibverbs AND TARGET scela-hca)
  set(between --sim-nodes 2 --ppn 2 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs>)
endif()
foreach(what null overlap reduction root parts freed alone last waited started)
  communicator_test("wrongly, ${what}" CHECK --quiet --out "communicator: ${what} polled, 4 ranks on 1 nodes"
    RUN ${run} --pmi fd -n 4 ${probe} ${what} polled)
endforeach()
foreach(what calls sizes roots types reductions algorithms null overlap root parts freed alone last waited started)
  communicator_test("wrongly, ${what}, where calls are checked" CHECK --quiet --out "communicator: ${what} polled, 3 ranks on 1 nodes"
    RUN ${run} --pmi fd -n 3 --env SCELA_COLL_CHECK=1 ${probe} ${what} polled)
endforeach()
foreach(by at-once thread)
  communicator_test("wrongly, null ${by}" CHECK --quiet --out "communicator: null ${by}, 4 ranks on 1 nodes"
    RUN ${run} --pmi fd -n 4 ${probe} null ${by})
  communicator_test("wrongly, alone ${by}" CHECK --quiet --out "communicator: alone ${by}, 4 ranks on 1 nodes"
    RUN ${run} --pmi fd -n 4 ${probe} alone ${by})
  communicator_test("wrongly, last ${by}" CHECK --quiet --out "communicator: last ${by}, 4 ranks on 1 nodes"
    RUN ${run} --pmi fd -n 4 ${probe} last ${by})
  communicator_test("wrongly, root ${by}" CHECK --quiet --out "communicator: root ${by}, 4 ranks on 1 nodes"
    RUN ${run} --pmi fd -n 4 ${probe} root ${by})
  communicator_test("wrongly, calls ${by}, where calls are checked" CHECK --quiet --out "communicator: calls ${by}, 4 ranks on 1 nodes"
    RUN ${run} --pmi fd -n 4 --env SCELA_COLL_CHECK=1 ${probe} calls ${by})
endforeach()
communicator_test("operations polled, where calls are checked" CHECK --quiet --out "communicator: operations polled, 4 ranks on 1 nodes"
  RUN ${run} --pmi fd -n 4 --env SCELA_COLL_CHECK=1 ${probe} operations polled)
communicator_test("flights polled, where calls are checked" CHECK --quiet --out "communicator: flights polled, 4 ranks on 1 nodes"
  RUN ${run} --pmi fd -n 4 --env SCELA_COLL_CHECK=1 ${probe} flights polled)
if(between)
  communicator_test("wrongly, overlap, between nodes" CHECK --quiet --out "communicator: overlap polled, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${between} ${probe} overlap polled)
  communicator_test("wrongly, root, between nodes" CHECK --quiet --out "communicator: root polled, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${between} ${probe} root polled)
  communicator_test("wrongly, alone, between nodes" CHECK --quiet --out "communicator: alone polled, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${between} ${probe} alone polled)
  communicator_test("wrongly, last, between nodes" CHECK --quiet --out "communicator: last polled, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${between} ${probe} last polled)
  communicator_test("wrongly, sizes, between nodes, where calls are checked" CHECK --quiet --out "communicator: sizes polled, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${between} --env SCELA_COLL_CHECK=1 ${probe} sizes polled)
endif()

# Beyond each number that a communicator could run out of, and used by what has no part in it.
foreach(by polled thread)
  foreach(case outstanding early families kinds lengths algorithms subgroups child closed unreceived)
    communicator_test("bounds, ${case} ${by}" CHECK --quiet --out "communicator: ${case} ${by} went well"
      RUN ${run} --pmi fd -n 3 ${bounds} ${case} ${by})
  endforeach()
endforeach()
# The engine sends no notes, and lists of operations that differ speak with different ranks.
if(TARGET scela_collectives_offload AND between)
  foreach(case early kinds algorithms subgroups child closed unreceived)
    communicator_test("bounds, ${case} engine" CHECK --quiet --out "communicator: ${case} engine went well"
      RUN ${run} --pmi fd --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs> -n 3 ${bounds} ${case} engine)
  endforeach()
  foreach(case lengths subgroups)
    communicator_test("bounds, ${case} engine between nodes" CHECK --quiet --out "communicator: ${case} engine went well"
      RUN ${run} --pmi fd ${between} ${bounds} ${case} engine)
  endforeach()
endif()
communicator_test("bounds, dups polled" CHECK --quiet --out "communicator: dups polled went well"
  RUN ${run} --pmi fd -n 3 ${bounds} dups polled)
foreach(by thread once)
  communicator_test("bounds, memory ${by}" CHECK --quiet --out "communicator: memory ${by} went well"
    RUN ${run} --pmi fd -n 3 ${bounds} memory ${by})
endforeach()
communicator_test("bounds, early at once" CHECK --quiet --out "communicator: early once went well"
  RUN ${run} --pmi fd -n 3 ${bounds} early once)
if(between)
  foreach(case outstanding early families kinds lengths algorithms subgroups child closed unreceived)
    communicator_test("bounds, ${case} between nodes" CHECK --quiet --out "communicator: ${case} polled went well"
      RUN ${run} --pmi fd ${between} ${bounds} ${case} polled)
  endforeach()
endif()
