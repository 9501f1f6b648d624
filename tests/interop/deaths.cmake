# Ranks that end, and are named on all others by the launcher alone, whatever it speaks with them.
add_executable(deaths_probe programs/channel/deaths_probe.cpp)
target_link_libraries(deaths_probe PRIVATE scela_collectives_communicator scela_comm_channel)
target_include_directories(deaths_probe PRIVATE ${PROJECT_SOURCE_DIR})
set_target_properties(deaths_probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")

# The adapter does not find out for so long, so what ends in time was told.
set(told --timeout 45 --on-failure wait --env SCELA_CHANNEL_UNREACHABLE_AFTER=3600)
foreach(pmi IN LISTS every_pmi)
  ends_under(${pmi} options suffix)
  set(status_exit 1)
  set(status__exit 1)
  set(status_kill 137)
  set(status_left 0)
  set(status_well 137)
  foreach(how exit _exit kill left well)
    set(where -n 4)
    foreach(nodes 1 2)
      if(nodes EQUAL 2)
        if(NOT TARGET scela-ibverbs OR NOT TARGET scela-hca)
          continue()
        endif()
        set(where --sim-nodes 2 --ppn 2 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs>)
      elseif(how STREQUAL "well")
        continue()  # ranks of a node look by themselves
      endif()
      channel_test("deaths: ${how}, ${nodes} nodes${suffix}" CHECK --status ${status_${how}}
          --out "deaths: ${how}, 4 ranks on ${nodes} nodes"
        RUN ${run} ${options} ${told} ${where} ${bin}/deaths_probe ${how})
    endforeach()
  endforeach()
endforeach()
if(TARGET scela-ibverbs AND TARGET scela-hca)
  # A link of a rank that leaves is closed, and with a limit none is made to ask whether it is there.
  foreach(how left met)
    foreach(rc 0 1)
      channel_test("deaths: ${how}, 2 nodes, one link, RC ${rc}" CHECK --status 0 --out "deaths: ${how}, 4 ranks on 2 nodes"
        RUN ${run} ${told} ${where} --env SCELA_CHANNEL_MAX_LINKS=1 --env SCELA_HCA_NO_XRC=${rc} ${bin}/deaths_probe ${how})
    endforeach()
  endforeach()
  # No memory is shared, and PMI-2 is spoken.
  channel_test("deaths: exit, 2 nodes, port and pmi2" CHECK --status 1 --out "deaths: exit, 4 ranks on 2 nodes"
    RUN ${run} --pmi port --env SCELA_BOOTSTRAP=pmi2 ${told} ${where} ${bin}/deaths_probe exit)
  # No memory is shared with spawned ranks.
  channel_test("deaths: kill, ranks that were spawned" CHECK --status 137 --count 2 "deaths: kill, 4 ranks on [12] nodes"
    RUN ${run} --pmi fd ${told} --usize 8 --sim-nodes 2 -n 2 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs>
      ${bin}/bootstrap_spawn ${bin}/deaths_probe 4 kill)
endif()
