# The channel where the adapter has no XRC: a queue pair for each two ranks of different nodes, and a shared receive queue.
if(NOT TARGET scela-ibverbs OR NOT TARGET scela-hca)
  return()
endif()
set(pairs --env SCELA_HCA_NO_XRC=1 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs>)
set(pairs_of_two ${run} --pmi fd --sim-nodes 2 --ppn 2 ${pairs})
foreach(part all threads links)
  channel_test("${part}, between nodes without XRC" CHECK --quiet --out "channel: ${part}, 8 ranks on 4 nodes"
    RUN ${run} --pmi fd --sim-nodes 4 --ppn 2 ${pairs} ${probe} ${part})
endforeach()
foreach(part ring limits arguments)
  channel_test("${part}, between nodes without XRC" CHECK --quiet --out "channel: ${part}, 4 ranks on 2 nodes"
    RUN ${pairs_of_two} ${probe} ${part})
endforeach()
channel_test("order, between nodes without XRC" CHECK --out "channel: order, 6 ranks on 2 nodes"
  RUN ${run} --pmi fd --sim-nodes 2 --ppn 3 ${pairs} ${probe} order)
channel_test("connections break without XRC, and each message comes once and in order" CHECK --out "channel: broken, 4 ranks on 2 nodes"
  RUN ${pairs_of_two} --env SCELA_HCA_STRICT=7 --env SCELA_HCA_FAULTS=not-ready=20 ${probe} broken)
channel_test("connections break without XRC, and large messages are written" CHECK --out "channel: broken, 4 ranks on 2 nodes"
  RUN ${pairs_of_two} --env SCELA_HCA_STRICT=8 --env SCELA_HCA_FAULTS=not-ready=20 --env SCELA_CHANNEL_RENDEZVOUS=write ${probe} broken)
# What has come by a connection that breaks is not lost with it, however late the adapter shows it (programs/verbs/late_verbs.c).
add_library(late_verbs SHARED programs/verbs/late_verbs.c)
target_include_directories(late_verbs SYSTEM PRIVATE ${SCELA_VERBS_INCLUDE})
target_link_libraries(late_verbs PRIVATE scela-ibverbs)
set_target_properties(late_verbs PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}" POSITION_INDEPENDENT_CODE ON)
target_link_options(late_verbs PRIVATE -Wl,--no-as-needed)
set(late --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:late_verbs>)
set(late_breaks ${late} --env SCELA_HCA_STRICT=7 --env SCELA_HCA_FAULTS=not-ready=20)
set(some "[1-9][0-9]*")
set(shown_late --err "late_verbs: ${some} receives were shown late, .*")
set(shown_after_failure --err "late_verbs: ${some} receives were shown late, ${some} after .*")
foreach(way read write)
  channel_test("connections break without XRC, completions are shown late, by ${way}"
    CHECK --out "channel: broken, 4 ranks on 2 nodes" ${shown_after_failure}
    RUN ${pairs_of_two} ${late_breaks} --env SCELA_CHANNEL_RENDEZVOUS=${way} ${probe} broken)
endforeach()
channel_test("connections break without XRC, completions are shown late, and no event tells of it"
  CHECK --out "channel: broken, 4 ranks on 2 nodes" ${shown_after_failure}
  RUN ${pairs_of_two} ${late_breaks} --env LATE_VERBS_SILENT=1 ${probe} broken)
channel_test("few connections without XRC, completions are shown late" CHECK --out "channel: few, 4 ranks on 4 nodes" ${shown_late}
  RUN ${run} --pmi fd --sim-nodes 4 -n 4 ${pairs} ${late} --env SCELA_CHANNEL_MAX_LINKS=1 ${probe} few)
channel_test("a rank is killed, without XRC, completions are shown late" CHECK --status 137 --out "channel: killed, 8 ranks on 4 nodes"
    ${shown_late}
  RUN ${run} --pmi fd --sim-nodes 4 --ppn 2 ${pairs} ${late} --on-failure wait ${probe} killed)
set(losing_pairs --env SCELA_CHANNEL_UNREACHABLE_AFTER=1 --on-failure wait)
channel_test("a rank is killed, between nodes without XRC" CHECK --status 137 --out "channel: killed, 8 ranks on 4 nodes"
  RUN ${run} --pmi fd --sim-nodes 4 --ppn 2 ${pairs} --on-failure wait ${probe} killed)
channel_test("an engine without XRC is killed" CHECK --out "channel: engine, 4 ranks on 2 nodes"
  RUN ${pairs_of_two} ${losing_pairs} ${probe} engine)
channel_test("a node's agent is killed, without XRC" CHECK --status 68 --out "channel: node, 4 ranks on 2 nodes"
  RUN ${pairs_of_two} ${losing_pairs} ${probe} node)
channel_test("all, on a node without shared memory and without XRC" CHECK --out "channel: all, 4 ranks on 1 nodes"
  RUN ${run} --pmi fd -n 4 ${pairs} --env SCELA_CHANNEL_TRANSPORT=verbs ${probe} all)
channel_test("links, between nodes with XRC" CHECK --quiet --out "channel: links, 8 ranks on 4 nodes"
  RUN ${run} --pmi fd --sim-nodes 4 --ppn 2 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs> ${probe} links)
# Handshakes of real ranks. Their datagrams are lost, copied and late, at rates in a thousand
# (docs/guide/run-verbs-programs.md). A lost request is repeated, and counted.
foreach(faults "lost=300" "twice=300" "late=300" "lost=200,ud-twice=200,ud-late=200")
  string(REGEX REPLACE "[=,0-9]+(ud-)?" " " words "${faults}")
  string(STRIP "${words}" words)
  string(REPLACE " " ", " words "${words}")
  set(repeated)
  if(words MATCHES lost)
    set(repeated --err "scela-run: +handshakes_repeated +[1-9].*")
  endif()
  set(options --sim-nodes 4 --ppn 2 --stats --env SCELA_HCA_STRICT=3 --env SCELA_HCA_FAULTS=ud-${faults})
  channel_test("links with XRC, datagrams ${words}" CHECK --out "channel: links, 8 ranks on 4 nodes"
      ${repeated}
    RUN ${run} --pmi fd ${options} --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs> ${probe} links)
  channel_test("links without XRC, datagrams ${words}" CHECK --out "channel: links, 8 ranks on 4 nodes"
      ${repeated}
    RUN ${run} --pmi fd ${options} ${pairs} ${probe} links)
endforeach()
foreach(part receiver sender discard)
  channel_test("offloaded without XRC, ${part}" CHECK --out "offload: ${part}, 2 ranks"
    RUN ${run} --pmi fd --sim-nodes 2 ${pairs} -n 2 ${bin}/offload_probe ${part})
endforeach()
channel_test("offloaded without XRC, at random" CHECK --out "offload: random, 4 ranks"
  RUN ${pairs_of_two} --env SCELA_CHANNEL_OFFLOAD_MIN_USES=1 ${bin}/offload_probe random)
if(TARGET scela-perf)
  foreach(launch "-n 4" "--sim-nodes 2 --ppn 2")
    separate_arguments(words UNIX_COMMAND "${launch}")
    channel_test("scela-perf in a job of ${launch}"
      CHECK --quiet --count 1 "{\"bench\":\"pairs\",.*\"contestant\":\"scela\",\"bytes\":8,\"ranks\":4,.*"
      RUN ${env} SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs> ${run} --pmi fd ${words} $<TARGET_FILE:scela-perf> pairs --sizes 8
        --turns 2 --rounds 3 --json)
  endforeach()
  channel_test("scela-perf in a job, collective operations as a table"
    CHECK --quiet --count 1 " *barrier: blocking_us [0-9.]+ .*" --count 1 " *allreduce: blocking_us [0-9.]+ .*"
    RUN ${run} --pmi fd -n 2 $<TARGET_FILE:scela-perf> coll barrier,allreduce --sizes 8 --turns 1 --rounds 3)
  channel_test("scela-perf in a job refuses what is for a job of its own"
    CHECK --status 2 --err "scela-perf: option '-n': this is a rank of a job already, .*"
    RUN ${run} --pmi fd -n 2 $<TARGET_FILE:scela-perf> latency -n 2)
  channel_test("scela-perf ends with what it has started"
    CHECK --quiet --out "scela-perf: nothing is left"
    RUN ${python} -B "${CMAKE_CURRENT_SOURCE_DIR}/perf_ended.py" $<TARGET_FILE:scela-perf>)
  # Six of eight ranks are on other nodes; with XRC there are three nodes (scela-perf memory between nodes).
  channel_test("scela-perf memory between nodes without XRC"
    CHECK --count 1 "{\"bench\":\"memory\",\"op\":\"all\",.*\"ranks\":8,\"nodes\":4,.*\"partners\":7.0,.*\"connections\":6.0,\"max_connections\":6.0,.*"
    RUN ${env} SCELA_HCA_NO_XRC=1 SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs> $<TARGET_FILE:scela-perf> memory -n 8 --nodes 4 --turns 1 --json)
endif()

# Neither XRC nor shared receive queues.
add_library(queueless_verbs SHARED programs/verbs/queueless_verbs.c)
target_include_directories(queueless_verbs SYSTEM PRIVATE ${SCELA_VERBS_INCLUDE})
target_link_libraries(queueless_verbs PRIVATE scela-ibverbs)
set_target_properties(queueless_verbs PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}" POSITION_INDEPENDENT_CODE ON)
target_link_options(queueless_verbs PRIVATE -Wl,--no-as-needed)
channel_test("a device with neither XRC nor shared receive queues" CHECK --status 3
    --err ".*use verbs between nodes.*not viable: scela_hca0 does not support XRC; create a shared receive queue on scela_hca0: .*EOPNOTSUPP.*SCELA_CHANNEL_VERBS=scela takes the software adapter.*"
  RUN ${run} --pmi fd --sim-nodes 2 --ppn 1 --env SCELA_HCA_NO_XRC=1 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:queueless_verbs> ${probe} all)
