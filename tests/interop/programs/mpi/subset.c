/* Uses each call of the MPI of examples/mpi, and prints what it finds as numbers. Any MPI prints
 * the same lines, in any order. At least two ranks are needed. */
#include <mpi.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLong = 300000 }; /* doubles: beyond every eager limit */

static int rank, size;

static void say(const char* format, ...) {
  char text[400];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  printf("rank %d: %s\n", rank, text);
}

/* ---- errors ---- */

static const char* name_of(int code) {
  static const struct {
    int class;
    const char* name;
  } known[] = {{MPI_SUCCESS, "none"},
               {MPI_ERR_BUFFER, "buffer"},
               {MPI_ERR_COUNT, "count"},
               {MPI_ERR_TYPE, "type"},
               {MPI_ERR_TAG, "tag"},
               {MPI_ERR_COMM, "comm"},
               {MPI_ERR_RANK, "rank"},
               {MPI_ERR_ROOT, "root"},
               {MPI_ERR_OP, "op"},
               {MPI_ERR_TRUNCATE, "truncate"},
               {MPI_ERR_IN_STATUS, "in status"}};
  int class = 0;
  MPI_Error_class(code, &class);
  for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i)
    if (known[i].class == class) return known[i].name;
  return "another";
}

static void errors(void) {
  int number = 1, two[2] = {0, 0}, length = 0;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Errhandler handler;
  MPI_Request request;
  MPI_Comm mine;
  MPI_Comm_dup(MPI_COMM_WORLD, &mine);
  MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN);
  MPI_Comm_get_errhandler(mine, &handler);
  say("handler %d", handler == MPI_ERRORS_RETURN);
  say("send to no rank: %s", name_of(MPI_Send(&number, 1, MPI_INT, size, 1, mine)));
  say("send with no tag: %s", name_of(MPI_Send(&number, 1, MPI_INT, 0, -7, mine)));
  say("send below no elements: %s", name_of(MPI_Send(&number, -1, MPI_INT, 0, 1, mine)));
  say("send of no type: %s", name_of(MPI_Send(&number, 1, MPI_DATATYPE_NULL, 0, 1, mine)));
  say("send of null: %s", name_of(MPI_Send(NULL, 1, MPI_INT, 0, 1, mine)));
  say("isend to no rank: %s", name_of(MPI_Isend(&number, 1, MPI_INT, size, 1, mine, &request)));
  say("receive from no rank: %s",
      name_of(MPI_Recv(two, 1, MPI_INT, size, 1, mine, MPI_STATUS_IGNORE)));
  say("bcast from no root: %s", name_of(MPI_Bcast(&number, 1, MPI_INT, size, mine)));
  say("reduction of nothing: %s",
      name_of(MPI_Allreduce(&number, two, 1, MPI_INT, MPI_OP_NULL, mine)));
  if (rank == 0) MPI_Send(two, 2, MPI_INT, 1, 2, mine);
  if (rank == 1)
    say("short receive: %s", name_of(MPI_Recv(&number, 1, MPI_INT, 0, 2, mine, MPI_STATUS_IGNORE)));
  MPI_Allreduce(&rank, &number, 1, MPI_INT, MPI_SUM, mine); /* it works as before */
  MPI_Error_string(MPI_ERR_TAG, text, &length);
  say("sum %d, text %d", number, length == (int)strlen(text) && length > 0);
  MPI_Comm_free(&mine);
  say("freed %d", mine == MPI_COMM_NULL);
}

/* ---- messages ---- */

static void say_status(const char* what, const MPI_Status* status, MPI_Datatype type) {
  int count = -1, cancelled = -1;
  MPI_Get_count(status, type, &count);
  MPI_Test_cancelled(status, &cancelled);
  say("%s: source %d, tag %d, count %d, cancelled %d", what,
      status->MPI_SOURCE == MPI_PROC_NULL ? -99 : status->MPI_SOURCE,
      status->MPI_TAG == MPI_ANY_TAG ? -99 : status->MPI_TAG, count, cancelled);
}

static void blocking(double* longs, double* theirs) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  int found = 0;
  MPI_Status status;
  MPI_Recv(longs, 5, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
  say_status("receive from nothing", &status, MPI_INT);
  MPI_Send(longs, 5, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
  for (int i = 0; i < kLong; ++i)
    longs[i] = rank + i;
  MPI_Sendrecv(longs, kLong, MPI_DOUBLE, next, 4, theirs, kLong, MPI_DOUBLE, last, MPI_ANY_TAG,
               MPI_COMM_WORLD, &status);
  say_status("sendrecv", &status, MPI_DOUBLE);
  say("last element %.0f", theirs[kLong - 1]);
  if (rank == 0) {
    double sum = 0;
    for (int i = 1; i < size; ++i) {
      int count = 0;
      MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_INT, &count);
      int* numbers = malloc(sizeof(int) * (size_t)(count + 1));
      MPI_Recv(numbers, count, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      sum += count + numbers[count - 1] * 100 + status.MPI_TAG * 10000;
      free(numbers);
    }
    say("probed sum %.0f", sum);
  } else {
    int numbers[64];
    for (int i = 0; i < rank; ++i)
      numbers[i] = rank;
    MPI_Ssend(numbers, rank, MPI_INT, 0, 10 + rank, MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD); /* later messages must not be probed for these */
  MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &found, &status);
  say("probed without a message %d", found);
}

static void requests(double* longs, double* theirs) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  int numbers[4] = {rank, rank + 1, rank + 2, rank + 3}, got[4] = {0}, index = 0, flag = 0, sum = 0;
  MPI_Request all[4] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[4], status;
  MPI_Waitany(4, all, &index, &status);
  say("wait for nothing: %d", index == MPI_UNDEFINED);
  for (int i = 0; i < 3; ++i)
    MPI_Irecv(&got[i], 1, MPI_INT, last, 20 + i, MPI_COMM_WORLD, &all[i]);
  for (int i = 2; i >= 0; --i) {
    MPI_Send(&numbers[i], 1, MPI_INT, next, 20 + i, MPI_COMM_WORLD);
    MPI_Waitany(4, all, &index, &status);
    sum += index * 1000 + got[index];
  }
  say("waited for any: %d, %d", sum, all[0] == MPI_REQUEST_NULL);
  MPI_Irecv(theirs, kLong, MPI_DOUBLE, last, 30, MPI_COMM_WORLD, &all[0]);
  MPI_Irecv(&got[3], 1, MPI_INT, MPI_PROC_NULL, 30, MPI_COMM_WORLD, &all[1]);
  MPI_Wait(&all[1], &status);
  say("waited for nothing %d", all[1] == MPI_REQUEST_NULL);
  MPI_Isend(longs, kLong, MPI_DOUBLE, next, 30, MPI_COMM_WORLD, &all[2]);
  MPI_Issend(&numbers[3], 1, MPI_INT, next, 31, MPI_COMM_WORLD, &all[3]);
  MPI_Recv(&got[3], 1, MPI_INT, last, 31, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Waitall(4, all, statuses);
  say_status("waited for all, a receive", &statuses[0], MPI_DOUBLE);
  say("got %d, %.0f", got[3], theirs[kLong - 1]);
  MPI_Irecv(got, 1, MPI_INT, last, 40, MPI_COMM_WORLD, &all[0]);
  MPI_Isend(numbers, 1, MPI_INT, next, 40, MPI_COMM_WORLD, &all[1]);
  do {
    MPI_Testall(2, all, &flag, statuses);
  } while (!flag);
  say("tested all %d", got[0]);
  MPI_Irecv(got, 1, MPI_INT, last, 41, MPI_COMM_WORLD, &all[0]);
  MPI_Send(numbers, 1, MPI_INT, next, 41, MPI_COMM_WORLD);
  do {
    MPI_Test(&all[0], &flag, &status);
  } while (!flag);
  say_status("tested", &status, MPI_INT);
  MPI_Irecv(got, 1, MPI_INT, last, 42, MPI_COMM_WORLD, &all[0]);
  MPI_Cancel(&all[0]);
  MPI_Wait(&all[0], &status);
  MPI_Test_cancelled(&status, &flag);
  say("cancelled %d", flag);
  MPI_Isend(numbers, 1, MPI_INT, next, 43, MPI_COMM_WORLD, &all[0]);
  MPI_Request_free(&all[0]);
  MPI_Recv(got, 1, MPI_INT, last, 43, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  say("freed request %d, %d", all[0] == MPI_REQUEST_NULL, got[0]);
}

/* ---- progress ---- */

/* A blocking call for messages moves operations that are under way, and the other way round: rank
 * 1 sends only after its part of the operation, for which it needs rank 0. */
static void progress(double* longs, double* sums) {
  int number = rank, flag = 0;
  MPI_Request request;
  MPI_Status status;
  for (int i = 0; i < kLong; ++i)
    longs[i] = rank;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Iallreduce(longs, sums, kLong, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  if (rank == 0) {
    MPI_Recv(&number, 1, MPI_INT, 1, 50, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, &status);
  } else {
    MPI_Wait(&request, &status);
    if (rank == 1) MPI_Send(&number, 1, MPI_INT, 0, 50, MPI_COMM_WORLD);
  }
  say("receive beside an operation: %.0f, %d", sums[kLong - 1], rank == 0 ? number : 1);
  MPI_Iallreduce(longs, sums, kLong, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD, &request);
  if (rank == 0) {
    MPI_Probe(1, 51, MPI_COMM_WORLD, &status);
    MPI_Recv(&number, 1, MPI_INT, 1, 51, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    do {
      MPI_Test(&request, &flag, &status);
    } while (!flag);
    if (rank == 1) MPI_Ssend(&number, 1, MPI_INT, 0, 51, MPI_COMM_WORLD);
  }
  MPI_Wait(&request, &status);
  say("probe beside an operation: %.0f", sums[kLong - 1]);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- datatypes ---- */

typedef struct {
  char letter;
  double value;
  int numbers[3];
} Record;

static void say_type(const char* what, MPI_Datatype type) {
  int bytes = 0;
  MPI_Aint lb = 0, extent = 0;
  MPI_Type_size(type, &bytes);
  MPI_Type_get_extent(type, &lb, &extent);
  say("%s: size %d, lb %d, extent %d", what, bytes, (int)lb, (int)extent);
}

static MPI_Datatype record_type(void) {
  static Record one;
  MPI_Aint base, at[3];
  const int lengths[3] = {1, 1, 3};
  const MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
  MPI_Datatype made;
  MPI_Get_address(&one, &base);
  MPI_Get_address(&one.letter, &at[0]);
  MPI_Get_address(&one.value, &at[1]);
  MPI_Get_address(&one.numbers, &at[2]);
  for (int i = 0; i < 3; ++i)
    at[i] -= base;
  MPI_Type_create_struct(3, lengths, at, types, &made);
  MPI_Type_commit(&made);
  return made;
}

static void records(void) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  Record mine[3], theirs[3], all[3 * 64];
  MPI_Status status;
  MPI_Datatype record = record_type(), pairs;
  memset(all, 0, sizeof all);
  memset(theirs, 0, sizeof theirs);
  for (int i = 0; i < 3; ++i)
    mine[i] = (Record){(char)('a' + rank + i), rank + 0.5, {rank, i, rank * i}};
  say_type("struct", record);
  MPI_Type_contiguous(2, record, &pairs);
  MPI_Type_commit(&pairs);
  say_type("contiguous", pairs);
  MPI_Sendrecv(mine, 3, record, next, 60, theirs, 3, record, last, 60, MPI_COMM_WORLD, &status);
  say_status("records", &status, record);
  say("a record: %c %.1f %d %d", theirs[2].letter, theirs[2].value, theirs[2].numbers[0],
      theirs[2].numbers[1]);
  MPI_Allgather(mine, 3, record, all, 3, record, MPI_COMM_WORLD);
  say("gathered records: %c %.1f %d", all[3 * last + 1].letter, all[3 * last + 1].value,
      all[3 * last + 2].numbers[1]);
  MPI_Type_free(&pairs);
  MPI_Type_free(&record);
  say("type freed %d", record == MPI_DATATYPE_NULL);
}

static void columns(void) {
  const int next = (rank + 1) % size, last = (rank + size - 1) % size;
  int grid[6][8], flat[6], sum = 0;
  MPI_Datatype column, wide, spread, indexed;
  MPI_Request request;
  const int lengths[2] = {2, 1}, at[2] = {4, 0};
  for (int i = 0; i < 48; ++i)
    grid[i / 8][i % 8] = rank * 100 + i;
  MPI_Type_vector(6, 1, 8, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, sizeof(int), &wide);
  MPI_Type_create_hvector(3, 2, 20, MPI_SHORT, &spread);
  MPI_Type_indexed(2, lengths, at, MPI_INT, &indexed);
  MPI_Datatype* const types[] = {&column, &wide, &spread, &indexed};
  for (int i = 0; i < 4; ++i)
    MPI_Type_commit(types[i]);
  say_type("vector", column);
  say_type("resized", wide);
  say_type("hvector", spread);
  say_type("indexed", indexed);
  MPI_Irecv(flat, 6, MPI_INT, last, 61, MPI_COMM_WORLD, &request);
  MPI_Send(&grid[0][3], 1, column, next, 61, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  say("a column: %d %d", flat[0], flat[5]);
  MPI_Isend(flat, 6, MPI_INT, last, 62, MPI_COMM_WORLD, &request);
  MPI_Recv(&grid[0][1], 2, wide, next, 62, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  say("into a column: %d %d %d", grid[0][1], grid[5][1], grid[5][2]);
  MPI_Sendrecv(&grid[1][0], 1, indexed, next, 63, flat, 3, MPI_INT, last, 63, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  say("indexed: %d %d %d", flat[0], flat[1], flat[2]);
  MPI_Bcast(&grid[0][6], 2, wide, size - 1, MPI_COMM_WORLD);
  MPI_Ibcast(&grid[0][5], 1, column, 1, MPI_COMM_WORLD, &request);
  MPI_Type_free(&column); /* the operation goes on */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < 48; ++i)
    sum += grid[i / 8][i % 8] * (i + 1);
  say("columns of others: %d", sum);
  MPI_Type_free(&wide);
  MPI_Type_free(&spread);
  MPI_Type_free(&indexed);
}

/* ---- communicators ---- */

static void groups(void) {
  int ranks[64], theirs[64], number = 0, mine = 0, result = 0;
  MPI_Group world, some, rest;
  MPI_Comm made, other;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int i = 0; i < size; ++i)
    ranks[i] = size - 1 - i;
  MPI_Group_incl(world, size, ranks, &some);
  MPI_Group_incl(world, size - 1, ranks + 1, &rest);
  MPI_Group_size(rest, &number);
  MPI_Group_rank(some, &mine);
  say("groups: %d %d", number, mine);
  MPI_Group_translate_ranks(some, size, ranks, rest, theirs);
  say("translated: %d %d", theirs[0] == MPI_UNDEFINED, theirs[size - 1]);
  MPI_Comm_create(MPI_COMM_WORLD, some, &made);
  MPI_Comm_create(MPI_COMM_WORLD, rest, &other);
  MPI_Comm_rank(made, &mine);
  MPI_Comm_compare(MPI_COMM_WORLD, made, &result);
  say("created: %d, similar %d, outside %d", mine, result == MPI_SIMILAR, other == MPI_COMM_NULL);
  number = mine;
  MPI_Bcast(&number, 1, MPI_INT, 1, made);
  say("bcast there: %d", number);
  MPI_Comm_free(&made);
  if (other != MPI_COMM_NULL) MPI_Comm_free(&other);
  MPI_Group_free(&world);
  MPI_Group_free(&some);
  MPI_Group_free(&rest);
}

static void communicators(void) {
  int number = rank, got = -1, mine = 0, members = 0, result = 0, flag = 0;
  int* max_tag = NULL;
  MPI_Comm copy, half, node, none;
  MPI_Request request;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &max_tag, &flag);
  say("tags %d", flag && *max_tag >= 32767);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_compare(MPI_COMM_WORLD, copy, &result);
  say("dup: congruent %d", result == MPI_CONGRUENT);
  /* Messages of one communicator do not meet receives of another. */
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, copy, &request);
  MPI_Sendrecv(&number, 1, MPI_INT, (rank + 1) % size, 70, &mine, 1, MPI_INT, MPI_ANY_SOURCE,
               MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  number += 1000;
  MPI_Send(&number, 1, MPI_INT, (rank + 1) % size, 70, copy);
  MPI_Comm_free(&copy); /* the receive goes on */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  say("two communicators: %d %d", mine, got);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Comm_rank(half, &mine);
  MPI_Comm_size(half, &members);
  MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_SUM, half);
  say("split: %d of %d, sum %d", mine, members, got);
  MPI_Comm_free(&half);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &none);
  say("split without rank 0: %d", none == MPI_COMM_NULL);
  if (none != MPI_COMM_NULL) MPI_Comm_free(&none);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &members);
  say("node has ranks: %d", members > 0);
  MPI_Comm_free(&node);
  MPI_Comm_size(MPI_COMM_SELF, &members);
  MPI_Allreduce(&rank, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  say("self: %d %d", members, got);
}

/* ---- collective operations ---- */

/* Composes x -> a x + b, which depends on the order. */
static void compose(void* in, void* inout, int* length, MPI_Datatype* type) {
  const long* left = in;
  long* right = inout;
  (void)type;
  for (int i = 0; i < *length; ++i, left += 2, right += 2) {
    right[1] = (right[0] * left[1] + right[1]) % 1000003;
    right[0] = right[0] * left[0] % 1000003;
  }
}

static void greatest_value(void* in, void* inout, int* length, MPI_Datatype* type) {
  const Record* left = in;
  Record* right = inout;
  (void)type;
  for (int i = 0; i < *length; ++i)
    if (left[i].value > right[i].value) right[i] = left[i];
}

static void own_operations(void) {
  long mine[4] = {rank + 2, rank + 1, 3, rank}, result[4] = {0};
  Record one = {(char)('a' + rank), (rank * 7) % 5 + rank * 0.1, {rank, 1, 2}}, best;
  MPI_Datatype function, record = record_type();
  MPI_Op op, greatest;
  MPI_Request request;
  memset(&best, 0, sizeof best);
  MPI_Type_contiguous(2, MPI_LONG, &function);
  MPI_Type_commit(&function);
  MPI_Op_create(compose, 0, &op);
  MPI_Op_create(greatest_value, 1, &greatest);
  MPI_Allreduce(mine, result, 2, function, op, MPI_COMM_WORLD);
  say("own operation: %ld %ld %ld %ld", result[0], result[1], result[2], result[3]);
  MPI_Scan(mine, result, 2, function, op, MPI_COMM_WORLD);
  say("its scan: %ld %ld", result[0], result[1]);
  MPI_Ireduce(mine, result, 2, function, op, size - 1, MPI_COMM_WORLD, &request);
  MPI_Op_free(&op); /* the operation goes on */
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank == size - 1) say("its reduction: %ld %ld", result[0], result[1]);
  MPI_Allreduce(&one, &best, 1, record, greatest, MPI_COMM_WORLD);
  say("greatest record: %c %.1f", best.letter, best.value);
  MPI_Op_free(&greatest);
  MPI_Type_free(&function);
  MPI_Type_free(&record);
}

static void reductions(void) {
  struct {
    double value;
    int index;
  } mine = {(rank * 3) % 4, rank}, least, most;
  int number = rank + 1, result = 0, bits = 1 << (rank % 8), many[64], sum = 0;
  MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
  say("least %.0f at %d, most %.0f at %d", least.value, least.index, most.value, most.index);
  MPI_Allreduce(&bits, &result, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
  say("bits %d", result);
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &number, &number, 1, MPI_INT, MPI_PROD, 0, MPI_COMM_WORLD);
  if (rank == 0) say("product in place %d", number);
  number = rank + 1;
  MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  say("maximum in place %d", number);
  MPI_Exscan(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank > 0) say("sum before %d", sum);
  for (int i = 0; i < size; ++i)
    many[i] = rank + i * 10;
  MPI_Reduce_scatter_block(many, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  say("block of the sum %d", result);
  MPI_Reduce_scatter_block(MPI_IN_PLACE, many, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  say("block of the sum in place %d", many[0]);
}

static long sum_of(const int* numbers, int n) {
  long sum = 0;
  for (int i = 0; i < n; ++i)
    sum += (long)(i + 1) * numbers[i];
  return sum;
}

static void moves(void) {
  int mine[2] = {rank, rank * rank}, many[128], theirs[128];
  memset(many, 0, sizeof many);
  MPI_Gather(mine, 2, MPI_INT, many, 2, MPI_INT, 1, MPI_COMM_WORLD);
  if (rank == 1) say("gathered %ld", sum_of(many, 2 * size));
  if (rank == 0) memcpy(many, mine, sizeof mine);
  MPI_Gather(rank == 0 ? MPI_IN_PLACE : mine, 2, MPI_INT, many, 2, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank == 0) say("gathered in place %ld", sum_of(many, 2 * size));
  MPI_Scatter(many, 2, MPI_INT, rank == 0 ? MPI_IN_PLACE : mine, 2, MPI_INT, 0, MPI_COMM_WORLD);
  say("scattered %d %d", mine[0], mine[1]);
  memcpy(many + 2 * rank, mine, sizeof mine);
  MPI_Allgather(MPI_IN_PLACE, 2, MPI_INT, many, 2, MPI_INT, MPI_COMM_WORLD);
  say("gathered by all %ld", sum_of(many, 2 * size));
  for (int i = 0; i < 2 * size; ++i)
    many[i] = rank * 100 + i;
  MPI_Alltoall(many, 2, MPI_INT, theirs, 2, MPI_INT, MPI_COMM_WORLD);
  say("exchanged %ld", sum_of(theirs, 2 * size));
  MPI_Alltoall(MPI_IN_PLACE, 2, MPI_INT, many, 2, MPI_INT, MPI_COMM_WORLD);
  say("exchanged in place %ld", sum_of(many, 2 * size));
}

/* Several operations are under way at once, beside a message. */
static void nonblocking(void) {
  int sum = 0, root_sum = 0, prefix = 0, before = 0, block = 0, one = rank, got = -1;
  int number = rank == 1 ? 77 : 0, all[64], swapped[64], gathered[64], out = -1, many[64];
  MPI_Request r[12];
  MPI_Status statuses[12];
  for (int i = 0; i < size; ++i)
    many[i] = rank * 10 + i;
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 80, MPI_COMM_WORLD, &r[0]);
  MPI_Ibarrier(MPI_COMM_WORLD, &r[1]);
  MPI_Ibcast(&number, 1, MPI_INT, 1, MPI_COMM_WORLD, &r[2]);
  MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[3]);
  MPI_Ireduce(&rank, &root_sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD, &r[4]);
  MPI_Iscan(&rank, &prefix, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[5]);
  MPI_Iexscan(&rank, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[6]);
  MPI_Ireduce_scatter_block(many, &block, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r[7]);
  MPI_Iallgather(&one, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &r[8]);
  MPI_Ialltoall(many, 1, MPI_INT, swapped, 1, MPI_INT, MPI_COMM_WORLD, &r[9]);
  MPI_Igather(&one, 1, MPI_INT, gathered, 1, MPI_INT, 0, MPI_COMM_WORLD, &r[10]);
  MPI_Iscatter(many, 1, MPI_INT, &out, 1, MPI_INT, 0, MPI_COMM_WORLD, &r[11]);
  MPI_Send(&one, 1, MPI_INT, (rank + 1) % size, 80, MPI_COMM_WORLD);
  MPI_Waitall(12, r, statuses);
  say("under way: %d %d %d %d %d %d", got, number, sum, prefix, block, out);
  say("blocks under way: %ld %ld", sum_of(all, size), sum_of(swapped, size));
  if (rank == 0) say("at the root: %d %ld", root_sum, sum_of(gathered, size));
  if (rank > 0) say("before: %d", before);
}

int main(int argc, char** argv) {
  int flag = 0, provided = 0, length = 0;
  char name[MPI_MAX_PROCESSOR_NAME];
  double* longs = malloc(2 * kLong * sizeof *longs);
  MPI_Initialized(&flag);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Get_processor_name(name, &length);
  say("before %d, threads %d, clock %d, name %d", flag, provided >= MPI_THREAD_SERIALIZED,
      MPI_Wtime() > 0 && MPI_Wtick() > 0, length == (int)strlen(name));
  errors();
  blocking(longs, longs + kLong);
  requests(longs, longs + kLong);
  progress(longs, longs + kLong);
  records();
  columns();
  groups();
  communicators();
  own_operations();
  reductions();
  moves();
  nonblocking();
  fflush(stdout);
  MPI_Finalize();
  MPI_Finalized(&flag);
  say("after %d", flag);
  free(longs);
  return 0;
}
