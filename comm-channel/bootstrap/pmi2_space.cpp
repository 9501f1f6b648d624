#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

#include "comm-channel/bootstrap/dead_list.h"
#include "comm-channel/bootstrap/pmi_spaces.h"
#include "comm-channel/bootstrap/pmi_words.h"
#include "common/core/text.h"
#include "pmi/protocol/limits.h"
#include "pmi/protocol/pmi2/pmi2_wire.h"

namespace scela::channel {

namespace {

using pmi::Pmi2Message;
using pmi::Pmi2Writer;
using pmi::client::Connection;

class Pmi2Space : public Space {
 public:
  Pmi2Space(Connection connection, std::string by)
      : connection_(std::move(connection)), by_(std::move(by)) {}
  Result<void> begin();
  const Place& place() const override { return place_; }
  std::string describe() const override { return cat("PMI-2 by ", by_, ", job ", place_.job); }
  Result<void> put(std::string_view key, std::string_view bytes) override;
  Result<void> fence() override;
  Result<std::string> get(int rank, std::string_view key) override;
  bool has_failed(int rank) override;
  bool has_left(int rank) override;
  bool shows_texts() const override { return is_of_scela_; }
  void abort(int code, std::string_view text) override;
  Result<void> leave() override;

 private:
  Result<Pmi2Message> ask(const Pmi2Writer& request, const char* command, const char* what);
  std::optional<std::string> of_job(const char* key);
  static std::string name_of(int rank, std::string_view key, std::size_t piece) {
    return cat("scela-", rank, "-", key, "-", piece);
  }

  Connection connection_;
  std::string by_;
  Place place_;
  bool is_of_scela_ = false;
  DeadList dead_;  // without the node's segment
};

int number_in(const Pmi2Message& message, std::string_view key, int otherwise) {
  const auto text = message.find(key);
  int number = otherwise;
  if (text) std::from_chars(text->data(), text->data() + text->size(), number);
  return number;
}

Result<Pmi2Message> Pmi2Space::ask(const Pmi2Writer& request, const char* command,
                                   const char* what) {
  auto payload = connection_.ask_framed(request.text());
  if (!payload) {
    Error error = std::move(payload.error());
    error.what = what;
    error.hint = "see what the launcher says of the job's end";
    return fail(std::move(error));
  }
  auto message = pmi::parse_message(*payload);
  if (!message || message->command() != cat(command, "-response") ||
      number_in(*message, "rc", 0) != 0) {
    return fail(pmi_error(what, cat("the launcher answered '", *payload, "'"),
                          "see what the launcher says"));
  }
  return std::move(*message);
}

Result<void> Pmi2Space::begin() {
  Pmi2Writer request("fullinit");
  const char* const job = std::getenv("PMI_JOBID");
  if (job != nullptr) request.add("pmijobid", job);
  request.add("pmirank", static_cast<long long>(connection_.rank())).add("threaded", "FALSE");
  const auto full = ask(request, "fullinit", "learn the rank and size");
  if (!full) return fail(full.error());
  place_.rank = number_in(*full, "rank", -1);
  place_.size = number_in(*full, "size", 0);
  const auto id = ask(Pmi2Writer("job-getid"), "job-getid", "learn the job's name");
  if (!id) return fail(id.error());
  place_.job = id->find("jobid").value_or("");
  if (place_.rank < 0 || place_.size <= place_.rank || place_.job.empty()) {
    return fail(pmi_error("learn the rank and size",
                          cat("the launcher says rank ", place_.rank, " of ", place_.size,
                              " in job '", place_.job, "'"),
                          "see what the launcher says"));
  }
  is_of_scela_ = pmi::client::is_job_of_scela(place_.job);
  connection_.attach_framed(place_.job);
  if (const auto mapping = of_job("PMI_process_mapping"))
    place_.node_names = node_names_of(*mapping, place_.size);
  return {};
}

// Returns an attribute of the job, or nothing if it has none.
std::optional<std::string> Pmi2Space::of_job(const char* key) {
  const auto told =
      ask(Pmi2Writer("info-getjobattr").add("key", key), "info-getjobattr", "learn of the job");
  if (!told || told->find("found") != "TRUE") return std::nullopt;
  return std::string(told->find("value").value_or(""));
}

bool Pmi2Space::has_failed(int rank) {
  if (connection_.reader()) return connection_.reader()->dead(static_cast<std::uint64_t>(rank));
  return is_of_scela_ && dead_.has(rank, [this] { return of_job("PMI_dead_processes"); });
}

// If scela-run does not know the question, it says so, and then nothing is known.
bool Pmi2Space::has_left(int rank) {
  if (!is_of_scela_) return false;
  const auto answer = ask(Pmi2Writer("scela-left").add("rank", static_cast<long long>(rank)),
                          "scela-left", "ask whether a rank has left");
  return answer && answer->find("found") == "TRUE";
}

Result<void> Pmi2Space::put(std::string_view key, std::string_view bytes) {
  std::size_t piece = 0;
  for (const std::string& word : cut(bytes, pmi::kMaxPmi2Value - 24)) {
    Pmi2Writer request("kvs-put");
    request.add("key", name_of(place_.rank, key, piece++)).add("value", word);
    const auto done = ask(request, "kvs-put", "put a value");
    if (!done) return fail(done.error());
  }
  return {};
}

Result<void> Pmi2Space::fence() {
  const auto done = ask(Pmi2Writer("kvs-fence"), "kvs-fence", "wait for all ranks");
  if (!done) return fail(done.error());
  return {};
}

Result<std::string> Pmi2Space::get(int rank, std::string_view key) {
  return join([&](std::size_t piece) -> Result<std::string> {
    const std::string name = name_of(rank, key, piece);
    std::string value(pmi::kMaxPmi2Value, '\0');
    if (const auto size = connection_.shared(name, value.data(), value.size())) {
      value.resize(*size);
      return value;
    }
    Pmi2Writer request("kvs-get");
    request.add("jobid", place_.job).add("srcid", static_cast<long long>(rank)).add("key", name);
    const auto answer = ask(request, "kvs-get", "get a value");
    if (answer && answer->find("found") == "TRUE")
      return std::string(answer->find("value").value_or(""));
    if (!answer) return fail(answer.error());
    return fail(pmi_error("get a value", "the launcher has none",
                          "the rank puts it before the fence that all call; if it has, see what "
                          "the launcher says"));
  });
}

void Pmi2Space::abort(int, std::string_view text) {
  Pmi2Writer request("abort");
  request.add("isworld", "TRUE").add("msg", one_line(text));
  connection_.say_framed(request.text());
}

Result<void> Pmi2Space::leave() {
  const auto done = ask(Pmi2Writer("finalize"), "finalize", "leave the job");
  if (!done) return fail(done.error());
  return {};
}

}  // namespace

Result<std::unique_ptr<Space>> begin_pmi2(Connection connection, std::string by) {
  auto space = std::make_unique<Pmi2Space>(std::move(connection), std::move(by));
  if (auto begun = space->begin(); !begun) return fail(std::move(begun.error()));
  return space;
}

}  // namespace scela::channel
