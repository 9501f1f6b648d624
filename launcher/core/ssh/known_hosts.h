// Finds the keys that a host may show, from the text of known_hosts files (sshd(8), SSH_KNOWN_HOSTS
// FILE FORMAT). The text is parsed once and asked for many hosts. launcher/hosts/ssh_hosts.cpp uses
// it.
//
//   node1,10.0.0.1 ssh-ed25519 AAAA...      names and addresses
//   *.cluster,!login.cluster ssh-rsa AA...  patterns
//   [node1]:2222 ssh-ed25519 AAAA...        another port than 22
//   |1|SALT|HASH ssh-ed25519 AAAA...        a hidden name: its HMAC-SHA1, keyed by SALT
//   @revoked * ssh-ed25519 AAAA...          never to be accepted
//   @cert-authority *.cluster ssh-rsa ...   host certificates are not supported: noted only
//
// A plain name costs one look-up. Hidden names cost one HMAC per line, so they are tried only if no
// other line has an accepted key for the host. A line that cannot be parsed is skipped and counted,
// as in ssh. Memory grows with the text, which the caller bounds. The class reads no files and has
// no cryptography: the HMAC is a parameter. find() may be called from several threads if add() is
// not called at the same time.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace scela {

// A digest of SHA-1, and a function that computes an HMAC-SHA1 (launcher/hosts/key_hash.h has one).
using Sha1Digest = std::array<std::uint8_t, 20>;
using HmacSha1 = Sha1Digest (*)(std::string_view key, std::string_view text);

// A public key of a host.
struct KnownKey {
  // In ssh's words: ssh-ed25519, ecdsa-sha2-nistp256, ssh-rsa.
  std::string type;
  std::string blob;  // base64 of a key of that type
  friend bool operator==(const KnownKey&, const KnownKey&) = default;
};

// The keys of one host.
struct KnownKeys {
  // The keys in the order of the files, each once and without the revoked ones.
  std::vector<KnownKey> accepted;
  std::vector<KnownKey> revoked;
  bool has_authority = false;  // a @cert-authority line names the host
};

// The lines of all known_hosts files of a user.
class KnownHosts {
 public:
  // Adds the lines of a file. `text` is the file's text. `file_name` is for first_broken() only.
  void add(std::string_view text, std::string_view file_name);

  // Returns the keys of a host. `name` is the name that the user gave to ssh, or its HostKeyAlias.
  // For a port other than 22, the keys of "[name]:port" apply, or if there are none, those of the
  // name alone. `hmac` computes an HMAC-SHA1.
  //
  // `address` may be empty and is used for revoked keys only. Otherwise an attacker that controls
  // the name service could point the name at a host with a key known by address.
  KnownKeys find(std::string_view name, std::string_view address, std::uint16_t port,
                 HmacSha1 hmac) const;

  std::size_t lines() const { return keys_.size(); }  // number of lines understood
  // Returns the number of lines that could not be parsed, and the first of them as "file:line".
  std::size_t broken() const { return broken_; }
  const std::string& first_broken() const { return first_broken_; }

 private:
  // Says which marker a line has: none, @revoked or @cert-authority.
  enum class Mark : std::uint8_t { accepted, revoked, authority };
  // A line of a file: its key and its marker.
  struct Entry {
    KnownKey key;
    Mark mark;
  };
  using Index = std::uint32_t;
  // The names of a line that has patterns, with the position of its entry in keys_.
  struct Patterned {
    std::vector<std::string> patterns;
    Index entry;
  };
  // A hidden name of a line, with the position of its entry in keys_. Salt and hash are decoded.
  struct Hidden {
    std::string salt;
    std::string hash;
    Index entry;
  };

  // Returns false if the line cannot be parsed; it is then counted as broken.
  bool add_line(std::string_view line);
  // Adds a name of the form |1|SALT|HASH. Returns false if it is malformed.
  bool add_hidden(std::string_view name, Index entry);
  // Both append to `out` the positions in keys_ of the lines that have the name: the first from
  // plain names and patterns, the second from hidden names.
  void collect_visible(const std::string& name, std::vector<Index>& out) const;
  static void collect_hidden(const std::vector<Hidden>& lines, const std::string& name,
                             HmacSha1 hmac, std::vector<Index>& out);
  // Returns true if one of these entries is an accepted key.
  bool has_accepted(const std::vector<Index>& lines) const;

  std::vector<Entry> keys_;
  std::unordered_map<std::string, std::vector<Index>> plain_;
  std::vector<Patterned> patterned_;
  std::vector<Hidden> hidden_;          // accepted keys and authorities
  std::vector<Hidden> hidden_revoked_;  // few lines, tried for every host
  std::size_t broken_ = 0;
  std::string first_broken_;
};

// Returns the form of a host's name in the files: lower case, and "[name]:port" for a port other
// than 22.
std::string known_hosts_name(std::string_view name, std::uint16_t port);
// Returns true if `blob` is the base64 text of a key of that type. The key's first field must have
// the type too.
bool is_key_of_type(std::string_view type, std::string_view blob);

}  // namespace scela
