# Collective operations by every executor: over the channel, under scela-run; over MPIs' messages (N7).
add_executable(collectives_probe programs/collectives/collectives_probe.cpp ${PROJECT_SOURCE_DIR}/tests/support/collective_case.cpp)
target_link_libraries(collectives_probe PRIVATE
  scela_collectives_executors scela_collectives_algorithms scela_comm_channel)
target_include_directories(collectives_probe PRIVATE ${PROJECT_SOURCE_DIR})
if(TARGET scela_collectives_offload)
  target_link_libraries(collectives_probe PRIVATE scela_collectives_offload)
  target_compile_definitions(collectives_probe PRIVATE SCELA_WITH_ENGINE)
endif()
set_target_properties(collectives_probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")

# collectives_test(<name> CHECK check_run's options... RUN COMMAND...)
function(collectives_test name)
  cmake_parse_arguments(PARSE_ARGV 1 TEST "" "" "CHECK;RUN")
  add_test(NAME "collectives: ${name}" COMMAND ${python} "${CMAKE_CURRENT_SOURCE_DIR}/check_run.py"
    ${TEST_CHECK} -- ${TEST_RUN})
  set_tests_properties("collectives: ${name}" PROPERTIES LABELS interop TIMEOUT 150 PROCESSORS ${SCELA_COMPUTES})
endfunction()

set(kinds inline polled thread)
foreach(kind IN LISTS kinds)
  foreach(ranks 2 4)
    collectives_test("${kind}, ${ranks} ranks of a node" CHECK --quiet --out "collectives: ${kind}, ${ranks} ranks on 1 nodes"
      RUN ${run} --pmi fd -n ${ranks} ${bin}/collectives_probe ${kind})
  endforeach()
  collectives_test("${kind}, many messages a peer" CHECK --quiet --out "collectives: ${kind} long, 3 ranks on 1 nodes"
    RUN ${run} --pmi fd -n 3 ${bin}/collectives_probe ${kind} long)
  foreach(pmi IN LISTS every_pmi)
    ends_under(${pmi} options suffix)
    collectives_test("${kind}, a rank is killed${suffix}" CHECK --status 137
        --out "collectives: ${kind} killed, 4 ranks on 1 nodes"
      RUN ${run} ${options} -n 4 --on-failure wait ${bin}/collectives_probe ${kind} killed)
    if(TARGET scela-ibverbs AND TARGET scela-hca)
      collectives_test("${kind}, a rank is killed, between nodes${suffix}" CHECK --status 137
          --out "collectives: ${kind} killed, 4 ranks on 2 nodes"
        RUN ${run} ${options} --sim-nodes 2 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs> -n 4 --on-failure wait
          ${bin}/collectives_probe ${kind} killed)
    endif()
  endforeach()
  if(TARGET scela-ibverbs AND TARGET scela-hca)
    set(between ${run} --pmi fd --sim-nodes 2 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs>)
    foreach(ranks 2 4)
      collectives_test("${kind}, ${ranks} ranks on two nodes" CHECK --quiet --out "collectives: ${kind}, ${ranks} ranks on 2 nodes"
        RUN ${between} -n ${ranks} ${bin}/collectives_probe ${kind})
    endforeach()
    collectives_test("${kind}, many messages a peer, between nodes" CHECK --quiet
        --out "collectives: ${kind} long, 4 ranks on 2 nodes"
      RUN ${between} -n 4 ${bin}/collectives_probe ${kind} long)
  endif()
endforeach()

# The adapter's engine: also between ranks of a node. A stopped rank needs transfers by the engine, which a sanitizer's
# memory has as well.
if(TARGET scela_collectives_offload AND TARGET scela-ibverbs AND TARGET scela-hca)
  set(by_engine ${run} --pmi fd --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs>)
  foreach(nodes 1 2)
    foreach(ranks 2 4)
      collectives_test("engine, ${ranks} ranks on ${nodes} nodes" CHECK --quiet
          --out "collectives: engine, ${ranks} ranks on ${nodes} nodes"
        RUN ${by_engine} --sim-nodes ${nodes} -n ${ranks} ${bin}/collectives_probe engine)
    endforeach()
    collectives_test("engine, many messages a peer, ${nodes} nodes" CHECK --quiet
        --out "collectives: engine long, 4 ranks on ${nodes} nodes"
      RUN ${by_engine} --sim-nodes ${nodes} -n 4 ${bin}/collectives_probe engine long)
    collectives_test("engine, all ends while a rank is stopped, ${nodes} nodes" CHECK
        --out "collectives: engine stopped, 4 ranks on ${nodes} nodes"
      RUN ${by_engine} --sim-nodes ${nodes} -n 4 ${bin}/collectives_probe engine stopped)
    foreach(pmi IN LISTS every_pmi)
      ends_under(${pmi} options suffix)
      collectives_test("engine, a rank is killed, ${nodes} nodes${suffix}" CHECK --status 137
          --out "collectives: engine killed, 4 ranks on ${nodes} nodes"
        RUN ${run} ${options} --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs> --sim-nodes ${nodes} -n 4 --on-failure wait
          ${bin}/collectives_probe engine killed)
    endforeach()
  endforeach()
endif()

# A thread of each process moves the bytes where the kernel lets nobody else at them; or executes the tasks as well, as on a
# device that knows none.
if(TARGET scela_collectives_offload AND TARGET scela-ibverbs AND TARGET scela-hca)
  collectives_test("engine, where transfers are refused" CHECK --out "collectives: engine, 4 ranks on 1 nodes"
    RUN $<TARGET_FILE:unprivileged> --refuse-transfers ${by_engine} -n 4 ${bin}/collectives_probe engine)
  if(TARGET scela-verbs-tasks)
    set(by_thread ${by_engine} --env SCELA_TASKS=thread --env LD_LIBRARY_PATH=$<TARGET_FILE_DIR:scela-verbs-tasks>)
    foreach(nodes 1 2)
      collectives_test("engine, tasks by a thread, ${nodes} nodes" CHECK --quiet --out "collectives: engine, 4 ranks on ${nodes} nodes"
        RUN ${by_thread} --sim-nodes ${nodes} -n 4 ${bin}/collectives_probe engine)
    endforeach()
    collectives_test("engine, many messages a peer, tasks by a thread" CHECK --quiet --out "collectives: engine long, 4 ranks on 2 nodes"
      RUN ${by_thread} --sim-nodes 2 -n 4 ${bin}/collectives_probe engine long)
  endif()
endif()

# MPIs' own compilers link the rooms that this tree has built; the channel is not among them.
set(rooms scela_collectives_executors scela_collectives_algorithms scela_collectives_core scela_common_os scela_common_core)
foreach(room IN LISTS rooms)
  list(APPEND libraries $<TARGET_FILE:${room}>)
endforeach()
set(mpich ${SCELA_HYDRA})
set(openmpi ${ompirun} --oversubscribe)
foreach(mpi mpich openmpi)
  find_program(SCELA_MPICXX_${mpi} mpicxx.${mpi})
  if(NOT SCELA_MPICXX_${mpi} OR NOT SCELA_HYDRA OR NOT SCELA_OMPIRUN)
    message(STATUS "collectives over ${mpi} left out: they need mpicxx.${mpi} and its mpiexec")
    continue()
  endif()
  set(program "${SCELA_INTEROP_BIN}/collectives_${mpi}")
  set(sources "${CMAKE_CURRENT_SOURCE_DIR}/programs/collectives/collectives_mpi.cpp" "${PROJECT_SOURCE_DIR}/tests/support/collective_case.cpp")
  add_custom_command(OUTPUT "${program}"
    DEPENDS ${sources} programs/collectives/collectives_probe.h "${PROJECT_SOURCE_DIR}/tests/support/collective_case.h" ${rooms}
    COMMAND ${SCELA_MPICXX_${mpi}} -std=c++20 -O2 -I "${PROJECT_SOURCE_DIR}" -o "${program}" ${sources} ${libraries} -lpthread
    VERBATIM)
  add_custom_target(interop_collectives_${mpi} ALL DEPENDS "${program}")
  foreach(kind IN LISTS kinds)
    foreach(ranks 2 3 4)
      collectives_test("${kind} over ${mpi}, ${ranks} ranks" CHECK --quiet --out "collectives over MPI: ${kind}, ${ranks} ranks"
        RUN ${${mpi}} -n ${ranks} ${program} ${kind})
    endforeach()
  endforeach()

  # A program that registers the MPI's messages by the public header.
  set(program "${SCELA_INTEROP_BIN}/collectives_over_${mpi}")
  set(source "${PROJECT_SOURCE_DIR}/examples/collectives_over_mpi.cpp")
  add_custom_command(OUTPUT "${program}" DEPENDS "${source}" scela
    COMMAND ${SCELA_MPICXX_${mpi}} -std=c++20 -O2 -Wall -I "${PROJECT_SOURCE_DIR}/comm-channel/include"
      -I "${PROJECT_SOURCE_DIR}/collectives/include" -o "${program}" "${source}" $<TARGET_FILE:scela>
      "-Wl,-rpath,$<TARGET_FILE_DIR:scela>"
    VERBATIM)
  add_custom_target(interop_collectives_over_${mpi} ALL DEPENDS "${program}")
  foreach(mode polled at_once thread)
    foreach(ranks 1 2 5)
      collectives_test("a program over ${mpi}'s messages, ${mode}, ${ranks} ranks" CHECK --quiet
          --out "collective operations over MPI: ${ranks} ranks, .*"
        RUN ${${mpi}} -n ${ranks} ${program} ${mode})
    endforeach()
  endforeach()
endforeach()
