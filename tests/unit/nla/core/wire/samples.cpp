#include "tests/unit/nla/core/wire/samples.h"

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "common/core/line_marks.h"
#include "common/core/text.h"

namespace scela::nla::samples {

std::uint32_t number(Random& random) {
  return static_cast<std::uint32_t>(random.next() >> random.between(32, 63));
}

std::uint64_t large_number(Random& random) {
  return random.next() >> random.below(64);
}

std::string text(Random& random, std::size_t longest) {
  std::string out(random.below(longest + 1), '\0');
  for (char& c : out)
    c = static_cast<char>(random.next());
  return out;
}

Chunk chunk(Random& random, std::size_t longest) {
  return Chunk(text(random, longest));
}

RankSet ranks(Random& random) {
  RankSet out;
  for (std::uint64_t i = random.below(5); i > 0; --i) {
    out.add(RankSet::run(static_cast<Rank>(random.below(1'000'000)),
                         static_cast<Rank>(random.below(300))));
  }
  return out;
}

namespace {

template <class Enum>
Enum one_of(Random& random, Enum last) {
  return static_cast<Enum>(random.below(static_cast<std::uint64_t>(last) + 1));
}

bool flag(Random& random) {
  return random.chance(1, 2);
}

std::int32_t signed_number(Random& random) {
  return static_cast<std::int32_t>(number(random));
}

Stats stats(Random& random) {
  return {number(random),       large_number(random), large_number(random), large_number(random),
          large_number(random), large_number(random), large_number(random)};
}

template <class Collective>
Collective collective(Random& random) {
  return {{ranks(random), large_number(random), number(random)},
          one_of(random, CollectiveKind::alltoall),
          number(random),
          flag(random),
          ranks(random),
          text(random),
          chunk(random),
          flag(random),
          number(random)};
}

LogRecord log_record(Random& random) {
  return {one_of(random, LogLevel::error), one_of(random, Subsystem::placement), text(random),
          text(random)};
}

// One function per alternative; overload resolution by type keeps them next to their messages.
void fill(Random& r, msg::Start& m) {
  const std::uint32_t first = number(r) / 2;
  m = {static_cast<std::uint16_t>(number(r)),
       text(r),
       {first, first + number(r) / 2},
       number(r),
       number(r),
       number(r),
       large_number(r),
       number(r),
       text(r),
       number(r),
       number(r)};
}
void fill(Random& r, msg::SliceHosts& m) {
  m = {flag(r), chunk(r)};
}
void fill(Random& r, msg::JobBytes& m) {
  m = {flag(r), chunk(r)};
}
void fill(Random& r, msg::Signal& m) {
  m = {signed_number(r)};
}
void fill(Random& r, msg::Terminate& m) {
  m = {signed_number(r), number(r)};
}
void fill(Random&, msg::Shutdown&) {}
void fill(Random& r, msg::CollectiveDown& m) {
  m = collective<msg::CollectiveDown>(r);
}
void fill(Random& r, msg::Answer& m) {
  m = {text(r), flag(r), flag(r), flag(r), chunk(r)};
}
void fill(Random& r, msg::Stdin& m) {
  m = {flag(r), chunk(r)};
}
void fill(Random& r, msg::Credit& m) {
  m = {large_number(r), large_number(r)};
}
void fill(Random& r, msg::Hello& m) {
  m = {static_cast<std::uint16_t>(number(r)),
       number(r),
       large_number(r),
       large_number(r),
       text(r),
       text(r)};
}
void fill(Random& r, msg::NodeFailed& m) {
  m = {number(r), one_of(r, StartPhase::running), text(r)};
}
void fill(Random& r, msg::Ready& m) {
  m = {number(r)};
  for (std::uint64_t i = r.below(4); i > 0; --i)
    m.topologies.emplace_back(text(r), ranks(r));
  for (std::uint64_t i = r.below(3); i > 0; --i)
    m.rendezvous.emplace_back(text(r), ranks(r));
}
void fill(Random& r, msg::Launched& m) {
  m = {number(r)};
}
void fill(Random& r, msg::ProcessFail& m) {
  m = {number(r), outcome(r)};
}
void fill(Random& r, msg::Verdicts& m) {
  for (std::uint64_t i = r.below(6); i > 0; --i)
    m.groups.emplace_back(outcome(r), ranks(r));
}
void fill(Random& r, msg::Done& m) {
  m = {stats(r)};
}
void fill(Random& r, msg::CollectiveUp& m) {
  m = collective<msg::CollectiveUp>(r);
}
void fill(Random& r, msg::Get& m) {
  m = {text(r), flag(r)};
}
void fill(Random& r, msg::Put& m) {
  m = {text(r), chunk(r)};
}
void fill(Random& r, msg::Output& m) {
  m = {number(r), one_of(r, Stream::err), flag(r), chunk(r)};
}
void fill(Random& r, msg::StdinTaken& m) {
  m = {large_number(r), flag(r)};
}
void fill(Random& r, msg::Log& m) {
  m = {log_record(r), number(r)};
}
void fill(Random& r, msg::Report& m) {
  m = {number(r), flag(r), chunk(r)};
}
void fill(Random& r, msg::RoutedMessage& m) {
  m = {number(r), number(r), number(r), large_number(r), large_number(r), chunk(r)};
}
void fill(Random& r, msg::HandBack& m) {
  m.slice.first = number(r);
  m.slice.end = m.slice.first + static_cast<std::uint32_t>(r.below(100));
}
void fill(Random& r, msg::PeersFailed& m) {
  m = {ranks(r)};
}
void fill(Random& r, msg::Adopt& m) {
  m.version = static_cast<std::uint16_t>(number(r));
  m.job_id = text(r);
  m.parent = number(r);
  m.slice = {number(r), number(r)};
  m.output_window = number(r);
  for (std::uint64_t i = r.below(6); i > 0; --i)
    m.seen.push_back({number(r), one_of(r, Stream::err), large_number(r), flag(r)});
  m.last = flag(r);
}
void fill(Random& r, msg::Orphan& m) {
  m = {{number(r), number(r)},
       number(r),
       large_number(r),
       large_number(r),
       flag(r),
       flag(r),
       number(r)};
}
void fill(Random& r, msg::Below& m) {
  for (std::uint64_t i = r.below(6); i > 0; --i)
    m.slices.push_back({number(r), number(r)});
}
void fill(Random& r, msg::CutOff& m) {
  m = {ranks(r), flag(r)};
}
void fill(Random& r, msg::NodesLost& m) {
  m = {ranks(r)};
}
void fill(Random& r, msg::Inspect& m) {
  m = {one_of(r, Inspection::tool), number(r), {text(r, 9), text(r, 9)}};
}
void fill(Random& r, msg::Inspected& m) {
  m = {number(r), flag(r), chunk(r)};
}

void fill(Random& r, msg::NodeDown& m) {
  m = {number(r), text(r)};
}

WindowSize window(Random& r) {
  const auto some = [&] { return static_cast<std::uint16_t>(number(r)); };
  return {some(), some(), some(), some()};
}
void fill(Random& r, msg::Resize& m) {
  m = {window(r)};
}

void fill(Random& r, msg::NameAsked& m) {
  m = {number(r), large_number(r), one_of(r, NameAct::withdraw),
       text(r),   text(r),         one_of(r, NameRange::rank)};
}
void fill(Random& r, msg::NameAnswer& m) {
  m = {number(r), large_number(r), flag(r), text(r)};
}
void fill(Random& r, msg::Pairs& m) {
  m = {chunk(r)};
}

KeyValues key_values(Random& r) {
  KeyValues pairs;
  for (std::uint64_t i = r.below(4); i > 0; --i)
    pairs.emplace_back(text(r), text(r));
  return pairs;
}
void fill(Random& r, msg::SpawnAsked& m) {
  m.rank = number(r);
  m.id = large_number(r);
  for (std::uint64_t i = r.below(4); i > 0; --i)
    m.request.programs.push_back({{text(r), text(r)}, number(r), key_values(r)});
  m.request.preput = key_values(r);
}
void fill(Random& r, msg::SpawnAnswer& m) {
  m = {number(r), large_number(r), flag(r), text(r), text(r)};
}
void fill(Random& r, msg::WorldBytes& m) {
  m = {flag(r), chunk(r)};
}
void fill(Random& r, msg::WorldLaunched& m) {
  m = {number(r), ranks(r), signed_number(r), text(r)};
}
void fill(Random& r, msg::EndRanks& m) {
  m = {ranks(r)};
}

template <std::size_t... kIndex>
Message alternative(std::size_t index, std::index_sequence<kIndex...>) {
  Message out;
  ((kIndex == index ? void(out.emplace<kIndex>()) : void()), ...);
  return out;
}

}  // namespace

Outcome outcome(Random& random) {
  return {one_of(random, Ending::violated), signed_number(random), flag(random), flag(random),
          text(random)};
}

Message message(Random& random, std::size_t index) {
  Message out = alternative(index, std::make_index_sequence<std::variant_size_v<MessageKinds>>{});
  std::visit([&](auto& m) { fill(random, m); }, out);
  return out;
}

bool same(const Message& a, const Message& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&b](const auto& left) {
        using M = std::decay_t<decltype(left)>;
        const M& right = std::get<M>(b);
        if constexpr (std::is_same_v<M, msg::Log>) {
          const LogRecord& x = left.record;
          const LogRecord& y = right.record;
          return std::tie(x.level, x.subsystem, x.node, x.text, left.node) ==
                 std::tie(y.level, y.subsystem, y.node, y.text, right.node);
        } else {
          return left == right;
        }
      },
      a);
}

static Training training(Random& random) {
  return {{flag(random), flag(random), flag(random), flag(random)},
          {"10.0.0.1", static_cast<std::uint16_t>(number(random))},
          "a,b",
          flag(random),
          number(random),
          number(random),
          number(random),
          "run"};
}

static std::vector<std::string> words(Random& random, const char* prefix) {
  std::vector<std::string> list;
  for (std::uint64_t i = random.below(4); i > 0; --i)
    list.push_back(cat(prefix, "=", large_number(random)));
  return list;
}

static Stops stops(Random& random, Rank ranks) {
  const auto some = [&] { return RankSet::run(0, static_cast<Rank>(random.below(ranks + 1))); };
  return {some(), some()};
}

static std::vector<App> apps(Random& random, Rank ranks) {
  std::vector<App> out;
  // Each rank goes to one of a few applications. Applications that got no rank are left out.
  std::array<RankSet, 3> shares;
  for (Rank rank = 0; rank < ranks; ++rank)
    shares[random.below(shares.size())].add(rank);
  for (const RankSet& share : shares) {
    if (share.empty()) continue;
    App app;
    app.argv = words(random, "argument");
    app.argv.insert(app.argv.begin(), "./program");
    app.by_shell = app.argv.size() == 1;
    app.env = words(random, "APP");
    if (flag(random)) app.wdir = "/tmp";
    if (flag(random)) app.path = "/opt/bin:bin";
    app.ranks = share;
    out.push_back(std::move(app));
  }
  return out;
}

Job job(Random& random) {
  Job out;
  out.id = cat("job-", number(random));
  do {
    out.map.append(static_cast<std::uint32_t>(random.below(50)),
                   static_cast<std::uint32_t>(random.below(9)));
  } while (out.map.size() == 0 || random.chance(2, 3));
  out.apps = apps(random, out.map.size());
  out.env = words(random, "VARIABLE");
  out.wdir = "/home/user";
  if (flag(random)) out.stdin_ranks = RankSet::single(out.map.size() - 1);
  out.on_failure = one_of(random, OnFailure::wait);
  out.placement = {one_of(random, MapBy::socket),
                   one_of(random, BindTo::socket),
                   one_of(random, PlaceOrder::socket),
                   1 + static_cast<std::uint32_t>(random.below(9)),
                   flag(random),
                   flag(random),
                   one_of(random, MemoryBinding::interleave)};
  out.pmi = one_of(random, PmiKind::none);
  out.universe = signed_number(random);
  out.grace_ms = number(random);
  out.cache_policy = one_of(random, out.on_failure == OnFailure::wait ? cache::PolicyKind::hcmab_lru
                                                                      : cache::PolicyKind::dht);
  out.cache_limit = number(random);
  out.training = training(random);
  out.trace = flag(random);
  out.once_per_host = flag(random);
  out.keep = flag(random);
  out.host_timeout_ms = number(random);
  out.label = flag(random) ? std::string() : std::string(kLabelOfHost);
  out.timestamps = flag(random);
  out.plain_output = flag(random);
  out.ahead_s = signed_number(random);
  if (flag(random)) out.terminal_ranks = RankSet::single(out.map.size() - 1);
  out.input_by_rank = out.stdin_ranks == out.terminal_ranks && flag(random);
  out.debugger = words(random, "DEBUGGER");
  if (!out.debugger.empty() && flag(random)) out.debugged_ranks = RankSet::single(0);
  out.window = window(random);
  out.modes = {flag(random), flag(random), text(random, 12)};
  out.hosts = words(random, "HOST");
  out.stops = stops(random, out.map.size());
  return out;
}

}  // namespace scela::nla::samples
