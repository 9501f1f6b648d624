// The functions of pmi/client/include/pmi.h over one connection. No function throws on purpose.
// PMI_Abort prints its message. PMI_Init prints if it fails, or if it finds no PMI server in a job
// of several ranks. A spawn prints if a lone process cannot start a launcher. No other function
// prints.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "common/core/text.h"
#include "pmi/client/connection.h"
#include "pmi/client/include/pmi.h"
#include "pmi/client/library.h"
#include "pmi/client/process_mapping.h"
#include "pmi/protocol/limits.h"

namespace scela::pmi::client {
Library& library() {
  static Library one;
  return one;
}
}  // namespace scela::pmi::client

namespace {

using scela::cat;
using scela::pmi::client::Connection;
using scela::pmi::client::Fields;
using scela::pmi::client::is_job_of_scela;
using scela::pmi::client::kOwnSpace;
using scela::pmi::client::Library;
using scela::pmi::client::library;

std::optional<Fields> ask(const std::string& line, const char* command) {
  auto answer = library().connection->ask(line, command);
  if (!answer) return std::nullopt;
  return std::move(*answer);
}

// Copies `text` with a terminating zero. Returns `too_long` if it does not fit into `length` bytes.
int give(std::string_view text, char* out, int length, int too_long) {
  if (out == nullptr) return PMI_ERR_INVALID_ARG;
  if (length < 0 || text.size() >= static_cast<std::size_t>(length)) return too_long;
  std::memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
  return PMI_SUCCESS;
}

int give(int number, int* out) {
  if (!library().initialized) return PMI_ERR_INIT;
  if (out == nullptr) return PMI_ERR_INVALID_ARG;
  *out = number;
  return PMI_SUCCESS;
}

// Asks for one number of the job by `line` and takes it from the answer's field `name`. The number
// is `alone` if the process is alone.
int ask_number(const char* line, const char* command, const char* name, int alone, int* out) {
  if (!library().initialized) return PMI_ERR_INIT;
  if (out == nullptr) return PMI_ERR_INVALID_ARG;
  *out = alone;
  if (!library().connection) return PMI_SUCCESS;
  const auto answer = ask(line, command);
  if (!answer || !answer->ok()) return PMI_FAIL;
  const auto number = answer->number(name);
  if (!number) return PMI_FAIL;
  *out = static_cast<int>(*number);
  return PMI_SUCCESS;
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == 0x7f;
}
// Returns false if the text is null or holds control characters, which a line must not hold.
bool is_text(const char* text) {
  return text != nullptr && std::none_of(text, text + std::strlen(text), is_control);
}
bool is_word(const char* text) {
  return is_text(text) && std::strchr(text, ' ') == nullptr;
}

int check_key(const char* kvsname, const char* key) {
  if (!library().initialized) return PMI_ERR_INIT;
  if (kvsname == nullptr || !is_word(kvsname) ||
      std::strlen(kvsname) >= static_cast<std::size_t>(library().name_max)) {
    return PMI_ERR_INVALID_KVS;
  }
  if (key == nullptr || *key == '\0' || !is_word(key)) return PMI_ERR_INVALID_KEY;
  if (std::strlen(key) >= static_cast<std::size_t>(library().key_max)) {
    return PMI_ERR_INVALID_KEY_LENGTH;
  }
  return PMI_SUCCESS;
}

const std::vector<int>& clique() {
  Library& lib = library();
  if (lib.clique) return *lib.clique;
  lib.clique.emplace();
  if (lib.connection) {
    std::string mapping(static_cast<std::size_t>(lib.value_max), '\0');
    if (PMI_KVS_Get(lib.kvsname.c_str(), "PMI_process_mapping", mapping.data(), lib.value_max) ==
        PMI_SUCCESS) {
      *lib.clique = scela::pmi::client::ranks_beside(mapping.c_str(), lib.connection->rank(),
                                                     lib.connection->size());
    }
  }
  if (lib.clique->empty()) lib.clique->push_back(lib.connection ? lib.connection->rank() : 0);
  return *lib.clique;
}

// Returns the name of the space that a caller means. The caller may still use the name from before
// the process had a launcher.
const char* meant(const char* kvsname) {
  const Library& lib = library();
  return lib.has_own_launcher && std::strcmp(kvsname, kOwnSpace) == 0 ? lib.kvsname.c_str()
                                                                      : kvsname;
}

// Makes the first exchanges on a new connection. Returns an error if the launcher's answer to init
// is lost or wrong, and false if the launcher refused.
scela::Result<bool> begin(Library& lib) {
  const auto init =
      lib.connection->ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
  if (!init) return scela::fail(init.error());
  if (!init->ok()) return false;
  const auto most = ask("cmd=get_maxes", "maxes");
  if (!most || !most->ok()) return false;
  lib.name_max = static_cast<int>(most->number("kvsname_max").value_or(lib.name_max));
  lib.key_max = static_cast<int>(most->number("keylen_max").value_or(lib.key_max));
  lib.value_max = static_cast<int>(most->number("vallen_max").value_or(lib.value_max));
  const auto name = ask("cmd=get_my_kvsname", "my_kvsname");
  if (!name || !name->find("kvsname")) return false;
  lib.kvsname = *name->find("kvsname");
  return true;
}

// Starts a launcher for a process that is alone, and sends it the pairs that were put before.
bool call_launcher(Library& lib) {
  auto made = Connection::call_launcher();
  if (!made) {
    std::fprintf(stderr,
                 "libpmi: this process was started without a launcher, and has none now: %s\n",
                 made.error().text().c_str());
    return false;
  }
  lib.connection = std::move(*made);
  const auto begun = begin(lib);
  lib.has_own_launcher = begun && *begun;
  if (!lib.has_own_launcher) {
    lib.connection.reset();
    lib.kvsname = kOwnSpace;
    return false;
  }
  bool ok = true;
  for (const auto& [key, value] : lib.own_space.take())
    ok = PMI_KVS_Put(kOwnSpace, key.c_str(), value.c_str()) == PMI_SUCCESS && ok;
  return ok && PMI_Barrier() == PMI_SUCCESS;
}

int init_failed(const scela::Error& error) {
  std::fprintf(stderr, "libpmi: PMI_Init: %s\n", error.text().c_str());
  return PMI_FAIL;
}

int name_service(const std::string& line, const char* command, std::string* port) {
  if (!library().initialized) return PMI_ERR_INIT;
  if (!library().connection) return PMI_FAIL;
  const auto answer = ask(line, command);
  if (!answer || !answer->ok()) return PMI_FAIL;
  if (port != nullptr) {
    const auto found = answer->find("port");
    if (!found) return PMI_FAIL;
    *port = *found;
  }
  return PMI_SUCCESS;
}

}  // namespace

extern "C" {

int PMI_Init(int* spawned) {
  Library& lib = library();
  if (spawned == nullptr) return PMI_ERR_INVALID_ARG;
  const char* const told = std::getenv("PMI_SPAWNED");
  *spawned = told != nullptr && std::atoi(told) != 0 ? PMI_TRUE : PMI_FALSE;
  if (lib.initialized) return PMI_SUCCESS;
  auto opened = Connection::open("libpmi");
  if (!opened) return init_failed(opened.error());
  lib.connection = std::move(*opened);
  if (lib.connection) {
    const auto begun = begin(lib);
    if (!begun) return init_failed(begun.error());
    if (!*begun) return PMI_FAIL;
    lib.connection->attach(lib.kvsname);
  }
  lib.initialized = true;
  return PMI_SUCCESS;
}

int PMI_Initialized(PMI_BOOL* initialized) {
  if (initialized == nullptr) return PMI_ERR_INVALID_ARG;
  *initialized = library().initialized ? PMI_TRUE : PMI_FALSE;
  return PMI_SUCCESS;
}

int PMI_Finalize(void) {
  Library& lib = library();
  if (!lib.initialized) return PMI_ERR_INIT;
  bool ok = true;
  if (lib.connection) {
    const auto answer = ask("cmd=finalize", "finalize_ack");
    ok = answer && answer->ok();
  }
  lib = Library();
  return ok ? PMI_SUCCESS : PMI_FAIL;
}

int PMI_Abort(int exit_code, const char error_msg[]) {
  Library& lib = library();
  std::string message = error_msg == nullptr ? "" : error_msg;
  for (char& c : message)
    c = is_control(c) ? ' ' : c;
  const bool shown_by_scela =
      lib.connection && (lib.has_own_launcher || is_job_of_scela(lib.kvsname));
  if (!message.empty() && !shown_by_scela) {
    std::fprintf(stderr, "%s\n", message.c_str());
  }
  if (lib.connection) {
    lib.connection->say(cat("cmd=abort exitcode=", exit_code,
                            message.empty() ? std::string() : cat(" message=", message)));
  }
  std::_Exit((exit_code & 255) == 0 ? 1 : exit_code);  // an abort never exits with 0
}

int PMI_Get_size(int* size) {
  return give(library().connection ? library().connection->size() : 1, size);
}
int PMI_Get_rank(int* rank) {
  return give(library().connection ? library().connection->rank() : 0, rank);
}
int PMI_Get_universe_size(int* size) {
  return ask_number("cmd=get_universe_size", "universe_size", "size", 1, size);
}
int PMI_Get_appnum(int* appnum) {
  return ask_number("cmd=get_appnum", "appnum", "appnum", 0, appnum);
}
int PMI_Get_id(char id_str[], int length) {
  if (!library().initialized) return PMI_ERR_INIT;
  return give(library().kvsname, id_str, length, PMI_ERR_INVALID_LENGTH);
}
int PMI_Get_kvs_domain_id(char id_str[], int length) {
  return PMI_Get_id(id_str, length);
}
int PMI_Get_id_length_max(int* length) {
  return give(library().name_max, length);
}

int PMI_Get_clique_size(int* size) {
  if (!library().initialized) return PMI_ERR_INIT;
  return give(static_cast<int>(clique().size()), size);
}
int PMI_Get_clique_ranks(int ranks[], int length) {
  if (!library().initialized) return PMI_ERR_INIT;
  if (ranks == nullptr) return PMI_ERR_INVALID_ARG;
  const std::vector<int>& all = clique();
  if (length < static_cast<int>(all.size())) return PMI_ERR_INVALID_SIZE;
  std::memcpy(ranks, all.data(), all.size() * sizeof(int));
  return PMI_SUCCESS;
}

int PMI_Barrier(void) {
  if (!library().initialized) return PMI_ERR_INIT;
  if (!library().connection) return PMI_SUCCESS;
  const auto answer = ask("cmd=barrier_in", "barrier_out");
  return answer && answer->ok() ? PMI_SUCCESS : PMI_FAIL;
}

int PMI_KVS_Get_my_name(char kvsname[], int length) {
  return PMI_Get_id(kvsname, length);
}
int PMI_KVS_Get_name_length_max(int* length) {
  return give(library().name_max, length);
}
int PMI_KVS_Get_key_length_max(int* length) {
  return give(library().key_max, length);
}
int PMI_KVS_Get_value_length_max(int* length) {
  return give(library().value_max, length);
}

// A job has one space. No server is asked, because mpiexec.hydra ends a job that asks.
int PMI_KVS_Create(char*, int) {
  return library().initialized ? PMI_FAIL : PMI_ERR_INIT;
}

int PMI_KVS_Put(const char kvsname[], const char key[], const char value[]) {
  if (const int wrong = check_key(kvsname, key); wrong != PMI_SUCCESS) return wrong;
  if (!is_text(value)) return PMI_ERR_INVALID_VAL;
  Library& lib = library();
  if (std::strlen(value) >= static_cast<std::size_t>(lib.value_max)) {
    return PMI_ERR_INVALID_VAL_LENGTH;
  }
  if (!lib.connection) {
    lib.own_space.put(key, value);
    return PMI_SUCCESS;
  }
  const auto answer =
      ask(cat("cmd=put kvsname=", meant(kvsname), " key=", key, " value=", value), "put_result");
  return answer && answer->ok() ? PMI_SUCCESS : PMI_FAIL;
}

int PMI_KVS_Commit(const char kvsname[]) {
  if (!library().initialized) return PMI_ERR_INIT;
  return kvsname == nullptr ? PMI_ERR_INVALID_KVS : PMI_SUCCESS;  // each put was sent already
}

int PMI_KVS_Get(const char kvsname[], const char key[], char value[], int length) {
  if (const int wrong = check_key(kvsname, key); wrong != PMI_SUCCESS) return wrong;
  if (value == nullptr) return PMI_ERR_INVALID_VAL;
  if (length < 1) return PMI_ERR_INVALID_VAL_LENGTH;
  Library& lib = library();
  if (!lib.connection) {
    const auto found = lib.own_space.find(key);
    if (!found) return PMI_FAIL;
    return give(*found, value, length, PMI_ERR_INVALID_VAL_LENGTH);
  }
  kvsname = meant(kvsname);
  if (lib.kvsname == kvsname) {
    const auto size = lib.connection->shared(key, value, static_cast<std::uint64_t>(length) - 1);
    if (size) {
      value[*size] = '\0';
      return PMI_SUCCESS;
    }
  }
  const auto answer = ask(cat("cmd=get kvsname=", kvsname, " key=", key), "get_result");
  if (!answer || !answer->ok()) return PMI_FAIL;
  const auto found = answer->find("value");
  if (!found) return PMI_FAIL;
  return give(*found, value, length, PMI_ERR_INVALID_VAL_LENGTH);
}

// Iteration is obsolete: no present launcher lists a space, and a node's cache holds only a part of
// the space.
int PMI_KVS_Iter_first(const char*, char*, int, char*, int) {
  return PMI_FAIL;
}
int PMI_KVS_Iter_next(const char*, char*, int, char*, int) {
  return PMI_FAIL;
}

int PMI_Publish_name(const char service_name[], const char port[]) {
  if (!is_word(service_name) || !is_word(port)) return PMI_ERR_INVALID_ARG;
  return name_service(cat("cmd=publish_name service=", service_name, " port=", port),
                      "publish_result", nullptr);
}
int PMI_Unpublish_name(const char service_name[]) {
  if (!is_word(service_name)) return PMI_ERR_INVALID_ARG;
  return name_service(cat("cmd=unpublish_name service=", service_name), "unpublish_result",
                      nullptr);
}
int PMI_Lookup_name(const char service_name[], char port[]) {
  if (!is_word(service_name) || port == nullptr) return PMI_ERR_INVALID_ARG;
  std::string found;
  const int result =
      name_service(cat("cmd=lookup_name service=", service_name), "lookup_result", &found);
  if (result != PMI_SUCCESS) return result;
  return give(found, port, library().value_max, PMI_ERR_INVALID_LENGTH);
}

int PMI_Spawn_multiple(int count, const char* cmds[], const char** argvs[], const int maxprocs[],
                       const int info_sizes[], const PMI_keyval_t* infos[], int preput_size,
                       const PMI_keyval_t preputs[], int errors[]) {
  if (!library().initialized) return PMI_ERR_INIT;
  if (count < 1 || cmds == nullptr || maxprocs == nullptr) return PMI_ERR_INVALID_ARG;
  std::string text;
  bool lines = true;  // no value holds a newline
  const auto add = [&](auto&&... parts) {
    const std::string line = cat(parts...);
    lines = lines && line.find('\n') == std::string::npos;
    text += line + '\n';
  };
  int processes = 0;
  for (int i = 0; i < count; ++i) {
    if (maxprocs[i] < 1 || cmds[i] == nullptr || *cmds[i] == '\0') return PMI_ERR_INVALID_ARG;
    processes += maxprocs[i];
    add("mcmd=spawn");
    add("nprocs=", maxprocs[i]);
    add("execname=", cmds[i]);
    add("totspawns=", count);
    add("spawnssofar=", i + 1);
    int arguments = 0;
    while (argvs != nullptr && argvs[i] != nullptr && argvs[i][arguments] != nullptr) {
      add("arg", arguments + 1, "=", argvs[i][arguments]);
      ++arguments;
    }
    add("argcnt=", arguments);
    const int given = i == 0 && preputs != nullptr ? preput_size : 0;
    add("preput_num=", given);
    for (int j = 0; j < given; ++j) {
      add("preput_key_", j, "=", preputs[j].key);
      add("preput_val_", j, "=", preputs[j].val);
    }
    const int hints = info_sizes != nullptr && infos != nullptr ? info_sizes[i] : 0;
    add("info_num=", hints);
    for (int j = 0; j < hints; ++j) {
      add("info_key_", j, "=", infos[i][j].key);
      add("info_val_", j, "=", infos[i][j].val);
    }
    add("endcmd");
  }
  if (!lines) return PMI_ERR_INVALID_ARG;
  if (text.size() > scela::pmi::kMaxSpawnRequest) return PMI_ERR_INVALID_LENGTH;
  if (!library().connection && !call_launcher(library())) return PMI_FAIL;
  text.pop_back();  // say() adds the last newline
  const auto answer = ask(text, "spawn_result");
  const bool ok = answer && answer->ok();
  std::string codes = answer ? answer->find("errcodes").value_or("") : "";
  for (int i = 0; errors != nullptr && i < processes; ++i) {
    const std::size_t comma = std::min(codes.find(','), codes.size());
    errors[i] = comma == 0 ? (ok ? PMI_SUCCESS : PMI_FAIL) : std::atoi(codes.c_str());
    codes.erase(0, std::min(comma + 1, codes.size()));
  }
  return ok ? PMI_SUCCESS : PMI_FAIL;
}

}  // extern "C"
