/* A small resource manager with a PMIx server: pmix_manager HOW DIRECTORY HOST:SLOTS...

   It has started a batch script as the only process of the namespace "batch", and prints the
   environment of that process, then an empty line. Tools that connect may ask for its allocation.
   Lines on its standard input: "down HOST", "offline HOST" and "nameless" raise an event. "script"
   prints "script there" if the batch script has not gone for the server, and no tool has come in
   its name. Its end is the end of the manager.

   HOW it answers: nodes (PMIX_QUERY_ALLOCATION), list (only PMIX_ALLOCATED_NODELIST), many (as
   nodes, but the script has four processes), none (no query that it knows), empty (no nodes),
   mute (no answer to a query), deaf (no answer to a tool), closed (it does not say that it takes
   tools, and libpmix 4.2 would crash if one came), die (at a query), and damaged: answers of other
   types, named in place of the hosts. */
#include <pmix.h>
#include <pmix_server.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* libpmix before 5 lacks the name. */
#define QUERY_ALLOCATION "pmix.query.allc"

static const char* how;
static char** nodes;
static size_t node_count;
static volatile int script_gone;
static volatile int script_doubled; /* a tool has come in the script's name */

static int is(const char* name) {
  return strcmp(how, name) == 0;
}

static void check(const char* what, pmix_status_t status) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return;
  fprintf(stderr, "pmix_manager: %s: %s\n", what, PMIx_Error_string(status));
  exit(1);
}

static void split(const char* node, char* name, uint32_t* slots) {
  const char* colon = strchr(node, ':');
  const size_t length = colon == NULL ? strlen(node) : (size_t)(colon - node);
  snprintf(name, 256, "%.*s", (int)length, node);
  *slots = colon == NULL ? 0 : (uint32_t)atoi(colon + 1);
}

static void add_node(void* list, const char* node) {
  char name[256];
  uint32_t slots = 0;
  split(node, name, &slots);
  void* inner = PMIx_Info_list_start();
  PMIx_Info_list_add(inner, PMIX_HOSTNAME, name, PMIX_STRING);
  if (slots > 0) PMIx_Info_list_add(inner, PMIX_NUM_SLOTS, &slots, PMIX_UINT32);
  pmix_data_array_t array;
  check("convert", PMIx_Info_list_convert(inner, &array));
  PMIx_Info_list_release(inner);
  PMIx_Info_list_add(list, PMIX_NODE_INFO, &array, PMIX_DATA_ARRAY);
  PMIX_DATA_ARRAY_DESTRUCT(&array);
}

/* An array of nodes, as PRRTE answers. */
static void answer_nodes(void* results) {
  void* list = PMIx_Info_list_start();
  for (size_t i = 0; i < node_count; ++i)
    add_node(list, nodes[i]);
  pmix_data_array_t array = {.type = PMIX_INFO, .size = 0, .array = NULL};
  if (node_count > 0) check("convert", PMIx_Info_list_convert(list, &array));
  PMIx_Info_list_release(list);
  PMIx_Info_list_add(results, QUERY_ALLOCATION, &array, PMIX_DATA_ARRAY);
}

static void answer_list(void* results) {
  char text[4096] = "";
  for (size_t i = 0; i < node_count; ++i) {
    char name[256];
    uint32_t slots = 0;
    split(nodes[i], name, &slots);
    if (i > 0) strcat(text, ",");
    strcat(text, name);
  }
  PMIx_Info_list_add(results, PMIX_ALLOCATED_NODELIST, text, PMIX_STRING);
}

static void answer_damaged(void* results) {
  const char* kind = nodes[0];
  const uint32_t number = 7;
  if (strcmp(kind, "number") == 0)
    PMIx_Info_list_add(results, QUERY_ALLOCATION, &number, PMIX_UINT32);
  if (strcmp(kind, "text") == 0) PMIx_Info_list_add(results, QUERY_ALLOCATION, "a,b", PMIX_STRING);
  if (strcmp(kind, "line") == 0) add_node(results, "a\nhost b");
  void* list = PMIx_Info_list_start();
  if (strcmp(kind, "flat") == 0) PMIx_Info_list_add(list, PMIX_NODE_INFO, "a", PMIX_STRING);
  if (strcmp(kind, "break") == 0) add_node(list, "a\nhost b:2");
  if (strcmp(kind, "nameless") == 0) add_node(list, ":2");
  if (strcmp(kind, "twice") == 0) {
    add_node(list, "a:1");
    add_node(list, "a:2");
  }
  pmix_data_array_t array;
  if (PMIx_Info_list_convert(list, &array) == PMIX_SUCCESS)
    PMIx_Info_list_add(results, QUERY_ALLOCATION, &array, PMIX_DATA_ARRAY);
  PMIx_Info_list_release(list);
}

static int asks_for(const pmix_query_t* queries, size_t count, const char* key) {
  for (size_t i = 0; i < count; ++i)
    for (char** one = queries[i].keys; one != NULL && *one != NULL; ++one)
      if (strcmp(*one, key) == 0) return 1;
  return 0;
}

static pmix_status_t query(pmix_proc_t* from, pmix_query_t* queries, size_t count,
                           pmix_info_cbfunc_t call, void* data) {
  (void)from;
  if (is("die")) _exit(3);
  if (is("mute")) return PMIX_SUCCESS;
  void* results = PMIx_Info_list_start();
  const int of_nodes = asks_for(queries, count, QUERY_ALLOCATION);
  if (of_nodes && (is("nodes") || is("many") || is("empty"))) answer_nodes(results);
  if (of_nodes && is("damaged")) answer_damaged(results);
  if (is("list") && asks_for(queries, count, PMIX_ALLOCATED_NODELIST)) answer_list(results);
  pmix_data_array_t array;
  const pmix_status_t status = PMIx_Info_list_convert(results, &array);
  PMIx_Info_list_release(results);
  if (status != PMIX_SUCCESS) return PMIX_ERR_NOT_SUPPORTED; /* it has no answer */
  call(PMIX_SUCCESS, array.array, array.size, data, NULL, NULL);
  return PMIX_SUCCESS;
}

static void tool_connected(pmix_info_t* infos, size_t count, pmix_tool_connection_cbfunc_t call,
                           void* data) {
  static unsigned next = 1;
  for (size_t i = 0; i < count; ++i) {
    if (PMIX_CHECK_KEY(&infos[i], PMIX_NSPACE) && strcmp(infos[i].value.data.string, "batch") == 0)
      script_doubled = 1;
  }
  if (is("deaf")) return;
  pmix_proc_t proc;
  PMIX_PROC_CONSTRUCT(&proc);
  snprintf(proc.nspace, sizeof proc.nspace, "manager-tool-%u", next++);
  proc.rank = 0;
  call(is("closed") ? PMIX_ERR_NO_PERMISSIONS : PMIX_SUCCESS, &proc, data);
}

static pmix_status_t client_gone(const pmix_proc_t* proc, void* object, pmix_op_cbfunc_t call,
                                 void* data) {
  (void)object;
  (void)call;
  (void)data;
  if (strcmp(proc->nspace, "batch") == 0) script_gone = 1;
  return PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t register_events(pmix_status_t* codes, size_t code_count,
                                     const pmix_info_t infos[], size_t count, pmix_op_cbfunc_t call,
                                     void* data) {
  (void)codes;
  (void)code_count;
  (void)infos;
  (void)count;
  (void)call;
  (void)data;
  return PMIX_OPERATION_SUCCEEDED;
}

static void lost_client(size_t handler, pmix_status_t status, const pmix_proc_t* source,
                        pmix_info_t info[], size_t count, pmix_info_t* results,
                        size_t results_count, pmix_event_notification_cbfunc_fn_t call,
                        void* data) {
  (void)handler;
  (void)status;
  (void)info;
  (void)count;
  (void)results;
  (void)results_count;
  if (strcmp(source->nspace, "batch") == 0) script_gone = 1;
  call(PMIX_EVENT_ACTION_COMPLETE, NULL, 0, NULL, NULL, data);
}

static void register_script(char*** environment) {
  pmix_info_t infos[2];
  const uint32_t size = is("many") ? 4 : 1;
  char *map = NULL, *ranks = NULL;
  char host[256];
  gethostname(host, sizeof host);
  check("nodes", PMIx_generate_regex(host, &map));
  check("ranks", PMIx_generate_ppn(size == 4 ? "0,1,2,3" : "0", &ranks));
  PMIX_INFO_LOAD(&infos[0], PMIX_NODE_MAP, map,
                 strncmp(map, "blob", 4) == 0 ? PMIX_REGEX : PMIX_STRING);
  PMIX_INFO_LOAD(&infos[1], PMIX_PROC_MAP, ranks,
                 strncmp(ranks, "blob", 4) == 0 ? PMIX_REGEX : PMIX_STRING);
  pmix_proc_t script;
  PMIX_PROC_LOAD(&script, "batch", 0);
  check("namespace", PMIx_server_register_nspace(script.nspace, (int)size, infos, 2, NULL, NULL));
  check("client", PMIx_server_register_client(&script, getuid(), getgid(), NULL, NULL, NULL));
  check("environment", PMIx_server_setup_fork(&script, environment));
}

static void raise_event(pmix_status_t code, const char* host) {
  pmix_info_t info;
  PMIX_INFO_LOAD(&info, PMIX_HOSTNAME, host, PMIX_STRING);
  pmix_proc_t self;
  PMIX_PROC_LOAD(&self, "manager", 0);
  check("event", PMIx_Notify_event(code, &self, PMIX_RANGE_SESSION, host == NULL ? NULL : &info,
                                   host == NULL ? 0 : 1, NULL, NULL));
}

int main(int argc, char** argv) {
  if (argc < 3) return 64;
  how = argv[1];
  nodes = argv + 3;
  node_count = (size_t)argc - 3;
  static pmix_server_module_t module;
  module.query = query;
  module.tool_connected = tool_connected;
  module.client_finalized = client_gone;
  module.register_events = register_events;
  pmix_info_t infos[4];
  const int yes = 1;
  const uint32_t rank = 0;
  PMIX_INFO_LOAD(&infos[0], PMIX_SERVER_NSPACE, "manager", PMIX_STRING);
  PMIX_INFO_LOAD(&infos[1], PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
  PMIX_INFO_LOAD(&infos[2], PMIX_SERVER_TMPDIR, argv[2], PMIX_STRING);
  PMIX_INFO_LOAD(&infos[3], PMIX_SERVER_TOOL_SUPPORT, &yes, PMIX_BOOL);
  check("init", PMIx_server_init(&module, infos, is("closed") ? 3 : 4));
  pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
  PMIx_Register_event_handler(&lost, 1, NULL, 0, lost_client, NULL, NULL);
  char** environment = NULL;
  register_script(&environment);
  for (char** one = environment; one != NULL && *one != NULL; ++one)
    puts(*one);
  puts("");
  fflush(stdout);
  char line[512];
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "down ", 5) == 0) raise_event(PMIX_EVENT_NODE_DOWN, line + 5);
    if (strncmp(line, "offline ", 8) == 0) raise_event(PMIX_EVENT_NODE_OFFLINE, line + 8);
    if (strcmp(line, "nameless") == 0) raise_event(PMIX_EVENT_NODE_DOWN, NULL);
    if (strcmp(line, "script") == 0) {
      puts(script_gone ? "script gone" : script_doubled ? "script doubled" : "script there");
    }
    fflush(stdout);
  }
  PMIx_server_finalize();
  return 0;
}
