/* A rank that breaks PMI-1 or PMI-2 the way its argument says; the other ranks wait for their end.
 * The program needs no MPI.
 *
 *   garbage      bytes that are no line of the protocol
 *   early        a barrier before init
 *   endless      a line that never ends
 *   impatient    requests without reading any answer
 *   random SEED  pseudo-random bytes, many of them from the protocol's own words
 *   cut          half a request, then exits with 0
 *   pmi2-...     these in PMI-2: garbage, early, long, impatient, random SEED
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int fd;

/* Errors are ignored, because the launcher may end the job and this process at any moment.
 */
static void send_bytes(const char* bytes, size_t length) {
  while (length > 0) {
    const ssize_t n = write(fd, bytes, length);
    if (n <= 0) return;
    bytes += n;
    length -= (size_t)n;
  }
}

static void send_text(const char* text) {
  send_bytes(text, strlen(text));
}

static void await_answer(void) {
  char c = 0;
  while (c != '\n' && read(fd, &c, 1) == 1) {
  }
}

static void init(void) {
  send_text("cmd=init pmi_version=1 pmi_subversion=1\n");
  await_answer();
}

static void init_pmi2(void) {
  send_text("cmd=init pmi_version=2 pmi_subversion=0\n");
  await_answer();
}

static void send_message(const char* payload) {
  char length[24];
  snprintf(length, sizeof length, "%6zu", strlen(payload));
  send_text(length);
  send_text(payload);
}

static const char* const kWords1[] = {
    "cmd=",          "init", "barrier_in", "finalize", "mcmd=spawn\n",
    "put kvsname",   "key=", "value=",     "endcmd\n", "\n",
    "pmi_version=1", " ",    "=",          "get",      "abort exitcode="};
static const char* const kWords2[] = {"    13",
                                      "cmd=kvs-fence;",
                                      "    13",
                                      "cmd=finalize;",
                                      "cmd=abort;",
                                      "000017",
                                      "cmd=kvs-get;key;",
                                      "16    ",
                                      "cmd=fullinit;",
                                      "thrid=1;",
                                      "     9",
                                      "    ",
                                      "cmd=job-getid;",
                                      "=",
                                      ";"};

static void send_random(const char* const* words, unsigned count, unsigned seed) {
  for (int i = 0; i < 200000; ++i) {
    seed = seed * 1664525u + 1013904223u;
    const unsigned pick = seed >> 24;
    const char c = (char)pick;
    if (pick < count) {
      send_text(words[pick]);
    } else {
      send_bytes(&c, 1);
    }
  }
}

static void break_pmi2(const char* how, unsigned seed) {
  init_pmi2();
  if (strcmp(how, "early") == 0) send_message("cmd=kvs-fence;");
  if (strcmp(how, "random") == 0) send_random(kWords2, sizeof kWords2 / sizeof kWords2[0], seed);
  send_message("cmd=fullinit;");
  if (strcmp(how, "garbage") == 0) send_text("barrier_in\n");
  if (strcmp(how, "long") == 0) send_text("999999cmd=kvs-put;");
  if (strcmp(how, "impatient") == 0) {
    for (int i = 0; i < 10000; ++i)
      send_message("cmd=kvs-fence;");
  }
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  const char* given = getenv("PMI_FD");
  const char* rank = getenv("PMI_RANK");
  if (given == NULL || rank == NULL) {
    fprintf(stderr, "raw_pmi: PMI_FD and PMI_RANK are not set\n");
    return 2;
  }
  fd = atoi(given);
  if (strcmp(rank, "1") != 0) {
    init();
    sleep(60);
    return 0;
  }
  if (strcmp(how, "garbage") == 0) send_bytes("\x01\x02garbage\xff\n", 11);
  if (strcmp(how, "early") == 0) send_text("cmd=barrier_in\n");
  const unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
  if (strcmp(how, "random") == 0) send_random(kWords1, sizeof kWords1 / sizeof kWords1[0], seed);
  if (strncmp(how, "pmi2-", 5) == 0) break_pmi2(how + 5, seed);
  if (strcmp(how, "endless") == 0) {
    for (int i = 0; i < 10000; ++i)
      send_text("cmd=finalize ");
  }
  if (strcmp(how, "impatient") == 0) {
    init();
    for (int i = 0; i < 10000; ++i)
      send_text("cmd=barrier_in\n");
  }
  if (strcmp(how, "cut") == 0) {
    init();
    send_text("cmd=put kvsname=");
    return 0;
  }
  await_answer(); /* this rank waits to be ended */
  sleep(60);
  return 0;
}
