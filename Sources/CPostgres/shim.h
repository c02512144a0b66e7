#include <libpq-fe.h>
#include <poll.h>

#if !defined(LIBPQ_HAS_PIPELINING)
#error "Welkin needs libpq 14 or newer: earlier ones have no pipeline mode"
#endif

// Counts the warnings of the server instead of printing them: a COMMIT that a standby did not confirm ends with one.
static inline void cpostgres_count_warning(void *counter, const PGresult *notice) {
    const char *severity = PQresultErrorField(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity && severity[0] == 'W') ++*(int *)counter;
}

static inline void cpostgres_count_warnings(PGconn *connection, int *counter) {
    PQsetNoticeReceiver(connection, cpostgres_count_warning, counter);
}
