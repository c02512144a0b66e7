import OrderedStore

extension StoreError {
    /// The error of a server's SQLSTATE.
    init(sqlState: String, details: [String: String]) {
        let (code, reason, remedy) = Self.meaning(of: sqlState)
        self.init(
            code: code, reason: reason, remedy: remedy, details: details.merging(["sqlstate": sqlState]) { $1 })
    }

    private static func meaning(of state: String) -> (Code, String, String) {
        switch state {
        case "28P01", "28000":
            (
                .unavailable, "the database refuses the user or the password",
                "check user and password, and the server's pg_hba.conf"
            )
        case "3D000": (.unavailable, "there is no such database", "create it, or correct its name")
        case "42501":
            (
                .unavailable, "the user lacks rights in the database",
                "grant CREATE on the database, or make a schema that the user owns"
            )
        case "40001", "40P01":
            (.busy, "other transactions kept changing the same data", "try again")
        case "25006":
            (
                .readOnly, "the database accepts no writes",
                "name the primary server, or end the server's read-only mode"
            )
        case "53100":
            (
                .diskFull, "the disk of the database is full",
                "make room, then try again; nothing acknowledged was lost"
            )
        case "53300":
            (
                .busy, "the database accepts no more connections",
                "raise its max_connections, or end other programs"
            )
        case "54000", "54001", "54011", "54023":
            (.unavailable, "a key or value is too long for the database", "send less at once")
        case "XX001", "XX002":
            (.corrupt, "the database is damaged", "check its disk; restore it from a backup if that does not help")
        case "42P01", "3F000", "42703":
            (
                .notAStore, "a table of the store is missing",
                "check the schema's name; restore the database from a backup"
            )
        default: meaning(ofClass: state)
        }
    }

    private static func meaning(ofClass state: String) -> (Code, String, String) {
        switch state.prefix(2) {
        case "53": (.unavailable, "the database lacks memory or another resource", "free it, then try again")
        case "57", "08", "25":
            (.unavailable, "the database is not available at the moment", "try again; check the server if this goes on")
        default: (.unavailable, "the database refused a statement", "look into the server's log for the SQLSTATE")
        }
    }

    static func lostConnection(_ details: [String: String]) -> Self {
        Self(
            code: .unavailable, reason: "the connection to the database was lost",
            remedy: "try again; check the server if this goes on", details: details)
    }

    static func noAnswer(_ details: [String: String]) -> Self {
        Self(
            code: .unavailable, reason: "the database does not answer",
            remedy: "check the server and the network, then try again", details: details)
    }

    static func unknownCommit(_ details: [String: String]) -> Self {
        Self(
            code: .unavailable,
            reason: "the connection was lost during a commit, and the database could not be asked about it",
            remedy: "fetch what was saved before saving it again; check the server", details: details)
    }

    static func unconfirmedCommit(_ details: [String: String]) -> Self {
        Self(
            code: .unavailable, reason: "the database committed with a warning: its standby may not have the commit",
            remedy: "do not cancel the server's commits; check the standby, then fetch what was saved",
            details: details)
    }

    static func damagedAnswer(_ details: [String: String]) -> Self {
        Self(
            code: .unavailable, reason: "the database's answer has not the form expected",
            remedy: "use PostgreSQL 14 or newer, or an engine that speaks its protocol", details: details)
    }

    static func foreignSchema(_ details: [String: String]) -> Self {
        Self(
            code: .notAStore, reason: "the schema of the database holds the tables of another program",
            remedy: "name another schema with ?schema=NAME, or another database", details: details)
    }

    static func missingIdentity(_ details: [String: String]) -> Self {
        Self(
            code: .corrupt, reason: "the store has entries but its own row is missing",
            remedy: "restore the database from a backup", details: details)
    }

    static func newerFormat(_ format: Int64, _ details: [String: String]) -> Self {
        Self(
            code: .newerFormat, reason: "a newer version of Welkin wrote the store",
            remedy: "use that version or a later one", details: details.merging(["format": String(format)]) { $1 })
    }

    static func olderFormat(_ format: Int64, _ details: [String: String]) -> Self {
        Self(
            code: .olderFormat,
            reason: "an older version of Welkin wrote the store, in a form that this one does not read",
            remedy: "go on with the version that wrote it, or name another schema",
            details: details.merging(["format": String(format), "read": String(PostgresTable.format)]) { $1 })
    }

    static func collidingPartition(_ partition: Partition) -> Self {
        Self(
            code: .corrupt, reason: "two partitions have the same key", remedy: "rename the container or the user",
            details: ["partition": partition.name])
    }

    static let keyTooLong = Self(
        code: .unavailable, reason: "a key is too long for the database", remedy: "use shorter names")

    /// The error of a connection that could not be made.
    ///
    /// - Parameter text: libpq's, without the password.
    static func noConnection(_ text: String, _ details: [String: String]) -> Self {
        var details = details
        if let state = sqlState(in: text) { return Self(sqlState: state, details: details) }
        details["cause"] = text
        if text.contains("read-only") || text.contains("standby") {
            return Self(
                code: .readOnly, reason: "the database accepts no writes",
                remedy: "name the primary server, or end the server's read-only mode", details: details)
        }
        if text.contains("certificate") || text.contains("SSL") {
            return Self(
                code: .unavailable, reason: "the database's TLS certificate cannot be verified, or it has none",
                remedy: "name its authority's certificate with sslrootcert, and the host as the certificate has it",
                details: details)
        }
        return Self(
            code: .unavailable, reason: "the database cannot be reached",
            remedy: "check host and port, and that the server runs", details: details)
    }

    /// The error of a parameter whose value libpq refuses before it connects.
    ///
    /// - Parameter text: libpq's, without the password.
    static func invalidParameter(_ text: String, _ details: [String: String]) -> Self {
        Self(
            code: .unavailable, reason: "a parameter of the database's address has a value that libpq does not know",
            remedy: "correct it", details: details.merging(["cause": text]) { $1 })
    }

    /// Returns the SQLSTATE in a message of the form "FATAL:  28P01".
    private static func sqlState(in text: String) -> String? {
        for line in text.split(separator: "\n").reversed() {
            guard let range = line.firstRange(of: "FATAL:"),
                let state = line[range.upperBound...].split(separator: " ").first
            else { continue }
            if state.utf8.count == 5, state.utf8.allSatisfy({ (48...57).contains($0) || (65...90).contains($0) }) {
                return String(state)
            }
        }
        return nil
    }
}
