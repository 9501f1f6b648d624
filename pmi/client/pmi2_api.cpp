// The functions of pmi/client/include/pmi2.h over one connection. No function throws on purpose.
// PMI2_Abort prints its message. PMI2_Init prints if it fails, or if it finds no PMI server in a
// job of several ranks. No other function prints.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "common/core/text.h"
#include "pmi/client/connection.h"
#include "pmi/client/include/pmi2.h"
#include "pmi/client/own_pairs.h"
#include "pmi/client/process_mapping.h"
#include "pmi/protocol/limits.h"
#include "pmi/protocol/pmi2/pmi2_wire.h"

namespace {

using scela::cat;
using scela::pmi::Pmi2Message;
using scela::pmi::Pmi2Writer;
using scela::pmi::client::Connection;
using scela::pmi::client::is_job_of_scela;
using scela::pmi::client::OwnPairs;

struct Library {
  bool initialized = false;
  std::optional<Connection> connection;  // absent if the process is alone
  std::string job_id;
  OwnPairs own_pairs;  // used if the process is alone
  OwnPairs own_attributes;
};

Library& library() {
  static Library one;
  return one;
}

int number_in(const Pmi2Message& message, std::string_view key, int otherwise) {
  const auto text = message.find(key);
  if (!text) return otherwise;
  int number = otherwise;
  std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

// Returns the answer to a request, or std::nullopt if the connection is lost or the launcher sent
// something else.
std::optional<Pmi2Message> exchange(const Pmi2Writer& request, const std::string& command) {
  auto payload = library().connection->ask_framed(request.text());
  if (!payload) return std::nullopt;
  auto message = scela::pmi::parse_message(*payload);
  if (!message || message->command() != cat(command, "-response")) return std::nullopt;
  return std::move(*message);
}

// Sends a request and returns only the launcher's rc.
int outcome(const Pmi2Writer& request, const std::string& command) {
  const auto answer = exchange(request, command);
  return answer ? number_in(*answer, "rc", PMI2_FAIL) : PMI2_FAIL;
}

// Copies as much of `text` as fits into `room` bytes, with a terminating zero. Returns true if all
// of `text` fits.
bool give(std::string_view text, char* out, int room) {
  if (out == nullptr || room < 1) return text.empty();
  const std::size_t most = static_cast<std::size_t>(room) - 1;
  const std::size_t size = std::min(text.size(), most);
  std::memcpy(out, text.data(), size);
  out[size] = '\0';
  return size == text.size();
}

int check_key(const char* key) {
  if (!library().initialized) return PMI2_ERR_INIT;
  if (key == nullptr || *key == '\0') return PMI2_ERR_INVALID_KEY;
  return std::strlen(key) > PMI2_MAX_KEYLEN ? PMI2_ERR_INVALID_KEY_LENGTH : PMI2_SUCCESS;
}

int check_value(const char* value) {
  if (value == nullptr) return PMI2_ERR_INVALID_VAL;
  return std::strlen(value) > PMI2_MAX_VALLEN ? PMI2_ERR_INVALID_VAL_LENGTH : PMI2_SUCCESS;
}

int attribute(const Pmi2Writer& request, const char* command, char value[], int room, int* found) {
  const auto answer = exchange(request, command);
  if (!answer) return PMI2_FAIL;
  if (const int rc = number_in(*answer, "rc", PMI2_FAIL); rc != PMI2_SUCCESS) return rc;
  *found = answer->find("found") == "TRUE" ? 1 : 0;
  if (*found != 0 && !give(answer->find("value").value_or(""), value, room)) {
    return PMI2_ERR_INVALID_VAL_LENGTH;
  }
  return PMI2_SUCCESS;
}

// Parses a list such as "1,2,3".
int numbers_in(const char* text, int array[], int room, int* count) {
  *count = 0;
  for (const char* at = text; *at != '\0';) {
    int number = 0;
    const auto [end, error] = std::from_chars(at, text + std::strlen(text), number);
    if (error != std::errc()) return PMI2_ERR_INVALID_VAL;
    if (*count == room) return PMI2_ERR_INVALID_SIZE;
    array[(*count)++] = number;
    at = *end == ',' ? end + 1 : end;
    if (at == end && *end != '\0') return PMI2_ERR_INVALID_VAL;
  }
  return PMI2_SUCCESS;
}

void add_hints(Pmi2Writer& request, const MPID_Info* info) {
  int count = 0;
  std::vector<const MPID_Info*> hints;
  for (; info != nullptr; info = info->next) {
    if (info->key != nullptr && info->value != nullptr) hints.push_back(info);
  }
  request.add("infokeycount", static_cast<long long>(hints.size()));
  for (const MPID_Info* const hint : hints) {
    request.add(cat("infokey", count), hint->key);
    request.add(cat("infoval", count), hint->value);
    ++count;
  }
}

int init_failed(const scela::Error& error) {
  std::fprintf(stderr, "libpmi2: PMI2_Init: %s\n", error.text().c_str());
  return PMI2_FAIL;
}

}  // namespace

extern "C" {

int PMI2_Init(int* spawned, int* size, int* rank, int* appnum) {
  if (spawned == nullptr || size == nullptr || rank == nullptr || appnum == nullptr) {
    return PMI2_ERR_INVALID_ARG;
  }
  Library& lib = library();
  if (lib.initialized) return PMI2_FAIL;
  const char* const told = std::getenv("PMI_SPAWNED");
  *spawned = told != nullptr && std::atoi(told) != 0 ? 1 : 0;
  *size = 1;
  *rank = 0;
  *appnum = 0;
  lib.job_id = "alone";
  auto opened = Connection::open("libpmi2");
  if (!opened) return init_failed(opened.error());
  lib.connection = std::move(*opened);
  if (lib.connection) {
    const auto chosen =
        lib.connection->ask("cmd=init pmi_version=2 pmi_subversion=0", "response_to_init");
    if (!chosen) return init_failed(chosen.error());
    if (!chosen->ok() || chosen->number("pmi_version") != 2) return PMI2_FAIL;
    Pmi2Writer request("fullinit");
    const char* const job = std::getenv("PMI_JOBID");
    if (job != nullptr) request.add("pmijobid", job);
    request.add("pmirank", static_cast<long long>(lib.connection->rank()));
    request.add("threaded", "FALSE");
    const auto answer = exchange(request, "fullinit");
    if (!answer || number_in(*answer, "rc", PMI2_FAIL) != PMI2_SUCCESS) return PMI2_FAIL;
    *size = number_in(*answer, "size", 0);
    *rank = number_in(*answer, "rank", -1);
    *appnum = number_in(*answer, "appnum", 0);
    if (*rank < 0 || *size <= *rank) return PMI2_FAIL;
    const auto id = exchange(Pmi2Writer("job-getid"), "job-getid");
    if (!id) return PMI2_FAIL;
    lib.job_id = id->find("jobid").value_or("");
    lib.connection->attach_framed(lib.job_id);
  }
  lib.initialized = true;
  return PMI2_SUCCESS;
}

int PMI2_Finalize(void) {
  Library& lib = library();
  if (!lib.initialized) return PMI2_ERR_INIT;
  const int result = lib.connection ? outcome(Pmi2Writer("finalize"), "finalize") : PMI2_SUCCESS;
  lib = Library();
  return result;
}

int PMI2_Initialized(void) {
  return library().initialized ? 1 : 0;
}

int PMI2_Abort(int flag, const char msg[]) {
  Library& lib = library();
  // If only this rank ends, its launcher learns of it by the exit status and prints no message.
  const bool is_told = lib.connection && flag != 0 && is_job_of_scela(lib.job_id);
  if (msg != nullptr && !is_told) std::fprintf(stderr, "%s\n", msg);
  if (lib.connection) {
    Pmi2Writer request("abort");
    request.add("isworld", flag != 0 ? "TRUE" : "FALSE");
    request.add("msg", msg == nullptr ? "" : msg);
    lib.connection->say_framed(request.text());
  }
  std::_Exit(14);
}

int PMI2_Job_GetId(char jobid[], int jobid_size) {
  if (!library().initialized) return PMI2_ERR_INIT;
  if (jobid == nullptr) return PMI2_ERR_INVALID_ARG;
  return give(library().job_id, jobid, jobid_size) ? PMI2_SUCCESS : PMI2_ERR_INVALID_LENGTH;
}

int PMI2_Job_GetRank(int* rank) {
  if (!library().initialized) return PMI2_ERR_INIT;
  if (rank == nullptr) return PMI2_ERR_INVALID_ARG;
  *rank = library().connection ? library().connection->rank() : 0;
  return PMI2_SUCCESS;
}

int PMI2_Info_GetSize(int* size) {
  Library& lib = library();
  if (!lib.initialized) return PMI2_ERR_INIT;
  if (size == nullptr) return PMI2_ERR_INVALID_ARG;
  *size = 1;
  if (!lib.connection) return PMI2_SUCCESS;
  std::string mapping(PMI2_MAX_ATTRVALUE + 1, '\0');
  int found = 0;
  const int result = PMI2_Info_GetJobAttr("PMI_process_mapping", mapping.data(),
                                          static_cast<int>(mapping.size()), &found);
  if (result != PMI2_SUCCESS || found == 0) return PMI2_FAIL;
  const auto beside = scela::pmi::client::ranks_beside(mapping.c_str(), lib.connection->rank(),
                                                       lib.connection->size());
  if (beside.empty()) return PMI2_FAIL;
  *size = static_cast<int>(beside.size());
  return PMI2_SUCCESS;
}

int PMI2_Job_Connect(const char jobid[], PMI2_Connect_comm_t* conn) {
  if (!library().initialized) return PMI2_ERR_INIT;
  if (jobid == nullptr || conn == nullptr) return PMI2_ERR_INVALID_ARG;
  if (!library().connection) return PMI2_FAIL;
  return outcome(Pmi2Writer("job-connect").add("jobid", jobid), "job-connect");
}

int PMI2_Job_Disconnect(const char jobid[]) {
  if (!library().initialized) return PMI2_ERR_INIT;
  if (jobid == nullptr) return PMI2_ERR_INVALID_ARG;
  if (!library().connection) return PMI2_FAIL;
  return outcome(Pmi2Writer("job-disconnect").add("jobid", jobid), "job-disconnect");
}

int PMI2_Job_Spawn(int count, const char* cmds[], int argcs[], const char** argvs[],
                   const int maxprocs[], const int info_keyval_sizes[],
                   const struct MPID_Info* info_keyval_vectors[], int preput_keyval_size,
                   const struct MPID_Info* preput_keyval_vector[], char job_id[], int job_id_size,
                   int errors[]) {
  if (!library().initialized) return PMI2_ERR_INIT;
  if (count < 1 || cmds == nullptr || maxprocs == nullptr) return PMI2_ERR_INVALID_ARG;
  if (!library().connection) return PMI2_FAIL;
  Pmi2Writer request("spawn");
  request.add("ncmds", static_cast<long long>(count));
  request.add("preputcount", static_cast<long long>(preput_keyval_size));
  for (int i = 0; i < preput_keyval_size; ++i) {
    request.add(cat("ppkey", i), preput_keyval_vector[i]->key);
    request.add(cat("ppval", i), preput_keyval_vector[i]->value);
  }
  int processes = 0;
  for (int i = 0; i < count; ++i) {
    if (maxprocs[i] < 1 || cmds[i] == nullptr || *cmds[i] == '\0') return PMI2_ERR_INVALID_ARG;
    processes += maxprocs[i];
    request.add("subcmd", cmds[i]);
    request.add("maxprocs", static_cast<long long>(maxprocs[i]));
    const int arguments = argcs == nullptr || argvs == nullptr ? 0 : argcs[i];
    request.add("argc", static_cast<long long>(arguments));
    for (int j = 0; j < arguments; ++j)
      request.add(cat("argv", j), argvs[i][j]);
    const bool hints = info_keyval_sizes != nullptr && info_keyval_sizes[i] > 0;
    add_hints(request, hints && info_keyval_vectors != nullptr ? info_keyval_vectors[i] : nullptr);
  }
  if (request.text().size() > scela::pmi::kMaxSpawnRequest) return PMI2_ERR_INVALID_LENGTH;
  const auto answer = exchange(request, "spawn");
  const int rc = answer ? number_in(*answer, "rc", PMI2_FAIL) : PMI2_FAIL;
  std::string codes = answer ? std::string(answer->find("errcodes").value_or("")) : "";
  for (int i = 0; errors != nullptr && i < processes; ++i) {
    const std::size_t comma = std::min(codes.find(','), codes.size());
    errors[i] = comma == 0 ? rc : std::atoi(codes.c_str());
    codes.erase(0, std::min(comma + 1, codes.size()));
  }
  if (rc != PMI2_SUCCESS) return rc;
  return job_id == nullptr || give(answer->find("jobid").value_or(""), job_id, job_id_size)
             ? PMI2_SUCCESS
             : PMI2_ERR_INVALID_LENGTH;
}

int PMI2_KVS_Put(const char key[], const char value[]) {
  if (const int wrong = check_key(key); wrong != PMI2_SUCCESS) return wrong;
  if (const int wrong = check_value(value); wrong != PMI2_SUCCESS) return wrong;
  Library& lib = library();
  if (!lib.connection) {
    lib.own_pairs.put(key, value);
    return PMI2_SUCCESS;
  }
  return outcome(Pmi2Writer("kvs-put").add("key", key).add("value", value), "kvs-put");
}

int PMI2_KVS_Fence(void) {
  if (!library().initialized) return PMI2_ERR_INIT;
  if (!library().connection) return PMI2_SUCCESS;
  return outcome(Pmi2Writer("kvs-fence"), "kvs-fence");
}

int PMI2_KVS_Get(const char* jobid, int src_pmi_id, const char key[], char value[], int maxvalue,
                 int* vallen) {
  if (const int wrong = check_key(key); wrong != PMI2_SUCCESS) return wrong;
  if (value == nullptr || vallen == nullptr) return PMI2_ERR_INVALID_ARG;
  if (maxvalue < 1) return PMI2_ERR_INVALID_VAL_LENGTH;
  Library& lib = library();
  *vallen = 0;
  std::string found;
  if (!lib.connection) {
    const auto at = lib.own_pairs.find(key);
    if (!at) return PMI2_FAIL;
    found = *at;
  } else {
    const bool own_job = jobid == nullptr || lib.job_id == jobid;
    const auto room = static_cast<std::uint64_t>(maxvalue) - 1;
    const auto size = own_job ? lib.connection->shared(key, value, room) : std::nullopt;
    if (size) {
      value[*size] = '\0';
      *vallen = static_cast<int>(*size);
      return PMI2_SUCCESS;
    }
    Pmi2Writer request("kvs-get");
    request.add("jobid", jobid == nullptr ? lib.job_id : std::string(jobid));
    request.add("srcid", static_cast<long long>(src_pmi_id)).add("key", key);
    const auto answer = exchange(request, "kvs-get");
    if (!answer) return PMI2_FAIL;
    if (const int rc = number_in(*answer, "rc", PMI2_FAIL); rc != PMI2_SUCCESS) return rc;
    if (answer->find("found") != "TRUE") return PMI2_FAIL;
    found = answer->find("value").value_or("");
  }
  const int length = static_cast<int>(found.size());
  *vallen = give(found, value, maxvalue) ? length : -length;
  return PMI2_SUCCESS;
}

int PMI2_Info_GetNodeAttr(const char name[], char value[], int valuelen, int* found, int waitfor) {
  if (const int wrong = check_key(name); wrong != PMI2_SUCCESS) return wrong;
  int unused = 0;
  int* const out = found == nullptr ? &unused : found;
  *out = 0;
  Library& lib = library();
  if (!lib.connection) {
    const auto at = lib.own_attributes.find(name);
    if (!at) return waitfor != 0 ? PMI2_FAIL : PMI2_SUCCESS;
    *out = 1;
    return give(*at, value, valuelen) ? PMI2_SUCCESS : PMI2_ERR_INVALID_VAL_LENGTH;
  }
  Pmi2Writer request("info-getnodeattr");
  request.add("key", name).add("wait", waitfor != 0 ? "TRUE" : "FALSE");
  return attribute(request, "info-getnodeattr", value, valuelen, out);
}

int PMI2_Info_PutNodeAttr(const char name[], const char value[]) {
  if (const int wrong = check_key(name); wrong != PMI2_SUCCESS) return wrong;
  if (const int wrong = check_value(value); wrong != PMI2_SUCCESS) return wrong;
  Library& lib = library();
  if (!lib.connection) {
    lib.own_attributes.put(name, value);
    return PMI2_SUCCESS;
  }
  return outcome(Pmi2Writer("info-putnodeattr").add("key", name).add("value", value),
                 "info-putnodeattr");
}

int PMI2_Info_GetJobAttr(const char name[], char value[], int valuelen, int* found) {
  if (const int wrong = check_key(name); wrong != PMI2_SUCCESS) return wrong;
  int unused = 0;
  int* const out = found == nullptr ? &unused : found;
  *out = 0;
  if (!library().connection) return PMI2_SUCCESS;
  return attribute(Pmi2Writer("info-getjobattr").add("key", name), "info-getjobattr", value,
                   valuelen, out);
}

int PMI2_Info_GetNodeAttrIntArray(const char name[], int array[], int arraylen, int* outlen,
                                  int* found) {
  if (array == nullptr || outlen == nullptr || found == nullptr) return PMI2_ERR_INVALID_ARG;
  std::string text(PMI2_MAX_ATTRVALUE + 1, '\0');
  const int result =
      PMI2_Info_GetNodeAttr(name, text.data(), static_cast<int>(text.size()), found, 0);
  *outlen = 0;
  if (result != PMI2_SUCCESS || *found == 0) return result;
  return numbers_in(text.c_str(), array, arraylen, outlen);
}

int PMI2_Info_GetJobAttrIntArray(const char name[], int array[], int arraylen, int* outlen,
                                 int* found) {
  if (array == nullptr || outlen == nullptr || found == nullptr) return PMI2_ERR_INVALID_ARG;
  std::string text(PMI2_MAX_ATTRVALUE + 1, '\0');
  const int result = PMI2_Info_GetJobAttr(name, text.data(), static_cast<int>(text.size()), found);
  *outlen = 0;
  if (result != PMI2_SUCCESS || *found == 0) return result;
  return numbers_in(text.c_str(), array, arraylen, outlen);
}

int PMI2_Nameserv_publish(const char service_name[], const struct MPID_Info* info_ptr,
                          const char port[]) {
  if (!library().initialized) return PMI2_ERR_INIT;
  if (service_name == nullptr || port == nullptr) return PMI2_ERR_INVALID_ARG;
  if (!library().connection) return PMI2_FAIL;
  Pmi2Writer request("name-publish");
  request.add("name", service_name).add("port", port);
  add_hints(request, info_ptr);
  return outcome(request, "name-publish");
}

int PMI2_Nameserv_lookup(const char service_name[], const struct MPID_Info* info_ptr, char port[],
                         int port_len) {
  if (!library().initialized) return PMI2_ERR_INIT;
  if (service_name == nullptr || port == nullptr) return PMI2_ERR_INVALID_ARG;
  if (!library().connection) return PMI2_FAIL;
  Pmi2Writer request("name-lookup");
  request.add("name", service_name);
  add_hints(request, info_ptr);
  const auto answer = exchange(request, "name-lookup");
  if (!answer) return PMI2_FAIL;
  if (const int rc = number_in(*answer, "rc", PMI2_FAIL); rc != PMI2_SUCCESS) return rc;
  const auto found = answer->find("port") ? answer->find("port") : answer->find("value");
  if (!found) return PMI2_FAIL;
  return give(*found, port, port_len) ? PMI2_SUCCESS : PMI2_ERR_INVALID_LENGTH;
}

int PMI2_Nameserv_unpublish(const char service_name[], const struct MPID_Info* info_ptr) {
  if (!library().initialized) return PMI2_ERR_INIT;
  if (service_name == nullptr) return PMI2_ERR_INVALID_ARG;
  if (!library().connection) return PMI2_FAIL;
  Pmi2Writer request("name-unpublish");
  request.add("name", service_name);
  add_hints(request, info_ptr);
  return outcome(request, "name-unpublish");
}

int PMIX_Ring(const char value[], int* rank, int* ranks, char left[], char right[], int maxvalue) {
  if (!library().initialized) return PMI2_ERR_INIT;
  if (value == nullptr || rank == nullptr || ranks == nullptr || left == nullptr ||
      right == nullptr) {
    return PMI2_ERR_INVALID_ARG;
  }
  Library& lib = library();
  *rank = 0;
  *ranks = 1;
  std::string left_word = value;
  std::string right_word = value;
  if (lib.connection) {
    Pmi2Writer request("ring");
    request.add("ring-count", 1).add("ring-left", value).add("ring-right", value);
    const auto answer = exchange(request, "ring");
    if (!answer) return PMI2_FAIL;
    if (const int rc = number_in(*answer, "rc", PMI2_FAIL); rc != PMI2_SUCCESS) return rc;
    *rank = number_in(*answer, "ring-count", 0);
    *ranks = lib.connection->size();
    left_word = answer->find("ring-left").value_or("");
    right_word = answer->find("ring-right").value_or("");
  }
  return give(left_word, left, maxvalue) && give(right_word, right, maxvalue)
             ? PMI2_SUCCESS
             : PMI2_ERR_INVALID_LENGTH;
}

}  // extern "C"
