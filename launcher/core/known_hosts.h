// Which keys a host may show: the text of known_hosts files (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT),
// parsed once and asked for many hosts.
//
//   node1,10.0.0.1 ssh-ed25519 AAAA...      names and addresses
//   *.cluster,!login.cluster ssh-rsa AA...  patterns
//   [node1]:2222 ssh-ed25519 AAAA...        another port than 22
//   |1|SALT|HASH ssh-ed25519 AAAA...        a name that is hidden: HMAC-SHA1 of it, keyed by SALT
//   @revoked * ssh-ed25519 AAAA...          never to be accepted
//   @cert-authority *.cluster ssh-rsa ...   certificates of hosts are not understood: noted only
//
// A plain name is one look-up. Hidden names cost one HMAC per line, so they are tried only where no
// other line names the host. A line that cannot be read is skipped and counted, as ssh does. Memory
// grows with the text, which the caller bounds. Knows no file and no cryptography: the HMAC is
// passed in. Values only; find() may be called from several threads.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace scela {

using Sha1Digest = std::array<std::uint8_t, 20>;
using HmacSha1 = Sha1Digest (*)(std::string_view key, std::string_view text);

struct KnownKey {
  std::string type;  // as ssh names it: ssh-ed25519, ecdsa-sha2-nistp256, ssh-rsa
  std::string blob;  // base64; decodes to a key of that type
  friend bool operator==(const KnownKey&, const KnownKey&) = default;
};

struct KnownKeys {
  std::vector<KnownKey> accepted;  // in the order of the files, each once, none of them revoked
  std::vector<KnownKey> revoked;
  bool has_authority = false;  // a @cert-authority line names the host
};

class KnownHosts {
 public:
  // Appends a file's text; `file_name` is for first_broken() only.
  void add(std::string_view text, std::string_view file_name);

  // `name` is what the user asked ssh for (or its HostKeyAlias). `address`, which may be empty,
  // counts for revoked keys only: whoever can answer for the name could point it at a host whose
  // key is known by address. Keys of another port than 22 are those of "[name]:port", or where
  // there is none, those of the name alone.
  KnownKeys find(std::string_view name, std::string_view address, std::uint16_t port,
                 HmacSha1 hmac) const;

  std::size_t lines() const { return keys_.size(); }  // that were understood
  std::size_t broken() const { return broken_; }
  const std::string& first_broken() const { return first_broken_; }  // "file:line"

 private:
  enum class Mark : std::uint8_t { accepted, revoked, authority };
  struct Entry {
    KnownKey key;
    Mark mark;
  };
  using Index = std::uint32_t;
  struct Patterned {
    std::vector<std::string> patterns;
    Index entry;
  };
  struct Hidden {
    std::string salt;
    std::string hash;
    Index entry;
  };

  bool add_line(std::string_view line);
  bool add_hidden(std::string_view name, Index entry);
  void collect_visible(const std::string& name, std::vector<Index>& out) const;
  static void collect_hidden(const std::vector<Hidden>& lines, const std::string& name,
                             HmacSha1 hmac, std::vector<Index>& out);
  bool has_accepted(const std::vector<Index>& lines) const;

  std::vector<Entry> keys_;
  std::unordered_map<std::string, std::vector<Index>> plain_;
  std::vector<Patterned> patterned_;
  std::vector<Hidden> hidden_;          // accepted keys and authorities
  std::vector<Hidden> hidden_revoked_;  // few, and asked for every host
  std::size_t broken_ = 0;
  std::string first_broken_;
};

// How a host is named in the files: lower case, "[name]:port" for another port than 22.
std::string known_hosts_name(std::string_view name, std::uint16_t port);
// Whether the base64 text is a key of that type (its first field says the same).
bool is_key_of_type(std::string_view type, std::string_view blob);

}  // namespace scela
