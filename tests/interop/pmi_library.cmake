# Programs linked to this project's libpmi.so.0: under scela-run with every cache policy, under MPICH's
# mpiexec, and alone.
add_executable(pmi_library programs/pmi/pmi_library.c)
target_link_libraries(pmi_library PRIVATE pmi)
target_include_directories(pmi_library PRIVATE ${PROJECT_SOURCE_DIR}/pmi/client/include)
set_target_properties(pmi_library PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")

foreach(policy "hcs" "hcma" "hcmab" "hcmab-lru" "hcs --cache-limit 500" "hcma --cache-limit 500"
    "hcmab-lru --cache-limit 500" "dht" "dht --cache-limit 500")
  string(REPLACE " " ";" options "${policy}")
  interop_test("a program of libpmi under --cache ${policy}"
    CHECK --quiet --out "pmi library: 21 ranks ok"
    RUN --sim-nodes 7 --degree 2 --ppn 3 --env PMI_LIBRARY_CLIQUE=3 --cache ${options} ${bin}/pmi_library)
  interop_test("an MPICH program under --cache ${policy}"
    CHECK --quiet --out "point to point: 4 ranks ok"
    RUN --sim-nodes 4 --degree 1 --ppn 1 --cache ${options} ${bin}/point_to_point)
endforeach()
interop_test("a program of libpmi that asks its socket only"
  CHECK --quiet --out "pmi library: 8 ranks ok"
  RUN --sim-nodes 4 --ppn 2 --env SCELA_SEGMENT=0 ${bin}/pmi_library)

add_test(NAME "interop: a program of libpmi alone" COMMAND
  ${python} "${CMAKE_CURRENT_SOURCE_DIR}/check_run.py" --quiet --out "pmi library: 1 ranks ok"
  -- ${bin}/pmi_library)
set_tests_properties("interop: a program of libpmi alone" PROPERTIES LABELS interop PROCESSORS ${SCELA_COMPUTES})

find_program(SCELA_HYDRA mpiexec.hydra REQUIRED)
add_test(NAME "interop: a program of libpmi under mpiexec.hydra" COMMAND
  ${python} "${CMAKE_CURRENT_SOURCE_DIR}/check_run.py" --quiet --out "pmi library: 6 ranks ok"
  -- ${SCELA_HYDRA} -n 6 ${bin}/pmi_library names plain)
add_test(NAME "interop: a program of libpmi under mpiexec.hydra with PMI_PORT" COMMAND
  ${python} "${CMAKE_CURRENT_SOURCE_DIR}/check_run.py" --quiet --out "pmi library: 3 ranks ok"
  -- ${SCELA_HYDRA} -pmi-port -n 3 ${bin}/pmi_library plain)
foreach(name "mpiexec.hydra" "mpiexec.hydra with PMI_PORT")
  set_tests_properties("interop: a program of libpmi under ${name}" PROPERTIES
    LABELS interop TIMEOUT 60 PROCESSORS ${SCELA_COMPUTES})
endforeach()

# What an abort says is shown once, by scela-run and not by the rank too.
interop_test("the message of PMI_Abort is shown once"
  CHECK --status 9 --said 1 ".*no more of this.*"
        --err "scela-run: rank 1 on [^ ]+ .* aborted the job with code 9: no more of this"
  RUN --sim-nodes 2 --ppn 2 ${bin}/pmi_library abort)
interop_test("the message of PMI2_Abort is shown once"
  CHECK --status 1 --said 1 ".*no more of this.*"
        --err "scela-run: rank 1 on [^ ]+ .* aborted the job with code 1: no more of this"
  RUN --sim-nodes 2 --ppn 2 --env LD_LIBRARY_PATH=$<TARGET_FILE_DIR:pmi2> ${bin}/pmi2_client abort)

# Ranks that nobody offers PMI go on alone, which one of them says.
foreach(library "libpmi" "libpmi2")
  set(program ${bin}/pmi_library)
  set(alone "pmi library: 1 ranks ok")
  if(library STREQUAL "libpmi2")
    set(program --env LD_LIBRARY_PATH=$<TARGET_FILE_DIR:pmi2> ${bin}/pmi2_client exchange)
    set(alone "pmi2 exchange: 1 ranks ok")
  endif()
  interop_test("ranks of ${library} that run alone under --pmi pmgr say so once"
    CHECK --count 4 "${alone}" --said 1 "libpmi2?: neither PMI_FD nor PMI_PORT is set, .* of the 4 ranks .*" --said 1 ".*"
    RUN --pmi pmgr --sim-nodes 2 --ppn 2 ${program})
endforeach()

# The memory that ranks share with their agent.
add_executable(pmi_shared programs/pmi/pmi_shared.c)
target_link_libraries(pmi_shared PRIVATE pmi)
target_compile_definitions(pmi_shared PRIVATE _GNU_SOURCE)
target_include_directories(pmi_shared PRIVATE ${PROJECT_SOURCE_DIR}/pmi/client/include)
set_target_properties(pmi_shared PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")
interop_test("no rank can write what its agent shares"
  CHECK --quiet --count 4 "sealed"
  RUN --sim-nodes 2 --ppn 2 ${bin}/pmi_shared sealed)
interop_test("ranks on every node are told of a rank that failed"
  CHECK --status 137 --count 5 "told of 1" --err "scela-run: rank 1 on [^ ]+ .* killed by signal 9.*"
  RUN --sim-nodes 3 --degree 1 --ppn 2 --on-failure wait ${bin}/pmi_shared failures)

# Ranks that spawn ranks.
add_executable(pmi_spawn programs/pmi/pmi_spawn.c)
target_link_libraries(pmi_spawn PRIVATE pmi)
target_include_directories(pmi_spawn PRIVATE ${PROJECT_SOURCE_DIR}/pmi/client/include)
set_target_properties(pmi_spawn PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")
set(spawned CHECK --out "parent: 4 ranks ok" --count 3 "child [0-2] of 3, program [01]"
  --err "scela-run: rank 0 .* could not spawn: .*'no-such-program'.*")
interop_test("ranks of libpmi spawn ranks" ${spawned} RUN --sim-nodes 2 --ppn 2 ${bin}/pmi_spawn)
interop_test("ranks of libpmi spawn ranks by PMI_PORT" ${spawned}
  RUN --pmi port --sim-nodes 2 --ppn 2 ${bin}/pmi_spawn)
interop_test("ranks of this project's libpmi2 spawn ranks" ${spawned}
  RUN --sim-nodes 2 --ppn 2 --env LD_LIBRARY_PATH=$<TARGET_FILE_DIR:pmi2> ${bin}/pmi2_spawn)

# A process without a launcher calls for one when it spawns; what it had put, and the name of its space, stay good.
set(path "PATH=$<TARGET_FILE_DIR:scela-run>:/usr/bin:/bin")
add_test(NAME "interop: a program of libpmi alone spawns ranks by a scela-run of its own" COMMAND
  ${python} "${CMAKE_CURRENT_SOURCE_DIR}/check_run.py" --out "parent: 1 ranks ok"
  --count 3 "child [0-2] of 3, program [01]" --said 1 ".*"
  --err "scela-run: rank 0 .* could not spawn: .*'no-such-program'.*"
  -- env ${path} ${bin}/pmi_spawn)
add_test(NAME "interop: a program of libpmi alone that finds no scela-run is told" COMMAND
  ${python} "${CMAKE_CURRENT_SOURCE_DIR}/check_run.py" --status 2
  --err "libpmi: .* without a launcher, .* scela-run by PATH: No such file or directory.*"
  -- env PATH=/nonexistent ${bin}/pmi_spawn)
# MPICH's calls mpiexec.
file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/mpiexec")
file(CREATE_LINK "${PROJECT_BINARY_DIR}/bin/scela-run" "${CMAKE_CURRENT_BINARY_DIR}/mpiexec/mpiexec" SYMBOLIC)
add_test(NAME "interop: an MPICH program alone is served by scela-run as its mpiexec" COMMAND
  ${python} "${CMAKE_CURRENT_SOURCE_DIR}/check_run.py" --quiet --out "singleton: ok"
  -- env "PATH=${CMAKE_CURRENT_BINARY_DIR}/mpiexec:/usr/bin:/bin" SCELA_USIZE=5 ${bin}/singleton_mpi)
foreach(name "a program of libpmi alone spawns ranks by a scela-run of its own"
    "a program of libpmi alone that finds no scela-run is told"
    "an MPICH program alone is served by scela-run as its mpiexec")
  set_tests_properties("interop: ${name}" PROPERTIES LABELS interop TIMEOUT 60 PROCESSORS ${SCELA_COMPUTES})
endforeach()

# The same programs that Slurm's libpmi2 is tested with, by this project's library of that name.
foreach(what exchange attributes names ring refused rest)
  interop_test("PMI-2 ${what} by this project's libpmi2"
    CHECK --quiet --out "pmi2 ${what}: 12 ranks ok" --count 1 ".*"
    RUN --sim-nodes 4 --ppn 3 --degree 2 --env LD_LIBRARY_PATH=$<TARGET_FILE_DIR:pmi2> ${bin}/pmi2_client ${what})
endforeach()
interop_test("PMI-2 exchange by this project's libpmi2 through its socket"
  CHECK --quiet --out "pmi2 exchange: 12 ranks ok" --count 1 ".*"
  RUN --sim-nodes 4 --ppn 3 --env SCELA_SEGMENT=0 --env LD_LIBRARY_PATH=$<TARGET_FILE_DIR:pmi2>
      ${bin}/pmi2_client exchange)
interop_test("PMI-2 attributes of the job by this project's libpmi2"
  CHECK --quiet --out "pmi2 job: 6 ranks ok" --count 1 ".*"
  RUN --sim-nodes 3 --ppn 2 --env LD_LIBRARY_PATH=$<TARGET_FILE_DIR:pmi2> ${bin}/pmi2_client job "(vector,(0,3,2))")

# A launcher of another kind, inside of a job: its server is not asked for memory that it does not know.
interop_test("a program of libpmi under mpiexec.hydra inside of a job"
  CHECK --quiet --out "pmi library: 2 ranks ok"
  RUN -n 1 ${SCELA_HYDRA} -n 2 ${bin}/pmi_library plain)
# What a shell starts after another program of PMI fails by itself; the job goes on.
interop_test("a second program of libpmi in one rank is told, and the job goes on"
  CHECK --out "pmi library: 1 ranks ok" --out "after" --err "pmi_library: .*PMI_Init.*"
  RUN --pmi fd -n 1 sh -c "${bin}/pmi_library plain; ${bin}/pmi_library plain; echo after")
interop_test("ranks by the port are offered no memory"
  CHECK --quiet --out "pmi library: 4 ranks ok"
  RUN --pmi port --sim-nodes 2 --ppn 2 ${bin}/pmi_library plain)

# Memory in place of the socket: what all tests above use where they can.
add_executable(pmi_ring programs/pmi/pmi_ring.c)
target_link_libraries(pmi_ring PRIVATE pmi)
target_compile_definitions(pmi_ring PRIVATE _GNU_SOURCE)
target_include_directories(pmi_ring PRIVATE ${PROJECT_SOURCE_DIR}/pmi/client/include)
set_target_properties(pmi_ring PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")
foreach(ring 1 0)
  set(told "all agents hold the same descriptors")
  set(how "no descriptor for ranks that have memory in place of their sockets")
  if(NOT ring)
    set(told "they differ by 8")
    set(how "a descriptor for each rank that uses its socket")
  endif()
  interop_test("an agent holds ${how}"
    CHECK --quiet --out "${told}"
    RUN --sim-nodes 3 --flat --ppn 9 -n 19 --env SCELA_RING=${ring} ${bin}/pmi_ring descriptors)
endforeach()
interop_test("a rank that has memory holds no socket"
  CHECK --quiet --count 6 "no socket"
  RUN --sim-nodes 3 --ppn 2 ${bin}/pmi_ring no-socket)
interop_test("a program that the rank starts keeps the socket, for those that come after it"
  CHECK --quiet --count 1 "a socket" --count 1 ".*"
  RUN --pmi fd -n 1 sh -c "${bin}/pmi_ring no-socket; exit $?")
interop_test("requests longer than a rank's memory pass in pieces"
  CHECK --out "long: ok" --said 6 "scela-run: rank [0-5] .* could not spawn: .*nonexistent.*"
  RUN --sim-nodes 3 --ppn 2 ${bin}/pmi_ring long)
interop_test("a child of a rank goes on with the rank's memory"
  CHECK --quiet --out "child: ok"
  RUN --sim-nodes 2 --ppn 2 ${bin}/pmi_ring child)
interop_test("a program of libpmi that asks its socket and reads the node's memory"
  CHECK --quiet --out "pmi library: 8 ranks ok"
  RUN --sim-nodes 4 --ppn 2 --env SCELA_RING=0 ${bin}/pmi_library)
set(rank "scela-run: rank 1 on [^ ]+ \\(.*pmi_ring.*\\)")
interop_test("a rank that closes its library's descriptors is told, and does not wait for ever"
  CHECK --status 1 --count 1 "told" --err "scela-run: rank 0 on .* ended without finalizing.*"
  RUN -n 1 ${bin}/pmi_ring close)
interop_test("nonsense in a rank's memory ends the job with that rank named"
  CHECK --status 1 --err "${rank} broke the PMI protocol: .*memory of its requests.*" --count 0 "goes on"
  RUN --sim-nodes 2 --ppn 2 ${bin}/pmi_ring nonsense)
interop_test("a rank that has memory and leaves without finalize ends the job with 1"
  CHECK --status 1 --err "${rank} ended without finalizing.*"
  RUN --sim-nodes 2 --ppn 2 ${bin}/pmi_ring leave)
interop_test("a rank that has memory and is killed ends the job with 137"
  CHECK --status 137 --err "${rank} killed by signal 9.*"
  RUN --sim-nodes 2 --ppn 2 ${bin}/pmi_ring crash)
interop_test("a program that takes the place of a rank that has memory is told, and the job ends"
  CHECK --status 3 --err "pmi_ring: PMI_Init failed"
  RUN -n 1 ${bin}/pmi_ring again)
string(REPLACE "rank 1" "rank 0" rank "${rank}")
interop_test("ranks that have memory end with their agent"
  CHECK --status 68 --err "${rank} lost with its node: the agent on sim0 was lost.*"
  RUN --sim-nodes 1 --ppn 2 ${bin}/pmi_ring agent)
