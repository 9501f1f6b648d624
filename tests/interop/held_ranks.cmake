# Ranks that a debugger stops by PMIx. In each run rank 0 is the debugger (programs/pmix/pmix_held.c).
if(NOT TARGET pmix_held)
  return()
endif()
set(held ${bin}/pmix_held)
foreach(nodes 1 3)
  foreach(what init exec both early listed app single again)
    interop_test("PMIx ranks that a debugger stops: ${what}, simulated nodes: ${nodes}"
      CHECK --quiet --out "pmix held ${what}: 4 ranks ok" --count 1 ".*"
      RUN --pmi pmix --sim-nodes ${nodes} --ppn 1 ${held} ${what} 4)
  endforeach()
  interop_test("a debugger that dies leaves no rank that it has stopped, simulated nodes: ${nodes}"
    CHECK --status 137 --out "4 are stopped" --count 1 ".*" --err "scela-run: rank 0 on .* killed by signal 9 .*"
    RUN --pmi pmix --sim-nodes ${nodes} --ppn 1 ${held} dies 4)
  interop_test("a rank that Open MPI stops in MPI_Init goes on when it is let go, simulated nodes: ${nodes}"
    CHECK --quiet --count 3 "hello from rank [0-2] of 3 on .*" --out "pmix held init: 3 ranks ok"
    RUN --pmi pmix --sim-nodes ${nodes} --ppn 1 ${held} init 3 ${mpi}_hello_mpi)
endforeach()
interop_test("ranks that are stopped on hosts without a rank go on when they are let go"
  CHECK --quiet --out "pmix held both: 6 ranks ok" --count 1 ".*"
  RUN --pmi pmix --sim-nodes 4 -n 1 --usize 8 ${held} both 6)
interop_test("an event for one node lets its stopped ranks go"
  CHECK --quiet --out "pmix held local: 3 ranks ok" --count 1 ".*"
  RUN --pmi pmix -n 1 ${held} local 3)
interop_test("stopped ranks that are never let go end with the time limit of the job"
  CHECK --status 124 --err "scela-run: the job reached its time limit of 6 s .*"
  RUN --pmi pmix --sim-nodes 2 --ppn 1 --timeout 6 ${held} stays 4)
interop_test("what a debugger cannot have is refused, with the reason"
  CHECK --out "pmix held refused: 1 ranks ok" --count 1 ".*"
        --err "scela-pmix: PMIx_Spawn: the attribute pmix.dbg.notify is required, and is not supported .*" --said 1 ".*"
  RUN --pmi pmix -n 1 ${held} refused 1)
