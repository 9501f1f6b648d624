/* A client of libpmix that looks on: pmix_observer
   queries|events|death|signal|control|log|refused|stay

   queries: rank 0 asks for the namespaces, the table of processes of all nodes and of its own, the
   job, and an unknown key. events: rank 0 tells all ranks, then the last one alone, and each hears
   each event once. death: rank 1 dies, and all others hear of it. signal: rank 0 sends one to every
   rank. control: rank 0 pauses, continues and terminates the last. log: every rank has a line put
   among its output. refused: calls for allocation, credentials and other things that are not
   offered return. stay: waits until its standard input ends. */
#include "tests/interop/programs/pmix/pmix_checks.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { kToAll = PMIX_EXTERNAL_ERR_BASE - 7, kToOne = PMIX_EXTERNAL_ERR_BASE - 8 };

static int heard_all;
static int heard_one;
static int heard_death;
static pmix_proc_t last_source;
static pmix_proc_t affected;

/* Case queries. */

static pmix_status_t ask(const char* key, const char* namespace, pmix_info_t** found,
                         size_t* count) {
  pmix_query_t query;
  PMIX_QUERY_CONSTRUCT(&query);
  pmix_status_t status;
  PMIX_ARGV_APPEND(status, query.keys, key);
  PMIX_QUERY_QUALIFIERS_CREATE(&query, namespace == NULL ? 1 : 2);
  PMIX_INFO_LOAD(&query.qualifiers[0], PMIX_QUERY_REFRESH_CACHE, NULL, PMIX_BOOL);
  if (namespace != NULL) {
    PMIX_INFO_LOAD(&query.qualifiers[1], PMIX_NSPACE, namespace, PMIX_STRING);
  }
  status = PMIx_Query_info(&query, 1, found, count);
  PMIX_QUERY_DESTRUCT(&query);
  return status;
}

static pmix_info_t* one_answer(const char* key) {
  pmix_info_t* found = NULL;
  size_t count = 0;
  check(key, ask(key, NULL, &found, &count));
  expect("a query has one answer", count == 1 && found != NULL);
  return found;
}

static size_t table(const char* key) {
  pmix_info_t* found = one_answer(key);
  expect("the table is an array", found->value.type == PMIX_DATA_ARRAY);
  const pmix_data_array_t* array = found->value.data.darray;
  expect("of processes", array->type == PMIX_PROC_INFO);
  const pmix_proc_info_t* lines = array->array;
  for (size_t i = 0; i < array->size; ++i) {
    expect("each is of the job", strcmp(lines[i].proc.nspace, me.nspace) == 0);
    expect("runs somewhere", lines[i].pid > 0 && lines[i].hostname[0] != '\0');
    expect("runs this program", strstr(lines[i].executable_name, "pmix_observer") != NULL);
    expect("is connected", lines[i].state == PMIX_PROC_STATE_CONNECTED);
    if (lines[i].proc.rank == me.rank) expect("this one is known", lines[i].pid == getpid());
    if (i > 0) expect("they are in order", lines[i].proc.rank > lines[i - 1].proc.rank);
  }
  const size_t lines_count = array->size;
  PMIX_INFO_FREE(found, 1);
  return lines_count;
}

static void queries(void) {
  pmix_info_t* found = one_answer(PMIX_QUERY_NAMESPACES);
  expect("the namespace is ours", strcmp(found->value.data.string, me.nspace) == 0);
  PMIX_INFO_FREE(found, 1);
  expect("the table has all", table(PMIX_QUERY_PROC_TABLE) == size);
  found = one_answer(PMIX_JOB_SIZE);
  expect("the size is right", found->value.data.uint32 == size);
  PMIX_INFO_FREE(found, 1);
  found = one_answer(PMIX_QUERY_JOB_STATUS);
  expect("nothing has failed", found->value.data.status == PMIX_SUCCESS);
  PMIX_INFO_FREE(found, 1);
  found = one_answer(PMIX_QUERY_NAMESPACE_INFO);
  expect("one namespace", found->value.data.darray->size == 1);
  PMIX_INFO_FREE(found, 1);
  found = one_answer(PMIX_QUERY_SUPPORTED_KEYS);
  expect("keys are named", strstr(found->value.data.string, PMIX_QUERY_PROC_TABLE) != NULL);
  PMIX_INFO_FREE(found, 1);
  size_t count = 0;
  expect("nobody knows queues",
         ask(PMIX_QUERY_QUEUE_LIST, NULL, &found, &count) == PMIX_ERR_NOT_SUPPORTED);
  expect("nor other jobs",
         ask(PMIX_QUERY_PROC_TABLE, "another", &found, &count) == PMIX_ERR_NOT_FOUND);
  pmix_value_t* local = NULL;
  check("local size", PMIx_Get(&all, PMIX_LOCAL_SIZE, NULL, 0, &local));
  expect("the table of the node has its own",
         table(PMIX_QUERY_LOCAL_PROC_TABLE) == local->data.uint32);
  PMIX_VALUE_RELEASE(local);
}

/* Case events. */

static void on_event(size_t id, pmix_status_t code, const pmix_proc_t* source, pmix_info_t infos[],
                     size_t count, pmix_info_t* results, size_t results_count,
                     pmix_event_notification_cbfunc_fn_t done, void* data) {
  (void)id, (void)results, (void)results_count;
  pthread_mutex_lock(&lock);
  last_source = *source;
  if (code == kToAll) ++heard_all;
  if (code == kToOne) ++heard_one;
  if (code == PMIX_ERR_PROC_ABORTED) ++heard_death;
  for (size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&infos[i], PMIX_EVENT_AFFECTED_PROC)) affected = *infos[i].value.data.proc;
  }
  pthread_cond_broadcast(&news);
  pthread_mutex_unlock(&lock);
  if (done != NULL) done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void events(void) {
  pmix_status_t codes[] = {kToAll, kToOne};
  listen_to(codes, 2, on_event);
  fence();
  if (me.rank == 0) {
    check("tell all", PMIx_Notify_event(kToAll, &me, PMIX_RANGE_GLOBAL, NULL, 0, NULL, NULL));
    pmix_proc_t last = me;
    last.rank = size - 1;
    pmix_data_array_t array = {PMIX_PROC, 1, &last};
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
    check("tell one", PMIx_Notify_event(kToOne, &me, PMIX_RANGE_CUSTOM, &info, 1, NULL, NULL));
    PMIX_INFO_DESTRUCT(&info);
  }
  await(&heard_all, 1);
  expect("the source is rank 0", last_source.rank == 0);
  if (me.rank == size - 1) await(&heard_one, 1);
  fence();
  /* An event that came round in a circle would be here by the second time. */
  if (me.rank == size - 1) {
    heard_all = 0;
    check("tell all", PMIx_Notify_event(kToAll, &me, PMIX_RANGE_NAMESPACE, NULL, 0, NULL, NULL));
  }
  fence();
  pthread_mutex_lock(&lock);
  expect("each is heard once", heard_all <= 2);
  expect("one alone hears what is for it", heard_one == (me.rank == size - 1));
  pthread_mutex_unlock(&lock);
}

static void death(void) {
  pmix_status_t code = PMIX_ERR_PROC_ABORTED;
  listen_to(&code, 1, on_event);
  fence();
  if (me.rank == 1) raise(SIGKILL);
  await(&heard_death, 1);
  expect("rank 1 is named", affected.rank == 1);
  printf("rank %u heard that rank %u died\n", me.rank, affected.rank);
}

/* Case control. */

static pmix_status_t control(const pmix_proc_t* target, const char* key, const void* value,
                             pmix_data_type_t type) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, key, value, type);
  pmix_info_t* results = NULL;
  size_t count = 0;
  const pmix_status_t status = PMIx_Job_control(target, 1, &info, 1, &results, &count);
  PMIX_INFO_DESTRUCT(&info);
  return status;
}

/* The signal is blocked from the start, in all threads: see main(). */
static void signal_all(void) {
  const int signo = SIGUSR1;
  if (me.rank == 0) check("signal", control(&all, PMIX_JOB_CTRL_SIGNAL, &signo, PMIX_INT));
  sigset_t mask;
  int got = 0;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  sigwait(&mask, &got);
}

static void controls(void) {
  if (me.rank == 0) {
    const int bad = 4711;
    expect("a bad signal", control(&all, PMIX_JOB_CTRL_SIGNAL, &bad, PMIX_INT) != PMIX_SUCCESS);
    expect("a restart is not offered",
           control(&all, PMIX_JOB_CTRL_RESTART, "x", PMIX_STRING) == PMIX_ERR_NOT_SUPPORTED);
  }
  fence();
  pmix_proc_t last = me;
  last.rank = size - 1;
  if (me.rank == 0) {
    check("pause", control(&last, PMIX_JOB_CTRL_PAUSE, NULL, PMIX_BOOL));
    check("resume", control(&last, PMIX_JOB_CTRL_RESUME, NULL, PMIX_BOOL));
  }
  fence();
  if (me.rank == 0) check("terminate", control(&last, PMIX_JOB_CTRL_TERMINATE, NULL, PMIX_BOOL));
  while (me.rank == size - 1)
    pause();
}

static void log_line(void) {
  char text[64];
  snprintf(text, sizeof text, "logged by rank %u\n", me.rank);
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_LOG_STDOUT, text, PMIX_STRING);
  check("log", PMIx_Log(&info, 1, NULL, 0));
  PMIX_INFO_DESTRUCT(&info);
  PMIX_INFO_LOAD(&info, PMIX_LOG_EMAIL_MSG, text, PMIX_STRING);
  expect("mail is refused", PMIx_Log(&info, 1, NULL, 0) != PMIX_SUCCESS);
  PMIX_INFO_DESTRUCT(&info);
}

static void refused(void) {
  pmix_info_t* results = NULL;
  size_t count = 0;
  expect("an allocation is refused", PMIx_Allocation_request(PMIX_ALLOC_EXTEND, NULL, 0, &results,
                                                             &count) == PMIX_ERR_NOT_SUPPORTED);
  pmix_byte_object_t credential = {NULL, 0};
  const pmix_status_t status = PMIx_Get_credential(NULL, 0, &credential);
  if (me.rank == 0) printf("credential: %s\n", PMIx_Error_string(status));
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &mask, NULL);
  initialize();
  fence(); /* all are connected */
  if (strcmp(how, "queries") == 0) queries();
  if (strcmp(how, "events") == 0) events();
  if (strcmp(how, "death") == 0) death();
  if (strcmp(how, "signal") == 0) signal_all();
  if (strcmp(how, "control") == 0) controls();
  if (strcmp(how, "log") == 0) log_line();
  if (strcmp(how, "refused") == 0) refused();
  if (strcmp(how, "stay") == 0) {
    char line[64];
    if (me.rank == 0) printf("there\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL)
      continue;
  }
  /* No rank leaves before all have asked, unless a rank has died. */
  if (strcmp(how, "death") != 0 && strcmp(how, "control") != 0) fence();
  check("finalize", PMIx_Finalize(NULL, 0));
  if (me.rank == 0) printf("pmix %s: %u ranks ok\n", how, size);
  return 0;
}
