// The agent asks no name service (scela-run resolves names) and loads nothing at run time. But the
// libraries in it refer to functions that would do so. With glibc, even a static program would load
// the node's own libraries for these functions. The functions defined here refuse instead.

#include <stddef.h>

enum { kNoName = -2, kNoEntry = 2 };  // EAI_NONAME, ENOENT

#define STAND_IN(type, name, value) \
  type name(void);                  \
  type name(void) {                 \
    return value;                   \
  }

STAND_IN(int, getaddrinfo, kNoName)
STAND_IN(void*, gethostbyname, NULL)
STAND_IN(void*, getpwnam, NULL)
STAND_IN(int, getpwuid_r, kNoEntry)
STAND_IN(int, getpwnam_r, kNoEntry)
STAND_IN(void*, getservbyname, NULL)
void freeaddrinfo(void);
void freeaddrinfo(void) {}
