/* A tool that comes to a job from outside: pmix_tool PID table|lookup|event|control...

   PID is that of the job's scela-pmix on this machine. table: a line for each process of the job.
   lookup NAME: what is published under it. event CODE: tells all ranks. control RANK SIGNAL. */
#include <pmix.h>
#include <pmix_tool.h>
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
  check("finalize", PMIx_tool_finalize());
  return 0;
}
