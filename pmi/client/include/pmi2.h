/* PMI-2 as a C library: libpmi2.so.0 of ScELA, binary compatible with other libraries of that name.
 *
 * For programs and MPI libraries that call PMI-2 instead of speaking its wire protocol. The library
 * works under any launcher that speaks PMI-2 on PMI_FD or PMI_PORT, and alone as a single rank.
 * Under scela-run, gets of pairs are answered from memory that the node's agent shares, without a
 * system call.
 *
 * Several threads may call at the same time, except PMI2_Init and PMI2_Finalize: they take turns.
 * Every function except PMI2_Initialized returns PMI2_SUCCESS or an error below. If the launcher
 * answers with an error number of its own, the function returns that number.
 */
#ifndef SCELA_PMI2_H
#define SCELA_PMI2_H

/* The names are the interface's: NOLINTBEGIN(readability-identifier-naming) */
#ifdef __cplusplus
extern "C" {
#endif

#define PMI2_MAX_KEYLEN 64
#define PMI2_MAX_VALLEN 1024
#define PMI2_MAX_ATTRVALUE 1024
#define PMI2_ID_NULL (-1)

#define PMI2_SUCCESS 0
#define PMI2_FAIL (-1)
#define PMI2_ERR_INIT 1
#define PMI2_ERR_NOMEM 2
#define PMI2_ERR_INVALID_ARG 3
#define PMI2_ERR_INVALID_KEY 4
#define PMI2_ERR_INVALID_KEY_LENGTH 5
#define PMI2_ERR_INVALID_VAL 6
#define PMI2_ERR_INVALID_VAL_LENGTH 7
#define PMI2_ERR_INVALID_LENGTH 8
#define PMI2_ERR_INVALID_NUM_ARGS 9
#define PMI2_ERR_INVALID_ARGS 10
#define PMI2_ERR_INVALID_NUM_PARSED 11
#define PMI2_ERR_INVALID_KEYVALP 12
#define PMI2_ERR_INVALID_SIZE 13
#define PMI2_ERR_OTHER 14

/* Hints: a linked list; an entry without a key or a value is skipped. The layout is the one that
   MPI libraries use, whose lists begin with an entry that has no key. */
typedef struct MPID_Info {
  int handle;
  int pobj_mutex;
  int ref_count;
  struct MPID_Info* next;
  char* key;
  char* value;
} MPID_Info;

typedef struct PMI2_Connect_comm {
  int (*read)(void* buf, int maxlen, void* ctx);
  int (*write)(const void* buf, int len, void* ctx);
  void* ctx;
  int isMaster;
} PMI2_Connect_comm_t;

/* Connects to the launcher and blocks until it has answered. The arguments become 1 if a spawn call
   started this program, else 0; the number of ranks; this process's rank, from 0; and the program's
   position in the command, from 0. A second call returns PMI2_FAIL. */
int PMI2_Init(int* spawned, int* size, int* rank, int* appnum);
/* Says that this process needs PMI no more. */
int PMI2_Finalize(void);
/* Returns 1 between PMI2_Init and PMI2_Finalize, else 0. */
int PMI2_Initialized(void);
/* If `flag` is 0, only this process ends. Otherwise the whole job ends. */
int PMI2_Abort(int flag, const char msg[]); /* does not return */

/* Copies the job's name to `jobid`, a buffer of `jobid_size` bytes. */
int PMI2_Job_GetId(char jobid[], int jobid_size);
int PMI2_Job_GetRank(int* rank);
int PMI2_Info_GetSize(int* size); /* number of ranks of this node */
/* The servers of scela-run refuse both of these with PMI2_ERR_OTHER. */
int PMI2_Job_Connect(const char jobid[], PMI2_Connect_comm_t* conn);
int PMI2_Job_Disconnect(const char jobid[]);
/* Starts maxprocs[i] ranks of each cmds[i] and blocks until all run or one could not be started.
   The preput pairs are in the space of the new ranks from the start. `errors` has one entry per
   rank; it and `job_id` may be null. */
int PMI2_Job_Spawn(int count, const char* cmds[], int argcs[], const char** argvs[],
                   const int maxprocs[], const int info_keyval_sizes[],
                   const struct MPID_Info* info_keyval_vectors[], int preput_keyval_size,
                   const struct MPID_Info* preput_keyval_vector[], char job_id[], int job_id_size,
                   int errors[]);

/* Pairs. Other ranks are sure to see a pair only after the next fence, in which all ranks take
   part. If `jobid` is null, the pair is one of this job. `*vallen` becomes the value's length
   without its terminating zero; it is negative if the value was cut. */
int PMI2_KVS_Put(const char key[], const char value[]);
int PMI2_KVS_Fence(void);
int PMI2_KVS_Get(const char* jobid, int src_pmi_id, const char key[], char value[], int maxvalue,
                 int* vallen);

/* Attributes of the node, which its ranks put, and of the job. If `waitfor` is not 0, the call
   blocks until a rank of the node has put the attribute. `*found` becomes 1 if there is such an
   attribute, else 0. The IntArray calls parse a value such as "1,2,3", never wait, and give the
   number of integers in `*outlen`. */
int PMI2_Info_GetNodeAttr(const char name[], char value[], int valuelen, int* found, int waitfor);
int PMI2_Info_GetNodeAttrIntArray(const char name[], int array[], int arraylen, int* outlen,
                                  int* found);
int PMI2_Info_PutNodeAttr(const char name[], const char value[]);
int PMI2_Info_GetJobAttr(const char name[], char value[], int valuelen, int* found);
int PMI2_Info_GetJobAttrIntArray(const char name[], int array[], int arraylen, int* outlen,
                                 int* found);

/* Names that programs publish, for connect and accept. `info_ptr` has hints, which the servers of
   scela-run ignore, and may be null. */
int PMI2_Nameserv_publish(const char service_name[], const struct MPID_Info* info_ptr,
                          const char port[]);
int PMI2_Nameserv_lookup(const char service_name[], const struct MPID_Info* info_ptr, char port[],
                         int port_len);
int PMI2_Nameserv_unpublish(const char service_name[], const struct MPID_Info* info_ptr);

/* Blocks until every rank of the job has called it with a value of its own. `*rank` becomes the
   caller's position in a ring of all ranks, and `*ranks` their number. `left` and `right`, buffers
   of `maxvalue` bytes, get the values of its two neighbours. */
int PMIX_Ring(const char value[], int* rank, int* ranks, char left[], char right[], int maxvalue);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(readability-identifier-naming) */
#endif
