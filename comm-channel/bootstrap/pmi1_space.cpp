#include <algorithm>
#include <optional>
#include <utility>

#include "comm-channel/bootstrap/dead_list.h"
#include "comm-channel/bootstrap/pmi_spaces.h"
#include "comm-channel/bootstrap/pmi_words.h"
#include "common/core/text.h"

namespace scela::channel {

namespace {

using pmi::client::Connection;
using pmi::client::Fields;

// Slurm reads no longer line, although it announces longer values.
constexpr std::size_t kMaxLine = 1023;

class Pmi1Space : public Space {
 public:
  Pmi1Space(Connection connection, std::string by)
      : connection_(std::move(connection)), by_(std::move(by)) {}
  Result<void> begin();
  const Place& place() const override { return place_; }
  std::string describe() const override { return cat("PMI-1 by ", by_, ", job ", place_.job); }
  Result<void> put(std::string_view key, std::string_view bytes) override;
  Result<void> fence() override;
  Result<std::string> get(int rank, std::string_view key) override;
  bool has_failed(int rank) override;
  bool has_left(int rank) override;
  bool shows_texts() const override { return is_of_scela_; }
  void abort(int code, std::string_view text) override;
  Result<void> leave() override;

 private:
  Result<Fields> ask(const std::string& line, const char* answer, const char* what);
  // All ranks share one space of keys.
  static std::string name_of(int rank, std::string_view key, std::size_t piece) {
    return cat("scela-", rank, "-", key, "-", piece);
  }
  std::optional<std::string> find(const std::string& name);

  Connection connection_;
  std::string by_;
  Place place_;
  bool is_of_scela_ = false;
  DeadList dead_;                 // without the node's segment
  std::size_t value_max_ = 1024;  // with the terminating zero
};

Result<Fields> Pmi1Space::ask(const std::string& line, const char* answer, const char* what) {
  auto fields = connection_.ask(line, answer);
  if (!fields) {
    Error error = std::move(fields.error());
    error.what = what;
    error.hint = "see what the launcher says of the job's end";
    return fail(std::move(error));
  }
  if (!fields->ok()) {
    return fail(pmi_error(what, cat("the launcher answered '", fields->line(), "'"),
                          "see what the launcher says"));
  }
  return fields;
}

Result<void> Pmi1Space::begin() {
  const auto most = ask("cmd=get_maxes", "maxes", "learn how long values may be");
  if (!most) return fail(most.error());
  const long value_max = most->number("vallen_max").value_or(1024);
  const auto name = ask("cmd=get_my_kvsname", "my_kvsname", "learn the job's name");
  if (!name) return fail(name.error());
  const auto job = name->find("kvsname");
  const std::string longest = name_of(connection_.size(), std::string(24, 'k'), 1000);
  const long key_max = most->number("keylen_max").value_or(64);
  if (!job || value_max <= static_cast<long>(kLeastPiece) ||
      key_max <= static_cast<long>(longest.size())) {
    return fail(
        pmi_error("learn the job's name and sizes",
                  cat("the launcher allows keys of ", key_max, " and values of ", value_max),
                  "use a launcher that allows keys of 64 characters"));
  }
  value_max_ = static_cast<std::size_t>(value_max);
  place_ = Place{connection_.rank(), connection_.size(), *job, {}};
  is_of_scela_ = pmi::client::is_job_of_scela(place_.job);
  connection_.attach(place_.job);
  if (const auto mapping = find("PMI_process_mapping")) {
    place_.node_names = node_names_of(*mapping, place_.size);
  }
  return {};
}

Result<void> Pmi1Space::put(std::string_view key, std::string_view bytes) {
  const std::string before = cat("cmd=put kvsname=", place_.job, " key=");
  const std::size_t around = before.size() + name_of(place_.rank, key, 1000).size() + 8;
  const std::size_t most = std::min(value_max_ - 1, kMaxLine - std::min(around, kMaxLine));
  if (most < kLeastPiece) {
    return fail(pmi_error("put a value", "the job's name leaves no room for it in a line",
                          "use a launcher with shorter names"));
  }
  std::size_t piece = 0;
  for (const std::string& word : cut(bytes, most)) {
    const auto done = ask(cat(before, name_of(place_.rank, key, piece++), " value=", word),
                          "put_result", "put a value");
    if (!done) return fail(done.error());
  }
  return {};
}

Result<void> Pmi1Space::fence() {
  const auto out = ask("cmd=barrier_in", "barrier_out", "wait for all ranks");
  if (!out) return fail(out.error());
  return {};
}

std::optional<std::string> Pmi1Space::find(const std::string& name) {
  std::string value(value_max_, '\0');
  if (const auto size = connection_.shared(name, value.data(), value.size())) {
    value.resize(*size);
    return value;
  }
  const auto answer =
      connection_.ask(cat("cmd=get kvsname=", place_.job, " key=", name), "get_result");
  if (!answer || !answer->ok()) return std::nullopt;
  return answer->find("value");
}

Result<std::string> Pmi1Space::get(int rank, std::string_view key) {
  return join([&](std::size_t piece) -> Result<std::string> {
    auto found = find(name_of(rank, key, piece));
    if (found) return std::move(*found);
    return fail(pmi_error("get a value", "the launcher has none",
                          "the rank puts it before the fence that all call; if it has, see what "
                          "the launcher says"));
  });
}

bool Pmi1Space::has_failed(int rank) {
  if (connection_.reader()) return connection_.reader()->dead(static_cast<std::uint64_t>(rank));
  return is_of_scela_ && dead_.has(rank, [this] { return find("PMI_dead_processes"); });
}

// If scela-run does not know the question, it says so, and then nothing is known.
bool Pmi1Space::has_left(int rank) {
  if (!is_of_scela_) return false;
  const auto answer = connection_.ask(cat("cmd=scela_left rank=", rank), "scela_left_result");
  return answer && answer->ok() && answer->number("left") == 1;
}

void Pmi1Space::abort(int code, std::string_view text) {
  connection_.say(
      cat("cmd=abort exitcode=", code, text.empty() ? "" : " message=", one_line(text)));
}

Result<void> Pmi1Space::leave() {
  const auto done = ask("cmd=finalize", "finalize_ack", "leave the job");
  if (!done) return fail(done.error());
  return {};
}

}  // namespace

Result<std::unique_ptr<Space>> begin_pmi1(Connection connection, std::string by) {
  auto space = std::make_unique<Pmi1Space>(std::move(connection), std::move(by));
  if (auto begun = space->begin(); !begun) return fail(std::move(begun.error()));
  return space;
}

}  // namespace scela::channel
