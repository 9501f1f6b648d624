/* A tool that comes to a job from outside: pmix_tool PID table|lookup|event|stopped|control|pull|push...

   PID is that of the job's scela-pmix on this machine. table: prints a line for each process of the
   job. lookup NAME: prints the value that is published under it. event CODE: tells all ranks.
   stopped: prints where ranks are stopped for a debugger, once all of them are. control RANK SIGNAL: signals a rank. pull BYTES [stop]: gets copies of the output of all ranks,
   until it knows of so many bytes. It prints how many bytes of each stream it has had, and
   how many were left out. With "stop" it stops itself before. push: writes to ranks. */
#include <pmix.h>
#include <pmix_tool.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char job[PMIX_MAX_NSLEN + 1];

static int check(const char* what, pmix_status_t status) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return 0;
  fprintf(stderr, "%s: %s\n", what, PMIx_Error_string(status));
  exit(1);
}

static pmix_info_t* ask(const char* key, const pmix_proc_t* about) {
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  if (about != NULL) {
    PMIX_QUERY_QUALIFIERS_CREATE(&query, 1);
    PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_PROCID, about, PMIX_PROC);
  }
  pmix_status_t status;
  PMIX_ARGV_APPEND(status, query.keys, key);
  check("memory", status);
  pmix_info_t* found = NULL;
  size_t count = 0;
  check(key, PMIx_Query_info(&query, 1, &found, &count));
  PMIX_QUERY_DESTRUCT(&query);
  if (count != 1) check("one answer", PMIX_ERROR);
  return found;
}

static void table(void) {
  pmix_info_t* found = ask(PMIX_QUERY_PROC_TABLE, NULL);
  const pmix_proc_info_t* lines = found->value.data.darray->array;
  for (size_t i = 0; i < found->value.data.darray->size; ++i) {
    /* libpmix 4.2 leaves exit codes out of tables. */
    pmix_info_t* code = ask(PMIX_EXIT_CODE, &lines[i].proc);
    printf("%u %s %d %d %d %s\n", lines[i].proc.rank, lines[i].hostname, (int)lines[i].pid,
           lines[i].state, code->value.data.integer, lines[i].executable_name);
    PMIX_INFO_FREE(code, 1);
  }
  PMIX_INFO_FREE(found, 1);
}

static void look_up(const char* name) {
  pmix_pdata_t found;
  PMIX_PDATA_CONSTRUCT(&found);
  strncpy(found.key, name, PMIX_MAX_KEYLEN);
  check("look up", PMIx_Lookup(&found, 1, NULL, 0));
  printf("%s\n", found.value.data.string);
  PMIX_PDATA_DESTRUCT(&found);
}

static void control(const char* rank, const char* signo) {
  pmix_proc_t target;
  PMIX_PROC_LOAD(&target, job, (pmix_rank_t)atoi(rank));
  const int number = atoi(signo);
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_SIGNAL, &number, PMIX_INT);
  pmix_info_t* results = NULL;
  size_t count = 0;
  check("control", PMIx_Job_control(&target, 1, &info, 1, &results, &count));
}

enum { kRanks = 64 };
static size_t had[kRanks][2]; /* of standard output and error */
static size_t left_out;
static size_t awaited;
static sem_t there;

static void copied(size_t handler, pmix_iof_channel_t channel, pmix_proc_t* source,
                   pmix_byte_object_t* bytes, pmix_info_t info[], size_t count) {
  (void)handler;
  (void)info;
  (void)count;
  static const char kMark[] = "\n[scela: ";
  if (source->rank >= kRanks) return;
  if (bytes->size > sizeof kMark && memcmp(bytes->bytes, kMark, sizeof kMark - 1) == 0) {
    char text[32] = "";
    memcpy(text, bytes->bytes + sizeof kMark - 1, sizeof text - 1);
    left_out += strtoull(text, NULL, 10);
  } else {
    had[source->rank][channel == PMIX_FWD_STDERR_CHANNEL] += bytes->size;
  }
  size_t known = left_out;
  for (size_t i = 0; i < kRanks; ++i)
    known += had[i][0] + had[i][1];
  if (known >= awaited) sem_post(&there);
}

/* Without such a function libpmix 4.2 may wait for ever. */
static void answered(pmix_status_t status, void* what) {
  check(what, status);
  sem_post(&there);
}

static void pull(const char* bytes, int stop) {
  sem_init(&there, 0, 0);
  awaited = strtoull(bytes, NULL, 10);
  pmix_proc_t all;
  PMIX_PROC_LOAD(&all, job, PMIX_RANK_WILDCARD);
  const pmix_status_t handler = PMIx_IOF_pull(
      &all, 1, NULL, 0, PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL, copied, NULL, NULL);
  if (handler < 0) check("pull", handler);
  /* All nodes answer this, and have read earlier requests before. */
  pmix_info_t* found = ask(PMIX_QUERY_PROC_TABLE, NULL);
  PMIX_INFO_FREE(found, 1);
  printf("pulled\n");
  fflush(stdout);
  if (stop) raise(SIGSTOP);
  while (sem_wait(&there) != 0) {
  }
  for (size_t i = 0; i < kRanks; ++i)
    if (had[i][0] + had[i][1] > 0) printf("%zu: %zu %zu\n", i, had[i][0], had[i][1]);
  printf("left out: %zu\n", left_out);
  fflush(stdout);
  check("stop", PMIx_IOF_deregister((size_t)handler, NULL, 0, answered, "stop"));
  while (sem_wait(&there) != 0) {
  }
}

/* libpmix gives a tool an earlier event twice: when it connects, and when it registers. */
static char place[64];

static void heard(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t infos[],
                  size_t count, pmix_info_t* results, size_t results_count,
                  pmix_event_notification_cbfunc_fn_t done, void* data) {
  (void)id, (void)code, (void)source, (void)results, (void)results_count;
  for (size_t i = 0; i < count; ++i) {
    if (!PMIX_CHECK_KEY(&infos[i], PMIX_BREAKPOINT)) continue;
    if (place[0] == '\0') strncpy(place, infos[i].value.data.string, sizeof place - 1);
    sem_post(&there);
  }
  if (done != NULL) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void await_stopped(void) {
  pmix_status_t code = PMIX_READY_FOR_DEBUG;
  sem_init(&there, 0, 0);
  check("register", PMIx_Register_event_handler(&code, 1, NULL, 0, heard, NULL, NULL));
  while (sem_wait(&there) != 0) {
  }
  printf("%s\n", place);
}

static void push(void) {
  char text[] = "text";
  pmix_byte_object_t bytes = {text, sizeof text};
  pmix_proc_t target;
  PMIX_PROC_LOAD(&target, job, 0);
  sem_init(&there, 0, 0);
  check("push", PMIx_IOF_push(&target, 1, &bytes, NULL, 0, answered, "push"));
  while (sem_wait(&there) != 0) {
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  pmix_proc_t me;
  pid_t pid = atoi(argv[1]);
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
  check("attach", PMIx_tool_init(&me, &info, 1));
  pmix_info_t* found = ask(PMIX_QUERY_NAMESPACES, NULL);
  strncpy(job, found->value.data.string, PMIX_MAX_NSLEN);
  PMIX_INFO_FREE(found, 1);
  if (strcmp(argv[2], "table") == 0) table();
  if (strcmp(argv[2], "lookup") == 0 && argc > 3) look_up(argv[3]);
  if (strcmp(argv[2], "control") == 0 && argc > 4) control(argv[3], argv[4]);
  if (strcmp(argv[2], "event") == 0 && argc > 3) {
    check("event", PMIx_Notify_event(atoi(argv[3]), &me, PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL));
  }
  if (strcmp(argv[2], "stopped") == 0) await_stopped();
  if (strcmp(argv[2], "pull") == 0 && argc > 3) pull(argv[3], argc > 4);
  if (strcmp(argv[2], "push") == 0) push();
  check("finalize", PMIx_tool_finalize());
  return 0;
}
