// Waits for something of the adapter in one of the ways in which programs do, and says when it
// hears that it will not come: verbs_waiter HOW
//
//   busy      sends to itself, and polls
//   polls     polls for what never comes; such polls sleep
//   event     sleeps until a completion event
//   async     sleeps until an asynchronous event
//   asks      makes and destroys completion queues
//   peer      polls, connected to one that is told of
//   remote    sends to one that is told of
//
// Prints where it is, reads where it is to connect to (HOW peer and remote; the others, to
// themselves), prints "waits" and, when it was told that the engine is gone, "HOW ns WORDS".
#include "tests/interop/programs/verbs/verbs_steps.h"

static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_cq* cq;
static struct ibv_qp* qp;
static struct ibv_mr* mr;
static char buffer[4096];

static void say_waits(void) {
  puts("waits");
  fflush(stdout);
}
_Noreturn static void say_heard(const char* how, const char* words) {
  printf("%s %" PRIu64 " %s\n", how, now_ns(), words);
  fflush(stdout);
  exit(0);
}

static int post_receive(void) {
  struct ibv_sge part = {(uintptr_t)buffer, 64, mr->lkey};
  struct ibv_recv_wr request = {.sg_list = &part, .num_sge = 1}, *bad = NULL;
  return ibv_post_recv(qp, &request, &bad);
}
static int post_send(void) {
  struct ibv_sge part = {(uintptr_t)buffer + 64, 64, mr->lkey};
  struct ibv_send_wr request = {.sg_list = &part,
                                .num_sge = 1,
                                .opcode = IBV_WR_SEND,
                                .send_flags = IBV_SEND_SIGNALED},
                     *bad = NULL;
  return ibv_post_send(qp, &request, &bad);
}

// Polls until a completion has failed. Those that come meanwhile make room for more.
static void poll_failure(const char* how) {
  for (;;) {
    struct ibv_wc completion;
    const int count = ibv_poll_cq(cq, 1, &completion);
    if (count < 0) say_heard(how, "a poll that fails");
    if (count == 1 && completion.status != IBV_WC_SUCCESS)
      say_heard(how, ibv_wc_status_str(completion.status));
    if (count == 1) post_receive();
  }
}

// Sends message after message, until one has failed, or none can be posted.
static void send_on(const char* how, int to_itself) {
  int first = 1;
  for (;;) {
    if ((to_itself && post_receive() != 0) || post_send() != 0) say_heard(how, "a post that fails");
    for (int left = to_itself ? 2 : 1; left > 0;) {
      struct ibv_wc completion;
      const int count = ibv_poll_cq(cq, 1, &completion);
      if (count < 0) say_heard(how, "a poll that fails");
      if (count == 1 && completion.status != IBV_WC_SUCCESS)
        say_heard(how, ibv_wc_status_str(completion.status));
      left -= count;
    }
    if (first) say_waits();
    first = 0;
  }
}

static void wait_async(const char* how) {
  struct ibv_async_event event;
  do {
    CHECK(ibv_get_async_event(context, &event) == 0);
    ibv_ack_async_event(&event);
  } while (event.event_type != IBV_EVENT_DEVICE_FATAL);
  say_heard(how, "device fatal");
}

static void ask_on(const char* how) {
  int first = 1;
  for (;;) {
    struct ibv_cq* const made = ibv_create_cq(context, 16, NULL, NULL, 0);
    if (made == NULL) break;
    if (ibv_destroy_cq(made) != 0) break;
    if (first) say_waits();
    first = 0;
  }
  wait_async(how);
}

static void wait_event(const char* how, struct ibv_comp_channel* channel) {
  CHECK(ibv_req_notify_cq(cq, 0) == 0 && post_receive() == 0);
  say_waits();
  struct ibv_cq* of = NULL;
  void* its = NULL;
  CHECK(ibv_get_cq_event(channel, &of, &its) == 0);
  ibv_ack_cq_events(of, 1);
  poll_failure(how);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const char* const how = argv[1];
  context = open_first();
  pd = ibv_alloc_pd(context);
  CHECK(pd != NULL);
  struct ibv_comp_channel* channel = ibv_create_comp_channel(context);
  CHECK(channel != NULL);
  // The queue has room for all that can come while this process gets no processor.
  cq = ibv_create_cq(context, 256, NULL, strcmp(how, "event") == 0 ? channel : NULL, 0);
  mr = ibv_reg_mr(pd, buffer, sizeof buffer, IBV_ACCESS_LOCAL_WRITE);
  CHECK(cq != NULL && mr != NULL);
  struct ibv_qp_init_attr attributes = {
      .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {64, 1024, 1, 1, 0}};
  qp = ibv_create_qp(pd, &attributes);
  CHECK(qp != NULL);
  struct address me = {.qpn = qp->qp_num};
  CHECK(ibv_query_gid(context, 1, 0, &me.gid) == 0);
  char words[33], theirs[33];
  gid_words(&me.gid, words);
  printf("%u %s\n", me.qpn, words);
  fflush(stdout);
  struct address other = me;
  const int to_other = strcmp(how, "peer") == 0 || strcmp(how, "remote") == 0;
  if (to_other) {
    CHECK(scanf("%u %32s", &other.qpn, theirs) == 2);
    other.gid = gid_of(theirs);
  }
  connect_to(qp, &other);
  if (strcmp(how, "peer") == 0)
    for (int i = 0; i < 100; ++i)
      CHECK(post_receive() == 0);
  if (to_other) {
    puts("connected");
    fflush(stdout);
    CHECK(getchar() == '\n' && getchar() == '\n');
  }
  if (strcmp(how, "busy") == 0 || strcmp(how, "remote") == 0) {
    send_on(how, !to_other);
  } else if (strcmp(how, "polls") == 0) {
    CHECK(post_receive() == 0);
    say_waits();
    poll_failure(how);
  } else if (strcmp(how, "peer") == 0) {
    say_waits();
    poll_failure(how);
  } else if (strcmp(how, "event") == 0) {
    wait_event(how, channel);
  } else if (strcmp(how, "asks") == 0) {
    ask_on(how);
  } else {
    CHECK(strcmp(how, "async") == 0);
    say_waits();
    wait_async(how);
  }
  return 0;
}
