#include "pmi/protocol/pmi1/pmi1.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/core/text.h"
#include "pmi/protocol/limits.h"

namespace scela::pmi {

namespace {

// The session speaks the grammar of this version, even if the client asks for 1.1. A client that
// knows only 1.1 sends no barrier of a group (pmi-1.2.txt; MPICH 4.0.2 was tried).
constexpr int kPmi1Version = 1;
constexpr int kPmi1Subversion = 2;

// Obsolete commands that need several key-value spaces, and the answers that clients wait for.
struct Unsupported {
  std::string_view command;
  std::string_view answer;
};
constexpr std::array kUnsupported{
    Unsupported{"create_kvs", "newkvs"},
    Unsupported{"destroy_kvs", "kvs_destroyed"},
    Unsupported{"getbyidx", "getbyidx_results"},
};

struct Group {
  RankSet ranks;
  std::string_view tag;  // as the client wrote it
  int number = 0;        // the tag as a number
};

// Parses "WORLD:tag", "NODE:tag" or "r0,r1,...:tag".
std::optional<Group> parse_group(std::string_view text, const JobFacts& facts) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  Group group;
  group.tag = text.substr(colon + 1);
  const auto number = parse_int(group.tag);
  if (!number || *number < 0) return std::nullopt;
  group.number = *number;
  std::string_view list = text.substr(0, colon);
  if (list == "WORLD") {
    group.ranks = RankSet::run(0, facts.size);
  } else if (list == "NODE") {
    group.ranks = facts.node_ranks;
  } else {
    for (bool more = true; more;) {
      const std::size_t comma = list.find(',');
      const auto rank = parse_int(list.substr(0, comma));
      if (!rank || *rank < 0 || *rank >= static_cast<std::int64_t>(facts.size)) return std::nullopt;
      group.ranks.add(static_cast<Rank>(*rank));
      more = comma != std::string_view::npos;
      if (more) list.remove_prefix(comma + 1);
    }
  }
  return group;
}

}  // namespace

Pmi1Session::Pmi1Session(JobFacts facts) : facts_(std::move(facts)) {}

void Pmi1Session::receive(std::string_view bytes) {
  if (state_ == State::over) return;
  // Served bytes are removed before the buffer grows, so that it holds only unserved bytes.
  input_.erase(0, consumed_);
  searched_ -= consumed_;
  looked_through_ -= std::min(looked_through_, consumed_);
  consumed_ = 0;
  input_.append(bytes);
}

std::optional<SessionRequest> Pmi1Session::next() {
  while (state_ != State::over) {
    if (state_ == State::waiting) {
      if (Served aborted = queued_abort()) return aborted;
      if (input_.size() - consumed_ <= kMaxBacklog) return std::nullopt;
      return violation(cat("sent more than ", kMaxBacklog, " bytes without waiting for an answer"));
    }
    const std::size_t end = input_.find('\n', searched_);
    const std::size_t length = (end == std::string::npos ? input_.size() : end) - consumed_;
    if (length > kMaxLine) {
      return violation(cat("sent a line longer than ", kMaxLine, " bytes: \"",
                           excerpt(std::string_view(input_).substr(consumed_)), "\""));
    }
    if (end == std::string::npos) {
      searched_ = input_.size();
      return std::nullopt;
    }
    const std::string_view text = std::string_view(input_).substr(consumed_, length);
    consumed_ = searched_ = end + 1;
    if (Served request = serve(text)) return request;
  }
  return std::nullopt;
}

// Another thread of the rank may abort while the first waits, perhaps for ever. An abort is
// therefore served before the outstanding answer; no other line is served out of order.
Pmi1Session::Served Pmi1Session::queued_abort() {
  looked_through_ = std::max(looked_through_, consumed_);
  for (;;) {
    const std::size_t end = input_.find('\n', looked_through_);
    if (end == std::string::npos) return std::nullopt;
    const std::string_view text =
        std::string_view(input_).substr(looked_through_, end - looked_through_);
    looked_through_ = end + 1;
    if (text.find("abort") == std::string_view::npos) continue;
    const Result<Line> line = parse_line(text);
    if (line && line->find("cmd") == "abort") return abort(*line);
  }
}

void Pmi1Session::answer_barrier(const std::string& tag, const ask::Response& answer) {
  LineWriter line("barrier_out");
  line.add("rc", answer.ok ? 0 : 1).add("tag", tag);
  if (!answer.ok) line.add("msg", as_word(answer.error));
  reply(line);
}

// PMI-1 cannot carry every value that PMI-2 can put: a line ends at a newline, and clients have no
// more room than get_maxes promised.
static bool fits_in_line(std::string_view value) {
  return value.size() < kMaxValue && std::none_of(value.begin(), value.end(), [](unsigned char c) {
           return c < ' ' || c == 0x7f;
         });
}

void Pmi1Session::answer(ask::RequestId number, const ask::Response& answer) {
  if (state_ == State::over) return;
  if (const auto barrier = barriers_.find(number); barrier != barriers_.end()) {
    const std::string group = std::move(barrier->second);
    barriers_.erase(barrier);
    return answer_barrier(group.substr(group.rfind(':') + 1), answer);
  }
  if (state_ != State::waiting || number != pending_number_) return;
  const auto finish = [&](LineWriter line) {
    if (!answer.ok) line.add("msg", as_word(answer.error));
    output_ += line.text();
  };
  switch (pending_) {
    case Pending::put:
      finish(LineWriter("put_result").add("rc", answer.ok ? 0 : 1));
      break;
    case Pending::fence:
      finish(LineWriter("barrier_out").add("rc", answer.ok ? 0 : 1));
      break;
    case Pending::get:
      if (answer.ok && answer.found && !fits_in_line(answer.value())) {
        refuse("get_result", "value_does_not_fit_pmi_1");
      } else if (answer.ok && answer.found) {
        // Later clients read found=, earlier ones msg=. value= comes last, as it may hold spaces.
        reply(LineWriter("get_result")
                  .add("rc", 0)
                  .add("msg", "success")
                  .add("found", "TRUE")
                  .add("value", answer.value()));
      } else {
        refuse("get_result", answer.ok ? "key_not_found" : std::string_view(answer.error));
      }
      break;
    case Pending::publish:
      finish(LineWriter("publish_result").add("rc", answer.ok ? 0 : 1));
      break;
    case Pending::segment:
      finish(LineWriter("scela_segment_result").add("rc", answer.ok ? 0 : 1));
      break;
    case Pending::ring:
      finish(LineWriter("scela_ring_result").add("rc", answer.ok ? 0 : 1));
      break;
    case Pending::left:
      finish(LineWriter("scela_left_result")
                 .add("rc", answer.ok ? 0 : 1)
                 .add("left", answer.found ? 1 : 0));
      break;
    case Pending::unpublish:
      finish(LineWriter("unpublish_result").add("rc", answer.ok ? 0 : 1));
      break;
    case Pending::lookup:
      if (answer.ok &&
          (!fits_in_line(answer.value()) || answer.value().find(' ') != std::string::npos)) {
        refuse("lookup_result", "port_does_not_fit_pmi_1");
      } else if (answer.ok) {
        reply(LineWriter("lookup_result").add("rc", 0).add("port", answer.value()));
      } else {
        refuse("lookup_result", answer.error);
      }
      break;
    case Pending::spawn:
      output_ += spawn_answer(answer, spawned_).text();
      break;
    case Pending::none:
      break;
  }
  pending_ = Pending::none;
  state_ = State::ready;
}

std::string Pmi1Session::take_output() {
  return std::exchange(output_, {});
}

Pmi1Session::Served Pmi1Session::serve(std::string_view text) {
  if (in_spawn_) return spawn_line(text);  // values may hold spaces
  const Result<Line> line = parse_line(text);
  if (!line)
    return violation(cat("sent a malformed line \"", excerpt(text), "\": ", line.error().why));
  if (line->empty()) return std::nullopt;
  if (const auto command = line->find("mcmd")) {
    if (state_ != State::ready || *command != "spawn") return serve_command(*command, *line, text);
    in_spawn_ = true;
    spawn_ = {};
    return std::nullopt;
  }
  const auto command = line->find("cmd");
  if (!command || command->empty()) {
    return violation(cat("sent a line without a command: \"", excerpt(text), "\""));
  }
  return serve_command(*command, *line, text);
}

Pmi1Session::Served Pmi1Session::serve_command(std::string_view command, const Line& line,
                                               std::string_view text) {
  if (command == "abort") return abort(line);
  switch (state_) {
    case State::start:
      if (command == "init") return init(line, text);
      return violation(cat("sent \"", excerpt(text), "\" before init"));
    case State::ready:
      return serve_ready(command, line, text);
    case State::finalized:
      // A second program of the rank, such as the next program of a shell script, sent init. That
      // program gets an error; the job goes on.
      if (command == "init") {
        return reply(LineWriter("response_to_init").add("rc", -1).add("msg", "already_finalized"));
      }
      return violation(cat("sent \"", excerpt(text), "\" after finalize"));
    case State::waiting:
    case State::over:
      break;
  }
  return std::nullopt;
}

Pmi1Session::Served Pmi1Session::serve_ready(std::string_view command, const Line& line,
                                             std::string_view text) {
  if (command == "barrier_in") return barrier(line, text);
  if (command == "put") return put(line, text);
  if (command == "get") return get(line, text);
  if (command == "get_maxes") {
    return reply(LineWriter("maxes")
                     .add("rc", 0)
                     .add("kvsname_max", static_cast<long long>(kMaxKvsname))
                     .add("keylen_max", static_cast<long long>(kMaxKey))
                     .add("vallen_max", static_cast<long long>(kMaxValue)));
  }
  if (command == "get_universe_size") {
    return reply(LineWriter("universe_size").add("rc", 0).add("size", facts_.universe_size));
  }
  if (command == "get_appnum") {
    return reply(LineWriter("appnum").add("rc", 0).add("appnum", facts_.appnum));
  }
  if (command == "get_my_kvsname") {
    return reply(LineWriter("my_kvsname").add("rc", 0).add("kvsname", facts_.kvsname));
  }
  if (command == "finalize") {
    if (!barriers_.empty()) return refuse("finalize_ack", "in_a_barrier");
    state_ = State::finalized;
    finalized_ = true;
    return reply(LineWriter("finalize_ack").add("rc", 0));
  }
  if (command == "init") return violation(cat("sent \"", excerpt(text), "\" a second time"));
  if (command == "publish_name") return publish(line, text);
  if (command == "lookup_name") return lookup(line, text);
  if (command == "unpublish_name") return unpublish(line, text);
  if (command == "scela_segment") return ask_job(Pending::segment, SegmentRequest{});
  if (command == "scela_ring") return ask_job(Pending::ring, RingRequest{});
  if (command == "scela_left") return left(line, text);
  for (const Unsupported& entry : kUnsupported) {
    if (command == entry.command) return refuse(entry.answer, "not_supported");
  }
  // The protocol defines no answer to an unknown command, but every answer may carry rc and msg.
  return reply(
      LineWriter(cat(as_word(command), "_result")).add("rc", -1).add("msg", "unknown_command"));
}

Pmi1Session::Served Pmi1Session::init(const Line& line, std::string_view text) {
  const auto version = parse_int(line.find("pmi_version").value_or(""));
  const auto subversion = parse_int(line.find("pmi_subversion").value_or(""));
  if (!version || !subversion) {
    return violation(cat("sent init without a version: \"", excerpt(text), "\""));
  }
  LineWriter answer("response_to_init");
  if (*version == 2) {
    state_ = State::over;
    for_pmi2_ = input_.substr(consumed_);
    return reply(answer.add("pmi_version", 2).add("pmi_subversion", 0).add("rc", 0));
  }
  answer.add("pmi_version", kPmi1Version).add("pmi_subversion", kPmi1Subversion);
  if (*version != kPmi1Version || *subversion < 0) {
    // The client may try again with a version that the session speaks, so its state stays.
    return reply(answer.add("rc", -1).add("msg", "only_PMI_1_and_2_are_spoken"));
  }
  state_ = State::ready;
  initialized_ = true;
  return reply(answer.add("rc", 0));
}

// A barrier without a group is one of all ranks, and the client waits for its answer.
Pmi1Session::Served Pmi1Session::barrier(const Line& line, std::string_view text) {
  const auto words = line.find("group");
  const auto is_in = [&](std::string_view other) {
    return std::any_of(barriers_.begin(), barriers_.end(),
                       [&](const auto& one) { return one.second == other; });
  };
  if (!words) {
    if (is_in("WORLD:0")) return refuse("barrier_out", "already_in_that_barrier");
    return ask_job(Pending::fence,
                   ask::Collective{ask::CollectiveKind::fence, world_in_job(facts_)});
  }
  auto group = parse_group(*words, facts_);
  if (!group) return violation(cat("sent a barrier without a group: \"", excerpt(text), "\""));
  const std::string tag(group->tag);
  const auto refused = [&](std::string why) {
    answer_barrier(tag, {.ok = false, .error = std::move(why)});
    return std::nullopt;
  };
  if (!group->ranks.contains(facts_.rank)) return refused("not_in_the_group");
  if (is_in(*words)) return refused("already_in_that_barrier");
  if (barriers_.size() >= kMaxInFlight) return refused("too_many_barriers");
  barriers_.emplace(++asked_, *words);
  return ask::Collective{.kind = ask::CollectiveKind::fence,
                         .set = ranks_in_job(facts_, group->ranks),
                         .tag = static_cast<std::uint32_t>(group->number)};
}

Pmi1Session::Served Pmi1Session::publish(const Line& line, std::string_view text) {
  const auto service = line.find("service");
  const auto port = line.find("port");
  if (!service || !port || service->empty()) {
    return violation(cat("sent a publish_name without service or port: \"", excerpt(text), "\""));
  }
  if (service->size() >= kMaxValue) return refuse("publish_result", "service_too_long");
  if (port->size() >= kMaxValue) return refuse("publish_result", "port_too_long");
  return ask_job(Pending::publish,
                 ask::Name{ask::NameAct::publish, std::string(*service), std::string(*port)});
}

Pmi1Session::Served Pmi1Session::lookup(const Line& line, std::string_view text) {
  const auto service = line.find("service");
  if (!service || service->empty()) {
    return violation(cat("sent a lookup_name without service: \"", excerpt(text), "\""));
  }
  if (service->size() >= kMaxValue) return refuse("lookup_result", "service_too_long");
  return ask_job(Pending::lookup, ask::Name{ask::NameAct::lookup, std::string(*service)});
}

Pmi1Session::Served Pmi1Session::unpublish(const Line& line, std::string_view text) {
  const auto service = line.find("service");
  if (!service || service->empty()) {
    return violation(cat("sent an unpublish_name without service: \"", excerpt(text), "\""));
  }
  if (service->size() >= kMaxValue) return refuse("unpublish_result", "service_too_long");
  return ask_job(Pending::unpublish, ask::Name{ask::NameAct::unpublish, std::string(*service)});
}

Pmi1Session::Served Pmi1Session::put(const Line& line, std::string_view text) {
  const auto kvsname = line.find("kvsname");
  const auto key = line.find("key");
  const auto value = line.find("value");
  // After it has started a launcher, MPICH 4.0's client puts the pair that it kept until then. It
  // does so even if there is no such pair.
  if (kvsname && key && value && key->empty() && value->empty()) {
    return reply(LineWriter("put_result").add("rc", 0));
  }
  if (!kvsname || !key || !value || key->empty()) {
    return violation(cat("sent a put without kvsname, key or value: \"", excerpt(text), "\""));
  }
  if (*kvsname != facts_.kvsname) return refuse("put_result", "no_such_kvsname");
  if (key->size() >= kMaxKey) return refuse("put_result", "key_too_long");
  if (value->size() >= kMaxValue) return refuse("put_result", "value_too_long");
  if (key->starts_with(kReservedPrefix)) return refuse("put_result", "reserved_key");
  return ask_job(Pending::put, ask::Put{key_in_job(facts_, *key), Chunk(std::string(*value))});
}

Pmi1Session::Served Pmi1Session::get(const Line& line, std::string_view text) {
  const auto kvsname = line.find("kvsname");
  const auto key = line.find("key");
  if (!kvsname || !key || key->empty()) {
    return violation(cat("sent a get without kvsname or key: \"", excerpt(text), "\""));
  }
  if (*kvsname != facts_.kvsname) return refuse("get_result", "no_such_kvsname");
  if (key->size() >= kMaxKey) return refuse("get_result", "key_too_long");
  const auto found = [&](std::string_view value) {
    return reply(LineWriter("get_result")
                     .add("rc", 0)
                     .add("msg", "success")
                     .add("found", "TRUE")
                     .add("value", value));
  };
  if (const auto value = job_attribute(facts_, *key)) return found(*value);
  // A mapping that does not fit is answered as empty, which clients read as unknown (spec_13).
  if (*key == "PMI_process_mapping") return found("");
  if (*key == "PMI_dead_processes") return ask_job(Pending::get, ask::Failed{});
  if (key->starts_with(kReservedPrefix)) return refuse("get_result", "key_not_found");
  return ask_job(Pending::get, ask::Get{key_in_job(facts_, *key)});
}

Pmi1Session::Served Pmi1Session::left(const Line& line, std::string_view text) {
  const auto rank = parse_int(line.find("rank").value_or(""));
  if (!rank || *rank < 0 || *rank >= static_cast<std::int64_t>(facts_.size))
    return violation(
        cat("asked whether a rank has left that there is not: \"", excerpt(text), "\""));
  return ask_job(Pending::left, LeftRequest{facts_.first_rank + static_cast<Rank>(*rank)});
}

Pmi1Session::Served Pmi1Session::abort(const Line& line) {
  state_ = State::over;
  // A client that gives no code, or no number as its code, still wants the job to end in failure.
  const int code = parse_int(line.find("exitcode").value_or("")).value_or(1);
  return ask::Abort{code, std::string(line.find("message").value_or(""))};
}

Pmi1Session::Served Pmi1Session::spawn_line(std::string_view text) {
  if (!spawn_.take(text)) {
    return violation(cat("sent a spawn request longer than ", kMaxSpawnBlock, " bytes"));
  }
  if (!spawn_.whole()) return std::nullopt;
  in_spawn_ = false;
  if (!spawn_.fault().empty()) return refuse("spawn_result", spawn_.fault());
  spawned_ = spawn_.ranks();
  return ask_job(Pending::spawn, spawn_.request());
}

Pmi1Session::Served Pmi1Session::violation(std::string_view why) {
  state_ = State::over;
  return ask::Violation{cat("PMI-1: the rank ", why)};
}

Pmi1Session::Served Pmi1Session::reply(const LineWriter& line) {
  output_ += line.text();
  return std::nullopt;
}

Pmi1Session::Served Pmi1Session::refuse(std::string_view command, std::string_view why) {
  return reply(LineWriter(command).add("rc", 1).add("msg", as_word(why)));
}

Pmi1Session::Served Pmi1Session::ask_job(Pending pending, SessionRequest request) {
  state_ = State::waiting;
  pending_ = pending;
  pending_number_ = ++asked_;
  return request;
}

}  // namespace scela::pmi
