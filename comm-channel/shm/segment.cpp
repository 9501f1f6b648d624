#include "comm-channel/shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string>
#include <utility>

#include "common/core/text.h"
#include "common/os/syscall.h"

namespace scela::channel::shm {

namespace {

constexpr std::uint64_t kMagic = 0x6c656e6e61686373;  // "schannel"
constexpr std::uint32_t kVersion = 4;                 // of everything in the memory
constexpr std::uint64_t kPage = 4096;
constexpr std::uint32_t kMaxRanks = 1u << 16;

// The first page; a byte for each rank (has it ended?) follows, then the ranks' areas.
struct Front {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t front_bytes;  // of this structure
  std::uint64_t nonce;
  Shape shape;
  alignas(kLineBytes) SharedAtomic<std::uint32_t> deaths;
  SharedAtomic<std::uint32_t> said;  // a bit per thing one rank says for all
};
static_assert(sizeof(Front) <= kPage);
static_assert(sizeof(Line<SharedAtomic>) == kLineBytes);
static_assert(SharedAtomic<std::uint64_t>::is_always_lock_free);

// The beginning of a rank's area. The controls of its boxes follow.
struct Desk {
  Member member;
  Mailbox<SharedAtomic> mailbox;
};

constexpr std::uint64_t pages(std::uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

// The offsets of the parts of an area.
struct Plan {
  explicit Plan(const Shape& shape)
      : cells(pages(sizeof(Desk) + shape.boxes * sizeof(BoxControl<SharedAtomic>))),
        payload(cells + pages(std::uint64_t{shape.cells} * kLineBytes)),
        box_lines(payload + pages(std::uint64_t{shape.cells} * shape.payload)),
        box_bytes(box_lines + pages(std::uint64_t{shape.boxes} * shape.box_lines * kLineBytes)),
        end(box_bytes + pages(std::uint64_t{shape.boxes} * shape.box_bytes)) {}
  std::uint64_t cells, payload, box_lines, box_bytes, end;
};

std::uint64_t areas_begin(const Shape& shape) {
  return kPage + pages(shape.ranks);
}
std::uint64_t bytes_of(const Shape& shape) {
  return areas_begin(shape) + shape.ranks * Plan(shape).end;
}

bool sound(const Shape& shape) {
  const auto power = [](std::uint32_t number) { return std::has_single_bit(number); };
  return shape.ranks >= 1 && shape.ranks <= kMaxRanks && power(shape.cells) &&
         shape.cells <= 1u << 16 && shape.payload % kLineBytes == 0 &&
         shape.payload >= kLineBytes && shape.payload <= 1u << 24 && shape.boxes <= 64 &&
         power(shape.box_lines) && shape.box_lines >= 4 && shape.box_lines <= 1u << 16 &&
         power(shape.box_bytes) && shape.box_bytes <= 1u << 28 &&
         // A message fits however little free room the sender was told of (rings/fast_box.h).
         std::uint64_t{shape.payload} * 8 <= std::uint64_t{shape.box_bytes} * 3;
}

Error cannot(const char* what, std::string why, std::string hint) {
  return Error{ErrorKind::io, what, "", std::move(why), std::move(hint)};
}
constexpr const char* kMake = "make the shared memory of this node";
constexpr const char* kOpen = "open the shared memory of this node";
constexpr const char* kOtherWay = "SCELA_CHANNEL_TRANSPORT=verbs does without it";

}  // namespace

Segment::Segment(SealedMemory memory, const Place& place, const Shape& shape)
    : memory_(std::move(memory)), place_(place), shape_(shape) {}

Result<Segment> Segment::make(const Shape& shape) {
  if (!sound(shape))
    return fail(cannot(kMake, "its sizes cannot be", "set SCELA_CHANNEL_EAGER_SHM to less"));
  // Beyond this limit, the kernel would kill this process (SIGXFSZ).
  rlimit files{};
  if (::getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur < bytes_of(shape))
    return fail(cannot(
        kMake, cat("it takes ", bytes_of(shape), " bytes, and a file may have ", files.rlim_cur),
        cat("raise the limit of files' sizes (ulimit -f unlimited); ", kOtherWay)));
  Place place{::getpid(), -1, 0};
  if (::getrandom(&place.nonce, sizeof place.nonce, 0) != sizeof place.nonce)
    return fail(os_error(ErrorKind::io, kMake, errno));
  auto memory = SealedMemory::make("scela-channel", bytes_of(shape), SealedMemory::Writers::all);
  if (!memory) {
    Error error = std::move(memory.error());
    error.what = cat(kMake, ": ", error.what);
    if (error.hint.empty())
      error.hint = cat("it takes ", bytes_of(shape), " bytes of address space and one descriptor (",
                       "ulimit -v, -f, -n)");
    return fail(std::move(error));
  }
  place.fd = memory->fd().get();
  auto* const front = new (memory->base()) Front{};
  front->front_bytes = sizeof(Front);
  front->nonce = place.nonce;
  front->shape = shape;
  front->version = kVersion;
  front->magic = kMagic;
  return Segment(std::move(*memory), place, shape);
}

namespace {

Result<Fd> open_at(const Place& place) {
  const std::string path = cat("/proc/", place.pid, "/fd/", place.fd);
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (fd) return fd;
  const int number = errno;
  const std::string where = cat(kOpen, " ", path);
  if (number == ENOENT || number == ESRCH)
    return fail(Error{ErrorKind::io, where, "", errno_text(number),
                      cat("process ", place.pid,
                          " has ended, or runs where this one does not see it (another container): "
                          "run the node's ranks in one, or ",
                          kOtherWay)});
  if (number == EACCES || number == EPERM)
    return fail(
        Error{ErrorKind::io, where, "", errno_text(number),
              cat("process ", place.pid,
                  " is of another user, or may not be looked at: run all ranks as one user, "
                  "or ",
                  kOtherWay)});
  return fail(os_error(ErrorKind::io, where, number));
}

}  // namespace

Result<Segment> Segment::open(const Place& place, const Shape& shape) {
  auto fd = open_at(place);
  if (!fd) return fail(std::move(fd.error()));
  struct stat status {};
  if (::fstat(fd->get(), &status) == 0 && status.st_uid != ::geteuid())
    return fail(cannot(kOpen,
                       cat("it is of user ", status.st_uid, ", this process of user ", ::geteuid()),
                       cat("run all ranks as one user, or ", kOtherWay)));
  auto memory = SealedMemory::attach(std::move(*fd), SealedMemory::Writers::all);
  const std::string another = cat("what process ", place.pid, " has there is not of this job");
  const char* const late = "has the node's first rank ended?";
  if (!memory) {
    Error error = std::move(memory.error());
    error.what = cat(kOpen, ": ", error.what);
    if (error.kind == ErrorKind::protocol) error = cannot(kOpen, another, late);
    return fail(std::move(error));
  }
  if (memory->bytes() < kPage) return fail(cannot(kOpen, another, late));
  const auto& front = *static_cast<const Front*>(memory->base());
  if (front.magic != kMagic || front.nonce != place.nonce)
    return fail(cannot(kOpen, another, late));
  if (front.version != kVersion || front.front_bytes != sizeof(Front))
    return fail(cannot(kOpen,
                       cat("it is of version ", front.version, ", this library's is ", kVersion),
                       "run all ranks of a node with one version of libscela"));
  if (front.shape != shape || memory->bytes() != bytes_of(shape))
    return fail(cannot(kOpen, "the node's first rank has made it of other sizes",
                       "give all ranks the same SCELA_CHANNEL_ variables and options"));
  memory->close_fd();
  return Segment(std::move(*memory), place, shape);
}

Area<SharedAtomic> Segment::area(std::uint32_t rank) const {
  const Plan plan(shape_);
  std::byte* const at = base() + areas_begin(shape_) + rank * plan.end;
  auto* const desk = reinterpret_cast<Desk*>(at);
  return {&desk->mailbox,
          reinterpret_cast<Line<SharedAtomic>*>(at + plan.cells),
          at + plan.payload,
          reinterpret_cast<BoxControl<SharedAtomic>*>(desk + 1),
          reinterpret_cast<Line<SharedAtomic>*>(at + plan.box_lines),
          at + plan.box_bytes};
}

std::vector<Area<SharedAtomic>> Segment::areas() const {
  std::vector<Area<SharedAtomic>> all;
  for (std::uint32_t rank = 0; rank < shape_.ranks; ++rank)
    all.push_back(area(rank));
  return all;
}

Member& Segment::member(std::uint32_t rank) const {
  return reinterpret_cast<Desk*>(base() + areas_begin(shape_) + rank * Plan(shape_).end)->member;
}

SharedAtomic<std::uint8_t>& Segment::ended(std::uint32_t rank) const {
  return reinterpret_cast<SharedAtomic<std::uint8_t>*>(base() + kPage)[rank];
}

SharedAtomic<std::uint32_t>& Segment::said() const {
  return reinterpret_cast<Front*>(base())->said;
}

SharedAtomic<std::uint32_t>& Segment::deaths() const {
  return reinterpret_cast<Front*>(base())->deaths;
}

// The pages come from the memory node of the processor that this runs on, or from that of the
// rank's policy. It does not matter which rank touches them later.
bool Segment::reserve(std::uint64_t at, std::uint64_t bytes) const {
  // A rank that has opened the memory has no descriptor for it any more. Populating the mapping has
  // the same effect.
  constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, since Linux 5.14
  if (::madvise(base() + at, bytes, kPopulateWrite) == 0) return true;
  if (errno != EINVAL) return false;
  for (std::uint64_t i = 0; i < bytes; i += kPage)
    reinterpret_cast<SharedAtomic<std::uint8_t>*>(base() + at + i)->fetch_or(0);
  return true;
}

Result<void> Segment::allocate(std::uint32_t rank) const {
  const Plan plan(shape_);
  if (reserve(areas_begin(shape_) + rank * plan.end, plan.box_lines)) return {};
  return fail(os_error(
      ErrorKind::io, cat("allocate ", plan.box_lines, " bytes of the node's shared memory"), errno,
      cat("the node's memory, or what the job may have of it (the control group's memory.max), is "
          "used up: run fewer ranks on it, or set SCELA_CHANNEL_EAGER_SHM to less; ",
          kOtherWay)));
}

bool Segment::allocate_box(std::uint32_t rank, std::uint32_t number) const {
  const Plan plan(shape_);
  const std::uint64_t area = areas_begin(shape_) + rank * plan.end;
  const std::uint64_t lines = std::uint64_t{shape_.box_lines} * kLineBytes;
  // Pages shared by the ends of two boxes belong to the same rank anyway.
  const auto whole = [&](std::uint64_t at, std::uint64_t bytes) {
    return reserve(at / kPage * kPage, pages(at + bytes) - at / kPage * kPage);
  };
  return whole(area + plan.box_lines + number * lines, lines) &&
         whole(area + plan.box_bytes + std::uint64_t{number} * shape_.box_bytes, shape_.box_bytes);
}

std::uint64_t Segment::bytes_of_rank(const Shape& shape, bool boxes) {
  return boxes ? Plan(shape).end : Plan(shape).box_lines;
}

}  // namespace scela::channel::shm
