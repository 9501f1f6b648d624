/* The exchanges of the thesis (section 3.2) through PMI: put, barrier, gets.
 *
 *   pmi_exchange [--all] [--stages N] [--pairs N] [--value BYTES] [--repeat-gets N]
 *   pmi_exchange --barriers N
 *
 * In each stage every rank puts its pairs, enters a barrier and gets the first pair of its two
 * neighbours (1:2), or of every rank with --all (1:p); every value is checked. Rank 0 prints the
 * time from a barrier before the first put to the barrier after the last get, and the median of one
 * get after that, in microseconds. Links this project's libpmi.so.0; where the launcher shares no
 * segment, or SCELA_SEGMENT=0 stands in the environment, that is a plain client of the wire
 * protocol.
 *
 * --barriers: N barriers in a row instead; rank 0 prints the median time of one, the first quartile
 * and the least, in microseconds, as bench/programs/pmi_client.c does.
 *
 * Exit status 0, or 2 with one line on standard error.
 */
#include <pmi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int rank, size;

static void die(const char* what, int code) {
  fprintf(stderr, "pmi_exchange: rank %d: %s: %d\n", rank, what, code);
  exit(2);
}

static void must(const char* what, int code) {
  if (code != PMI_SUCCESS) die(what, code);
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void fill(char* value, int of, int bytes) {
  for (int i = 0; i < bytes; ++i)
    value[i] = (char)('a' + (of + i) % 26);
  value[bytes] = '\0';
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void key_of(char* key, size_t room, int stage, int of, int pair) {
  snprintf(key, room, "card-%d-%d-%d", stage, of, pair);
}

static void time_barriers(int count) {
  double* const times = calloc((size_t)count, sizeof *times);
  if (times == NULL) die("memory", 0);
  must("PMI_Barrier", PMI_Barrier());
  for (int i = 0; i < count; ++i) {
    const double before = now_us();
    must("PMI_Barrier", PMI_Barrier());
    times[i] = now_us() - before;
  }
  qsort(times, (size_t)count, sizeof *times, by_value);
  if (rank == 0)
    printf("barrier us: median %.1f quartile %.1f least %.1f of %d\n", times[count / 2],
           times[count / 4], times[0], count);
  free(times);
}

int main(int argc, char** argv) {
  int all = 0, stages = 1, pairs = 1, bytes = 64, repeat = 0, barriers = 0;
  for (int i = 1; i < argc; ++i) {
    int* const number = strcmp(argv[i], "--stages") == 0        ? &stages
                        : strcmp(argv[i], "--pairs") == 0       ? &pairs
                        : strcmp(argv[i], "--value") == 0       ? &bytes
                        : strcmp(argv[i], "--repeat-gets") == 0 ? &repeat
                        : strcmp(argv[i], "--barriers") == 0    ? &barriers
                                                                : NULL;
    if (strcmp(argv[i], "--all") == 0) {
      all = 1;
    } else if (number != NULL && i + 1 < argc) {
      *number = atoi(argv[++i]);
    } else {
      die(argv[i], -1);
    }
  }
  int spawned, most;
  char space[256], key[64];
  must("PMI_Init", PMI_Init(&spawned));
  must("PMI_Get_rank", PMI_Get_rank(&rank));
  must("PMI_Get_size", PMI_Get_size(&size));
  if (barriers > 0) {
    time_barriers(barriers);
    must("PMI_Finalize", PMI_Finalize());
    return 0;
  }
  must("PMI_KVS_Get_my_name", PMI_KVS_Get_my_name(space, sizeof space));
  must("PMI_KVS_Get_value_length_max", PMI_KVS_Get_value_length_max(&most));
  if (bytes < 0 || bytes >= most) die("--value", most);
  char* const value = malloc((size_t)most);
  char* const got = malloc((size_t)most);
  if (value == NULL || got == NULL) die("memory", 0);
  must("PMI_Barrier", PMI_Barrier());
  const double begun = now_us();
  for (int stage = 0; stage < stages; ++stage) {
    for (int pair = 0; pair < pairs; ++pair) {
      key_of(key, sizeof key, stage, rank, pair);
      fill(value, rank + pair, bytes);
      must("PMI_KVS_Put", PMI_KVS_Put(space, key, value));
    }
    must("PMI_KVS_Commit", PMI_KVS_Commit(space));
    must("PMI_Barrier", PMI_Barrier());
    const int gets = all ? size : 2;
    for (int i = 0; i < gets; ++i) {
      const int of = all ? (rank + 1 + i) % size : (rank + (i == 0 ? 1 : size - 1)) % size;
      key_of(key, sizeof key, stage, of, 0);
      must("PMI_KVS_Get", PMI_KVS_Get(space, key, got, most));
      fill(value, of, bytes);
      if (strcmp(got, value) != 0) die("wrong value of rank", of);
    }
  }
  must("PMI_Barrier", PMI_Barrier());
  const double exchanged = now_us() - begun;
  double median = 0;
  if (repeat > 0 && rank == 0) {
    double* const times = calloc((size_t)repeat, sizeof *times);
    if (times == NULL) die("memory", 0);
    for (int i = 0; i < repeat; ++i) {
      key_of(key, sizeof key, stages - 1, i % size, 0);
      const double before = now_us();
      must("PMI_KVS_Get", PMI_KVS_Get(space, key, got, most));
      times[i] = now_us() - before;
    }
    qsort(times, (size_t)repeat, sizeof *times, by_value);
    median = times[repeat / 2];
    free(times);
  }
  if (rank == 0) printf("exchange us: %.1f get us: %.3f\n", exchanged, median);
  free(value);
  free(got);
  must("PMI_Finalize", PMI_Finalize());
  return 0;
}
