/* The file in which an agent travels to nodes where it is not installed: a program that unpacks it
 * (unpack.c), the agent's executable, compressed as one LZ4 block, the whole package of the small
 * agent (nla/leaf.cpp), if this is the large one, and this trailer at the end. The build writes the
 * file (make_package.cpp); the node that gets it executes it.
 *
 * A C header without functions, for the unpacking program and the C++ code. Numbers have the byte
 * order of the machine for which the agent was built. Texts end with a zero byte. */
#pragma once

#include <stdint.h>

#define SCELA_PACKAGE_MAGIC "SCELA-PACKAGE-1"

struct PackageTrailer {
  char magic[16];          /* SCELA_PACKAGE_MAGIC */
  uint64_t block_at;       /* offset of the block in the file, in bytes */
  uint64_t block_size;     /* bytes */
  uint64_t leaf_at;        /* offset of the small agent\'s package */
  uint64_t leaf_size;      /* bytes; 0: there is none */
  uint64_t agent_size;     /* bytes of the agent's executable */
  uint64_t agent_checksum; /* XXH64 of the executable, seed 0: finds damage, no forgery */
  char agent_build[48];    /* the linker's build id, in hexadecimal */
  char agent_machine[24];  /* as `uname -m` prints it */
  char agent_sha256[72];   /* digest of the executable, in hexadecimal */
  char agent_blake2b[136]; /* BLAKE2b of 512 bits, as b2sum(1) prints it */
  char package_sha256[72]; /* digest of this file, computed while this field was zero */
};
