#include "tests/sim/sim_schedule.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <sstream>

namespace scela::sim {

namespace {

template <class E, std::size_t N>
using Names = std::array<std::pair<E, std::string_view>, N>;

constexpr Names<OpKind, 18> kOps{{{OpKind::put, "put"},
                                  {OpKind::get, "get"},
                                  {OpKind::collective, "collective"},
                                  {OpKind::send, "send"},
                                  {OpKind::receive, "receive"},
                                  {OpKind::output, "output"},
                                  {OpKind::read_input, "read_input"},
                                  {OpKind::join, "join"},
                                  {OpKind::pause, "pause"},
                                  {OpKind::leave, "leave"},
                                  {OpKind::die, "die"},
                                  {OpKind::unfinished, "unfinished"},
                                  {OpKind::abort, "abort"},
                                  {OpKind::violate, "violate"},
                                  {OpKind::publish, "publish"},
                                  {OpKind::lookup, "lookup"},
                                  {OpKind::unpublish, "unpublish"},
                                  {OpKind::spawn, "spawn"}}};
constexpr Names<nla::CollectiveKind, 7> kCollectives{{{nla::CollectiveKind::barrier, "barrier"},
                                                      {nla::CollectiveKind::fence, "fence"},
                                                      {nla::CollectiveKind::gather, "gather"},
                                                      {nla::CollectiveKind::broadcast, "broadcast"},
                                                      {nla::CollectiveKind::allgather, "allgather"},
                                                      {nla::CollectiveKind::scatter, "scatter"},
                                                      {nla::CollectiveKind::alltoall, "alltoall"}}};
constexpr Names<StartFault, 7> kStarts{{{StartFault::refused, "refused"},
                                        {StartFault::denied, "denied"},
                                        {StartFault::missing, "missing"},
                                        {StartFault::slow, "slow"},
                                        {StartFault::stillborn, "stillborn"},
                                        {StartFault::keyless, "keyless"},
                                        {StartFault::waits, "waits"}}};
constexpr Names<FaultKind, 6> kFaults{{{FaultKind::crash, "crash"},
                                       {FaultKind::crash_silent, "crash_silent"},
                                       {FaultKind::freeze, "freeze"},
                                       {FaultKind::power_off, "power_off"},
                                       {FaultKind::cut, "cut"},
                                       {FaultKind::guardian_lost, "guardian_lost"}}};
constexpr Names<LeftoverKind, 3> kLeftovers{{{LeftoverKind::obeys, "obeys"},
                                             {LeftoverKind::ignores, "ignores"},
                                             {LeftoverKind::outside, "outside"}}};
constexpr Names<nla::StopCause, 5> kCauses{{{nla::StopCause::timeout, "timeout"},
                                            {nla::StopCause::signal, "signal"},
                                            {nla::StopCause::output_failed, "output_failed"},
                                            {nla::StopCause::agents_missing, "agents_missing"},
                                            {nla::StopCause::protocol, "protocol"}}};
constexpr Names<nla::OnFailure, 2> kOnFailure{
    {{nla::OnFailure::kill, "kill"}, {nla::OnFailure::wait, "wait"}}};
constexpr Names<cache::PolicyKind, 5> kPolicies{{{cache::PolicyKind::hcs, "hcs"},
                                                 {cache::PolicyKind::hcma, "hcma"},
                                                 {cache::PolicyKind::hcmab, "hcmab"},
                                                 {cache::PolicyKind::hcmab_lru, "hcmab-lru"},
                                                 {cache::PolicyKind::dht, "dht"}}};

template <class E, std::size_t N>
std::string_view name_in(const Names<E, N>& names, E value) {
  for (const auto& [item, text] : names)
    if (item == value) return text;
  return {};
}

// One line: a word and fields. `Writer` writes every field, `Reader` reads those that are there;
// the same list of fields (the `fields` functions below) serves both.
class Writer {
 public:
  explicit Writer(std::ostringstream& out) : out_(out) {}
  template <class T>
  void number(std::string_view name, const T& value, T skip = T{}) {
    if (value != skip) out_ << ' ' << name << '=' << static_cast<std::int64_t>(value);
  }
  void set(std::string_view name, const RankSet& value) {
    if (!value.empty()) out_ << ' ' << name << '=' << value.text();
  }
  template <class E, std::size_t N>
  void choice(std::string_view name, E value, const Names<E, N>& names) {
    if (const auto text = name_in(names, value); !text.empty()) out_ << ' ' << name << '=' << text;
  }

 private:
  std::ostringstream& out_;
};

class Reader {
 public:
  // Takes the fields after the first word of a line.
  explicit Reader(std::istringstream& in) {
    std::string field;
    while (in >> field) {
      const auto equals = field.find('=');
      if (equals == std::string::npos) {
        bad_ = field;
        continue;
      }
      fields_[field.substr(0, equals)] = field.substr(equals + 1);
    }
  }
  template <class T>
  void number(std::string_view name, T& value, T = T{}) {
    const auto text = take(name);
    if (text.empty()) return;
    std::int64_t parsed = 0;
    const auto result = std::from_chars(text.data(), text.data() + text.size(), parsed);
    if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) bad_ = text;
    value = static_cast<T>(parsed);
  }
  void set(std::string_view name, RankSet& value) {
    const auto text = take(name);
    if (text.empty()) return;
    auto parsed = RankSet::parse(text);
    if (parsed) {
      value = *parsed;
    } else {
      bad_ = text;
    }
  }
  template <class E, std::size_t N>
  void choice(std::string_view name, E& value, const Names<E, N>& names) {
    const auto text = take(name);
    if (text.empty()) return;
    const auto* found = std::find_if(names.begin(), names.end(),
                                     [&](const auto& entry) { return entry.second == text; });
    if (found == names.end()) {
      bad_ = text;
    } else {
      value = found->first;
    }
  }
  // Returns the first field or value that was not understood, or an empty text.
  std::string complaint() const {
    if (!bad_.empty()) return "'" + bad_ + "' is not a value for its field";
    if (!fields_.empty()) return "unknown field '" + fields_.begin()->first + "'";
    return {};
  }

 private:
  std::string take(std::string_view name) {
    const auto found = fields_.find(name);
    if (found == fields_.end()) return {};
    std::string text = found->second;
    fields_.erase(found);
    return text;
  }
  std::map<std::string, std::string, std::less<>> fields_;
  std::string bad_;
};

template <class Io, class T>
void fields_op(Io& io, T& op) {
  io.number("id", op.id);
  io.choice("kind", op.kind, kOps);
  if (op.kind == OpKind::collective) io.choice("what", op.what, kCollectives);
  io.set("set", op.set);
  io.number("rank", op.rank);
  io.number("size", op.size);
  io.number("uneven", op.uneven);
  io.number("wait", op.wait);
  io.number("async", op.async);
  io.number("peer", op.peer);
  io.number("ref", op.ref);
  io.number("code", op.code);
  io.number("odd", op.odd);
}
template <class Io, class T>
void fields_start(Io& io, T& start) {
  io.number("host", start.host);
  io.choice("how", start.how, kStarts);
  io.number("delay", start.delay);
}
template <class Io, class T>
void fields_fault(Io& io, T& fault) {
  io.choice("kind", fault.kind, kFaults);
  io.number("host", fault.host);
  io.number("at", fault.at);
  io.number("after_launch", fault.after_launch);
}
template <class Io, class T>
void fields_stimulus(Io& io, T& stimulus) {
  io.number("stop", stimulus.stop);
  io.choice("cause", stimulus.cause, kCauses);
  io.number("signo", stimulus.signo, -1);
  io.number("grace_ms", stimulus.grace_ms, std::uint32_t{100});
  io.number("at", stimulus.at);
  io.number("after_launch", stimulus.after_launch);
}
template <class Io, class T>
void fields_window(Io& io, T& window) {
  io.number("at", window.at);
  io.number("after_launch", window.after_launch);
}
template <class Io, class T>
void fields_leftover(Io& io, T& leftover) {
  io.number("rank", leftover.rank);
  io.choice("kind", leftover.kind, kLeftovers);
}
template <class Io, class T>
void fields_job(Io& io, T& schedule) {
  io.number("seed", schedule.seed);
  io.number("delay_seed", schedule.delay_seed);
  io.number("hosts", schedule.hosts);
  io.number("degree", schedule.degree);
  io.choice("on_failure", schedule.on_failure, kOnFailure);
  io.choice("policy", schedule.policy, kPolicies);
  io.number("cache_limit", schedule.cache_limit);
  io.number("grace_ms", schedule.grace_ms, std::uint32_t{100});
  io.number("adopt_ms", schedule.adopt_ms);
  io.number("attach_fails", schedule.attach_fails);
  io.number("trace", schedule.trace);
  io.number("early", schedule.early, false);
  io.number("launch_anyway", schedule.launch_anyway, true);
  io.number("remap", schedule.remap, true);
  io.number("local_children", schedule.local_children, true);
  io.number("codec_every", schedule.codec_every, std::uint32_t{8});
  io.set("stdin_ranks", schedule.stdin_ranks);
  io.number("stdin_bytes", schedule.stdin_bytes);
  io.set("terminal_ranks", schedule.terminal_ranks);
  io.set("not_started", schedule.not_started);
  io.set("stubborn", schedule.stubborn);
}
template <class Io, class T>
void fields_pace(Io& io, T& pace) {
  const Micros never = ~Micros{0};
  io.number("link_min", pace.link_min, never);
  io.number("link_max", pace.link_max, never);
  io.number("tail", pace.tail, ~std::uint32_t{0});
  io.number("start_min", pace.start_min, never);
  io.number("start_max", pace.start_max, never);
  io.number("notice_max", pace.notice_max, never);
  io.number("think_max", pace.think_max, never);
  io.number("show_max", pace.show_max, never);
}
template <class Io, class T>
void fields_place(Io& io, T& place) {
  io.number("node", place.first);
  io.number("ranks", place.second);
}

// Fields of one line for something that a schedule has several of.
template <class T, class F>
void read_item(Reader& reader, std::vector<T>& items, F&& fields) {
  fields(reader, items.emplace_back());
}

}  // namespace

RankMap Schedule::map() const {
  RankMap map;
  for (const auto& [node, ranks] : place)
    map.append(node, ranks);
  return map;
}

Rank Schedule::all_ranks() const {
  Rank all = map().size();
  for (const Op& op : ops) {
    if (op.kind == OpKind::spawn) all += op.size;
  }
  return all;
}

RankSet Schedule::spawned_by(std::uint32_t op) const {
  Rank first = map().size();
  for (std::uint32_t i = 0; i < op; ++i) {
    if (ops[i].kind == OpKind::spawn) first += ops[i].size;
  }
  return RankSet::run(first, ops[op].size);
}

bool Schedule::is_consistent() const {
  const Rank all = all_ranks();
  return std::all_of(ops.begin(), ops.end(), [&](const Op& op) {
    return op.rank < all && op.peer < all && RankSet::run(0, all).contains_all(op.set);
  });
}

bool Schedule::peaceful() const {
  const bool quiet_program = std::none_of(ops.begin(), ops.end(), [](const Op& op) {
    return op.kind == OpKind::die || op.kind == OpKind::unfinished || op.kind == OpKind::abort ||
           op.kind == OpKind::violate || op.kind == OpKind::leave || op.odd;
  });
  const bool all_there = std::all_of(starts.begin(), starts.end(), [](const HostStart& start) {
    return start.how == StartFault::waits;
  });
  return quiet_program && all_there && faults.empty() && stimuli.empty() && not_started.empty();
}

std::string_view name_of(OpKind kind) {
  return name_in(kOps, kind);
}
std::string_view name_of(StartFault fault) {
  return name_in(kStarts, fault);
}
std::string_view name_of(FaultKind kind) {
  return name_in(kFaults, kind);
}
std::string_view name_of(LeftoverKind kind) {
  return name_in(kLeftovers, kind);
}

std::string to_text(const Schedule& schedule) {
  std::ostringstream out;
  Writer writer(out);
  const auto line = [&](std::string_view word, auto&& fields, const auto& item) {
    out << word;
    fields(writer, item);
    out << '\n';
  };
  line(
      "job", [](auto& io, auto& item) { fields_job(io, item); }, schedule);
  line(
      "pace", [](auto& io, auto& item) { fields_pace(io, item); }, schedule.pace);
  for (const auto& item : schedule.place) {
    line(
        "place", [](auto& io, auto& entry) { fields_place(io, entry); }, item);
  }
  for (const auto& item : schedule.starts) {
    line(
        "start", [](auto& io, auto& entry) { fields_start(io, entry); }, item);
  }
  for (const auto& item : schedule.faults) {
    line(
        "fault", [](auto& io, auto& entry) { fields_fault(io, entry); }, item);
  }
  for (const auto& item : schedule.stimuli) {
    line(
        "user", [](auto& io, auto& entry) { fields_stimulus(io, entry); }, item);
  }
  for (const auto& item : schedule.windows) {
    line(
        "window", [](auto& io, auto& entry) { fields_window(io, entry); }, item);
  }
  for (const auto& item : schedule.leftovers) {
    line(
        "leftover", [](auto& io, auto& entry) { fields_leftover(io, entry); }, item);
  }
  for (const auto& item : schedule.ops) {
    line(
        "op", [](auto& io, auto& entry) { fields_op(io, entry); }, item);
  }
  return out.str();
}

Result<Schedule> parse_schedule(std::string_view text) {
  Schedule schedule;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream in(line);
    std::string word;
    if (!(in >> word) || word[0] == '#') continue;
    Reader reader(in);
    std::string complaint;
    if (word == "job") {
      fields_job(reader, schedule);
    } else if (word == "pace") {
      fields_pace(reader, schedule.pace);
    } else if (word == "place") {
      read_item(reader, schedule.place, [](auto& io, auto& item) { fields_place(io, item); });
    } else if (word == "start") {
      read_item(reader, schedule.starts, [](auto& io, auto& item) { fields_start(io, item); });
    } else if (word == "fault") {
      read_item(reader, schedule.faults, [](auto& io, auto& item) { fields_fault(io, item); });
    } else if (word == "user") {
      read_item(reader, schedule.stimuli, [](auto& io, auto& item) { fields_stimulus(io, item); });
    } else if (word == "window") {
      read_item(reader, schedule.windows, [](auto& io, auto& item) { fields_window(io, item); });
    } else if (word == "leftover") {
      read_item(reader, schedule.leftovers,
                [](auto& io, auto& item) { fields_leftover(io, item); });
    } else if (word == "op") {
      read_item(reader, schedule.ops, [](auto& io, auto& item) { fields_op(io, item); });
    } else {
      complaint = "unknown word '" + word + "'";
    }
    if (complaint.empty()) complaint = reader.complaint();
    if (!complaint.empty()) {
      return fail({ErrorKind::usage, "read a schedule", "line " + std::to_string(number), complaint,
                   "the words are job, pace, place, start, fault, user, window, leftover, op"});
    }
  }
  return schedule;
}

}  // namespace scela::sim
