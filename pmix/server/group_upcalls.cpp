// Groups: named sets of processes, which all of their members together make and dissolve. libpmix
// collects the data of this node's members. The rest is a fence with the group's name; the number
// of that fence is the group's context id. The data that members have put comes with the fence, in
// libpmix's own format, node after node.
#include <pmix.h>
#include <pmix_server.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "common/core/bytes.h"
#include "common/core/text.h"
#include "pmix/server/infos.h"
#include "pmix/server/pmix_server.h"
#include "pmix/server/upcalls.h"

namespace scela::pmix {

namespace {

// The answer to libpmix, which calls free_made() when it needs the answer no longer.
struct Made {
  pmix_info_t infos[2]{};
  std::size_t count = 0;

  pmix_value_t& add(const char* key, pmix_data_type_t type) {
    pmix_info_t& info = infos[count++];
    std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
    info.value.type = type;
    return info.value;
  }
};

void free_made(void* made) {
  const std::unique_ptr<Made> answer(static_cast<Made*>(made));
  // If libpmix has a use for the bytes, it takes them out of the attribute.
  for (pmix_info_t& info : answer->infos)
    if (info.value.type == PMIX_BYTE_OBJECT) std::free(info.value.data.bo.bytes);
}

void made(Status status, const std::string& blob, bool number_wanted, pmix_info_cbfunc_t call,
          void* data) {
  ByteReader in(blob);
  const std::uint64_t number = in.u64();
  if (status == Status::ok && !in.ok()) status = Status::failed;
  if (status != Status::ok) return call(status_of(status), nullptr, 0, data, nullptr, nullptr);
  auto answer = std::make_unique<Made>();
  if (number_wanted) answer->add(PMIX_GROUP_CONTEXT_ID, PMIX_SIZE).data.size = number;
  const std::string_view bytes = in.rest();
  if (!bytes.empty()) {
    char* const copy = static_cast<char*>(std::malloc(bytes.size()));
    if (copy == nullptr) return call(PMIX_ERR_NOMEM, nullptr, 0, data, nullptr, nullptr);
    bytes.copy(copy, bytes.size());
    answer->add(PMIX_GROUP_ENDPT_DATA, PMIX_BYTE_OBJECT).data.bo = {copy, bytes.size()};
  }
  Made& kept = *answer;
  call(PMIX_SUCCESS, kept.infos, kept.count, data, free_made, answer.release());
}

}  // namespace

pmix_status_t group_upcall(pmix_group_operation_t operation, char* name, const pmix_proc_t procs[],
                           std::size_t count, const pmix_info_t infos[], std::size_t info_count,
                           pmix_info_cbfunc_t call, void* data) {
  msg::Fence question;
  question.ranks = served()->ranks_of(procs, count);
  // The two operations have different names, because a member that dissolves a group may be ahead
  // of one that still makes it.
  question.name = cat(operation == PMIX_GROUP_CONSTRUCT ? "+" : "-", name);
  if (question.ranks.empty()) return PMIX_ERR_NOT_SUPPORTED;
  bool number_wanted = false;
  for (size_t i = 0; i < info_count; ++i) {
    const pmix_value_t& value = infos[i].value;
    if (is_key(infos[i], PMIX_GROUP_ASSIGN_CONTEXT_ID)) {
      number_wanted = value.type != PMIX_BOOL || value.data.flag;
    } else if (is_key(infos[i], PMIX_GROUP_ENDPT_DATA) && value.type == PMIX_BYTE_OBJECT &&
               value.data.bo.bytes != nullptr) {
      question.blob.assign(value.data.bo.bytes, value.data.bo.size);
    }
  }
  const Deadline deadline(timeout_of(infos, info_count));
  served()->link().ask(
      std::move(question),
      [number_wanted, call, data, deadline](Status status, const std::string& blob) {
        deadline.answer([=] { made(status, blob, number_wanted, call, data); });
      },
      deadline.limit());
  return PMIX_SUCCESS;
}

}  // namespace scela::pmix
