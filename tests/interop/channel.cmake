# Messages (comm-channel), under every launcher there is.
add_executable(channel_probe programs/channel/channel_probe.cpp)
find_package(Threads REQUIRED)
target_link_libraries(channel_probe PRIVATE scela_comm_channel Threads::Threads)
set_target_properties(channel_probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")
set(probe ${bin}/channel_probe)
add_executable(offload_probe programs/channel/offload_probe.cpp programs/channel/offload_stops.cpp)
target_link_libraries(offload_probe PRIVATE scela_comm_channel Threads::Threads)
set_target_properties(offload_probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")

# channel_test(<name> CHECK check_run's options... RUN COMMAND...)
function(channel_test name)
  cmake_parse_arguments(PARSE_ARGV 1 TEST "" "" "CHECK;RUN")
  add_test(NAME "channel: ${name}" COMMAND ${python} "${CMAKE_CURRENT_SOURCE_DIR}/check_run.py"
    ${TEST_CHECK} -- ${TEST_RUN})
  set_tests_properties("channel: ${name}" PROPERTIES LABELS interop TIMEOUT 150 PROCESSORS ${SCELA_COMPUTES})
endfunction()

foreach(part all threads ring limits arguments)
  channel_test("${part}, by scela-run" CHECK --quiet --out "channel: ${part}, 4 ranks on 1 nodes"
    RUN ${run} --pmi fd -n 4 ${probe} ${part})
endforeach()
channel_test("alone" CHECK --quiet --out "channel: all, 1 ranks on 1 nodes" RUN ${probe})
channel_test("all, two ranks" CHECK --quiet --out "channel: all, 2 ranks on 1 nodes" RUN ${run} --pmi fd -n 2 ${probe})
channel_test("a ring of sixteen" CHECK --quiet --out "channel: ring, 16 ranks on 1 nodes" RUN ${run} --pmi fd -n 16 ${probe} ring)
foreach(pmi IN LISTS every_pmi)
  ends_under(${pmi} options suffix)
  channel_test("a rank is killed${suffix}" CHECK --status 137 --out "channel: killed, 4 ranks on 1 nodes"
    RUN ${run} ${options} -n 4 --on-failure wait ${probe} killed)
  channel_test("a rank is killed, and the others never wait${suffix}" CHECK --status 137
      --out "channel: polled, 4 ranks on 1 nodes"
    RUN ${run} ${options} -n 4 --on-failure wait ${probe} polled)
endforeach()
foreach(part all threads)
  channel_test("${part}, where one process may not read another's memory" CHECK --said 1 ".*" --said 1
      "libscela: rank [0-3]: copy 8 bytes .*kernel refuses process_vm_readv .*large messages go in pieces.*" --out "channel: ${part}, 4 ranks on 1 nodes"
    RUN ${run} --pmi fd -n 4 $<TARGET_FILE:unprivileged> --refuse-transfers ${probe} ${part})
endforeach()
channel_test("a setting that there is not" CHECK --status 3 --err "channel_probe: read SCELA_CHANNEL_EAGER: there is no such variable.*"
  RUN ${run} --pmi fd -n 2 --env SCELA_CHANNEL_EAGER=5 ${probe})
channel_test("a kind of launcher that there is not" CHECK --status 3
    --err "channel_probe: open the channel: read SCELA_BOOTSTRAP: invalid value 'foo' .*valid: auto, pmi1, pmi2, pmix, alone.*"
  RUN ${run} --pmi fd -n 1 --env SCELA_BOOTSTRAP=foo ${probe})
if(SCELA_HYDRA)
  channel_test("all, by mpiexec.hydra" CHECK --quiet --out "channel: all, 4 ranks on 1 nodes" RUN ${SCELA_HYDRA} -n 4 ${probe})
endif()
if(TARGET scela-pmix AND SCELA_PMIX_HEADERS_FOUND)
  channel_test("all, by scela-run and PMIx" CHECK --quiet --out "channel: all, 4 ranks on 1 nodes" RUN ${run} --pmi pmix -n 4 ${probe})
  if(SCELA_OMPIRUN)
    channel_test("all, by mpirun of Open MPI" CHECK --quiet --out "channel: all, 4 ranks on 1 nodes"
      RUN ${ompirun} --oversubscribe -n 4 ${probe})
  endif()
endif()

# The loop is the same for all, so each contestant's row is there.
find_program(SCELA_MPICXX_MPICH mpicxx.mpich)
find_program(SCELA_MPICXX_OPENMPI mpicxx.openmpi)
if(TARGET scela-perf AND SCELA_HYDRA AND SCELA_OMPIRUN AND SCELA_MPICXX_MPICH AND SCELA_MPICXX_OPENMPI)
  # Compiled here, where nothing waits with a time limit.
  set(peers "${SCELA_INTEROP_BIN}/perf_peers")
  file(GLOB peer_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/perf/*.h" "${PROJECT_SOURCE_DIR}/perf/mpi_peer.cpp")
  add_custom_command(OUTPUT "${peers}/done" DEPENDS scela-perf ${peer_sources} "${PROJECT_SOURCE_DIR}/perf/core/patterns.h"
      "${PROJECT_SOURCE_DIR}/perf/core/collective_names.h"
    COMMAND scela-perf latency --vs mpich,openmpi --turns 0 --keep "${peers}"
    COMMAND ${CMAKE_COMMAND} -E touch "${peers}/done" VERBATIM)
  add_custom_target(perf_peers ALL DEPENDS "${peers}/done")
  set(kept --vs mpich,openmpi --keep ${peers})
  set(three "\"contestant\":\"(scela|mpich|openmpi)\",\"bytes\":8,\"ranks\":2,\"nodes\":1,.*")
  foreach(bench bandwidth bidirectional rate)
    channel_test("scela-perf ${bench} beside MPICH and Open MPI"
      CHECK --quiet --count 3 "{\"bench\":\"${bench}\",.*${three}"
      RUN $<TARGET_FILE:scela-perf> ${bench} --sizes 8 --turns 1 --rounds 3 ${kept} --json)
  endforeach()
  # As for whoever keeps nothing: two compilers run first.
  channel_test("scela-perf latency beside MPICH and Open MPI"
    CHECK --within 280 --quiet --count 3 "{\"bench\":\"latency\",.*${three}"
    RUN $<TARGET_FILE:scela-perf> latency --sizes 8 --turns 1 --rounds 3 --vs mpich,openmpi --json)
  set_tests_properties("channel: scela-perf latency beside MPICH and Open MPI" PROPERTIES TIMEOUT 300)
  set(no_compilers ${env} MPICH_CXX=false OMPI_CXX=false $<TARGET_FILE:scela-perf> latency --sizes 8 --turns 1 --rounds 3)
  channel_test("scela-perf with peers that were compiled before"
    CHECK --quiet --count 3 "{\"bench\":\"latency\",.*${three}"
    RUN ${no_compilers} ${kept} --json)
  set(aged "${CMAKE_CURRENT_BINARY_DIR}/aged_peers")
  file(MAKE_DIRECTORY "${aged}")
  execute_process(COMMAND touch -d 2001-01-01 "${aged}/mpich-shm")
  channel_test("scela-perf compiles a peer anew when its source is newer"
    CHECK --status 1 --err "scela-perf: run 'mpicxx.mpich .*': it ended with status 1" --said 1 "scela-perf: .*"
    RUN ${no_compilers} --vs mpich --keep ${aged})
  channel_test("scela-perf pairs of four ranks"
    CHECK --quiet --count 2 "{\"bench\":\"pairs\",.*\"ranks\":4,.*\"messages_s\":[0-9].*"
    RUN $<TARGET_FILE:scela-perf> pairs --sizes 8,64K --turns 1 --rounds 3 --json)
  channel_test("scela-perf bandwidth beside a bare copy"
    CHECK --quiet --count 1 "{\"bench\":\"bandwidth\",.*\"contestant\":\"copy\",.*\"provider\":\"process_vm_readv\",.*\"ratio\":.*"
    RUN $<TARGET_FILE:scela-perf> bandwidth --sizes 64K --turns 1 --rounds 3 --vs copy --json)
  # Eight ranks, each of which has seven others, and in CG six.
  channel_test("scela-perf memory beside Open MPI"
    CHECK --quiet --count 2 "{\"bench\":\"memory\",\"op\":\"all\",.*\"kib_rank\":[1-9].*\"kib_others\":[1-9].*"
      --count 4 "{\"bench\":\"memory\",.*\"partners\":[1-7](\\.[0-9]+|),.*"
    RUN $<TARGET_FILE:scela-perf> memory -n 8 --pattern all,CG --turns 1 --vs openmpi --keep ${peers} --json)
  channel_test("scela-perf overlap beside Open MPI"
    CHECK --quiet --count 4 "{\"bench\":\"overlap\",\"op\":\"(send|receive)\",.*\"osu_percent\":.*\"imb_percent\":.*\"nbcbench_percent\":.*\"processor_taken_us\":.*"
    RUN $<TARGET_FILE:scela-perf> overlap --sizes 64K --turns 1 --rounds 3 --vs openmpi --keep ${peers} --json)
  channel_test("scela-perf noise beside Open MPI"
    CHECK --quiet --count 4 "{\"bench\":\"noise\",\"op\":\"late-(receiver|sender)\",.*\"delay_us\":10000.0,\"propagated_percent\":.*"
    RUN $<TARGET_FILE:scela-perf> noise --sizes 8 --delay 10 --turns 1 --rounds 3 --vs openmpi --keep ${peers} --json)
  channel_test("scela-perf coll beside MPICH and Open MPI"
    CHECK --quiet --count 6 "{\"bench\":\"coll\",\"op\":\"(allreduce|barrier)\",.*\"nbcbench_percent\":.*\"processor_taken_us\":.*"
      --count 4 "{\"bench\":\"coll\",.*\"contestant\":\"(mpich|openmpi)\",.*\"ratio\":[0-9].*"
      --count 2 "{\"bench\":\"coll\",.*\"contestant\":\"scela\",.*\"executor\":\"polled\",.*\"algorithm\":\"recursive-doubling\",.*\"post_us\":[0-9].*\"wait_us\":[0-9].*"
    RUN $<TARGET_FILE:scela-perf> coll allreduce,barrier --sizes 8 --turns 1 --rounds 3 ${kept} --json)
  set(collectives barrier,bcast,reduce,allreduce,gather,scatter,allgather,alltoall,reduce_scatter,scan,exscan)
  foreach(executor at_once polled thread)
    channel_test("scela-perf coll, every operation, ${executor}"
      CHECK --quiet --count 11 "{\"bench\":\"coll\",.*\"ranks\":4,.*\"executor\":\"${executor}\",.*"
      RUN $<TARGET_FILE:scela-perf> coll ${collectives} -n 4 --sizes 12 --executor ${executor} --turns 1 --rounds 1 --json)
  endforeach()
  channel_test("scela-perf coll of the peers, every operation"
    CHECK --quiet --count 22 "{\"bench\":\"coll\",.*\"contestant\":\"(mpich|openmpi)\",.*"
    RUN $<TARGET_FILE:scela-perf> coll ${collectives} --sizes 12 --turns 1 --rounds 1 ${kept} --json)
  channel_test("scela-perf coll by an algorithm, several at once"
    CHECK --quiet --count 1 "{\"bench\":\"coll\",\"op\":\"allreduce\",.*\"algorithm\":\"ring\",.*"
    RUN $<TARGET_FILE:scela-perf> coll allreduce --sizes 64 --algorithm ring --concurrent 16 --turns 1 --rounds 3 --json)
  channel_test("scela-perf coll by an algorithm that there is not"
    CHECK --status 1 --err "scela-perf: rank .: .*allreduce has no algorithm 'rinq'.*"
    RUN $<TARGET_FILE:scela-perf> coll allreduce --sizes 64 --algorithm rinq --turns 1)
  channel_test("scela-perf coll helped on every so many bytes, beside MPICH and Open MPI"
    CHECK --quiet --count 3 "{\"bench\":\"coll\",\"op\":\"allgather\",.*\"overlapped_every_4096_us\":[0-9].*\"overlapped_every_65536_us\":[0-9].*\"overhead_us\":.*\"overhead_every_4096_us\":.*\"nbcbench_every_65536_percent\":.*"
    RUN $<TARGET_FILE:scela-perf> coll allgather --sizes 64K --progress 4K,64K --turns 1 --rounds 1 ${kept} --json)
  channel_test("scela-perf coll counts memory and lists"
    CHECK --quiet --count 3 "{\"bench\":\"coll\",.*\"kib_rank\":[1-9].*\"kib_rank_resident\":[1-9].*\"kib_rank_shared\":[0-9].*"
      --count 1 "{\"bench\":\"coll\",.*\"contestant\":\"scela\",.*\"max_list_peers\":2.0,.*\"max_list_queue_pairs\":6.0,.*"
    RUN $<TARGET_FILE:scela-perf> coll allgather -n 4 --sizes 64 --algorithm ring --turns 1 --rounds 1 ${kept} --json)
  channel_test("scela-perf coll, ranks on one processor"
    CHECK --quiet --count 1 "{\"bench\":\"coll\",\"op\":\"bcast\",.*"
    RUN $<TARGET_FILE:scela-perf> coll bcast --sizes 64K --executor thread --apart --turns 1 --rounds 1 --json)
  channel_test("scela-perf with a peer that cannot be compiled"
    CHECK --status 1 --err "scela-perf: run 'mpicxx.mpich .*': it ended with status 1" --said 1 "scela-perf: .*"
    RUN ${env} MPICH_CXX=false $<TARGET_FILE:scela-perf> latency --sizes 8 --turns 1 --vs mpich)
  channel_test("scela-perf with a command line that is wrong"
    CHECK --status 2 --err "scela-perf: benchmark 'latancy': there is no such benchmark .*" RUN $<TARGET_FILE:scela-perf> latancy)
endif()

# The table of choices, and who has made them.
if(TARGET scela-perf)
  channel_test("scela-perf coll explains its choice"
    CHECK --quiet --count 1 "allreduce +\\.\\.8K +recursive-doubling +built in +SCELA_COLL_ALLREDUCE"
      --count 1 "allreduce +8193\\.\\.1M +rabenseifner +built in +SCELA_COLL_ALLREDUCE"
    RUN $<TARGET_FILE:scela-perf> coll allreduce --explain -n 8)
  channel_test("scela-perf coll explains what overrides its choice"
    CHECK --quiet --count 1 "bcast +1M +chain segment 64K, 16 segments +SCELA_COLL_BCAST +the call"
    RUN ${env} "SCELA_COLL_BCAST=bytes 1K.. chain segment 64K" $<TARGET_FILE:scela-perf> coll bcast --explain -n 8 --sizes 1M)
  channel_test("scela-perf coll counts queue pairs of lists, and runs nothing"
    CHECK --quiet --count 1 "allgather +standard-exchange +7 +4 +128 +21 +12 +[0-9]+"
      --count 1 "allgather +ring +2 +1 +32 +6 +3 +[0-9]+" --count 1 "allgather +bruck +13 .* 39 .*"
      --count 1 "allgather +hierarchical +[0-9]+ +4 +16 +[0-9]+ +12 +[0-9]+"
    RUN $<TARGET_FILE:scela-perf> coll allgather --census -n 128 --nodes 16)
  channel_test("scela-perf coll counts for an algorithm that cannot"
    CHECK --status 1 --err "scela-perf: .*alltoall has no algorithm 'rinq'.*"
    RUN $<TARGET_FILE:scela-perf> coll alltoall --census -n 4 --algorithm rinq)
endif()

# Between nodes, by the software adapter.
if(TARGET scela-ibverbs AND TARGET scela-hca)
  set(between --sim-nodes 2 --ppn 2 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs>)
  if(TARGET scela-perf)
    channel_test("scela-perf memory between nodes"
      CHECK --count 1 "{\"bench\":\"memory\",\"op\":\"all\",.*\"ranks\":8,\"nodes\":4,.*\"partners\":7.0,.*\"max_connections\":3.0,.*"
      RUN ${env} SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs> $<TARGET_FILE:scela-perf> memory -n 8 --nodes 4 --turns 1 --json)
    # A ring of four: two others, three queue pairs for each, and two of the rank's own.
    foreach(nodes 1 2)
      channel_test("scela-perf coll by the engine, ${nodes} nodes"
        CHECK --count 1 "{\"bench\":\"coll\",\"op\":\"allgather\",.*\"ranks\":4,\"nodes\":${nodes},.*\"executor\":\"engine\",.*\"algorithm\":\"ring\",.*\"engine_queue_pairs\":8.0,\"max_engine_queue_pairs\":8.0,.*"
        RUN ${env} SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs> $<TARGET_FILE:scela-perf> coll allgather -n 4 --nodes ${nodes} --sizes 64
          --algorithm ring --executor engine --apart --turns 1 --rounds 2 --json)
    endforeach()
  endif()
  foreach(part all threads ring limits arguments)
    channel_test("${part}, between nodes" CHECK --quiet --out "channel: ${part}, 4 ranks on 2 nodes"
      RUN ${run} --pmi fd ${between} ${probe} ${part})
  endforeach()
  channel_test("a rank that sleeps at the node's doorbell is woken by other nodes" CHECK --out "channel: woken, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${between} ${probe} woken)
  foreach(pmi IN LISTS every_pmi)
    ends_under(${pmi} options suffix)
    channel_test("a rank is killed, between nodes${suffix}" CHECK --status 137 --out "channel: killed, 4 ranks on 2 nodes"
      RUN ${run} ${options} ${between} --on-failure wait ${probe} killed)
    channel_test("a rank is killed between nodes, and the others never wait${suffix}" CHECK --status 137
        --out "channel: polled, 4 ranks on 2 nodes"
      RUN ${run} ${options} ${between} --on-failure wait ${probe} polled)
  endforeach()
  channel_test("order, between nodes" CHECK --out "channel: order, 4 ranks on 2 nodes" RUN ${run} --pmi fd ${between} ${probe} order)
  channel_test("connections break, and each message comes once and in order" CHECK --out "channel: broken, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${between} --env SCELA_HCA_STRICT=7 --env SCELA_HCA_FAULTS=not-ready=20 ${probe} broken)
  channel_test("connections break, and large messages are written" CHECK --out "channel: broken, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${between} --env SCELA_HCA_STRICT=8 --env SCELA_HCA_FAULTS=not-ready=20 --env SCELA_CHANNEL_RENDEZVOUS=write ${probe} broken)
  channel_test("one connection at a time, between five nodes" CHECK --out "channel: few, 5 ranks on 5 nodes"
    RUN ${run} --pmi fd --sim-nodes 5 -n 5 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs> --env SCELA_CHANNEL_MAX_LINKS=1 ${probe} few)
  set(losing --env SCELA_CHANNEL_UNREACHABLE_AFTER=1 --on-failure wait)
  channel_test("an adapter's engine is killed" CHECK --out "channel: engine, 4 ranks on 2 nodes" RUN ${run} --pmi fd ${between} ${losing} ${probe} engine)
  foreach(pmi IN LISTS every_pmi)
    ends_under(${pmi} options suffix)
    channel_test("a node's agent is killed${suffix}" CHECK --status 68 --out "channel: node, 4 ranks on 2 nodes"
      RUN ${run} ${options} ${between} ${losing} ${probe} node)
  endforeach()
  channel_test("all, between four nodes" CHECK --quiet --out "channel: all, 4 ranks on 4 nodes"
    RUN ${run} --pmi fd --sim-nodes 4 -n 4 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs> ${probe})

  # Offloaded channels: programs that are stopped, and what makes both sides agree on other ways.
  set(offload ${run} --pmi fd --sim-nodes 2 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs>)
  foreach(part receiver sender pauses short cancel discard)
    channel_test("offloaded, ${part}" CHECK --out "offload: ${part}, 2 ranks" RUN ${offload} -n 2 ${bin}/offload_probe ${part})
  endforeach()
  channel_test("offloaded, ten thousand tags" CHECK --out "offload: tags, 2 ranks"
    RUN ${offload} -n 2 --env SCELA_CHANNEL_OFFLOAD_MIN_USES=1 ${bin}/offload_probe tags)
  channel_test("offloaded, at random" CHECK --out "offload: random, 4 ranks"
    RUN ${offload} -n 4 --ppn 2 --env SCELA_CHANNEL_OFFLOAD_MIN_USES=1 ${bin}/offload_probe random)
  channel_test("offloaded, at random by few channels" CHECK --out "offload: random, 2 ranks"
    RUN ${offload} -n 2 --env SCELA_CHANNEL_OFFLOAD_MAX_CHANNELS=2 --env SCELA_CHANNEL_OFFLOAD_MIN_USES=2 ${bin}/offload_probe random)
  channel_test("offloaded, a rank is killed" CHECK --status 137 --out "offload: killed, 2 ranks"
    RUN ${offload} -n 2 --on-failure wait ${bin}/offload_probe killed)
  foreach(setting OFFLOAD=0 RENDEZVOUS=write RENDEZVOUS=read)
    channel_test("offloaded not at all, by ${setting}" CHECK --out "offload: off, 2 ranks"
      RUN ${offload} -n 2 --env SCELA_CHANNEL_${setting} ${bin}/offload_probe off)
  endforeach()
  # One thread of each process instead of the engine: whoever is stopped moves nothing, but others need not wait for it.
  if(TARGET scela-verbs-tasks)
    set(by_thread ${offload} --env SCELA_TASKS=thread --env LD_LIBRARY_PATH=$<TARGET_FILE_DIR:scela-verbs-tasks>)
    foreach(part receiver random killed)
      set(status 0)
      if(part STREQUAL "killed")
        set(status 137)
      endif()
      channel_test("offloaded by a thread, ${part}" CHECK --status ${status} --out "offload: ${part}, 2 ranks"
        RUN ${by_thread} -n 2 --on-failure wait ${bin}/offload_probe ${part} 1000)
    endforeach()
  endif()
endif()
