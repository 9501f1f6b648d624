// The question for the allocation. Servers of libpmix 5 and later, such as PRRTE's, answer
// PMIX_QUERY_ALLOCATION with an array of nodes, in which each node is an array of attributes.
// Others may tell names only, by PMIX_ALLOCATED_NODELIST. A query for both is one that a server
// refuses if it does not know one of them, so they are asked for one by one.
#include <pmix_tool.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <set>
#include <string_view>

#include "common/core/requests/resource_text.h"
#include "common/core/text.h"
#include "pmix/server/infos.h"
#include "pmix/server/tool.h"
#include "pmix/server/tool_connection.h"

namespace scela::pmix {
namespace {

// libpmix before 5 lacks the name PMIX_QUERY_ALLOCATION.
constexpr const char* kQueryAllocation = "pmix.query.allc";

constexpr int kWritten = 0;
constexpr int kNotWritten = 74;  // as EX_IOERR of sysexits(3)

// The attributes of an answer, which free themselves.
struct ToolAnswer {
  pmix_info_t* infos = nullptr;
  std::size_t count = 0;
  pmix_status_t status = PMIX_ERROR;

  explicit ToolAnswer(const char* key) {
    pmix_query_t query;
    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(status, query.keys, key);
    if (status == PMIX_SUCCESS) status = PMIx_Query_info(&query, 1, &infos, &count);
    PMIX_QUERY_DESTRUCT(&query);
  }
  ToolAnswer(const ToolAnswer&) = delete;
  ToolAnswer& operator=(const ToolAnswer&) = delete;
  ~ToolAnswer() {
    if (infos != nullptr) PMIX_INFO_FREE(infos, count);
  }

  const pmix_value_t* value(const char* key) const {
    for (std::size_t i = 0; i < count; ++i)
      if (is_key(infos[i], key)) return &infos[i].value;
    return nullptr;
  }
};

Error damaged(std::string why) {
  return Error{ErrorKind::protocol, "read the allocation", "", std::move(why), ""};
}

// Returns the attributes in an array, or an empty pair if the value is none.
std::pair<const pmix_info_t*, std::size_t> infos_in(const pmix_value_t& value) {
  if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr) return {};
  const pmix_data_array_t& array = *value.data.darray;
  if (array.type != PMIX_INFO || array.array == nullptr) return {};
  return {static_cast<const pmix_info_t*>(array.array), array.size};
}

std::optional<std::uint64_t> number_in(const pmix_value_t& value) {
  if (value.type == PMIX_UINT32) return value.data.uint32;
  if (value.type == PMIX_UINT16) return value.data.uint16;
  if (value.type == PMIX_UINT64) return value.data.uint64;
  if (value.type == PMIX_SIZE) return value.data.size;
  if (value.type == PMIX_INT && value.data.integer >= 0)
    return static_cast<std::uint64_t>(value.data.integer);
  return std::nullopt;
}

// Adds one node. A node without slots is known to the server, but the job has none of it.
std::optional<Error> add_node(const pmix_value_t& value, ResourceAnswer& out) {
  const auto [infos, count] = infos_in(value);
  ResourceHost host;
  std::optional<std::uint64_t> slots;
  for (std::size_t i = 0; i < count; ++i) {
    const pmix_value_t& one = infos[i].value;
    const bool is_text = one.type == PMIX_STRING && one.data.string != nullptr;
    if (is_key(infos[i], PMIX_HOSTNAME) && is_text) host.name = one.data.string;
    if (is_key(infos[i], PMIX_NUM_SLOTS)) slots = number_in(one);
  }
  if (slots && *slots == 0) return std::nullopt;
  if (!is_resource_word(host.name)) {
    return damaged(cat("node ", out.hosts.size(), " of ", out.query, " has no usable name"));
  }
  if (slots) host.slots = static_cast<std::uint32_t>(std::min<std::uint64_t>(*slots, UINT32_MAX));
  out.hosts.push_back(std::move(host));
  return std::nullopt;
}

std::optional<Error> read_nodes(const pmix_value_t& value, ResourceAnswer& out) {
  out.query = "PMIX_QUERY_ALLOCATION";
  const bool is_array = value.type == PMIX_DATA_ARRAY && value.data.darray != nullptr;
  if (!is_array) return damaged(cat(out.query, " is no array of nodes"));
  const auto [infos, count] = infos_in(value);
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_key(infos[i], PMIX_NODE_INFO)) continue;  // topologies of nodes
    if (auto error = add_node(infos[i].value, out)) return error;
  }
  return std::nullopt;
}

std::optional<Error> read_names(const pmix_value_t& value, ResourceAnswer& out) {
  out.query = "PMIX_ALLOCATED_NODELIST";
  const bool is_text = value.type == PMIX_STRING && value.data.string != nullptr;
  if (!is_text) return damaged(cat(out.query, " is no text"));
  std::string_view rest = value.data.string;
  while (!rest.empty()) {
    const std::size_t at = std::min(rest.find(','), rest.size());
    const std::string_view name = rest.substr(0, at);
    rest.remove_prefix(std::min(at + 1, rest.size()));
    if (!is_resource_word(name)) return damaged(cat(out.query, " has a name that is none"));
    out.hosts.push_back({std::string(name), std::nullopt});
  }
  return std::nullopt;
}

// Asks the server, and returns what it has told.
Result<ResourceAnswer> ask_server(const std::string& server) {
  ResourceAnswer out;
  out.server = server;
  const ToolAnswer nodes(kQueryAllocation);
  std::optional<Error> error;
  const pmix_value_t* value = nodes.value(kQueryAllocation);
  if (value != nullptr) {
    error = read_nodes(*value, out);
  } else {
    const ToolAnswer names(PMIX_ALLOCATED_NODELIST);
    value = names.value(PMIX_ALLOCATED_NODELIST);
    if (value == nullptr) {
      return fail(Error{ErrorKind::unreachable, "ask the PMIx server for its allocation", server,
                        cat("it tells none: ", PMIx_Error_string(nodes.status)), ""});
    }
    error = read_names(*value, out);
  }
  if (!error && out.hosts.empty()) error = damaged("it has no nodes");
  std::set<std::string_view> known;
  for (const ResourceHost& host : out.hosts)
    if (!known.insert(host.name).second) error = damaged(cat("it names ", host.name, " twice"));
  if (!error) return out;
  error->where = server;
  return fail(std::move(*error));
}

}  // namespace

int tell_allocation(ToolWish wish, AfterAllocation after) {
  const ServerOfJob job = take_server_of_job();
  const auto server = connect(job);
  if (!server) return complain(server.error());
  if (wish == ToolWish::automatic && !job.nspace.empty()) {
    const auto size = size_of_job(job.nspace);
    if (size && *size > 1) {
      return complain(
          Error{ErrorKind::usage, "ask the PMIx server for its allocation", *server,
                cat("scela-run is one of ", *size, " processes of the job ", job.nspace), ""});
    }
  }
  // A server that tells its allocation and no losses is of use too.
  const bool notes_losses = after == AfterAllocation::losses && note_losses(*server).has_value();
  const auto answer = ask_server(*server);
  if (!answer) return complain(answer.error());
  const std::string text = text_of(*answer);
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  const bool is_told = written && std::fflush(stdout) == 0;
  if (is_told && notes_losses) return write_losses();
  PMIx_tool_finalize();
  return is_told ? kWritten : kNotWritten;
}

}  // namespace scela::pmix
