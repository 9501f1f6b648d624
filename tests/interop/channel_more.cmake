# What the channel has used, as ranks and scela-run tell it; and what cannot be.
foreach(program channel_counters channel_misuse channel_lives channel_reopened)
  add_executable(${program} programs/channel/${program}.cpp)
  target_link_libraries(${program} PRIVATE scela_comm_channel)
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")
endforeach()

# Of each rank and of all: 4 ranks send each other, and themselves, 6 messages of 200,500 bytes together.
set(of_all "\"messages_sent\":96,\"messages_received\":96,\"bytes_sent\":3208000,\"bytes_received\":3208000,")
set(of_one "\"messages_sent\":24,\"messages_received\":24,\"bytes_sent\":802000,\"bytes_received\":802000,")
set(of_peer "\\{\"messages_sent\":6,\"messages_received\":6,\"bytes_sent\":200500,\"bytes_received\":200500\\}")
channel_test("counters, and scela-run --stats shows them" CHECK --out "counters of 4 ranks on 1 nodes"
    --err ".*\"counters\":\\{\"channel\":\\{\"all\":\\{\"send_queue_pairs\":0,.*${of_all}.*\"rnr_events\":0,.*\"ranks\":\\{\"0\":\\{.*"
    --err ".*\"3\":\\{\"send_queue_pairs\":0,.*${of_one}.*\"peers\":\\{.*\"2\":${of_peer}.*"
  RUN ${run} --pmi fd --stats=json -n 4 ${bin}/channel_counters)
channel_test("counters as a table" CHECK --out "counters of 4 ranks on 1 nodes"
    --err "scela-run:   channel, as 4 of 4 ranks told" --err "scela-run:  +all +0 +1 +2 +3"
    --err "scela-run:     bytes_sent +3208000 +802000 +802000 +802000 +802000"
  RUN ${run} --pmi fd --stats -n 4 ${bin}/channel_counters)
channel_test("counters are not reported without a request" CHECK --quiet --out "counters of 2 ranks on 1 nodes"
  RUN ${run} --pmi fd -n 2 ${bin}/channel_counters)
if(TARGET scela-pmix AND SCELA_PMIX_HEADERS_FOUND)
  channel_test("counters, by PMIx" CHECK --out "counters of 4 ranks on 1 nodes" --err ".*${of_all}.*"
    RUN ${run} --pmi pmix --stats=json -n 4 ${bin}/channel_counters)
endif()
if(TARGET scela-ibverbs AND TARGET scela-hca)
  channel_test("counters, between nodes" CHECK --out "counters of 4 ranks on 2 nodes"
      --err ".*\"max_queue_pairs\":[2-9],\"max_connections\":1,\"receive_buffers\":[1-9].*${of_all}.*"
      --err ".*\"3\":\\{\"send_queue_pairs\":.*\"max_queue_pairs\":[2-9],\"max_connections\":1,\"receive_buffers\":[1-9].*${of_one}.*"
    RUN ${run} --pmi fd --stats=json ${between} ${bin}/channel_counters)
endif()

# Bad input, on a node, where its memory is not read, where its ranks speak by the adapter, and between nodes.
set(adapter --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:scela-ibverbs>)
foreach(part truncated contexts buffers)
  channel_test("bad input: ${part}" CHECK --quiet --out "misuse: ${part}, 4 ranks on 1 nodes"
    RUN ${run} --pmi fd -n 4 ${bin}/channel_misuse ${part})
  if(TARGET scela-ibverbs AND TARGET scela-hca)
    channel_test("bad input: ${part}, between nodes" CHECK --out "misuse: ${part}, 4 ranks on 2 nodes"
      RUN ${run} --pmi fd ${between} ${bin}/channel_misuse ${part})
  endif()
endforeach()
channel_test("bad input: truncated, in pieces" CHECK --said 1 ".*" --out "misuse: truncated, 4 ranks on 1 nodes"
  RUN ${run} --pmi fd -n 4 $<TARGET_FILE:unprivileged> --refuse-transfers ${bin}/channel_misuse truncated)
channel_test("bad input: freed buffers, in pieces" CHECK --said 1 ".*" --out "misuse: pieces, 4 ranks on 1 nodes"
  RUN ${run} --pmi fd -n 4 $<TARGET_FILE:unprivileged> --refuse-transfers ${bin}/channel_misuse pieces)
channel_test("messages of more than 4 GiB" CHECK --quiet --out "misuse: huge, 2 ranks on 1 nodes"
  RUN ${run} --pmi fd -n 2 ${bin}/channel_misuse huge)

# Which way messages go can be chosen, as errors advise; all ranks must choose the same.
channel_test("shared memory alone cannot reach other nodes" CHECK --status 3
    --err ".*SCELA_CHANNEL_TRANSPORT is shm, and the ranks are on 2 nodes.*leave it out, or run all ranks on one node.*"
  RUN ${run} --pmi fd --sim-nodes 2 --ppn 1 --env SCELA_CHANNEL_TRANSPORT=shm ${probe} all)
channel_test("ranks of a node that choose different ways" CHECK --status 3
    --err ".*ranks 0 and 1 of one node differ in SCELA_CHANNEL_TRANSPORT.*give all ranks the same.*"
  RUN ${run} --pmi fd -n 1 --env SCELA_CHANNEL_TRANSPORT=verbs ${probe} all : -n 1 ${probe} all)

# Memory of the node that cannot be had.
channel_test("more memory of a node than a process may have" CHECK --status 3
    --err ".*make the shared memory of this node.*ENOMEM.*bytes of address space.*ulimit -v.*"
  RUN ${run} --pmi fd -n 8 --env SCELA_CHANNEL_EAGER_SHM=1M prlimit --as=300000000 ${probe} all)
channel_test("more memory of a node than a file may have" CHECK --status 3
    --err ".*make the shared memory of this node.*a file may have 4096.*ulimit -f unlimited.*"
  RUN ${run} --pmi fd -n 2 prlimit --fsize=4096 ${probe} all)

if(TARGET scela-ibverbs AND TARGET scela-hca)
  foreach(part all killed)
    channel_test("${part}, on a node without shared memory" CHECK --status $<IF:$<STREQUAL:${part},killed>,137,0>
        --out "channel: ${part}, 4 ranks on 1 nodes"
      RUN ${run} --pmi fd -n 4 ${adapter} --env SCELA_CHANNEL_TRANSPORT=verbs --on-failure wait ${probe} ${part})
  endforeach()
  # An adapter that locks memory as the kernel does for a card (programs/verbs/locking_verbs.c).
  add_library(locking_verbs SHARED programs/verbs/locking_verbs.c)
  target_include_directories(locking_verbs SYSTEM PRIVATE ${SCELA_VERBS_INCLUDE})
  target_link_libraries(locking_verbs PRIVATE scela-ibverbs)
  set_target_properties(locking_verbs PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}" POSITION_INDEPENDENT_CODE ON)
  target_link_options(locking_verbs PRIVATE -Wl,--no-as-needed)
  set(locking --sim-nodes 2 --ppn 1 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:locking_verbs>)
  channel_test("messages of more than 4 GiB, between nodes" CHECK --out "misuse: huge, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${between} ${bin}/channel_misuse huge)
  # An adapter that takes no request of more than 20,000 bytes (programs/verbs/short_verbs.c).
  add_library(short_verbs SHARED programs/verbs/short_verbs.c)
  target_include_directories(short_verbs SYSTEM PRIVATE ${SCELA_VERBS_INCLUDE})
  target_link_libraries(short_verbs PRIVATE scela-ibverbs)
  set_target_properties(short_verbs PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}" POSITION_INDEPENDENT_CODE ON)
  target_link_options(short_verbs PRIVATE -Wl,--no-as-needed)
  set(short --sim-nodes 2 --ppn 2 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:short_verbs>)
  foreach(way read write by_choice)
    channel_test("messages that are longer than a port's, by ${way}" CHECK --quiet --out "channel: all, 4 ranks on 2 nodes"
      RUN ${run} --pmi fd ${short} --env SCELA_CHANNEL_RENDEZVOUS=${way} ${probe} all)
  endforeach()
  channel_test("messages that are longer than a port's, and connections break" CHECK --out "channel: broken, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${short} --env SCELA_HCA_STRICT=7 --env SCELA_HCA_FAULTS=not-ready=20 ${probe} broken)
  channel_test("no memory may be locked" CHECK --status 3
      --err ".*register memory on scela_hca0.*ENOMEM.*ulimit -l unlimited.*"
    RUN ${run} --pmi fd ${locking} prlimit --memlock=0 ${probe} all)
  channel_test("too little memory may be locked for a large message" CHECK --quiet --out "misuse: locked, 2 ranks on 2 nodes"
    RUN ${run} --pmi fd ${locking} prlimit --memlock=4000000 ${bin}/channel_misuse locked)
endif()

# Several ports of an adapter: large messages go by both, and each carries as much; a port that is down, deaf or that breaks costs
# nothing but itself (programs/verbs/ports_verbs.c). By one port messages meet as by two.
if(TARGET scela-ibverbs AND TARGET scela-hca)
  add_executable(ports_probe programs/channel/ports_probe.cpp)
  target_link_libraries(ports_probe PRIVATE scela_comm_channel)
  set_target_properties(ports_probe PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")
  add_library(ports_verbs SHARED programs/verbs/ports_verbs.c)
  target_include_directories(ports_verbs SYSTEM PRIVATE ${SCELA_VERBS_INCLUDE})
  target_link_libraries(ports_verbs PRIVATE scela-ibverbs)
  set_target_properties(ports_verbs PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}" POSITION_INDEPENDENT_CODE ON)
  target_link_options(ports_verbs PRIVATE -Wl,--no-as-needed)
  set(ports ${between} --env SCELA_CHANNEL_PORTS=0)
  set(wrong_port --sim-nodes 2 --ppn 2 --env SCELA_CHANNEL_VERBS=$<TARGET_FILE:ports_verbs> --env SCELA_CHANNEL_PORTS=0)
  foreach(way by_choice write read)
    channel_test("ports, both carry as much, by ${way}" CHECK --out "ports: both, 4 ranks on 2 nodes"
      RUN ${run} --pmi fd ${ports} --env SCELA_CHANNEL_RENDEZVOUS=${way} ${bin}/ports_probe both)
  endforeach()
  channel_test("ports, both, where ibv_open_qp is not" CHECK --out "ports: both, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${ports} --env SCELA_HCA_NO_OPEN_QP=1 ${bin}/ports_probe both)
  channel_test("ports, one is used if no rank asks for more" CHECK --out "ports: one, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${between} ${bin}/ports_probe one "large messages over 1 port")
  channel_test("ports, the second is down" CHECK --out "ports: one, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${wrong_port} --env PORTS_VERBS=down --env SCELA_CHANNEL_PORTS=2 ${bin}/ports_probe one
      "large messages over 1 port (2 requested, but the device has no more active ports)")
  channel_test("ports, one where connections are limited" CHECK --out "ports: one, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${between} --env SCELA_CHANNEL_PORTS=2 --env SCELA_CHANNEL_MAX_LINKS=1 ${bin}/ports_probe one
      "large messages over 1 port (2 requested, but a limit of connections allows one)")
  channel_test("ports, one rank uses both and the others one" CHECK --out "ports: one, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd -n 3 --sim-nodes 2 --ppn 2 ${adapter} ${bin}/ports_probe one
      : -n 1 ${adapter} --env SCELA_CHANNEL_PORTS=2 ${bin}/ports_probe deaf)
  foreach(way write read)
    channel_test("ports, connections of the second break, by ${way}" CHECK --out "ports: broken, 4 ranks on 2 nodes"
      RUN ${run} --pmi fd ${wrong_port} --env PORTS_VERBS=breaking --env SCELA_CHANNEL_RENDEZVOUS=${way} ${bin}/ports_probe broken)
  endforeach()
  channel_test("ports, no peer answers at the second" CHECK --out "ports: deaf, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${wrong_port} --env PORTS_VERBS=deaf ${bin}/ports_probe deaf)
  foreach(way write read)
    channel_test("ports, at random, by ${way}" CHECK --out "offload: ports, 4 ranks"
      RUN ${run} --pmi fd ${ports} --env SCELA_CHANNEL_RENDEZVOUS=${way} ${bin}/offload_probe ports)
  endforeach()
  channel_test("ports, offloaded channels where they are asked for" CHECK --out "offload: random, 4 ranks"
    RUN ${run} --pmi fd ${ports} --env SCELA_CHANNEL_RENDEZVOUS=offloaded ${bin}/offload_probe random)
  foreach(part all threads order)
    channel_test("ports, ${part}" CHECK --out "channel: ${part}, 4 ranks on 2 nodes" RUN ${run} --pmi fd ${ports} ${probe} ${part})
  endforeach()
  channel_test("ports, a rank is killed" CHECK --status 137 --out "channel: killed, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${ports} --on-failure wait ${probe} killed)
  channel_test("ports, an adapter's engine is killed" CHECK --out "channel: engine, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${ports} ${losing} ${probe} engine)
  channel_test("ports, connections of the first break" CHECK --out "channel: broken, 4 ranks on 2 nodes"
    RUN ${run} --pmi fd ${ports} --env SCELA_HCA_STRICT=7 --env SCELA_HCA_FAULTS=not-ready=20 ${probe} broken)
endif()

# What outlives what.
foreach(part requests child second wrong)
  channel_test("lives: ${part}" CHECK --quiet --out "lives: ${part}, 4 ranks" RUN ${run} --pmi fd -n 4 ${bin}/channel_lives ${part})
endforeach()

# Channels opened again and again, where the launcher lets a process join its job more than once. However the process ends after
# its last channel was closed, it has ended well.
if(TARGET scela-pmix AND SCELA_PMIX_HEADERS_FOUND)
  foreach(end exit quick)
    channel_test("lives: opened 100 times, ${end}, pmix" CHECK --quiet --out "reopened: 100 times, ${end}, 4 ranks" --out "reopened: .*"
      RUN ${run} --pmi pmix -n 4 ${bin}/channel_reopened 100 ${end})
  endforeach()
  if(TARGET scela-ibverbs AND TARGET scela-hca)
    channel_test("lives: opened 100 times between nodes, pmix" CHECK --out "reopened: 100 times, exit, 4 ranks" --out "reopened: .*"
      RUN ${run} --pmi pmix ${between} ${bin}/channel_reopened 100 exit)
    foreach(end killed unfinished)
      set(told "killed by signal 9")
      set(status 137)
      if(end STREQUAL "unfinished")
        set(told "ended without finalizing")
        set(status 1)
      endif()
      channel_test("lives: opened 15 times, then a rank is ${end}, pmix" CHECK --status ${status} --out "reopened: 15 times, ${end}, 4 ranks"
          --out "reopened: .*" --err ".*rank 3 on sim1 .* ${told}.*"
        RUN ${run} --pmi pmix --on-failure wait ${between} ${bin}/channel_reopened 15 ${end})
    endforeach()
  endif()
endif()
channel_test("lives: a killed rank, and no other waits" CHECK --status 137 --out "lives: polled, 4 ranks"
  RUN ${run} --pmi fd --on-failure wait -n 4 ${bin}/channel_lives polled)
channel_test("lives: ranks are killed while bytes move" CHECK --status 137 --out "lives: moved, 4 ranks"
  RUN ${run} --pmi fd --on-failure wait -n 4 ${bin}/channel_lives moved)
channel_test("lives: no rank is left" CHECK --status 137 --out "lives: solitude, 3 ranks"
  RUN ${run} --pmi fd --on-failure wait -n 3 ${bin}/channel_lives solitude)
if(TARGET scela-ibverbs AND TARGET scela-hca)
  channel_test("lives: requests, between nodes" CHECK --out "lives: requests, 4 ranks" RUN ${run} --pmi fd ${between} ${bin}/channel_lives requests)
  channel_test("lives: a killed rank between nodes, and no other waits" CHECK --status 137 --out "lives: polled, 4 ranks"
    RUN ${run} --pmi fd ${between} --on-failure wait ${bin}/channel_lives polled)
  foreach(way read write)
    set(moved CHECK --status 137 --out "lives: moved, 4 ranks"
      RUN ${run} --pmi fd ${between} --env SCELA_CHANNEL_RENDEZVOUS=${way} --on-failure wait)
    channel_test("lives: ranks are killed while bytes move, by ${way}" ${moved} ${bin}/channel_lives moved)
    channel_test("lives: ranks are killed while bytes move without XRC, by ${way}" ${moved} --env SCELA_HCA_NO_XRC=1 ${bin}/channel_lives moved)
  endforeach()
  foreach(pmi IN LISTS every_pmi)
    ends_under(${pmi} options suffix)
    channel_test("lives: all others have ended well${suffix}" CHECK --out "lives: gone, 4 ranks"
      RUN ${run} ${options} ${between} ${bin}/channel_lives gone)
  endforeach()
  channel_test("lives: all others have ended well, and ranks connect to their node" CHECK --out "lives: gone, 4 ranks"
    RUN ${run} --pmi port ${between} ${bin}/channel_lives gone)
  channel_test("lives: all others have ended well, few links without XRC" CHECK --out "lives: parted, 4 ranks"
    RUN ${run} --pmi fd --sim-nodes 4 --ppn 1 ${adapter} --env SCELA_HCA_NO_XRC=1 --env SCELA_CHANNEL_MAX_LINKS=1 ${bin}/channel_lives parted)
  channel_test("a message longer than a request of the adapter" CHECK --out "lives: huge, 2 ranks"
    RUN ${run} --pmi fd --sim-nodes 2 --ppn 1 ${adapter} ${bin}/channel_lives huge)
endif()
