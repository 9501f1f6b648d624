# Ranks that end in the middle of operations of a communicator: the others fail by name, shrink and go on.
add_executable(communicator_ends programs/collectives/communicator_ends.cpp)
target_link_libraries(communicator_ends PRIVATE scela_collectives_communicator scela_comm_channel)
target_include_directories(communicator_ends PRIVATE ${PROJECT_SOURCE_DIR})
set_target_properties(communicator_ends PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")

foreach(pmi IN LISTS every_pmi)
  ends_under(${pmi} options suffix)
  foreach(case IN ITEMS "polled/allreduce" "polled/bcast" "polled/barrier" "polled/alltoall" "polled/two" "polled/shrink"
      "polled/leaves" "at_once/alltoall" "at_once/shrink" "thread/alltoall" "thread/shrink")
    string(REPLACE "/" ";" case "${case}")
    list(GET case 0 by)
    list(GET case 1 scenario)
    set(left 3)
    if(scenario STREQUAL "two" OR scenario STREQUAL "shrink")
      set(left 2)
    endif()
    set(status 137)
    if(scenario STREQUAL "leaves")
      set(status 0)
    endif()
    collectives_test("${by}, ends: ${scenario}${suffix}" CHECK --status ${status}
        --out "ends: ${by}, ${scenario}: ${left} of 4 ranks go on, on 1 nodes"
      RUN ${run} ${options} -n 4 --on-failure wait ${bin}/communicator_ends ${by} ${scenario})
    if(TARGET scela-ibverbs AND TARGET scela-hca)
      collectives_test("${by}, ends: ${scenario}, between nodes${suffix}" CHECK --status ${status}
          --out "ends: ${by}, ${scenario}: ${left} of 4 ranks go on, on 2 nodes"
        RUN ${run} ${options} --sim-nodes 2 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs> -n 4 --on-failure wait
          ${bin}/communicator_ends ${by} ${scenario})
    endif()
  endforeach()
endforeach()
