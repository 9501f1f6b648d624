/* PMI-1 as a C library: libpmi.so.0 of ScELA, binary compatible with other libraries of that name.
 *
 * For programs and MPI libraries that call PMI instead of speaking its wire protocol. The library
 * works under any launcher that speaks PMI-1 on PMI_FD or PMI_PORT, and alone as a single rank.
 * Under scela-run, gets are answered from memory that the node's agent shares, without a system
 * call.
 *
 * Several threads may call at the same time, except PMI_Init and PMI_Finalize: they take turns.
 * Strings are C strings; lengths count the terminating zero. Every function returns PMI_SUCCESS or
 * one of the errors below.
 */
#ifndef SCELA_PMI_H
#define SCELA_PMI_H

/* The names are the interface's: NOLINTBEGIN(readability-identifier-naming) */
#ifdef __cplusplus
extern "C" {
#endif

#define PMI_SUCCESS 0
#define PMI_FAIL (-1)         /* refused, not found, or connection lost */
#define PMI_ERR_INIT 1        /* PMI_Init was not called */
#define PMI_ERR_NOMEM 2       /* no memory, or the buffer is too short */
#define PMI_ERR_INVALID_ARG 3 /* null, negative or contradictory */
#define PMI_ERR_INVALID_KEY 4
#define PMI_ERR_INVALID_KEY_LENGTH 5
#define PMI_ERR_INVALID_VAL 6
#define PMI_ERR_INVALID_VAL_LENGTH 7
#define PMI_ERR_INVALID_LENGTH 8
#define PMI_ERR_INVALID_NUM_ARGS 9
#define PMI_ERR_INVALID_ARGS 10
#define PMI_ERR_INVALID_NUM_PARSED 11
#define PMI_ERR_INVALID_KEYVALP 12
#define PMI_ERR_INVALID_SIZE 13
#define PMI_ERR_INVALID_KVS 14

typedef int PMI_BOOL;
#define PMI_TRUE 1
#define PMI_FALSE 0

typedef struct PMI_keyval_t {
  const char* key;
  char* val;
} PMI_keyval_t;

/* PMI_Init connects to the launcher, and blocks until it has answered; a second call changes
   nothing. `*spawned` becomes PMI_TRUE if PMI_Spawn_multiple started this program. PMI_Initialized
   sets its argument to PMI_TRUE from then on until PMI_Finalize, which says that this process needs
   PMI no more. PMI_Abort ends the whole job with this exit code; `error_msg` is shown and may be
   null. */
int PMI_Init(int* spawned);
int PMI_Initialized(PMI_BOOL* initialized);
int PMI_Finalize(void);
int PMI_Abort(int exit_code, const char error_msg[]); /* does not return */

/* The rank of this process, and its job. The universe size is the number of ranks that could run at
   once; -1 means without limit. The appnum is the program's position in the command, from 0. */
int PMI_Get_size(int* size);
int PMI_Get_rank(int* rank);
int PMI_Get_universe_size(int* size);
int PMI_Get_appnum(int* appnum);
/* Both ids are the name of the job's space of pairs. The third call returns the room for a name. */
int PMI_Get_id(char id_str[], int length);
int PMI_Get_kvs_domain_id(char id_str[], int length);
int PMI_Get_id_length_max(int* length);
/* The ranks of this node in ascending order, the caller included, and their number. */
int PMI_Get_clique_size(int* size);
int PMI_Get_clique_ranks(int ranks[], int length); /* length: in ranks, not bytes */

/* Blocks until all ranks of the job are in it. It makes every pair that was put before visible. */
int PMI_Barrier(void);

/* Pairs of a key and a value, in the job's one space. The first call copies its name to `kvsname`,
   a buffer of `length` bytes. The next three calls return the room in bytes that a name, a key and
   a value need. PMI_KVS_Put adds a pair or replaces its value. Other ranks are sure to see a pair
   only after the next PMI_Barrier. */
int PMI_KVS_Get_my_name(char kvsname[], int length);
int PMI_KVS_Get_name_length_max(int* length);
int PMI_KVS_Get_key_length_max(int* length);
int PMI_KVS_Get_value_length_max(int* length);
/* Returns PMI_FAIL: a job has one space of pairs. No server is asked. */
int PMI_KVS_Create(char kvsname[], int length);
int PMI_KVS_Put(const char kvsname[], const char key[], const char value[]);
/* Sends nothing, because each PMI_KVS_Put has sent its pair already. */
int PMI_KVS_Commit(const char kvsname[]);
/* Copies the value of the key to `value`, a buffer of `length` bytes. Does not wait for a pair.
   Returns PMI_FAIL if there is no such pair, and PMI_ERR_INVALID_VAL_LENGTH if the buffer is too
   short. */
int PMI_KVS_Get(const char kvsname[], const char key[], char value[], int length);
/* Both are obsolete and always return PMI_FAIL. */
int PMI_KVS_Iter_first(const char kvsname[], char key[], int key_len, char val[], int val_len);
int PMI_KVS_Iter_next(const char kvsname[], char key[], int key_len, char val[], int val_len);

/* Names that programs publish, each with a port, for connect and accept. The calls return PMI_FAIL
   if a name to publish exists already, or if another name does not exist. */
int PMI_Publish_name(const char service_name[], const char port[]);
int PMI_Unpublish_name(const char service_name[]);
/* `port` must have room for as many bytes as PMI_KVS_Get_value_length_max() returns. */
int PMI_Lookup_name(const char service_name[], char port[]);

/* Starts maxprocs[i] ranks of each cmds[i] and blocks until all run or one could not be started.
   The pairs of `preputs` are in the space of the new ranks from the start. `errors` has one entry
   per rank and may be null. A process without a launcher starts scela-run first. */
int PMI_Spawn_multiple(int count, const char* cmds[], const char** argvs[], const int maxprocs[],
                       const int info_sizes[], const PMI_keyval_t* infos[], int preput_size,
                       const PMI_keyval_t preputs[], int errors[]);

/* Command-line options of a launcher: "-key value" pairs at the front of `args`.
   PMI_Parse_option takes one pair, and *num_parsed becomes the number of words taken.
   PMI_Args_to_keyval takes all pairs, and *argcp and *argvp become what follows them. The caller
   frees the pairs with PMI_Free_keyvals. For PMI_Get_options, *length is the room of `str`, and
   becomes the room that its text needs. */
int PMI_Parse_option(int num_args, char* args[], int* num_parsed, PMI_keyval_t** keyvalp,
                     int* size);
int PMI_Args_to_keyval(int* argcp, char*** argvp, PMI_keyval_t** keyvalp, int* size);
int PMI_Free_keyvals(PMI_keyval_t keyvalp[], int size);
int PMI_Get_options(char* str, int* length);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(readability-identifier-naming) */
#endif
