#include "launcher/io/gatherer.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/core/text.h"
#include "common/os/private_dir.h"
#include "common/os/syscall.h"
#include "launcher/core/report/line_diff.h"
#include "launcher/core/report/report_text.h"

namespace scela {

namespace {

// The most bytes of an output that groups_so_far() may show.
constexpr std::size_t kMaxShown = 100;
constexpr std::string_view kRule = "---------------\n";  // as clush -b and dshbak -c

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// Stands before each piece in the file. Positions count from one, and 0 means that there is no
// piece.
struct PieceHead {
  std::uint64_t next = 0;
  std::uint64_t size = 0;
};

Error file_error(std::string_view what) {
  return Error{ErrorKind::io, cat(what, " the file for what --gather keeps"), temporary_base(),
               errno_text(errno),
               errno == ENOSPC ? "free some space, or set TMPDIR to a larger place" : ""};
}

// Opens a file that no other process can find by name and that vanishes when this process ends.
Fd unnamed_file() {
  const std::string folder = temporary_base();
  Fd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  std::string path = folder + "/scela-gather.XXXXXX";
  file = Fd(::mkostemp(path.data(), O_CLOEXEC));
  if (file) ::unlink(path.c_str());
  return file;
}

bool write_at(int fd, const void* bytes, std::size_t size, std::uint64_t at) {
  const char* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t wrote = retry([&] { return ::pwrite(fd, from, size, static_cast<off_t>(at)); });
    if (wrote < 0) return false;
    from += wrote;
    size -= static_cast<std::size_t>(wrote);
    at += static_cast<std::uint64_t>(wrote);
  }
  return true;
}

bool read_at(int fd, void* bytes, std::size_t size, std::uint64_t at) {
  char* to = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = retry([&] { return ::pread(fd, to, size, static_cast<off_t>(at)); });
    if (got == 0) errno = EIO;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
    at += static_cast<std::uint64_t>(got);
  }
  return true;
}

}  // namespace

// The output of one rank: the digest of all its bytes, its pieces in the file, and the bytes in
// memory.
struct Gatherer::Kept {
  std::string waiting;
  std::uint64_t first = 0;  // position, as in PieceHead
  std::uint64_t last = 0;
  bool ends_line = true;
  std::uint64_t size = 0;  // bytes
  std::string head;        // at most kMaxShown bytes
  std::unique_ptr<EVP_MD_CTX, FreeDigest> digest{EVP_MD_CTX_new()};
};

Gatherer::Gatherer(std::vector<std::string> names, Show show, std::size_t memory)
    : names_(std::move(names)), show_(show), memory_(memory) {}
Gatherer::~Gatherer() = default;

Result<void> Gatherer::add(Rank rank, std::string_view bytes) {
  if (bytes.empty() && show_ == Show::all) return {};
  std::unique_ptr<Kept>& kept = kept_[rank];
  if (!kept) {
    kept = std::make_unique<Kept>();
    if (!kept->digest || EVP_DigestInit_ex(kept->digest.get(), EVP_sha256(), nullptr) != 1) {
      std::abort();  // out of memory, or no SHA-256
    }
  }
  if (bytes.empty()) return {};
  EVP_DigestUpdate(kept->digest.get(), bytes.data(), bytes.size());
  kept->size += bytes.size();
  kept->head += bytes.substr(0, kMaxShown - kept->head.size());
  kept->ends_line = bytes.back() == '\n';
  kept->waiting += bytes;
  waiting_ += bytes.size();
  return waiting_ > memory_ ? spill() : Result<void>();
}

void Gatherer::end(Rank rank) {
  const auto kept = kept_.find(rank);
  if (kept == kept_.end() || kept->second->size == 0) {
    Ended& silent = ended_[Digest{}];
    silent.first_line = "(no output)";
    silent.ranks.add(rank);
    return;
  }
  // The digest goes on: a process that the rank left behind may still write.
  const std::unique_ptr<EVP_MD_CTX, FreeDigest> copy(EVP_MD_CTX_new());
  if (!copy || EVP_MD_CTX_copy_ex(copy.get(), kept->second->digest.get()) != 1) return;
  if (!kept->second->ends_line) EVP_DigestUpdate(copy.get(), "\n", 1);
  Digest digest{};
  EVP_DigestFinal_ex(copy.get(), digest.data(), nullptr);
  Ended& same = ended_[digest];
  const std::string& head = kept->second->head;
  if (same.ranks.empty()) same.first_line = head.substr(0, head.find('\n'));
  same.ranks.add(rank);
}

std::vector<LiveGroup> Gatherer::groups_so_far() const {
  std::vector<const Ended*> ordered;
  for (const auto& [digest, same] : ended_)
    ordered.push_back(&same);
  std::ranges::sort(ordered, {}, [](const Ended* same) { return same->ranks.front(); });
  std::vector<LiveGroup> groups;
  for (const Ended* same : ordered)
    groups.push_back({members(same->ranks), same->ranks.size(), same->first_line});
  return groups;
}

Result<void> Gatherer::spill() {
  if (!file_) file_ = unnamed_file();
  if (!file_) return fail(file_error("make"));
  for (auto& [rank, kept] : kept_) {
    if (kept->waiting.empty()) continue;
    if (auto done = append(*kept); !done) return done;
  }
  waiting_ = 0;
  return {};
}

// Writes the piece first and then the link to it, so the list is valid at every moment.
Result<void> Gatherer::append(Kept& kept) {
  const PieceHead head{0, kept.waiting.size()};
  const std::uint64_t position = end_ + 1;
  if (!write_at(file_.get(), &head, sizeof head, end_) ||
      !write_at(file_.get(), kept.waiting.data(), kept.waiting.size(), end_ + sizeof head)) {
    return fail(file_error("write"));
  }
  if (kept.last != 0 && !write_at(file_.get(), &position, sizeof position, kept.last - 1)) {
    return fail(file_error("write"));
  }
  if (kept.first == 0) kept.first = position;
  kept.last = position;
  end_ += sizeof head + kept.waiting.size();
  std::string().swap(kept.waiting);  // an assignment would keep the memory
  return {};
}

void Gatherer::group() {
  std::map<Digest, std::size_t> known;
  for (auto& [rank, kept] : kept_) {
    if (!kept->ends_line) EVP_DigestUpdate(kept->digest.get(), "\n", 1);
    Digest digest{};
    EVP_DigestFinal_ex(kept->digest.get(), digest.data(), nullptr);
    const auto [at, fresh] = known.emplace(digest, groups_.size());
    if (fresh) groups_.push_back({{}, kept.get()});
    groups_[at->second].ranks.add(rank);
  }
  if (show_ == Show::all || groups_.empty()) return;
  // The majority comes first. Among groups of one size it is that with the lowest rank.
  const auto largest =
      std::ranges::max_element(groups_, {}, [](const Group& group) { return group.ranks.size(); });
  std::rotate(groups_.begin(), largest, largest + 1);
}

std::string Gatherer::members(const RankSet& ranks) const {
  std::string members;
  if (names_.empty()) {
    members = ranks.text();
  } else {
    std::vector<std::string> names;
    ranks.for_each([&](Rank rank) { names.push_back(names_[rank]); });
    members = folded(names);
  }
  const std::string count = ranks.size() > 1 ? cat(" (", ranks.size(), ")") : "";
  return members + count;
}

std::string Gatherer::heading(const RankSet& ranks) const {
  return cat(kRule, members(ranks), "\n", kRule);
}

bool Gatherer::is_compared() const {
  return show_ == Show::differences && shown_ > 0 && !in_group_ &&
         groups_.front().kept->size <= kMaxCompared && groups_[shown_].kept->size <= kMaxCompared;
}

Result<std::string> Gatherer::whole(const Kept& kept) const {
  std::string text;
  for (std::uint64_t at = kept.first; at != 0;) {
    PieceHead head;
    if (!read_at(file_.get(), &head, sizeof head, at - 1)) return fail(file_error("read"));
    const std::size_t before = text.size();
    text.resize(before + static_cast<std::size_t>(head.size));
    if (!read_at(file_.get(), text.data() + before, static_cast<std::size_t>(head.size),
                 at - 1 + sizeof head)) {
      return fail(file_error("read"));
    }
    at = head.next;
  }
  return text + kept.waiting;
}

Result<std::string> Gatherer::difference(const Group& group) {
  const auto of_majority = whole(*groups_.front().kept), of_group = whole(*group.kept);
  if (!of_majority) return fail(of_majority.error());
  if (!of_group) return fail(of_group.error());
  return cat("--- ", members(groups_.front().ranks), "\n+++ ", members(group.ranks), "\n",
             unified_diff(*of_majority, *of_group));
}

Result<std::string> Gatherer::next() {
  if (!std::exchange(grouped_, true)) group();
  if (shown_ == groups_.size()) return std::string();
  const Group& group = groups_[shown_];
  if (is_compared()) {
    ++shown_;
    return difference(group);
  }
  if (!std::exchange(in_group_, true)) {
    at_ = group.kept->first;
    if (group.kept->size == 0) {  // an empty piece would be the end
      in_group_ = false;
      ++shown_;
    }
    return heading(group.ranks);
  }
  std::string text;
  if (at_ != 0) {
    PieceHead head;
    if (!read_at(file_.get(), &head, sizeof head, at_ - 1)) return fail(file_error("read"));
    text.resize(static_cast<std::size_t>(head.size));
    if (!read_at(file_.get(), text.data(), text.size(), at_ - 1 + sizeof head)) {
      return fail(file_error("read"));
    }
    at_ = head.next;
    if (at_ != 0 || !group.kept->waiting.empty()) return text;
  } else {
    text = group.kept->waiting;
  }
  if (!group.kept->ends_line) text += '\n';
  ++shown_;
  in_group_ = false;
  return text;
}

}  // namespace scela
