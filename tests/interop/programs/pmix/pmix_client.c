/* A client of libpmix, without MPI; the first argument says what it does:
 *   exchange  put, commit, a fence that collects, and a get of what every other rank has put
 *   large     as exchange, with 8 MiB of each
 *   direct    as exchange, with a fence that brings nothing along: each get asks the other's node
 *   publish   looks up what rank 0 publishes last; then names that are gone with the first look-up
 *   groups    makes groups of all and of every second rank, and gets what members have put
 *   spawn     each rank spawns two, connects with them, and gets what they have put
 *   early     each spawns one, and its data is asked for before it is there
 *   ahead     as early, but the rank that spawns it asks, and before it spawns
 *   unspawned asks for ranks that cannot be
 *   universe  rank 0 says its size
 *   topology  looks for the node's topology
 *   refused   connects two ranks; asks for what is not offered: every call must return
 *   places    says of every rank what the standard has a host say of it
 *   later     gets keys of a rank of another node, which puts them one after the other; and one
 *             that is never put
 *   control   tells what it is, and asks for nothing
 *   leave     rank 1 exits with 0 before the fence; die: by SIGKILL; abort: PMIx_Abort(9)
 *   crash     rank 1 ends its server by SIGSEGV
 *   absent    rank 1 exits with 3 before it initializes; the others fence twice */
#include "tests/interop/programs/pmix/pmix_checks.h"

#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static size_t card_length = 3000; /* of a value that a rank puts */

static pmix_status_t meet(bool collect) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  return PMIx_Fence(&all, 1, &info, 1);
}

static void fill(char* text, size_t length, uint32_t rank) {
  memset(text, 'a' + (int)(rank % 26), length - 1);
  text[length - 1] = '\0';
}

static void exchange(bool collect) {
  static char card[8 << 20];
  fill(card, card_length, me.rank);
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, card, PMIX_STRING);
  check("put", PMIx_Put(PMIX_GLOBAL, "card", &value));
  PMIX_VALUE_DESTRUCT(&value);
  check("commit", PMIx_Commit());
  check("fence", meet(collect));
  for (uint32_t rank = 0; rank < size; ++rank) {
    pmix_proc_t other = me;
    other.rank = rank;
    pmix_value_t* got = NULL;
    check("get", PMIx_Get(&other, "card", NULL, 0, &got));
    fill(card, card_length, rank);
    if (got->type != PMIX_STRING || strcmp(got->data.string, card) != 0) {
      printf("rank %u: the card of rank %u is another\n", me.rank, rank);
    }
    PMIX_VALUE_RELEASE(got);
  }
}

static void publish_one(const char* name, const char* text, pmix_persistence_t persistence) {
  pmix_info_t info[2];
  PMIX_INFO_LOAD(&info[0], name, text, PMIX_STRING);
  PMIX_INFO_LOAD(&info[1], PMIX_PERSISTENCE, &persistence, PMIX_PERSIST);
  check("publish", PMIx_Publish(info, 2));
}

static pmix_status_t look_up(const char* name, bool wait, char* text) {
  pmix_pdata_t found;
  memset(&found, 0, sizeof found);
  strncpy(found.key, name, PMIX_MAX_KEYLEN);
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_WAIT, &wait, PMIX_BOOL);
  const pmix_status_t status = PMIx_Lookup(&found, 1, &info, 1);
  if (status == PMIX_SUCCESS) strcpy(text, found.value.data.string);
  return status;
}

static void publish(void) {
  char text[64] = "";
  if (me.rank == 0) {
    if (look_up("port", false, text) == PMIX_SUCCESS) printf("a name is there before its time\n");
    /* The other ranks may already wait by now, or not. */
    publish_one("port", "here", PMIX_PERSIST_SESSION);
  } else {
    check("look up and wait", look_up("port", true, text));
    if (strcmp(text, "here") != 0) printf("rank %u found '%s'\n", me.rank, text);
  }
  check("fence", meet(false));
  if (me.rank == 0) publish_one("once", "first", PMIX_PERSIST_FIRST_READ);
  check("fence", meet(false));
  if (me.rank == size - 1) {
    check("look up once", look_up("once", true, text));
    if (look_up("once", false, text) != PMIX_ERR_NOT_FOUND) printf("read twice\n");
  }
  check("fence", meet(false));
  if (me.rank == 0) {
    char* names[] = {"port", NULL};
    check("unpublish", PMIx_Unpublish(names, NULL, 0));
    if (look_up("port", false, text) != PMIX_ERR_NOT_FOUND) printf("it is still there\n");
  }
}

static void refuse(const char* what, pmix_status_t status) {
  if (status == PMIX_SUCCESS) printf("rank %u: %s was done\n", me.rank, what);
}

static void refused(void) {
  pmix_info_t* results = NULL;
  size_t count = 0;
  refuse("allocate", PMIx_Allocation_request(PMIX_ALLOC_NEW, NULL, 0, &results, &count));
  refuse("control", PMIx_Job_control(&all, 1, NULL, 0, &results, &count));
  pmix_proc_t both[2];
  both[0] = me;
  both[0].rank = 0;
  both[1] = me;
  both[1].rank = size - 1;
  if (me.rank == 0 || me.rank == size - 1) {
    check("connect", PMIx_Connect(both, 2, NULL, 0));
    check("disconnect", PMIx_Disconnect(both, 2, NULL, 0));
  }
  check("fence", meet(false));
}

/* Makes a group of every `step`-th rank from `first` on. Returns its context id. */
static size_t make_group(const char* name, uint32_t first, uint32_t step) {
  pmix_proc_t members[64];
  size_t count = 0;
  for (uint32_t rank = first; rank < size; rank += step, ++count) {
    members[count] = me;
    members[count].rank = rank;
  }
  pmix_info_t wanted;
  PMIX_INFO_LOAD(&wanted, PMIX_GROUP_ASSIGN_CONTEXT_ID, NULL, PMIX_BOOL);
  pmix_info_t* results = NULL;
  size_t found = 0;
  check("construct", PMIx_Group_construct(name, members, count, &wanted, 1, &results, &found));
  for (size_t i = 0; i < found; ++i)
    if (PMIX_CHECK_KEY(&results[i], PMIX_GROUP_CONTEXT_ID)) return results[i].value.data.size;
  printf("rank %u: group %s has no context id\n", me.rank, name);
  return 0;
}

static void dissolve(const char* name) {
  check("destruct", PMIx_Group_destruct(name, NULL, 0));
}

/* Members of one group have the same context id, and no two groups have. */
static void compare_contexts(size_t everybody, size_t some, size_t again) {
  char own[128];
  char expected[128];
  if (everybody == some || some == again || again == everybody)
    printf("rank %u: an id twice\n", me.rank);
  snprintf(own, sizeof own, "%zu %zu %zu", everybody, some, again);
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, own, PMIX_STRING);
  check("put", PMIx_Put(PMIX_GLOBAL, "contexts", &value));
  PMIX_VALUE_DESTRUCT(&value);
  check("commit", PMIx_Commit());
  check("fence", meet(true));
  for (uint32_t rank = 0; rank < size; ++rank) {
    pmix_proc_t other = me;
    other.rank = rank;
    pmix_value_t* got = NULL;
    check("get", PMIx_Get(&other, "contexts", NULL, 0, &got));
    size_t theirs[3];
    if (sscanf(got->data.string, "%zu %zu %zu", &theirs[0], &theirs[1], &theirs[2]) != 3)
      theirs[0] = 0;
    const bool same = rank % 2 == me.rank % 2;
    snprintf(expected, sizeof expected, "%zu %zu %zu", everybody, same ? some : theirs[1],
             same ? again : theirs[2]);
    const bool apart = same || (theirs[1] != some && theirs[2] != again && theirs[1] != again);
    if (strcmp(got->data.string, expected) != 0 || !apart)
      printf("rank %u: contexts %s, and of rank %u %s\n", me.rank, own, rank, got->data.string);
    PMIX_VALUE_RELEASE(got);
  }
}

/* Makes a group of all ranks, and then twice one of every second rank. Without a fence, members
   get what others have put. */
static void groups(void) {
  pmix_value_t value;
  value.type = PMIX_UINT32;
  value.data.uint32 = me.rank * 3;
  check("put", PMIx_Put(PMIX_GLOBAL, "number", &value));
  check("commit", PMIx_Commit());
  const size_t everybody = make_group("everybody", 0, 1);
  for (uint32_t rank = 0; rank < size; ++rank) {
    pmix_proc_t other = me;
    other.rank = rank;
    pmix_info_t now;
    PMIX_INFO_LOAD(&now, PMIX_IMMEDIATE, NULL, PMIX_BOOL);
    pmix_value_t* got = NULL;
    check("get", PMIx_Get(&other, "number", &now, 1, &got));
    if (got->data.uint32 != rank * 3)
      printf("rank %u: the number of %u is another\n", me.rank, rank);
    PMIX_VALUE_RELEASE(got);
  }
  const size_t some = make_group(me.rank % 2 == 0 ? "even" : "odd", me.rank % 2, 2);
  pmix_proc_t group;
  PMIX_LOAD_PROCID(&group, me.rank % 2 == 0 ? "even" : "odd", PMIX_RANK_WILDCARD);
  check("fence of a group", PMIx_Fence(&group, 1, NULL, 0));
  dissolve(me.rank % 2 == 0 ? "even" : "odd");
  const size_t again = make_group(me.rank % 2 == 0 ? "even" : "odd", me.rank % 2, 2);
  dissolve(me.rank % 2 == 0 ? "even" : "odd");
  dissolve("everybody");
  compare_contexts(everybody, some, again);
}

/* Each rank spawns one, which finds its parent and what it has put, connects with it, and puts
   something for it. */
static void spawn(const char* program) {
  char mark[32];
  pmix_value_t value;
  snprintf(mark, sizeof mark, "of %u", me.rank);
  PMIX_VALUE_LOAD(&value, mark, PMIX_STRING);
  check("put", PMIx_Put(PMIX_GLOBAL, "parent", &value));
  PMIX_VALUE_DESTRUCT(&value);
  check("commit", PMIx_Commit());
  pmix_app_t app;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = strdup(program);
  app.argv = calloc(3, sizeof *app.argv);
  app.argv[0] = strdup(program);
  app.argv[1] = strdup("spawned");
  app.env = calloc(2, sizeof *app.env);
  app.env[0] = malloc(64);
  snprintf(app.env[0], 64, "MARK=%s", mark);
  app.cwd = strdup("/usr");
  app.maxprocs = 2;
  pmix_proc_t both[2] = {me, all};
  check("spawn", PMIx_Spawn(NULL, 0, &app, 1, both[1].nspace));
  PMIX_APP_DESTRUCT(&app);
  check("connect", PMIx_Connect(both, 2, NULL, 0));
  for (uint32_t rank = 0; rank < 2; ++rank) {
    pmix_proc_t child = both[1];
    pmix_value_t* got = NULL;
    child.rank = rank;
    check("get of a child", PMIx_Get(&child, "card", NULL, 0, &got));
    if (strcmp(got->data.string, mark) != 0) printf("a child has put '%s'\n", got->data.string);
    PMIX_VALUE_RELEASE(got);
  }
  check("disconnect", PMIx_Disconnect(both, 2, NULL, 0));
}

static void spawned(void) {
  pmix_proc_t both[2];
  pmix_value_t* got = NULL;
  check("get the parent", PMIx_Get(&all, PMIX_PARENT_ID, NULL, 0, &got));
  both[0] = *got->data.proc;
  both[1] = all;
  PMIX_VALUE_RELEASE(got);
  check("get of the parent", PMIx_Get(&both[0], "parent", NULL, 0, &got));
  const char* mark = getenv("MARK");
  if (mark == NULL || strcmp(got->data.string, mark) != 0) printf("the mark is not the parent's\n");
  check("put", PMIx_Put(PMIX_GLOBAL, "card", got));
  check("commit", PMIx_Commit());
  PMIX_VALUE_RELEASE(got);
  char where[64] = "";
  if (strcmp(getcwd(where, sizeof where), "/usr") != 0) printf("a child runs in %s\n", where);
  check("fence", meet(true));
  check("connect", PMIx_Connect(both, 2, NULL, 0));
  check("disconnect", PMIx_Disconnect(both, 2, NULL, 0));
}

/* The last rank asks for what a rank has put that the first one has still to spawn. */
static void early(const char* program) {
  if (me.rank == 0) {
    pmix_app_t app;
    pmix_nspace_t nspace;
    PMIX_APP_CONSTRUCT(&app);
    app.cmd = strdup(program);
    app.argv = calloc(3, sizeof *app.argv);
    app.argv[0] = strdup(program);
    app.argv[1] = strdup("late");
    app.maxprocs = 1;
    check("spawn", PMIx_Spawn(NULL, 0, &app, 1, nspace));
    PMIX_APP_DESTRUCT(&app);
  }
  if (me.rank == size - 1) {
    pmix_proc_t child;
    pmix_value_t* got = NULL;
    PMIX_PROC_CONSTRUCT(&child);
    snprintf(child.nspace, sizeof child.nspace, "%.200s.1", me.nspace);
    check("get", PMIx_Get(&child, "card", NULL, 0, &got));
    if (strcmp(got->data.string, "late") != 0) printf("the child has put '%s'\n", got->data.string);
    PMIX_VALUE_RELEASE(got);
    publish_one("read", "yes", PMIX_PERSIST_SESSION);
  }
}

static sem_t answered;

static void heard(pmix_status_t status, pmix_value_t* value, void* data) {
  (void)data;
  check("get of a rank to come", status);
  if (strcmp(value->data.string, "late") != 0)
    printf("the child has put '%s'\n", value->data.string);
  sem_post(&answered);
}

/* Rank 0 spawns on all nodes while it waits for what the last of the new ranks, elsewhere, will
 * put. */
static void ahead(const char* program) {
  if (me.rank != 0) return;
  pmix_app_t app;
  pmix_nspace_t nspace;
  pmix_proc_t child;
  sem_init(&answered, 0, 0);
  PMIX_PROC_CONSTRUCT(&child);
  snprintf(child.nspace, sizeof child.nspace, "%.200s.1", me.nspace);
  child.rank = 3;
  check("get ahead", PMIx_Get_nb(&child, "card", NULL, 0, heard, NULL));
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = strdup(program);
  app.argv = calloc(3, sizeof *app.argv);
  app.argv[0] = strdup(program);
  app.argv[1] = strdup("late");
  app.maxprocs = 4;
  check("spawn", PMIx_Spawn(NULL, 0, &app, 1, nspace));
  PMIX_APP_DESTRUCT(&app);
  while (sem_wait(&answered) != 0) {
  }
  publish_one("read", "yes", PMIX_PERSIST_SESSION);
}

static void late(void) {
  char text[64] = "";
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, "late", PMIX_STRING);
  check("put", PMIx_Put(PMIX_GLOBAL, "card", &value));
  PMIX_VALUE_DESTRUCT(&value);
  check("commit", PMIx_Commit());
  check("look up", look_up("read", true, text));
}

/* A spawn that cannot be is an error, and does nothing else. */
static void unspawned(void) {
  pmix_app_t app;
  pmix_nspace_t nspace;
  pmix_info_t info;
  PMIX_APP_CONSTRUCT(&app);
  app.cmd = strdup("no-such-program");
  app.maxprocs = 2;
  const pmix_status_t missing = PMIx_Spawn(NULL, 0, &app, 1, nspace);
  if (missing != PMIX_ERR_JOB_FAILED_TO_LAUNCH) printf("%s\n", PMIx_Error_string(missing));
  free(app.cmd);
  app.cmd = strdup("true");
  PMIX_INFO_LOAD(&info, PMIX_HOST, "no-such-host", PMIX_STRING);
  const pmix_status_t nowhere = PMIx_Spawn(&info, 1, &app, 1, nspace);
  if (nowhere != PMIX_ERR_JOB_FAILED_TO_LAUNCH) printf("%s\n", PMIx_Error_string(nowhere));
  PMIX_INFO_LOAD(&info, PMIX_PREFIX, "/somewhere", PMIX_STRING);
  PMIX_INFO_REQUIRED(&info);
  const pmix_status_t demanded = PMIx_Spawn(&info, 1, &app, 1, nspace);
  if (demanded != PMIX_ERR_NOT_SUPPORTED) printf("%s\n", PMIx_Error_string(demanded));
}

static void universe(void) {
  pmix_value_t* value = NULL;
  const pmix_status_t status = PMIx_Get(&all, PMIX_UNIV_SIZE, NULL, 0, &value);
  if (me.rank == 0 && status != PMIX_SUCCESS) printf("universe: %s\n", PMIx_Error_string(status));
  if (me.rank == 0 && status == PMIX_SUCCESS) printf("universe: %u\n", value->data.uint32);
  if (status == PMIX_SUCCESS) PMIX_VALUE_RELEASE(value);
}

/* Looks for the node's topology, which its server has found out for all ranks. */
static void topology(void) {
  pmix_value_t* value = NULL;
  check("get the topology", PMIx_Get(&all, "pmix.hwlocfile", NULL, 0, &value));
  if (access(value->data.string, R_OK) != 0)
    printf("rank %u: there is no %s\n", me.rank, value->data.string);
  PMIX_VALUE_RELEASE(value);
}

/* Ends the node's server, and waits for what becomes of this rank. */
static void crash_server(void) {
  char command[64];
  snprintf(command, sizeof command, "pkill -SEGV -x scela-pmix -P %d", (int)getppid());
  if (system(command) != 0) printf("no server found\n");
  for (;;)
    pause();
}

static long number_of(uint32_t rank, const char* key) {
  pmix_proc_t one = me;
  one.rank = rank;
  pmix_value_t* got = NULL;
  if (PMIx_Get(&one, key, NULL, 0, &got) != PMIX_SUCCESS) return -1;
  long number = -2;
  if (got->type == PMIX_UINT16) number = got->data.uint16;
  if (got->type == PMIX_UINT32) number = (long)got->data.uint32;
  if (got->type == PMIX_PROC_RANK) number = (long)got->data.rank;
  PMIX_VALUE_RELEASE(got);
  return number;
}

static void places(void) {
  for (uint32_t rank = 0; rank < size; ++rank) {
    printf(
        "to %u rank %u: node %ld, %ld of it, %ld of the job on it, program %ld, %ld of it, %ld of "
        "all\n",
        me.rank, rank, number_of(rank, PMIX_NODEID), number_of(rank, PMIX_LOCAL_RANK),
        number_of(rank, PMIX_NODE_RANK), number_of(rank, PMIX_APPNUM),
        number_of(rank, PMIX_APP_RANK), number_of(rank, PMIX_GLOBAL_RANK));
    if (number_of(rank, PMIX_NODEID) != number_of(me.rank, PMIX_NODEID) &&
        number_of(rank, PMIX_LOCALITY) != PMIX_LOCALITY_NONLOCAL)
      printf("rank %u is not elsewhere\n", rank);
  }
}

static void put_one(const char* key, const char* text) {
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, text, PMIX_STRING);
  check("put", PMIx_Put(PMIX_GLOBAL, key, &value));
  PMIX_VALUE_DESTRUCT(&value);
  check("commit", PMIx_Commit());
}

static void get_one(const char* key, const char* text) {
  pmix_proc_t first = me;
  first.rank = 0;
  pmix_value_t* got = NULL;
  check(key, PMIx_Get(&first, key, NULL, 0, &got));
  if (got->type != PMIX_STRING || strcmp(got->data.string, text) != 0)
    printf("'%s' is another\n", key);
  PMIX_VALUE_RELEASE(got);
}

/* Rank 0 is on another node than the last. Each puts what the other waits for. */
static void later(void) {
  if (me.rank == 0) {
    put_one("first", "1");
    pmix_proc_t last = me;
    last.rank = size - 1;
    pmix_value_t* got = NULL;
    check("get the word", PMIx_Get(&last, "go on", NULL, 0, &got));
    PMIX_VALUE_RELEASE(got);
    put_one("second", "2");
    put_one("third", "3");
  } else if (me.rank == size - 1) {
    get_one("first", "1");
    /* A get does not wait for a missing value if it says so, and never longer than it says. */
    pmix_proc_t first = me;
    first.rank = 0;
    pmix_value_t* got = NULL;
    const int limit = 1;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_TIMEOUT, &limit, PMIX_INT);
    const pmix_status_t status = PMIx_Get(&first, "second", &info, 1, &got);
    if (status != PMIX_ERR_TIMEOUT) printf("not yet there: %s\n", PMIx_Error_string(status));
    put_one("go on", "now");
    get_one("third", "3");
    get_one("second", "2");
  }
  check("fence", meet(false));
}

static void control(void) {
  pmix_info_t info;
  const bool yes = true;
  PMIX_INFO_LOAD(&info, PMIX_JOB_CTRL_PREEMPTIBLE, &yes, PMIX_BOOL);
  pmix_info_t* results = NULL;
  size_t count = 0;
  check("information", PMIx_Job_control(&me, 1, &info, 1, &results, &count));
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  const char* given = getenv("SCELA_RANK");
  if (strcmp(how, "absent") == 0 && given != NULL && strcmp(given, "1") == 0) _exit(3);
  initialize();
  if (strcmp(how, "exchange") == 0) exchange(true);
  if (strcmp(how, "large") == 0) {
    card_length = 8 << 20;
    exchange(true);
  }
  if (strcmp(how, "universe") == 0) universe();
  if (strcmp(how, "topology") == 0) topology();
  if (strcmp(how, "direct") == 0) exchange(false);
  if (strcmp(how, "places") == 0) places();
  if (strcmp(how, "later") == 0) later();
  if (strcmp(how, "control") == 0) control();
  if (strcmp(how, "publish") == 0) publish();
  if (strcmp(how, "groups") == 0) groups();
  if (strcmp(how, "refused") == 0) refused();
  if (strcmp(how, "spawn") == 0) spawn(argv[0]);
  if (strcmp(how, "unspawned") == 0 && me.rank == 0) unspawned();
  if (strcmp(how, "early") == 0) early(argv[0]);
  if (strcmp(how, "ahead") == 0) ahead(argv[0]);
  if (strcmp(how, "spawned") == 0 || strcmp(how, "late") == 0) {
    if (strcmp(how, "late") == 0) late();
    if (strcmp(how, "spawned") == 0) spawned();
    check("finalize", PMIx_Finalize(NULL, 0));
    return 0;
  }
  if (me.rank == 1 && strcmp(how, "leave") == 0) _exit(0);
  if (me.rank == 1 && strcmp(how, "die") == 0) raise(SIGKILL);
  if (me.rank == 1 && strcmp(how, "abort") == 0) PMIx_Abort(9, "no more of this", NULL, 0);
  if (me.rank == 1 && strcmp(how, "crash") == 0) crash_server();
  if (strcmp(how, "leave") == 0 || strcmp(how, "die") == 0 || strcmp(how, "abort") == 0 ||
      strcmp(how, "crash") == 0 || strcmp(how, "absent") == 0) {
    /* The second one begins when the first is known to be missing a rank. */
    if (strcmp(how, "absent") == 0 && meet(false) == PMIX_SUCCESS) printf("a fence passed\n");
    const pmix_status_t status = meet(false);
    if (status != PMIX_SUCCESS) printf("rank %u: the fence failed\n", me.rank);
  } else {
    check("last fence", meet(false));
  }
  check("finalize", PMIx_Finalize(NULL, 0));
  if (me.rank == 0) printf("pmix %s: %u ranks ok\n", how, size);
  return 0;
}
