/* A client of libpmix that times fences: pmix_fence [--data BYTES] N
 *
 * N fences of all ranks in a row; rank 0 prints the median time of one, the first quartile and the
 * least, in microseconds. --data: before each, every rank puts a value of so many bytes and commits
 * it, which is not timed, and the fence brings the values of all to every node.
 *
 * Exit status 0, or 2 with one line on standard error. */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kFences = 10000, kMaxValue = 1 << 20 };

static pmix_proc_t me;

static void check(const char* what, pmix_status_t status) {
  if (status == PMIX_SUCCESS) return;
  fprintf(stderr, "pmix_fence: rank %u: %s: %s\n", me.rank, what, PMIx_Error_string(status));
  exit(2);
}

static double now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int ascending(const void* left, const void* right) {
  const double a = *(const double*)left, b = *(const double*)right;
  return (a > b) - (a < b);
}

static void put(int bytes, int turn) {
  static char text[kMaxValue];
  memset(text, 'a' + (int)((me.rank + (unsigned)turn) % 26), (size_t)bytes);
  pmix_value_t value;
  PMIX_VALUE_LOAD(&value, text, PMIX_STRING);
  check("put", PMIx_Put(PMIX_GLOBAL, "card", &value));
  PMIX_VALUE_DESTRUCT(&value);
  check("commit", PMIx_Commit());
}

static void fence(bool collect) {
  pmix_proc_t all = me;
  all.rank = PMIX_RANK_WILDCARD;
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
  check("fence", PMIx_Fence(&all, 1, &info, 1));
}

int main(int argc, char** argv) {
  static double times[kFences];
  const int with_data = argc == 4 && strcmp(argv[1], "--data") == 0;
  const int bytes = with_data ? atoi(argv[2]) : 0;
  const int count = argc == 2 || with_data ? atoi(argv[argc - 1]) : 0;
  if (count < 1 || count > kFences || (with_data && (bytes < 1 || bytes >= kMaxValue))) {
    fputs("usage: pmix_fence [--data BYTES] N\n", stderr);
    return 2;
  }
  check("begin", PMIx_Init(&me, NULL, 0));
  fence(false);
  for (int i = 0; i < count; ++i) {
    if (with_data) put(bytes, i);
    const double start = now_us();
    fence(with_data);
    times[i] = now_us() - start;
  }
  if (me.rank == 0) {
    qsort(times, (size_t)count, sizeof times[0], ascending);
    printf("fence us: median %.1f quartile %.1f least %.1f of %d\n", times[count / 2],
           times[count / 4], times[0], count);
    fflush(stdout);
  }
  check("finalize", PMIx_Finalize(NULL, 0));
  return 0;
}
