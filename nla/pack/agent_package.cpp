#include "nla/pack/agent_package.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/core/text.h"
#include "common/crypto/digest.h"
#include "common/os/syscall.h"
#include "nla/pack/package_format.h"

namespace scela::nla {

namespace {

using Trailer = PackageTrailer;

constexpr char kHint[] = "install ScELA completely";

// Reads up to `size` bytes at the offset. Returns fewer if the file ends before, and no bytes if it
// cannot be read.
std::string read_at(const Fd& file, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t at = 0;
  while (at < size) {
    const ssize_t got = retry([&] {
      return ::pread(file.get(), bytes.data() + at, size - at, static_cast<off_t>(offset + at));
    });
    if (got <= 0) break;
    at += static_cast<std::size_t>(got);
  }
  bytes.resize(at);
  return bytes;
}

// Returns the text in a field, which must end with a zero byte.
template <std::size_t kSize>
std::string text_in(const char (&field)[kSize]) {
  return {field, ::strnlen(field, kSize)};
}

// Reads the trailer that ends at the offset `end`. Returns false if there is none.
bool read_trailer(const Fd& file, std::uint64_t end, Trailer& out) {
  if (end < sizeof out) return false;
  const std::string bytes = read_at(file, end - sizeof out, sizeof out);
  if (bytes.size() != sizeof out) return false;
  std::memcpy(&out, bytes.data(), sizeof out);
  return std::memcmp(out.magic, SCELA_PACKAGE_MAGIC, sizeof out.magic) == 0;
}

Digests digests_in(const PackageDigests& digests) {
  return {text_in(digests.sha256), text_in(digests.blake2b)};
}

PackageFacts facts_in(const Trailer& trailer, std::uint64_t size, Digests digests) {
  return {size, text_in(trailer.agent_build), text_in(trailer.agent_machine), std::move(digests)};
}

// Reads the record behind a package that the build has made, and takes it off the size of the file.
// Returns empty digests if there is none.
Digests read_record(const Fd& file, std::uint64_t& size) {
  PackageRecord record;
  if (size < sizeof record) return {};
  const std::string bytes = read_at(file, size - sizeof record, sizeof record);
  if (bytes.size() != sizeof record) return {};
  std::memcpy(&record, bytes.data(), sizeof record);
  if (std::memcmp(record.magic, SCELA_DIGESTS_MAGIC, sizeof record.magic) != 0) return {};
  size -= sizeof record;
  return digests_in(record.package);
}

auto no_package(const std::string& name, std::string why) {
  return fail(Error{
      ErrorKind::launch, cat("read the agent's package '", name, "'"), {}, std::move(why), kHint});
}

}  // namespace

Digests Digests::parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return {};
  return {std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

Result<AgentPackage> AgentPackage::open(Fd file, std::string name) {
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0)
    return fail(os_error(ErrorKind::io, cat("read '", name, "'"), errno));
  auto size = static_cast<std::uint64_t>(facts.st_size);
  Digests digests = read_record(file, size);
  Trailer trailer;
  if (!read_trailer(file, size, trailer)) return no_package(name, "it is not one of this version");
  AgentPackage out(std::move(file), std::move(name));
  out.facts_ = facts_in(trailer, size, std::move(digests));
  if (trailer.leaf_size == 0) return out;
  Trailer leaf;
  if (trailer.leaf_at > size || trailer.leaf_size > size - trailer.leaf_at ||
      !read_trailer(out.file_, trailer.leaf_at + trailer.leaf_size, leaf)) {
    return no_package(out.name_, "the package in it is not one of this version");
  }
  out.large_ = facts_in(trailer, trailer.leaf_at, digests_in(trailer.large));
  out.leaf_ = facts_in(leaf, trailer.leaf_size, digests_in(trailer.leaf));
  return out;
}

void AgentPackage::leave_leaf_out() {
  if (!large_) return;
  facts_ = *std::exchange(large_, std::nullopt);
  leaf_.reset();
}

void AgentPackage::choose(const std::string& sha256) {
  if (large_ && large_->digests.sha256 == sha256) leave_leaf_out();
}

Result<AgentPackage> find_package(const std::string& agent, const std::string& build) {
  const auto folder_of = [](const std::string& path) {
    return path.substr(0, path.rfind('/') + 1);
  };
  const std::string own = folder_of(own_executable());
  std::string tried;
  for (const std::string& folder : {folder_of(agent), own, own + "../libexec/scela/"}) {
    const std::string path = folder + kPackageName;
    Result<Fd> file = open_file(path, O_RDONLY);
    if (file) {
      Result<AgentPackage> package = AgentPackage::open(std::move(*file), path);
      if (package && package->facts().agent_build == build) return package;
    }
    tried += cat(tried.empty() ? "" : ", ", path);
  }
  return fail(Error{ErrorKind::launch,
                    "find the agent's package",
                    {},
                    cat("none of this build at ", tried),
                    kHint});
}

Result<Chunk> AgentPackage::bytes(const std::string& sha256) {
  if (!bytes_.empty()) return bytes_;
  std::string all = read_at(file_, 0, facts_.size);
  if (all.size() != facts_.size)
    return fail(os_error(ErrorKind::io, cat("read '", name_, "'"), EIO, kHint));
  if (sha256_hex({all}) != sha256)
    return no_package(name_, "its bytes have another digest than scela-run's package");
  bytes_ = Chunk(std::move(all));
  return bytes_;
}

Result<Chunk> AgentPackage::leaf_bytes(const std::string& sha256) {
  Result<Chunk> all = bytes(sha256);
  if (!all) return all;
  return all->slice(large_->size, leaf_->size);
}

}  // namespace scela::nla
