/* A bare PMI-1 client: what MPI_Init and MPI_Finalize ask of a launcher, without MPI.
 *
 *   pmi_client [--exchange] [--hold MS] [--barriers N] [--noop]
 *
 * init, one barrier, finalize. --exchange: each rank puts a value, and after the barrier gets its
 * right neighbour's and checks it. --hold: rank 0 says "holding" and enters one more barrier MS
 * milliseconds late, so that all others sleep in it. --barriers: N timed barriers; rank 0 prints
 * the median time of one, the first quartile and the least, in microseconds. --noop: ends at once,
 * whoever started it.
 *
 * No allocation, and no C library where tiny.h can do without. Exit status 0, or 2 with one line on
 * standard error for no launcher, a wrong answer or a wrong value.
 */
#include "bench/programs/tiny.h"

enum { kLine = 2048, kKvsname = 257, kBarriers = 10000, kEintr = 4 };
enum { kValue = 488 }; /* bytes, as MPICH over UCX puts per rank */

static int pmi_fd, rank, size;
static char kvsname[kKvsname];
static char line[kLine];

/* Text is built in a buffer that is always terminated and silently cut at its end. */
struct text {
  char bytes[kLine];
  size_t length;
};

static void add(struct text* t, const char* more) {
  while (*more != '\0' && t->length < kLine - 1)
    t->bytes[t->length++] = *more++;
  t->bytes[t->length] = '\0';
}

static void add_number(struct text* t, long number) {
  char digits[24];
  int at = sizeof digits - 1;
  digits[at] = '\0';
  do {
    digits[--at] = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  add(t, digits + at);
}

static void say(int fd, const struct text* t) {
  for (size_t sent = 0; sent < t->length;) {
    const long n = tiny_write(fd, t->bytes + sent, t->length - sent);
    if (n < 0 && n != -kEintr) tiny_exit(2);
    if (n > 0) sent += (size_t)n;
  }
}

static void die(const char* what, const char* detail) {
  struct text t = {.length = 0};
  add(&t, "pmi_client: rank ");
  add_number(&t, rank);
  add(&t, ": ");
  add(&t, what);
  add(&t, ": ");
  add(&t, detail);
  add(&t, "\n");
  say(2, &t);
  tiny_exit(2);
}

/* The rest of `whole` after `start`, or null if it starts otherwise. */
static const char* after(const char* whole, const char* start) {
  while (*start != '\0') {
    if (*whole++ != *start++) return NULL;
  }
  return whole;
}

/* What follows `name` wherever it stands in the answer, or null. */
static const char* find(const char* whole, const char* name) {
  for (; *whole != '\0'; ++whole) {
    const char* rest = after(whole, name);
    if (rest != NULL) return rest;
  }
  return NULL;
}

static int is(const char* word, const char* other) {
  const char* rest = after(word, other);
  return rest != NULL && *rest == '\0';
}

static int number_of(const char* text) {
  int number = 0;
  if (*text == '\0') return -1;
  for (; *text != '\0'; ++text) {
    if (*text < '0' || *text > '9' || number > 100000000) return -1;
    number = number * 10 + (*text - '0');
  }
  return number;
}

static int environment_number(const char* name) {
  for (char** entry = tiny_environment; *entry != NULL; ++entry) {
    const char* rest = after(*entry, name);
    if (rest != NULL && *rest == '=') return number_of(rest + 1);
  }
  die(name, "not set; start this program with a launcher that speaks PMI-1");
  return -1;
}

/* Sends one request and reads its answer into `line`, without the newline. */
static void ask(const char* answer, const struct text* request) {
  say(pmi_fd, request);
  size_t have = 0;
  while (have == 0 || line[have - 1] != '\n') { /* lock-step: nothing follows the newline */
    if (have == sizeof line - 1) die("answer too long", answer);
    const long n = tiny_read(pmi_fd, line + have, sizeof line - 1 - have);
    if (n == 0) die("the launcher closed the connection instead of answering", answer);
    if (n < 0 && n != -kEintr) die("reading from the launcher failed", answer);
    if (n > 0) have += (size_t)n;
  }
  line[have - 1] = '\0';
  const char* command = after(line, "cmd=");
  if (command == NULL || after(command, answer) == NULL) die(answer, line);
  const char* rc = find(line, " rc=");
  if (rc != NULL && *rc != '0') die(answer, line);
}

static void ask_simply(const char* answer, const char* request) {
  struct text t = {.length = 0};
  add(&t, request);
  ask(answer, &t);
}

static void barrier(void) {
  ask_simply("barrier_out", "cmd=barrier_in\n");
}

static void fill(char* value, int of) {
  for (int i = 0; i < kValue; ++i)
    value[i] = (char)('a' + (of + i) % 26);
  value[kValue] = '\0';
}

static void exchange(void) {
  char value[kValue + 1];
  fill(value, rank);
  struct text put = {.length = 0};
  add(&put, "cmd=put kvsname=");
  add(&put, kvsname);
  add(&put, " key=card-");
  add_number(&put, rank);
  add(&put, " value=");
  add(&put, value);
  add(&put, "\n");
  ask("put_result", &put);
  barrier();
  const int neighbour = (rank + 1) % size;
  struct text get = {.length = 0};
  add(&get, "cmd=get kvsname=");
  add(&get, kvsname);
  add(&get, " key=card-");
  add_number(&get, neighbour);
  add(&get, "\n");
  ask("get_result", &get);
  fill(value, neighbour);
  const char* got = find(line, " value=");
  if (got == NULL || after(got, value) == NULL) die("wrong value", line);
}

static void time_barriers(int count) {
  static long times[kBarriers]; /* tenths of a microsecond, in ascending order */
  long long before = tiny_now_ns();
  for (int i = 0; i < count; ++i) {
    barrier();
    const long long now = tiny_now_ns();
    const long taken = (long)((now - before) / 100);
    before = now;
    if (rank != 0) continue;
    int at = i;
    for (; at > 0 && times[at - 1] > taken; --at)
      times[at] = times[at - 1];
    times[at] = taken;
    before = tiny_now_ns(); /* sorting is not part of a barrier */
  }
  if (rank != 0) return;
  static const char* const names[] = {"barrier us: median ", " quartile ", " least "};
  const long shown[] = {times[count / 2], times[count / 4], times[0]};
  struct text t = {.length = 0};
  for (int i = 0; i < 3; ++i) {
    add(&t, names[i]);
    add_number(&t, shown[i] / 10);
    add(&t, ".");
    add_number(&t, shown[i] % 10);
  }
  add(&t, " of ");
  add_number(&t, count);
  add(&t, "\n");
  say(1, &t);
}

static void hold(int ms) {
  if (rank == 0) {
    struct text t = {.length = 0};
    add(&t, "holding\n");
    say(1, &t);
    tiny_sleep_ms(ms);
  }
  barrier();
}

int main(int argc, char** argv) {
  int do_exchange = 0, barriers = 0, hold_ms = 0;
  for (int i = 1; i < argc; ++i) {
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (is(argv[i], "--noop")) tiny_exit(0);
    if (is(argv[i], "--exchange")) {
      do_exchange = 1;
    } else if (is(argv[i], "--barriers")) {
      barriers = number_of(value);
      if (barriers < 1 || barriers > kBarriers) die("--barriers", "not within 1 to 10000");
      ++i;
    } else if (is(argv[i], "--hold")) {
      hold_ms = number_of(value);
      if (hold_ms < 0) die("--hold", "not a number of milliseconds");
      ++i;
    } else {
      die("unknown option", argv[i]);
    }
  }
  rank = environment_number("PMI_RANK");
  size = environment_number("PMI_SIZE");
  pmi_fd = environment_number("PMI_FD");

  ask_simply("response_to_init", "cmd=init pmi_version=1 pmi_subversion=1\n");
  ask_simply("my_kvsname", "cmd=get_my_kvsname\n");
  const char* name = find(line, " kvsname=");
  if (name == NULL) die("my_kvsname", line);
  for (int i = 0; i < kKvsname - 1 && name[i] != '\0' && name[i] != ' '; ++i)
    kvsname[i] = name[i];
  if (do_exchange) {
    exchange();
  } else {
    barrier();
  }
  if (barriers > 0) time_barriers(barriers);
  if (hold_ms > 0) hold(hold_ms);
  ask_simply("finalize_ack", "cmd=finalize\n");
  tiny_exit(0);
  return 0;
}
