/* Output of many ranks that can be checked byte by byte, however it was interleaved.
 *
 *   lines write BYTES                   what one rank writes; its number, 0 to 63, is in the
 * environment lines check RANKS BYTES [label]     reads standard input: exit 0 if all of it is
 * there
 *
 * A line is 99 bytes from 0x80 up and a newline. Such a byte says which rank it is of and one bit
 * of a sequence that depends on the rank and comes again after 1009 lines, which no buffer's size
 * is a multiple of: a byte that is lost, doubled or out of order is found though ranks' lines be
 * broken up. What is below 0x80, but newlines, was added on the way: with "label" every line must
 * begin with its rank.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMaxRanks = 64, kLine = 100, kFirst = 0x80, kPeriod = 1009 * (kLine - 1) };

static void make_sequence(unsigned char* bytes, unsigned number) {
  uint32_t state = 0x9e3779b9u * (number + 1);
  for (int i = 0; i < kPeriod; ++i) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    bytes[i] = (unsigned char)(kFirst + 2 * number + (state & 1));
  }
}

static unsigned own_number(void) {
  static const char* const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    const char* text = getenv(names[i]);
    if (text != NULL) return (unsigned)strtoul(text, NULL, 10) % kMaxRanks;
  }
  fprintf(stderr, "lines: no variable tells the rank\n");
  exit(2);
}

/* As a program that prints does it: line by line, by stdio, with the buffer that it chooses. */
static int write_lines(uint64_t bytes) {
  static unsigned char sequence[kPeriod];
  make_sequence(sequence, own_number());
  for (uint64_t i = 0, at = 0; i < bytes / kLine; ++i, at = (at + kLine - 1) % kPeriod) {
    if (fwrite(sequence + at, kLine - 1, 1, stdout) != 1 || putc_unlocked('\n', stdout) == EOF)
      return 1;
  }
  return fflush(stdout) == 0 ? 0 : 1;
}

struct rank {
  uint64_t bytes; /* without newlines */
  unsigned next;  /* in the sequence */
  unsigned char sequence[kPeriod];
};

struct line {
  int owner, length, foreign, label; /* owner and label: -1 is none */
};

static const struct line kNewLine = {-1, 0, 0, -1};

static int check_lines(unsigned ranks, uint64_t bytes, int labelled) {
  static struct rank known[kMaxRanks];
  static unsigned char buffer[1 << 16];
  struct line line = kNewLine;
  for (unsigned i = 0; i < kMaxRanks; ++i)
    make_sequence(known[i].sequence, i);
  uint64_t newlines = 0, broken = 0, wrong_labels = 0, out_of_order = 0, missing = 0;
  for (;;) {
    const ssize_t got = read(0, buffer, sizeof buffer);
    if (got <= 0) break;
    for (const unsigned char* at = buffer; at < buffer + got; ++at) {
      if (*at >= kFirst) {
        const int owner = (*at - kFirst) / 2;
        if (line.owner < 0) line.owner = owner;
        line.foreign += owner != line.owner;
        ++line.length;
        struct rank* rank = &known[owner];
        out_of_order += rank->sequence[rank->next] != *at;
        rank->next = rank->next + 1 == kPeriod ? 0 : rank->next + 1;
        ++rank->bytes;
      } else if (*at == '\n') {
        ++newlines;
        broken += line.foreign != 0 || line.length != kLine - 1;
        wrong_labels += labelled && line.label != line.owner;
        line = kNewLine;
      } else if (*at >= '0' && *at <= '9' && line.length == 0) {
        line.label = 10 * (line.label < 0 ? 0 : line.label) + *at - '0';
      }
    }
  }
  for (unsigned i = 0; i < kMaxRanks; ++i) {
    missing += known[i].bytes != (i < ranks ? bytes - bytes / kLine : 0);
  }
  const int whole =
      missing == 0 && out_of_order == 0 &&
      (newlines == ranks * (bytes / kLine) || (labelled && newlines > ranks * (bytes / kLine)));
  printf(
      "ranks with bytes missing %llu, bytes out of order %llu, lines broken up %llu of %llu, wrong "
      "labels %llu\n",
      (unsigned long long)missing, (unsigned long long)out_of_order, (unsigned long long)broken,
      (unsigned long long)newlines, (unsigned long long)wrong_labels);
  return whole && wrong_labels == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "write") == 0) return write_lines(strtoull(argv[2], NULL, 10));
  if (argc >= 4 && strcmp(argv[1], "check") == 0) {
    return check_lines((unsigned)strtoul(argv[2], NULL, 10), strtoull(argv[3], NULL, 10),
                       argc == 5);
  }
  fprintf(stderr, "usage: lines write BYTES | lines check RANKS BYTES [label]\n");
  return 2;
}
