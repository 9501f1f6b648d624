/* The file in which an agent travels to nodes where it is not installed: a program that unpacks it
 * (unpack.c), the agent's executable in compressed blocks, and a trailer. The node that gets the
 * file executes it, and keeps it in the user's cache (agent_cache.h).
 *
 * The build makes a package of the small agent (nla/leaf.cpp), and a pair: a package of the large
 * agent, that of the small one behind it, and a trailer for both. A pair is executed like a package of
 * the large agent; nodes get it that send small agents on. Behind the pair, the build adds a record of
 * its digests, which is not sent: a file cannot hold its own.
 *
 * A C header without functions, for the unpacking program and the C++ code. Numbers have the byte
 * order of the machine for which the agent was built. Texts end with a zero byte. */
#pragma once

#include <stdint.h>

#define SCELA_PACKAGE_MAGIC "SCELA-PACKAGE-2"
/* Bytes of the executable in one block; the last block has the rest. A block is its size when
 * compressed, 4 bytes, and so many bytes of LZ4. Blocks are unpacked one after the other in the same
 * memory: pages of memory cost more than their content. */
#define SCELA_PACKAGE_BLOCK 262144

#define SCELA_DIGESTS_MAGIC "SCELA-DIGESTS-1"

/* The name of an unpacked agent in a file begins with this, before a number. Names of files on a node
 * that hold agents for a moment begin with ".scela-nla-". */
#define SCELA_UNPACKED_NAME ".scela-nla-x"

/* The digests of a whole package, in hexadecimal. */
struct PackageDigests {
  char sha256[72];
  char blake2b[136]; /* BLAKE2b of 512 bits, as b2sum(1) prints it */
};

/* The end of a package. */
struct PackageTrailer {
  char magic[16];              /* SCELA_PACKAGE_MAGIC */
  uint64_t blocks_at;          /* offset of the blocks in the file, in bytes */
  uint64_t blocks_size;        /* bytes */
  uint64_t leaf_at;            /* offset of the small agent's package */
  uint64_t leaf_size;          /* bytes; 0: there is none */
  uint64_t agent_size;         /* bytes of the agent's executable */
  uint64_t agent_checksum;     /* XXH64 of the executable, seed 0: finds damage, no forgery */
  char agent_build[48];        /* the linker's build id, in hexadecimal */
  char agent_machine[24];      /* as `uname -m` prints it */
  struct PackageDigests large; /* of the large agent's package, in a pair */
  struct PackageDigests leaf;  /* of the small agent's package, in a pair */
};

/* What follows the pair in the file that the build makes. */
struct PackageRecord {
  char magic[16]; /* SCELA_DIGESTS_MAGIC */
  struct PackageDigests package;
};
