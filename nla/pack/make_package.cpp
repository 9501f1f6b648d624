// make_package AGENT UNPACK PACKAGE [LEAF]: writes the package of the executable AGENT
// (package_format.h). UNPACK is the program of unpack.c, LEAF the package of the small agent. The
// build runs it. Exit status 1 and a text on standard error:
// a file cannot be read or written, or AGENT is no executable with a build id.

#include <lz4hc.h>
#include <openssl/evp.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

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

std::string compress(const std::string& bytes) {
  std::string out(static_cast<std::size_t>(::LZ4_compressBound(static_cast<int>(bytes.size()))),
                  '\0');
  const int size = ::LZ4_compress_HC(bytes.data(), out.data(), static_cast<int>(bytes.size()),
                                     static_cast<int>(out.size()), LZ4HC_CLEVEL_MAX);
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::string blake2b_hex(const std::string& bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  ::EVP_Digest(bytes.data(), bytes.size(), digest, &size, ::EVP_blake2b512(), nullptr);
  std::string out;
  for (unsigned i = 0; i < size; ++i)
    out += cat("0123456789abcdef"[digest[i] >> 4], "0123456789abcdef"[digest[i] & 15]);
  return out;
}

template <std::size_t kSize>
void put(char (&field)[kSize], const std::string& text) {
  std::memcpy(field, text.data(), std::min(text.size(), kSize - 1));
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

  const std::string block = compress(agent);
  PackageTrailer trailer{};
  std::memcpy(trailer.magic, SCELA_PACKAGE_MAGIC, sizeof trailer.magic);
  trailer.block_at = content.size();
  trailer.block_size = block.size();
  trailer.agent_size = agent.size();
  trailer.agent_checksum = ::XXH64(agent.data(), agent.size(), 0);
  put(trailer.agent_build, file->build());
  put(trailer.agent_machine, file->machine());
  put(trailer.agent_sha256, scela::sha256_hex({agent}));
  put(trailer.agent_blake2b, blake2b_hex(agent));
  content += block;
  trailer.leaf_at = content.size();
  if (argc == 5) {
    const std::string leaf = read_all(argv[4]);
    if (leaf.empty()) return failed(cat("cannot read ", argv[4]));
    trailer.leaf_size = leaf.size();
    content += leaf;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(&trailer), sizeof trailer);
  put(trailer.package_sha256, scela::nla::package_digest(content, bytes));
  std::ofstream out(argv[3], std::ios::binary | std::ios::trunc);
  out << content << bytes;
  if (!out.flush()) return failed(cat("cannot write ", argv[3]));
  return 0;
}
