/* A debugger of PMIx in one rank: pmix_held CASE COUNT [PROGRAM...]

   Rank 0 spawns COUNT ranks that are stopped, hears that all of them have stopped, looks whether
   they have, and lets them go. The spawned ranks are this program, unless another one is given.
   init: they are stopped in PMIx_Init. exec: at the start of their program. both: first there, then
   in PMIx_Init. listed: only the ranks 1 and 3 are stopped in PMIx_Init. app: the ranks of the
   second of two programs, at the start. single: one is let go, then all others. local: they are let
   go by an event for this node. again: a second spawn is stopped although all ranks were let go
   before. dies: rank 0 kills itself. stays: none is let go. refused: what cannot be done is refused.
   child: a spawned rank, which tells all others that it runs. */
#include "tests/interop/programs/pmix/pmix_checks.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { kRuns = PMIX_EXTERNAL_ERR_BASE - 9, kMax = 64 };

static char waiting_at[2][PMIX_MAX_NSLEN + 1]; /* namespaces that have stopped: exec, pmix-init */
static char runs[kMax];                        /* by rank of the namespace that was spawned last */
static int running;
static char spawned[PMIX_MAX_NSLEN + 1];

static void on_event(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t infos[],
                     size_t count, pmix_info_t* results, size_t results_count,
                     pmix_event_notification_cbfunc_fn_t done, void* data) {
  (void)id, (void)results, (void)results_count;
  pthread_mutex_lock(&lock);
  if (code == kRuns && source->rank < kMax) {
    if (!runs[source->rank]) ++running;
    runs[source->rank] = 1;
  }
  if (code == PMIX_READY_FOR_DEBUG) {
    const char* at = "";
    const char* space = "";
    for (size_t i = 0; i < count; ++i) {
      if (PMIX_CHECK_KEY(&infos[i], PMIX_BREAKPOINT)) at = infos[i].value.data.string;
      if (PMIX_CHECK_KEY(&infos[i], PMIX_NSPACE)) space = infos[i].value.data.string;
    }
    if (strcmp(at, "exec") == 0) strcpy(waiting_at[0], space);
    if (strcmp(at, "pmix-init") == 0) strcpy(waiting_at[1], space);
  }
  pthread_cond_broadcast(&news);
  pthread_mutex_unlock(&lock);
  if (done != NULL) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void await_stopped(int in_init) {
  pthread_mutex_lock(&lock);
  while (strcmp(waiting_at[in_init], spawned) != 0)
    pthread_cond_wait(&news, &lock);
  pthread_mutex_unlock(&lock);
}

/* The number of spawned ranks that are stopped, as the kernel tells. They are on this machine. */
static int stopped_processes(void) {
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  pmix_status_t status;
  PMIX_ARGV_APPEND(status, query.keys, PMIX_QUERY_PROC_TABLE);
  check("memory", status);
  PMIX_QUERY_QUALIFIERS_CREATE(&query, 2);
  PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_QUERY_REFRESH_CACHE, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD(&query.qualifiers[1], PMIX_NSPACE, spawned, PMIX_STRING);
  pmix_info_t* found = NULL;
  size_t count = 0;
  check("table", PMIx_Query_info(&query, 1, &found, &count));
  PMIX_QUERY_DESTRUCT(&query);
  const pmix_data_array_t* array = found->value.data.darray;
  const pmix_proc_info_t* lines = array->array;
  int stopped = 0;
  for (size_t i = 0; i < array->size; ++i) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)lines[i].pid);
    FILE* file = fopen(path, "r");
    char line[256];
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
      if (strncmp(line, "State:\tT", 8) == 0) ++stopped;
    if (file != NULL) fclose(file);
  }
  PMIX_INFO_FREE(found, count);
  return stopped;
}

/* libpmix would keep a release for processes that register for it later. */
static void release(pmix_rank_t rank) {
  pmix_proc_t target;
  PMIX_PROC_LOAD(&target, spawned, rank);
  pmix_info_t infos[3];
  PMIX_INFO_LOAD(&infos[0], PMIX_EVENT_CUSTOM_RANGE, &target, PMIX_PROC);
  PMIX_INFO_LOAD(&infos[1], PMIX_EVENT_NON_DEFAULT, NULL, PMIX_BOOL);
  PMIX_INFO_LOAD(&infos[2], PMIX_EVENT_DO_NOT_CACHE, NULL, PMIX_BOOL);
  check("release",
        PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me, PMIX_RANGE_CUSTOM, infos, 3, NULL, NULL));
}

static void release_all(pmix_data_range_t range) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_EVENT_DO_NOT_CACHE, NULL, PMIX_BOOL);
  check("release", PMIx_Notify_event(PMIX_DEBUGGER_RELEASE, &me, range, &info, 1, NULL, NULL));
}

static char* child_words[kMax];

static void fill(pmix_app_t* app, int count) {
  PMIX_APP_CONSTRUCT(app);
  app->cmd = strdup(child_words[0]);
  pmix_status_t status;
  for (int i = 0; child_words[i] != NULL; ++i) {
    PMIX_ARGV_APPEND(status, app->argv, child_words[i]);
    check("memory", status);
  }
  app->maxprocs = count;
}

static pmix_status_t spawn(pmix_info_t* infos, size_t count, int ranks) {
  pmix_app_t app;
  fill(&app, ranks);
  running = 0;
  memset(runs, 0, sizeof runs);
  return PMIx_Spawn(infos, count, &app, 1, spawned);
}

static void spawn_stopped(const char* first, const char* second, int ranks) {
  pmix_info_t infos[2];
  PMIX_INFO_LOAD(&infos[0], first, NULL, PMIX_BOOL);
  if (second != NULL) PMIX_INFO_LOAD(&infos[1], second, NULL, PMIX_BOOL);
  check("spawn", spawn(infos, second == NULL ? 1 : 2, ranks));
}

static void in_init(int count, int own) {
  spawn_stopped(PMIX_DEBUG_STOP_IN_INIT, NULL, count);
  await_stopped(1);
  expect("none runs before it is let go", running == 0);
  release(PMIX_RANK_WILDCARD);
  if (own) await(&running, count);
}

static void on_exec(int count, pmix_data_range_t range) {
  spawn_stopped(PMIX_DEBUG_STOP_ON_EXEC, NULL, count);
  await_stopped(0);
  expect("all are stopped", stopped_processes() == count);
  if (range == PMIX_RANGE_CUSTOM) {
    release(PMIX_RANK_WILDCARD);
  } else {
    release_all(range);
  }
  await(&running, count);
}

static void both(int count) {
  spawn_stopped(PMIX_DEBUG_STOP_ON_EXEC, PMIX_DEBUG_STOP_IN_INIT, count);
  await_stopped(0);
  expect("all are stopped", stopped_processes() == count);
  release(PMIX_RANK_WILDCARD);
  await_stopped(1);
  expect("none runs before it is let go twice", running == 0 && stopped_processes() == 0);
  release(PMIX_RANK_WILDCARD);
  await(&running, count);
}

/* The second release comes before the ranks wait in PMIx_Init. */
static void early(int count) {
  spawn_stopped(PMIX_DEBUG_STOP_ON_EXEC, PMIX_DEBUG_STOP_IN_INIT, count);
  await_stopped(0);
  release(PMIX_RANK_WILDCARD);
  release(PMIX_RANK_WILDCARD);
  await(&running, count);
}

static void listed(void) {
  pmix_proc_t procs[2];
  PMIX_PROC_LOAD(&procs[0], "", 1);
  PMIX_PROC_LOAD(&procs[1], "", 3);
  pmix_data_array_t array = {PMIX_PROC, 2, procs};
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_DEBUG_STOP_IN_INIT, &array, PMIX_DATA_ARRAY);
  check("spawn", spawn(&info, 1, 4));
  await_stopped(1);
  await(&running, 2);
  expect("the ranks that are not listed run", runs[0] && runs[2] && running == 2);
  release(1);
  await(&running, 3);
  expect("then one of those that are", runs[1]);
  release(3);
  await(&running, 4);
}

static void of_one_program(int count) {
  pmix_app_t apps[2];
  fill(&apps[0], 1);
  fill(&apps[1], count);
  PMIX_INFO_CREATE(apps[1].info, 1);
  apps[1].ninfo = 1;
  PMIX_INFO_LOAD(&apps[1].info[0], PMIX_DEBUG_STOP_ON_EXEC, NULL, PMIX_BOOL);
  check("spawn", PMIx_Spawn(NULL, 0, apps, 2, spawned));
  await_stopped(0);
  await(&running, 1);
  expect("the first program runs", runs[0] && running == 1);
  expect("the second one is stopped", stopped_processes() == count);
  release(PMIX_RANK_WILDCARD);
  await(&running, 1 + count);
}

static void one_by_one(int count) {
  spawn_stopped(PMIX_DEBUG_STOP_ON_EXEC, NULL, count);
  await_stopped(0);
  release((pmix_rank_t)count - 1);
  await(&running, 1);
  expect("it was let go alone", runs[count - 1] && stopped_processes() == count - 1);
  release(PMIX_RANK_WILDCARD);
  await(&running, count);
}

static void again(int count) {
  for (int i = 0; i < 2; ++i) {
    spawn_stopped(PMIX_DEBUG_STOP_IN_INIT, NULL, count);
    await_stopped(1);
    expect("none runs before it is let go", running == 0);
    release_all(PMIX_RANGE_GLOBAL);
    await(&running, count);
  }
}

static void refused(void) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_DEBUG_STOP_IN_APP, NULL, PMIX_BOOL);
  PMIX_INFO_REQUIRED(&info);
  expect("a required attribute is refused", spawn(&info, 1, 1) == PMIX_ERR_NOT_SUPPORTED);
  pmix_rank_t rank = 1;
  PMIX_INFO_LOAD(&info, PMIX_DEBUG_STOP_ON_EXEC, &rank, PMIX_PROC_RANK);
  expect("there is no such rank", spawn(&info, 1, 1) == PMIX_ERR_BAD_PARAM);
  PMIX_INFO_LOAD(&info, PMIX_DEBUG_STOP_IN_INIT, "0", PMIX_STRING);
  expect("a text names no ranks", spawn(&info, 1, 1) == PMIX_ERR_BAD_PARAM);
  PMIX_INFO_LOAD(&info, PMIX_DEBUG_STOP_IN_APP, NULL, PMIX_BOOL);
  check("spawn", spawn(&info, 1, 1));
  await(&running, 1);
}

static void debug(const char* what, int count, int own) {
  if (strcmp(what, "init") == 0) in_init(count, own);
  if (strcmp(what, "exec") == 0) on_exec(count, PMIX_RANGE_CUSTOM);
  if (strcmp(what, "local") == 0) on_exec(count, PMIX_RANGE_LOCAL);
  if (strcmp(what, "both") == 0) both(count);
  if (strcmp(what, "early") == 0) early(count);
  if (strcmp(what, "listed") == 0) listed();
  if (strcmp(what, "app") == 0) of_one_program(count);
  if (strcmp(what, "single") == 0) one_by_one(count);
  if (strcmp(what, "again") == 0) again(count);
  if (strcmp(what, "refused") == 0) refused();
  if (strcmp(what, "dies") != 0 && strcmp(what, "stays") != 0) return;
  spawn_stopped(PMIX_DEBUG_STOP_ON_EXEC, PMIX_DEBUG_STOP_IN_INIT, count);
  await_stopped(0);
  printf("%d are stopped\n", stopped_processes());
  fflush(stdout);
  if (strcmp(what, "dies") == 0) raise(SIGKILL);
}

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  const char* what = argv[1];
  const int count = argc > 2 ? atoi(argv[2]) : 0;
  initialize();
  if (strcmp(what, "child") == 0) {
    check("event", PMIx_Notify_event(kRuns, &me, PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL));
  } else if (me.rank == 0) {
    static char child[] = "child";
    child_words[0] = argv[0];
    child_words[1] = child;
    for (int i = 3; i < argc && i < kMax; ++i) {
      child_words[i - 3] = argv[i];
      child_words[i - 2] = NULL;
    }
    pmix_status_t codes[] = {PMIX_READY_FOR_DEBUG, kRuns};
    listen_to(codes, 2, on_event);
    debug(what, count, argc < 4);
    printf("pmix held %s: %d ranks ok\n", what, count);
  }
  check("finalize", PMIx_Finalize(NULL, 0));
  return 0;
}
