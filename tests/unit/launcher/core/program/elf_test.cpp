#include "launcher/core/program/elf.h"

#include <catch2/catch.hpp>
#include <initializer_list>

#include "common/core/bytes.h"
#include "common/core/random.h"
#include "launcher/core/program/pmi_need.h"
#include "tests/support/elf_program.h"

namespace elf_test {

using namespace scela;
using test::kAddress;
using test::program;
using test::ProgramSample;

namespace {

std::optional<Linkage> linkage(const std::string& file) {
  return linkage_of([&](std::uint64_t offset, std::size_t size) {
    // No honest file makes a reader ask for more than this at once.
    REQUIRE(size <= std::size_t{16} * 1024 * 1024);
    return offset < file.size() ? file.substr(offset, size) : std::string();
  });
}

std::optional<std::vector<std::string>> needed(const std::string& file) {
  const auto found = linkage(file);
  if (!found) return std::nullopt;
  return found->libraries;
}

// Returns a cache as ldconfig writes it, from each library's name and path.
std::string loader_cache(const std::vector<std::pair<std::string, std::string>>& libraries) {
  constexpr std::size_t kHeader = 48;
  constexpr std::size_t kEntry = 24;
  std::string strings;
  ByteWriter entries;
  const auto add = [&](const std::string& text) {
    const std::size_t at = kHeader + libraries.size() * kEntry + strings.size();
    strings += text + '\0';
    return static_cast<std::uint32_t>(at);
  };
  for (const auto& [name, path] : libraries) {
    entries.u32(0x303);
    entries.u32(add(name));
    entries.u32(add(path));
    entries.u32(0);
    entries.u64(0);
  }
  ByteWriter out;
  out.raw("glibc-ld.so.cache1.1");
  out.u32(static_cast<std::uint32_t>(libraries.size()));
  out.u32(static_cast<std::uint32_t>(strings.size()));
  out.raw(std::string(20, '\0'));
  return out.take() + entries.take() + strings;
}

}  // namespace

TEST_CASE("the libraries that a program asks for are read from its dynamic section") {
  const std::vector<std::string> two = {"libmpi.so.40", "libc.so.6"};
  CHECK(needed(program({two})) == two);
  CHECK(needed(program({{}})) == std::vector<std::string>{});
  ProgramSample without{two};
  without.segments = 1;  // static: it has no dynamic section
  CHECK(needed(program(without)) == std::vector<std::string>{});
  CHECK_FALSE(needed("#!/bin/sh\nexit 0\n").has_value());
  CHECK_FALSE(needed("").has_value());
  CHECK_FALSE(
      needed(std::string("\177ELF\1\1", 6) + std::string(100, '\0')).has_value());  // 32 bits
}

TEST_CASE(
    "a file that lies about its sections is no program, and is not read further than to a bound") {
  const std::vector<std::string> two = {"libmpi.so.40", "libc.so.6"};
  CHECK_FALSE(needed(program({two, 5000})).has_value());
  CHECK_FALSE(needed(program({two, 2, std::uint64_t{1} << 40})).has_value());
  CHECK_FALSE(needed(program({two, 2, UINT64_MAX, std::uint64_t{1} << 40})).has_value());
  CHECK_FALSE(needed(program({two, 2, UINT64_MAX, 3})).has_value());  // names beyond the strings
  CHECK_FALSE(
      needed(program({two, 2, UINT64_MAX, UINT64_MAX, 16})).has_value());  // strings in no segment
  CHECK_FALSE(needed(program({{std::string(5000, 'l')}})).has_value());
  const std::string whole = program({two});
  for (std::size_t size = 0; size + 1 < whole.size(); ++size)
    CHECK(needed(whole.substr(0, size)) != two);
  // The program must not read out of bounds, whatever the changed bytes are. The sanitizers check
  // this.
  Random random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string changed = whole;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n)
      changed[random.below(changed.size())] = static_cast<char>(random.below(256));
    static_cast<void>(needed(changed));
  }
}

TEST_CASE("where a program would have its libraries looked for is read with their names") {
  ProgramSample sample{{"libmpi.so.40"}};
  CHECK(linkage(program(sample))->directories.empty());
  sample.directories = "$ORIGIN/../lib:/opt/lib";
  CHECK(linkage(program(sample))->directories == "$ORIGIN/../lib:/opt/lib");
}

TEST_CASE("the loader's cache says where a library is, and is read within its bounds") {
  const std::string cache = loader_cache({{"libmpi.so.40", "/lib/a/libmpi.so.40"},
                                          {"libmpi.so.4", "/lib/libmpi.so.4"},
                                          {"libmpi.so.40", "/lib32/libmpi.so.40"}});
  using Paths = std::vector<std::string>;
  CHECK(paths_in_loader_cache(cache, "libmpi.so.40") ==
        Paths{"/lib/a/libmpi.so.40", "/lib32/libmpi.so.40"});
  CHECK(paths_in_loader_cache("ld.so-1.7.0 and its entries" + cache, "libmpi.so.4") ==
        Paths{"/lib/libmpi.so.4"});
  CHECK(paths_in_loader_cache(cache, "libmpi.so").empty());
  CHECK(paths_in_loader_cache("", "libmpi.so.40").empty());
  for (std::size_t size = 0; size < cache.size(); ++size)
    static_cast<void>(paths_in_loader_cache(cache.substr(0, size), "libmpi.so.40"));
  Random random(7);
  for (int i = 0; i < 20000; ++i) {
    std::string changed = cache;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n)
      changed[random.below(changed.size())] = static_cast<char>(random.below(256));
    static_cast<void>(paths_in_loader_cache(changed, "libmpi.so.40"));
  }
}

TEST_CASE("a program's strings say whether it can load libraries or start programs") {
  const auto can = [](std::vector<std::string> imports) {
    test::ProgramSample sample;
    sample.libraries = {"libc.so.6"};
    sample.imports = std::move(imports);
    const std::string bytes = test::program(sample);
    const auto linkage = linkage_of([&](std::uint64_t offset, std::size_t size) {
      return offset < bytes.size() ? bytes.substr(offset, size) : std::string();
    });
    REQUIRE(linkage);
    return linkage->may_load_or_start;
  };
  CHECK_FALSE(can({"printf", "gethostname", "dlopen_not", "executable"}));
  for (const char* const name : {"dlopen", "execve", "execvp", "posix_spawn", "system", "popen"})
    CHECK(can({"printf", name}));
  CHECK(can({"my_system"}));  // linkers share the ends of names
}

TEST_CASE("the symbols of a static program say whether it can start programs") {
  const auto can = [](const std::string& bytes) {
    const auto found = linkage(bytes);
    REQUIRE(found);
    CHECK(found->libraries.empty());
    return found->may_load_or_start;
  };
  const std::string fixed = test::static_program({"main", "__libc_start_main", "printf", "dlopen"});
  CHECK_FALSE(can(fixed));
  for (const char* const name : {"__execve", "posix_spawn", "system"})
    CHECK(can(test::static_program({"main", "__libc_start_main", name, "printf"})));
  CHECK_FALSE(can(test::static_program({"runtime.main", "main.main", "os.Exit"})));
  for (const char* const name : {"syscall.forkExec", "syscall.Exec", "os.StartProcess"})
    CHECK(can(test::static_program({"runtime.main", "main.main", name})));
  // Programs without symbols, or that lie about them, may do anything.
  for (const auto sections : std::initializer_list<std::uint16_t>{0, 1, 5000})
    CHECK(can(test::static_program({"main", "__libc_start_main"}, sections)));
  CHECK(can(fixed.substr(0, 64)));
  CHECK(can(fixed.substr(0, 64 + 100)));
  std::string endless = fixed;
  endless[64 + 64 + 32 + 5] = '\1';  // the size of the names
  CHECK(can(endless));
}

TEST_CASE("a static program with a part of its symbols may start programs") {
  // As objcopy --strip-all --keep-symbol=main leaves it.
  CHECK(linkage(test::static_program({"main"}))->may_load_or_start);
  CHECK(linkage(test::static_program({"main", "printf", "_exit"}))->may_load_or_start);
}

TEST_CASE("a loader may start programs, whatever its symbols are") {
  using test::StaticKind;
  const auto can = [](const std::vector<std::string>& symbols, StaticKind kind) {
    const auto found = linkage(test::static_program(symbols, 2, kind));
    REQUIRE(found);
    CHECK(found->libraries.empty());
    return found->may_load_or_start;
  };
  const std::vector<std::string> whole = {"main", "__libc_start_main", "printf"};
  CHECK(can(whole, StaticKind::loader));
  CHECK_FALSE(can(whole, StaticKind::pie));
  CHECK(can({"main"}, StaticKind::pie));
  CHECK(can({"__libc_start_main", "execve"}, StaticKind::pie));
  // Position-independent programs in Go.
  CHECK_FALSE(can({"runtime.main"}, StaticKind::interpreted));
  CHECK(can({"runtime.main", "syscall.Exec"}, StaticKind::interpreted));
}

TEST_CASE("libraries say what a program speaks") {
  const auto need = [](const std::vector<std::string>& libraries) {
    return pmi_need(libraries).need;
  };
  CHECK(need({"libc.so.6", "libmpi.so.40"}) == PmiNeed::pmix);
  CHECK(need({"libmpi_mpifh.so.40", "libmpi.so.40"}) == PmiNeed::pmix);
  CHECK(need({"libpmix.so.2"}) == PmiNeed::pmix);
  CHECK(need({"liboshmem.so.40"}) == PmiNeed::pmix);
  CHECK(need({"libprrte.so.3"}) == PmiNeed::pmix);
  CHECK(need({"libmpich.so.12"}) == PmiNeed::pmi);
  CHECK(need({"libmpi.so.12"}) == PmiNeed::pmi);
  CHECK(need({"libpmi2.so.0"}) == PmiNeed::pmi);
  CHECK(need({"libc.so.6", "libm.so.6"}) == PmiNeed::unknown);
  CHECK(need({"libmpi"}) == PmiNeed::unknown);
  CHECK(need({"libmpi.so"}) == PmiNeed::unknown);
  CHECK(pmi_need({"libc.so.6", "libmpi.so.40"}).by == "libmpi.so.40");
  CHECK(need({"libscela.so.0", "libc.so.6"}) == PmiNeed::unknown);
  CHECK(need({"libscela.so.0", "libmpi.so.40"}) == PmiNeed::pmix);
}

}  // namespace elf_test
