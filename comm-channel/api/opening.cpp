#include "comm-channel/api/opening.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm-channel/net/network_link.h"
#include "common/core/text.h"
#include "common/os/fd.h"
#include "common/os/syscall.h"

namespace scela::channel {

namespace {

// A rank tells the others of its node a place, or that it has joined, or this mark and the reason
// why not.
constexpr char kWhyNot = '!';
// Stands before a text that may begin with any byte.
constexpr char kAddress = '=';
constexpr std::string_view kVerbs = "verbs";
constexpr std::string_view kTransportVariable = "SCELA_CHANNEL_TRANSPORT";

// A meeting that all ranks of a job call. They call it on error too, so that no rank waits for one
// that has given up.
class Meeting {
 public:
  explicit Meeting(Bootstrap& bootstrap) : bootstrap_(bootstrap) {}

  // Returns what the node's ranks say, by their numbers there. If ranks have failed, all get the
  // error of the first.
  Result<std::vector<std::string>> say(std::string_view key, Result<std::string> mine) {
    const std::string text = mine ? *mine : cat(kWhyNot, mine.error().text());
    if (auto put = bootstrap_.put(key, text); !put) return fail(std::move(put.error()));
    if (auto met = bootstrap_.fence(); !met) return fail(std::move(met.error()));
    if (!mine) return fail(std::move(mine.error()));
    std::vector<std::string> said;
    const World& world = bootstrap_.world();
    for (const int rank : world.ranks_of(world.node())) {
      auto theirs = bootstrap_.get(rank, key);
      if (!theirs) return fail(std::move(theirs.error()));
      if (theirs->starts_with(kWhyNot))
        return fail(Error{ErrorKind::launch, "open the channel", cat("rank ", rank),
                          theirs->substr(1), ""});
      said.push_back(std::move(*theirs));
    }
    return said;
  }

 private:
  Bootstrap& bootstrap_;
};

bool uses_memory(const World& world, const ChannelOptions& options) {
  return world.local_size() > 1 && options.transport != kVerbs;
}
bool uses_network(const World& world, const ChannelOptions& options) {
  return options.transport == kVerbs ? world.size > 1 : world.nodes > 1;
}

// The text is "Transport place". The node's ranks must mean the same transport, or they would wait
// for each other.
Result<std::string> place_of_first(const std::vector<std::string>& said, const World& world) {
  std::vector<int> ranks = world.ranks_of(world.node());
  for (std::size_t i = 1; i < said.size(); ++i)
    if (said[i].substr(0, said[i].find(' ')) != said[0].substr(0, said[0].find(' ')))
      return fail(Error{
          ErrorKind::usage, "open the channel", "",
          cat("ranks ", ranks[0], " and ", ranks[i], " of one node differ in ", kTransportVariable),
          "give all ranks the same"});
  return said[0].substr(said[0].find(' ') + 1);
}

Result<shm::SharedSegment> segment_of_node(const World& world, Meeting& meeting,
                                           const ChannelOptions& options) {
  const shm::Shape shape =
      shm::shape_for(static_cast<std::uint32_t>(world.local_size()), options.eager.shm);
  const bool first = world.local_rank() == 0;
  Result<shm::SharedSegment> segment = shm::SharedSegment();
  if (first && uses_memory(world, options)) segment = shm::make_segment(shape);
  Result<std::string> place = std::string();
  if (!segment)
    place = fail(segment.error());
  else if (*segment)
    place = shm::text_of((*segment)->place());
  if (place) *place = cat(options.transport, ' ', *place);
  auto places = meeting.say("scela.shm", std::move(place));
  if (!places) return fail(std::move(places.error()));
  const auto told = place_of_first(*places, world);
  if (!told) return fail(told.error());
  if (first || !uses_memory(world, options)) return segment;
  const auto there = shm::place_of(*told);
  if (!there) return fail(there.error());
  return shm::open_segment(*there, shape);
}

// The members are empty if there are no other ranks on this node.
struct OnNode {
  shm::SharedSegment segment;
  std::unique_ptr<shm::NodeLink> link;
};

// One rank of the node reports it, since all its ranks' large messages take that path.
void say_how_it_copies(const shm::NodeLink& link, const World& world) {
  if (!link.copies().is_to_say_why_not()) return;
  const std::string text =
      cat("libscela: rank ", world.rank, ": ", link.copies().why_not().text(), "\n");
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

Result<OnNode> link_of_node(Bootstrap& bootstrap, const ChannelOptions& options) {
  const World& world = bootstrap.world();
  Meeting meeting(bootstrap);
  auto segment = segment_of_node(world, meeting, options);
  OnNode here;
  Result<std::string> joined = std::string("joined");
  if (!segment) {
    joined = fail(segment.error());
  } else if (*segment) {
    auto made = shm::join_node(*segment, static_cast<std::uint32_t>(world.local_rank()),
                               world.nodes > 1 ? shm::SleepsBy::pipe : shm::SleepsBy::word);
    if (made)
      here.link = std::move(*made);
    else
      joined = fail(std::move(made.error()));
  }
  if (auto all = meeting.say("scela.shm.joined", std::move(joined)); !all)
    return fail(std::move(all.error()));
  if (here.link) {
    here.link->settle();
    say_how_it_copies(*here.link, world);
  }
  here.segment = std::move(*segment);
  return here;
}

// ---- other nodes ----

// Rank 0 draws these, and the launcher tells them to the job's ranks only. `key` is that of the
// adapter's connections if no agent of ScELA has drawn one. `word` authenticates the ranks'
// datagrams. Each has its own bytes, so that one does not reveal the other.
struct JobSecrets {
  verbs::JobKey key{};
  std::array<std::uint8_t, connect::kJobSecretBytes> word{};
};
constexpr char kSecrets[] = "scela.key";

// Rank 0 tells the secrets before any ranks meet.
Result<void> tell_secrets(Bootstrap& bootstrap, const ChannelOptions& options) {
  const World& world = bootstrap.world();
  if (!uses_network(world, options) || world.rank != 0) return {};
  JobSecrets drawn;
  for (const std::span<std::uint8_t> part :
       {std::span<std::uint8_t>(drawn.key), std::span<std::uint8_t>(drawn.word)})
    if (auto done = verbs::draw(part); !done) return done;
  std::string text(drawn.key.begin(), drawn.key.end());
  text.append(drawn.word.begin(), drawn.word.end());
  return bootstrap.put(kSecrets, text);
}

Result<JobSecrets> learn_secrets(Bootstrap& bootstrap) {
  const auto said = bootstrap.get(0, kSecrets);
  if (!said) return fail(said.error());
  JobSecrets secrets;
  if (said->size() != secrets.key.size() + secrets.word.size()) {
    return fail(scela::Error{ErrorKind::protocol, "learn the keys of the job's connections",
                             "rank 0", "the keys have an unexpected length",
                             "run all ranks with one version of libscela"});
  }
  std::memcpy(secrets.key.data(), said->data(), secrets.key.size());
  std::memcpy(secrets.word.data(), said->data() + secrets.key.size(), secrets.word.size());
  return secrets;
}

Result<std::unique_ptr<NetworkLink>> open_network(Bootstrap& bootstrap,
                                                  const ChannelOptions& options, int file) {
  auto symbols = verbs::choose_library("");
  if (!symbols) return fail(std::move(symbols.error()));
  const auto secrets = learn_secrets(bootstrap);
  if (!secrets) return fail(secrets.error());
  World world = bootstrap.world();
  if (verbs::needs_job(**symbols))
    if (auto joined =
            verbs::join_job(**symbols, world.job, secrets->key, world.node(), world.nodes);
        !joined)
      return fail(std::move(joined.error()));
  auto device = verbs::open_device_of(**symbols, "");
  if (!device) return fail(std::move(device.error()));
  // Without shared memory, the node's ranks have no file in common and count as different nodes.
  if (options.transport == kVerbs) std::iota(world.node_of.begin(), world.node_of.end(), 0);
  return NetworkLink::open(world, options, connect::job_secret_of(secrets->word),
                           std::move(*device), file);
}

// Returns null if all ranks are reached by shared memory.
Result<std::unique_ptr<Network>> link_of_network(Bootstrap& bootstrap,
                                                 const ChannelOptions& options,
                                                 const shm::Segment* segment) {
  if (!uses_network(bootstrap.world(), options)) return std::unique_ptr<Network>();
  Meeting meeting(bootstrap);
  Fd file;
  if (segment != nullptr)
    file = Fd(::open(cat("/proc/", segment->place().pid, "/fd/", segment->place().fd).c_str(),
                     O_RDWR | O_CLOEXEC));
  auto link = open_network(bootstrap, options, file ? file.get() : -1);
  Result<std::string> address = std::string();
  if (link)
    address = cat(kAddress, (*link)->address());
  else
    address = fail(link.error());
  if (auto all = meeting.say("scela.card", std::move(address)); !all)
    return fail(std::move(all.error()));
  (*link)->look_up_with([&bootstrap](int rank) {
    auto said = bootstrap.get(rank, "scela.card");
    if (said && said->starts_with(kWhyNot))
      said =
          fail(Error{ErrorKind::launch, "it has not opened its channel", "", said->substr(1), ""});
    if (said && !said->empty()) said->erase(0, 1);
    return said;
  });
  (*link)->ask_with([&bootstrap](int rank) { return bootstrap.has_left(rank); });
  return std::unique_ptr<Network>(std::move(*link));
}

}  // namespace

Result<Links> open_links(Bootstrap& bootstrap, const ChannelOptions& options) {
  if (options.transport == "shm" && bootstrap.world().nodes > 1)
    return fail(Error{ErrorKind::usage, "open the channel", "",
                      cat(kTransportVariable, " is shm, and the ranks are on ",
                          bootstrap.world().nodes, " nodes"),
                      "leave it out, or run all ranks on one node"});
  if (auto told = tell_secrets(bootstrap, options); !told) return fail(std::move(told.error()));
  auto here = link_of_node(bootstrap, options);
  if (!here) return fail(std::move(here.error()));
  auto network = link_of_network(bootstrap, options, here->segment.get());
  if (!network) return fail(std::move(network.error()));
  if (here->link && *network && (*network)->is_software()) here->link->share_processors();
  return Links{std::move(here->link), std::move(*network),
               [&bootstrap](int rank) { return bootstrap.has_failed(rank); },
               [&bootstrap](int rank) { return bootstrap.has_left(rank); }};
}

}  // namespace scela::channel
