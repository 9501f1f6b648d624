# Programs of Debian's Open MPI, and clients of libpmix alone, under scela-run --pmi pmix.
find_program(SCELA_OMPICC mpicc.openmpi)
if(NOT SCELA_OMPICC OR NOT TARGET scela-pmix)
  message(STATUS "interop tests of Open MPI left out: they need mpicc.openmpi (package libopenmpi-dev) and scela-pmix")
  return()
endif()
set(programs)
foreach(source programs/mpi/point_to_point.c programs/mpi/collectives.c programs/mpi/failing.c programs/mpi/names_mpi.c
    programs/mpi/hold_mpi.c programs/mpi/dynamic_mpi.c
    ${PROJECT_SOURCE_DIR}/examples/hello_mpi.c ${PROJECT_SOURCE_DIR}/examples/ring_mpi.c)
  cmake_path(ABSOLUTE_PATH source)
  cmake_path(GET source STEM program)
  add_custom_command(OUTPUT "${SCELA_INTEROP_BIN}/openmpi_${program}" DEPENDS "${source}"
    COMMAND ${SCELA_OMPICC} -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -o "${SCELA_INTEROP_BIN}/openmpi_${program}"
      "${source}"
    VERBATIM)
  list(APPEND programs "${SCELA_INTEROP_BIN}/openmpi_${program}")
endforeach()
add_custom_command(OUTPUT "${SCELA_INTEROP_BIN}/openmpi_through_library"
  DEPENDS programs/mpi/meet.c programs/mpi/through_library.c
  COMMAND ${SCELA_OMPICC} -std=c11 -O2 -Wall -Wextra -shared -fPIC -o "${SCELA_INTEROP_BIN}/libmeet.so"
    "${CMAKE_CURRENT_SOURCE_DIR}/programs/mpi/meet.c"
  COMMAND ${CMAKE_C_COMPILER} -std=c11 -O2 -Wall -Wextra -o "${SCELA_INTEROP_BIN}/openmpi_through_library"
    "${CMAKE_CURRENT_SOURCE_DIR}/programs/mpi/through_library.c" -L${SCELA_INTEROP_BIN} -lmeet
    "-Wl,-rpath,$ORIGIN" "-Wl,-rpath-link,/usr/lib"
  VERBATIM)
list(APPEND programs "${SCELA_INTEROP_BIN}/openmpi_through_library")
add_custom_target(interop_openmpi ALL DEPENDS ${programs})
find_library(SCELA_LIBPMIX pmix REQUIRED)
find_package(Threads REQUIRED)
get_target_property(SCELA_PMIX_INCLUDE scela-pmix INCLUDE_DIRECTORIES)
foreach(program pmix_client pmix_held pmix_manager pmix_observer pmix_terms pmix_tool)
  add_executable(${program} programs/pmix/${program}.c)
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(${program} SYSTEM PRIVATE ${SCELA_PMIX_INCLUDE})
  target_link_libraries(${program} PRIVATE ${SCELA_LIBPMIX} Threads::Threads)
  target_compile_definitions(${program} PRIVATE _GNU_SOURCE)
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${SCELA_INTEROP_BIN}")
endforeach()
set(mpi ${bin}/openmpi)
set(client ${bin}/pmix_client)

# Programs that work.
interop_test("Open MPI hello on one node"
  CHECK --quiet --count 4 "hello from rank [0-3] of 4 on .*"
  RUN --pmi pmix -n 4 ${mpi}_hello_mpi)
interop_test("Open MPI hello with one rank"
  CHECK --quiet --out "hello from rank 0 of 1 on .*"
  RUN --pmi pmix -n 1 ${mpi}_hello_mpi)
interop_test("Open MPI hello on 4 nodes of 2"
  CHECK --quiet --count 8 "hello from rank [0-7] of 8 on .*"
        --out "hello from rank 0 of 8 on .*" --out "hello from rank 7 of 8 on .*"
  RUN --pmi pmix --sim-nodes 4 --ppn 2 ${mpi}_hello_mpi)
interop_test("Open MPI ring on a tree of degree 1"
  CHECK --quiet --out "15 went round 6 ranks, expected 15"
  RUN --pmi pmix --sim-nodes 3 --ppn 2 --degree 1 ${mpi}_ring_mpi)
interop_test("Open MPI point to point across nodes"
  CHECK --quiet --out "point to point: 6 ranks ok"
  RUN --pmi pmix --sim-nodes 3 --ppn 2 ${mpi}_point_to_point)
interop_test("Open MPI collectives across nodes"
  CHECK --quiet --out "collectives: 6 ranks ok"
  RUN --pmi pmix --sim-nodes 3 --ppn 2 ${mpi}_collectives)
interop_test("Open MPI collectives on an uneven map"
  CHECK --quiet --out "collectives: 5 ranks ok"
  RUN --pmi pmix --sim-nodes 2 --ppn 3 -n 5 ${mpi}_collectives)
interop_test("Open MPI collectives by direct modex"
  CHECK --quiet --out "collectives: 4 ranks ok"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 --env OMPI_MCA_pmix_base_async_modex=1
      --env OMPI_MCA_pmix_base_collect_data=0 ${mpi}_collectives)
interop_test("Open MPI publishes, looks up and unpublishes a name"
  CHECK --quiet --out "names: 4 ranks ok" --count 1 ".*"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 ${mpi}_names_mpi)
interop_test("Open MPI programs of two command segments are one world"
  CHECK --quiet --count 3 "hello from rank [0-2] of 3 on .*"
  RUN --pmi pmix --sim-nodes 3 --ppn 1 -n 1 ${mpi}_hello_mpi : -n 2 ${mpi}_hello_mpi)
add_test(NAME "interop: two jobs of Open MPI at once on the same nodes" COMMAND
  ${python} "${CMAKE_CURRENT_SOURCE_DIR}/two_at_once.py" 4
    $<TARGET_FILE:scela-run> --pmi pmix --sim-nodes 2 --ppn 2 ${mpi}_hold_mpi)
set_tests_properties("interop: two jobs of Open MPI at once on the same nodes" PROPERTIES LABELS interop TIMEOUT 150
  PROCESSORS ${SCELA_COMPUTES})
# Dynamic processes. What mpirun runs too must look the same there.
find_program(SCELA_MPIRUN_OPENMPI mpirun.openmpi)
foreach(what spawn self multiple nested connect)
  interop_test("Open MPI ranks: ${what}, on one node"
    CHECK --quiet --out "dynamic ${what}: 2 ranks ok" --count 1 ".*"
    RUN --pmi pmix -n 2 ${mpi}_dynamic_mpi ${what} 2)
  interop_test("Open MPI ranks: ${what}, on nodes"
    CHECK --quiet --out "dynamic ${what}: 4 ranks ok" --count 1 ".*"
    RUN --pmi pmix --sim-nodes 2 --ppn 2 ${mpi}_dynamic_mpi ${what} 2)
  if(SCELA_MPIRUN_OPENMPI)
    add_test(NAME "interop: mpirun, ${what}" COMMAND ${python} "${CMAKE_CURRENT_SOURCE_DIR}/check_run.py"
      --out "dynamic ${what}: 4 ranks ok" --count 1 ".*" -- ${SCELA_MPIRUN_OPENMPI} --allow-run-as-root --oversubscribe
      -n 4 ${mpi}_dynamic_mpi ${what} 2)
    set_tests_properties("interop: mpirun, ${what}" PROPERTIES LABELS interop TIMEOUT 150 PROCESSORS ${SCELA_COMPUTES})
  endif()
endforeach()
interop_test("Open MPI spawns where its hints say"
  CHECK --quiet --out "rank 0 of 2 on sim2 in /usr" --out "rank 1 of 2 on sim1 in /usr"
        --out "dynamic where: 1 ranks ok"
  RUN --pmi pmix --sim-nodes 3 -n 1 ${mpi}_dynamic_mpi where 2 host sim2,sim1 wdir /usr)
interop_test("Open MPI spawns on nodes that had no rank, which talk among each other"
  CHECK --quiet --out "dynamic spawn: 1 ranks ok" --count 1 ".*"
  RUN --pmi pmix --usize 8 --sim-nodes 4 -n 1 ${mpi}_dynamic_mpi spawn 6)
interop_test("a program that Open MPI cannot spawn is an error to the rank, which goes on"
  CHECK --out "dynamic missing: 4 ranks ok"
        --err "scela-run: rank 0 .*could not spawn: .*no-such-program.*"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 ${mpi}_dynamic_mpi missing)
interop_test("MPI_Abort of a spawned Open MPI rank ends the job"
  CHECK --status 5 --err "scela-run: rank 3 on .* aborted the job with code 5"
  RUN --pmi pmix --sim-nodes 2 --ppn 1 ${mpi}_dynamic_mpi abort 2)
interop_test("a segmentation fault of a spawned Open MPI rank ends the job"
  CHECK --status 139 --err "scela-run: rank 3 on .* killed by signal 11 .*"
  RUN --pmi pmix --sim-nodes 2 --ppn 1 ${mpi}_dynamic_mpi fault 2)
interop_test("a spawned Open MPI rank that leaves without MPI_Finalize ends the job"
  CHECK --status 1 --err "scela-run: rank 3 on .* ended without finalizing.*"
  RUN --pmi pmix --sim-nodes 2 --ppn 1 ${mpi}_dynamic_mpi leave 2)
interop_test("a PMIx rank waits for what a rank elsewhere will put that it spawns itself"
  CHECK --quiet --out "pmix ahead: 2 ranks ok" --count 1 ".*"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 -n 2 ${client} ahead)
interop_test("PMIx ranks spawn, connect with and read what spawned ranks have put"
  CHECK --quiet --out "pmix spawn: 4 ranks ok" --count 1 ".*"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 ${client} spawn)
foreach(where "one node" "other nodes")
  set(options --sim-nodes 3 -n 4 --map-by node)
  if(where STREQUAL "one node")
    set(options -n 4)
  endif()
  interop_test("PMIx ranks may ask for what a rank has put that is still to be spawned, on ${where}"
    CHECK --quiet --out "pmix early: 4 ranks ok" --count 1 ".*"
    RUN --pmi pmix ${options} ${client} early)
endforeach()
interop_test("a spawn that PMIx ranks cannot make is an error to them"
  CHECK --out "pmix unspawned: 2 ranks ok" --count 1 ".*" --err ".*no-such-program.*" --err ".*no-such-host.*"
  RUN --pmi pmix --sim-nodes 2 --ppn 1 ${client} unspawned)
find_program(SCELA_NETPIPE_OPENMPI NPopenmpi)
if(SCELA_NETPIPE_OPENMPI)
  interop_test("NetPIPE of Debian's netpipe-openmpi"
    CHECK --err " *19: +3073 bytes +2 times -->  Integrity check passed" --out "0: .*" --out "1: .*"
    RUN --pmi pmix --sim-nodes 2 --ppn 1 ${SCELA_NETPIPE_OPENMPI} -i -n 2 -u 4096 -o /dev/null)
endif()
foreach(what exchange direct publish groups)
  interop_test("PMIx ${what} across nodes"
    CHECK --quiet --out "pmix ${what}: 6 ranks ok" --count 1 ".*"
    RUN --pmi pmix --sim-nodes 3 --ppn 2 ${client} ${what})
endforeach()
foreach(what timeouts several ranges invite)
  interop_test("PMIx ${what} on two nodes"
    CHECK --quiet --out "pmix ${what}: 4 ranks ok" --count 1 ".*"
    RUN --pmi pmix --sim-nodes 2 --ppn 2 ${bin}/pmix_terms ${what})
endforeach()
interop_test("a PMIx fence that ended before a rank of its node came is not there for that rank"
  CHECK --quiet --out "pmix local: 2 ranks ok" --count 1 ".*"
  RUN --pmi pmix -n 2 ${bin}/pmix_terms local)
interop_test("PMIx ranks exchange 8 MiB each"
  CHECK --quiet --out "pmix large: 4 ranks ok" --count 1 ".*"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 ${client} large)
interop_test("PMIx ranks are told the universe that the job says"
  CHECK --quiet --out "universe: 77" --out "pmix universe: 2 ranks ok"
  RUN --pmi pmix --usize 77 --sim-nodes 2 --ppn 1 ${client} universe)
interop_test("PMIx ranks find the topology that their node's server has found"
  CHECK --quiet --out "pmix topology: 4 ranks ok" --count 1 ".*"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 ${client} topology)
interop_test("PMIx calls that are not offered return"
  CHECK --out "pmix refused: 4 ranks ok" --count 1 ".*"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 ${client} refused)

# Ranks that look on, on one and on several nodes.
foreach(nodes 1 3)
  foreach(what queries events signal)
    interop_test("PMIx ${what}, simulated nodes: ${nodes}"
      CHECK --quiet --out "pmix ${what}: 6 ranks ok" --count 1 ".*"
      RUN --pmi pmix --sim-nodes ${nodes} -n 6 ${bin}/pmix_observer ${what})
  endforeach()
endforeach()
interop_test("PMIx ranks hear of one that died, on every node"
  CHECK --status 137 --count 5 "rank [02-5] heard that rank 1 died" --out "pmix death: 6 ranks ok"
  RUN --pmi pmix --sim-nodes 3 --ppn 2 --on-failure wait ${bin}/pmix_observer death)
interop_test("a PMIx rank pauses, continues and ends one of another node"
  CHECK --status 143 --out "pmix control: 4 ranks ok"
        --err "scela-run: rank 3 on sim1 .* killed by signal 15 .*"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 --on-failure wait ${bin}/pmix_observer control)
interop_test("log texts of PMIx ranks are among their output, labelled"
  CHECK --quiet --count 4 "([0-3]): logged by rank \\1" --out "0: pmix log: 4 ranks ok"
  RUN --pmi pmix -l --sim-nodes 2 --ppn 2 ${bin}/pmix_observer log)
interop_test("PMIx allocations and credentials are refused"
  CHECK --quiet --out "credential: NOT-SUPPORTED" --out "pmix refused: 2 ranks ok"
  RUN --pmi pmix --sim-nodes 2 --ppn 1 ${bin}/pmix_observer refused)

# Python, which shows no MPI. By /usr/bin/env it would be another interpreter's package.
execute_process(COMMAND /usr/bin/python3 -c "import mpi4py" RESULT_VARIABLE mpi4py_missing ERROR_QUIET OUTPUT_QUIET)
set(python_client /usr/bin/python3 -m mpi4py ${CMAKE_CURRENT_SOURCE_DIR}/programs/mpi/client_mpi4py.py)
if(mpi4py_missing)
  message(STATUS "interop tests of mpi4py left out: they need the package python3-mpi4py")
else()
  interop_test("mpi4py by PMIx"
    CHECK --quiet --count 6 "hello from rank [0-5] of 6" --out "mpi4py: 6 ranks, sum 15"
    RUN --pmi pmix --sim-nodes 3 --ppn 2 ${python_client})
  interop_test("an exception in a rank of mpi4py ends the job with 1"
    CHECK --status 1 --count 0 "mpi4py: .*" --err "ValueError: no more of this" --err "scela-run: rank 1 on .* aborted the job with code 1"
    RUN --pmi pmix --sim-nodes 3 --ppn 2 ${python_client} raise)
  interop_test("--pmi auto and mpi4py"
    CHECK --count 4 "hello from rank [0-3] of 4" --err "scela-run: .*--pmi pmix and fd: '/usr/bin/python3' shows no MPI, and .*"
    RUN -v -n 4 ${python_client})
endif()

# What a job speaks, told from its programs.
interop_test("a program of Open MPI needs no option"
  CHECK --quiet --count 2 "hello from rank [01] of 2 on .*"
  RUN -n 2 ${mpi}_hello_mpi)
interop_test("a program that is linked to Open MPI through a library needs no option"
  CHECK --count 2 "2 have met" --err "scela-run: .*--pmi pmix: '.*through_library' needs libmpi[.]so[.].*"
  RUN -v -n 2 ${mpi}_through_library)
interop_test("a script beside a program of Open MPI goes with it"
  CHECK --quiet --count 2 "hello from rank [01] of 2 on .*"
  RUN -n 1 ${mpi}_hello_mpi : -n 1 sh -c "exec ${mpi}_hello_mpi")
interop_test("--pmi auto sees that a program needs PMIx"
  CHECK --count 2 "hello from rank [01] of 2 on .*" --err "scela-run: .*--pmi pmix: '.*openmpi_hello_mpi' needs libmpi[.]so[.].*"
  RUN -v --pmi auto -n 2 ${mpi}_hello_mpi)
interop_test("--pmi auto sees that a program needs PMI"
  CHECK --count 2 "hello from rank [01] of 2 on .*" --err "scela-run: .*--pmi fd: '.*hello_mpi' needs libmpich[.]so[.].*"
  RUN -v --pmi auto -n 2 ${bin}/hello_mpi)
# Nothing shows what a script runs: its programs find PMI-1, PMI-2 and PMIx.
interop_test("a script of Open MPI's program needs no option"
  CHECK --quiet --count 4 "hello from rank [0-3] of 4 on .*"
  RUN --sim-nodes 2 --ppn 2 sh -c "exec ${mpi}_hello_mpi")
interop_test("a script of MPICH's program needs no option"
  CHECK --quiet --count 4 "hello from rank [0-3] of 4 on .*"
  RUN --sim-nodes 2 --ppn 2 sh -c "exec ${bin}/hello_mpi")
# Started, they would be singletons of Open MPI, which trip over each other's session directory.
interop_test("--pmi fd beside a program of Open MPI is warned of"
  CHECK --err "scela-run: '.*' needs libmpi[.]so[.].* \\(PMIx\\), and --pmi fd gives it none: each rank will be a world of its own"
  RUN --pmi fd --dry-run -n 2 ${mpi}_hello_mpi)
interop_test("--pmi auto refuses programs that differ"
  CHECK --status 64 --err ".*the programs differ: .*libmpich.*libmpi[.]so.*cannot be one job.*"
  RUN --pmi auto -n 1 ${bin}/hello_mpi : -n 1 ${mpi}_hello_mpi)

# Programs that fail: the exit status and the line that names the cause.
# Of ranks elsewhere libpmix 4.2 finds no number of the node (docs/design/pmix.md).
interop_test("PMIx: a host's required facts about a rank are known of ranks on all nodes"
  CHECK --quiet --count 17 ".*"
        --count 4 "to [0-3] rank 0: node (0|-1), 0 of it, 0 of the job on it, program 0, 0 of it, 0 of all"
        --count 4 "to [0-3] rank 1: node (0|-1), 1 of it, 1 of the job on it, program 0, 1 of it, 1 of all"
        --count 4 "to [0-3] rank 2: node (1|-1), 0 of it, 0 of the job on it, program 0, 2 of it, 2 of all"
        --count 4 "to [0-3] rank 3: node (0|-1), 2 of it, 2 of the job on it, program 1, 0 of it, 3 of all"
  RUN --pmi pmix --sim-nodes 2 -n 3 --ppn 2 ${client} places : -n 1 ${client} places)
interop_test("PMIx: a get waits for its key, of a rank on another node, and no longer than it is told"
  CHECK --quiet --out "pmix later: 2 ranks ok" --count 1 ".*"
  RUN --pmi pmix --sim-nodes 2 --ppn 1 ${client} later)
interop_test("PMIx: job control with information only succeeds"
  CHECK --quiet --out "pmix control: 2 ranks ok" --count 1 ".*"
  RUN --pmi pmix --sim-nodes 2 --ppn 1 ${client} control)
set(rank "scela-run: rank 1 on [^ ]+ \\(.*openmpi_failing.*\\)")
interop_test("MPI_Abort(7) of Open MPI ends the job with 7"
  CHECK --status 7 --err "${rank} aborted the job with code 7"
  RUN --pmi pmix --sim-nodes 3 --ppn 2 ${mpi}_failing abort)
interop_test("a segmentation fault of an Open MPI rank ends the job with 139"
  CHECK --status 139 --err "${rank} killed by signal 11 \\(SIGSEGV, Segmentation fault\\).*"
  RUN --pmi pmix --sim-nodes 3 --ppn 2 ${mpi}_failing segfault)
interop_test("an Open MPI rank that leaves without MPI_Finalize ends the job with 1"
  CHECK --status 1 --err "${rank} ended without finalizing.*"
  RUN --pmi pmix --sim-nodes 3 --ppn 2 ${mpi}_failing leave)
interop_test("an Open MPI rank that exits with 3 before MPI_Init ends the job with 3"
  CHECK --status 3 --err "${rank} exited with code 3.*"
  RUN --pmi pmix --sim-nodes 3 --ppn 2 ${mpi}_failing early)
# Under wait, and where a rank ends well, nobody else ends those that wait for it in MPI_Init. The first that gives up may end the
# other before that does.
interop_test("Open MPI ranks are told of one of their node that ended before MPI_Init, under wait"
  CHECK --status 3 --err "${rank} exited with code 3.*" --err "scela-run: .* aborted the job with code 1: (0|2|0,2)"
  RUN --pmi pmix -n 3 --on-failure wait ${mpi}_failing early)
interop_test("Open MPI ranks on two nodes are told of one that ended before MPI_Init, under wait"
  CHECK --status 3 --err "${rank} exited with code 3.*"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 --on-failure wait ${mpi}_failing early)
interop_test("Open MPI ranks beside a program that speaks no PMIx and has ended fail"
  CHECK --status 1 --count 0 "hello.*" --err "scela-run: rank [12] on [^ ]+ \\(.*\\) aborted the job with code 1.*"
  RUN --pmi pmix -n 1 true : -n 2 ${mpi}_hello_mpi)
set(rank "scela-run: rank 1 on [^ ]+ \\(.*pmix_client.*\\)")
foreach(nodes 1 2)
  interop_test("PMIx clients are told in each fence of one that never came, under wait, simulated nodes: ${nodes}"
    CHECK --status 3 --err "${rank} exited with code 3.*" --count 0 "a fence passed"
          --count 3 "rank [0-3]: the fence failed" --out "pmix absent: 4 ranks ok"
    RUN --pmi pmix --sim-nodes ${nodes} -n 4 --on-failure wait ${client} absent)
endforeach()
# The others may pass the fence before the job ends: libpmix lets them.
interop_test("a PMIx client that dies between init and fence ends the job with 137"
  CHECK --status 137 --err "${rank} killed by signal 9 .*"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 ${client} die)
interop_test("PMIx clients in a fence are told of one that died, under wait"
  CHECK --status 137 --count 3 "rank [0-3]: the fence failed" --out "pmix die: 4 ranks ok"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 --on-failure wait ${client} die)
interop_test("a PMIx client that dies between init and fence on one node ends the job with 137"
  CHECK --status 137 --err "${rank} killed by signal 9 .*"
  RUN --pmi pmix -n 4 ${client} die)
interop_test("PMIx clients in a fence on one node are told of one that died, under wait"
  CHECK --status 137 --count 3 "rank [0-3]: the fence failed" --out "pmix die: 4 ranks ok"
  RUN --pmi pmix --on-failure wait -n 4 ${client} die)
set(crashed "the node's PMIx server \\(scela-pmix\\) was killed by signal 11 \\(SIGSEGV\\).*")
interop_test("a PMIx server that crashes in a fence ends the job, and is named"
  CHECK --status 68 --err "scela-run: rank [01] on sim0 .*${crashed}"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 ${client} crash)
interop_test("a PMIx server that crashes in a fence fails it on the other nodes, under wait"
  CHECK --status 68 --err "scela-run: rank [01] on sim0 .*${crashed}" --count 2 "rank [23]: the fence failed"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 --on-failure wait ${client} crash)
interop_test("a PMIx server that crashes in a fence on one node ends the job, and is named"
  CHECK --status 68 --err "scela-run: rank [01] on .*${crashed}"
  RUN --pmi pmix -n 2 ${client} crash)
interop_test("a PMIx client that leaves between init and fence ends the job with 1"
  CHECK --status 1 --err "${rank} ended without finalizing.*"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 ${client} leave)
interop_test("PMIx_Abort ends the job with what the rank said"
  CHECK --status 9 --err "${rank} aborted the job with code 9: no more of this"
  RUN --pmi pmix --sim-nodes 2 --ppn 2 ${client} abort)

# As under mpirun: output, exit status. Not names: to publish one twice is refused here, as MPI wants it, and done there.
find_program(SCELA_MPIRUN_OPENMPI mpirun.openmpi REQUIRED)
set(as_under_mpirun "hello_mpi 0" "ring_mpi 0" "point_to_point 0" "collectives 0" "failing 7 abort" "failing 139 segfault"
  "failing 1 leave" "failing 3 exit")
if(NOT mpi4py_missing)
  list(APPEND as_under_mpirun "mpi4py 0" "mpi4py 1 raise")
endif()
foreach(row IN LISTS as_under_mpirun)
  string(REPLACE " " ";" words "${row}")
  list(POP_FRONT words program status)
  if(program STREQUAL "mpi4py")
    set(command ${python_client})
  else()
    set(command ${mpi}_${program})
  endif()
  string(JOIN " " name "interop: as under mpirun: ${program}" ${words})
  add_test(NAME "${name}" COMMAND ${python} -B "${CMAKE_CURRENT_SOURCE_DIR}/compare_runs.py"
    --mpirun ${SCELA_MPIRUN_OPENMPI} --scela-run $<TARGET_FILE:scela-run> --status ${status} -- ${command} ${words})
  set_tests_properties("${name}" PROPERTIES LABELS interop TIMEOUT 150 PROCESSORS ${SCELA_COMPUTES})
endforeach()
