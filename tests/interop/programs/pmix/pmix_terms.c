/* A client of libpmix that says on which terms it asks; the first argument says what:
 *   timeouts  rank 0 waits for what comes later, for a second: a name, a value, a fence, connect
 *             and a group, each with another node; then it comes, and nothing is broken
 *   local     as timeouts, for a fence with a rank of the same node, which libpmix counts itself
 *   several   several names at once, some of which are not there; those for one read are given
 *   ranges    names for this rank, node and job; names that go when their publisher ends
 *   invite    rank 0 invites all to a group; the others accept */
#include "tests/interop/programs/pmix/pmix_checks.h"

#include <stdlib.h>
#include <string.h>

static void expect_status(const char* what, pmix_status_t status, pmix_status_t expected) {
  if (status != expected) printf("rank %u: %s: %s\n", me.rank, what, PMIx_Error_string(status));
}

static void publish(const char* name, const char* text, pmix_data_range_t range,
                    pmix_persistence_t persistence) {
  pmix_info_t info[3];
  PMIX_INFO_LOAD(&info[0], name, text, PMIX_STRING);
  PMIX_INFO_LOAD(&info[1], PMIX_RANGE, &range, PMIX_DATA_RANGE);
  PMIX_INFO_LOAD(&info[2], PMIX_PERSISTENCE, &persistence, PMIX_PERSIST);
  check(name, PMIx_Publish(info, 3));
}

/* Looks a name up with the range of its publisher. Waits for so many seconds; 0: not at all. */
static pmix_status_t look_up(const char* name, pmix_data_range_t range, int seconds, char* text) {
  pmix_pdata_t found;
  memset(&found, 0, sizeof found);
  strncpy(found.key, name, PMIX_MAX_KEYLEN);
  pmix_info_t info[3];
  const bool wait = seconds > 0;
  PMIX_INFO_LOAD(&info[0], PMIX_RANGE, &range, PMIX_DATA_RANGE);
  PMIX_INFO_LOAD(&info[1], PMIX_WAIT, &wait, PMIX_BOOL);
  PMIX_INFO_LOAD(&info[2], PMIX_TIMEOUT, &seconds, PMIX_INT);
  const pmix_status_t status = PMIx_Lookup(&found, 1, info, 3);
  if (status == PMIX_SUCCESS) strcpy(text, found.value.data.string);
  return status;
}

/* Rank 0 of the first node waits in vain for the last rank, on another node, which begins when it
   is told. The calls that both make then succeed. */
static void timeouts(void) {
  const int second = 1;
  const uint32_t last = size - 1;
  char text[64];
  pmix_info_t limit;
  pmix_proc_t both[2] = {me, me};
  pmix_info_t* results = NULL;
  size_t found = 0;
  PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &second, PMIX_INT);
  both[0].rank = 0;
  both[1].rank = last;
  if (me.rank == 0) {
    pmix_value_t* value = NULL;
    expect_status("look up", look_up("never", PMIX_RANGE_SESSION, 1, text), PMIX_ERR_TIMEOUT);
    expect_status("get", PMIx_Get(&both[1], "card", &limit, 1, &value), PMIX_ERR_TIMEOUT);
    expect_status("fence", PMIx_Fence(both, 2, &limit, 1), PMIX_ERR_TIMEOUT);
    expect_status("connect", PMIx_Connect(both, 2, &limit, 1), PMIX_ERR_TIMEOUT);
    expect_status("group", PMIx_Group_construct("late", both, 2, &limit, 1, &results, &found),
                  PMIX_ERR_TIMEOUT);
    publish("go", "on", PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION);
    check("get", PMIx_Get(&both[1], "card", NULL, 0, &value));
    if (value->type != PMIX_UINT32 || value->data.uint32 != 7) printf("another card\n");
    PMIX_VALUE_RELEASE(value);
  } else if (me.rank == last) {
    pmix_value_t value;
    check("look up", look_up("go", PMIX_RANGE_SESSION, 60, text));
    value.type = PMIX_UINT32;
    value.data.uint32 = 7;
    check("put", PMIx_Put(PMIX_GLOBAL, "card", &value));
    check("commit", PMIx_Commit());
    /* The rank that has given up is there, all the same. */
    expect_status("late fence", PMIx_Fence(both, 2, NULL, 0), PMIX_SUCCESS);
    expect_status("late connect", PMIx_Connect(both, 2, NULL, 0), PMIX_SUCCESS);
  }
  fence();
  if (me.rank == 0 || me.rank == last) {
    check("connect", PMIx_Connect(both, 2, &limit, 1));
    check("disconnect", PMIx_Disconnect(both, 2, &limit, 1));
  }
  fence();
}

/* If a fence ends before all ranks of its node have come, libpmix keeps nothing of it: a late rank
   waits for the next fence of those that gave up. This is for two ranks. */
static void local(void) {
  const int second = 1;
  char text[64];
  pmix_info_t limit;
  PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &second, PMIX_INT);
  if (me.rank == 0) {
    expect_status("fence", PMIx_Fence(&all, 1, &limit, 1), PMIX_ERR_TIMEOUT);
    publish("go", "on", PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION);
    check("look up", look_up("late", PMIX_RANGE_SESSION, 60, text));
    publish("again", "here", PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION);
    fence();
  } else {
    check("look up", look_up("go", PMIX_RANGE_SESSION, 60, text));
    publish("late", "here", PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION);
    fence();
    expect_status("passed without the other", look_up("again", PMIX_RANGE_SESSION, 0, text),
                  PMIX_SUCCESS);
  }
  fence();
}

static void expect_found(const char* what, const pmix_pdata_t* found, const char* expected) {
  const char* text = found->value.type == PMIX_STRING ? found->value.data.string : "nothing";
  if (strcmp(text, expected) != 0) printf("rank %u: %s is '%s'\n", me.rank, what, text);
}

static void several(void) {
  char text[64];
  if (me.rank == 0) {
    publish("here", "stays", PMIX_RANGE_SESSION, PMIX_PERSIST_SESSION);
    publish("once", "goes", PMIX_RANGE_SESSION, PMIX_PERSIST_FIRST_READ);
  }
  fence();
  if (me.rank == size - 1) {
    pmix_pdata_t found[3];
    memset(found, 0, sizeof found);
    strcpy(found[0].key, "missing");
    strcpy(found[1].key, "once");
    strcpy(found[2].key, "here");
    expect_status("look up", PMIx_Lookup(found, 3, NULL, 0), PMIX_SUCCESS);
    expect_found("missing", &found[0], "nothing");
    expect_found("once", &found[1], "goes");
    expect_found("here", &found[2], "stays");
    expect_status("once more", look_up("once", PMIX_RANGE_SESSION, 0, text), PMIX_ERR_NOT_FOUND);
    const int second = 1;
    const bool wait = true;
    pmix_info_t terms[2];
    PMIX_INFO_LOAD(&terms[0], PMIX_WAIT, &wait, PMIX_BOOL);
    PMIX_INFO_LOAD(&terms[1], PMIX_TIMEOUT, &second, PMIX_INT);
    memset(found, 0, sizeof found);
    strcpy(found[0].key, "here");
    strcpy(found[1].key, "missing");
    expect_status("wait", PMIx_Lookup(found, 2, terms, 2), PMIX_SUCCESS);
    expect_found("here", &found[0], "stays");
    expect_found("missing", &found[1], "nothing");
  }
  fence();
}

static void expect_text(const char* name, pmix_data_range_t range, const char* expected) {
  char text[64] = "";
  const pmix_status_t status = look_up(name, range, 0, text);
  if (status != PMIX_SUCCESS) strcpy(text, PMIx_Error_string(status));
  if (strcmp(text, expected) != 0) printf("rank %u: %s is '%s'\n", me.rank, name, text);
}

/* This is for two ranks to a node. */
static void ranges(void) {
  char own[64];
  char node[64];
  snprintf(own, sizeof own, "rank %u", me.rank);
  snprintf(node, sizeof node, "node %u", me.rank / 2);
  publish("name", own, PMIX_RANGE_PROC_LOCAL, PMIX_PERSIST_SESSION);
  if (me.rank % 2 == 0) publish("where", node, PMIX_RANGE_LOCAL, PMIX_PERSIST_SESSION);
  if (me.rank == 0) publish("where", "job", PMIX_RANGE_GLOBAL, PMIX_PERSIST_SESSION);
  if (me.rank == 0) publish("space", "ours", PMIX_RANGE_NAMESPACE, PMIX_PERSIST_APP);
  if (me.rank == size - 1) publish("mine", "still", PMIX_RANGE_SESSION, PMIX_PERSIST_PROC);
  fence();
  expect_text("name", PMIX_RANGE_SESSION, own);
  expect_text("where", PMIX_RANGE_SESSION, node);
  expect_text("space", PMIX_RANGE_NAMESPACE, "ours");
  expect_text("space", PMIX_RANGE_LOCAL, me.rank < 2 ? "ours" : "NOT-FOUND");
  expect_text("where", PMIX_RANGE_PROC_LOCAL, me.rank % 2 == 0 ? node : "NOT-FOUND");
  expect_text("where", PMIX_RANGE_CUSTOM, "NOT-SUPPORTED");
  expect_text("mine", PMIX_RANGE_SESSION, "still");
  fence();
  char text[64];
  /* The loop ends when the last rank has ended, or the test's time is over. */
  while (me.rank == 0 && look_up("mine", PMIX_RANGE_SESSION, 0, text) == PMIX_SUCCESS)
    usleep(1000);
}

static int invited;
static int complete;

static void on_event(size_t handler, pmix_status_t status, const pmix_proc_t* source,
                     pmix_info_t info[], size_t count, pmix_info_t* results, size_t result_count,
                     pmix_event_notification_cbfunc_fn_t done, void* data) {
  (void)handler, (void)source, (void)info, (void)count, (void)results, (void)result_count;
  pthread_mutex_lock(&lock);
  *(status == PMIX_GROUP_INVITED ? &invited : &complete) = 1;
  pthread_cond_broadcast(&news);
  pthread_mutex_unlock(&lock);
  done(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void invite(void) {
  pmix_status_t codes[] = {PMIX_GROUP_INVITED, PMIX_GROUP_CONSTRUCT_COMPLETE};
  if (me.rank > 0) listen_to(codes, 2, on_event);
  fence();
  pmix_info_t* results = NULL;
  size_t count = 0;
  if (me.rank == 0) {
    pmix_proc_t members[64];
    for (uint32_t rank = 0; rank < size; ++rank) {
      members[rank] = me;
      members[rank].rank = rank;
    }
    check("invite", PMIx_Group_invite("party", members, size, NULL, 0, &results, &count));
  } else {
    pmix_proc_t leader = me;
    leader.rank = 0;
    await(&invited, 1);
    check("join", PMIx_Group_join("party", &leader, PMIX_GROUP_ACCEPT, NULL, 0, &results, &count));
    await(&complete, 1);
  }
  pmix_proc_t party;
  PMIX_LOAD_PROCID(&party, "party", PMIX_RANK_WILDCARD);
  fence(); /* every server knows the group */
  check("fence of the group", PMIx_Fence(&party, 1, NULL, 0));
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  initialize();
  if (strcmp(how, "timeouts") == 0) timeouts();
  if (strcmp(how, "local") == 0) local();
  if (strcmp(how, "several") == 0) several();
  if (strcmp(how, "ranges") == 0) ranges();
  if (strcmp(how, "invite") == 0) invite();
  check("finalize", PMIx_Finalize(NULL, 0));
  if (me.rank == 0) printf("pmix %s: %u ranks ok\n", how, size);
  return 0;
}
