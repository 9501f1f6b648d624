#include "nla/io/agent_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>

#include "common/core/hex.h"
#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela::nla {

namespace {

bool read_at(const Fd& file, std::uint64_t at, void* to, std::size_t size) {
  return retry([&] { return ::pread(file.get(), to, size, static_cast<off_t>(at)); }) ==
         static_cast<ssize_t>(size);
}

// Returns the descriptor of the note with the linker's build id, or an empty string if there is
// none.
std::string id_in_notes(const std::string& notes) {
  for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
    Elf64_Nhdr head;
    std::memcpy(&head, notes.data() + at, sizeof head);
    const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
    const std::size_t name = at + sizeof head;
    const std::size_t value = name + padded(head.n_namesz);
    if (value + head.n_descsz > notes.size() || value + head.n_descsz < value) return {};
    if (head.n_type == NT_GNU_BUILD_ID && notes.compare(name, 4, std::string("GNU\0", 4)) == 0) {
      return hex_digits(std::string_view(notes).substr(value, head.n_descsz));
    }
    at = value + padded(head.n_descsz);
  }
  return {};
}

std::string build_id(const Fd& file) {
  constexpr std::size_t kMaxNotes = 65536;
  Elf64_Ehdr head;
  if (!read_at(file, 0, &head, sizeof head)) return {};
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64) {
    return {};
  }
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part;
    if (!read_at(file, head.e_phoff + i * sizeof part, &part, sizeof part)) return {};
    if (part.p_type != PT_NOTE || part.p_filesz > kMaxNotes) continue;
    std::string notes(part.p_filesz, '\0');
    if (!read_at(file, part.p_offset, notes.data(), notes.size())) return {};
    if (std::string id = id_in_notes(notes); !id.empty()) return id;
  }
  return {};
}

}  // namespace

Result<AgentFile> AgentFile::open(const std::string& path, std::string remote) {
  Result<Fd> file = open_file(path, O_RDONLY);
  if (!file) return fail(file.error());
  AgentFile out;
  out.remote_ = std::move(remote);
  out.build_ = build_id(*file);
  utsname names{};
  ::uname(&names);
  out.machine_ = names.machine;
  if (out.build_.empty()) {
    return fail(Error{ErrorKind::launch,
                      cat("read the agent '", path, "'"),
                      {},
                      "it is not an executable of this system with a build id",
                      "install ScELA completely, or name the agent with --agent"});
  }
  return out;
}

}  // namespace scela::nla
