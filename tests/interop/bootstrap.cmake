# Who is where, and the words before the first message (comm-channel/bootstrap), under every launcher there is.
add_executable(bootstrap_probe programs/pmi/bootstrap_probe.cpp)
target_link_libraries(bootstrap_probe PRIVATE scela_comm_channel_bootstrap)
add_executable(bootstrap_spawn programs/pmi/bootstrap_spawn.c)
target_link_libraries(bootstrap_spawn PRIVATE pmi)
target_include_directories(bootstrap_spawn PRIVATE ${PROJECT_SOURCE_DIR}/pmi/client/include)
set_target_properties(bootstrap_probe bootstrap_spawn PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")
set(probe ${bin}/bootstrap_probe)

# bootstrap_test(<name> CHECK check_run's options... RUN COMMAND...)
function(bootstrap_test name)
  cmake_parse_arguments(PARSE_ARGV 1 TEST "" "" "CHECK;RUN")
  add_test(NAME "bootstrap: ${name}" COMMAND ${python} "${CMAKE_CURRENT_SOURCE_DIR}/check_run.py"
    ${TEST_CHECK} -- ${TEST_RUN})
  set_tests_properties("bootstrap: ${name}" PROPERTIES LABELS interop TIMEOUT 150 PROCESSORS ${SCELA_COMPUTES})
endfunction()
set(run $<TARGET_FILE:scela-run>)
set(env ${CMAKE_COMMAND} -E env)

foreach(pmi fd port)
  bootstrap_test("scela-run --pmi ${pmi}"
    CHECK --quiet --out "bootstrap: 4 ranks on 2 nodes: 0 0 1 1, PMI-1" --count 1 ".*"
    RUN ${run} --pmi ${pmi} --sim-nodes 2 --ppn 2 ${probe})
  bootstrap_test("scela-run --pmi ${pmi}, PMI-2"
    CHECK --quiet --out "bootstrap: 4 ranks on 2 nodes: 0 0 1 1, PMI-2" --count 1 ".*"
    RUN ${run} --pmi ${pmi} --sim-nodes 2 --ppn 2 --env SCELA_BOOTSTRAP=pmi2 ${probe})
endforeach()
bootstrap_test("scela-run, ranks dealt out"
  CHECK --quiet --out "bootstrap: 5 ranks on 3 nodes: 0 1 2 0 1, PMI-1" --count 1 ".*"
  RUN ${run} --pmi fd --sim-nodes 3 -n 5 --map-by node ${probe})
bootstrap_test("scela-run without the node's segment"
  CHECK --quiet --out "bootstrap: 4 ranks on 2 nodes: 0 0 1 1, PMI-1" --count 1 ".*"
  RUN ${run} --pmi fd --sim-nodes 2 --ppn 2 --env SCELA_SEGMENT=0 ${probe})
bootstrap_test("scela-run, spawned twice"
  CHECK --quiet --count 2 "spawned [01]" --count 2 "bootstrap: 4 ranks on [12] nodes:.*, PMI-1"
  RUN ${run} --pmi fd --usize 8 --sim-nodes 2 -n 2 ${bin}/bootstrap_spawn ${probe} 4)
bootstrap_test("a key that was never put, by scela-run"
  CHECK --quiet --out "rank 0 of 4: get what rank 3 has put under 'nothing' .PMI-1 by PMI_FD [0-9]+, job .*: the launcher has none.*"
  RUN ${run} --pmi fd --sim-nodes 2 --ppn 2 ${probe} absent)
bootstrap_test("a rank ends the job, by scela-run"
  CHECK --status 7 --err "scela-run: rank 1 on .* aborted the job with code 7: no more of this" --said 1 ".*no more of this.*"
  RUN ${run} --pmi fd --sim-nodes 2 --ppn 2 ${probe} abort)
bootstrap_test("a rank is killed before the fence, by scela-run"
  CHECK --status 137 --said 3 "bootstrap_probe: rank [0-3] of 4: wait for all ranks .*"
  RUN ${run} --pmi fd --sim-nodes 2 --ppn 2 --on-failure wait ${probe} die)

bootstrap_test("alone"
  CHECK --quiet --out "bootstrap: 1 ranks on 1 nodes: 0, alone" RUN ${probe})
bootstrap_test("alone, a key that was never put"
  CHECK --quiet --out "rank 0 of 1: get what rank 0 has put under 'nothing' .*: this process has put none.*" RUN ${probe} absent)
bootstrap_test("a kind that the environment does not have"
  CHECK --status 3 --err "bootstrap_probe: join the job: connect to the launcher by PMI, as SCELA_BOOTSTRAP demands: neither PMI_FD nor PMI_PORT is set .*"
  RUN ${env} SCELA_BOOTSTRAP=pmi2 ${probe})
bootstrap_test("a kind that there is not"
  CHECK --status 3 --err "bootstrap_probe: read SCELA_BOOTSTRAP: invalid value 'pmi3' .*"
  RUN ${env} SCELA_BOOTSTRAP=pmi3 ${probe})

# Servers that there are not.
set(server ${python} -B "${CMAKE_CURRENT_SOURCE_DIR}/bootstrap_server.py")
bootstrap_test("a server that tells nothing of nodes"
  CHECK --quiet --out "bootstrap: 3 ranks on 1 nodes: 0 0 0, PMI-1" --count 1 ".*" RUN ${server} unmapped ${probe})
bootstrap_test("a server that speaks PMI-2 only"
  CHECK --quiet --out "bootstrap: 3 ranks on 3 nodes: 0 1 2, PMI-2" --count 1 ".*" RUN ${server} framed ${probe})
bootstrap_test("a server that closes at once"
  CHECK --said 3 "bootstrap_probe: join the job: greet the launcher: .* closed the connection .*" --said 3 ".*"
  RUN ${server} silent ${probe})
bootstrap_test("a server that closes in the fence"
  CHECK --said 3 "bootstrap_probe: .*wait for all ranks .PMI-1 by PMI_FD [0-9]+, job made_up.: .* closed the connection .*" --said 3 ".*"
  RUN ${server} late ${probe})
bootstrap_test("a server that refuses both versions"
  CHECK --said 3 "bootstrap_probe: join the job: speak PMI-1 and PMI-2 with the server of PMI_FD .*: it refuses .*" --said 3 ".*"
  RUN ${server} neither ${probe})

find_program(SCELA_HYDRA mpiexec.hydra)
if(SCELA_HYDRA)
  foreach(port "" "-pmi-port")
    string(STRIP "mpiexec.hydra ${port}" name)
    bootstrap_test("${name}"
      CHECK --quiet --out "bootstrap: 4 ranks on 1 nodes: 0 0 0 0, PMI-1" --count 1 ".*" RUN ${SCELA_HYDRA} ${port} -n 4 ${probe})
  endforeach()
  # Whether the words are shown, hydra leaves to chance: it does not wait for its pipes.
  bootstrap_test("mpiexec.hydra, a rank ends the job"
    CHECK --status 7 RUN ${SCELA_HYDRA} -n 2 ${probe} abort)
endif()

find_program(SCELA_OMPIRUN mpirun.openmpi)
set(ompirun "${CMAKE_CURRENT_SOURCE_DIR}/own_loopback.sh" ${SCELA_OMPIRUN} --allow-run-as-root)
if(TARGET scela-pmix AND SCELA_PMIX_HEADERS_FOUND)
  bootstrap_test("scela-run --pmi pmix"
    CHECK --quiet --out "bootstrap: 4 ranks on 2 nodes: 0 0 1 1, PMIx" --count 1 ".*"
    RUN ${run} --pmi pmix --sim-nodes 2 --ppn 2 ${probe})
  bootstrap_test("a key that was never put, by PMIx"
    CHECK --quiet --out "rank 0 of 4: get what rank 3 has put under 'nothing' .PMIx, .*: libpmix: .*"
    RUN ${run} --pmi pmix --sim-nodes 2 --ppn 2 ${probe} absent)
  bootstrap_test("a rank ends the job, by PMIx"
    CHECK --status 7 --err "scela-run: rank 1 on .* aborted the job with code 7: no more of this"
    RUN ${run} --pmi pmix --sim-nodes 2 --ppn 2 ${probe} abort)
  bootstrap_test("a missing libpmix"
    CHECK --status 3 --err "bootstrap_probe: join the job: load libpmix.none.so, which speaks PMIx with the launcher: .*install libpmix.*"
    RUN ${run} --pmi pmix -n 2 --env SCELA_LIBPMIX=libpmix.none.so ${probe})
  bootstrap_test("a library that is no libpmix"
    CHECK --status 3 --err "bootstrap_probe: join the job: load libc.so.6, .*: it has no PMIx_.*"
    RUN ${run} --pmi pmix -n 2 --env SCELA_LIBPMIX=libc.so.6 ${probe})
  if(NOT SCELA_SANITIZE)  # the sanitizers take more addresses than any limit leaves
    add_test(NAME "bootstrap: PMIx servers with too little memory" COMMAND ${python} -B "${CMAKE_CURRENT_SOURCE_DIR}/pmix_memory.py"
      ${run} $<TARGET_FILE:scela-nla> $<TARGET_FILE:scela-pmix> ${probe})
    set_tests_properties("bootstrap: PMIx servers with too little memory" PROPERTIES LABELS interop TIMEOUT 300 PROCESSORS ${SCELA_COMPUTES})
  endif()
  if(SCELA_OMPIRUN)
    bootstrap_test("mpirun of Open MPI"
      CHECK --quiet --out "bootstrap: 4 ranks on 1 nodes: 0 0 0 0, PMIx" --count 1 ".*"
      RUN ${ompirun} --oversubscribe -n 4 ${probe})
    if(SCELA_HYDRA)
      bootstrap_test("mpiexec.hydra within mpirun"
        CHECK --out "bootstrap: 2 ranks on 1 nodes: 0 0, PMI-1" --count 1 ".*"
        RUN ${ompirun} -n 1 ${SCELA_HYDRA} -n 2 ${probe})
    endif()
  endif()
endif()
