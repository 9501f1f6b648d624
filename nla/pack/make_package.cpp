// make_package AGENT UNPACK PACKAGE [LEAF]: writes the package of the executable AGENT
// (package_format.h). UNPACK is the program of unpack.c. With LEAF, the package of the small agent,
// it writes the pair and the record of its digests. The build runs it. Exit status 1 and a text on
// standard error: a file cannot be read or written, or AGENT is no executable with a build id.

#include <lz4hc.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/core/hex.h"
#include "common/core/text.h"
#include "common/crypto/digest.h"
#include "nla/io/agent_file.h"
#include "nla/pack/agent_package.h"
#include "nla/pack/package_format.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace {

using scela::cat;

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the blocks of the package.
std::string compress(const std::string& bytes) {
  std::string out;
  std::vector<char> room(static_cast<std::size_t>(::LZ4_compressBound(SCELA_PACKAGE_BLOCK)));
  for (std::size_t at = 0; at < bytes.size(); at += SCELA_PACKAGE_BLOCK) {
    const std::size_t length = std::min<std::size_t>(SCELA_PACKAGE_BLOCK, bytes.size() - at);
    const int size = ::LZ4_compress_HC(bytes.data() + at, room.data(), static_cast<int>(length),
                                       static_cast<int>(room.size()), LZ4HC_CLEVEL_MAX);
    const auto prefix = static_cast<std::uint32_t>(size);
    out.append(reinterpret_cast<const char*>(&prefix), sizeof prefix);
    out.append(room.data(), prefix);
  }
  return out;
}

std::string blake2b_hex(const std::string& bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  ::EVP_Digest(bytes.data(), bytes.size(), digest, &size, ::EVP_blake2b512(), nullptr);
  return scela::hex_digits(digest, size);
}

template <std::size_t kSize>
void put(char (&field)[kSize], const std::string& text) {
  std::memcpy(field, text.data(), std::min(text.size(), kSize - 1));
}

void put(PackageDigests& digests, const std::string& package) {
  put(digests.sha256, scela::sha256_hex({package}));
  put(digests.blake2b, blake2b_hex(package));
}

template <class Part>
void append(std::string& to, const Part& part) {
  to.append(reinterpret_cast<const char*>(&part), sizeof part);
}

int failed(const std::string& why) {
  std::fprintf(stderr, "make_package: %s\n", why.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4 || argc > 5) return failed("usage: make_package AGENT UNPACK PACKAGE [LEAF]");
  const std::string agent = read_all(argv[1]);
  std::string content = read_all(argv[2]);
  if (content.empty()) return failed(cat("cannot read ", argv[2]));
  const auto file = scela::nla::AgentFile::open(argv[1], "");
  if (!file) return failed(file.error().text());

  const std::string blocks = compress(agent);
  PackageTrailer trailer{};
  std::memcpy(trailer.magic, SCELA_PACKAGE_MAGIC, sizeof trailer.magic);
  trailer.blocks_at = content.size();
  trailer.blocks_size = blocks.size();
  trailer.agent_size = agent.size();
  trailer.agent_checksum = ::XXH64(agent.data(), agent.size(), 0);
  put(trailer.agent_build, file->build());
  put(trailer.agent_machine, file->machine());
  content += blocks;
  append(content, trailer);
  if (argc == 5) {
    const std::string leaf = read_all(argv[4]);
    if (leaf.empty()) return failed(cat("cannot read ", argv[4]));
    trailer.leaf_at = content.size();
    trailer.leaf_size = leaf.size();
    put(trailer.large, content);
    put(trailer.leaf, leaf);
    content += leaf;
    append(content, trailer);
    PackageRecord record{};
    std::memcpy(record.magic, SCELA_DIGESTS_MAGIC, sizeof record.magic);
    put(record.package, content);
    append(content, record);
  }
  std::ofstream out(argv[3], std::ios::binary | std::ios::trunc);
  out << content;
  if (!out.flush()) return failed(cat("cannot write ", argv[3]));
  return 0;
}
