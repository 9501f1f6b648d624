/* Calls every function of pmi/client/include/pmi.h under any launcher. Rank 0 says "pmi library: N ranks ok".
 *
 *   pmi_library [names] [plain] [short] [abort]
 *
 * names: publish, lookup and unpublish too. plain: values are single words and every key is put
 * once, as Hydra requires; without it values hold spaces and change, and all ranks must see
 * that. short: the longest value leaves room in a line of 1,024 bytes, of which Slurm reads no
 * more. abort: rank 1 calls PMI_Abort while the others wait for it.
 */
#include <pmi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank = -1;

#define CHECK(condition)                                                                  \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      fprintf(stderr, "pmi_library: rank %d: line %d: %s\n", rank, __LINE__, #condition); \
      exit(2);                                                                            \
    }                                                                                     \
  } while (0)

static void facts(int* size) {
  int number = -1;
  CHECK(PMI_Get_rank(&rank) == PMI_SUCCESS && rank >= 0);
  CHECK(PMI_Get_size(size) == PMI_SUCCESS && *size > rank);
  const char* const app = getenv("EXPECTED_APPNUM");  // Slurm's is -1
  CHECK(PMI_Get_appnum(&number) == PMI_SUCCESS && number == (app != NULL ? atoi(app) : 0));
  CHECK(PMI_Get_universe_size(&number) == PMI_SUCCESS);
  CHECK(PMI_Get_rank(NULL) == PMI_ERR_INVALID_ARG);
  CHECK(PMI_KVS_Get_key_length_max(&number) == PMI_SUCCESS && number >= 64);
  CHECK(PMI_KVS_Get_name_length_max(&number) == PMI_SUCCESS && number >= 64);
  CHECK(PMI_Get_id_length_max(&number) == PMI_SUCCESS && number >= 64);
  char id[512], name[512];
  CHECK(PMI_Get_id(id, sizeof id) == PMI_SUCCESS);
  CHECK(PMI_Get_kvs_domain_id(name, sizeof name) == PMI_SUCCESS && strcmp(id, name) == 0);
  CHECK(PMI_Get_id(id, 1) == PMI_ERR_INVALID_LENGTH);
  /* No launcher serves these: the job has one space, and cannot list its keys. */
  char key[512], value[2048];
  CHECK(PMI_KVS_Create(name, sizeof name) != PMI_SUCCESS);
  CHECK(PMI_KVS_Iter_first(id, key, sizeof key, value, sizeof value) != PMI_SUCCESS);
  CHECK(PMI_KVS_Iter_next(id, key, sizeof key, value, sizeof value) != PMI_SUCCESS);
}

static void clique(int size) {
  int count = 0;
  CHECK(PMI_Get_clique_size(&count) == PMI_SUCCESS && count >= 1 && count <= size);
  int* const ranks = malloc(sizeof(int) * (size_t)count);
  CHECK(ranks != NULL);
  CHECK(PMI_Get_clique_ranks(ranks, count - 1) == PMI_ERR_INVALID_SIZE);
  CHECK(PMI_Get_clique_ranks(ranks, count) == PMI_SUCCESS);
  int mine = 0;
  for (int i = 0; i < count; ++i) {
    mine += ranks[i] == rank;
    CHECK(ranks[i] >= 0 && ranks[i] < size && (i == 0 || ranks[i] > ranks[i - 1]));
  }
  CHECK(mine == 1);
  const char* const expected = getenv("PMI_LIBRARY_CLIQUE");
  CHECK(expected == NULL || atoi(expected) == count);
  free(ranks);
}

static int plain, short_lines;

static void pairs(int size) {
  char space[512], key[64], value[2048], expected[64];
  int most = 0;
  CHECK(PMI_KVS_Get_my_name(space, sizeof space) == PMI_SUCCESS);
  CHECK(PMI_KVS_Get_value_length_max(&most) == PMI_SUCCESS && most >= 256 && most <= 2048);
  CHECK(PMI_KVS_Get(space, "nobody-put-this", value, sizeof value) != PMI_SUCCESS);
  for (int stage = 0; stage < 3; ++stage) {
    snprintf(key, sizeof key, "card-%d-%d", rank, plain ? stage : 0);
    snprintf(value, sizeof value, plain ? "%d/%d" : "value of %d in stage %d", rank, stage);
    CHECK(PMI_KVS_Put(space, key, value) == PMI_SUCCESS);
    CHECK(PMI_KVS_Commit(space) == PMI_SUCCESS);
    CHECK(PMI_Barrier() == PMI_SUCCESS);
    for (int other = 0; other < size; ++other) {
      snprintf(key, sizeof key, "card-%d-%d", other, plain ? stage : 0);
      snprintf(expected, sizeof expected, plain ? "%d/%d" : "value of %d in stage %d", other,
               stage);
      CHECK(PMI_KVS_Get(space, key, value, sizeof value) == PMI_SUCCESS);
      CHECK(strcmp(value, expected) == 0);
      CHECK(PMI_KVS_Get(space, key, value, 3) == PMI_ERR_INVALID_VAL_LENGTH);
    }
    CHECK(PMI_Barrier() == PMI_SUCCESS);
  }
  char* const longest = malloc((size_t)most + 1);
  CHECK(longest != NULL);
  memset(longest, 'x', (size_t)most + 1);
  longest[most] = '\0';
  CHECK(PMI_KVS_Put(space, "long", longest) == PMI_ERR_INVALID_VAL_LENGTH);
  longest[most - (short_lines ? 100 : 1)] = '\0';
  if (rank == 0) CHECK(PMI_KVS_Put(space, "long", longest) == PMI_SUCCESS);
  CHECK(PMI_Barrier() == PMI_SUCCESS);
  char* const got = malloc((size_t)most);
  CHECK(got != NULL && PMI_KVS_Get(space, "long", got, most) == PMI_SUCCESS);
  CHECK(strcmp(got, longest) == 0);
  CHECK(PMI_KVS_Put(space, "", "x") == PMI_ERR_INVALID_KEY);
  CHECK(PMI_KVS_Put(space, "two words", "x") == PMI_ERR_INVALID_KEY);
  CHECK(PMI_KVS_Put(space, "key", "two\nlines") == PMI_ERR_INVALID_VAL);
  CHECK(PMI_KVS_Put(space, longest, "x") == PMI_ERR_INVALID_KEY_LENGTH);
  free(got);
  free(longest);
}

static void names(void) {
  char port[2048];
  CHECK(PMI_Lookup_name("pmi-library-unknown", port) != PMI_SUCCESS);
  if (rank == 0) CHECK(PMI_Publish_name("pmi-library", "tag#0$port#1234$") == PMI_SUCCESS);
  CHECK(PMI_Barrier() == PMI_SUCCESS);
  CHECK(PMI_Lookup_name("pmi-library", port) == PMI_SUCCESS);
  CHECK(strcmp(port, "tag#0$port#1234$") == 0);
  CHECK(PMI_Barrier() == PMI_SUCCESS);
  if (rank == 0) CHECK(PMI_Unpublish_name("pmi-library") == PMI_SUCCESS);
  CHECK(PMI_Barrier() == PMI_SUCCESS);
  CHECK(PMI_Lookup_name("pmi-library", port) != PMI_SUCCESS);
}

static void options(void) {
  char a[] = "-np", b[] = "4", c[] = "--host", d[] = "n1", e[] = "program", f[] = "-x", g[] = "y";
  char* words[] = {a, b, c, d, e, f, g, NULL};
  char** rest = words;
  int count = 7, parsed = -1, size = -1;
  PMI_keyval_t* pairs_found = NULL;
  CHECK(PMI_Parse_option(count, words, &parsed, &pairs_found, &size) == PMI_SUCCESS);
  CHECK(parsed == 2 && size == 1 && strcmp(pairs_found[0].key, "np") == 0);
  CHECK(PMI_Free_keyvals(pairs_found, size) == PMI_SUCCESS);
  CHECK(PMI_Args_to_keyval(&count, &rest, &pairs_found, &size) == PMI_SUCCESS);
  CHECK(size == 2 && count == 3 && strcmp(rest[0], "program") == 0);
  CHECK(strcmp(pairs_found[1].key, "host") == 0 && strcmp(pairs_found[1].val, "n1") == 0);
  CHECK(PMI_Free_keyvals(pairs_found, size) == PMI_SUCCESS);
  char text[256];
  int length = 1;
  CHECK(PMI_Get_options(text, &length) == PMI_ERR_NOMEM && length > 1);
  CHECK(PMI_Get_options(text, &length) == PMI_SUCCESS);
}

enum { kThreads = 4, kPairs = 50 };

static void* put_and_get(void* number) {
  char space[512], key[64], value[64], found[64];
  CHECK(PMI_KVS_Get_my_name(space, sizeof space) == PMI_SUCCESS);
  for (int i = 0; i < kPairs; ++i) {
    snprintf(key, sizeof key, "thread-%d-%d-%d", rank, *(int*)number, i);
    snprintf(value, sizeof value, "of %d", *(int*)number * kPairs + i);
    CHECK(PMI_KVS_Put(space, key, value) == PMI_SUCCESS);
    CHECK(PMI_KVS_Get(space, key, found, sizeof found) == PMI_SUCCESS);
    CHECK(strcmp(found, value) == 0);
  }
  return NULL;
}

// Each thread gets the answer to its own request.
static void threads(void) {
  pthread_t thread[kThreads];
  int number[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    number[i] = i;
    CHECK(pthread_create(&thread[i], NULL, put_and_get, &number[i]) == 0);
  }
  for (int i = 0; i < kThreads; ++i)
    CHECK(pthread_join(thread[i], NULL) == 0);
}

int main(int argc, char** argv) {
  int spawned = -1, size = 0, on = -1, with_names = 0, aborts = 0;
  for (int i = 1; i < argc; ++i) {
    with_names |= strcmp(argv[i], "names") == 0;
    aborts |= strcmp(argv[i], "abort") == 0;
    plain |= strcmp(argv[i], "plain") == 0;
    short_lines |= strcmp(argv[i], "short") == 0;
  }
  CHECK(PMI_Initialized(&on) == PMI_SUCCESS && on == PMI_FALSE);
  CHECK(PMI_Barrier() == PMI_ERR_INIT);
  CHECK(PMI_Get_size(&size) == PMI_ERR_INIT);
  CHECK(PMI_Init(&spawned) == PMI_SUCCESS && spawned == PMI_FALSE);
  CHECK(PMI_Init(&spawned) == PMI_SUCCESS);
  CHECK(PMI_Initialized(&on) == PMI_SUCCESS && on == PMI_TRUE);
  facts(&size);
  clique(size);
  pairs(size);
  if (!plain) threads();
  if (with_names) names();
  if (aborts && rank == 1) PMI_Abort(9, "no more of this");
  options();
  CHECK(PMI_Barrier() == PMI_SUCCESS);
  CHECK(PMI_Finalize() == PMI_SUCCESS);
  CHECK(PMI_Finalize() == PMI_ERR_INIT);
  if (rank == 0) printf("pmi library: %d ranks ok\n", size);
  return 0;
}
