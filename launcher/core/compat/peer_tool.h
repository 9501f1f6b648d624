// The tools that scela-run stands for (its peers), and the table of their options.
// launcher/core/compat/peer_words.h translates by the table, and launcher/core/compat/peer_text.h
// prints it. The rows of each peer are in a file of their own.
//
// All functions are pure and may be called from any thread. The rows live as long as the program.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/core/result.h"

namespace scela {

// The tools. hydra and openmpi share the names mpiexec and mpirun.
enum class Peer : std::uint8_t { hydra, openmpi, srun, pdsh, clush, dshbak, pdcp };
inline constexpr Peer kPeers[] = {Peer::hydra, Peer::openmpi, Peer::srun, Peer::pdsh,
                                  Peer::clush, Peer::dshbak,  Peer::pdcp};

// The names of argv[0], and of --as, that stand for a peer. `peer` reads the command line first,
// and `other`, if there is one, if it has an option that `peer` does not know.
struct PeerName {
  std::string_view name;
  Peer peer;
  std::optional<Peer> other = {};
};
std::span<const PeerName> peer_names();
// Returns the row of a name, or null if the name is no peer's.
const PeerName* find_peer(std::string_view name);

// The forms of an option's value. attached: a value only in the same word, or none (-K1, --kill=1,
// -K). pair: a name and a value in two words. variable: the same, or NAME=VALUE in one word.
enum class PeerArgument : std::uint8_t { none, one, attached, pair, variable };

// Says how near scela-run comes to an option. same: users see no difference. near: `text` says what
// differs. refused: `text` says why, and `instead` what to do.
enum class PeerVerdict : std::uint8_t { same, near, refused };

struct PeerCall;
// Turns the value of an option into words of scela-run, in `call`. An error has only `why` and
// `hint`; the caller adds the option.
using PeerConversion = Result<void> (*)(PeerCall& call, std::string_view value);

// One option of a peer.
struct PeerOption {
  std::string_view spellings;  // with their dashes, separated by blanks: "-n -np"
  PeerArgument takes;
  PeerVerdict verdict;
  // The words of scela-run, separated by blanks, in which "{}" is the value: "--np={}". It is empty
  // if scela-run needs none. If `convert` is set, the words are for the reader only.
  std::string_view becomes;
  std::string_view text;     // see PeerVerdict
  std::string_view instead;  // for refused only
  std::string_view example;  // a value that is accepted; "" if the option takes none
  PeerConversion convert;    // null: `becomes` is what it becomes
};

// Returns all options of a peer, in the order of its own help. Of pdcp it returns those of pdsh.
std::span<const PeerOption> peer_options(Peer peer);

// The facts about a peer beside its options: its title, and sentences about its defaults.
struct PeerFacts {
  std::string_view title;                      // "mpiexec of MPICH (Hydra 4)"
  std::span<const std::string_view> defaults;  // sentences
  std::string_view usage;                      // "[OPTIONS] PROGRAM [ARGUMENTS]"
};
const PeerFacts& facts_of(Peer peer);

// Returns whether the peer's options are words of their own, of one dash or two (mpiexec), or
// letters and long names as getopt_long(3) reads them.
constexpr bool has_word_options(Peer peer) {
  return peer == Peer::hydra || peer == Peer::openmpi;
}
// Returns whether the peer runs ranks, and not a command once on each host.
constexpr bool runs_ranks(Peer peer) {
  return has_word_options(peer) || peer == Peer::srun;
}

}  // namespace scela
