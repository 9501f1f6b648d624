// Debian's libssh.a is built with GSSAPI (Kerberos), and the GSSAPI library exists for dynamic
// linking only. These functions stand in for it in programs that must load nothing at run time.
// Each refuses, so that libssh passes on to the next method. Kerberos is served by `--launch
// ssh-exec`, through the ssh client.
//
// The prototypes are not those of gssapi.h, since no argument is looked at.

enum { kFailure = 13 << 16 };  // GSS_S_FAILURE

void* GSS_C_NT_HOSTBASED_SERVICE;
void* GSS_C_NT_USER_NAME;

#define REFUSE(name)    \
  unsigned name(void);  \
  unsigned name(void) { \
    return kFailure;    \
  }

REFUSE(gss_accept_sec_context)
REFUSE(gss_acquire_cred)
REFUSE(gss_add_oid_set_member)
REFUSE(gss_create_empty_oid_set)
REFUSE(gss_display_name)
REFUSE(gss_display_status)
REFUSE(gss_get_mic)
REFUSE(gss_import_name)
REFUSE(gss_indicate_mechs)
REFUSE(gss_init_sec_context)
REFUSE(gss_inquire_cred)
REFUSE(gss_inquire_cred_by_mech)
REFUSE(gss_release_buffer)
REFUSE(gss_release_cred)
REFUSE(gss_release_name)
REFUSE(gss_release_oid_set)
REFUSE(gss_test_oid_set_member)
REFUSE(gss_verify_mic)
