// The space of a PMIx launcher: it calls the library and puts values as they are.
//
// It uses only types and constants of the library's headers, because a macro of one version is a
// function in the next.
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "comm-channel/bootstrap/pmix_deaths.h"
#include "comm-channel/bootstrap/pmix_leavers.h"
#include "comm-channel/bootstrap/pmix_library.h"
#include "comm-channel/bootstrap/pmix_session.h"
#include "comm-channel/bootstrap/space.h"
#include "common/core/text.h"
#include "pmi/client/connection.h"

namespace scela::channel {

namespace {

pmix_info_t yes(const char* key) {
  pmix_info_t info{};
  std::strncpy(info.key, key, sizeof info.key - 1);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

// A value that PMIx_Get has returned.
class Value {
 public:
  explicit Value(pmix_value_t* value) : value_(value) {}
  Value(Value&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Value& operator=(Value&&) = delete;
  ~Value() {
    if (value_ == nullptr) return;
    if (value_->type == PMIX_STRING) std::free(value_->data.string);
    if (value_->type == PMIX_BYTE_OBJECT) std::free(value_->data.bo.bytes);
    std::free(value_);
  }
  std::optional<std::string> bytes() const {
    if (value_->type != PMIX_BYTE_OBJECT) return std::nullopt;
    return std::string(value_->data.bo.bytes, value_->data.bo.size);
  }
  std::optional<std::string> text() const {
    if (value_->type != PMIX_STRING || value_->data.string == nullptr) return std::nullopt;
    return std::string(value_->data.string);
  }
  std::optional<std::uint32_t> number() const {
    if (value_->type != PMIX_UINT32) return std::nullopt;
    return value_->data.uint32;
  }

 private:
  pmix_value_t* value_;
};

class PmixSpace : public Space {
 public:
  explicit PmixSpace(const PmixLibrary& library)
      : pmix_(library), session_(pmix_session(library)) {}
  Result<void> begin();
  const Place& place() const override { return place_; }
  std::string describe() const override {
    return cat("PMIx, ", version_, ", namespace ", place_.job,
               hears_of_deaths_ ? "" : ", server does not report ranks that end");
  }
  Result<void> put(std::string_view key, std::string_view bytes) override;
  Result<void> fence() override;
  Result<std::string> get(int rank, std::string_view key) override;
  bool has_failed(int rank) override { return is_told_dead(rank); }
  bool has_left(int rank) override;
  bool shows_texts() const override { return pmi::client::is_job_of_scela(place_.job); }
  void abort(int code, std::string_view text) override;
  Result<void> leave() override;

 private:
  Error error_of(pmix_status_t status, const char* what, const char* hint) const {
    return Error{ErrorKind::protocol, what, "", cat("libpmix: ", pmix_.PMIx_Error_string(status)),
                 hint};
  }
  // `how` is an attribute that says how far to look; null means as far as necessary.
  Result<Value> ask(std::uint32_t rank, const char* key, const char* how, const char* what,
                    const char* hint = "see what the launcher says") const;
  void find_nodes();

  std::string name_of(std::string_view key) const {
    return cat("scela-", session_.joins(), "-", key);
  }

  const PmixLibrary& pmix_;
  PmixSession& session_;
  pmix_proc_t self_{};
  std::string version_;
  bool hears_of_deaths_ = false;
  Place place_;
};

Result<void> PmixSpace::begin() {
  version_ = pmix_.PMIx_Get_version();
  version_ = version_.substr(0, version_.find_first_of(",("));
  while (version_.ends_with(" "))
    version_.pop_back();
  const pmix_status_t status = session_.join(self_);
  if (status != PMIX_SUCCESS) {
    const char* const space = std::getenv("PMIX_NAMESPACE");
    return fail(error_of(
        status, cat("join the namespace ", space == nullptr ? "?" : space).c_str(),
        "see that the launcher is still there, and that libpmix is not older than its server"));
  }
  place_.rank = static_cast<int>(self_.rank);
  place_.job = self_.nspace;
  const auto size = ask(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE, nullptr, "learn the job's size");
  if (!size) return fail(size.error());
  place_.size = static_cast<int>(size->number().value_or(0));
  if (place_.size <= place_.rank) {
    return fail(Error{ErrorKind::protocol, "learn the job's size", "",
                      cat("the launcher says rank ", place_.rank, " of ", place_.size),
                      "see what the launcher says"});
  }
  find_nodes();
  hears_of_deaths_ =
      session_.is_rejoined() ? is_listening_for_deaths() : listen_for_deaths(pmix_, place_.job);
  return {};
}

// Uses each rank's node number, or its node's name. If either is not known for all ranks, it is not
// used.
void PmixSpace::find_nodes() {
  for (const char* key : {PMIX_NODEID, PMIX_HOSTNAME}) {
    place_.node_names.clear();
    for (int rank = 0; rank < place_.size; ++rank) {
      const auto value =
          ask(static_cast<std::uint32_t>(rank), key, PMIX_OPTIONAL, "learn where ranks are");
      if (!value) break;
      if (const auto number = value->number()) place_.node_names.push_back(cat("node ", *number));
      if (const auto text = value->text()) place_.node_names.push_back(*text);
    }
    if (place_.node_names.size() == static_cast<std::size_t>(place_.size)) return;
  }
  place_.node_names.clear();
}

Result<Value> PmixSpace::ask(std::uint32_t rank, const char* key, const char* how, const char* what,
                             const char* hint) const {
  pmix_proc_t who = self_;
  who.rank = rank;
  const pmix_info_t info = yes(how == nullptr ? "" : how);
  pmix_value_t* value = nullptr;
  const pmix_status_t status =
      pmix_.PMIx_Get(&who, key, how == nullptr ? nullptr : &info, how == nullptr ? 0 : 1, &value);
  if (status != PMIX_SUCCESS || value == nullptr) return fail(error_of(status, what, hint));
  return Value(value);
}

Result<void> PmixSpace::put(std::string_view key, std::string_view bytes) {
  // libpmix reads no empty object, so one byte precedes what is put.
  std::string given = cat("=", bytes);
  pmix_value_t value{};
  value.type = PMIX_BYTE_OBJECT;
  value.data.bo.bytes = given.data();
  value.data.bo.size = given.size();
  const pmix_status_t status = pmix_.PMIx_Put(PMIX_GLOBAL, name_of(key).c_str(), &value);
  if (status != PMIX_SUCCESS) {
    return fail(error_of(status, "put a value", "see what the launcher says"));
  }
  return {};
}

Result<void> PmixSpace::fence() {
  const pmix_info_t collect = yes(PMIX_COLLECT_DATA);
  pmix_status_t status = pmix_.PMIx_Commit();
  if (status == PMIX_SUCCESS) status = pmix_.PMIx_Fence(nullptr, 0, &collect, 1);
  if (status != PMIX_SUCCESS) {
    return fail(error_of(status, "wait for all ranks",
                         "a rank has ended, or the server has: see what the launcher says"));
  }
  return {};
}

Result<std::string> PmixSpace::get(int rank, std::string_view key) {
  const std::string name = name_of(key);
  // The fence has collected the value; a value that the server does not have was not put.
  const auto value =
      ask(static_cast<std::uint32_t>(rank), name.c_str(), PMIX_IMMEDIATE, "get a value",
          "the rank puts it before the fence that all call; if it has, see what the "
          "launcher says");
  if (!value) return fail(value.error());
  auto bytes = value->bytes();
  if (!bytes || bytes->empty() || bytes->front() != '=') {
    return fail(Error{ErrorKind::protocol, "get a value", "", "the value is damaged",
                      "see that no other program of the job uses keys that begin with scela"});
  }
  return bytes->substr(1);
}

// Another launcher's server may not know the question, or may ask all nodes.
bool PmixSpace::has_left(int rank) {
  if (!pmi::client::is_job_of_scela(place_.job)) return false;
  pmix_proc_t about = self_;
  about.rank = static_cast<pmix_rank_t>(rank);
  return has_left_by_now(pmix_, about);
}

void PmixSpace::abort(int code, std::string_view text) {
  pmix_.PMIx_Abort(code, std::string(text).c_str(), nullptr, 0);
}

Result<void> PmixSpace::leave() {
  const pmix_status_t status = session_.leave();
  if (status != PMIX_SUCCESS) {
    return fail(error_of(status, "leave the job", "see what the launcher says"));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Space>> open_pmix() {
  const auto library = pmix_library();
  if (!library) return fail(library.error());
  auto space = std::make_unique<PmixSpace>(**library);
  if (auto begun = space->begin(); !begun) return fail(std::move(begun.error()));
  return space;
}

}  // namespace scela::channel
